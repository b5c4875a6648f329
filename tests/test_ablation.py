"""The ablation study: each factor is proved to have changed something, and one that changes nothing says so."""

import dataclasses
from functools import cache

import mujoco
import numpy as np
import pytest

import ikcourse as ik
from ikcourse.studies import ablation, damping, factors, tables
from ikcourse.studies.ablation import Changed
from ikcourse.studies.ends import EndState, Reason
from ikcourse.studies.factors import FACTORS, NONE, Factor

from .models import ROOT, SHARED

FOLDS, HOME = 5e-3, 1e-2
ARM = ik.panda()
PATH = ik.reach_and_return(ARM, 0.70)
IDLE = ["setpoint unclipped", "clamp off", "speed cut"]
"""What moves the arm at none of the study's dampings."""


@cache
def run(names, lam=FOLDS):
    """The reach with these factors, and the loop that ran it."""
    chosen = factors.factors_of(names)
    loop = factors.controller(factors.alter(ARM, chosen), lam, chosen)
    return ik.follow(loop, PATH), loop


@pytest.fixture(scope="module")
def checked():
    """The rows that `results --check` computes, by the names of their factors."""
    return {row.factors: row for row in ablation.compute("builtin", ablation.CHECKED)}


@pytest.fixture(scope="module")
def kept():
    """The rows of results/."""
    return tables.read(ablation.Row, ROOT / "results" / ablation.FILE)


def touched(lam=FOLDS):
    """First step of the unchanged run whose contacts hold the floor, and first with two bodies of the arm."""
    loop, first = ik.Controller(ARM, ik.DampedLeastSquares(lam)), {}
    for k in range(len(PATH.times)):
        loop.step(PATH.positions[k], PATH.quaternions[k])
        for pair in loop.data.contact.geom:
            first.setdefault("floor" if ARM.model.geom("floor").id in pair else "self", k)
    return first


# ----- what each factor alters


def test_the_issues_factors_are_there_and_each_alters_one_thing():
    assert list(FACTORS) == [
        "setpoint unclipped", "clamp off", "speed scaled", "speed cut", "null-space pull", "no floor",
        "no self-collision", "no gravity", "pose one step old", "commanded q",
    ]  # fmt: skip
    for name, factor in FACTORS.items():
        given = [factor.model is not None, bool(factor.law), bool(factor.loop), factor.controller is not None]
        assert sum(given) + (not factor.clips) == 1, name


def test_an_altered_model_is_a_copy():
    before = ARM.model.geom_conaffinity.copy(), ARM.model.opt.gravity.copy(), ARM.model.opt.disableflags
    for name, factor in FACTORS.items():
        altered = factors.alter(ARM, [factor])
        assert (altered.model is not ARM.model) == (factor.model is not None), name
        assert (altered is ARM) == (factor.model is None), name
    assert np.array_equal(ARM.model.geom_conaffinity, before[0])
    assert np.array_equal(ARM.model.opt.gravity, before[1])
    assert ARM.model.opt.disableflags == before[2]


def contacts(names, q):
    """Which kinds of contact a posture has."""
    arm = factors.alter(ARM, factors.factors_of(names))
    floor = arm.model.geom("floor").id
    return {"floor" if floor in pair else "self" for pair in arm.data(q).contact.geom}


def test_the_two_kinds_of_contact_are_left_out_apart():
    q = run(NONE)[0].q[-1]  # folded: the hand lies on the floor and on the arm's own forearm
    assert contacts(NONE, q) == {"floor", "self"}
    assert contacts("no floor", q) == {"self"}
    assert contacts("no self-collision", q) == {"floor"}
    assert contacts("no floor + no self-collision", q) == contacts("no self-collision + no floor", q) == set()


def test_the_other_factors_alter_what_they_say():
    clamp = int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    assert run("clamp off", HOME)[1].arm.model.opt.disableflags & clamp
    assert not run(NONE, HOME)[1].arm.model.opt.disableflags & clamp
    assert not run("no gravity", HOME)[1].arm.model.opt.gravity.any()
    assert run("speed scaled")[0].joint_speed.max() == pytest.approx(1.0, abs=1e-12)
    assert run("null-space pull", HOME)[0].law == ik.DampedLeastSquares(HOME, nullspace_gain=0.5)
    both = run("commanded q + pose one step old", HOME)[1]
    assert isinstance(both, factors.StaleController)
    assert (both.setpoint_from, both.integration_dt) == ("commanded", 10 * ARM.model.opt.timestep)
    free = run("setpoint unclipped")[1]
    assert np.array_equal(free.limits, [[-np.inf] * 7, [np.inf] * 7])
    assert (free.data.ctrl[ARM.actuators] > ARM.upper).any(), "what is written is past the limit"


@pytest.mark.parametrize("names", ["floor", "no floor + ", "no floor + no floor", "none + no floor", ""])
def test_a_combination_that_is_none_is_refused_with_what_exists(names):
    with pytest.raises(ValueError, match=r"factors must be 'none' or some of \['setpoint unclipped'"):
        factors.factors_of(names)


@pytest.mark.parametrize(
    ("names", "what"),
    [("speed scaled + speed cut", "max_joint_speed"), ("pose one step old + other", "controller")],
)
def test_two_factors_that_set_the_same_thing_are_refused(names, what, monkeypatch):
    monkeypatch.setattr(factors, "FACTORS", {**FACTORS, "other": Factor(controller=ik.Controller)})
    with pytest.raises(ValueError, match=f"only one of the factors may set {what}"):
        factors.controller(ARM, HOME, factors.factors_of(names))


# ----- what each factor is proved to have changed


def test_every_combination_moves_the_arm_but_those_that_say_otherwise(kept):
    for model in ("builtin", "menagerie"):
        mine = [row for row in kept if row.model == model]
        assert [(row.factors, row.damping) for row in mine] == list(ablation.SETTINGS)
        assert ablation.idle(mine) == IDLE


def test_a_factor_that_does_nothing_is_reported(monkeypatch):
    """The deliberate break: a factor that its author forgot to connect."""
    monkeypatch.setattr(ablation, "FACTORS", planted := {**FACTORS, "forgotten": Factor()})
    monkeypatch.setattr(factors, "FACTORS", planted)
    settings = [(names, FOLDS) for names in (NONE, "forgotten", "no floor", "no floor + forgotten")]
    rows = ablation.compute("builtin", settings)
    assert [row.changed for row in rows] == [Changed.NOTHING, Changed.NOTHING, Changed.MOTION, Changed.MOTION]
    assert [row.last_changed for row in rows] == [Changed.NOTHING, Changed.NOTHING, Changed.MOTION, Changed.NOTHING]
    assert (rows[1].same_steps, rows[1].ctrl_steps, rows[1].apart_rad) == (3000, 0, 0.0)
    assert ablation.idle(rows) == ["forgotten"] != IDLE
    assert any("forgotten: moves the arm in 0 of 1 runs; the same ends" in line for line in ablation.facts(rows))


def test_an_active_factor_that_turned_idle_is_seen(kept):
    """The deliberate break of the test above all: null-space rows that claim nothing."""
    planted = [
        dataclasses.replace(row, changed=Changed.NOTHING) if row.factors == "null-space pull" else row for row in kept
    ]
    assert ablation.idle(planted) == ["setpoint unclipped", "clamp off", "speed cut", "null-space pull"]


def test_leaving_out_the_clip_alone_is_no_operation_while_mujoco_clamps(checked):
    plain, free = run(NONE)[0], run("setpoint unclipped")[0]
    assert plain.clipped.sum() == 1140
    for name in ("q", "qdot", "errors", "setpoints", "torques"):
        assert np.array_equal(getattr(plain, name), getattr(free, name)), name
    row = checked["setpoint unclipped"]
    assert (row.changed, row.same_steps, row.ctrl_steps) == (Changed.CONTROLS, 3000, 1140)
    assert row.clipped_steps == 0, "the loop cut nothing"
    row = checked["clamp off"]
    assert (row.changed, row.same_steps, row.ctrl_steps) == (Changed.NOTHING, 3000, 0)
    # Both left out: the question is asked, and the arm moves otherwise from the first setpoint past a limit on.
    both = checked["setpoint unclipped + clamp off"]
    assert (both.changed, both.last_changed) == (Changed.MOTION, Changed.MOTION)
    assert both.same_steps == np.argmax(plain.clipped) == 1860


def test_a_contact_changes_nothing_before_it_is_made(checked):
    first = touched()
    assert checked["no floor"].same_steps == first["floor"]
    assert checked["no self-collision"].same_steps == first["self"] < first["floor"]
    assert ablation.compare(run("no floor", HOME)[0], run(NONE, HOME)[0])[:3] == (Changed.NOTHING, 3000, 0)


def test_a_folded_arm_lies_on_itself_first_and_without_that_never_reaches_the_floor(checked):
    assert checked["no self-collision + no floor"].last_changed is Changed.NOTHING
    assert abs(checked["no floor"].drift_rad - checked[NONE].drift_rad) < 0.02
    assert checked["no self-collision"].drift_rad == pytest.approx(2.559, abs=0.003)
    assert checked["no self-collision"].final_error_m == pytest.approx(0.281, abs=0.001)


def test_a_speed_bound_changes_nothing_before_a_joint_is_commanded_faster(checked):
    plain, cut = run(NONE)[0], run("speed cut")[0]
    assert checked["speed scaled"].same_steps == np.argmax(plain.joint_speed > 1.0) > 2000
    # Cut joint by joint it bounds what is commanded, and moves nothing: those setpoints lie past a joint limit.
    assert plain.joint_speed.max() > 3 > cut.joint_speed.max()
    assert np.array_equal(plain.q, cut.q)
    assert checked["speed cut"].changed is Changed.NOTHING


def test_without_gravity_the_arm_moves_otherwise_from_the_first_step(checked):
    row = checked["no gravity"]
    assert (row.same_steps, row.end_state) == (0, EndState.HEALTHY)
    assert row.final_error_m < 0.001 < checked[NONE].rms_position_m


def test_the_unchanged_run_is_the_damping_study(checked):
    (row,) = damping.study(ARM, dampings=(FOLDS,))
    for column in dataclasses.fields(damping.Row):
        assert getattr(checked[NONE], column.name) == getattr(row, column.name)
    assert (checked[NONE].changed, checked[NONE].same_steps) == (Changed.NOTHING, 3000)


def test_compare_counts_what_differs():
    plain = run(NONE, HOME)[0]
    q, setpoints = plain.q.copy(), plain.setpoints.copy()
    q[101, 3] = np.nextafter(q[101, 3], 10)  # the last bit of one joint, left by step 100
    assert ablation.compare(dataclasses.replace(plain, q=q), plain)[:3] == (Changed.MOTION, 100, 0)
    q[201:, 2] -= 0.25
    kind, same, asked, apart = ablation.compare(dataclasses.replace(plain, q=q), plain)
    assert (kind, same, asked) == (Changed.MOTION, 100, 0)
    assert apart == pytest.approx(0.25)
    setpoints[7:10] += 1e-9
    assert ablation.compare(dataclasses.replace(plain, setpoints=setpoints), plain)[:3] == (Changed.CONTROLS, 3000, 3)
    past = plain.setpoints.copy()
    past[5, 0] = 9.0  # past the limit
    farther = past.copy()
    farther[5, 0] = 10.0
    assert ablation.compare(
        dataclasses.replace(plain, setpoints=past), dataclasses.replace(plain, setpoints=farther)
    ) == (Changed.NOTHING, 3000, 0, 0.0), "both are cut to the same control"


# ----- ends, and results/


def test_an_undecided_run_stays_undecided(checked):
    """Without a floor the folded arm does not come to rest, however long it is waited for."""
    row = checked["no floor"]
    assert (row.end_state, row.reason) == (EndState.UNDECIDED, Reason.MOVING)
    said = ablation.facts(list(checked.values()))
    assert any(line.startswith("builtin, no floor") and "0.005 undecided (moving)" in line for line in said)
    *_, loop = run("no floor")
    still, data = PATH.positions[-1], mujoco.MjData(loop.arm.model)
    mujoco.mj_copyState(loop.arm.model, loop.data, data, int(mujoco.mjtState.mjSTATE_INTEGRATION))
    longer = ik.Controller(loop.arm, loop.law, data)
    q = []
    for _ in range(1000):
        longer.step(still, PATH.quaternions[-1])
        q.append(longer.state.q.copy())
    assert max(np.abs(q[k + 50] - q[k]).max() for k in range(500, 950)) / 0.1 > 0.03


def test_each_model_has_the_same_ends_where_both_rest(kept):
    ends = {}
    for row in kept:
        ends.setdefault((row.factors, row.damping), []).append(row)
    for rows in ends.values():
        assert [row.model for row in rows] == ["builtin", "menagerie"]
        assert (rows[0].end_state is EndState.HEALTHY) == (rows[1].end_state is EndState.HEALTHY)
        assert rows[0].changed is rows[1].changed


def test_which_factors_repair_the_fold_and_which_make_one(kept):
    home = {(row.factors, row.damping) for row in kept if row.model == "builtin" and row.end_state is EndState.HEALTHY}
    for lam in ablation.DAMPINGS:
        assert ("null-space pull", lam) in home
        assert ("commanded q + null-space pull", lam) in home
        assert ((NONE, lam) in home) == (lam not in (1e-3, 5e-3))
        for harmless in (*IDLE, "speed scaled"):
            assert ((harmless, lam) in home) == ((NONE, lam) in home)
    # A repair on this loop is none on another, and gravity decides where the band lies.
    assert ("null-space pull + pose one step old", 1e-5) not in home
    assert ("no gravity + null-space pull", 1e-4) not in home
    assert ("setpoint unclipped + clamp off", 1e-4) not in home
    assert ("no gravity", 5e-3) in home
    assert ("no gravity", 1e-4) not in home


def test_results_hold_what_the_code_computes(kept, checked):
    rows = {tables.key(row): row for row in kept}
    for row in checked.values():
        assert tables.agree(row, rows[tables.key(row)]), tables.table([row, rows[tables.key(row)]])


def test_results_hold_for_the_public_panda(kept):
    if not (SHARED / "menagerie" / "franka_emika_panda").is_dir():
        pytest.skip("the public Panda (../shared/menagerie) does not stand beside this checkout")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENAGERIE_ROOT", str(SHARED / "menagerie"))
        fresh = ablation.compute("menagerie", [(names, FOLDS) for names in (NONE, *IDLE, "no self-collision")])
    rows = {tables.key(row): row for row in kept}
    assert all(tables.agree(row, rows[tables.key(row)]) for row in fresh)


def test_a_second_computation_has_the_same_bytes(checked, tmp_path):
    settings = [("pose one step old", FOLDS), ("no self-collision", FOLDS)]
    tables.write([checked[names] for names, _ in settings], tmp_path / "one.csv")
    tables.write(ablation.compute("builtin", settings), tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()

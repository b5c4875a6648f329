"""The damping study: eleven dampings, two ends, the same on the course's Panda and on the public one."""

import csv
import dataclasses

import mujoco
import numpy as np
import pytest

import ikcourse as ik
from ikcourse.studies import damping, results
from ikcourse.studies.damping import EndState

from .models import ROOT, SHARED

REFERENCE = SHARED / "reference" / "damping_end_state.csv"
MENAGERIE = SHARED / "menagerie"
COLLAPSED = {5e-4, 1e-3, 3e-3, 5e-3}
"""Between two bands of dampings that come home."""


@pytest.fixture(scope="module")
def builtin():
    return damping.study(ik.panda())


@pytest.fixture(scope="module")
def public():
    """The study on the public meshes."""
    if not (MENAGERIE / "franka_emika_panda").is_dir():
        pytest.skip("the public Panda (../shared/menagerie) does not stand beside this checkout")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENAGERIE_ROOT", str(MENAGERIE))
        arm = ik.panda("menagerie")
    assert arm.model.nmesh > 50, "the public model has meshes"
    return damping.study(arm)


@pytest.fixture(scope="module")
def reference():
    """The reference table's lines, as text."""
    if not REFERENCE.is_file():
        pytest.skip("the reference figures (../shared/reference) do not stand beside this checkout")
    with REFERENCE.open(newline="") as stream:
        return list(csv.DictReader(stream))


def as_printed(row):
    return dict(zip(damping.header(), damping.printed(row), strict=True))


def differences_from(reference, rows, drift=0.002, error=0.001, speed=0.02):
    """Every way in which the rows are not the reference: healthy rows digit by digit, collapsed rows by tolerance."""
    found = []
    for line, row in zip(reference, rows, strict=True):
        ours = as_printed(row)
        assert ours["damping"] == line["damping"]
        if line["end_state"] == "healthy":
            found += [(line["damping"], name) for name in line if ours[name] != line[name]]
            continue
        if ours["end_state"] != line["end_state"]:
            found.append((line["damping"], "end_state"))
        if row.clipped_steps != int(line["clipped_steps"]):
            found.append((line["damping"], "clipped_steps"))
        for name, bound in {"drift_rad": drift, "final_error_m": error, "peak_speed_rad_s": speed}.items():
            if abs(getattr(row, name) - float(line[name])) > bound:
                found.append((line["damping"], name))
    return found


def test_on_the_public_panda_the_study_is_the_reference(public, reference):
    assert differences_from(reference, public) == []
    for line, row in zip(reference, public, strict=True):
        assert abs(row.rms_position_m - float(line["rms_position_m"])) < 1e-3


def test_on_the_builtin_panda_the_study_has_the_same_ends(builtin, reference):
    # Where a folded arm comes to rest is decided by the shapes that it lands on.
    shapes = {"drift": 0.1, "error": 0.01, "speed": 0.1}
    assert differences_from(reference, builtin, **shapes) == []


def test_a_difference_from_the_reference_is_seen(builtin, reference):
    planted = list(builtin)
    planted[0] = dataclasses.replace(planted[0], drift_rad=planted[0].drift_rad + 0.001)
    planted[4] = dataclasses.replace(planted[4], clipped_steps=planted[4].clipped_steps + 1, drift_rad=3.0)
    found = differences_from(reference, planted, drift=0.1, error=0.01, speed=0.1)
    assert found == [("1e-06", "drift_rad"), ("5e-04", "clipped_steps"), ("5e-04", "drift_rad")]


@pytest.mark.parametrize("model", ["builtin", "public"])
def test_ends_by_mechanism(model, request):
    rows = request.getfixturevalue(model)
    assert [row.damping for row in rows] == list(damping.DAMPINGS)
    assert len(rows) == 11
    for row in rows:
        folded = row.damping in COLLAPSED
        assert row.end_state is (EndState.COLLAPSED if folded else EndState.HEALTHY)
        # The two ends have nothing in common: no threshold between them needs a fine touch.
        assert (row.drift_rad > 2) == folded
        assert (row.final_error_m > 0.4) == folded
        assert (row.clipped_steps > 1000) == folded


def test_results_is_what_the_code_computes(builtin):
    kept = damping.read(ROOT / "results" / damping.FILE)
    assert [row.damping for row in kept] == [row.damping for row in builtin]
    for ours, theirs in zip(builtin, kept, strict=True):
        assert damping.agree(ours, theirs), f"`python -m ikcourse results` would change the row of {ours.damping}"


def test_agree_sees_a_difference(builtin):
    healthy, folded = builtin[0], builtin[4]
    assert damping.agree(healthy, healthy)
    assert damping.agree(folded, dataclasses.replace(folded, drift_rad=folded.drift_rad + 0.001))
    assert not damping.agree(healthy, dataclasses.replace(healthy, drift_rad=healthy.drift_rad + 0.001))
    for change in (
        {"drift_rad": folded.drift_rad + 0.003},
        {"final_error_m": folded.final_error_m + 0.002},
        {"peak_speed_rad_s": folded.peak_speed_rad_s + 0.03},
        {"clipped_steps": folded.clipped_steps + 1},
        {"end_state": EndState.HEALTHY},
        {"end_state": EndState.UNDECIDED},
        {"damping": 1e-3},
        {"rms_position_m": folded.rms_position_m + 0.01},
    ):
        assert not damping.agree(folded, dataclasses.replace(folded, **change)), change


def test_what_is_written_is_read_back(builtin, tmp_path):
    file = tmp_path / "a" / "b.csv"
    damping.write(builtin, file)
    lines = file.read_text().splitlines()
    assert lines[0] == "damping,end_state,drift_rad,final_error_m,peak_speed_rad_s,clipped_steps,rms_position_m"
    assert len(lines) == 12
    back = damping.read(file)
    assert list(map(damping.printed, back)) == list(map(damping.printed, builtin))
    assert back[4].end_state is EndState.COLLAPSED


def test_the_table_shows_every_row(builtin):
    lines = damping.table(builtin).splitlines()
    assert lines[0].split() == damping.header()
    assert [line.split() for line in lines[1:]] == list(map(damping.printed, builtin))
    assert len({len(line) for line in lines}) == 1, "columns line up"


# ----- where the arm ends, and why


def reach_of_elbow(arm, q4):
    """Distance from the shoulder to the wrist, where the axes of joints 5 and 6 meet [m]."""
    q = arm.home.copy()
    q[3] = q4
    data = arm.data(q)
    return np.linalg.norm(data.body("link5").xpos - data.body("link2").xpos)


def test_the_straight_elbow_is_where_shoulder_and_wrist_are_farthest_apart():
    arm = ik.panda()
    straight = damping.straight_elbow(arm)
    assert straight == pytest.approx(-0.4670, abs=5e-5)
    # A parabola through three points around it has its top there.
    step = 1e-3
    near = [reach_of_elbow(arm, straight + k * step) for k in (-1, 0, 1)]
    top = 0.5 * step * (near[0] - near[2]) / (near[0] - 2 * near[1] + near[2])
    assert abs(top) < 1e-6
    assert near[1] > max(near[0], near[2])
    assert max(reach_of_elbow(arm, q4) for q4 in np.linspace(arm.lower[3], arm.upper[3], 500)) < near[1] + 1e-9


def made_up_run(elbow, error, turned=0.0, wrist=0.0):
    """A run that ends with the elbow at this angle [rad], the tool this far from its target [m] and turned [rad],
    and joint 7 this far from home [rad]."""
    arm = ik.panda()
    path = ik.hold(arm, 0.01)
    run = ik.track(arm, path, ik.DampedLeastSquares())
    q, errors = run.q.copy(), run.errors.copy()
    q[-1, 3] = elbow
    q[-1, 6] += wrist
    errors[-1] = [0, error, 0, turned, 0, 0]
    return dataclasses.replace(run, q=q, errors=errors)


@pytest.mark.parametrize(
    ("elbow", "error", "end"),
    [
        (-1.57, 0.007, EndState.HEALTHY),
        (-0.10, 0.43, EndState.COLLAPSED),
        (-1.57, 0.43, EndState.UNDECIDED),  # bent as at home, the tool elsewhere
        (-0.10, 0.007, EndState.UNDECIDED),  # through the straight elbow, the tool back all the same
        (-1.20, 0.007, EndState.HEALTHY),
        (-0.468, 0.007, EndState.UNDECIDED),  # bent as at home, but hardly
        (-0.466, 0.43, EndState.COLLAPSED),
        (-0.466, 0.007, EndState.UNDECIDED),
    ],
)
def test_an_end_needs_both_signs_and_is_never_forced(elbow, error, end):
    assert damping.end_state(made_up_run(elbow, error)) is end


def test_a_tool_turned_away_or_another_bend_of_the_arm_is_not_home():
    assert damping.end_state(made_up_run(-1.57, 0.007, turned=0.01)) is EndState.HEALTHY
    assert damping.end_state(made_up_run(-1.57, 0.007, turned=1.85)) is EndState.UNDECIDED
    assert damping.end_state(made_up_run(-1.57, 0.007, wrist=2.5)) is EndState.UNDECIDED


def test_farther_out_an_arm_that_ends_in_another_bend_is_not_called_healthy():
    """At 0.85 m and hardly any damping the tool comes back near home with the joints five radians away."""
    arm = ik.panda()
    run = ik.track(arm, ik.reach_and_return(arm, reach=0.85), ik.DampedLeastSquares(1e-6))
    assert np.linalg.norm(run.q[-1] - arm.home) > 1
    assert damping.end_state(run) is not EndState.HEALTHY


def test_a_run_that_is_cut_off_on_its_way_is_undecided():
    """Simulated, not made up: the target has left, the arm has not arrived, and it is bent as at home."""
    arm = ik.panda()
    held = ik.hold(arm, 0.2)
    away = ik.Path(
        held.times, held.positions + np.array([0, 0.3, 0.1]), held.quaternions, held.twists, held.accelerations
    )
    run = ik.track(arm, away, ik.DampedLeastSquares(1e-2))
    assert run.q[-1, 3] < damping.straight_elbow(arm)
    assert damping.end_state(run) is EndState.UNDECIDED
    assert damping.summary(run, 1e-2).end_state is EndState.UNDECIDED


def test_an_undecided_row_can_be_printed_written_and_read(tmp_path):
    row = damping.summary(made_up_run(-1.57, 0.43), 1e-2)
    assert "undecided" in damping.table([row])
    damping.write([row], tmp_path / "one.csv")
    assert damping.read(tmp_path / "one.csv")[0].end_state is EndState.UNDECIDED


def test_a_summary_is_of_the_whole_run():
    arm = ik.panda()
    run = ik.track(arm, ik.reach_and_return(arm, 0.86, duration=1.0), ik.DampedLeastSquares(1e-3))
    row = damping.summary(run, 1e-3)
    beyond = (run.setpoints < arm.lower) | (run.setpoints > arm.upper)
    assert row.clipped_steps == sum(bool(line.any()) for line in beyond) > 0
    assert row.drift_rad == max(np.linalg.norm(q - arm.home) for q in run.q[1:])
    assert row.final_error_m == np.linalg.norm(run.errors[-1][:3])
    assert row.peak_speed_rad_s == np.abs(run.qdot).max()
    assert row.rms_position_m == pytest.approx(np.sqrt((run.errors[:, :3] ** 2).sum() / len(run.errors)))


def test_a_shorter_reach_folds_nobody():
    rows = damping.study(ik.panda(), reach=0.60, dampings=(5e-4, 3e-3))
    assert [row.end_state for row in rows] == [EndState.HEALTHY, EndState.HEALTHY]


def test_without_floor_and_collisions_a_folded_arm_ends_elsewhere_and_a_healthy_one_does_not():
    """What the arm lands on decides where a fold rests; a healthy run touches nothing."""
    arm = ik.panda()
    arm.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    folded, healthy = damping.study(arm, dampings=(1e-3, 1e-2))
    assert folded.end_state is EndState.COLLAPSED
    assert folded.drift_rad == pytest.approx(2.559, abs=0.002)
    assert folded.final_error_m == pytest.approx(0.281, abs=0.001)
    assert damping.printed(healthy) == ["1e-02", "healthy", "1.341", "0.00657", "0.08", "0", "0.00888"]


def test_the_integrator_is_part_of_the_result():
    """Attaching keeps the stage's options: with Euler instead of implicitfast the healthy row is another one."""
    arm = ik.panda()
    assert arm.model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    arm.model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    (row,) = damping.study(arm, dampings=(1e-2,))
    assert damping.printed(row)[2:4] != ["1.341", "0.00657"]


# ----- results/


def test_check_fails_where_a_row_was_changed_or_lost(tmp_path, builtin, monkeypatch, capsys):
    monkeypatch.setattr(damping, "study", lambda arm, *arguments, **more: builtin)
    results.write(tmp_path)
    assert results.check(tmp_path) == 0
    facts = (tmp_path / results.FACTS).read_text()
    (tmp_path / results.FACTS).write_text(facts.replace("healthy", "fine"))
    assert results.check(tmp_path) == 1
    (tmp_path / results.FACTS).write_text(facts)
    changed = [dataclasses.replace(builtin[0], drift_rad=1.5), *builtin[1:]]
    damping.write(changed, tmp_path / damping.FILE)
    assert results.check(tmp_path) == 1
    damping.write(builtin[:-1], tmp_path / damping.FILE)
    assert results.check(tmp_path) == 1
    assert "not what this code computes" in "".join(capsys.readouterr())


def test_facts_carry_the_table_and_how_many_runs_it_stands_on(builtin):
    facts = (ROOT / "results" / results.FACTS).read_text()
    assert "11 runs" in facts
    assert "7 runs come home and 4 fold" in facts
    for row in builtin:
        assert damping.printed(row)[0] in facts

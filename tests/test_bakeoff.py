"""The bake-off: every law on reaches that leave the arm's, and who comes home with how much lag and speed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import ikcourse as ik
from ikcourse.box import BoxedLeastSquares
from ikcourse.mink_qp import MinkQP
from ikcourse.studies import bakeoff, bakeoff_facts, cost, ends, tables
from ikcourse.studies.bakeoff import Setting
from ikcourse.studies.ends import EndState, Reason

from .models import ROOT

ARM = ik.panda()


# ----- what is run


def test_every_law_is_there_with_its_own_parameter():
    for name, sweep in bakeoff.LAWS.items():
        laws = [sweep.law(value) for value in sweep.values]
        assert len(set(map(repr, laws))) == len(sweep.values), name
        if sweep.parameter == "none":
            assert len(laws) == 1
            assert np.isnan(sweep.values[0])
        else:
            field = {"box": "damping"}.get(name, sweep.parameter)
            assert [getattr(law, field) for law in laws] == list(sweep.values), name
    assert len(bakeoff.SETTINGS) == sum(5 * len(sweep.values) for sweep in bakeoff.LAWS.values())
    assert len({tables.key(row_of(each)) for each in bakeoff.SETTINGS}) == len(bakeoff.SETTINGS)


def test_the_laws_with_a_posture_are_those_that_want_one():
    for name, sweep in bakeoff.LAWS.items():
        law = sweep.law(sweep.values[-1])
        wants = law.posture_cost if isinstance(law, MinkQP) else getattr(law, "nullspace_gain", 0.0)
        assert (wants > 0) == sweep.posture, name


def test_what_is_checked_again_is_part_of_what_is_run():
    assert set(bakeoff.CHECKED) < set(bakeoff.SETTINGS)
    assert {each.law for each in bakeoff.CHECKED} == set(bakeoff.SURE)
    assert len(bakeoff.CHECKED) == 2 * sum(map(len, bakeoff.SURE.values()))


def test_rows_come_in_the_order_of_their_settings_whichever_way_they_were_run():
    asked = [
        Setting("box", "damping", 1e-2, 0.70),
        Setting("damped", "damping", 0.2, 0.70),
        Setting("pseudo-inverse", "none", bakeoff.NOTHING, 0.71),
        Setting("damped", "damping", 0.2, 0.74),
    ]
    rows = bakeoff.compute("builtin", asked)
    assert [(row.law, row.reach_m) for row in rows] == [(each.law, each.reach_m) for each in asked]
    path = ik.reach_and_return(ARM, 0.74, rest=bakeoff.REST)
    run = ik.track(ARM, path, ik.DampedLeastSquares(0.2))
    assert rows[3].rms_position_m == float((run.position_error**2).mean() ** 0.5)
    assert rows[3].joint_speed_rad_s == np.abs(np.diff(run.q, axis=0)).max() / ARM.model.opt.timestep
    boxed = BoxedLeastSquares(1e-2, max_joint_speed=1.0)
    alone = ik.track(ARM, ik.reach_and_return(ARM, 0.70, rest=bakeoff.REST), boxed)
    assert rows[0].rms_position_m == float((alone.position_error**2).mean() ** 0.5)


def test_that_mink_is_missing_is_said_before_the_first_run(monkeypatch):
    def missing():
        raise RuntimeError("not installed")

    def never(*arguments):
        raise AssertionError("a run was begun")

    monkeypatch.setattr("ikcourse.mink_qp._installed", missing)
    monkeypatch.setattr(bakeoff, "run_all", never)
    asked = [Setting("damped", "damping", 0.2, 0.70), Setting("mink", "posture_cost", 1e-2, 0.70)]
    with pytest.raises(RuntimeError, match="not installed"):
        bakeoff.compute("builtin", asked)
    with pytest.raises(AssertionError, match="a run was begun"):
        bakeoff.compute("builtin", asked[:1])


# ----- what is measured


@pytest.fixture(scope="module")
def run():
    return ik.track(ARM, ik.reach_and_return(ARM, 0.74, rest=bakeoff.REST), ik.DampedLeastSquares(0.2))


def test_a_step_counts_where_its_target_exists(run):
    exists = bakeoff.reachable(run)
    distance = np.linalg.norm(run.path.positions - [0, 0, 0.333], axis=1)
    assert distance[exists].max() < ends.farthest_reach(ARM) < distance[~exists].min()
    assert exists[:900].all()
    assert not exists[1500]
    assert exists[2100:].all()
    short = ik.track(ARM, ik.reach_and_return(ARM, 0.69, duration=0.5), ik.DampedLeastSquares(0.2))
    assert bakeoff.reachable(short).all()


def test_the_rms_does_not_see_what_no_law_can_reach(run):
    before, errors = bakeoff.rms_reachable(run), run.errors.copy()
    exists = bakeoff.reachable(run)
    assert before[0] == pytest.approx(np.sqrt(np.mean(run.position_error[exists] ** 2)), rel=1e-12)
    assert before[1] == pytest.approx(np.sqrt(np.mean(np.sum(run.errors[exists, 3:] ** 2, axis=1))), rel=1e-12)
    errors[~exists] *= 10
    assert bakeoff.rms_reachable(dataclasses.replace(run, errors=errors)) == before
    errors[0] += 1
    worse = bakeoff.rms_reachable(dataclasses.replace(run, errors=errors))
    assert worse[0] > before[0]
    assert worse[1] > before[1]


def test_what_moves_is_not_what_was_commanded(run):
    """The servo makes another speed of a command; a table that has the command alone hides it."""
    speed = bakeoff.moved(run)
    assert len(speed) == len(run.qdot)
    assert speed.max() > 5 * run.joint_speed.max()
    still = dataclasses.replace(run, q=np.tile(run.q[0], (len(run.q), 1)))
    assert bakeoff.moved(still).max() == 0


# ----- what is said


def row_of(each, state=EndState.HEALTHY, rms=0.009, peak=0.15):
    return bakeoff.Row(
        model="builtin",
        **each._asdict(),
        end_state=state,
        reason=Reason.NONE,
        drift_rad=1.0,
        final_error_m=0.007,
        peak_speed_rad_s=peak,
        clipped_steps=1,
        rms_position_m=0.01,
        rms_reachable_m=rms,
        rms_reachable_rad=0.01,
        joint_speed_rad_s=1.5,
    )


def rows_of(law, value, states, rms=0.009):
    parameter = bakeoff.LAWS[law].parameter
    return [
        row_of(Setting(law, parameter, value, reach), state, rms + 1e-3 * i)
        for i, (reach, state) in enumerate(zip(bakeoff.REACHES, states, strict=True))
    ]


HOME, FOLDED, NEITHER = EndState.HEALTHY, EndState.COLLAPSED, EndState.UNDECIDED


def test_a_law_that_loses_is_printed():
    rows = [
        *rows_of("damped", 0.01, [HOME, FOLDED, FOLDED, NEITHER, FOLDED]),
        *rows_of("damped", 0.12, [HOME] * 5, rms=0.02),
        *rows_of("pseudo-inverse", bakeoff.NOTHING, [FOLDED] * 5),
    ]
    said = "\n".join(bakeoff.facts(rows))
    assert "699.07 mm" in said
    assert "builtin, damped: 6 of 10 runs come home, 3 fold, 1 undecided; home on every reach with damping 0.12" in said
    assert "in the worst 24.0 mm, commands at most 0.15 rad/s" in said
    assert "pseudo-inverse: 0 of 5 runs come home, 5 fold, 0 undecided; no value is home on every reach." in said


def test_the_nearest_are_ranked_among_those_that_always_come_home():
    rows = [
        *rows_of("damped + posture", 0.03, [HOME] * 5, rms=0.010),
        *rows_of("damped + posture", 0.01, [HOME] * 5, rms=0.008),
        *rows_of("damped + posture", 1e-4, [HOME, HOME, HOME, HOME, FOLDED], rms=0.001),
        *rows_of("transpose", 30.0, [HOME] * 5, rms=0.02),
    ]
    said = [line for line in bakeoff.facts(rows) if "place" in line]
    assert len(said) == 3
    assert "without a posture, place 1: transpose, gain 30; 24.00 mm" in said[0]
    assert "with a posture, place 1: damped + posture, damping 0.01; 12.00 mm" in said[1]
    assert "place 2: damped + posture, damping 0.03; 14.00 mm" in said[2]


def test_a_value_that_was_not_run_on_every_reach_is_not_always_home():
    (line,) = bakeoff_facts.lines(rows_of("damped", 0.12, [HOME] * 5)[:4])
    assert not line.always_home


def test_a_table_comes_back_as_it_was_written(tmp_path):
    rows = [row_of(each) for each in bakeoff.SETTINGS]
    tables.write(rows, tmp_path / bakeoff.FILE)
    again = tables.read(bakeoff.Row, tmp_path / bakeoff.FILE)
    assert all(map(tables.agree, rows, again))
    assert not tables.agree(rows[0], dataclasses.replace(again[0], rms_reachable_m=0.0095))


# ----- the committed table


@pytest.fixture(scope="module")
def committed():
    rows = tables.read(bakeoff.Row, ROOT / "results" / bakeoff.FILE)
    return {model: [row for row in rows if row.model == model] for model in ("builtin", "menagerie")}


def test_the_committed_table_is_what_the_code_computes(committed):
    kept = {tables.key(row): row for row in committed["builtin"]}
    asked = [each for each in bakeoff.CHECKED if each.law in ("damped", "damped + posture", "transpose")]
    for row in bakeoff.compute("builtin", asked):
        assert tables.agree(row, kept[tables.key(row)]), row


@pytest.mark.parametrize("model", ["builtin", "menagerie"])
def test_the_committed_table_says_what_the_chapter_says(committed, model):
    assert len(committed[model]) == len(bakeoff.SETTINGS)
    lines = {(line.law, line.value): line for line in bakeoff_facts.lines(committed[model])}
    always = {key: line for key, line in lines.items() if line.always_home}
    best = always["damped + posture", 0.01]
    plain = [line for (law, _), line in always.items() if not bakeoff.LAWS[law].posture]
    assert best.rms_mm < 9 < 9.5 < min(line.rms_mm for line in plain)
    assert best.peak_rad_s < 0.16
    assert best.joint_rad_s > 1.3, "what the joints do is ten times what is commanded"
    assert min(value for law, value in always if law == "damped") == 0.12
    for name in ("box", "pseudo-inverse"):
        assert not any(law == name for law, _ in always)


# ----- what a solve costs


def test_every_law_is_timed_on_the_same_states():
    timed = cost.laws()
    assert list(timed) == list(bakeoff.LAWS)
    spent = cost.microseconds(ARM, timed, repeats=2)
    assert list(spent) == list(timed)
    assert all(len(times) == 2 and min(times) > 0 for times in spent.values())
    asked = cost.states(ARM, ik.reach_and_return(ARM, 0.74, duration=1.0))
    assert len(asked) == 5
    for state in asked:
        assert np.array_equal(state.data.qpos[ARM.qpos_addresses], state.q)
        here = ik.site_pose(ARM, state.data)
        assert np.array_equal(state.error, ik.pose_error(state.target_position, state.target_quaternion, *here))


def test_a_law_is_timed_at_a_value_of_its_sweep():
    for name, sweep in bakeoff.LAWS.items():
        if sweep.parameter != "none":
            assert cost.TYPICAL.get(name, 1e-2) in sweep.values


def test_the_fastest_and_the_median_are_printed(monkeypatch, capsys):
    monkeypatch.setattr(cost, "microseconds", lambda arm, timed: {name: [9.0, 5.0, 7.5] for name in timed})
    cost.print_costs()
    said = capsys.readouterr().out.splitlines()
    assert len(said) == len(bakeoff.LAWS)
    assert said[0].split() == ["pseudo-inverse:", "5.0", "us", "a", "solve,", "median", "7.5", "of", "3"]

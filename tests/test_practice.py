"""The second practice: a circle, slow and fast, servos beside motors; and its rows beside independent figures."""

import dataclasses

import numpy as np
import pytest

import ikcourse as ik
from ikcourse.studies import practice, tables
from ikcourse.studies.practice import COMPUTED, CONTROLS, OPERATIONAL, SERVOS

from .models import ROOT, SHARED

LIMITS = np.array([87, 87, 87, 87, 12, 12, 12.0])


@pytest.fixture(scope="module")
def arms():
    return ik.panda(), ik.panda(actuators="torque")


@pytest.fixture(scope="module")
def checked():
    """The rows that `results --check` computes, by frequency and control."""
    return {(row.frequency_hz, row.control): row for row in practice.compute("builtin", practice.CHECKED)}


@pytest.fixture(scope="module")
def kept():
    """The rows of results/, by model, frequency, control and damping."""
    rows = tables.read(practice.Row, ROOT / "results" / practice.FILE)
    return {(row.model, row.frequency_hz, row.control, row.damping): row for row in rows}


def test_results_hold_every_setting_on_both_models(kept):
    assert list(kept) == [
        (model, frequency, control, lam)
        for model in ("builtin", "menagerie")
        for frequency in (0.25, 1.0)
        for lam in (1e-4, 1e-3, 1e-2, 1e-1)
        for control in CONTROLS
    ]


def test_results_hold_what_the_code_computes(kept, checked):
    assert len(checked) == len(practice.CHECKED) == 6
    for (frequency, control), row in checked.items():
        assert tables.agree(row, kept["builtin", frequency, control, row.damping]), tables.table([row])


def test_results_hold_for_the_public_panda(kept):
    if not (SHARED / "menagerie" / "franka_emika_panda").is_dir():
        pytest.skip("the public Panda (../shared/menagerie) does not stand beside this checkout")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENAGERIE_ROOT", str(SHARED / "menagerie"))
        fresh = practice.compute("menagerie", [(0.25, 1e-1, control) for control in CONTROLS])
    for row in fresh:
        assert tables.agree(row, kept["menagerie", 0.25, row.control, 1e-1])


def test_a_circle_in_the_air_tells_the_two_models_nothing_apart(kept):
    """They share masses, servos and kinematics, and differ in shapes, which touch nothing here."""
    for (model, *settings), row in kept.items():
        twin = kept["builtin", *settings]
        assert tables.printed(dataclasses.replace(row, model="builtin")) == tables.printed(twin), model


def test_a_row_is_of_the_run_that_its_settings_name(arms, checked):
    servos, _ = arms
    run = ik.track(servos, ik.circle(servos, 0.1, 1.0, practice.DURATION), ik.DampedLeastSquares(1e-1))
    row = checked[1.0, SERVOS]
    assert row == practice.summary(run, SERVOS, 1e-1, "builtin", 1.0)
    assert row.final_error_m == np.linalg.norm(run.errors[-1][:3])
    assert row.worst_error_m == max(np.linalg.norm(e[:3]) for e, t in zip(run.errors, run.times, strict=True) if t >= 1)
    assert row.peak_speed_rad_s == (np.abs(run.q[1:] - run.q[:-1]) / 0.002).max()
    assert row.peak_torque_nm == np.abs(run.torques).max()
    assert row.peak_torque_of_limit == (np.abs(run.torques) / LIMITS).max()
    assert row.clipped_steps == run.clipped.sum()


def test_a_servo_trails_as_a_pole_at_ten_a_second_would_and_motors_do_not(kept):
    """A target at v on an integrator of gain 10 / s behind a servo of 10 / s: the lag's size, gravity apart."""
    for frequency, expected in {0.25: 0.0157, 1.0: 0.0556}.items():
        rate = 2j * np.pi * frequency
        # qdot = e / s, and the servo answers q' = 10 integration_dt qdot: e = target s / (s + 10).
        assert abs(rate / (rate + 10)) * 0.1 == pytest.approx(expected, rel=0.05)
        servo = kept["builtin", frequency, SERVOS, 1e-3]
        assert abs(servo.worst_error_m - expected) < 0.0075, "the droop of 6.7 mm adds to it"
        for control in (COMPUTED, OPERATIONAL):
            assert kept["builtin", frequency, control, 1e-3].worst_error_m < servo.worst_error_m / 100


def test_damping_costs_motors_their_accuracy_and_servos_little(kept):
    for frequency in practice.FREQUENCIES:
        worst = {
            control: [kept["builtin", frequency, control, lam].worst_error_m for lam in practice.DAMPINGS]
            for control in CONTROLS
        }
        assert worst[SERVOS][-1] < 1.1 * worst[SERVOS][0]
        for control in (COMPUTED, OPERATIONAL):
            assert np.all(np.diff(worst[control]) > -1e-9)
            assert worst[control][-1] > 5 * worst[control][0]


def test_a_fast_circle_takes_all_that_the_motors_have_in_its_first_steps(kept, arms):
    """It begins at full speed: the torque limits cut a few steps, and none once it is under way."""
    _, motors = arms
    for control in (COMPUTED, OPERATIONAL):
        fast = kept["builtin", 1.0, control, 1e-2]
        assert fast.peak_torque_of_limit == 1
        assert 0 < fast.clipped_steps < 20
        assert kept["builtin", 0.25, control, 1e-2].clipped_steps == 0
    path = ik.circle(motors, 0.1, 1.0, 0.5)
    run = ik.follow(ik.ComputedTorque(motors, ik.DampedLeastSquares(1e-2)), path)
    assert run.clipped.sum() == kept["builtin", 1.0, COMPUTED, 1e-2].clipped_steps
    assert not run.clipped[20:].any()


def test_an_unknown_control_is_refused_with_those_that_exist(arms):
    with pytest.raises(ValueError, match=r"control must be one of \['position servos', .*\]; got 'wishes'"):
        practice.loop(*arms, "wishes", 1e-2)


def test_a_run_that_ends_in_its_start_up_is_refused(arms):
    servos, motors = arms
    with pytest.raises(ValueError, match=r"longer than its start-up of 1.0 s; it ends at 0.998 s"):
        practice.study(servos, motors, ik.circle(servos, duration=1.0), dampings=(1e-2,))


def test_facts_name_every_control_and_how_many_runs_they_stand_on(kept):
    said = practice.facts(list(kept.values()))
    assert len(said) == 2 * 2 * 3
    assert all("4 runs, one a damping" in line for line in said)
    (line,) = [line for line in said if line.startswith("builtin, circle at 1 Hz, computed torque")]
    rows = [kept["builtin", 1.0, COMPUTED, lam] for lam in practice.DAMPINGS]
    assert f"worst error {1e3 * rows[0].worst_error_m:.3g} to {1e3 * rows[-1].worst_error_m:.3g} mm" in line
    assert "100 % of a torque limit" in line


def test_a_second_computation_has_the_same_bytes(tmp_path):
    settings = [(1.0, 1e-1, control) for control in (SERVOS, COMPUTED)]
    for name in ("one", "two"):
        tables.write(practice.compute("builtin", settings), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()

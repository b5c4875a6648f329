"""The runs behind the tuning notes: one knob at a time, and the products that the servo feels."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import ikcourse as ik
from ikcourse.studies import bakeoff, tables, tuning
from ikcourse.studies.tuning import Setting

from .models import ROOT

ARM = ik.panda()


# ----- what is run


def test_every_setting_is_there_once_and_turns_its_knob():
    assert len({*tuning.SETTINGS}) == len(tuning.SETTINGS)
    assert set(tuning.CHECKED) < set(tuning.SETTINGS)
    assert {each.knob for each in tuning.CHECKED} == {"integration_dt", "speed bound"}
    usual = Setting("", 0.66)
    for each in tuning.SETTINGS:
        turned = {name for name in Setting._fields[2:] if getattr(each, name) != getattr(usual, name)}
        allowed = {
            "integration_dt": {"integration_dt_s"},
            "integration_dt, commanded q": {"integration_dt_s", "setpoint_from"},
            "gain * integration_dt": {"integration_dt_s", "nullspace_gain"},
            "speed bound": {"max_joint_speed_rad_s", "speed_bound"},
            "speed bound * integration_dt": {"integration_dt_s", "max_joint_speed_rad_s"},
            "speed bound, no pull": {"value", "nullspace_gain", "max_joint_speed_rad_s"},
            "integration_dt, other laws": {"law", "value", "nullspace_gain", "integration_dt_s"},
            "duration": {"duration_s"},
            "duration, other laws": {"law", "value", "nullspace_gain", "duration_s"},
        }[each.knob]
        assert turned <= allowed, each


def test_a_row_is_the_run_of_its_setting():
    each = Setting("speed bound", 0.74, nullspace_gain=0.5, integration_dt_s=0.5, max_joint_speed_rad_s=0.1)
    other = each._replace(reach_m=0.66, setpoint_from="commanded", integration_dt_s=0.01)
    row, second = tuning.compute("builtin", [each, other])
    run = ik.track(
        ARM, ik.reach_and_return(ARM, 0.74, rest=2.0), ik.DampedLeastSquares(1e-2, 0.5), 0.5, max_joint_speed=0.1
    )
    speed = np.abs(np.diff(run.q, axis=0)).max(axis=1) / 0.002
    assert row.peak_speed_rad_s == run.joint_speed.max() <= 0.1 + 1e-12
    assert row.joint_speed_rad_s == speed.max()
    assert row.rest_speed_rad_s == speed[-250:].max()
    assert row.rms_reachable_m == bakeoff.rms_reachable(run)[0]
    limits = ARM.model.actuator_forcerange[ARM.actuators, 1]
    assert row.torque_of_limit == (np.abs(run.torques) / limits).max()
    (slow,) = tuning.compute("builtin", [Setting("duration", 0.74, "truncated", 0.07, 0.0, duration_s=0.5)])
    quick = ik.track(ARM, ik.reach_and_return(ARM, 0.74, 0.5, rest=2.0), ik.TruncatedSVD(0.07))
    assert slow.rms_position_m == float((quick.position_error**2).mean() ** 0.5)
    assert (second.reach_m, second.setpoint_from) == (0.66, "commanded")
    assert second.final_error_m < 1e-4 < row.final_error_m, "an integrated setpoint does not droop"


def test_a_setting_is_the_bake_offs_law_at_its_value():
    assert Setting("", 0.66, nullspace_gain=0.5).its_law == ik.DampedLeastSquares(1e-2, 0.5)
    assert Setting("", 0.66, "transpose", 60.0, 0.0).its_law == ik.Transpose(60.0)
    assert Setting("", 0.66, "adaptive", 0.2, 0.0).its_law == ik.AdaptiveDamping(0.05, 0.2)
    for law, value in tuning.OTHERS:
        assert value in bakeoff.LAWS[law].values
        assert not bakeoff.LAWS[law].posture


def test_no_bound_is_no_bound():
    assert Setting("", 0.66).loop["max_joint_speed"] is None
    assert Setting("", 0.66, max_joint_speed_rad_s=0.1).loop["max_joint_speed"] == 0.1


# ----- what is said


@pytest.fixture(scope="module")
def committed():
    rows = tables.read(tuning.Row, ROOT / "results" / tuning.FILE)
    return {model: [row for row in rows if row.model == model] for model in ("builtin", "menagerie")}


def test_the_facts_name_every_knob_on_both_reaches(committed):
    said = tuning.facts(committed["builtin"])
    knobs = {each.knob for each in tuning.SETTINGS}
    assert len(said) == 1 + 2 * len(knobs)
    assert "times integration_dt, the error at rest is 6.7" in said[0]
    shaken = [
        dataclasses.replace(row, final_error_m=0.1) if row.knob == "integration_dt" else row
        for row in committed["builtin"]
    ]
    assert tuning.facts(shaken)[0] != said[0]
    (products,) = (line for line in said if "gain * integration_dt, reach 0.66" in line)
    assert "150 * 1 healthy" in products


def test_a_table_comes_back_as_it_was_written(tmp_path, committed):
    rows = committed["builtin"]
    tables.write(rows, tmp_path / tuning.FILE)
    again = tables.read(tuning.Row, tmp_path / tuning.FILE)
    assert all(map(tables.agree, rows, again))
    assert not tables.agree(rows[0], dataclasses.replace(again[0], torque_of_limit=rows[0].torque_of_limit + 0.03))


def test_the_committed_table_is_what_the_code_computes(committed):
    kept = {tables.key(row): row for row in committed["builtin"]}
    for row in tuning.compute("builtin", tuning.CHECKED[:3]):
        assert tables.agree(row, kept[tables.key(row)]), row


@pytest.mark.parametrize("model", ["builtin", "menagerie"])
def test_the_committed_table_says_what_the_chapter_says(committed, model):
    rows = committed[model]
    assert len(rows) == len(tuning.SETTINGS)

    def of(knob):
        return [row for row in rows if row.knob == knob]

    for row in of("integration_dt"):
        if row.integration_dt_s >= 0.5:  # and to the digits that are written
            assert row.final_error_m == pytest.approx(6.72e-3 / row.integration_dt_s, rel=5e-3, abs=1e-5), row
    assert all(row.final_error_m < 1e-4 for row in of("integration_dt, commanded q") if row.integration_dt_s >= 0.005)
    for row in of("gain * integration_dt"):
        assert (row.rest_speed_rad_s > 1) == (row.nullspace_gain * row.integration_dt_s > 120), row
    for row in of("speed bound"):
        assert row.peak_speed_rad_s <= row.max_joint_speed_rad_s + 1e-9
    assert any(row.end_state == "collapse" for row in of("speed bound, no pull"))
    away = [row for row in of("integration_dt, other laws") if row.end_state != "healthy"]
    assert {row.law for row in away} == {"damped", "adaptive", "selective", "transpose"}
    assert all(row.integration_dt_s > 1 for row in away)
    slow = [row for row in of("duration, other laws") if row.reach_m == 0.74 and row.duration_s == 24]
    assert {(row.law, row.value) for row in slow if row.end_state == "healthy"} >= {("truncated", 0.07)}
    assert {(row.law, row.value) for row in slow if row.end_state != "healthy"} >= {("damped", 0.12), ("damped", 0.2)}
    assert all(row.end_state == "healthy" for row in of("duration"))
    assert all(row.end_state == "healthy" for row in of("integration_dt"))

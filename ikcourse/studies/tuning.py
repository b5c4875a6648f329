"""What the tuning notes stand on: one knob of the loop turned at a time, the others left where the bake-off puts them.

The reach is the bake-off's, with its two seconds of waiting. A knob is a gain of the loop (integration_dt), the pull
towards home beside it (only their product matters to the servo), the bound on the commanded speed, or the time that
the reach takes. Laws without a posture are tried at other gains and times too: what was found at one need not hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ikcourse import scenes
from ikcourse.loop import Run
from ikcourse.paths import reach_and_return
from ikcourse.studies.bakeoff import REST, moved, rms_reachable
from ikcourse.studies.many import Progress
from ikcourse.studies.outcome import Outcome, measures
from ikcourse.studies.tables import measured, setting, span
from ikcourse.studies.tuning_settings import CHECKED as CHECKED
from ikcourse.studies.tuning_settings import OTHERS as OTHERS
from ikcourse.studies.tuning_settings import REACHES as REACHES
from ikcourse.studies.tuning_settings import SETTINGS, Setting
from ikcourse.track_many import track_many

FILE = "tuning.csv"
AT_REST = 1e-3
"""An arm whose joints are slower than this has arrived [rad/s]."""
READABLE = 1e-3
"""An error of which the table has three digits [m]."""
REST_SHARE = 0.25
"""Part of the waiting, its end, over which an arm should be at rest."""


@dataclass(frozen=True)
class Row(Outcome):
    """One run of the study.

    Attributes:
        knob: which of the settings is turned; those of the loop are `track`'s, and inf is no bound.
        duration_s: of the reach and return, before the waiting.
        law, value, nullspace_gain: a law of the bake-off and its value, and the pull of damped least squares.
        rms_reachable_m: as in the bake-off.
        joint_speed_rad_s: of the joint that moved fastest in any step, where `peak_speed_rad_s` is commanded.
        rest_speed_rad_s: likewise, over the last half second of the waiting.
        torque_of_limit: the largest part of its torque limit that an actuator used.
    """

    model: str = setting()
    knob: str = setting()
    reach_m: float = setting("{:.2f}")
    law: str = setting()
    value: float = setting("{:g}")
    nullspace_gain: float = setting("{:g}")
    integration_dt_s: float = setting("{:g}")
    max_joint_speed_rad_s: float = setting("{:g}")
    speed_bound: str = setting()
    setpoint_from: str = setting()
    duration_s: float = setting("{:g}")
    rms_reachable_m: float = measured("{:.5f}", tolerance=0.001)
    joint_speed_rad_s: float = measured("{:.2f}", tolerance=0.05)
    rest_speed_rad_s: float = measured("{:.3f}", tolerance=0.05)
    torque_of_limit: float = measured("{:.2f}", tolerance=0.02)


def compute(model: str, settings: Sequence[Setting] = SETTINGS, progress: Progress = iter) -> list[Row]:
    """Reach, return and wait, once for every setting; runs that share a loop run together."""
    arm = scenes.panda(model)
    paths = {
        (reach, duration): reach_and_return(arm, reach, duration, rest=REST)
        for reach, duration in {(each.reach_m, each.duration_s) for each in settings}
    }
    batches = [list(batch) for _, batch in groupby(settings, lambda each: (each.loop, each.duration_s))]

    def rows_of(batch: Sequence[Setting]) -> Iterator[Row]:
        laws = [each.its_law for each in batch]
        runs = track_many(arm, [paths[each.reach_m, each.duration_s] for each in batch], laws, **batch[0].loop)
        for each, run in zip(batch, runs, strict=True):
            yield _row(model, each, run)

    return [row for batch in progress(batches) for row in rows_of(batch)]


def _row(model: str, each: Setting, run: Run) -> Row:
    speed, limit = moved(run), run.arm.model.actuator_forcerange[run.arm.actuators, 1]
    last = round(REST_SHARE * REST / run.arm.model.opt.timestep)
    return Row(
        model=model,
        **each._asdict(),
        rms_reachable_m=rms_reachable(run)[0],
        joint_speed_rad_s=float(speed.max()),
        rest_speed_rad_s=float(speed[-last:].max()),
        torque_of_limit=float((np.abs(run.torques) / limit).max()),
        **measures(run),
    )


def facts(rows: Sequence[Row]) -> list[str]:
    """What the table says, a sentence each."""
    said = []
    for model in sorted({row.model for row in rows}):
        own = [row for row in rows if row.model == model]
        droops = [
            1e3 * row.final_error_m * row.integration_dt_s
            for row in own
            if row.knob == "integration_dt" and row.rest_speed_rad_s < AT_REST and row.final_error_m > READABLE
        ]
        if droops:
            said.append(
                f"{model}: times integration_dt, the error at rest is {span(droops, '.2f')} mm s "
                f"over {len(droops)} runs."
            )
        for knob, reach in dict.fromkeys((row.knob, row.reach_m) for row in own):
            alike = [row for row in own if (row.knob, row.reach_m) == (knob, reach)]
            said.append(f"{model}, {knob}, reach {reach:.2f} m: {'; '.join(map(_clause, alike))}.")
    return said


def _clause(row: Row) -> str:
    values = {
        "integration_dt": f"{row.integration_dt_s:g}",
        "integration_dt, commanded q": f"{row.integration_dt_s:g}",
        "integration_dt, other laws": f"{row.law} {row.value:g} at {row.integration_dt_s:g}",
        "duration": f"{row.duration_s:g}",
        "duration, other laws": f"{row.law} {row.value:g} in {row.duration_s:g}",
        "gain * integration_dt": f"{row.nullspace_gain:g} * {row.integration_dt_s:g}",
        "speed bound * integration_dt": f"{row.max_joint_speed_rad_s:g} * {row.integration_dt_s:g}",
    }
    value = values.get(row.knob, f"{row.speed_bound} {row.max_joint_speed_rad_s:g}")
    errors = f"RMS {1e3 * row.rms_reachable_m:.1f} mm, at the end {1e3 * row.final_error_m:.2f} mm"
    speeds = f"joints {row.joint_speed_rad_s:.2f} rad/s, waiting {row.rest_speed_rad_s:.3f} rad/s"
    return f"{value} {row.end_state}, {errors}, {speeds}, torque {row.torque_of_limit:.0%}"

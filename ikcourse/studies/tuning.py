"""What the tuning notes stand on: one knob of the loop turned at a time, the others left where the bake-off puts them.

The reach is the bake-off's, with its two seconds of waiting. A knob is a gain of the loop (integration_dt), the pull
towards home beside it (only their product matters to the servo), or the bound on the commanded speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ikcourse import scenes
from ikcourse.laws import DampedLeastSquares
from ikcourse.loop import Run
from ikcourse.paths import reach_and_return
from ikcourse.studies.bakeoff import REST, moved, rms_reachable
from ikcourse.studies.many import Progress
from ikcourse.studies.outcome import Outcome, measures
from ikcourse.studies.tables import measured, setting
from ikcourse.track_many import track_many

FILE = "tuning.csv"
REACHES = (0.66, 0.74)
"""One that the arm has, and one that it has not."""
REST_SHARE = 0.25
"""Part of the waiting, its end, over which an arm should be at rest."""


class Setting(NamedTuple):
    """What is run, as the columns of the same names say."""

    knob: str
    reach_m: float
    damping: float = 1e-2
    nullspace_gain: float = 1.0
    integration_dt_s: float = 1.0
    max_joint_speed_rad_s: float = inf
    speed_bound: str = "scale"
    setpoint_from: str = "measured"

    @property
    def loop(self) -> dict[str, Any]:
        """The arguments of `track` that are not its law."""
        return {
            "integration_dt": self.integration_dt_s,
            "max_joint_speed": None if self.max_joint_speed_rad_s == inf else self.max_joint_speed_rad_s,
            "speed_bound": self.speed_bound,
            "setpoint_from": self.setpoint_from,
        }


def _over(knob: str, *columns: dict[str, Any]) -> tuple[Setting, ...]:
    return tuple(Setting(knob, reach, **column) for column in columns for reach in REACHES)


SETTINGS = (
    *_over("integration_dt", *({"integration_dt_s": dt} for dt in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0))),
    *_over(
        "integration_dt, commanded q",
        *({"integration_dt_s": dt, "setpoint_from": "commanded"} for dt in (0.002, 0.005, 0.01, 0.02, 0.05)),
    ),
    *_over(
        "gain * integration_dt",
        *(
            {"nullspace_gain": product / dt, "integration_dt_s": dt}
            for dt in (1.0, 0.25)
            for product in (0.01, 0.1, 1.0, 10.0, 30.0, 100.0, 150.0)
        ),
    ),
    *_over(
        "speed bound",
        *(
            {"max_joint_speed_rad_s": speed, "speed_bound": bound}
            for bound in ("scale", "clip")
            for speed in (0.02, 0.05, 0.1, 0.2)
        ),
    ),
    *_over(
        "speed bound, no pull",
        *(
            {"damping": 1e-3, "nullspace_gain": 0.0, "max_joint_speed_rad_s": speed}
            for speed in (0.05, 0.1, 0.2, 0.5, 1.0)
        ),
    ),
)
CHECKED = tuple(
    each
    for each in SETTINGS
    if each.knob in ("integration_dt", "speed bound") and each.integration_dt_s <= 2 and each.reach_m == REACHES[1]
)


@dataclass(frozen=True)
class Row(Outcome):
    """One run of the study.

    Attributes:
        knob: which of the settings is turned.
        the other settings: as `DampedLeastSquares` and `track`; inf where the speed has no bound.
        rms_reachable_m: as in the bake-off.
        joint_speed_rad_s: of the joint that moved fastest in any step, where `peak_speed_rad_s` is commanded.
        rest_speed_rad_s: likewise, over the last half second of the waiting.
        torque_of_limit: the largest part of its torque limit that an actuator used.
    """

    model: str = setting()
    knob: str = setting()
    reach_m: float = setting("{:.2f}")
    damping: float = setting("e")
    nullspace_gain: float = setting("{:g}")
    integration_dt_s: float = setting("{:g}")
    max_joint_speed_rad_s: float = setting("{:g}")
    speed_bound: str = setting()
    setpoint_from: str = setting()
    rms_reachable_m: float = measured("{:.5f}", tolerance=0.001)
    joint_speed_rad_s: float = measured("{:.2f}", tolerance=0.05)
    rest_speed_rad_s: float = measured("{:.3f}", tolerance=0.05)
    torque_of_limit: float = measured("{:.2f}", tolerance=0.02)


def compute(model: str, settings: Sequence[Setting] = SETTINGS, progress: Progress = iter) -> list[Row]:
    """Reach, return and wait, once for every setting; runs that share a loop run together."""
    arm = scenes.panda(model)
    paths = {reach: reach_and_return(arm, reach, rest=REST) for reach in {each.reach_m for each in settings}}
    batches = [list(batch) for _, batch in groupby(settings, lambda each: each.loop)]

    def rows_of(batch: Sequence[Setting]) -> Iterator[Row]:
        laws = [DampedLeastSquares(each.damping, each.nullspace_gain) for each in batch]
        runs = track_many(arm, [paths[each.reach_m] for each in batch], laws, **batch[0].loop)
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
        for row in rows:
            if row.model != model:
                continue
            said.append(
                f"{model}, {row.knob}, reach {row.reach_m:.2f} m, lambda {row.damping:g}, gain {row.nullspace_gain:g}, "
            )
    return said

"""What the tuning study runs: one knob turned at a time, and the laws without a posture at other gains and times."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

from ikcourse.laws import DampedLeastSquares, Law
from ikcourse.studies.bakeoff import LAWS

REACHES = (0.66, 0.74)
"""One that the arm has, and one that it has not."""
OTHERS = (
    ("damped", 0.12),
    ("damped", 0.2),
    ("truncated", 0.07),
    ("truncated", 0.1),
    ("adaptive", 0.2),
    ("selective", 0.8),
    ("transpose", 30.0),
    ("transpose", 60.0),
)
"""Laws without a posture that come home from every reach of the bake-off, at an integration_dt of 1."""


class Setting(NamedTuple):
    """What is run, as the columns of the same names say."""

    knob: str
    reach_m: float
    law: str = "damped"
    value: float = 1e-2
    nullspace_gain: float = 1.0
    integration_dt_s: float = 1.0
    max_joint_speed_rad_s: float = inf
    speed_bound: str = "scale"
    setpoint_from: str = "measured"
    duration_s: float = 6.0

    @property
    def its_law(self) -> Law:
        """The law of the bake-off at the setting's value, damped least squares with the pull of the setting."""
        if self.law == "damped":
            return DampedLeastSquares(self.value, self.nullspace_gain)
        return LAWS[self.law].law(self.value)

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
        "speed bound * integration_dt",
        *({"max_joint_speed_rad_s": 0.1 / dt, "integration_dt_s": dt} for dt in (0.25, 0.5, 1.0, 2.0, 5.0)),
    ),
    *_over(
        "speed bound, no pull",
        *(
            {"value": 1e-3, "nullspace_gain": 0.0, "max_joint_speed_rad_s": speed}
            for speed in (0.05, 0.1, 0.2, 0.5, 1.0)
        ),
    ),
    *_over(
        "integration_dt, other laws",
        *(
            {"law": law, "value": value, "nullspace_gain": 0.0, "integration_dt_s": dt}
            for dt in (0.5, 1.0, 2.0, 5.0)
            for law, value in OTHERS
        ),
    ),
    *_over("duration", *({"duration_s": duration} for duration in (12.0, 24.0))),
    *_over(
        "duration, other laws",
        *(
            {"law": law, "value": value, "nullspace_gain": 0.0, "duration_s": duration}
            for duration in (12.0, 24.0)
            for law, value in OTHERS
        ),
    ),
)
CHECKED = tuple(
    each
    for each in SETTINGS
    if each.knob in ("integration_dt", "speed bound") and each.integration_dt_s <= 2 and each.reach_m == REACHES[1]
)

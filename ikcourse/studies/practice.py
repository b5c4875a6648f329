"""The second practice: one path, several dampings, position servos beside motors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ikcourse.arm import Arm
from ikcourse.laws import DampedLeastSquares
from ikcourse.loop import Loop, Run, follow
from ikcourse.paths import Path
from ikcourse.torque import ComputedTorque, OperationalSpace
from ikcourse.track import Controller

DAMPINGS = (1e-4, 1e-3, 1e-2, 1e-1)
START_UP = 1.0
"""Left out of the worst error [s]: a circle begins at full speed."""


@dataclass(frozen=True)
class Row:
    """One run; units in the fields' names. Speed is of the joints themselves, not of what was commanded."""

    control: str
    damping: float
    final_error_m: float
    worst_error_m: float
    peak_speed_rad_s: float
    peak_torque_nm: float
    peak_torque_of_limit: float


def summary(run: Run, control: str, damping: float) -> Row:
    """The row of a run, on actuators with a force limit."""
    force_limits = run.arm.model.actuator_forcerange[run.arm.actuators, 1]
    speeds = np.abs(np.diff(run.q, axis=0)) / run.arm.model.opt.timestep
    torques = np.abs(run.torques)
    return Row(
        control=control,
        damping=damping,
        final_error_m=float(run.position_error[-1]),
        worst_error_m=float(run.position_error[run.times >= START_UP].max()),
        peak_speed_rad_s=float(speeds.max()),
        peak_torque_nm=float(torques.max()),
        peak_torque_of_limit=float((torques / force_limits).max()),
    )


def study(servos: Arm, motors: Arm, path: Path, dampings: Sequence[float] = DAMPINGS) -> list[Row]:
    """Follow the path once with each control at each damping.

    Args:
        servos, motors: the same arm, such as `panda()` and `panda(actuators="torque")`.
        path: longer than `START_UP`.
        dampings: values of lambda; in operational space they weigh against other units.
    """
    rows = []
    for damping in dampings:
        law = DampedLeastSquares(damping)
        loops: dict[str, Loop] = {
            "position servos": Controller(servos, law),
            "computed torque": ComputedTorque(motors, law),
            "operational space": ComputedTorque(motors, OperationalSpace(damping)),
        }
        rows += [summary(follow(loop, path), control, damping) for control, loop in loops.items()]
    return rows

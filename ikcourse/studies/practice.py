"""The second practice: a circle, slow and fast, at several dampings, position servos beside motors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ikcourse import scenes
from ikcourse.arm import Arm
from ikcourse.laws import DampedLeastSquares
from ikcourse.loop import Loop, Run, follow
from ikcourse.paths import Path, circle
from ikcourse.studies.many import Progress
from ikcourse.studies.tables import measured, setting, span
from ikcourse.torque import ComputedTorque, OperationalSpace
from ikcourse.track import Controller

FILE = "practice.csv"
RADIUS = 0.1
"""Of the circle [m]."""
START_UP = 1.0
"""Left out of the worst error [s]: a circle begins at full speed."""
DURATION = 5.0
"""Of the circle [s]: whole turns after the start-up."""
FREQUENCIES = (0.25, 1.0)
DAMPINGS = (1e-4, 1e-3, 1e-2, 1e-1)
SERVOS, COMPUTED, OPERATIONAL = CONTROLS = ("position servos", "computed torque", "operational space")
SETTINGS = tuple(product(FREQUENCIES, DAMPINGS, CONTROLS))
CHECKED = tuple(product(FREQUENCIES, DAMPINGS[-1:], CONTROLS))


@dataclass(frozen=True)
class Row:
    """One run; units in the fields' names. Speed is of the joints themselves, not of what was commanded.

    Attributes:
        frequency_hz: turns of the circle in a second, 0 where the path is none.
        worst_error_m: after `START_UP`.
        peak_torque_of_limit: the largest share that a joint used of its own force limit.
        clipped_steps: in which a joint limit cut a setpoint, or a motor's limit a torque.
    """

    model: str = setting()
    frequency_hz: float = setting("{:g}")
    control: str = setting()
    damping: float = setting("e")
    final_error_m: float = measured("{:.6f}")
    worst_error_m: float = measured("{:.6f}")
    peak_speed_rad_s: float = measured("{:.3f}")
    peak_torque_nm: float = measured("{:.2f}")
    peak_torque_of_limit: float = measured("{:.3f}")
    clipped_steps: int = measured()


def summary(run: Run, control: str, damping: float, model: str = "builtin", frequency: float = 0.0) -> Row:
    """The row of a run, on actuators with a force limit.

    Raises:
        ValueError: the run is not longer than `START_UP`.
    """
    started = run.times >= START_UP
    if not started.any():
        raise ValueError(f"the run must last longer than its start-up of {START_UP} s; it ends at {run.times[-1]:g} s")
    force_limits = run.arm.model.actuator_forcerange[run.arm.actuators, 1]
    speeds = np.abs(np.diff(run.q, axis=0)) / run.arm.model.opt.timestep
    torques = np.abs(run.torques)
    return Row(
        model=model,
        frequency_hz=frequency,
        control=control,
        damping=damping,
        final_error_m=float(run.position_error[-1]),
        worst_error_m=float(run.position_error[started].max()),
        peak_speed_rad_s=float(speeds.max()),
        peak_torque_nm=float(torques.max()),
        peak_torque_of_limit=float((torques / force_limits).max()),
        clipped_steps=int(run.clipped.sum()),
    )


def loop(servos: Arm, motors: Arm, control: str, damping: float) -> Loop:
    """The loop of one of `CONTROLS`, on the arm with the actuators that it needs."""
    if control == SERVOS:
        return Controller(servos, DampedLeastSquares(damping))
    if control == COMPUTED:
        return ComputedTorque(motors, DampedLeastSquares(damping))
    if control == OPERATIONAL:
        return ComputedTorque(motors, OperationalSpace(damping))
    raise ValueError(f"control must be one of {list(CONTROLS)}; got {control!r}")


def study(servos: Arm, motors: Arm, path: Path, dampings: Sequence[float] = DAMPINGS) -> list[Row]:
    """Follow the path once with each control at each damping.

    Args:
        servos, motors: the same arm, such as `panda()` and `panda(actuators="torque")`.
        path: longer than `START_UP`.
        dampings: values of lambda; in operational space they weigh against other units.
    """
    return [
        summary(follow(loop(servos, motors, control, damping), path), control, damping)
        for damping, control in product(dampings, CONTROLS)
    ]


def compute(
    model: str, settings: Sequence[tuple[float, float, str]] = SETTINGS, progress: Progress = iter
) -> list[Row]:
    """Follow the circle once for each (frequency, damping, control)."""
    servos, motors = scenes.panda(model), scenes.panda(model, actuators="torque")
    paths = {turns: circle(servos, RADIUS, turns, DURATION) for turns in {frequency for frequency, _, _ in settings}}
    return [
        summary(follow(loop(servos, motors, control, damping), paths[frequency]), control, damping, model, frequency)
        for frequency, damping, control in progress(settings)
    ]


def facts(rows: Sequence[Row]) -> list[str]:
    """What the table says, a sentence each."""
    said = []
    for model, frequency, control in dict.fromkeys((row.model, row.frequency_hz, row.control) for row in rows):
        mine = [row for row in rows if (row.model, row.frequency_hz, row.control) == (model, frequency, control)]
        said.append(
            f"{model}, circle at {frequency:g} Hz, {control}: {len(mine)} runs, one a damping; "
            f"worst error {span([1e3 * row.worst_error_m for row in mine], '.3g')} mm, "
            f"fastest joint {span([row.peak_speed_rad_s for row in mine], '.2f')} rad/s, "
            f"{span([100 * row.peak_torque_of_limit for row in mine], '.0f')} % of a torque limit, "
            f"{span([row.clipped_steps for row in mine], 'd')} steps cut."
        )
    return said

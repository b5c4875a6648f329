"""The damping study with one thing of the loop changed: which runs end elsewhere, without a word from anybody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import mujoco
import numpy as np

from ikcourse.arm import Arm
from ikcourse.laws import DampedLeastSquares, Law
from ikcourse.loop import Loop, follow
from ikcourse.paths import reach_and_return
from ikcourse.studies.damping import DAMPINGS, Row, summary
from ikcourse.track import Controller


class StaleController(Controller):
    """`Controller` with `mj_step` alone: q is new, while J and the tool's pose are those of the step before."""

    def step(
        self,
        target_position: np.ndarray,
        target_quaternion: np.ndarray,
        target_twist: np.ndarray | None = None,
        target_acceleration: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        self._measure(target_position, target_quaternion, target_twist, target_acceleration)
        qdot = self._ask(self.state)
        setpoint = self.state.q + qdot * self.integration_dt
        self.data.ctrl[self._ctrl] = np.clip(setpoint, self.arm.lower, self.arm.upper)
        mujoco.mj_step(self.arm.model, self.data)
        return qdot, setpoint


LOOPS: Mapping[str, Callable[[Arm, Law], Loop]] = {
    "as it is": Controller,
    "pose one step old": StaleController,
    "setpoint from commanded q": lambda arm, law: Controller(
        arm, law, setpoint_from="commanded", integration_dt=10 * arm.model.opt.timestep
    ),
}
"""Commanded q with the gain of 10 in a second that the Panda's servos have at integration_dt 1.0 from measured q."""


def study(
    arm: Arm,
    loop: Callable[[Arm, Law], Loop],
    reach: float = 0.70,
    dampings: Sequence[float] = DAMPINGS,
    progress: Callable[[Sequence[float]], Iterable[float]] = iter,
) -> list[Row]:
    """`damping.study` with another loop, such as one of `LOOPS`; its other arguments are the same."""
    path = reach_and_return(arm, reach)
    return [summary(follow(loop(arm, DampedLeastSquares(damping)), path), damping) for damping in progress(dampings)]

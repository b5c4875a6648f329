"""What a law may do with the motion its task leaves free: secondary objectives, and a second task in priority.

    law = DampedLeastSquares(1e-2, secondary=(LimitRepulsion(5.0), ManipulabilityGradient(2.0)))

An objective is bound to an arm like a law and answers with the joint velocity it would like; each works alone, and
several add up. Each is the function of `nullspace` or `ellipsoid` with its name; `RecursivePriority` is a law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np

from ikcourse import ellipsoid, inverse, nullspace, priority
from ikcourse.arm import Arm, _id_of
from ikcourse.laws import State, Step, _require_at_least_zero

TaskStep = Callable[[State], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Posture:
    """gain * (posture - q).

    Attributes:
        gain: [1/s], >= 0.
        posture: joint positions, n numbers [rad] or [m]; by default the arm's home.
    """

    gain: float = 1.0
    posture: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        _require_at_least_zero("gain", self.gain)

    def bind(self, arm: Arm) -> Step:
        posture = arm.home if self.posture is None else arm.checked(self.posture)
        return lambda state: self.gain * (posture - state.q)


@dataclass(frozen=True)
class LimitRepulsion:
    """Out of the margins before the joint limits: gain [1/s], margin [rad] or [m], both >= 0."""

    gain: float = 1.0
    margin: float = 0.3

    def __post_init__(self) -> None:
        _require_at_least_zero("gain", self.gain)
        _require_at_least_zero("margin", self.margin)

    def bind(self, arm: Arm) -> Step:
        return lambda state: nullspace.limit_repulsion(state.q, arm.lower, arm.upper, self.gain, self.margin)


@dataclass(frozen=True)
class ManipulabilityGradient:
    """gain * dw/dq, uphill in manipulability; the gain's unit is that of q^2 / w per second, and >= 0.

    Raises:
        ValueError: in `bind`, the arm's joints do not come base first.
    """

    gain: float = 1.0

    def __post_init__(self) -> None:
        _require_at_least_zero("gain", self.gain)

    def bind(self, arm: Arm) -> Step:
        if (np.diff(arm.joints) < 0).any():
            raise ValueError(f"the gradient needs the joints from the base to the tip; got {list(arm.joint_names)}")
        return lambda state: self.gain * ellipsoid.manipulability_gradient(state.jacobian)


@dataclass(frozen=True)
class PointTask:
    """A second task: the origin of a body, such as the elbow's, goes to a point.

    Bound to an arm it gives, from a `State`, J2 (k, n) and e2 = gain * (target - position), (k,) [m/s].

    Attributes:
        body: its name; "link4" carries the Panda's elbow.
        target: x, y, z in the world [m].
        gain: [1/s], >= 0.
        axes: the k world axes that count, such as "z" for the height alone.

    Raises:
        ValueError: a value does not fit; in `bind`, no body has the name.
    """

    body: str
    target: tuple[float, float, float]
    gain: float = 1.0
    axes: str = "xyz"

    def __post_init__(self) -> None:
        _require_at_least_zero("gain", self.gain)
        if len(self.target) != 3 or not np.isfinite(self.target).all():
            raise ValueError(f"target must be three finite numbers [m]; got {self.target}")
        if not self.axes or len(set(self.axes)) < len(self.axes) or not set(self.axes) <= set("xyz"):
            raise ValueError(f"axes must name some of 'xyz', each once; got {self.axes!r}")

    def bind(self, arm: Arm) -> TaskStep:
        body = _id_of(arm.model, mujoco.mjtObj.mjOBJ_BODY, "body", self.body)
        rows, target = ["xyz".index(axis) for axis in self.axes], np.array(self.target, float)
        columns = np.empty((3, arm.model.nv))

        def step(state: State) -> tuple[np.ndarray, np.ndarray]:
            mujoco.mj_jacBody(arm.model, state.data, columns, None, body)
            error = self.gain * (target - state.data.xpos[body])
            return columns[rows][:, arm.dofs], error[rows]

        return step


@dataclass(frozen=True)
class SecondTask:
    """The second task solved as if it were alone: as an objective this is `priority.priority_robust`.

    Attributes:
        task: what it wants.
        damping: lambda of its own solve, >= 0.
    """

    task: PointTask
    damping: float = 1e-2

    def __post_init__(self) -> None:
        _require_at_least_zero("damping", self.damping)

    def bind(self, arm: Arm) -> Step:
        task = self.task.bind(arm)
        return lambda state: inverse.damped(*task(state), self.damping)


@dataclass(frozen=True)
class RecursivePriority:
    """The law `priority.priority_recursive`: the pose first, the second task over the motions that it leaves.

    Attributes:
        task: the second task.
        damping: lambda of the pose's solve, >= 0.
        second_damping: lambda of the second task's, >= 0; it bounds the speed near an algorithmic singularity.
    """

    task: PointTask
    damping: float = 1e-2
    second_damping: float = 1e-2

    def __post_init__(self) -> None:
        _require_at_least_zero("damping", self.damping)
        _require_at_least_zero("second_damping", self.second_damping)

    def bind(self, arm: Arm) -> Step:
        task = self.task.bind(arm)
        return lambda state: priority.priority_recursive(
            state.jacobian, state.error, *task(state), self.damping, self.second_damping
        )

"""Limits as constraints: the box that they leave to the joint velocity of one step, and the best answer inside it.

A quadratic programme whose only constraints are bounds is least squares in a box. SciPy solves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from ikcourse.arm import Arm
from ikcourse.laws import State, Step, _require_at_least_zero

LIMIT_GAIN = 0.95
"""How much of the way to its limit a joint may go in one step: mink's default."""
Speed = float | tuple[float, ...] | None


def velocity_box(
    arm: Arm,
    q: np.ndarray,
    max_joint_speed: Speed = None,
    limit_gain: float | None = LIMIT_GAIN,
    dt: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest joint velocity that the limits allow for one step: limit_gain (limit - q) / dt, and the speed.

    A joint outside its limits has a box that does not hold zero: it must come back.

    Args:
        arm: gives the joint limits.
        q: joint positions, (n,) [rad] or [m].
        max_joint_speed: one for all joints or one for each [rad/s] or [m/s], > 0; by default none.
        limit_gain: part of the way to its limit that a joint may go in one step, 0 < gain <= 1; None for no limits.
        dt: how long the step is [s], > 0.

    Returns:
        Two arrays (n,), infinite where nothing bounds.

    Raises:
        ValueError: a value is out of its range, or a joint is so far outside its limits that it cannot come back at
            the speed that it is allowed; the message says which, how far, and what would do.
    """
    _require_limits(max_joint_speed, limit_gain, dt)
    require_one_speed_a_joint(arm, max_joint_speed)
    return allowed(arm, arm.checked(q), max_joint_speed, limit_gain, dt)


def allowed(
    arm: Arm, q: np.ndarray, max_joint_speed: Speed, limit_gain: float | None, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """`velocity_box` without the checks of its arguments, for the control loop."""
    speed = np.inf if max_joint_speed is None else max_joint_speed
    highest = np.broadcast_to(np.asarray(speed, float), (arm.n,))
    lowest = -highest
    if limit_gain is not None:
        lowest = np.maximum(lowest, limit_gain * (arm.lower - q) / dt)
        highest = np.minimum(highest, limit_gain * (arm.upper - q) / dt)
        if (lowest > highest).any():
            raise ValueError(_cannot_come_back(arm, q, lowest, highest, limit_gain, dt))
    return lowest, highest


def boxed_least_squares(
    jacobian: np.ndarray,
    error: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    damping: float,
    secondary: np.ndarray | float = 0.0,
) -> np.ndarray:
    """argmin ||J qdot - e||^2 + lambda^2 ||qdot - z||^2 with lowest <= qdot <= highest, solved exactly.

    Args:
        jacobian: J, (m, n).
        error: e, (m,).
        lowest, highest: of each joint, (n,), lowest <= highest; infinite where nothing bounds.
        damping: lambda, > 0: without it an arm with a joint to spare has no single answer.
        secondary: z, (n,), such as `nullspace.posture`.

    Returns:
        qdot, (n,).

    Raises:
        ValueError: damping is not positive, a bound is not a number, or a lowest is above its highest.

    Source: Stark and Parker 1995 (the solver).
    """
    from scipy.optimize import lsq_linear  # slow to import, and needed here alone

    n = np.shape(jacobian)[1]
    if not (math.isfinite(damping) and damping > 0):
        raise ValueError(f"damping must be finite and positive; got {damping}")
    if not np.less_equal(lowest, highest).all():
        raise ValueError(f"every lowest must be at most its highest; got {lowest} and {highest}")
    rows = np.concatenate([jacobian, damping * np.eye(n)])
    aim = np.concatenate([error, damping * np.broadcast_to(secondary, (n,))])
    open_above = np.maximum(highest, np.nextafter(lowest, np.inf))  # the solver wants room; the cut takes it back
    answer = lsq_linear(rows, aim, (lowest, open_above), method="bvls", tol=1e-15, max_iter=100).x
    return np.clip(answer, lowest, highest)


@dataclass(frozen=True)
class BoxedLeastSquares:
    """Damped least squares with the limits as constraints: other joints take over what one cannot give.

    argmin ||J qdot - e||^2 + lambda^2 ||qdot - nullspace_gain (q_home - q)||^2 inside `velocity_box`. Where no limit is
    met this is `DampedLeastSquares`.

    Attributes:
        damping: lambda, > 0.
        nullspace_gain: pull towards home [1/s], >= 0.
        max_joint_speed, limit_gain: as `velocity_box`; one of them at least.
        dt: how long the step is for which the joint limits hold [s]: give the loop's integration_dt.

    Raises:
        ValueError: a value is out of its range, or nothing is limited; in a step, as `velocity_box`.
    """

    damping: float = 1e-2
    nullspace_gain: float = 0.0
    max_joint_speed: Speed = None
    limit_gain: float | None = LIMIT_GAIN
    dt: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.damping) and self.damping > 0):
            raise ValueError(f"damping must be finite and positive; got {self.damping}")
        _require_at_least_zero("nullspace_gain", self.nullspace_gain)
        _require_limits(self.max_joint_speed, self.limit_gain, self.dt)
        if self.max_joint_speed is None and self.limit_gain is None:
            raise ValueError("a box needs max_joint_speed or limit_gain; without either use DampedLeastSquares")
        if self.limit_gain is None and self.dt != 1.0:
            raise ValueError(f"dt={self.dt} does nothing without limit_gain: a speed needs no time")

    def bind(self, arm: Arm) -> Step:
        require_one_speed_a_joint(arm, self.max_joint_speed)

        def step(state: State) -> np.ndarray:
            box = allowed(arm, state.q, self.max_joint_speed, self.limit_gain, self.dt)
            z = self.nullspace_gain * (arm.home - state.q)
            return boxed_least_squares(state.jacobian, state.error, *box, self.damping, z)

        return step


def require_one_speed_a_joint(arm: Arm, max_joint_speed: Speed) -> None:
    """Raise ValueError unless the speed limit is one for all joints or one for each."""
    if isinstance(max_joint_speed, tuple | list | np.ndarray) and len(max_joint_speed) != arm.n:
        raise ValueError(
            f"max_joint_speed must be one number or {arm.n}, for {list(arm.joint_names)}; got {max_joint_speed}"
        )


def _require_limits(max_joint_speed: Speed, limit_gain: float | None, dt: float) -> None:
    """Refuse limits that are none, with ValueError."""
    if max_joint_speed is not None:
        speeds = np.asarray(max_joint_speed, float)
        if speeds.ndim > 1 or not (np.isfinite(speeds).all() and (speeds > 0).all()):
            raise ValueError(f"max_joint_speed must be positive and finite [rad/s]; got {max_joint_speed}")
    if limit_gain is not None and not 0 < limit_gain <= 1:
        raise ValueError(f"limit_gain must be above 0 and at most 1; got {limit_gain}")
    if not (math.isfinite(dt) and dt > 0):
        raise ValueError(f"dt must be positive and finite [s]; got {dt}")


def _cannot_come_back(
    arm: Arm, q: np.ndarray, lowest: np.ndarray, highest: np.ndarray, limit_gain: float, dt: float
) -> str:
    """What is wrong with the joint whose box is emptiest."""
    i = int(np.argmax(lowest - highest))
    above = q[i] > arm.upper[i]
    limit, side, word = (arm.upper[i], "above", "upper") if above else (arm.lower[i], "below", "lower")
    asked, speed = (-highest[i], -lowest[i]) if above else (lowest[i], highest[i])
    unit = "m" if arm.model.jnt_type[arm.joints[i]] == int(mujoco.mjtJoint.mjJNT_SLIDE) else "rad"
    return (
        f"joint {arm.joint_names[i]!r} is {abs(q[i] - limit):.4g} {unit} {side} its {word} limit {limit:.4g} {unit}: "
        f"to come {limit_gain:.0%} of the way back in a step of {dt:g} s it needs {asked:.4g} {unit}/s, and "
        f"max_joint_speed is {speed:.4g} {unit}/s; start it within {speed * dt / limit_gain:.4g} {unit} of the limit, "
        "or allow more speed"
    )

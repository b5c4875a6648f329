"""Control laws: frozen parameters that become, bound to an arm, a step from what is measured to joint velocity.

    step = DampedLeastSquares(damping=1e-2).bind(arm)
    qdot = step(state)

Each law hands J and e to one function of `ikcourse.inverse`; e is the velocity that would remove the pose error in one
second.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import mujoco
import numpy as np
from scipy.linalg import lapack

from ikcourse import inverse, nullspace
from ikcourse.arm import Arm
from ikcourse.selective import selectively_damped


@dataclass(frozen=True, eq=False)
class State:
    """What a law may read. The control loop refreshes the arrays in place before each step: copy what you keep.

    Attributes:
        q, qd: measured positions and velocities of the controlled joints, (n,).
        position, quaternion: pose of the site, (3,) [m] and (4,).
        jacobian: J, (6, n).
        error: e, (6,) [m] and [rad].
        target_position, target_quaternion, target_twist: the target, (3,), (4,), (6,).
        data: the simulation, kinematics current.
        target_acceleration: the target's, (6,) [m/s^2] and [rad/s^2].
    """

    q: np.ndarray
    qd: np.ndarray
    position: np.ndarray
    quaternion: np.ndarray
    jacobian: np.ndarray
    error: np.ndarray
    target_position: np.ndarray
    target_quaternion: np.ndarray
    target_twist: np.ndarray
    data: mujoco.MjData
    target_acceleration: np.ndarray = field(default_factory=lambda: np.zeros(6))

    def with_error(self, error: np.ndarray) -> State:
        """The same state with another e, (6,), for a law that is asked for another twist."""
        return replace(self, error=error)


EPS = float(np.finfo(float).eps)
Step = Callable[[State], np.ndarray]


class Law(Protocol):
    """Anything with `bind(arm)`, which gives the step function."""

    def bind(self, arm: Arm) -> Step:
        """The step function for this arm: qdot (n,) from a `State`."""
        ...


@dataclass(frozen=True)
class DampedLeastSquares:
    """qdot = z + J^T (J J^T + lambda^2 I)^-1 (e - J z): the pose, and secondary motions z in its null space.

    z = nullspace_gain * (q_home - q) plus what each secondary objective asks for.

    Attributes:
        damping: lambda, >= 0; 0 is the pseudo-inverse.
        nullspace_gain: pull towards home through the null space [1/s], >= 0.
        secondary: objectives, such as those of `ikcourse.objectives`: anything that can be bound to an arm and gives a
            joint velocity (n,) from a `State`.
    """

    damping: float = 1e-2
    nullspace_gain: float = 0.0
    secondary: tuple[Law, ...] = ()

    def __post_init__(self) -> None:
        _require_at_least_zero("damping", self.damping)
        _require_at_least_zero("nullspace_gain", self.nullspace_gain)
        if not (isinstance(self.secondary, tuple) and all(hasattr(one, "bind") for one in self.secondary)):
            raise ValueError(f"secondary must be a tuple of objectives, each with bind(arm); got {self.secondary!r}")

    def bind(self, arm: Arm) -> Step:
        wishes = [objective.bind(arm) for objective in self.secondary]
        if self.nullspace_gain > 0:
            wishes.append(lambda state: self.nullspace_gain * (arm.home - state.q))
        solve = _damped_solver(self.damping, arm.n)
        if not wishes:
            return lambda state: solve(state.jacobian, state.error)
        first, *others = wishes

        def step(state: State) -> np.ndarray:
            z = first(state)
            for other in others:
                z = z + other(state)
            if self.damping == 0:
                return nullspace.damped_with_secondary(state.jacobian, state.error, z, 0.0)
            return z + solve(state.jacobian, state.error - state.jacobian @ z)

        return step


class Formula(ABC):
    """A law that is one function of J and e, and so answers for one arm or for many stacked alike."""

    @abstractmethod
    def answer(self, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        """qdot (..., n) from J (..., 6, n) and e (..., 6)."""

    def bind(self, arm: Arm) -> Step:
        return lambda state: self.answer(state.jacobian, state.error)


@dataclass(frozen=True)
class PseudoInverse(Formula):
    """qdot = J^+ e."""

    def answer(self, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        return inverse.pseudo_inverse(jacobian, error)


@dataclass(frozen=True)
class Transpose(Formula):
    """qdot = gain * J^T e; by default the gain that leaves the smallest error to first order."""

    gain: float | None = None

    def __post_init__(self) -> None:
        if self.gain is not None:
            _require_at_least_zero("gain", self.gain)

    def answer(self, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        return inverse.transpose(jacobian, error, self.gain)


@dataclass(frozen=True)
class TruncatedSVD(Formula):
    """The pseudo-inverse without the directions whose singular value is at or below the threshold."""

    threshold: float = 1e-2

    def __post_init__(self) -> None:
        _require_at_least_zero("threshold", self.threshold)

    def answer(self, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        return inverse.truncated(jacobian, error, self.threshold)


@dataclass(frozen=True)
class AdaptiveDamping(Formula):
    """Damped least squares whose lambda grows from damping_min to damping_max as sigma_min falls to zero."""

    threshold: float = 0.05
    damping_max: float = 0.05
    damping_min: float = 0.0

    def __post_init__(self) -> None:
        inverse.adaptive_damping(np.eye(1), self.threshold, self.damping_max, self.damping_min)

    def answer(self, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        damping = inverse.adaptive_damping(jacobian, self.threshold, self.damping_max, self.damping_min)
        return inverse.damped_svd(jacobian, error, damping)


@dataclass(frozen=True)
class SelectivelyDamped(Formula):
    """Each singular direction exact up to its own bound; no joint turns farther than gamma_max [rad] in a second."""

    gamma_max: float = math.pi / 4

    def __post_init__(self) -> None:
        selectively_damped(np.eye(1), np.zeros(1), self.gamma_max)

    def answer(self, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        return selectively_damped(jacobian, error, self.gamma_max)


def _damped_solver(damping: float, n: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """`inverse.damped` for one arm: LAPACK's Cholesky solve without a batch, the SVD where that cannot see lambda."""
    damping_matrix = damping**2 * np.eye(6)
    largest_seen = seen_beside(damping, n)

    def solve(jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        if np.vdot(jacobian, jacobian) >= largest_seen:
            return inverse.damped_svd(jacobian, error, damping)
        A = jacobian.dot(jacobian.T)  # on matrices this small `dot` costs half of what `@` does
        A += damping_matrix
        # The transpose of a C array is what LAPACK reads in place. It cannot fail: lambda^2 is clear of rounding.
        _, x, _ = lapack.dposv(A.T, error, overwrite_a=1)
        return x.dot(jacobian)

    return solve


def seen_beside(damping: float, n: int) -> float:
    """The ||J||_F^2 of a (6, n) Jacobian below which rounding leaves lambda^2 enough digits in J J^T + lambda^2 I."""
    return damping**2 / (inverse.SOLVE_MARGIN * max(6, n) * EPS)


def _require_at_least_zero(name: str, value: float) -> None:
    """Refuse a law's parameter that is negative or not finite, with ValueError."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and not negative; got {value}")

"""What to do when the law asks for more speed than a joint has: scale, clip, or negotiate.

Scaling keeps the direction of the tool and slows everything; clipping bends the direction; the quadratic programme lets
the other joints take over what one cannot give.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcourse.arm import Arm
from ikcourse.box import BoxedLeastSquares
from ikcourse.laws import Step


def scale_to_speed_limit(qdot: np.ndarray, limit: float | np.ndarray) -> np.ndarray:
    """qdot shortened until no joint exceeds its limit: the direction of motion stays, only its pace changes.

    Args:
        qdot: (n,) [rad/s] or [m/s].
        limit: > 0, scalar or (n,).

    Returns:
        (n,), qdot itself where no joint is too fast.

    Raises:
        ValueError: a value is not finite, a limit is not positive, or there is not one limit for each joint.
    """
    return shortened(*_checked(qdot, limit))


def shortened(qdot: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """`scale_to_speed_limit` without its checks, for the control loop."""
    ratio = float(np.max(np.abs(qdot) / limit))
    return qdot / ratio if ratio > 1 else qdot


def clip_to_speed_limit(qdot: np.ndarray, limit: float | np.ndarray) -> np.ndarray:
    """qdot with each joint cut to its own limit: the fast joints lose, and the tool leaves its direction.

    Args:
        qdot: (n,) [rad/s] or [m/s].
        limit: > 0, scalar or (n,).

    Raises:
        ValueError: as `scale_to_speed_limit`.
    """
    return clipped(*_checked(qdot, limit))


def clipped(qdot: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """`clip_to_speed_limit` without its checks, for the control loop."""
    return np.clip(qdot, -limit, limit)


def _checked(qdot: np.ndarray, limit: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays; ValueError where a value is not finite, a limit is not positive, or their shapes do not fit."""
    qdot, limit = np.asarray(qdot, float), np.asarray(limit, float)
    if limit.shape not in ((), qdot.shape):
        raise ValueError(f"limit must be a scalar or have qdot's shape {qdot.shape}; got {limit.shape}")
    if not (np.isfinite(qdot).all() and np.isfinite(limit).all() and (limit > 0).all()):
        raise ValueError(f"qdot must be finite and every limit positive; got {qdot} and {limit}")
    return qdot, limit


@dataclass(frozen=True)
class SpeedLimited:
    """argmin ||J qdot - e||^2 + lambda^2 ||qdot||^2 within the speed limits: other joints take over what one cannot.

    `BoxedLeastSquares` without the joint limits. Where no limit is met this is `DampedLeastSquares`.

    Attributes:
        max_joint_speed: > 0, one for all joints or one for each [rad/s].
        damping: lambda, > 0.

    Raises:
        ValueError: a value is out of its range; in `bind`, there is not one speed for each joint.
    """

    max_joint_speed: float | tuple[float, ...]
    damping: float = 1e-2

    def __post_init__(self) -> None:
        if self.max_joint_speed is None:
            raise ValueError("max_joint_speed must be positive and finite [rad/s]; got None")
        self._boxed()

    def bind(self, arm: Arm) -> Step:
        return self._boxed().bind(arm)

    def _boxed(self) -> BoxedLeastSquares:
        return BoxedLeastSquares(self.damping, max_joint_speed=self.max_joint_speed, limit_gain=None)

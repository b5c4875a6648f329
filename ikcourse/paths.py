"""Where the tool should be: target paths as arrays of poses, twists and accelerations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcourse import rotation
from ikcourse.arm import Arm
from ikcourse.jacobian import site_pose

REACH = 0.70
"""The course's reach [m]: nearly the Panda's whole arm at this orientation."""


@dataclass(frozen=True, eq=False)
class Path:
    """Target poses over time, one row a control step.

    Attributes:
        times: (T,) [s], equally spaced.
        positions: (T, 3) [m].
        quaternions: (T, 4), w, x, y, z, unit.
        twists: (T, 6), linear [m/s] before angular [rad/s], world axes.
        accelerations: (T, 6) [m/s^2] and [rad/s^2].
    """

    times: np.ndarray
    positions: np.ndarray
    quaternions: np.ndarray
    twists: np.ndarray
    accelerations: np.ndarray

    def __post_init__(self) -> None:
        shapes = {"positions": 3, "quaternions": 4, "twists": 6, "accelerations": 6}
        for name in ("times", *shapes):  # copies: whoever made the arrays may go on writing in them
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=float))
        steps = len(self.times) if self.times.ndim else 0
        if self.times.ndim != 1 or steps < 1:
            raise ValueError(f"a path needs at least one time, in shape (T,); got {self.times.shape}")
        _require_equal_steps(self.times)
        for name, size in shapes.items():
            array = getattr(self, name)
            if array.shape != (steps, size):
                raise ValueError(f"{name} must have shape ({steps}, {size}); got {array.shape}")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite")
        object.__setattr__(self, "quaternions", rotation.quat_normalize(self.quaternions))


def reach_and_return(
    arm: Arm, reach: float = REACH, duration: float = 6.0, origin: np.ndarray | None = None, rest: float = 0.0
) -> Path:
    """Out along the ray from the shoulder through the tool's home and back, then at rest, orientation held.

    The distance from the shoulder is d(t) = d_home + (reach - d_home) (1 - cos(2 pi t / duration)) / 2.

    Args:
        arm: gives the home pose and the time step.
        reach: farthest distance from the origin [m].
        duration: of the whole motion [s].
        origin: the shoulder, (3,) [m]; by default where the arm's first joint stands.
        rest: how long the target then stays at home [s], >= 0: after it, what is still missing is no lag.

    Raises:
        ValueError: reach is not finite and positive, duration is shorter than a time step, rest is negative, or the
            origin is the home position, which leaves no direction.
    """
    if not (np.isfinite(reach) and reach > 0):
        raise ValueError(f"reach must be positive and finite [m]; got {reach}")
    _require_rest(rest)
    moving = len(_times(arm, duration))
    times = _times(arm, duration + rest)
    home, quaternion = site_pose(arm, arm.data())
    shoulder = arm.data().xanchor[arm.joints[0]] if origin is None else np.asarray(origin, float)
    if shoulder.shape != (3,) or not np.isfinite(shoulder).all():
        raise ValueError(f"origin must be three finite numbers; got {origin}")
    ray = home - shoulder
    distance = float(np.linalg.norm(ray))
    if distance == 0:
        raise ValueError("the tool's home is at the origin: there is no direction to reach along")
    rate = 2 * np.pi / duration
    extension = (reach - distance) / 2
    along = extension * (1 - np.cos(rate * times))
    speed, acceleration = extension * rate * np.sin(rate * times), extension * rate**2 * np.cos(rate * times)
    for trace in (along, speed, acceleration):
        trace[moving:] = 0.0
    direction = ray / distance
    return _held_orientation(
        times,
        home + np.outer(along, direction),
        np.outer(speed, direction),
        np.outer(acceleration, direction),
        quaternion,
    )


def circle(
    arm: Arm,
    radius: float = 0.1,
    frequency: float = 0.25,
    duration: float = 8.0,
    normal: tuple[float, float, float] = (1, 0, 0),
) -> Path:
    """A circle that starts at the tool's home at full speed, orientation held.

    Args:
        arm: gives the home pose and the time step.
        radius: [m], > 0.
        frequency: turns a second [Hz], > 0.
        duration: [s].
        normal: axis of the circle, (3,), any length but zero.

    Raises:
        ValueError: a value is out of its range.
    """
    if not (np.isfinite([radius, frequency]).all() and radius > 0 and frequency > 0):
        raise ValueError(f"radius and frequency must be positive and finite; got {radius} m, {frequency} Hz")
    axis = np.asarray(normal, float)
    length = np.linalg.norm(axis)
    if axis.shape != (3,) or not (np.isfinite(length) and length > 0):
        raise ValueError(f"normal must be three finite numbers, not all zero; got {normal}")
    home, quaternion = site_pose(arm, arm.data())
    # Any axis that is not the normal spans the circle's plane with it; the smallest component keeps them far apart.
    helper = np.eye(3)[np.argmin(np.abs(axis))]
    first = np.cross(axis, helper)
    first /= np.linalg.norm(first)
    second = np.cross(axis / length, first)
    times = _times(arm, duration)
    rate = 2 * np.pi * frequency
    cos, sin = np.cos(rate * times), np.sin(rate * times)
    return _held_orientation(
        times,
        home + radius * (np.outer(cos - 1, first) + np.outer(sin, second)),
        radius * rate * (np.outer(-sin, first) + np.outer(cos, second)),
        radius * rate**2 * (np.outer(-cos, first) + np.outer(-sin, second)),
        quaternion,
    )


def wide_loop(
    arm: Arm,
    duration: float = 8.0,
    rest: float = 1.0,
    size: tuple[float, float, float] = (0.208, -0.345, 0.114),
) -> Path:
    """Twice round a wide closed loop from the tool's home and back to it, then at rest, orientation held.

    p = p_home + (a (cos th - 1), b sin th, c (1 - cos th) / 2) with th = 4 pi (u - sin(2 pi u) / (2 pi)) and
    u = t / duration: it starts and ends at rest. An arm that only follows comes home in another posture.

    Args:
        arm: gives the home pose and the time step.
        duration: of the two turns [s].
        rest: how long the target then stays at home [s], >= 0.
        size: a, b, c [m].

    Raises:
        ValueError: duration is shorter than a time step, rest is negative, or a value is not finite.
    """
    a, b, c = np.asarray(size, float)
    if not np.isfinite([a, b, c]).all():
        raise ValueError(f"size must be finite [m]; got {size}")
    _require_rest(rest)
    _times(arm, duration)  # refuses a duration that is none
    times = _times(arm, duration + rest)
    home, quaternion = site_pose(arm, arm.data())
    turn = 2 * np.pi * np.minimum(times / duration, 1.0)
    angle = 2 * turn - 2 * np.sin(turn)
    rate = 4 * np.pi / duration * (1 - np.cos(turn))
    change = 8 * (np.pi / duration) ** 2 * np.sin(turn)
    cos, sin = np.cos(angle), np.sin(angle)
    along = np.stack([-a * sin, b * cos, c * sin / 2], axis=1)  # dp / d angle
    across = np.stack([-a * cos, -b * sin, c * cos / 2], axis=1)  # d^2 p / d angle^2
    return _held_orientation(
        times,
        home + np.stack([a * (cos - 1), b * sin, c * (1 - cos) / 2], axis=1),
        rate[:, None] * along,
        change[:, None] * along + (rate**2)[:, None] * across,
        quaternion,
    )


def hold(arm: Arm, duration: float = 2.0) -> Path:
    """The tool's home pose, for `duration` [s]."""
    times = _times(arm, duration)
    home, quaternion = site_pose(arm, arm.data())
    still = np.zeros((len(times), 3))
    return _held_orientation(times, home + still, still, still, quaternion)


def recorded(times: np.ndarray, positions: np.ndarray, quaternions: np.ndarray) -> Path:
    """A path from recorded poses, such as a target dragged by hand; twists and accelerations by finite differences.

    Args:
        times: (T,) [s], equally spaced, T >= 3.
        positions: (T, 3) [m].
        quaternions: (T, 4), of either sign.

    Raises:
        ValueError: a shape does not fit, the times are uneven or too few, or a quaternion is not unit within 1e-3.
    """
    times, positions = np.asarray(times, float), np.asarray(positions, float)
    if times.ndim != 1 or len(times) < 3:
        raise ValueError(f"a recording needs at least three poses; got times of shape {times.shape}")
    _require_equal_steps(times)
    unit = rotation.quat_normalize(quaternions)
    if positions.shape != (len(times), 3) or unit.shape != (len(times), 4):
        raise ValueError(
            f"need positions ({len(times)}, 3) and quaternions ({len(times)}, 4); got {positions.shape}, {unit.shape}"
        )
    turned = rotation.rotation_error(unit[1:], unit[:-1])
    between = turned / np.diff(times)[:, None]
    angular = np.concatenate([between[:1], (between[1:] + between[:-1]) / 2, between[-1:]])
    twists = np.concatenate([np.gradient(positions, times, axis=0), angular], axis=1)
    return Path(times, positions, unit, twists, np.gradient(twists, times, axis=0))


def _require_rest(rest: float) -> None:
    if not (np.isfinite(rest) and rest >= 0):
        raise ValueError(f"rest must be finite and not negative [s]; got {rest}")


def _require_equal_steps(times: np.ndarray) -> None:
    intervals = np.diff(times)
    even = np.allclose(intervals, intervals[:1], rtol=1e-6, atol=0)
    if not (np.isfinite(times).all() and (intervals > 0).all() and even):
        raise ValueError("times must be finite and increase in equal steps")


def _times(arm: Arm, duration: float) -> np.ndarray:
    """The start of each control step, 0, dt, ..., shorter than the duration."""
    timestep = float(arm.model.opt.timestep)
    if not (np.isfinite(duration) and duration >= timestep):
        raise ValueError(f"duration must be finite and at least one time step, {timestep} s; got {duration}")
    return np.arange(round(duration / timestep)) * timestep


def _held_orientation(
    times: np.ndarray,
    positions: np.ndarray,
    velocities: np.ndarray,
    accelerations: np.ndarray,
    quaternion: np.ndarray,
) -> Path:
    still = np.zeros_like(positions)
    return Path(
        times,
        positions,
        np.tile(quaternion, (len(times), 1)),
        np.concatenate([velocities, still], axis=1),
        np.concatenate([accelerations, still], axis=1),
    )

"""The exercise on the pose error."""

from __future__ import annotations

import numpy as np

from ikcourse import rotation
from ikcourse.check._answer import Answer, Function
from ikcourse.check._judge import Exercise, Property, Result, judge
from ikcourse.check._pose_error_mistakes import MISTAKES

TOLERANCE = 1e-6
SMALL = (0.05, 1e-3, 1e-5, 1e-6, 1e-7, 1e-8)
"""Angles [rad] whose size must survive to a part in 10^5: arccos has lost 1e-3 of it at 1e-6 rad."""


def pose_error(function: Function) -> Result:
    """Check a pose error.

    Args:
        function: f(target_position, target_quaternion, position, quaternion) -> e (6,), linear [m] before angular
            [rad], world axes, from present to target; quaternions are w, x, y, z.

    Returns:
        What was found. It tells apart by name: subtracted quaternions, Euler angles or rotation vectors; an error in
        the tool's axes instead of the world's; another product of the two quaternions, or their scalar taken for the
        last number; the sign; angular before linear; a sine where the angle is meant; degrees; a double cover that
        sends the arm the long way round; a failure at half a turn; digits lost near zero (arccos); NaN at the target; a
        changed input.
    """
    return judge(function, EXERCISE)


def _pose(angle: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The four arguments, and the rotation vector of that angle that turns the present pose into the target."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    vector = angle * axis / np.linalg.norm(axis)
    quaternion = rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    target = rotation.quat_multiply(rotation.quat_exp(vector), quaternion)
    return rng.uniform(-1, 1, 3), target, rng.uniform(-1, 1, 3), quaternion, vector


ORDINARY = tuple(_pose(angle, seed) for seed, angle in enumerate((0.3, 1.2, 2.5)))


def linear(answer: Answer) -> str:
    for target, wanted, position, quaternion, _ in ORDINARY:
        off = float(np.abs(answer(target, wanted, position, quaternion)[:3] - (target - position)).max())
        if off > TOLERANCE:
            return f"The first three numbers differ from target minus position by up to {off:.3g} m."
    return ""


def angular(answer: Answer) -> str:
    for target, wanted, position, quaternion, vector in ORDINARY:
        given = answer(target, wanted, position, quaternion)[3:]
        left = _angle_left(given, wanted, quaternion)
        if left > TOLERANCE:
            return (
                f"Turning the present orientation by your rotation vector misses the target by {left:.3g} rad (it is "
                f"{np.linalg.norm(vector):.3g} rad away, you turn {np.linalg.norm(given):.3g} rad)."
            )
    return ""


def double_cover(answer: Answer) -> str:
    for target, wanted, position, quaternion, vector in ORDINARY:
        for signs in ((1, -1), (-1, 1), (-1, -1)):
            given = answer(target, signs[0] * wanted, position, signs[1] * quaternion)[3:]
            if np.abs(given - vector).max() > TOLERANCE:
                left = _angle_left(given, wanted, quaternion)
                ends = "the long way round" if left <= TOLERANCE else f"and ends {left:.3g} rad from the target"
                return (
                    f"q and -q are one rotation, and the answer changes with the sign of a quaternion: where "
                    f"{np.linalg.norm(vector):.3g} rad are left it turns {np.linalg.norm(given):.3g} rad, {ends}."
                )
    return ""


def small_angles(answer: Answer) -> str:
    for angle in SMALL:
        target, wanted, position, quaternion, vector = _pose(angle, seed=11)
        given = answer(target, wanted, position, quaternion)[3:]
        if np.linalg.norm(given - vector) > 1e-5 * angle:
            off = float(np.linalg.norm(given - vector)) / angle
            return f"An error of {angle:.0e} rad comes out wrong by {off:.1g} times its own size."
    return ""


def half_turn(answer: Answer) -> str:
    axes = (*np.eye(3), np.array([0.48, 0.6, 0.64]), np.array([-0.6, 0.0, 0.8]))
    for axis in axes:
        for quaternion in (np.array([1.0, 0, 0, 0]), ORDINARY[0][3]):
            for short in (0.0, 1e-7, 1e-4):
                turn = rotation.quat_exp((np.pi - short) * axis) if short else np.array([0.0, *axis])
                wanted = rotation.quat_multiply(turn, quaternion)
                given = answer(np.zeros(3), wanted, np.zeros(3), quaternion)[3:]
                turned, left = float(np.linalg.norm(given)), _angle_left(given, wanted, quaternion)
                if abs(turned - (np.pi - short)) > TOLERANCE or left > TOLERANCE:
                    return (
                        f"Of a turn of {np.pi - short:.8g} rad about {axis.tolist()} the answer makes {turned:.6g}, "
                        f"and ends {left:.2g} rad from the target."
                    )
    return ""


def arrived(answer: Answer) -> str:
    for seed in range(30):
        target, _, _, quaternion, _ = _pose(1.0, seed)
        left = float(np.abs(answer(target, quaternion, target, quaternion)).max())
        if left > 1e-12:
            return f"At the target itself the error is {left:.2g}, and not zero."
    return ""


def _angle_left(vector: np.ndarray, wanted: np.ndarray, quaternion: np.ndarray) -> float:
    turned = rotation.quat_multiply(rotation.quat_exp(vector), quaternion)
    return float(np.linalg.norm(rotation.rotation_error(wanted, turned)))


EXERCISE = Exercise(
    shape=lambda target_position, target_quaternion, position, quaternion: (6,),
    properties=(
        Property("the linear part is wrong", linear, "It is target minus position, in world axes, and comes first."),
        Property("the angular part is wrong", angular, "It is the rotation vector of target * conj(present)."),
        Property(
            "double cover",
            double_cover,
            "Where w < 0 change the sign of the whole quaternion, w and u, before the log.",
        ),
        Property(
            "digits lost near zero",
            small_angles,
            "arccos does that: at w = 1 it is blind to half of the digits; so does a threshold below which zero is "
            "returned, or a formula for small angles that is used too far. 2 atan2(|u|, w), with u for the vector "
            "part, keeps them all.",
        ),
        Property(
            "half a turn",
            half_turn,
            "At pi the antisymmetric part of R vanishes, sin(pi) divides by rounding, and np.sign(w) is 0 where w is. "
            "The quaternion's vector part is largest there: read the axis from it.",
        ),
        Property(
            "not zero at the target",
            arrived,
            "Nothing is left to do there: the vector part is zero, and the angle with it.",
        ),
    ),
    mistakes=MISTAKES,
    probes=lambda: [tuple(array.copy() for array in case[:4]) for case in ORDINARY],
    passed="It turns the present pose into the target, in world axes, the short way, from 1e-8 rad to half a turn.",
)

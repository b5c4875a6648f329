"""Ways to write a pose error wrong."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from ikcourse import rotation
from ikcourse.check._answer import Function
from ikcourse.check._judge import Mistake


def _of(linear: Function, angular: Function, swapped: bool = False) -> Function:
    """A pose error from its parts: linear of (target, position, quaternion), angular of the two quaternions."""

    def error(target: np.ndarray, wanted: np.ndarray, position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
        parts = linear(target, position, quaternion), angular(wanted, quaternion)
        return np.concatenate(parts[::-1] if swapped else parts)

    return error


def _difference(target: np.ndarray, position: np.ndarray, _: np.ndarray) -> np.ndarray:
    return target - position


def _in_tool(target: np.ndarray, position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    return rotation.quat_rotate(rotation.quat_conjugate(quaternion), target - position)


def _body(wanted: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    return rotation.quat_log(rotation.quat_multiply(rotation.quat_conjugate(quaternion), wanted))


def _vector_part(wanted: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    return rotation.quat_multiply(wanted, rotation.quat_conjugate(quaternion))[1:]


def _scaled(wanted: np.ndarray, quaternion: np.ndarray, length: Callable[[float], float]) -> np.ndarray:
    """The right axis, and a length made of the angle."""
    v = rotation.rotation_error(wanted, quaternion)
    angle = float(np.linalg.norm(v))
    return v / angle * length(angle)


def _sine(wanted: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    return _scaled(wanted, quaternion, math.sin)


def _euler(wanted: np.ndarray, quaternion: np.ndarray, sequence: str) -> np.ndarray:
    a, b = (Rotation.from_quat(q, scalar_first=True).as_euler(sequence) for q in (wanted, quaternion))
    return a - b


def _relative_euler(wanted: np.ndarray, quaternion: np.ndarray, sequence: str) -> np.ndarray:
    relative = rotation.quat_multiply(wanted, rotation.quat_conjugate(quaternion))
    return Rotation.from_quat(relative, scalar_first=True).as_euler(sequence)


def _scalar_last(wanted: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    return (Rotation.from_quat(wanted) * Rotation.from_quat(quaternion).inv()).as_rotvec()


def _product_scalar_last(wanted: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    return vector(np.roll(multiply(wanted, conjugate(quaternion)), 1))


log = rotation.rotation_error
multiply, conjugate, vector = rotation.quat_multiply, rotation.quat_conjugate, rotation.quat_log
SEQUENCES = ("xyz", "XYZ", "zyx", "ZYX")
MISTAKES = (
    Mistake(
        "the sign",
        "The error points from the target to the present pose, in its linear part, its angular part or both. e is what "
        "is left to do: target minus position, and target * conj(present).",
        (
            _of(lambda t, p, q: p - t, lambda w, q: log(q, w)),
            _of(_difference, lambda w, q: log(q, w)),
            _of(lambda t, p, q: p - t, log),
        ),
    ),
    Mistake(
        "angular before linear",
        "Both parts are right and stand in the other order. Here the metres come first, as in the Jacobian's rows.",
        (_of(_difference, log, swapped=True),),
    ),
    Mistake(
        "the tool's axes for the world's",
        "Your error is seen from the tool: conj(present) * target (mju_subQuat answers so too), or a linear part "
        "turned by R^T. Beside a Jacobian in world axes it sends the arm astray; write target * conj(present).",
        (_of(_difference, _body), _of(_in_tool, _body), _of(_in_tool, log)),
    ),
    Mistake(
        "quaternions are subtracted",
        "A difference of quaternions is no rotation: its size and its axis are wrong, and q minus -q is not zero. "
        "Multiply by the conjugate, and take the logarithm.",
        (
            *(_of(_difference, lambda w, q, k=k: k * (w - q)[1:]) for k in (1, 2)),
            lambda t, w, p, q: np.concatenate([t - p, w - q]),
            lambda t, w, p, q: np.concatenate([t - p, 2 * (w - q)]),
        ),
    ),
    Mistake(
        "Euler angles are subtracted",
        "The difference of Euler angles is no rotation vector: each turns about an axis that the others have moved. "
        "Compose the rotations, and take the logarithm.",
        tuple(_of(_difference, lambda w, q, s=s: _euler(w, q, s)) for s in SEQUENCES),
    ),
    Mistake(
        "Euler angles for a rotation vector",
        "You turn target * conj(present) into three Euler angles. The rotation vector is its axis times its angle; the "
        "two agree for small turns only.",
        tuple(_of(_difference, lambda w, q, s=s: _relative_euler(w, q, s)) for s in SEQUENCES),
    ),
    Mistake(
        "rotation vectors are subtracted",
        "The difference of two rotation vectors is none: turns about different axes do not add up. Multiply the "
        "quaternions first, target * conj(present), and take one logarithm.",
        (_of(_difference, lambda w, q: vector(w) - vector(q)),),
    ),
    Mistake(
        "another product of the two",
        "It is the logarithm of another product: of conj(target) * present, or of two quaternions with no conjugate. "
        "What turns the present orientation into the target, in world axes, is target * conj(present).",
        (
            _of(_difference, lambda w, q: vector(multiply(conjugate(w), q))),
            _of(_difference, lambda w, q: vector(multiply(w, q))),
            _of(_difference, lambda w, q: vector(multiply(q, w))),
        ),
    ),
    Mistake(
        "the scalar last",
        "Here a quaternion is w, x, y, z, and you read it as x, y, z, w, as SciPy does unless it is told: "
        "`Rotation.from_quat(q, scalar_first=True)`.",
        (_of(_difference, _scalar_last), _of(_difference, _product_scalar_last)),
    ),
    Mistake(
        "degrees",
        "The rotation vector is right in degrees; the Jacobian's rows are in radians.",
        (_of(_difference, lambda w, q: np.rad2deg(log(w, q))),),
    ),
    Mistake(
        "a sine where the angle is meant",
        "The axis is right, the length is not: the vector part of a quaternion is sin(angle / 2) long, the sum of "
        "cross products sin(angle). Both forget large errors; scale the axis u / |u| to the angle, 2 atan2(|u|, w).",
        (
            *(_of(_difference, lambda w, q, k=k: k * _vector_part(w, q)) for k in (1, 2)),
            *(_of(_difference, lambda w, q, k=k: k * _sine(w, q)) for k in (0.5, 1)),
        ),
    ),
    Mistake(
        "the axis is not of length one",
        "You multiply the angle by u, the vector part of the quaternion, and that is sin(angle / 2) long. The axis is "
        "u / |u|.",
        tuple(
            _of(_difference, lambda w, q, k=k: _scaled(w, q, lambda angle: k * angle * math.sin(angle / 2)))
            for k in (0.5, 1)
        ),
    ),
    Mistake(
        "arctan2's arguments exchanged",
        "The axis is right and you turn by pi minus the angle: np.arctan2 takes the sine first, then the cosine. The "
        "angle is 2 np.arctan2(|u|, w).",
        (_of(_difference, lambda w, q: _scaled(w, q, lambda angle: math.pi - angle)),),
    ),
    Mistake(
        "half the angle",
        "The axis is right and you turn half of the way: w is cos(angle / 2), so the angle is 2 atan2(|u|, w), with "
        "u for the vector part.",
        (_of(_difference, lambda w, q: log(w, q) / 2),),
    ),
)

"""Rotations without surprises: quaternions (w, x, y, z), rotation vectors, and the maps between them.

A rotation vector is an axis times an angle [rad]. It lives in a tangent space, where adding and differentiating are
allowed; quaternions are never subtracted. q and -q are the same rotation and give the same rotation vector, at an angle
of exactly pi too.

Source: Sola, Deray and Atchuthan 2018 (notation and the Jacobians of the logarithm).
"""

from __future__ import annotations

from typing import Any

from ikcourse._arrays import Array, is_true, namespace_and_arrays, require_finite, require_last_axis

NORM_TOLERANCE = 1e-3
"""A quaternion whose norm is this close to one is normalised; any other is refused."""


def quat_normalize(quaternion: Array) -> Any:
    """The unit quaternion in the same direction.

    Args:
        quaternion: (..., 4), w, x, y, z, with a norm within 1e-3 of one.

    Raises:
        ValueError: the last axis is not 4, a value is not finite, or a norm is farther from one.
    """
    xp, (q,) = namespace_and_arrays(quaternion)
    require_last_axis("quaternion", q, 4)
    require_finite("quaternion", q)
    norm = xp.sqrt(xp.sum(q * q, axis=-1, keepdims=True))
    if is_true(xp.any(xp.abs(norm - 1) > NORM_TOLERANCE)):
        raise ValueError(
            f"a rotation needs a quaternion of norm one (within {NORM_TOLERANCE}); got norm {norm[..., 0]}"
        )
    return q / norm


def quat_multiply(a: Array, b: Array) -> Any:
    """Hamilton product: rotate by b, then by a. Shapes (..., 4) and (..., 4), broadcast together."""
    xp, (a, b) = namespace_and_arrays(a, b)
    require_last_axis("a", a, 4)
    require_last_axis("b", b, 4)
    aw, ax, ay, az = (a[..., i] for i in range(4))
    bw, bx, by, bz = (b[..., i] for i in range(4))
    return xp.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def quat_conjugate(quaternion: Array) -> Any:
    """The inverse rotation of a unit quaternion, (..., 4)."""
    xp, (q,) = namespace_and_arrays(quaternion)
    require_last_axis("quaternion", q, 4)
    return xp.concat([q[..., :1], -q[..., 1:]], axis=-1)


def quat_rotate(quaternion: Array, vector: Array) -> Any:
    """The vector (..., 3) turned by the unit quaternion (..., 4)."""
    xp, (q, v) = namespace_and_arrays(quaternion, vector)
    require_last_axis("quaternion", q, 4)
    require_last_axis("vector", v, 3)
    twice_crossed = 2 * _cross(xp, q[..., 1:], v)
    return v + q[..., :1] * twice_crossed + _cross(xp, q[..., 1:], twice_crossed)


def quat_exp(rotation_vector: Array) -> Any:
    """The unit quaternion (..., 4) of a rotation vector (..., 3) [rad].

    Raises:
        ValueError: the last axis is not 3, or a value is not finite.
    """
    xp, (v,) = namespace_and_arrays(rotation_vector)
    require_last_axis("rotation_vector", v, 3)
    require_finite("rotation_vector", v)
    half, nonzero = _norm(xp, v / 2)
    # Both branches of a `where` are differentiated: the safe norm keeps the unused one free of NaN at zero.
    sinc = xp.where(nonzero, xp.sin(half) / half, xp.ones_like(half))
    cosine = xp.where(nonzero, xp.cos(half), xp.ones_like(half))
    return xp.concat([cosine, sinc * v / 2], axis=-1)


def quat_log(quaternion: Array) -> Any:
    """The rotation vector (..., 3) [rad] of a quaternion (..., 4), its norm in [0, pi].

    The angle is 2 atan2(|vector part|, w): exact to rounding for tiny angles and near pi alike, where arccos(w) loses
    half of the digits. Of q and -q the one with w > 0 is read; where w is zero (an angle of exactly pi), the one
    whose first non-zero vector component is positive.

    Raises:
        ValueError: as `quat_normalize`.
    """
    xp, (q,) = namespace_and_arrays(quaternion)
    q = quat_normalize(q)
    q = q * _hemisphere(xp, q)
    w, vector = q[..., :1], q[..., 1:]
    norm, nonzero = _norm(xp, vector)
    safe_w = xp.where(nonzero, xp.ones_like(w), w)
    scale = xp.where(nonzero, 2 * xp.atan2(norm, w) / norm, 2 / safe_w)
    return scale * vector


def rotation_error(target: Array, current: Array) -> Any:
    """The rotation vector (..., 3) [rad] in world axes that turns `current` into `target`: log(target * conj(current)).

    Args:
        target: wanted orientation, (..., 4), w, x, y, z.
        current: present orientation, (..., 4).

    Raises:
        ValueError: as `quat_normalize`, for either quaternion.
    """
    _, (target, current) = namespace_and_arrays(target, current)
    return quat_log(quat_multiply(quat_normalize(target), quat_conjugate(quat_normalize(current))))


def log_jacobian(rotation_vector: Array) -> Any:
    """J_r^-1(v), (..., 3, 3): how v moves per small rotation w on its right, log(exp(v) exp(w)) = v + J_r^-1 w.

    For e = log(R_target R^T) and a world angular velocity w of R this gives de/dt = -J_r^-1(e) w. It is the identity
    only at e = 0; at 2.5 rad, leaving it out is wrong by more than the angular velocity itself.

    Args:
        rotation_vector: v, (..., 3) [rad], norm below 2 pi, where the logarithm stops being differentiable.

    Raises:
        ValueError: the last axis is not 3, a value is not finite, or a norm reaches 2 pi.

    Source: Sola, Deray and Atchuthan 2018, eq. 144.
    """
    xp, (v,) = namespace_and_arrays(rotation_vector)
    require_last_axis("rotation_vector", v, 3)
    require_finite("rotation_vector", v)
    angle, _ = _norm(xp, v)
    if is_true(xp.any(angle >= 6.283185307179586)):
        raise ValueError(f"the logarithm is not differentiable at an angle of 2 pi; got {angle[..., 0]} rad")
    small = angle < 1e-2
    safe = xp.where(small, xp.ones_like(angle), angle)
    closed = 1 / safe**2 - 1 / (2 * safe * xp.tan(safe / 2))
    series = 1 / 12 + angle**2 / 720
    coefficient = xp.where(small, series, closed)[..., None]
    cross = skew(v)
    return xp.eye(3, dtype=v.dtype) + cross / 2 + coefficient * (cross @ cross)


def skew(vector: Array) -> Any:
    """The matrix (..., 3, 3) of the cross product: skew(a) @ b = a x b."""
    xp, (v,) = namespace_and_arrays(vector)
    require_last_axis("vector", v, 3)
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    zero = xp.zeros_like(x)
    rows = [xp.stack(row, axis=-1) for row in ((zero, -z, y), (z, zero, -x), (-y, x, zero))]
    return xp.stack(rows, axis=-2)


def _cross(xp: Any, a: Any, b: Any) -> Any:
    return (skew(a) @ b[..., None])[..., 0]


def _norm(xp: Any, vector: Any) -> tuple[Any, Any]:
    """Norm with its axis kept, one where the vector is zero (so that it can divide), and where it is not zero."""
    squared = xp.sum(vector * vector, axis=-1, keepdims=True)
    nonzero = squared > 0
    return xp.sqrt(xp.where(nonzero, squared, xp.ones_like(squared))), nonzero


def _hemisphere(xp: Any, q: Any) -> Any:
    """+1 or -1, (..., 1): the sign of the first non-zero of w, x, y, z."""
    sign = xp.ones_like(q[..., :1])
    for i in (3, 2, 1, 0):
        component = q[..., i : i + 1]
        sign = xp.where(component == 0, sign, xp.where(component > 0, xp.ones_like(sign), -xp.ones_like(sign)))
    return sign

"""The velocity ellipsoid of J: its volume, and the direction in joint space in which it grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ikcourse._arrays import Array, namespace_and_arrays, require_finite


def manipulability(jacobian: Array) -> Any:
    """Yoshikawa's measure sqrt(det(J J^T)), (...,): the product of the singular values of J (..., m, n).

    It is proportional to the volume of the velocity ellipsoid, and zero at a singularity and for every arm with fewer
    joints than task rows. For rows in metres and in radians it depends on the unit of length.

    Raises:
        ValueError: the shape is not (..., m, n), or a value is not finite.

    Source: Yoshikawa 1985.
    """
    xp, (J,) = namespace_and_arrays(jacobian)
    if J.ndim < 2:
        raise ValueError(f"jacobian must have shape (..., m, n); got {tuple(J.shape)}")
    require_finite("jacobian", J)
    product = xp.prod(xp.linalg.svdvals(J), axis=-1)
    return product if J.shape[-1] >= J.shape[-2] else xp.zeros_like(product)


def jacobian_derivative(jacobian: Array) -> Any:
    """How the geometric Jacobian of a serial chain moves with its joints, dJ/dq, from J alone.

    Joint i carries what comes after it around its axis: with columns (v, w), dJ_j/dq_i = (w_i x v_j, w_i x w_j) for
    i <= j, and (w_j x v_i, 0) for i > j. A slide has w = 0, and the same formula.

    Args:
        jacobian: J, (..., 6, n), linear before angular, world axes, columns from the base to the tip.

    Returns:
        (..., 6, n, n): the last axis is the joint i that moves.

    Raises:
        ValueError: J does not have six rows, or is not finite.

    Source: Haviland and Corke 2023, part II (the manipulator Hessian).
    """
    xp, (J,) = namespace_and_arrays(jacobian)
    if J.ndim < 2 or J.shape[-2] != 6:
        raise ValueError(f"jacobian must have shape (..., 6, n); got {tuple(J.shape)}")
    require_finite("jacobian", J)
    axes = J[..., 3:, None, :]
    linear = xp.linalg.cross(*xp.broadcast_arrays(axes, J[..., :3, :, None]), axis=-3)
    angular = xp.linalg.cross(*xp.broadcast_arrays(axes, J[..., 3:, :, None]), axis=-3)
    linear = xp.tril(linear) + xp.matrix_transpose(xp.tril(linear, k=-1))
    return xp.concat([linear, xp.tril(angular, k=-1)], axis=-3)


def manipulability_gradient(jacobian: Array, rows: Sequence[int] = (0, 1, 2, 3, 4, 5)) -> Any:
    """The gradient of `manipulability` over the joints: the direction in which the arm gets away from singularities.

    dw/dq_i = w tr(J^+ dJ/dq_i), as a sum over singular directions in which nothing is divided:
    (product of the other sigmas) u^T dJ/dq_i v. It stays finite at a singularity, where w has a kink and the answer is
    one of its two slopes.

    w multiplies metres by radians. In another unit of length w and its gradient change by one factor, c^3 for six
    rows: the direction stays, but a gain tuned in metres means something else in millimetres. Between a hinge and a
    slide the direction itself depends on the unit.

    Args:
        jacobian: J, (..., 6, n), as `jacobian_derivative`.
        rows: which rows make the task, each once, such as (0, 1) for a planar arm: all its six have w = 0 everywhere.

    Returns:
        (..., n), w's unit per [rad] or [m]; zero for an arm with fewer joints than rows.

    Raises:
        ValueError: as `jacobian_derivative`, or rows names none, one twice, or one that J does not have.

    Source: Yoshikawa 1985; Park, Chung and Youm 1999 (the gradient).
    """
    if not len(rows) or len(set(rows)) < len(rows) or not set(rows) <= set(range(6)):
        raise ValueError(f"rows must name some of 0 to 5, each once; got {rows}")
    moving = jacobian_derivative(jacobian)
    xp, (J,) = namespace_and_arrays(jacobian)
    wanted = xp.asarray(list(rows))
    J, moving = xp.take(J, wanted, axis=-2), xp.take(moving, wanted, axis=-3)
    if J.shape[-1] < J.shape[-2]:
        return xp.zeros_like(J[..., 0, :])
    U, sigma, Vt = xp.linalg.svd(J, full_matrices=False)
    itself = xp.eye(sigma.shape[-1], dtype=J.dtype)
    others = xp.prod(sigma[..., None, :] * (1 - itself) + itself, axis=-1)
    return xp.sum(((U * others[..., None, :]) @ Vt)[..., None] * moving, axis=(-3, -2))

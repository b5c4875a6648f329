"""What the task leaves free: projection onto the null space of J, and secondary motions to send through it."""

from __future__ import annotations

from typing import Any

from ikcourse._arrays import (
    Array,
    is_zero,
    namespace_and_arrays,
    require_at_least_zero,
    require_finite,
    require_last_axis,
)
from ikcourse.inverse import _inputs, damped, pseudo_inverse


def project(jacobian: Array, velocity: Array, damping: Array = 0.0) -> Any:
    """The part of a joint velocity that the task does not feel: v - J^T (J J^T + lambda^2 I)^-1 J v.

    The n x n projector is never formed. With lambda = 0 the row space is removed through the right singular vectors
    of J, v - V_r V_r^T v, which keeps its digits near a singularity; with lambda > 0 a part
    lambda^2 (J J^T + lambda^2 I)^-1 J v of the motion leaks into the task.

    Args:
        jacobian: J, (..., m, n).
        velocity: v, (..., n).
        damping: lambda >= 0, (...,) or scalar: the same as in the primary solve.

    Returns:
        (..., n).

    Raises:
        ValueError: a shape does not fit, a value is not finite, or damping is negative.

    Source: Liegeois 1977; the damped form as in Chiaverini 1997.
    """
    undamped = is_zero(damping)
    xp, (J, v, damping) = namespace_and_arrays(jacobian, velocity, damping)
    if J.ndim < 2 or v.ndim < 1 or v.shape[-1] != J.shape[-1]:
        raise ValueError(f"velocity must have shape (..., n) to fit jacobian {tuple(J.shape)}; got {tuple(v.shape)}")
    require_finite("jacobian", J)
    require_finite("velocity", v)
    if undamped:
        return _over_batch_of(xp, damping, _project_exactly(xp, J, v))
    return v - damped(J, (J @ v[..., None])[..., 0], damping)


def damped_with_secondary(jacobian: Array, error: Array, secondary: Array, damping: Array) -> Any:
    """Damped least squares with a secondary joint velocity in its null space, from one solve.

    damped(J, e) + project(J, z) = z + damped(J, e - J z): the matrix J J^T + lambda^2 I is factored once for both.

    Args:
        jacobian: J, (..., m, n).
        error: e, (..., m).
        secondary: z, (..., n), such as `posture`.
        damping: lambda >= 0, (...,) or scalar.

    Returns:
        qdot, (..., n).

    Raises:
        ValueError: as `damped`.
    """
    undamped = is_zero(damping)
    xp, J, e, damping = _inputs(jacobian, error, damping)
    _, (z, _) = namespace_and_arrays(secondary, J)
    require_last_axis("secondary", z, J.shape[-1])
    require_finite("secondary", z)
    if undamped:
        return _over_batch_of(xp, damping, pseudo_inverse(J, e) + project(J, z))
    return z + damped(J, e - (J @ z[..., None])[..., 0], damping)


def posture(q: Array, q_home: Array, gain: Array) -> Any:
    """The joint velocity gain * (q_home - q) that returns to a posture.

    Args:
        q: where the joints are, (..., n) [rad] or [m].
        q_home: where they should be, (..., n).
        gain: (...,) or scalar [1/s], >= 0.

    Returns:
        (..., n).

    Raises:
        ValueError: the last axes differ, a value is not finite, or the gain is negative.
    """
    _, (q, q_home, gain) = namespace_and_arrays(q, q_home, gain)
    if q.ndim < 1 or q_home.ndim < 1 or q.shape[-1] != q_home.shape[-1]:
        raise ValueError(f"q and q_home must have the same last axis; got {tuple(q.shape)} and {tuple(q_home.shape)}")
    require_finite("q", q)
    require_finite("q_home", q_home)
    require_at_least_zero("gain", gain)
    return gain[..., None] * (q_home - q)


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


def _over_batch_of(xp: Any, damping: Any, velocity: Any) -> Any:
    """A velocity that does not depend on lambda = 0, once for each lambda of the batch."""
    return velocity if damping.ndim == 0 else velocity + xp.zeros_like(damping)[..., None]


def _project_exactly(xp: Any, J: Any, v: Any) -> Any:
    _, sigma, Vt = xp.linalg.svd(J, full_matrices=False)
    exists = sigma > max(J.shape[-2:]) * xp.finfo(J.dtype).eps * sigma[..., :1]
    along = xp.where(exists, (Vt @ v[..., None])[..., 0], xp.zeros_like(sigma))
    return v - (xp.matrix_transpose(Vt) @ along[..., None])[..., 0]

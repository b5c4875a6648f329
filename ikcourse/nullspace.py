"""What the task leaves free: projection onto the null space of J, and secondary motions to send through it."""

from __future__ import annotations

from typing import Any

from ikcourse._arrays import (
    Array,
    is_true,
    is_zero,
    namespace_and_arrays,
    require_at_least_zero,
    require_common_batch,
    require_damping,
    require_finite,
    require_last_axis,
    rounding_tolerance,
    task_arrays,
)
from ikcourse.inverse import damped


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
    xp, J, v, damping = _jacobian_and_velocity(jacobian, velocity, damping)
    if undamped:
        return _over_batch_of(xp, damping, _exactly(xp, J, v, xp.zeros_like(J[..., 0])))
    return v - damped(J, (J @ v[..., None])[..., 0], damping)


def leak(jacobian: Array, velocity: Array, damping: Array) -> Any:
    """What the task feels of a damped projection, J project(J, v): lambda^2 (J J^T + lambda^2 I)^-1 J v.

    It is taken direction by direction from the SVD, U diag(leak_gain(sigma)) V^T v. Multiplying J by the projected
    velocity gives the same number with an error of about eps sigma_1 |v|, which swamps the leak of a small lambda.

    Args:
        jacobian: J, (..., m, n).
        velocity: v, (..., n).
        damping: lambda >= 0, (...,) or scalar.

    Returns:
        (..., m), in J's row order; at most lambda / 2 times the norm of v.

    Raises:
        ValueError: as `project`.
    """
    xp, J, v, damping = _jacobian_and_velocity(jacobian, velocity, damping)
    U, sigma, Vt = xp.linalg.svd(J, full_matrices=False)
    return (U @ (leak_gain(sigma, damping) * (Vt @ v[..., None])[..., 0])[..., None])[..., 0]


def leak_gain(sigma: Array, damping: Array) -> Any:
    """Tool speed along a singular direction per unit of joint velocity sent through the damped projector.

    lambda^2 sigma / (sigma^2 + lambda^2): zero at sigma = 0, lambda / 2 at its peak, sigma = lambda, and
    lambda^2 / sigma far above it.

    Args:
        sigma: singular values of J, (..., k), >= 0.
        damping: lambda >= 0, (...,) or scalar.

    Returns:
        (..., k), in J's units.

    Raises:
        ValueError: a value is negative or not finite.
    """
    xp, (sigma, damping) = namespace_and_arrays(sigma, damping)
    require_at_least_zero("sigma", sigma)
    require_damping("damping", damping)
    squared = damping[..., None] ** 2
    denominator = sigma**2 + squared
    return squared * sigma / xp.where(denominator > 0, denominator, xp.ones_like(denominator))


def damped_with_secondary(jacobian: Array, error: Array, secondary: Array, damping: Array) -> Any:
    """Damped least squares with a secondary joint velocity in its null space, from one solve.

    damped(J, e) + project(J, z) = z + damped(J, e - J z): the matrix J J^T + lambda^2 I is factored once for both.
    With lambda = 0 one SVD of J serves both.

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
    xp, J, e, damping = task_arrays(jacobian, error, damping)
    _, (z, _) = namespace_and_arrays(secondary, J)
    require_last_axis("secondary", z, J.shape[-1])
    require_finite("secondary", z)
    require_common_batch(
        {"jacobian": J.shape[:-2], "error": e.shape[:-1], "secondary": z.shape[:-1], "damping": damping.shape}
    )
    if undamped:
        return _over_batch_of(xp, damping, _exactly(xp, J, z, e))
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


def limit_repulsion(q: Array, lower: Array, upper: Array, gain: Array, margin: Array) -> Any:
    """The joint velocity that pushes a joint out of the margins before its limits, and leaves it alone elsewhere.

    gain * depth, the depth being how far q has come into the margin: minus the gradient of gain * depth^2 / 2. It is
    continuous, zero in the open, and at the limit itself gain * margin.

    Args:
        q: joint positions, (..., n) [rad] or [m].
        lower, upper: limits, (n,); infinite where there is none.
        gain: (...,) or scalar, >= 0 [1/s].
        margin: how far before a limit it sets in, scalar or (n,), >= 0 [rad] or [m].

    Returns:
        (..., n) [rad/s] or [m/s].

    Raises:
        ValueError: gain or margin is negative or not finite, q is not finite, or a lower limit is not below its upper.

    Source: Khatib 1986 (artificial potentials at joint limits); Liegeois 1977 (their gradient through the null space).
    """
    xp, (q, lower, upper, gain, margin) = namespace_and_arrays(q, lower, upper, gain, margin)
    require_finite("q", q)
    require_at_least_zero("gain", gain)
    require_at_least_zero("margin", margin)
    if is_true(xp.any(~(lower < upper))):
        raise ValueError(f"every lower limit must be below its upper limit; got {lower} and {upper}")
    below, above = lower + margin - q, q - (upper - margin)
    zero = xp.zeros_like(q)
    return gain[..., None] * (xp.where(below > 0, below, zero) - xp.where(above > 0, above, zero))


def _exactly(xp: Any, J: Any, v: Any, e: Any) -> Any:
    """The velocity nearest to v that makes J qdot = e: v + V_r (e along U_r / sigma - V_r^T v), from one SVD."""
    U, sigma, Vt = xp.linalg.svd(J, full_matrices=False)
    exists = sigma > rounding_tolerance(xp, J) * sigma[..., :1]
    asked = (xp.matrix_transpose(U) @ e[..., None])[..., 0] / xp.where(exists, sigma, xp.ones_like(sigma))
    along = xp.where(exists, asked - (Vt @ v[..., None])[..., 0], xp.zeros_like(sigma))
    return v + (xp.matrix_transpose(Vt) @ along[..., None])[..., 0]


def _over_batch_of(xp: Any, damping: Any, velocity: Any) -> Any:
    """A velocity that does not depend on lambda = 0, once for each lambda of the batch."""
    return velocity if damping.ndim == 0 else velocity + xp.zeros_like(damping)[..., None]


def _jacobian_and_velocity(jacobian: Array, velocity: Array, damping: Array) -> tuple[Any, Any, Any, Any]:
    xp, (J, v, damping) = namespace_and_arrays(jacobian, velocity, damping)
    if J.ndim < 2 or v.ndim < 1 or v.shape[-1] != J.shape[-1]:
        raise ValueError(f"velocity must have shape (..., n) to fit jacobian {tuple(J.shape)}; got {tuple(v.shape)}")
    require_finite("jacobian", J)
    require_finite("velocity", v)
    require_damping("damping", damping)
    require_common_batch({"jacobian": J.shape[:-2], "velocity": v.shape[:-1], "damping": damping.shape})
    return xp, J, v, damping

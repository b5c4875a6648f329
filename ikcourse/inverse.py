"""From a wanted tool velocity to joint velocity: every way of inverting J that the course compares, one formula each.

All of them are one filter on the singular values of J = U diag(sigma) V^T, qdot = V diag(f(sigma)) U^T e:

    pseudo_inverse  f = 1 / sigma, zero where sigma is zero to rounding
    damped          f = sigma / (sigma^2 + lambda^2)
    truncated       f = 1 / sigma where sigma > threshold, else zero
    transpose       f = gain * sigma

`ikcourse.selective` bounds each direction by itself. Every function broadcasts over leading axes and keeps the array
namespace (NumPy, JAX) of what it is given. Under `jax.jit` shapes are checked and values are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ikcourse._arrays import Array, is_true, is_zero, rounding_tolerance, task_arrays

SOLVE_MARGIN = 1e3
"""How far lambda^2 must stand above the rounding of J J^T to be left to the solve, which then keeps three digits."""


def damped(jacobian: Array, error: Array, damping: Array) -> Any:
    """Joint velocity by damped least squares: argmin ||J qdot - e||^2 + lambda^2 ||qdot||^2.

    Along a singular direction the answer moves by sigma / (sigma^2 + lambda^2): never more than 1 / (2 lambda),
    where an exact inverse would move 1 / sigma. lambda = 0 is the Moore-Penrose solution.

    Args:
        jacobian: J, (..., m, n).
        error: e, (..., m), [m/s] and [rad/s] (or [m] and [rad]), in J's row order.
        damping: lambda >= 0, (...,) or scalar; it is squared here and nowhere else. A traced one must be
            positive; a plain 0 may stand in traced code.

    Returns:
        qdot, (..., n).

    Raises:
        ValueError: a shape does not fit, a value is not finite, or damping is negative.

    Source: Wampler 1986; Nakamura and Hanafusa 1986.
    """
    undamped = is_zero(damping)
    xp, J, e, damping = task_arrays(jacobian, error, damping)
    # A lambda^2 near the rounding of J J^T is hardly seen by the solve, and J may be singular: there the SVD answers.
    # (The last term is for J = 0, where e / lambda^2 may overflow.)
    precision = xp.finfo(J.dtype)
    invisible = SOLVE_MARGIN * rounding_tolerance(xp, J) * xp.sum(J * J, axis=(-2, -1)) + float(
        precision.smallest_normal / precision.eps
    )
    if undamped or is_true(xp.any(damping**2 <= invisible)):
        return apply_filter(xp, J, e, lambda sigma: _damped_filter(xp, sigma, damping, rounding_tolerance(xp, J)))
    Jt = xp.matrix_transpose(J)
    A = J @ Jt + damping[..., None, None] ** 2 * xp.eye(J.shape[-2], dtype=J.dtype)
    return (Jt @ xp.linalg.solve(A, e[..., None]))[..., 0]


def damped_joint_space(jacobian: Array, error: Array, damping: Array) -> Any:
    """The same joint velocity from the n x n normal equations, (J^T J + lambda^2 I)^-1 J^T e.

    With more joints than task rows this matrix has eigenvalues lambda^2 for certain, so its condition number is
    sigma_1^2 / lambda^2 even where J is far from singular: it loses digits before `damped` does.

    Args:
        jacobian: J, (..., m, n).
        error: e, (..., m).
        damping: lambda > 0, (...,) or scalar.

    Returns:
        qdot, (..., n).

    Raises:
        ValueError: as `damped`, and where damping is zero: J^T J is singular for every arm with a joint to spare.
    """
    xp, J, e, damping = task_arrays(jacobian, error, damping)
    if is_true(xp.any(damping**2 == 0)):
        raise ValueError("the joint-space form needs damping^2 > 0; for damping 0 use `damped` or `pseudo_inverse`")
    Jt = xp.matrix_transpose(J)
    A = Jt @ J + damping[..., None, None] ** 2 * xp.eye(J.shape[-1], dtype=J.dtype)
    return xp.linalg.solve(A, Jt @ e[..., None])[..., 0]


def damped_svd(jacobian: Array, error: Array, damping: Array) -> Any:
    """The same joint velocity by the filter sigma / (sigma^2 + lambda^2) on the singular values of J.

    The slowest of the three faces and the one to trust near a singularity: J J^T is never formed, and lambda = 0 is
    allowed where J is rank deficient.

    Args, returns and errors as `damped`; damping may be zero under tracing too.
    """
    xp, J, e, damping = task_arrays(jacobian, error, damping)
    return apply_filter(xp, J, e, lambda sigma: _damped_filter(xp, sigma, damping, rounding_tolerance(xp, J)))


def pseudo_inverse(jacobian: Array, error: Array, rank_tolerance: float | None = None) -> Any:
    """The Moore-Penrose joint velocity J^+ e: of all least-squares answers, the shortest.

    Args:
        jacobian: J, (..., m, n).
        error: e, (..., m).
        rank_tolerance: a singular value at or below this fraction of the largest counts as zero; by default
            max(m, n) * eps.

    Returns:
        qdot, (..., n).

    Raises:
        ValueError: a shape does not fit, a value is not finite, or the tolerance is negative.

    Source: Whitney 1969 (resolved motion rate control); Penrose 1955.
    """
    xp, J, e, _ = task_arrays(jacobian, error, 0.0)
    tolerance = rounding_tolerance(xp, J) if rank_tolerance is None else float(rank_tolerance)
    if not tolerance >= 0:
        raise ValueError(f"rank_tolerance must not be negative; got {rank_tolerance}")
    return apply_filter(xp, J, e, lambda sigma: _damped_filter(xp, sigma, xp.zeros_like(sigma[..., 0]), tolerance))


def truncated(jacobian: Array, error: Array, threshold: Array) -> Any:
    """Joint velocity by truncated SVD: exact along directions with sigma > threshold, nothing along the rest.

    Args:
        jacobian: J, (..., m, n).
        error: e, (..., m).
        threshold: (...,) or scalar, >= 0, in J's units; a direction at the threshold is dropped.

    Returns:
        qdot, (..., n). It jumps where a singular value crosses the threshold.

    Raises:
        ValueError: as `damped`, of the threshold.

    Source: Hansen 1987.
    """
    xp, J, e, threshold = task_arrays(jacobian, error, threshold, "threshold")

    def keep_large(sigma: Any) -> Any:
        kept = sigma > threshold[..., None]
        return xp.where(kept, 1 / xp.where(kept, sigma, xp.ones_like(sigma)), xp.zeros_like(sigma))

    return apply_filter(xp, J, e, keep_large)


def transpose(jacobian: Array, error: Array, gain: Array | None = None) -> Any:
    """Joint velocity along the gradient of ||e||^2 / 2: gain * J^T e. No inverse, no singularity, no hurry.

    Args:
        jacobian: J, (..., m, n).
        error: e, (..., m).
        gain: (...,) or scalar, >= 0. By default the step that leaves the smallest error to first order,
            <e, J J^T e> / ||J J^T e||^2, zero where J^T e is zero.

    Returns:
        qdot, (..., n).

    Raises:
        ValueError: as `damped`, of the gain.

    Source: Wolovich and Elliott 1984; Buss and Kim 2005, eq. 4 (the default gain).
    """
    xp, J, e, given = task_arrays(jacobian, error, 0.0 if gain is None else gain, "gain")
    Jte = xp.matrix_transpose(J) @ e[..., None]
    if gain is None:
        longest = xp.max(xp.abs(Jte), axis=(-2, -1), keepdims=True)
        direction = Jte / xp.where(longest > 0, longest, xp.ones_like(longest))
        moved = J @ direction
        squared = xp.sum(moved * moved, axis=(-2, -1))
        moves = squared > 0
        along = xp.sum(direction * direction, axis=(-2, -1))
        given = xp.where(moves, along / xp.where(moves, squared, xp.ones_like(squared)), xp.zeros_like(squared))
    return given[..., None] * Jte[..., 0]


def adaptive_damping(jacobian: Array, threshold: float, damping_max: float, damping_min: float = 0.0) -> Any:
    """A lambda that is damping_min in the open and grows to damping_max as sigma_min falls from threshold to zero.

    lambda^2 = lambda_min^2 + (1 - r^2) (lambda_max^2 - lambda_min^2), r = min(sigma_min / threshold, 1). With fewer
    joints than task rows some direction is always missing, so sigma_min is zero.

    Args:
        jacobian: J, (..., m, n).
        threshold: the sigma_min below which damping sets in, > 0, in J's units.
        damping_max: lambda at a singularity.
        damping_min: lambda away from one, 0 <= damping_min <= damping_max.

    Returns:
        lambda, (...,), to be given to `damped_svd` (it may be zero).

    Raises:
        ValueError: a value is out of its range or not finite.

    Source: Maciejewski and Klein 1988.
    """
    xp, J, _, _ = task_arrays(jacobian, None, 0.0)
    threshold, damping_max, damping_min = float(threshold), float(damping_max), float(damping_min)
    if not (threshold > 0 and math.isfinite(threshold)):
        raise ValueError(f"threshold must be positive and finite; got {threshold}")
    if not (0 <= damping_min <= damping_max and math.isfinite(damping_max)):
        raise ValueError(
            f"need 0 <= damping_min <= damping_max; got damping_min {damping_min}, damping_max {damping_max}"
        )
    sigma_min = xp.linalg.svdvals(J)[..., -1]
    if J.shape[-1] < J.shape[-2]:
        sigma_min = xp.zeros_like(sigma_min)
    r = xp.clip(sigma_min / threshold, 0.0, 1.0)
    # A product, not r**2: of a single matrix that would be the library's pow, which can differ in the last bit.
    return xp.sqrt(damping_min**2 + (1 - r * r) * (damping_max**2 - damping_min**2))


def _damped_filter(xp: Any, sigma: Any, damping: Any, tolerance: float) -> Any:
    """sigma / (sigma^2 + lambda^2), and zero where sigma is rounding (a tiny lambda would amplify it)."""
    denominator = sigma**2 + damping[..., None] ** 2
    exists = sigma > tolerance * sigma[..., :1]
    return xp.where(
        exists, sigma / xp.where(exists, denominator, xp.ones_like(denominator)), xp.zeros_like(denominator)
    )


def apply_filter(xp: Any, J: Any, e: Any, filter_of: Callable[[Any], Any]) -> Any:
    """V diag(f(sigma)) U^T e."""
    U, sigma, Vt = xp.linalg.svd(J, full_matrices=False)
    along = (xp.matrix_transpose(U) @ e[..., None])[..., 0]
    return (xp.matrix_transpose(Vt) @ (filter_of(sigma) * along)[..., None])[..., 0]

"""From a wanted tool velocity to joint velocity: every way of inverting J that the course compares, one formula each.

All of them are one filter on the singular values of J = U diag(sigma) V^T, qdot = V diag(f(sigma)) U^T e:

    pseudo_inverse      f = 1 / sigma, zero where sigma is zero to rounding
    damped              f = sigma / (sigma^2 + lambda^2)
    truncated           f = 1 / sigma where sigma > threshold, else zero
    transpose           f = gain * sigma
    selectively_damped  f = 1 / sigma, each direction clamped by how far it would move the tool

Every function broadcasts over leading axes and keeps the array namespace (NumPy, JAX) of what it is given. Under
`jax.jit` shapes are checked and values are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ikcourse._arrays import Array, is_true, is_zero, namespace_and_arrays, require_at_least_zero, require_finite

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
    xp, J, e, damping = _inputs(jacobian, error, damping)
    # A lambda^2 near the rounding of J J^T is hardly seen by the solve, and J may be singular: there the SVD answers.
    # (The last term is for J = 0, where e / lambda^2 may overflow.)
    precision = xp.finfo(J.dtype)
    invisible = SOLVE_MARGIN * _rank_tolerance(xp, J) * xp.sum(J * J, axis=(-2, -1)) + float(
        precision.smallest_normal / precision.eps
    )
    if undamped or is_true(xp.any(damping**2 <= invisible)):
        return _apply_filter(xp, J, e, lambda sigma: _damped_filter(xp, sigma, damping, _rank_tolerance(xp, J)))
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
    xp, J, e, damping = _inputs(jacobian, error, damping)
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
    xp, J, e, damping = _inputs(jacobian, error, damping)
    return _apply_filter(xp, J, e, lambda sigma: _damped_filter(xp, sigma, damping, _rank_tolerance(xp, J)))


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
    xp, J, e, _ = _inputs(jacobian, error, 0.0)
    tolerance = _rank_tolerance(xp, J) if rank_tolerance is None else float(rank_tolerance)
    if not tolerance >= 0:
        raise ValueError(f"rank_tolerance must not be negative; got {rank_tolerance}")
    return _apply_filter(xp, J, e, lambda sigma: _damped_filter(xp, sigma, xp.zeros_like(sigma[..., 0]), tolerance))


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
    xp, J, e, threshold = _inputs(jacobian, error, threshold, "threshold")

    def keep_large(sigma: Any) -> Any:
        kept = sigma > threshold[..., None]
        return xp.where(kept, 1 / xp.where(kept, sigma, xp.ones_like(sigma)), xp.zeros_like(sigma))

    return _apply_filter(xp, J, e, keep_large)


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
    xp, J, e, given = _inputs(jacobian, error, 0.0 if gain is None else gain, "gain")
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
    xp, J, _, _ = _inputs(jacobian, None, 0.0)
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
    return xp.sqrt(damping_min**2 + (1 - r**2) * (damping_max**2 - damping_min**2))


def selectively_damped(
    jacobian: Array, error: Array, gamma_max: float = math.pi / 4, effectors: Sequence[int] | None = None
) -> Any:
    """Joint velocity by selectively damped least squares: each singular direction moves exactly, up to its own bound.

    Direction i may turn no joint farther than gamma_i = min(1, N_i / M_i) gamma_max, where N_i is how far the tool is
    asked to move along u_i per unit and M_i how far the joints would drag it on the way. The bound is on an angle, so e
    is read as the displacement wanted over 1 s, and the answer is the joint displacement over that second.

    Args:
        jacobian: J, (..., m, n).
        error: e, (..., m), displacement over 1 s, [m] and [rad].
        gamma_max: the farthest any joint may turn in 1 s [rad], > 0.
        effectors: how many rows each effector has, summing to m. By default (3, 3) for six rows, position and
            orientation counting as two effectors, else (m,).

    Returns:
        qdot, (..., n) [rad/s].

    Raises:
        ValueError: a shape does not fit, a value is not finite, gamma_max is not positive, or the effectors' rows do
            not add up to m.

    Source: Buss and Kim 2005.
    """
    xp, J, e, _ = _inputs(jacobian, error, 0.0)
    m = J.shape[-2]
    rows = tuple(effectors) if effectors is not None else ((3, 3) if m == 6 else (m,))
    if sum(rows) != m or min(rows) < 1:
        raise ValueError(f"effectors {rows} must be positive and add up to J's {m} rows")
    if not (gamma_max > 0 and math.isfinite(gamma_max)):
        raise ValueError(f"gamma_max must be positive and finite; got {gamma_max}")
    gamma_max = float(gamma_max)
    starts = np.cumsum((0, *rows))
    blocks = [slice(int(start), int(start) + size) for start, size in zip(starts, rows, strict=False)]

    U, sigma, Vt = xp.linalg.svd(J, full_matrices=False)
    exists = sigma > _rank_tolerance(xp, J) * sigma[..., :1]
    inverse = xp.where(exists, 1 / xp.where(exists, sigma, xp.ones_like(sigma)), xp.zeros_like(sigma))
    V = xp.matrix_transpose(Vt)
    along = (xp.matrix_transpose(U) @ e[..., None])[..., 0]
    asked = sum(xp.sqrt(xp.sum(U[..., block, :] ** 2, axis=-2)) for block in blocks)
    reach = sum(xp.sqrt(xp.sum(J[..., block, :] ** 2, axis=-2)) for block in blocks)
    dragged = inverse * (xp.matrix_transpose(xp.abs(V)) @ reach[..., None])[..., 0]
    farther = dragged > asked
    gamma = gamma_max * xp.where(
        farther, asked / xp.where(farther, dragged, xp.ones_like(dragged)), xp.ones_like(asked)
    )
    per_direction = _clamp(xp, V * (inverse * along)[..., None, :], gamma)
    return _clamp(xp, xp.sum(per_direction, axis=-1)[..., None], gamma_max)[..., 0]


def _clamp(xp: Any, columns: Any, bound: Any) -> Any:
    """Each column (..., n, k) scaled so that its largest entry is at most the bound; its direction stays."""
    largest = xp.max(xp.abs(columns), axis=-2)
    over = largest > bound
    scale = xp.where(over, bound / xp.where(over, largest, xp.ones_like(largest)), xp.ones_like(largest))
    return columns * scale[..., None, :]


def _damped_filter(xp: Any, sigma: Any, damping: Any, tolerance: float) -> Any:
    """sigma / (sigma^2 + lambda^2), and zero where sigma is rounding (a tiny lambda would amplify it)."""
    denominator = sigma**2 + damping[..., None] ** 2
    exists = sigma > tolerance * sigma[..., :1]
    return xp.where(
        exists, sigma / xp.where(exists, denominator, xp.ones_like(denominator)), xp.zeros_like(denominator)
    )


def _apply_filter(xp: Any, J: Any, e: Any, filter_of: Callable[[Any], Any]) -> Any:
    """V diag(f(sigma)) U^T e."""
    U, sigma, Vt = xp.linalg.svd(J, full_matrices=False)
    along = (xp.matrix_transpose(U) @ e[..., None])[..., 0]
    return (xp.matrix_transpose(Vt) @ (filter_of(sigma) * along)[..., None])[..., 0]


def _rank_tolerance(xp: Any, J: Any) -> float:
    """The fraction of sigma_1 below which a singular value is rounding: max(m, n) * eps."""
    return max(J.shape[-2:]) * float(xp.finfo(J.dtype).eps)


def _inputs(jacobian: Array, error: Array | None, parameter: Array, name: str = "damping") -> tuple[Any, Any, Any, Any]:
    """The namespace, J, e and the parameter as arrays that fit together; ValueError where they do not."""
    if error is None:
        xp, (J, parameter) = namespace_and_arrays(jacobian, parameter)
        e = None
    else:
        xp, (J, e, parameter) = namespace_and_arrays(jacobian, error, parameter)
    if J.ndim < 2 or min(J.shape[-2:]) < 1:
        raise ValueError(f"jacobian must have shape (..., m, n); got {tuple(J.shape)}")
    require_finite("jacobian", J)
    if e is not None:
        if e.ndim < 1 or e.shape[-1] != J.shape[-2]:
            raise ValueError(
                f"error must have shape (..., {J.shape[-2]}) to fit jacobian {tuple(J.shape)}; got {tuple(e.shape)}"
            )
        require_finite("error", e)
    require_at_least_zero(name, parameter)
    if name == "damping" and is_true(xp.any(parameter > float(xp.finfo(parameter.dtype).max) ** 0.5)):
        raise ValueError(f"damping is too large to be squared; got {parameter}")
    batches = {"jacobian": J.shape[:-2], "error": () if e is None else e.shape[:-1], name: parameter.shape}
    if any(batches.values()):
        try:
            np.broadcast_shapes(*batches.values())
        except ValueError:
            raise ValueError(f"leading axes do not broadcast: {batches}") from None
    return xp, J, e, parameter

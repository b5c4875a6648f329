"""Selectively damped least squares: no damping number, but for each singular direction a bound of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ikcourse._arrays import Array, rounding_tolerance, task_arrays


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
    xp, J, e, _ = task_arrays(jacobian, error, 0.0)
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
    exists = sigma > rounding_tolerance(xp, J) * sigma[..., :1]
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

"""Jacobians of planted singular values, and the one equation that damped least squares must satisfy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ROUNDING_VISIBLE = 1e-9
"""Bound on the relative residual near a singularity: a solve leaves 1e-15, an explicit inverse 1e-6 and more."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A Jacobian J = U diag(sigma) V^T (m, n), an error e (m,), a secondary velocity z (n,) and a damping lambda."""

    J: np.ndarray
    U: np.ndarray
    sigma: np.ndarray
    V: np.ndarray
    e: np.ndarray
    z: np.ndarray
    damping: float

    def residual(self, qdot: np.ndarray, secondary: bool = False) -> float:
        """How far qdot is from the minimum of ||J qdot - e||^2 + lambda^2 ||qdot - z||^2: its gradient, relative.

        Args:
            qdot: (n,).
            secondary: whether z is in the problem; else z = 0.
        """
        z = self.z if secondary else np.zeros_like(self.z)
        gradient = self.J.T @ (self.J @ qdot - self.e) + self.damping**2 * (qdot - z)
        scale = self.sigma[0] * np.linalg.norm(self.e) + self.damping**2 * np.linalg.norm(z)
        return float(np.linalg.norm(gradient) / scale)

    def null_part(self, velocity: np.ndarray) -> np.ndarray:
        """The part of a joint velocity that does not move the tool, (n,)."""
        return velocity - self.V @ (self.V.T @ velocity)


def problem(m: int, n: int, damping: float, seed: int, singular: bool = False) -> Problem:
    """A problem whose smallest singular value is lambda, so that the damping shows; or zero, where it is singular.

    A singular problem's error can be reached: it has no part along the missing direction, and the right qdot is small.
    """
    rng = np.random.default_rng(seed)
    k = min(m, n)
    U = np.linalg.qr(rng.normal(size=(m, m)))[0][:, :k]
    V = np.linalg.qr(rng.normal(size=(n, n)))[0][:, :k]
    sigma = np.linspace(1.5, 0.6, k)
    sigma[-1] = 0.0 if singular else damping
    J = (U * sigma) @ V.T
    e = J @ rng.uniform(0.3, 1, n) if singular else U @ rng.uniform(0.3, 1, k) + 0.1 * rng.normal(size=m)
    return Problem(J, U, sigma, V, e, rng.uniform(-1, 1, n), damping)


ARM = problem(6, 7, 0.3, seed=1)
"""The course's arm: six task rows, seven joints."""
SIZES = (
    *(problem(6, 6, 0.2, seed=2), problem(6, 3, 0.2, seed=3), problem(2, 2, 2.0, seed=4), problem(3, 9, 0.1, seed=5)),
    *(problem(1, 4, 0.3, seed=8), problem(4, 1, 0.3, seed=9)),
)
"""Other numbers of task rows and joints. Where they are equal a formula with mixed-up shapes still answers."""
WEAK = problem(6, 7, 1e-4, seed=10)
"""A small damping that shows: the smallest singular value is as small, and the error has a part along it."""
NEAR_SINGULAR = problem(6, 7, 1e-6, seed=6, singular=True)
PROBED = (ARM, SIZES[0], problem(6, 6, 0.5, seed=7))

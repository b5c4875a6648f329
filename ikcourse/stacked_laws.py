"""The laws of many runs at once: J and e stacked, a run a row, each row the bits that its law gives one arm.

A row's answer must not depend on which rows lie beside it. So nothing here decides for the whole stack, and what LAPACK
solves for one arm it solves here too, row by row: `numpy.linalg.solve`, which takes a stack, is another factorisation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from scipy.linalg import lapack

from ikcourse import inverse, nullspace
from ikcourse.arm import Arm
from ikcourse.laws import DampedLeastSquares, Formula, Law, seen_beside

StackedStep = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From q (B, n), J (B, 6, n) and e (B, 6) to qdot (B, n)."""


def bind_stacked(arm: Arm, laws: Sequence[Law]) -> StackedStep:
    """What `law.bind(arm)` is for one run, for a batch with a law for each run.

    Raises:
        ValueError: a law reads more than q, J and e of one arm (secondary objectives, a quadratic programme).
    """
    groups: dict[Hashable, list[int]] = {}
    for run, law in enumerate(laws):
        if type(law) is DampedLeastSquares and not law.secondary:
            groups.setdefault(DampedLeastSquares, []).append(run)
        elif isinstance(law, Formula) and type(law).bind is Formula.bind:
            groups.setdefault(law, []).append(run)
        else:
            raise ValueError(
                f"run {run}: {law!r} cannot be asked for many runs at once; DampedLeastSquares without secondary "
                f"objectives can, and {', '.join(sorted(kind.__name__ for kind in Formula.__subclasses__()))}"
            )
    steps = [_step_of([laws[run] for run in runs], arm) for runs in groups.values()]
    if len(steps) == 1:
        return steps[0]
    rows = [np.array(runs) for runs in groups.values()]

    def step(q: np.ndarray, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        qdot = np.empty_like(q)
        for own, step_of_group in zip(rows, steps, strict=True):
            qdot[own] = step_of_group(q[own], jacobian[own], error[own])
        return qdot

    return step


def _step_of(laws: Sequence[Law], arm: Arm) -> StackedStep:
    """The step of runs whose laws differ in the parameters of damped least squares, or not at all."""
    first = laws[0]
    if isinstance(first, Formula):
        return _formula_step(first)
    return _damped_step([law for law in laws if isinstance(law, DampedLeastSquares)], arm)


def _formula_step(law: Formula) -> StackedStep:
    def step(q: np.ndarray, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        qdot = law.answer(jacobian, error)
        if np.shape(qdot) != q.shape:  # NumPy would spread a single number over the joints
            raise ValueError(f"{law!r} must answer with shape {q.shape[1:]}; got {np.shape(qdot)[1:]}")
        return qdot

    return step


def _damped_step(laws: Sequence[DampedLeastSquares], arm: Arm) -> StackedStep:
    """`DampedLeastSquares.bind`, a lambda and a null-space gain for each row."""
    solve = _damped_solver([law.damping for law in laws], arm.n)
    gain = np.array([[law.nullspace_gain] for law in laws], float)
    pulled = gain > 0
    if not pulled.any():
        return lambda q, jacobian, error: solve(jacobian, error)
    undamped = np.flatnonzero([law.damping == 0 and law.nullspace_gain > 0 for law in laws])

    def step(q: np.ndarray, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        z = gain * (arm.home - q)
        aim = np.where(pulled, error - (jacobian @ z[..., None])[..., 0], error)
        qdot = solve(jacobian, aim)
        qdot = np.where(pulled, z + qdot, qdot)
        if len(undamped):
            own = jacobian[undamped], error[undamped], z[undamped]
            qdot[undamped] = nullspace.damped_with_secondary(*own, 0.0)
        return qdot

    return step


def _damped_solver(dampings: Sequence[float], n: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """`laws._damped_solver`, a lambda for each row; each row chooses for itself between Cholesky and the SVD."""
    damping = np.array(dampings, float)
    matrices = np.array([value**2 * np.eye(6) for value in dampings])
    largest_seen = np.array([seen_beside(value, n) for value in dampings])

    def solve(jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        flat = jacobian.reshape(len(jacobian), -1)
        unseen = np.vecdot(flat, flat) >= largest_seen
        if not unseen.any():
            return _cholesky(jacobian, error, matrices)
        qdot, seen = np.empty((len(jacobian), n)), ~unseen
        qdot[unseen] = inverse.damped_svd(jacobian[unseen], error[unseen], damping[unseen])
        if seen.any():
            qdot[seen] = _cholesky(jacobian[seen], error[seen], matrices[seen])
        return qdot

    return solve


def _cholesky(jacobian: np.ndarray, error: np.ndarray, damping_matrices: np.ndarray) -> np.ndarray:
    """J^T (J J^T + lambda^2 I)^-1 e of each row, (B, n)."""
    A = jacobian @ jacobian.transpose(0, 2, 1)
    A += damping_matrices
    solve = lapack.dposv
    x = np.array([solve(a, e, 0, 1)[1] for a, e in zip(A.transpose(0, 2, 1), error, strict=True)])
    return (x[:, None] @ jacobian)[:, 0]

"""Ways to write damped least squares wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.linalg import lstsq, pinv, solve, svd

from ikcourse.check._answer import Function
from ikcourse.check._judge import Mistake


def _task_matrix(J: np.ndarray, damping: float) -> np.ndarray:
    return J @ J.T + damping**2 * np.eye(len(J))


def _joint_matrix(J: np.ndarray, damping: float) -> np.ndarray:
    return J.T @ J + damping**2 * np.eye(J.shape[1])


def _filtered(gain: Function, transposed: Callable[[np.ndarray], np.ndarray] = np.asarray) -> Function:
    """Each singular direction multiplied by a gain of (sigma, lambda).

    Args:
        gain: from sigma (k,) and lambda to (k,).
        transposed: what is done to U^T, whose rows are the directions of the task.
    """

    def answer(J: np.ndarray, e: np.ndarray, d: float) -> np.ndarray:
        U, sigma, Vt = svd(J, full_matrices=False)
        return Vt.T @ (gain(sigma, d) * (transposed(U.T) @ e))

    return answer


def _stacked_ones(J: np.ndarray, e: np.ndarray, d: float) -> np.ndarray:
    n = J.shape[1]
    return lstsq(np.vstack([J, d * np.ones((n, n))]), np.append(e, np.zeros(n)))[0]


MISTAKES = (
    Mistake(
        "the error's sign",
        "Every number is right and has the wrong sign, so the tool runs away from the target. e is target minus "
        "present, and qdot goes along it.",
        (lambda J, e, d: -J.T @ solve(_task_matrix(J, d), e),),
    ),
    Mistake(
        "lambda is not squared",
        "You add lambda I where lambda^2 I is meant. The matrix holds squares, and the damping enters as one: "
        "with lambda = 0.01 yours is damped as if by 0.1.",
        (
            lambda J, e, d: J.T @ solve(J @ J.T + d * np.eye(len(J)), e),
            lambda J, e, d: J.T @ solve(J.T @ J + d * np.eye(J.shape[1]), e),
        ),
    ),
    Mistake(
        "lambda is squared twice",
        "You solve with J J^T + lambda^4 I. The argument is lambda: square it once, and in the stack [J; lambda I] not "
        "at all, since the norm squares it.",
        (lambda J, e, d: J.T @ solve(J @ J.T + d**4 * np.eye(len(J)), e),),
    ),
    Mistake(
        "lambda^2 on every entry",
        "`J @ J.T + damping**2` adds lambda^2 to all entries of the matrix, and ones in a stack do as much. Only the "
        "diagonal is meant: multiply by np.eye first.",
        (
            lambda J, e, d: J.T @ solve(J @ J.T + d**2, e),
            lambda J, e, d: solve(J.T @ J + d**2, J.T @ e),
            _stacked_ones,
        ),
    ),
    Mistake(
        "lambda^2 is subtracted",
        "You solve with J J^T - lambda^2 I, which is singular just where sigma = lambda. Damping is added.",
        (lambda J, e, d: J.T @ solve(J @ J.T - d**2 * np.eye(len(J)), e),),
    ),
    Mistake(
        "the damping is ignored",
        "The answer is the pseudo-inverse's, whatever lambda is: it moves 1 / sigma along a weak direction, without "
        "bound. Add lambda^2 I to J J^T before you solve.",
        (lambda J, e, d: pinv(J) @ e,),
    ),
    Mistake(
        "J^T J where J J^T is meant",
        "The two forms are mixed: J^T (J J^T + lambda^2 I)^-1 e solves a small system in the task (m x m), "
        "(J^T J + lambda^2 I)^-1 J^T e one in the joints (n x n). Keep to one; with m = n the mixture does not even "
        "raise.",
        (
            lambda J, e, d: J.T @ solve(_joint_matrix(J, d), e),
            lambda J, e, d: solve(_task_matrix(J, d), J.T @ e),
        ),
    ),
    Mistake(
        "a transpose is missing",
        "J takes joints to the tool; the way back is J^T. In J^T (J J^T + lambda^2 I)^-1 e one transpose is not there, "
        "or U stands for U^T in the SVD form; with m = n nothing raises.",
        (
            lambda J, e, d: J @ solve(_task_matrix(J, d), e),
            lambda J, e, d: solve(_task_matrix(J, d), e),
            lambda J, e, d: solve(_joint_matrix(J, d), e),
            lambda J, e, d: solve(_joint_matrix(J, d), J @ e),
            lambda J, e, d: solve(_task_matrix(J, d), J @ e),
            lambda J, e, d: J @ solve(_joint_matrix(J, d), e),
            lambda J, e, d: J.T @ solve(J @ J + d**2 * np.eye(len(J)), e),
            lambda J, e, d: J @ solve(J @ J + d**2 * np.eye(len(J)), e),
            lambda J, e, d: solve(J @ J + d**2 * np.eye(len(J)), J.T @ e),
            _filtered(lambda sigma, d: sigma / (sigma**2 + d**2), lambda rows: rows.T),
        ),
    ),
    Mistake(
        "another power of sigma",
        "Each direction is multiplied by sigma / (sigma^2 + lambda^2): one sigma from J^T, two in the bracket. Yours "
        "has one too many or one too few in front.",
        (_filtered(lambda sigma, d: sigma**2 / (sigma**2 + d**2)), _filtered(lambda sigma, d: 1 / (sigma**2 + d**2))),
    ),
    Mistake(
        "lambda is added to sigma",
        "You divide by sigma + lambda. It is the squares that are added: sigma / (sigma^2 + lambda^2) falls to zero "
        "with sigma, and 1 / (sigma + lambda) does not.",
        (_filtered(lambda sigma, d: 1 / (sigma + d)),),
    ),
)

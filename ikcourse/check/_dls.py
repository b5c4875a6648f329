"""The exercise on damped least squares."""

from __future__ import annotations

import numpy as np
from numpy.linalg import pinv, solve

from ikcourse.check._answer import Answer, Broken, Function
from ikcourse.check._judge import Exercise, Mistake, Property, Result, judge
from ikcourse.check._problems import ARM, NEAR_SINGULAR, PROBED, ROUNDING_VISIBLE, SIZES, Problem

TOLERANCE = 1e-6


def dls(function: Function) -> Result:
    """Check a damped least-squares solve.

    Args:
        function: f(jacobian, error, damping) -> qdot, from J (m, n), e (m,) and lambda > 0 to (n,): the minimum of
            ||J qdot - e||^2 + lambda^2 ||qdot||^2.

    Returns:
        What was found. It tells apart by name: lambda that is not squared, is squared twice, is subtracted, is added to
        every entry or is ignored; J^T J where J J^T is meant; a missing transpose; the error's sign; an explicit
        inverse that loses digits near a singularity; a size typed by hand; a changed input.
    """
    return judge(function, EXERCISE)


def asked(answer: Answer, problem: Problem) -> np.ndarray:
    return answer(problem.J, problem.e, problem.damping)


def sign(answer: Answer) -> str:
    along = float(ARM.e @ ARM.J @ asked(answer, ARM))
    return "" if along > 0 else f"The tool moves away from the target: e . J qdot is {along:.3g}, and not positive."


def no_idle_motion(answer: Answer) -> str:
    idle = float(np.linalg.norm(ARM.null_part(asked(answer, ARM))))
    if idle <= TOLERANCE:
        return ""
    return f"A part of qdot, of norm {idle:.3g}, lies in the null space of J: it costs motion and moves no tool."


def gain(answer: Answer) -> str:
    moved = float(ARM.V[:, -1] @ answer(ARM.J, ARM.U[:, -1], ARM.damping))
    right = 1 / (2 * ARM.damping)
    if abs(moved - right) <= TOLERANCE * right:
        return ""
    return (
        f"Along a singular direction with sigma = lambda = {ARM.damping} a unit error moves the joints by {moved:.4g}, "
        f"and 1 / (2 lambda) = {right:.4g} is right."
    )


def compromise(answer: Answer) -> str:
    residual = ARM.residual(asked(answer, ARM))
    if residual <= TOLERANCE:
        return ""
    return f"qdot is not the minimum: the relative gradient J^T (J qdot - e) + lambda^2 qdot is {residual:.2g} there."


def any_size(answer: Answer) -> str:
    for problem in SIZES:
        m, n = problem.J.shape
        try:
            residual = problem.residual(asked(answer, problem))
        except Broken as broken:
            return f"A J of 6 x 7 is solved, one of {m} x {n} is not: {broken.finding}."
        if residual > TOLERANCE:
            return f"A J of 6 x 7 is solved, one of {m} x {n} is not: the relative gradient there is {residual:.2g}."
    return ""


def digits(answer: Answer) -> str:
    residual = NEAR_SINGULAR.residual(asked(answer, NEAR_SINGULAR))
    if residual <= ROUNDING_VISIBLE:
        return ""
    return (
        f"The formula is right, but at a singularity with lambda = 1e-6 it keeps the equation only to {residual:.0e}."
    )


def _task_matrix(J: np.ndarray, damping: float) -> np.ndarray:
    return J @ J.T + damping**2 * np.eye(len(J))


def _joint_matrix(J: np.ndarray, damping: float) -> np.ndarray:
    return J.T @ J + damping**2 * np.eye(J.shape[1])


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
        "You solve with J J^T + lambda^4 I. The argument is lambda: square it once.",
        (lambda J, e, d: J.T @ solve(J @ J.T + d**4 * np.eye(len(J)), e),),
    ),
    Mistake(
        "lambda^2 on every entry",
        "`J @ J.T + damping**2` adds lambda^2 to all entries of the matrix. Only the diagonal is meant: multiply by "
        "np.eye first.",
        (
            lambda J, e, d: J.T @ solve(J @ J.T + d**2, e),
            lambda J, e, d: solve(J.T @ J + d**2, J.T @ e),
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
        "J takes joints to the tool; the way back is J^T. In J^T (J J^T + lambda^2 I)^-1 e one transpose is not there; "
        "with m = n nothing raises.",
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
        ),
    ),
)

EXERCISE = Exercise(
    shape=lambda jacobian, error, damping: (jacobian.shape[1],),
    properties=(
        Property("the error's sign", sign, "Target minus present, and no minus sign after it."),
        Property(
            "motion in the null space", no_idle_motion, "What damped least squares returns is J^T times something."
        ),
        Property("wrong gain", gain, "Look at how lambda enters: lambda^2, on the diagonal, once."),
        Property("not the best compromise", compromise, "Compare your matrix with J J^T + lambda^2 I, term by term."),
        Property("a size typed by hand", any_size, "Is a 6 or a 7 written where J.shape should be asked?"),
        Property(
            "digits lost near a singularity",
            digits,
            "An explicit inverse does that: its entries reach 1 / lambda^2, each with its own rounding (single "
            "precision does it too). np.linalg.solve takes the same matrix and keeps the digits.",
        ),
    ),
    mistakes=MISTAKES,
    probes=lambda: [(p.J.copy(), p.e.copy(), p.damping) for p in PROBED],
    passed="It is damped least squares: the right gain in every direction, any size of J, and its digits kept at a "
    "singularity.",
)

"""The exercise on a secondary motion through the null space."""

from __future__ import annotations

import numpy as np
from numpy.linalg import pinv, solve

from ikcourse.check._answer import Answer, Broken, Function
from ikcourse.check._judge import Exercise, Mistake, Property, Result, close, judge
from ikcourse.check._problems import ARM, NEAR_SINGULAR, PROBED, ROUNDING_VISIBLE, SIZES, WEAK, Problem

TOLERANCE = 1e-6


def nullspace(function: Function) -> Result:
    """Check damped least squares with a secondary joint velocity in its null space.

    Args:
        function: f(jacobian, error, secondary, damping) -> qdot, from J (m, n), e (m,), z (n,) and lambda > 0 to (n,):
            J^# e + (I - J^# J) z with the same damped inverse J^# in both places, hence the minimum of
            ||J qdot - e||^2 + lambda^2 ||qdot - z||^2.

    Returns:
        What was found. It tells apart by name: an undamped projector beside a damped solve; an objective that is not
        projected; the wrong side of the projector; z not added back; a task that is projected too; lambda that is not
        squared; a secondary that is ignored, or has the wrong sign; digits lost near a singularity; a changed input.
    """
    return judge(function, EXERCISE)


def asked(answer: Answer, problem: Problem) -> np.ndarray:
    return answer(problem.J, problem.e, problem.z, problem.damping)


def secondary_part(answer: Answer) -> np.ndarray:
    """What the secondary motion adds to the answer, (n,)."""
    return asked(answer, ARM) - answer(ARM.J, ARM.e, np.zeros_like(ARM.z), ARM.damping)


def task(answer: Answer) -> str:
    residual = ARM.residual(answer(ARM.J, ARM.e, np.zeros_like(ARM.z), ARM.damping))
    if residual <= TOLERANCE:
        return ""
    return f"With z = 0 the answer is not damped least squares of e: its relative gradient is {residual:.2g}."


def used(answer: Answer) -> str:
    return "" if np.any(secondary_part(answer)) else "A secondary motion z changes nothing in qdot."


def free_motion(answer: Answer) -> str:
    part, right = ARM.null_part(secondary_part(answer)), ARM.null_part(ARM.z)
    if close(part, right, TOLERANCE):
        return ""
    fraction = float(part @ right / (right @ right))
    return f"Of the part of z that does not move the tool {fraction:.3g} arrives in qdot, and all of it should."


def leak(answer: Answer) -> str:
    moved = ARM.J @ secondary_part(answer)
    Jz = ARM.J @ ARM.z
    right = ARM.damping**2 * solve(ARM.J @ ARM.J.T + ARM.damping**2 * np.eye(len(Jz)), Jz)
    if close(moved, right, TOLERANCE):
        return ""
    return (
        f"The secondary motion moves the tool by {np.linalg.norm(moved):.3g}; the damped projector leaks "
        f"lambda^2 (J J^T + lambda^2 I)^-1 J z, which is {np.linalg.norm(right):.3g}, in a direction of its own."
    )


def any_size(answer: Answer) -> str:
    for problem in SIZES:
        m, n = problem.J.shape
        try:
            residual = problem.residual(asked(answer, problem), secondary=True)
        except Broken as broken:
            return f"A J of 6 x 7 is solved, one of {m} x {n} is not: {broken.finding}."
        if residual > TOLERANCE:
            return f"A J of 6 x 7 is solved, one of {m} x {n} is not: the relative gradient there is {residual:.2g}."
    return ""


def digits(answer: Answer) -> str:
    residual = NEAR_SINGULAR.residual(asked(answer, NEAR_SINGULAR), secondary=True)
    if residual <= ROUNDING_VISIBLE:
        return ""
    return f"With lambda = 0.1 to 2 the equation is kept; at a singularity with lambda = 1e-6 only to {residual:.0e}."


def small_damping(answer: Answer) -> str:
    residual = WEAK.residual(asked(answer, WEAK), secondary=True)
    if residual <= TOLERANCE:
        return ""
    return (
        f"With lambda = sigma_6 = {WEAK.damping:g} the relative gradient is {residual:.2g}; with larger ones it is 0."
    )


def _inverse(J: np.ndarray, damping: float, power: int = 2) -> np.ndarray:
    """J^# = J^T (J J^T + lambda^power I)^-1, (n, m)."""
    return solve(J @ J.T + damping**power * np.eye(len(J)), J).T


def _of_matrices(task_inverse: Function, projector: Function) -> Function:
    """The formula A e + P z from what makes A and P of J and lambda."""
    return lambda J, e, z, damping: task_inverse(J, damping) @ e + projector(J, damping) @ z


def _projector(J: np.ndarray, damping: float, power: int = 2) -> np.ndarray:
    return np.eye(J.shape[1]) - _inverse(J, damping, power) @ J


MISTAKES = (
    Mistake(
        "the objective is not projected",
        "You add z as it is, and it moves the tool. Take out what the task feels: z - J^# J z, or solve for e - J z "
        "and add z.",
        (_of_matrices(_inverse, lambda J, d: np.eye(J.shape[1])),),
    ),
    Mistake(
        "an undamped projector beside a damped solve",
        "The solve is damped, the projector I - J^+ J is not. The two no longer belong to one minimum, and "
        "J^+ J jumps where J loses rank. Use the damped matrix that is already factored.",
        (_of_matrices(_inverse, lambda J, d: np.eye(J.shape[1]) - pinv(J) @ J),),
    ),
    Mistake(
        "the wrong side of the projector",
        "What you keep of z is not its free part. J^# J z is the part that the task feels, and I - J J^# lives in the "
        "task (m x m); the projector for joints is I - J^# J.",
        (
            _of_matrices(_inverse, lambda J, d: _inverse(J, d) @ J),
            _of_matrices(_inverse, lambda J, d: pinv(J) @ J),
            _of_matrices(_inverse, lambda J, d: np.eye(len(J)) - J @ _inverse(J, d)),
            _of_matrices(_inverse, lambda J, d: np.eye(len(J)) - J @ pinv(J)),
        ),
    ),
    Mistake(
        "z is not added back",
        "You solve for e - J z, and that answer is the correction to z, not qdot: qdot = z + J^# (e - J z).",
        (_of_matrices(_inverse, lambda J, d: -_inverse(J, d) @ J),),
    ),
    Mistake(
        "the task is projected too",
        "You project the sum of both motions, and the task's part is taken out with it. Project z alone.",
        (
            _of_matrices(lambda J, d: _projector(J, d) @ _inverse(J, d), _projector),
            _of_matrices(lambda J, d: (np.eye(J.shape[1]) - pinv(J) @ J) @ _inverse(J, d), _projector),
        ),
    ),
    Mistake(
        "lambda is not squared",
        "J J^T + lambda I stands in the solve, in the projector or in both. The damping enters as lambda^2.",
        (
            _of_matrices(lambda J, d: _inverse(J, d, 1), lambda J, d: _projector(J, d, 1)),
            _of_matrices(_inverse, lambda J, d: _projector(J, d, 1)),
            _of_matrices(lambda J, d: _inverse(J, d, 1), _projector),
        ),
    ),
    Mistake(
        "the damping is ignored",
        "Both the solve and the projector are the pseudo-inverse's, whatever lambda is.",
        (_of_matrices(lambda J, d: pinv(J), lambda J, d: np.eye(J.shape[1]) - pinv(J) @ J),),
    ),
    Mistake(
        "the secondary's sign",
        "One of the signs around z is turned: qdot = z + J^# (e - J z), and with the projector + (I - J^# J) z.",
        (
            _of_matrices(_inverse, lambda J, d: -_projector(J, d)),
            _of_matrices(_inverse, lambda J, d: np.eye(J.shape[1]) + _inverse(J, d) @ J),
            _of_matrices(_inverse, lambda J, d: -np.eye(J.shape[1]) - _inverse(J, d) @ J),
        ),
    ),
)

EXERCISE = Exercise(
    shape=lambda jacobian, error, secondary, damping: (jacobian.shape[1],),
    properties=(
        Property("the task's part is wrong", task, "check.dls tells what is wrong with a damped solve."),
        Property("the secondary is ignored", used, "Is z (or its gain) used in every branch?"),
        Property("the free motion is altered", free_motion, "The projector leaves alone what lies in the null space."),
        Property(
            "the leak is not the damped projector's", leak, "Use one damped inverse for the solve and the projector."
        ),
        Property("a size typed by hand", any_size, "Is a 6 or a 7 written where J.shape should be asked?"),
        Property(
            "digits lost near a singularity",
            digits,
            "An explicit inverse does that (and so do single precision and a floor under lambda): solve with the "
            "matrix instead.",
        ),
        Property(
            "a small lambda is treated otherwise",
            small_damping,
            "Is there a branch for it, such as a pseudo-inverse? A sigma as small as lambda is half damped.",
        ),
    ),
    mistakes=MISTAKES,
    probes=lambda: [(p.J.copy(), p.e.copy(), p.z.copy(), p.damping) for p in PROBED],
    passed="Task and secondary motion come from one minimum: the free part of z arrives whole, and what leaks into the "
    "task is what the damping says.",
)

"""The exercise on damped least squares."""

from __future__ import annotations

import numpy as np

from ikcourse.check._answer import Answer, Broken, Function
from ikcourse.check._dls_mistakes import MISTAKES
from ikcourse.check._judge import Exercise, Property, Result, judge
from ikcourse.check._problems import ARM, NEAR_SINGULAR, PROBED, ROUNDING_VISIBLE, SIZES, WEAK, Problem

TOLERANCE = 1e-6


def dls(function: Function) -> Result:
    """Check a damped least-squares solve.

    Args:
        function: f(jacobian, error, damping) -> qdot, from J (m, n), e (m,) and lambda > 0 to (n,): the minimum of
            ||J qdot - e||^2 + lambda^2 ||qdot||^2.

    Returns:
        What was found. It tells apart by name: lambda that is not squared, is squared twice, is subtracted, is added to
        every entry, is added to sigma or is ignored; J^T J where J J^T is meant; a missing transpose; another power of
        sigma; the error's sign; an explicit inverse that loses digits near a singularity; a size typed by hand; a
        changed input.
    """
    return judge(function, EXERCISE)


def asked(answer: Answer, problem: Problem) -> np.ndarray:
    return answer(problem.J, problem.e, problem.damping)


def damped_at_all(answer: Answer) -> str:
    once, twice = asked(answer, ARM), answer(ARM.J, ARM.e, 2 * ARM.damping)
    if np.abs(once - twice).max() > TOLERANCE * np.abs(once).max():
        return ""
    return f"lambda = {ARM.damping} and lambda = {2 * ARM.damping} get the same answer."


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
    return f"With lambda = 0.1 to 2 the equation is kept; at a singularity with lambda = 1e-6 only to {residual:.0e}."


def small_damping(answer: Answer) -> str:
    residual = WEAK.residual(asked(answer, WEAK))
    if residual <= TOLERANCE:
        return ""
    return (
        f"With lambda = sigma_6 = {WEAK.damping:g} the relative gradient is {residual:.2g}; with larger ones it is 0."
    )


EXERCISE = Exercise(
    shape=lambda jacobian, error, damping: (jacobian.shape[1],),
    properties=(
        Property(
            "the damping is ignored",
            damped_at_all,
            "Let lambda^2 into the formula, on the diagonal of J J^T or of J^T J.",
        ),
        Property("the error's sign", sign, "Target minus present, and no minus sign after it."),
        Property(
            "motion in the null space",
            no_idle_motion,
            "What damped least squares returns is J^T times something. Is anything added to it? In the stack, e stands "
            "beside J and zeros beside lambda I; of an SVD, np.linalg.svd returns V^T, not V.",
        ),
        Property(
            "wrong gain",
            gain,
            "Look at how lambda enters: lambda^2, on the diagonal, once; in an SVD, sigma / (sigma^2 + lambda^2); in "
            "the stack, lambda itself.",
        ),
        Property("not the best compromise", compromise, "Compare your matrix with J J^T + lambda^2 I, term by term."),
        Property("a size typed by hand", any_size, "Is a 6 or a 7 written where J.shape should be asked?"),
        Property(
            "digits lost near a singularity",
            digits,
            "An explicit inverse does that: its entries reach 1 / lambda^2, each with its own rounding (single "
            "precision does it too, and so does a floor under lambda). np.linalg.solve takes the same matrix and keeps "
            "the digits.",
        ),
        Property(
            "a small lambda is treated otherwise",
            small_damping,
            "Is there a branch for it, such as a pseudo-inverse? A sigma as small as lambda is half damped.",
        ),
    ),
    mistakes=MISTAKES,
    probes=lambda: [(p.J.copy(), p.e.copy(), p.damping) for p in PROBED],
    passed="It is damped least squares: the right gain in every direction, any size of J, and its digits kept at a "
    "singularity.",
)

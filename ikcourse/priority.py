"""A second task in the room that the first one leaves: two answers, which an algorithmic singularity tells apart.

Task 1 asks J1 qdot = e1 and comes first; task 2 asks J2 qdot = e2 with what is left. Both tasks can be far from their
own singularities while no motion that task 1 leaves free serves task 2: J2 loses rank on the null space of J1. That is
the algorithmic singularity.
"""

from __future__ import annotations

from typing import Any

from ikcourse._arrays import Array, namespace_and_arrays, rounding_tolerance, task_arrays
from ikcourse.inverse import apply_filter, damped
from ikcourse.nullspace import damped_with_secondary, project


def priority_robust(
    jacobian: Array,
    error: Array,
    second_jacobian: Array,
    second_error: Array,
    damping: Array = 0.0,
    second_damping: Array = 0.0,
) -> Any:
    """Solve task 2 as if it were alone and send the answer through task 1's null space.

    J1^+ e1 + (I - J1^+ J1) J2^+ e2. Only J1 and J2 are inverted, each by itself: at an algorithmic singularity
    nothing grows. The price is that task 2 is not met even where it could be: the projection bends its answer.

    Args:
        jacobian, error: J1, (..., m, n), and e1, (..., m).
        second_jacobian, second_error: J2, (..., k, n), and e2, (..., k).
        damping: lambda >= 0 of task 1's solve and its projection, (...,) or scalar.
        second_damping: lambda >= 0 of task 2's solve.

    Returns:
        qdot, (..., n).

    Raises:
        ValueError: as `damped`, of either task.

    Source: Chiaverini 1997.
    """
    return damped_with_secondary(jacobian, error, damped(second_jacobian, second_error, second_damping), damping)


def priority_recursive(
    jacobian: Array,
    error: Array,
    second_jacobian: Array,
    second_error: Array,
    damping: Array = 0.0,
    second_damping: Array = 0.0,
) -> Any:
    """Solve task 2 over the motions that task 1 leaves, for what task 1's answer has not done already.

    qdot1 + (J2 N1)^+ (e2 - J2 qdot1), with qdot1 = J1^+ e1. Wherever task 2 can be met behind task 1 it is met. Near an
    algorithmic singularity J2 N1 nearly loses rank, and its inverse grows without bound unless it is damped.

    N1 is exact, from the right singular vectors of J1, at every damping, and the answer is projected once more, since a
    small J2 N1 holds few digits of its direction: no second task moves the first. A singular value of J2 N1 that is
    rounding beside J2 itself counts as zero; beside J2 N1's own largest, noise would pass for a direction.

    Args, returns and errors as `priority_robust`; damping is task 1's, second_damping that of (J2 N1)^+.

    Source: Siciliano and Slotine 1991.
    """
    first = damped(jacobian, error, damping)
    xp, J2, e2, second_damping = task_arrays(second_jacobian, second_error, second_damping, "second_damping")
    _, (J1, _) = namespace_and_arrays(jacobian, J2)
    free = project(J1[..., None, :, :], J2)  # N1 is symmetric: the rows of J2 N1 are projected rows of J2
    rounding = rounding_tolerance(xp, J2) * xp.sqrt(xp.sum(J2 * J2, axis=(-2, -1)))[..., None]

    def inverse_where_it_exists(sigma: Any) -> Any:
        exists = sigma > rounding
        denominator = xp.where(exists, sigma**2 + second_damping[..., None] ** 2, xp.ones_like(sigma))
        return xp.where(exists, sigma / denominator, xp.zeros_like(sigma))

    left = e2 - (J2 @ first[..., None])[..., 0]
    return first + project(J1, apply_filter(xp, free, left, inverse_where_it_exists))

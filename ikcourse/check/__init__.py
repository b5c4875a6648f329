"""Exercises that explain themselves: a checker takes your function and says which property broke, and what does that.

    from ikcourse import check

    check.dls(my_dls)

A checker tests properties, not memorised arrays. What comes back is true where every one of them holds; an exercise
that is still empty is false and raises nothing.
"""

from ikcourse.check._box import box
from ikcourse.check._dls import dls
from ikcourse.check._end_state import end_state
from ikcourse.check._jacobian import jacobian
from ikcourse.check._judge import Result
from ikcourse.check._loop import loop
from ikcourse.check._nullspace import nullspace
from ikcourse.check._planar_jacobian import planar_jacobian
from ikcourse.check._pose_error import pose_error

__all__ = ["Result", "box", "dls", "end_state", "jacobian", "loop", "nullspace", "planar_jacobian", "pose_error"]

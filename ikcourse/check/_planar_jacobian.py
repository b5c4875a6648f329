"""The exercise on the Jacobian of a planar arm of any number of links."""

from __future__ import annotations

import numpy as np

from ikcourse.check._answer import Answer, Broken, Function
from ikcourse.check._judge import Exercise, Property, Result, judge
from ikcourse.check._planar_jacobian_mistakes import MISTAKES

TOLERANCE = 1e-5
"""What a column may differ from the tool's motion [m/rad]: an answer by finite differences passes."""
CLOSE = 5e-3
"""Nearer than this [m/rad] two columns are told with more digits, or they would look the same."""

Case = tuple[np.ndarray, np.ndarray]
"""Joint angles [rad] and link lengths [m]."""


def planar_jacobian(function: Function) -> Result:
    """Check the Jacobian of a planar arm's tool.

    Args:
        function: f(q, lengths) -> J (2, n), the tool's velocity (x, y) per velocity of each joint, from the joint
            angles (n,) [rad], each measured from the link before it, and the link lengths (n,) [m]. The shoulder is at
            the origin; at q = 0 the arm lies along x.

    Returns:
        What was found. It tells apart by name: a joint's angle for a link's direction; links that a joint carries left
        out, or links that it does not carry taken in; every lever measured from the shoulder; a sign; x and y
        exchanged; rows for columns; degrees; ignored lengths; two links where any number is asked for.
    """
    return judge(function, EXERCISE)


def _case(n: int, seed: int) -> Case:
    """An arm that is bent at every joint, with links of different lengths."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.4, 1.1, n).round(2), rng.uniform(0.3, 1.5, n).round(2)


TWO, OTHER_TWO, THREE = _case(2, seed=1), _case(2, seed=2), _case(3, seed=3)
MIXED = (np.array([-0.7, 0.9, -1.8, 2.9]), np.array([0.9, 0.4, 1.2, 0.7]))
"""Joints bent both ways, one of them beyond a right angle."""
SIZES = (THREE, _case(6, seed=6), MIXED, _case(1, seed=4))


def _tool(q: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    angles = np.cumsum(q)
    return np.array([lengths @ np.cos(angles), lengths @ np.sin(angles)])


def _measured(q: np.ndarray, lengths: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """J by central differences of the tool's position."""
    ends = [(_tool(q + step, lengths), _tool(q - step, lengths)) for step in h * np.eye(len(q))]
    return np.stack([(ahead - behind) / (2 * h) for ahead, behind in ends], axis=1)


def _off(answer: Answer, case: Case) -> str:
    """What is wrong with the worst column; "" if nothing is."""
    given, right = answer(*case), _measured(*case)
    off = np.linalg.norm(given - right, axis=0)
    worst = int(off.argmax())
    if off[worst] <= TOLERANCE:
        return ""
    q, lengths = case
    digits = 3 if off[worst] > CLOSE else 6
    moved, said = (_numbers(column[:, worst], digits) for column in (right, given))
    return (
        f"Links of {_numbers(lengths, 2)} m at q = {_numbers(q, 2)} rad: turn joint {worst + 1} a little, and the tool "
        f"moves by {moved} m/rad. Your column {worst} says {said}."
    )


def _numbers(values: np.ndarray, digits: int) -> str:
    return "(" + ", ".join(f"{x:.{digits}f}" for x in values) + ")"


def two_links(answer: Answer) -> str:
    return _off(answer, TWO) or _off(answer, OTHER_TWO)


def any_number(answer: Answer) -> str:
    for case in SIZES:
        n = len(case[0])
        try:
            measured = _off(answer, case)
        except Broken as broken:
            measured = f"{broken.finding[:1].upper()}{broken.finding[1:]}: {broken.message}"
        if measured:
            return f"With n = {n} links: {measured}"
    return ""


EXERCISE = Exercise(
    shape=lambda q, lengths: (2, len(q)),
    properties=(
        Property(
            "a column is wrong",
            two_links,
            "The column of joint i is the sum of the links from i to the tool, each turned by a right angle.",
        ),
        Property(
            "right for two links only",
            any_number,
            "Is `q[0] + q[1]`, or a 2, written where `np.cumsum(q)` or len(q) is meant?",
        ),
    ),
    mistakes=MISTAKES,
    probes=lambda: [tuple(array.copy() for array in case) for case in (TWO, OTHER_TWO, THREE)],
    passed="Each column is how the tool moves when that joint alone turns, for any number of links of any lengths.",
)

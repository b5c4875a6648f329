"""Ways to write the Jacobian of a planar arm wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ikcourse.check._answer import Function
from ikcourse.check._judge import Mistake


def directions(q: np.ndarray) -> np.ndarray:
    """Of each link, as an angle from the x axis."""
    return np.cumsum(q)


def link_velocities(angles: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of each link's end about its beginning, per rad/s: (2, n)."""
    return np.array([-lengths * np.sin(angles), lengths * np.cos(angles)])


def _carried(n: int) -> np.ndarray:
    """1 where a link (row) turns with a joint (column): a joint carries its own link and all after it."""
    return np.tri(n)


def _built(
    angles: Callable[[np.ndarray], np.ndarray] = directions,
    velocities: Function = link_velocities,
    carried: Callable[[int], np.ndarray] = _carried,
) -> Function:
    """A planar Jacobian from its three parts."""
    return lambda q, lengths: velocities(angles(q), lengths) @ carried(len(q))


def _for_two(formula: Function) -> tuple[Function, ...]:
    """The formula, and as it comes out where it is typed for two links: the rest is ignored, or raises."""

    def ignores(q: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return formula(q[:2], lengths[:2])

    def unpacks(q: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        (_, _), (_, _) = q, lengths
        return formula(q, lengths)

    return formula, ignores, unpacks


def _variants(*formulas: Function) -> tuple[Function, ...]:
    return tuple(variant for formula in formulas for variant in _for_two(formula))


def _rows(x: float, y: float) -> Function:
    """The velocities with their rows multiplied."""
    return lambda angles, lengths: np.array([[x], [y]]) * link_velocities(angles, lengths)


def _exchanged(sign: int) -> Function:
    """Cosines in the x row."""
    return lambda angles, lengths: lengths * np.array([np.cos(angles), sign * np.sin(angles)])


def _last_two_joints(q: np.ndarray) -> np.ndarray:
    """A sum over the last two joints: right for two links."""
    return q + np.append(0.0, q[:-1])


def _from_the_joint(q: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Each column summed as if its joint were the first of the arm."""
    columns = [link_velocities(directions(q[i:]), lengths[i:]).sum(axis=1) for i in range(len(q))]
    return np.stack(columns, axis=1)


def _own(n: int) -> np.ndarray:
    return np.eye(n)


def _all(n: int) -> np.ndarray:
    return np.ones((n, n))


MISTAKES = (
    Mistake(
        "the sign",
        "Every entry has the wrong sign. A positive joint velocity turns the arm from x towards y: what lies along x "
        "moves along +y.",
        _variants(_built(velocities=_rows(-1, -1))),
    ),
    Mistake(
        "the sine's sign",
        "The x row has the wrong sign: the derivative of a cosine is minus the sine. A link that stands up, along y, "
        "moves its end towards -x.",
        _variants(_built(velocities=_rows(-1, 1))),
    ),
    Mistake(
        "the cosine's sign",
        "The y row has the wrong sign: the derivative of a sine is plus the cosine.",
        _variants(_built(velocities=_rows(1, -1))),
    ),
    Mistake(
        "x and y exchanged",
        "Your x row holds the cosines and your y row the sines. Where x is a sum of cosines its derivative is one of "
        "sines: differentiate the position, and keep x first.",
        _variants(_built(velocities=_exchanged(-1)), _built(velocities=_exchanged(1))),
    ),
    Mistake(
        "a joint's angle for a link's direction",
        "A joint angle is measured from the link before, so link i points along q_1 + ... + q_i: `np.cumsum(q)`. In "
        "your answer a link's direction leaves out joints before it.",
        (
            *_variants(*(_built(angles=lambda q: q, carried=c) for c in (_carried, _own))),
            *_variants(_from_the_joint, _built(angles=lambda q: np.cumsum(q) - q[0])),
            _built(angles=_last_two_joints),
            _built(angles=_last_two_joints, carried=_own),
        ),
    ),
    Mistake(
        "only the joint's own link",
        "Your column of a joint holds one link. Turning a joint carries its own link and every link after it, so its "
        "column is the sum of all those: the last joint has one link, the first has them all.",
        _variants(_built(carried=_own)),
    ),
    Mistake(
        "the joint's own link is missing",
        "Your columns begin one link too late: that of the last joint is zero, and yet it moves the tool. The lever of "
        "a joint runs from the joint itself, not from the end of its link.",
        _variants(_built(carried=lambda n: np.tri(n, k=-1))),
    ),
    Mistake(
        "the links before the joint",
        "You add the links from the shoulder up to the joint. A joint moves what comes after it: its own link and the "
        "rest, as far as the tool.",
        _variants(_built(carried=lambda n: np.tri(n).T), _built(carried=lambda n: np.tri(n, k=-1).T)),
    ),
    Mistake(
        "every lever from the shoulder",
        "All your columns are equal: each joint turns the tool about the shoulder. A joint turns it about the joint, "
        "so the lever is the tool's position minus the joint's.",
        _variants(_built(carried=_all)),
    ),
    Mistake(
        "the last joint first",
        "The columns are right and stand in the opposite order: column 0 belongs to the shoulder.",
        _variants(_built(carried=lambda n: np.tri(n)[:, ::-1])),
    ),
    Mistake(
        "rows for columns",
        "It is the transpose: your rows are the tool's velocities. With two links nothing raises. Each joint has a "
        "column: `np.stack(velocities, axis=1)`.",
        _variants(lambda q, lengths: _built()(q, lengths).T),
    ),
    Mistake(
        "degrees",
        "q is in radians already, and NumPy's sine takes radians: leave out the conversion.",
        _variants(_built(angles=lambda q: np.deg2rad(np.cumsum(q))), _built(angles=lambda q: np.rad2deg(np.cumsum(q)))),
    ),
    Mistake(
        "per degree",
        "Every entry is right for a joint velocity in degrees per second. The columns are asked for per rad/s: leave "
        "out the factor pi / 180.",
        _variants(_built(velocities=_rows(np.pi / 180, np.pi / 180))),
    ),
    Mistake(
        "the lengths are ignored",
        "Your links are all one metre long, whatever `lengths` says. Each link's sine and cosine is multiplied by its "
        "length.",
        _variants(_built(velocities=lambda a, lengths: link_velocities(a, np.ones_like(lengths)))),
    ),
    Mistake(
        "the wrong link's length",
        "The directions are right and the lengths are not: multiply each link's sine and cosine by its own length, and "
        "only then add the links.",
        _variants(
            _built(velocities=lambda a, lengths: link_velocities(a, lengths[::-1])),
            lambda q, lengths: _built()(q, np.ones_like(lengths)) * lengths,
            _built(velocities=lambda a, lengths: lengths[:, None] * link_velocities(a, np.ones_like(lengths))),
        ),
    ),
)

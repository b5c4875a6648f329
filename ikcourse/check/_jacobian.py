"""The exercise on the site's Jacobian."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ikcourse.check import _scene
from ikcourse.check._answer import Answer, Function
from ikcourse.check._jacobian_mistakes import MISTAKES
from ikcourse.check._judge import Exercise, Property, Result, judge
from ikcourse.jacobian import finite_difference_jacobian

TOLERANCE = 1e-5
"""What a column may differ from the measured motion [m/rad] and [rad/rad]: an answer by finite differences passes."""
CLOSE = 5e-3
"""Nearer than this two columns are told with more digits, or they would look the same."""


def jacobian(function: Function) -> Result:
    """Check a geometric Jacobian of the end-effector site.

    Args:
        function: f(arm, data) -> J (6, n), the site's twist (linear, angular, world axes) per velocity of the arm's own
            dofs, at `data.qpos` as it stands. Body positions in `data` may be older; it may refresh them, and nothing
            else. The arm stands among other joints and actuators.

    Returns:
        What was found. It tells apart by name: tool or base axes for world axes; angular before linear; joint ids, qpos
        addresses or the first columns for dofs, and dofs for joint ids; every column of the model; a point of `mj_jac`
        in the body's frame; the body's origin, its centre of mass or another site for the arm's site; a joint's axis in
        its body's frame; a lever from the origin; the order of a cross product; the sign; stale kinematics; changed
        data.
    """
    return judge(function, EXERCISE)


def _measured(q: np.ndarray) -> np.ndarray:
    return finite_difference_jacobian(_scene.arm(), _scene.data_at(q))


def _rows(rows: slice, what: str, unit: str) -> Callable[[Answer], str]:
    def measure(answer: Answer) -> str:
        for seed in (1, 2, 3):
            q = _scene.posture(seed)
            given, right = answer(_scene.arm(), _scene.data_at(q))[rows], _measured(q)[rows]
            off = np.linalg.norm(given - right, axis=0)
            worst = int(off.argmax())
            if off[worst] > TOLERANCE:
                digits = 3 if off[worst] > CLOSE else 6
                return (
                    f"Move joint {worst + 1} a little: the site {what} by {_vector(right[:, worst], digits)} {unit}, "
                    f"and your column {worst} says {_vector(given[:, worst], digits)}."
                )
        return ""

    return measure


def fresh(answer: Answer) -> str:
    before, q = _scene.posture(4), _scene.posture(5)
    data = _scene.data_at(before)
    data.qpos[_scene.arm().qpos_addresses] = q
    data.qvel[:] = 0.1  # it moves: who sets its velocity to zero has changed it
    given = answer(_scene.arm(), data)
    if np.abs(given - _measured(q)).max() <= TOLERANCE:
        return ""
    if np.abs(given - _measured(before)).max() <= TOLERANCE:
        return "The joints have moved since the kinematics were computed, and your J is still that of the old posture."
    return "The joints have moved since the kinematics were computed, and your J mixes the old posture and the new one."


def _vector(v: np.ndarray, digits: int) -> str:
    return "(" + ", ".join(f"{x:.{digits}f}" for x in v) + ")"


EXERCISE = Exercise(
    shape=lambda arm, data: (6, arm.n),
    properties=(
        Property(
            "the linear rows are wrong",
            _rows(slice(3), "moves", "m/rad"),
            "They come first, in world axes. For a hinge the column is the cross product of its axis with the way from "
            "the joint to the site.",
        ),
        Property(
            "the angular rows are wrong",
            _rows(slice(3, 6), "turns", "rad/rad"),
            "For a hinge the column is its axis in the world.",
        ),
        Property(
            "stale kinematics",
            fresh,
            "mj_step and a write to qpos leave body positions where they were: run mj_kinematics and mj_comPos (or "
            "mj_step1, or mj_forward) before you ask for J.",
        ),
    ),
    mistakes=MISTAKES,
    probes=lambda: [(_scene.arm(), _scene.data_at(_scene.posture(seed))) for seed in (1, 2)],
    passed="Each column is how the site moves, in world axes, for the arm's own dofs, at the posture that holds now.",
)

"""The exercise on the site's Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from ikcourse.arm import Arm
from ikcourse.check import _scene
from ikcourse.check._answer import Answer, Function
from ikcourse.check._judge import Exercise, Mistake, Property, Result, judge
from ikcourse.jacobian import finite_difference_jacobian

TOLERANCE = 1e-5
"""What a column may differ from the measured motion [m/rad] and [rad/rad]: an answer by finite differences passes."""


def jacobian(function: Function) -> Result:
    """Check a geometric Jacobian of the end-effector site.

    Args:
        function: f(arm, data) -> J (6, n), the site's twist (linear, angular, world axes) per velocity of the arm's own
            dofs, at `data.qpos` as it stands. Body positions in `data` may be older; it may refresh them, and nothing
            else. The arm stands among other joints and actuators.

    Returns:
        What was found. It tells apart by name: tool or base axes for world axes; angular before linear; joint ids, qpos
        addresses or the first columns for dofs; a point of `mj_jac` in the body's frame; the body's origin or centre of
        mass for the site; the sign; stale kinematics; changed data.
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
                return (
                    f"Move joint {worst + 1} a little: the site {what} by {_vector(right[:, worst])} {unit}, "
                    f"and your column {worst} says {_vector(given[:, worst])}."
                )
        return ""

    return measure


def fresh(answer: Answer) -> str:
    before, q = _scene.posture(4), _scene.posture(5)
    data = _scene.data_at(before)
    data.qpos[_scene.arm().qpos_addresses] = q
    given = answer(_scene.arm(), data)
    if np.abs(given - _measured(q)).max() <= TOLERANCE:
        return ""
    if np.abs(given - _measured(before)).max() <= TOLERANCE:
        return "The joints have moved since the kinematics were computed, and your J is still that of the old posture."
    return "The joints have moved since the kinematics were computed, and your J mixes the old posture and the new one."


def _vector(v: np.ndarray) -> str:
    return "(" + ", ".join(f"{x:.3f}" for x in v) + ")"


def _blocks(arm: Arm, data: mujoco.MjData, columns: Any = None) -> tuple[np.ndarray, np.ndarray]:
    J = np.empty((6, arm.model.nv))
    mujoco.mj_jacSite(arm.model, data, J[:3], J[3:], arm.site)
    J = J[:, arm.dofs if columns is None else columns]
    return J[:3], J[3:]


def _columns(chosen: Callable[[Arm], Any]) -> Function:
    return lambda arm, data: np.concatenate(_blocks(arm, data, chosen(arm)))


def _turned(frame: Callable[[Arm, mujoco.MjData], np.ndarray], linear: bool, angular: bool) -> Function:
    """J with its linear rows, its angular rows or both seen from a frame."""

    def wrong(arm: Arm, data: mujoco.MjData) -> np.ndarray:
        R, (jacp, jacr) = frame(arm, data).reshape(3, 3), _blocks(arm, data)
        return np.concatenate([R.T @ jacp if linear else jacp, R.T @ jacr if angular else jacr])

    return wrong


def _at(point: Callable[[Arm, mujoco.MjData, int], np.ndarray]) -> Function:
    """J of another point of the site's body."""

    def wrong(arm: Arm, data: mujoco.MjData) -> np.ndarray:
        J, body = np.empty((6, arm.model.nv)), int(arm.model.site_bodyid[arm.site])
        mujoco.mj_jac(arm.model, data, J[:3], J[3:], point(arm, data, body), body)
        return J[:, arm.dofs]

    return wrong


def _base(arm: Arm, data: mujoco.MjData) -> np.ndarray:
    """Axes of the body that carries the arm's first link."""
    return data.xmat[arm.model.body_parentid[arm.model.jnt_bodyid[arm.joints[0]]]]


def _tool(arm: Arm, data: mujoco.MjData) -> np.ndarray:
    return data.site_xmat[arm.site]


PARTS = ((True, True), (True, False), (False, True))
MISTAKES = (
    Mistake(
        "angular before linear",
        "All six rows are right and stand in the other order: the three linear ones come first, as in the pose error.",
        (lambda arm, data: np.concatenate(_blocks(arm, data)[::-1]),),
    ),
    Mistake(
        "body axes for world axes",
        "Your rows are seen from the tool or from the base. The pose error is in world axes, and so must J be: leave "
        "out the R^T, or turn the rows back.",
        tuple(_turned(frame, *parts) for frame in (_tool, _base) for parts in PARTS),
    ),
    Mistake(
        "joint ids for dofs",
        "You take the columns `arm.joints`. A joint is not a dof: the ball joint before the arm has one id and three "
        "columns. Take `arm.dofs`, which is model.jnt_dofadr of the joints.",
        (_columns(lambda arm: arm.joints),),
    ),
    Mistake(
        "qpos addresses for dofs",
        "You take the columns `arm.qpos_addresses`. nq is not nv: a ball joint has four coordinates and three dofs. "
        "Take `arm.dofs`.",
        (_columns(lambda arm: arm.qpos_addresses),),
    ),
    Mistake(
        "the first columns for the arm's",
        "You take the first n columns. They belong to whatever joint comes first in the model; take `arm.dofs`.",
        (_columns(lambda arm: slice(arm.n)),),
    ),
    Mistake(
        "a point in the body's frame",
        "`mj_jac` wants its point in world coordinates. model.site_pos is in the body's frame: give data.site_xpos.",
        (_at(lambda arm, data, body: arm.model.site_pos[arm.site]),),
    ),
    Mistake(
        "the body's point for the site's",
        "This is the Jacobian of the hand's origin or of its centre of mass. The site stands 0.1 m before the origin: "
        "use mj_jacSite, or mj_jac at data.site_xpos.",
        (_at(lambda arm, data, body: data.xpos[body]), _at(lambda arm, data, body: data.xipos[body])),
    ),
    Mistake(
        "the sign",
        "Every entry has the wrong sign. The pose error falls as the tool advances; J itself is how the tool moves.",
        (lambda arm, data: -np.concatenate(_blocks(arm, data)),),
    ),
)

EXERCISE = Exercise(
    shape=lambda arm, data: (6, arm.n),
    properties=(
        Property("the linear rows are wrong", _rows(slice(3), "moves", "m/rad"), "They come first, in world axes."),
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

"""Ways to write a site's Jacobian wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from ikcourse.arm import Arm
from ikcourse.check._answer import Function
from ikcourse.check._judge import Mistake


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


def _hinges(
    order: int = 1,
    local: bool = False,
    lever: bool = True,
    site: int | None = None,
    joints: Callable[[Arm], Any] = lambda arm: arm.joints,
) -> Function:
    """J from the joints' axes and anchors.

    Args:
        order: of the cross product; -1 turns it round.
        local: takes each axis from the model, in its body's frame.
        lever: counts from the joint; else from the world's origin.
        site: to which the lever goes; else the arm's.
        joints: what `xaxis` and `xanchor` are asked for.
    """

    def wrong(arm: Arm, data: mujoco.MjData) -> np.ndarray:
        ids = joints(arm)
        axes = arm.model.jnt_axis[ids] if local else data.xaxis[ids]
        way = data.site_xpos[arm.site if site is None else site] - (data.xanchor[ids] if lever else 0)
        return np.concatenate([order * np.cross(axes, way).T, axes.T])

    return wrong


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
        "You take the first n of all, and those belong to whatever joint comes first in the model: columns by "
        "`arm.dofs`, axes and anchors by `arm.joints`.",
        (_columns(lambda arm: slice(arm.n)), _hinges(joints=lambda arm: slice(arm.n))),
    ),
    Mistake(
        "every column of the model",
        "You return a column for every dof or joint that the model has. The arm is not alone in it: `J[:, arm.dofs]`, "
        "or axes and anchors by `arm.joints`.",
        (_columns(lambda arm: slice(None)), _hinges(joints=lambda arm: slice(None))),
    ),
    Mistake(
        "dofs for joint ids",
        "data.xaxis and data.xanchor have a row for each joint, and you ask them for `arm.dofs`. Their rows are "
        "`arm.joints`; a ball joint has one of them and three dofs.",
        (_hinges(joints=lambda arm: arm.dofs),),
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
        "another site for the arm's",
        "Your lever ends at the first site of the model. data.site_xpos has a row for each site, and the arm's is "
        "`data.site_xpos[arm.site]`.",
        (_hinges(site=0),),
    ),
    Mistake(
        "the cross product's order",
        "The linear rows have the wrong sign and the angular ones are right. The point moves by the axis times the "
        "lever, np.cross(axis, site - anchor), and a cross product changes sign with its order.",
        (_hinges(order=-1),),
    ),
    Mistake(
        "an axis in the body's frame",
        "model.jnt_axis is each joint's axis in the frame of its own body. In the world it is data.xaxis.",
        (_hinges(local=True), _hinges(local=True, lever=False)),
    ),
    Mistake(
        "the lever from the origin",
        "Your lever runs from the world's origin to the site. A joint turns the site about itself: subtract its place "
        "in the world, data.xanchor (model.jnt_pos is in the frame of the body).",
        (_hinges(lever=False),),
    ),
    Mistake(
        "the sign",
        "Every entry has the wrong sign. The pose error falls as the tool advances; J itself is how the tool moves.",
        (lambda arm, data: -np.concatenate(_blocks(arm, data)),),
    ),
)

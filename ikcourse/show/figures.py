"""Drawings that several chapters share: the planar arm and its velocity ellipse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ikcourse.arm import Arm
from ikcourse.jacobian import site_pose
from ikcourse.show.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def velocity_ellipse(jacobian: np.ndarray, points: int = 181) -> np.ndarray:
    """Tool velocities of all joint velocities of norm one: J maps the unit ball onto this ellipse.

    Args:
        jacobian: J, (2, n): the rows to look at.
        points: how many of its boundary.

    Returns:
        (points, 2), closed. Its half-axes are the singular values of J along the columns of U.
    """
    jacobian = np.asarray(jacobian, float)
    if jacobian.ndim != 2 or jacobian.shape[0] != 2:
        raise ValueError(f"the ellipse needs a Jacobian of two rows, (2, n); got {jacobian.shape}")
    U, sigma, _ = np.linalg.svd(jacobian, full_matrices=False)
    angle = np.linspace(0, 2 * np.pi, points)
    axes = np.zeros((2, 2))
    axes[:, : len(sigma)] = U * sigma
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) @ axes.T


def draw_ellipse(axes: Axes, jacobian: np.ndarray, centre: np.ndarray, scale: float = 1.0, **style: Any) -> None:
    """Draw the velocity ellipse of J (2, n) at a point (2,); `scale` turns [m/s] into drawn [m]."""
    boundary = centre + scale * velocity_ellipse(jacobian)
    color = style.pop("color", COLOURS["healthy"])
    axes.plot(boundary[:, 0], boundary[:, 1], color=color, **style)
    axes.fill(boundary[:, 0], boundary[:, 1], color=color, alpha=0.15, lw=0)


def draw_planar_arm(axes: Axes, arm: Arm, q: np.ndarray, **style: Any) -> np.ndarray:
    """Draw a planar arm's links and joints at q (n,) [rad]; returns where its tool is, (2,) [m]."""
    data = arm.data(q)
    tool = site_pose(arm, data)[0][:2]
    joints = np.array([data.xanchor[joint][:2] for joint in arm.joints])
    outline = np.vstack([joints, tool])
    color = style.pop("color", COLOURS["neutral"])
    axes.plot(outline[:, 0], outline[:, 1], color=color, lw=style.pop("lw", 4), solid_capstyle="round", **style)
    axes.plot(joints[:, 0], joints[:, 1], "o", ms=6, mfc="white", mec=color, mew=1.6, zorder=5, **style)
    return tool

"""The site's pose, its error and its Jacobian from MuJoCo, and the finite differences that check them.

`site_pose` and `site_jacobian` read the kinematics as `data` holds them. After `mj_step` alone those are one step old:
run `mj_step1`, or `mj_kinematics` and `mj_comPos`, first. An MjData of another model is refused with ValueError.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from ikcourse import rotation
from ikcourse._arrays import Array
from ikcourse.arm import Arm


def site_pose(arm: Arm, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) [m] and orientation (4,), w, x, y, z, of the end-effector site in the world."""
    arm.require_own(data)
    quaternion = np.empty(4)
    mujoco.mju_mulQuat(quaternion, data.xquat[arm.model.site_bodyid[arm.site]], arm.model.site_quat[arm.site])
    return data.site_xpos[arm.site].copy(), quaternion


def pose_error(target_position: Array, target_quaternion: Array, position: Array, quaternion: Array) -> np.ndarray:
    """What is left to do, (..., 6): target minus position [m], and the rotation vector from quaternion to target [rad].

    World axes, linear before angular. Positions are (..., 3), quaternions (..., 4).

    Raises:
        ValueError: a last axis does not fit, a value is not finite, or a quaternion's norm is not one within 1e-3.
    """
    target_position, position = np.asarray(target_position, float), np.asarray(position, float)
    for name, array in (("target_position", target_position), ("position", position)):
        if array.shape[-1:] != (3,) or not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite, of shape (..., 3); got {array}")
    linear = target_position - position
    angular = rotation.rotation_error(target_quaternion, quaternion)
    shape = np.broadcast_shapes(linear.shape[:-1], angular.shape[:-1])
    return np.concatenate([np.broadcast_to(linear, (*shape, 3)), np.broadcast_to(angular, (*shape, 3))], axis=-1)


def site_jacobian(arm: Arm, data: mujoco.MjData, dofs: np.ndarray | slice | None = None) -> np.ndarray:
    """Geometric Jacobian of the site, (6, n): twist (linear, angular, world axes) per joint velocity.

    Args:
        arm: the arm.
        data: its state, kinematics current.
        dofs: columns wanted, by default the arm's own; `slice(None)` gives all nv.
    """
    arm.require_own(data)
    jacobian = np.empty((6, arm.model.nv))
    mujoco.mj_jacSite(arm.model, data, jacobian[:3], jacobian[3:], arm.site)
    return jacobian[:, arm.dofs if dofs is None else dofs]


def jacobians_at(arm: Arm, q: np.ndarray) -> np.ndarray:
    """`site_jacobian` at many configurations: (..., 6, n) from q (..., n) [rad] or [m], everything else at home.

    Raises:
        ValueError: the last axis of q is not n, or a value is not finite.
    """
    q = np.asarray(q, dtype=float)
    if q.shape[-1:] != (arm.n,) or not np.isfinite(q).all():
        raise ValueError(f"q must be finite, of shape (..., {arm.n}); got shape {q.shape}")
    data = arm.data()
    jacobians = np.empty((*q.shape[:-1], 6, arm.n))
    for index in np.ndindex(q.shape[:-1]):
        data.qpos[arm.qpos_addresses] = q[index]
        mujoco.mj_kinematics(arm.model, data)
        mujoco.mj_comPos(arm.model, data)
        jacobians[index] = site_jacobian(arm, data)
    return jacobians


def finite_difference_jacobian(
    arm: Arm, data: mujoco.MjData, step: float = 1e-5, dofs: np.ndarray | slice | None = None
) -> np.ndarray:
    """The same matrix by central differences of the pose along each dof, through `mj_integratePos`.

    The rotation's difference is the rotation vector of R+ R-^T, over 2 step. `data` is not changed.

    Args:
        arm, data, dofs: as `site_jacobian`.
        step: h > 0 [rad] or [m]. The error is about h^2 from truncation plus eps / h from rounding, least near
            eps^(1/3) = 6e-6.

    Raises:
        ValueError: step is not positive.
    """

    def difference(plus: tuple[np.ndarray, np.ndarray], minus: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        return pose_error(*plus, *minus)

    return _central_differences(arm, data, step, dofs, lambda d: site_pose(arm, d), difference)


def error_jacobian(error: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    """How the pose error e moves per joint velocity, (6, n): -J in the linear rows, -J_r^-1(e) J in the angular rows.

    Args:
        error: e, (6,).
        jacobian: J, (6, n), of the site.
    """
    return -np.concatenate([jacobian[:3], rotation.log_jacobian(error[3:]) @ jacobian[3:]])


def finite_difference_error_jacobian(
    arm: Arm,
    data: mujoco.MjData,
    target_position: Array,
    target_quaternion: Array,
    step: float = 1e-5,
    dofs: np.ndarray | slice | None = None,
) -> np.ndarray:
    """`error_jacobian` by central differences of `pose_error` itself; arguments as `finite_difference_jacobian`."""

    def error(moved: mujoco.MjData) -> np.ndarray:
        return pose_error(target_position, target_quaternion, *site_pose(arm, moved))

    return _central_differences(arm, data, step, dofs, error, np.subtract)


def _central_differences(
    arm: Arm,
    data: mujoco.MjData,
    step: float,
    dofs: np.ndarray | slice | None,
    evaluate: Callable[[mujoco.MjData], object],
    difference: Callable[..., np.ndarray],
) -> np.ndarray:
    if not (step > 0 and np.isfinite(step)):
        raise ValueError(f"step must be positive and finite; got {step}")
    arm.require_own(data)
    model, moved = arm.model, mujoco.MjData(arm.model)
    moved.mocap_pos[:], moved.mocap_quat[:] = data.mocap_pos, data.mocap_quat
    columns = []
    for dof in np.arange(model.nv)[arm.dofs if dofs is None else dofs]:
        direction = np.zeros(model.nv)
        direction[dof] = 1.0
        values = []
        for signed in (step, -step):
            moved.qpos[:] = data.qpos
            mujoco.mj_integratePos(model, moved.qpos, direction, signed)
            mujoco.mj_kinematics(model, moved)
            values.append(evaluate(moved))
        columns.append(difference(*values) / (2 * step))
    return np.stack(columns, axis=-1)

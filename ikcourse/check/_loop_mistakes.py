"""The control step, and the ways to write it wrong: one step of many switches, each of which is a public fault."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from ikcourse.arm import Arm
from ikcourse.check._answer import Function
from ikcourse.inverse import damped
from ikcourse.jacobian import pose_error, site_jacobian, site_pose

Chosen = Callable[[Arm], Any]
Setpoint = Callable[[np.ndarray, np.ndarray, float, float], np.ndarray]


def of_velocity(q: np.ndarray, qdot: np.ndarray, integration_dt: float, timestep: float) -> np.ndarray:
    """The right setpoint, before it is clipped."""
    return q + qdot * integration_dt


def fresh(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """What makes pose and Jacobian current."""
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)


def step_with(
    refresh: Callable[[mujoco.MjModel, mujoco.MjData], None] = fresh,
    advance: Callable[[mujoco.MjModel, mujoco.MjData], None] = mujoco.mj_step,
    columns: Chosen = lambda arm: arm.dofs,
    addresses: Chosen = lambda arm: arm.qpos_addresses,
    actuators: Chosen = lambda arm: arm.actuators,
    setpoint: Setpoint = of_velocity,
    returned: Callable[[np.ndarray, float], np.ndarray] = lambda qdot, integration_dt: qdot,
    sign: float = 1.0,
    clip: bool = True,
) -> Function:
    """A control step; without arguments it is the right one.

    Args:
        refresh: runs before the pose is measured.
        advance: runs last.
        columns, addresses, actuators: taken for the arm's columns of J, entries of qpos and of ctrl.
        setpoint: from q, qdot, integration_dt and the time step.
        returned: what the step says that it commanded, from qdot and integration_dt.
        sign: of the pose error.
        clip: whether the setpoint is clipped to the joint limits.
    """

    def step(
        arm: Arm,
        data: mujoco.MjData,
        target_position: np.ndarray,
        target_quaternion: np.ndarray,
        damping: float,
        integration_dt: float,
    ) -> np.ndarray:
        refresh(arm.model, data)
        error = sign * pose_error(target_position, target_quaternion, *site_pose(arm, data))
        qdot = damped(site_jacobian(arm, data, columns(arm)), error, damping)
        asked = setpoint(data.qpos[addresses(arm)], qdot, integration_dt, arm.model.opt.timestep)
        data.ctrl[actuators(arm)] = np.clip(asked, arm.lower, arm.upper) if clip else asked
        advance(arm.model, data)
        return returned(qdot, integration_dt)

    return step


def nothing(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """No refresh, or no advance."""


def _wrong_indices() -> list[Function]:
    """Joint ids, or the first n, in any of the three places where the arm's own indices belong."""
    joints, first = (lambda arm: arm.joints), (lambda arm: slice(arm.n))
    columns = (lambda arm: arm.dofs, joints, first, lambda arm: arm.qpos_addresses)
    addresses = (lambda arm: arm.qpos_addresses, joints, first, lambda arm: arm.dofs)
    actuators = (lambda arm: arm.actuators, joints, first)
    choices = list(itertools.product(columns, addresses, actuators))[1:]
    return [step_with(columns=c, addresses=a, actuators=u, clip=clip) for c, a, u in choices for clip in (True, False)]


def _displacements() -> list[Function]:
    """A displacement that is named velocity, or a velocity that is taken for one."""
    scaled: Sequence[Setpoint] = (
        lambda q, qdot, dt, timestep: q + qdot,
        lambda q, qdot, dt, timestep: q + qdot * timestep,
        lambda q, qdot, dt, timestep: q + qdot * dt * timestep,
        lambda q, qdot, dt, timestep: q + qdot / dt,
        lambda q, qdot, dt, timestep: q + qdot * dt**2,
    )
    returns = (lambda qdot, dt: qdot, lambda qdot, dt: qdot * dt, lambda qdot, dt: qdot / dt)
    wrong = [(of_velocity, returned) for returned in returns[1:]] + list(itertools.product(scaled, returns))
    return [step_with(setpoint=s, returned=r, clip=clip) for s, r in wrong for clip in (True, False)]


MISTAKES: Sequence[tuple[str, str, Sequence[Function]]] = (
    (
        "the error's sign",
        "The error points from the target to the tool, so the arm runs away from its target: target minus present.",
        [step_with(sign=-1.0, clip=clip) for clip in (True, False)],
    ),
    (
        "a stale pose",
        "Pose or Jacobian are one step older than q: mj_step and mj_step2 move the joints and leave the bodies where "
        "they were. Measure after mj_step1 (or mj_kinematics and mj_comPos), write data.ctrl, and call mj_step2 last.",
        [
            step_with(refresh=refresh, advance=advance, clip=clip)
            for refresh, advance in (
                (nothing, mujoco.mj_step),
                (mujoco.mj_kinematics, mujoco.mj_step),
                (mujoco.mj_comPos, mujoco.mj_step),
                (nothing, mujoco.mj_step2),
                (mujoco.mj_step, nothing),
            )
            for clip in (True, False)
        ],
    ),
    (
        "a displacement where a velocity is meant",
        "qdot is in rad/s, and integration_dt makes it an angle: once, in q + qdot * integration_dt. Left out, applied "
        "twice, or replaced by the time step, it changes the servo's gain; at integration_dt = 1 nobody would see it.",
        _displacements(),
    ),
    (
        "a velocity sent as a setpoint",
        "A position actuator takes an angle. You send qdot (or its displacement) without the q that it starts from.",
        [
            step_with(setpoint=setpoint, clip=clip)
            for setpoint in (lambda q, qdot, dt, timestep: qdot, lambda q, qdot, dt, timestep: qdot * dt)
            for clip in (True, False)
        ],
    ),
    (
        "joint ids for dofs",
        "Joint ids, dofs, entries of qpos and actuators are four numberings, equal only where every joint is a hinge "
        "and none comes before the arm. Take arm.dofs for columns of J, arm.qpos_addresses for qpos and arm.actuators "
        "for ctrl.",
        _wrong_indices(),
    ),
)

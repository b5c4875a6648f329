"""What every control loop shares: it measures, asks a law, and follows a path step by step under physics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import mujoco
import numpy as np

from ikcourse import rotation
from ikcourse.arm import Arm
from ikcourse.laws import Law, State
from ikcourse.paths import Path
from ikcourse.speed_limits import clipped, shortened

SpeedBound = Literal["scale", "clip"]
SPEED_BOUNDS = {"scale": shortened, "clip": clipped}

DIVERGED = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)
"""MuJoCo resets a simulation that diverges, warns and goes on: unless asked, the run looks as if it had been sound."""


class Loop(ABC):
    """A law bound to an arm and its simulation. A subclass says in `step` what the actuators are asked for.

    Attributes:
        arm, law, data: what is bound.
        state: what the last step measured.
        limits: least and greatest setpoint of each joint's actuator, (2, n).
        integration_dt: as `Controller` [s]; None where no setpoint is made with one.
    """

    limits: np.ndarray
    integration_dt: float | None = None

    def __init__(
        self,
        arm: Arm,
        law: Law,
        data: mujoco.MjData | None,
        max_joint_speed: float | np.ndarray | None,
        speed_bound: SpeedBound,
    ) -> None:
        """Bind a law to an arm and a simulation; arguments and errors as `Controller`."""
        if arm.model.opt.integrator == int(mujoco.mjtIntegrator.mjINT_RK4):
            raise ValueError("mj_step1 and mj_step2 cannot integrate with RK4; use implicitfast, implicit or Euler")
        if data is not None:
            arm.require_own(data)
        if speed_bound not in SPEED_BOUNDS:
            raise ValueError(f"speed_bound must be one of {list(SPEED_BOUNDS)}; got {speed_bound!r}")
        bound = None if max_joint_speed is None else np.array(max_joint_speed, float)
        if bound is None:
            if speed_bound != "scale":
                raise ValueError(f"speed_bound={speed_bound!r} bounds nothing without max_joint_speed")
        elif bound.shape not in ((), (arm.n,)) or not (np.isfinite(bound).all() and (bound > 0).all()):
            raise ValueError(f"max_joint_speed must be positive, a scalar or ({arm.n},) [rad/s]; got {max_joint_speed}")
        self.arm, self.law, self.data = arm, law, arm.data() if data is None else data
        self.max_joint_speed, self._bound = bound, SPEED_BOUNDS[speed_bound]
        self._law = law.bind(arm)
        self._qpos, self._dofs = fast_index(arm.qpos_addresses), fast_index(arm.dofs)
        self._ctrl = fast_index(arm.actuators)
        self._all_columns = np.empty((6, arm.model.nv))
        self._site_quat = arm.model.site_quat[arm.site]
        # Views of the simulation's own memory: they are current whenever its kinematics are.
        self._site_position = self.data.site_xpos[arm.site]
        self._body_quaternion = self.data.xquat[arm.model.site_bodyid[arm.site]]
        self._inverse, self._turn = np.empty(4), np.empty(4)
        self.state = State(
            q=np.empty(arm.n),
            qd=np.empty(arm.n),
            position=np.empty(3),
            quaternion=np.empty(4),
            jacobian=np.empty((6, arm.n)),
            error=np.empty(6),
            target_position=np.empty(3),
            target_quaternion=np.empty(4),
            target_twist=np.zeros(6),
            data=self.data,
            target_acceleration=np.zeros(6),
        )
        self._angular_error = self.state.error[3:]
        self._linear_error = self.state.error[:3]
        self._jacobian_rows = self._all_columns[:3], self._all_columns[3:]

    @abstractmethod
    def step(
        self,
        target_position: np.ndarray,
        target_quaternion: np.ndarray,
        target_twist: np.ndarray | None = None,
        target_acceleration: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Advance the simulation by one time step towards the target.

        Args:
            target_position: (3,) [m].
            target_quaternion: (4,), unit: it is not checked here, once a step.
            target_twist: (6,), where something reads it; by default the target is at rest.
            target_acceleration: (6,), likewise.

        Returns:
            The commanded qdot and the setpoint before it was cut to the limits, (n,) each.
        """

    def _ask(self, state: State) -> np.ndarray:
        """The law's answer, inside the speed bound, (n,)."""
        qdot = self._law(state)
        if np.shape(qdot) != state.q.shape:
            raise ValueError(f"the law must answer with shape {state.q.shape}; got {np.shape(qdot)}")
        return qdot if self.max_joint_speed is None else self._bound(qdot, self.max_joint_speed)

    def _measure(
        self,
        target_position: np.ndarray,
        target_quaternion: np.ndarray,
        target_twist: np.ndarray | None = None,
        target_acceleration: np.ndarray | None = None,
    ) -> None:
        """Refresh the state from the simulation, whose kinematics are current."""
        state, data = self.state, self.data
        state.q[:] = data.qpos[self._qpos]
        state.qd[:] = data.qvel[self._dofs]
        state.position[:] = self._site_position
        mujoco.mju_mulQuat(state.quaternion, self._body_quaternion, self._site_quat)
        mujoco.mj_jacSite(self.arm.model, data, *self._jacobian_rows, self.arm.site)
        state.jacobian[:] = self._all_columns[:, self._dofs]
        state.target_position[:] = target_position
        state.target_quaternion[:] = target_quaternion
        state.target_twist[:] = 0.0 if target_twist is None else target_twist
        state.target_acceleration[:] = 0.0 if target_acceleration is None else target_acceleration
        np.subtract(target_position, state.position, out=self._linear_error)
        self._rotation_error(target_quaternion)

    def _rotation_error(self, target_quaternion: np.ndarray) -> None:
        """`rotation.rotation_error` with MuJoCo's quaternions, in place."""
        mujoco.mju_negQuat(self._inverse, self.state.quaternion)
        mujoco.mju_mulQuat(self._turn, target_quaternion, self._inverse)
        w = self._turn[0]
        if w == 0:
            self._angular_error[:] = rotation.quat_log(self._turn)
            return
        if w < 0:
            np.negative(self._turn, out=self._turn)
        mujoco.mju_quat2Vel(self._angular_error, self._turn, 1.0)


@dataclass(frozen=True, eq=False)
class Run:
    """What happened, one row a control step.

    Attributes:
        arm, path, law: what was run.
        q: joint positions, (T + 1, n) [rad]: step k reads q[k] and leaves q[k + 1].
        qdot: commanded joint velocities, (T, n) [rad/s].
        errors: pose errors that the steps used, (T, 6) [m] and [rad].
        setpoints: asked of the actuators before they are cut to their limits, (T, n): joint positions [rad] of position
            actuators, torques [N m] of motors.
        limits: least and greatest setpoint of each joint, (2, n).
        torques: what the actuators exerted, (T, n) [N m].
        integration_dt: as `Controller` [s]; None where motors were driven.
    """

    arm: Arm = field(repr=False)
    path: Path = field(repr=False)
    law: Law
    q: np.ndarray = field(repr=False)
    qdot: np.ndarray = field(repr=False)
    errors: np.ndarray = field(repr=False)
    setpoints: np.ndarray = field(repr=False)
    limits: np.ndarray = field(repr=False)
    torques: np.ndarray = field(repr=False)
    integration_dt: float | None

    @property
    def times(self) -> np.ndarray:
        """Start of each control step, (T,) [s]."""
        return self.path.times

    @property
    def clipped(self) -> np.ndarray:
        """Whether the limits cut a step's setpoint, (T,)."""
        return np.any((self.setpoints < self.limits[0]) | (self.setpoints > self.limits[1]), axis=1)

    @property
    def position_error(self) -> np.ndarray:
        """Norm of the linear error of each step, (T,) [m]."""
        return np.linalg.norm(self.errors[:, :3], axis=1)

    @property
    def joint_speed(self) -> np.ndarray:
        """Speed of the fastest joint commanded in each step, (T,) [rad/s]."""
        return np.abs(self.qdot).max(axis=1)

    @property
    def distance_from_home(self) -> np.ndarray:
        """||q - q_home|| after each step, (T,) [rad]."""
        return np.linalg.norm(self.q[1:] - self.arm.home, axis=1)


def follow(loop: Loop, path: Path) -> Run:
    """Follow a path with any loop from where its simulation stands, one control step a time step.

    Raises:
        ValueError: the path's time step is not the model's.
        FloatingPointError: the law's answer was not finite, or the simulation diverged.
    """
    arm, data = loop.arm, loop.data
    require_time_step(path, arm)
    steps, qpos, actuators = len(path.times), fast_index(arm.qpos_addresses), fast_index(arm.actuators)
    positions, errors = np.empty((steps + 1, arm.n)), np.empty((steps, 6))
    qdots, setpoints, torques = (np.empty((steps, arm.n)) for _ in range(3))
    positions[0] = data.qpos[qpos]
    for k in range(steps):
        qdots[k], setpoints[k] = loop.step(
            path.positions[k], path.quaternions[k], path.twists[k], path.accelerations[k]
        )
        errors[k] = loop.state.error
        positions[k + 1] = data.qpos[qpos]
        torques[k] = data.actuator_force[actuators]
    require_finite_run(qdots, [data.warning[kind].number for kind in DIVERGED], arm)
    return Run(
        arm, path, loop.law, positions, qdots, errors, setpoints, loop.limits.copy(), torques, loop.integration_dt
    )


def require_time_step(path: Path, arm: Arm) -> None:
    """Raise ValueError unless the path has a target for each time step of the arm's model."""
    timestep = arm.model.opt.timestep
    if len(path.times) > 1 and abs(path.times[1] - path.times[0] - timestep) > 1e-9:
        raise ValueError(f"the path's time step is {path.times[1] - path.times[0]:g} s, the model's {timestep:g} s")


def require_finite_run(qdots: np.ndarray, diverged: Sequence[int], arm: Arm, run: str = "") -> None:
    """Raise FloatingPointError where an answer, (T, n), is not finite or a warning of `DIVERGED` was counted."""
    bad = ~np.isfinite(qdots).all(axis=1)
    if bad.any():
        raise FloatingPointError(f"{run}the law's answer is not finite at step {int(np.argmax(bad))}")
    for warning, number in zip(DIVERGED, diverged, strict=True):
        if number:
            raise FloatingPointError(
                f"{run}the simulation diverged ({warning.name}); "
                f"try a shorter time step than {arm.model.opt.timestep:g} s"
            )


def fast_index(indices: np.ndarray) -> np.ndarray | slice:
    """The same entries as a slice where they are consecutive: a view instead of a copy, every step."""
    first = int(indices[0])
    return slice(first, first + len(indices)) if (np.diff(indices) == 1).all() else indices

"""The control loop: a law and position actuators make the arm follow a path, under physics."""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np

from ikcourse import rotation
from ikcourse.arm import Arm
from ikcourse.laws import Law, State, shortened
from ikcourse.paths import Path


class Controller:
    """One control step, the order of which matters: refresh, measure and decide, set, integrate.

    The setpoint is built on the measured q: a leaky servo, whose droop, creep and lag are lessons of the course.
    """

    def __init__(
        self,
        arm: Arm,
        law: Law,
        data: mujoco.MjData | None = None,
        integration_dt: float = 1.0,
        max_joint_speed: float | np.ndarray | None = None,
    ) -> None:
        """Bind a law to an arm and a simulation.

        Args:
            arm: the arm, a position actuator on each of its joints.
            law: what turns pose error into joint velocity.
            data: the simulation of the arm's model to drive; by default a new one at home.
            integration_dt: turns qdot into a setpoint, q + qdot * integration_dt [s], > 0: a gain, not the time step.
            max_joint_speed: scales qdot until no joint is faster, scalar or (n,) [rad/s], > 0; by default no bound.

        Raises:
            ValueError: a value is out of its range, a joint has no position actuator, the data belongs to another
                model, or the model's integrator cannot be split around a control step (RK4).
        """
        _require_position_actuators(arm)
        if arm.model.opt.integrator == int(mujoco.mjtIntegrator.mjINT_RK4):
            raise ValueError("mj_step1 and mj_step2 cannot integrate with RK4; use implicitfast, implicit or Euler")
        if data is not None:
            arm.require_own(data)
        if not (np.isfinite(integration_dt) and integration_dt > 0):
            raise ValueError(f"integration_dt must be positive and finite [s]; got {integration_dt}")
        bound = None if max_joint_speed is None else np.array(max_joint_speed, float)
        if bound is not None and not (bound.shape in ((), (arm.n,)) and np.isfinite(bound).all() and (bound > 0).all()):
            raise ValueError(f"max_joint_speed must be positive, a scalar or ({arm.n},) [rad/s]; got {max_joint_speed}")
        self.arm, self.data = arm, arm.data() if data is None else data
        self.integration_dt, self.max_joint_speed = float(integration_dt), bound
        self._law = law.bind(arm)
        self._lower, self._upper = arm.setpoint_limits
        self._qpos, self._dofs = _fast_index(arm.qpos_addresses), _fast_index(arm.dofs)
        self._ctrl = _fast_index(arm.actuators)
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
        )
        self._angular_error = self.state.error[3:]
        self._linear_error = self.state.error[:3]
        self._jacobian_rows = self._all_columns[:3], self._all_columns[3:]

    def step(
        self,
        target_position: np.ndarray,
        target_quaternion: np.ndarray,
        target_twist: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Advance the simulation by one time step towards the target.

        Args:
            target_position: (3,) [m].
            target_quaternion: (4,), unit: it is not checked here, once a step.
            target_twist: (6,), for laws that read it; by default the target is at rest.

        Returns:
            The commanded qdot and the setpoint before it was clipped to the joint limits, (n,) each.
        """
        arm, data = self.arm, self.data
        # 1. Kinematics at the new state: after mj_step alone the site's pose is one step old.
        mujoco.mj_step1(arm.model, data)

        # 2. Measure, and ask the law.
        self._measure(target_position, target_quaternion, target_twist)
        qdot = self._law(self.state)
        if np.shape(qdot) != self.state.q.shape:
            raise ValueError(f"the law must answer with shape {self.state.q.shape}; got {np.shape(qdot)}")
        if self.max_joint_speed is not None:
            qdot = shortened(qdot, self.max_joint_speed)

        # 3. Setpoint of the position actuators, inside the joint limits.
        setpoint = self.state.q + qdot * self.integration_dt
        data.ctrl[self._ctrl] = np.minimum(np.maximum(setpoint, self._lower), self._upper)

        # 4. Integrate.
        mujoco.mj_step2(arm.model, data)
        return qdot, setpoint

    def _measure(
        self, target_position: np.ndarray, target_quaternion: np.ndarray, target_twist: np.ndarray | None
    ) -> None:
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
        arm, path, law, integration_dt: what was run.
        q: joint positions, (T + 1, n) [rad]: step k reads q[k] and leaves q[k + 1].
        qdot: commanded joint velocities, (T, n) [rad/s].
        errors: pose errors that the steps used, (T, 6) [m] and [rad].
        setpoints: asked of the actuators before clipping to the joint limits, (T, n).
    """

    arm: Arm = field(repr=False)
    path: Path = field(repr=False)
    law: Law
    integration_dt: float
    q: np.ndarray = field(repr=False)
    qdot: np.ndarray = field(repr=False)
    errors: np.ndarray = field(repr=False)
    setpoints: np.ndarray = field(repr=False)

    @property
    def times(self) -> np.ndarray:
        """Start of each control step, (T,) [s]."""
        return self.path.times

    @property
    def clipped(self) -> np.ndarray:
        """Whether the joint limits cut a step's setpoint, (T,)."""
        lower, upper = self.arm.setpoint_limits
        return np.any((self.setpoints < lower) | (self.setpoints > upper), axis=1)

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


def track(
    arm: Arm,
    path: Path,
    law: Law,
    integration_dt: float = 1.0,
    max_joint_speed: float | np.ndarray | None = None,
    q: np.ndarray | None = None,
) -> Run:
    """Follow a path from home (or from q) with position actuators, one control step a time step.

    Args:
        arm, law, integration_dt, max_joint_speed: as `Controller`.
        path: its time step must be the model's.
        q: where the joints start, (n,), by default home.

    Returns:
        The run, from its first step to its last.

    Raises:
        ValueError: as `Controller`, or the path's time step is not the model's.
        FloatingPointError: the law's answer was not finite, or the simulation diverged.
    """
    timestep = arm.model.opt.timestep
    if len(path.times) > 1 and abs(path.times[1] - path.times[0] - timestep) > 1e-9:
        raise ValueError(f"the path's time step is {path.times[1] - path.times[0]:g} s, the model's {timestep:g} s")
    controller = Controller(arm, law, arm.data(q), integration_dt, max_joint_speed)
    steps, qpos = len(path.times), _fast_index(arm.qpos_addresses)
    positions = np.empty((steps + 1, arm.n))
    qdots, setpoints, errors = np.empty((steps, arm.n)), np.empty((steps, arm.n)), np.empty((steps, 6))
    positions[0] = controller.data.qpos[qpos]
    for k in range(steps):
        qdots[k], setpoints[k] = controller.step(path.positions[k], path.quaternions[k], path.twists[k])
        errors[k] = controller.state.error
        positions[k + 1] = controller.data.qpos[qpos]
    _require_finite_run(controller.data, qdots, timestep)
    return Run(arm, path, law, float(integration_dt), positions, qdots, errors, setpoints)


def _require_finite_run(data: mujoco.MjData, qdots: np.ndarray, timestep: float) -> None:
    bad = ~np.isfinite(qdots).all(axis=1)
    if bad.any():
        raise FloatingPointError(f"the law's answer is not finite at step {int(np.argmax(bad))}")
    # MuJoCo resets a simulation that diverges and goes on: without this the run would look as if it had been sound.
    for warning in (
        mujoco.mjtWarning.mjWARN_BADQPOS,
        mujoco.mjtWarning.mjWARN_BADQVEL,
        mujoco.mjtWarning.mjWARN_BADQACC,
    ):
        if data.warning[warning].number:
            raise FloatingPointError(
                f"the simulation diverged ({warning.name}); try a shorter time step than {timestep:g} s"
            )


def _require_position_actuators(arm: Arm) -> None:
    model = arm.model
    for name, actuator in zip(arm.joint_names, arm.actuators, strict=True):
        if actuator < 0:
            raise ValueError(f"joint {name!r} has no actuator; the loop needs a position actuator on every joint")
        gain, bias = model.actuator_gainprm[actuator], model.actuator_biasprm[actuator]
        is_servo = (
            model.actuator_gaintype[actuator] == int(mujoco.mjtGain.mjGAIN_FIXED)
            and model.actuator_biastype[actuator] == int(mujoco.mjtBias.mjBIAS_AFFINE)
            and gain[0] > 0
            and bias[0] == 0
            and bias[1] == -gain[0]
        )
        # An integrated-velocity actuator has a servo's gains, and a gear turns its setpoint into another angle.
        integrates = model.actuator_dyntype[actuator] == int(mujoco.mjtDyn.mjDYN_INTEGRATOR)
        if not is_servo or integrates or model.actuator_gear[actuator, 0] != 1:
            raise ValueError(
                f"the actuator of joint {name!r} is not a position actuator (gain kp > 0, bias -kp q, gear 1, "
                "the control its setpoint)"
            )
        if model.opt.disableactuator >> int(model.actuator_group[actuator]) & 1:
            raise ValueError(f"the actuator of joint {name!r} is in a group that the model disables")


def _fast_index(indices: np.ndarray) -> np.ndarray | slice:
    """The same entries as a slice where they are consecutive: a view instead of a copy, every step."""
    first = int(indices[0])
    return slice(first, first + len(indices)) if (np.diff(indices) == 1).all() else indices

"""Position actuators make the arm follow a path: the loop that most of the course runs, and what its servo costs."""

from __future__ import annotations

from typing import Literal

import mujoco
import numpy as np

from ikcourse.arm import Arm
from ikcourse.jacobian import site_jacobian
from ikcourse.laws import Law, _require_at_least_zero
from ikcourse.loop import Loop, Run, SpeedBound, follow
from ikcourse.paths import Path

SetpointFrom = Literal["measured", "commanded"]


class Controller(Loop):
    """One control step, the order of which matters: refresh, measure and decide, set, integrate.

    The setpoint is built on the measured q: a leaky servo, whose droop, creep and lag are lessons of the course.
    """

    integration_dt: float

    def __init__(
        self,
        arm: Arm,
        law: Law,
        data: mujoco.MjData | None = None,
        integration_dt: float = 1.0,
        max_joint_speed: float | np.ndarray | None = None,
        speed_bound: SpeedBound = "scale",
        setpoint_from: SetpointFrom = "measured",
    ) -> None:
        """Bind a law to an arm and a simulation.

        Args:
            arm: the arm, a position actuator on each of its joints.
            law: what turns pose error into joint velocity.
            data: the simulation of the arm's model to drive; by default a new one at home.
            integration_dt: turns qdot into a setpoint, q + qdot * integration_dt [s], > 0: a gain, not the time step.
            max_joint_speed: no joint is commanded faster, scalar or (n,) [rad/s], > 0; by default no bound. It bounds
                the command: the servo turns q + qdot * integration_dt into a joint speed of its own.
            speed_bound: "scale" shortens qdot as a whole and keeps its direction, "clip" cuts each joint alone.
            setpoint_from: the q that the setpoint starts from: "measured", or "commanded", which is the setpoint of
                the step before. A commanded q integrates the error: it does not leak, and integration_dt must be small
                (about 0.005 for the Panda's servos) or the arm rings.

        Raises:
            ValueError: a value is out of its range, a joint has no position actuator, the data belongs to another
                model, or the model's integrator cannot be split around a control step (RK4).
        """
        _require_position_actuators(arm)
        _require_positive_time("integration_dt", integration_dt)
        if setpoint_from not in ("measured", "commanded"):
            raise ValueError(f"setpoint_from must be 'measured' or 'commanded'; got {setpoint_from!r}")
        super().__init__(arm, law, data, max_joint_speed, speed_bound)
        self.integration_dt, self.setpoint_from = float(integration_dt), setpoint_from
        self.limits = np.stack(arm.setpoint_limits)
        if setpoint_from == "commanded":
            self.data.ctrl[self._ctrl] = self.data.qpos[self._qpos]

    def step(
        self,
        target_position: np.ndarray,
        target_quaternion: np.ndarray,
        target_twist: np.ndarray | None = None,
        target_acceleration: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Advance the simulation by one time step towards the target; arguments and answer as `Loop.step`."""
        arm, data = self.arm, self.data
        # 1. Kinematics at the new state: after mj_step alone the site's pose is one step old.
        mujoco.mj_step1(arm.model, data)

        # 2. Measure, and ask the law.
        self._measure(target_position, target_quaternion, target_twist, target_acceleration)
        qdot = self._ask(self.state)

        # 3. Setpoint of the position actuators, inside the joint limits.
        start = self.state.q if self.setpoint_from == "measured" else data.ctrl[self._ctrl]
        setpoint = start + qdot * self.integration_dt
        data.ctrl[self._ctrl] = np.minimum(np.maximum(setpoint, self.limits[0]), self.limits[1])

        # 4. Integrate.
        mujoco.mj_step2(arm.model, data)
        return qdot, setpoint


def track(
    arm: Arm,
    path: Path,
    law: Law,
    integration_dt: float = 1.0,
    max_joint_speed: float | np.ndarray | None = None,
    q: np.ndarray | None = None,
    speed_bound: SpeedBound = "scale",
    setpoint_from: SetpointFrom = "measured",
) -> Run:
    """Follow a path from home (or from q) with position actuators, one control step a time step.

    Args:
        arm, law, integration_dt, max_joint_speed, speed_bound, setpoint_from: as `Controller`.
        path: its time step must be the model's.
        q: where the joints start, (n,), by default home.

    Returns:
        The run, from its first step to its last.

    Raises:
        ValueError: as `Controller`, or the path's time step is not the model's.
        FloatingPointError: the law's answer was not finite, or the simulation diverged.
    """
    data = arm.data(q)
    return follow(Controller(arm, law, data, integration_dt, max_joint_speed, speed_bound, setpoint_from), path)


def droop(arm: Arm, data: mujoco.MjData, damping: float, integration_dt: float = 1.0) -> np.ndarray:
    """The pose error at which the position actuators of `Controller` carry the arm's weight at rest, e (6,).

    e = (I + lambda^2 (J J^T)^-1) J K^-1 g / integration_dt: servos of stiffness K hold the torque g only while the
    setpoint is K^-1 g away from q, and only an error makes the law ask for that. What of K^-1 g lies in the null space
    of J no error can ask for: the arm creeps along it, and e is the droop of a posture, not of a point of rest.

    Args:
        arm: the arm, a position actuator on each of its joints.
        data: the posture at which J and g are taken, at rest, its velocity-dependent terms current (`arm.data(q)`).
        damping: lambda of `DampedLeastSquares`, >= 0.
        integration_dt: of the loop [s], > 0.

    Returns:
        Target minus position [m], and the rotation vector [rad].

    Raises:
        ValueError: a value is out of its range, the data belongs to another model, or a joint has no position actuator.
        numpy.linalg.LinAlgError: J has not full row rank.
    """
    _require_position_actuators(arm)
    _require_at_least_zero("damping", damping)
    _require_positive_time("integration_dt", integration_dt)
    jacobian = site_jacobian(arm, data)
    stiffness = arm.model.actuator_gainprm[arm.actuators, 0]
    weight = (data.qfrc_bias - data.qfrc_passive)[arm.dofs]
    twist = jacobian @ (weight / stiffness) / integration_dt
    return twist + damping**2 * np.linalg.solve(jacobian @ jacobian.T, twist)


def _require_positive_time(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive and finite [s]; got {value}")


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

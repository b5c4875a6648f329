"""Motors make the arm follow a path: computed torque, and operational-space control as a law of the same loop.

    arm = ik.panda(actuators="torque")
    run = ik.follow(ik.ComputedTorque(arm, ik.DampedLeastSquares(damping=1e-2)), ik.circle(arm))

Any law of the course serves as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from ikcourse.arm import Arm
from ikcourse.inverse import damped
from ikcourse.laws import Law, State, Step, _require_at_least_zero
from ikcourse.loop import Loop, SpeedBound

Feedforward = Literal["none", "velocity", "acceleration"]
FEEDFORWARDS = ("none", "velocity", "acceleration")


class ComputedTorque(Loop):
    """Any law's joint velocity, made true by motors that know the arm's mass: tau = M velocity_gain (qdot - qd) + h.

    The law is asked for the twist v_t + position_gain e, and h = bias - passive is what the arm needs to coast. Where
    the law is exact this is resolved-acceleration control of the tool, with poles at -position_gain and -velocity_gain,
    and what the law leaves free is braked by the same velocity_gain.
    """

    def __init__(
        self,
        arm: Arm,
        law: Law,
        data: mujoco.MjData | None = None,
        position_gain: float = 20.0,
        velocity_gain: float = 100.0,
        feedforward: Feedforward = "acceleration",
        max_joint_speed: float | np.ndarray | None = None,
        speed_bound: SpeedBound = "scale",
    ) -> None:
        """Bind a law to an arm with motors and a simulation.

        Args:
            arm: the arm, a motor on each of its joints, such as `panda(actuators="torque")`.
            law: what turns a twist into joint velocity.
            data: the simulation to drive; by default a new one at home.
            position_gain: twist asked for per pose error [1/s], > 0.
            velocity_gain: acceleration per error of the joint velocity [1/s], > 0. Times the time step it must stay
                below 2, and near there the motors chatter.
            feedforward: what is read of the path's motion. "none": the tool trails by velocity / position_gain.
                "velocity": its twist. "acceleration": also where that twist is going, 1 / velocity_gain ahead.
            max_joint_speed, speed_bound: as `Controller`; they bound what the law answers.

        Raises:
            ValueError: a value is out of its range, or a joint has no motor.
        """
        _require_motors(arm)
        for name, gain in {"position_gain": position_gain, "velocity_gain": velocity_gain}.items():
            if not (np.isfinite(gain) and gain > 0):
                raise ValueError(f"{name} must be positive and finite [1/s]; got {gain}")
        if feedforward not in FEEDFORWARDS:
            raise ValueError(f"feedforward must be one of {list(FEEDFORWARDS)}; got {feedforward!r}")
        super().__init__(arm, law, data, max_joint_speed, speed_bound)
        self.position_gain, self.velocity_gain = float(position_gain), float(velocity_gain)
        self.feedforward = feedforward
        self.limits = torque_limits(arm)

    def step(
        self,
        target_position: np.ndarray,
        target_quaternion: np.ndarray,
        target_twist: np.ndarray | None = None,
        target_acceleration: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Advance the simulation by one time step towards the target; arguments and answer as `Loop.step`."""
        arm, data, state = self.arm, self.data, self.state
        # 1. Kinematics, bias and passive forces at the new state.
        mujoco.mj_step1(arm.model, data)

        # 2. Measure, and ask the law: it finds the twist to aim at where it would find the pose error.
        self._measure(target_position, target_quaternion, target_twist, target_acceleration)
        qdot = self._ask(state.with_error(self._aim()))

        # 3. The torques that would give that acceleration, inside what the motors can.
        torque = inverse_dynamics(arm, data, self.velocity_gain * (qdot - state.qd))
        data.ctrl[self._ctrl] = np.clip(torque, *self.limits)

        # 4. Integrate.
        mujoco.mj_step2(arm.model, data)
        return qdot, torque

    def _aim(self) -> np.ndarray:
        """The twist to ask the law for, (6,)."""
        state = self.state
        aim = self.position_gain * state.error
        if self.feedforward == "none":
            return aim
        aim += state.target_twist
        if self.feedforward == "velocity":
            return aim
        # d/dt of the aim, less the part of the tool's acceleration that turning joints give it by themselves.
        moving = state.jacobian @ state.qd
        rate = state.target_acceleration + self.position_gain * (state.target_twist - moving)
        return aim + (rate - jacobian_rate(self.arm, self.data) @ state.qd) / self.velocity_gain


@dataclass(frozen=True)
class OperationalSpace:
    """Khatib's operational-space control, as the law of `ComputedTorque`: damped least squares in the metric of M.

    qdot = z + Jbar (e - J z), with the dynamically consistent inverse Jbar = M^-1 J^T (J M^-1 J^T + lambda^2 I)^-1 and
    z = nullspace_gain * (q_home - q). In `ComputedTorque` that is tau = J^T F + (I - J^T Jbar^T) tau_0 + h: a force
    F = Lambda (a - Jdot qd) at the tool, with Lambda = (J M^-1 J^T)^-1 the mass that the tool feels, and a torque tau_0
    that the tool does not feel.

    Attributes:
        damping: lambda, >= 0, against the singular values of J M^(-1/2), [kg^(-1/2)] in the linear rows: a number of
            other units than in `DampedLeastSquares`.
        nullspace_gain: pull towards home through the null space [1/s], >= 0.

    Source: Khatib 1987.
    """

    damping: float = 1e-2
    nullspace_gain: float = 0.0

    def __post_init__(self) -> None:
        _require_at_least_zero("damping", self.damping)
        _require_at_least_zero("nullspace_gain", self.nullspace_gain)

    def bind(self, arm: Arm) -> Step:
        def step(state: State) -> np.ndarray:
            # With M = L L^T and y = L^T qdot, kinetic energy is |y|^2 / 2, and J qdot = (J L^-T) y.
            L = np.linalg.cholesky(inertia(arm, state.data))
            weighted = np.linalg.solve(L, state.jacobian.T).T
            posture = self.nullspace_gain * (arm.home - state.q)
            y = damped(weighted, state.error - state.jacobian @ posture, self.damping)
            return posture + np.linalg.solve(L.T, y)

        return step


def inverse_dynamics(arm: Arm, data: mujoco.MjData, acceleration: np.ndarray) -> np.ndarray:
    """The torques that give the arm's joints an acceleration, tau = M qddot + bias - passive, (n,) [N m].

    Bias is gravity, Coriolis and centrifugal; passive is the joints' damping, and gravity where the model compensates
    it. M holds the motors' own inertia (armature), which MuJoCo's `mj_rne` leaves out. Contacts, joint limits and the
    acceleration of the model's other joints are taken as zero: with them, MuJoCo's answer is `mj_inverse`.

    Args:
        arm, data: the state, current up to its velocities (`mj_step1`, `mj_forward`).
        acceleration: qddot, (n,) [rad/s^2].

    Raises:
        ValueError: the data belongs to another model, or the acceleration is not (n,).

    Source: Luh, Walker and Paul 1980.
    """
    arm.require_own(data)
    if np.shape(acceleration) != (arm.n,):
        raise ValueError(f"acceleration must have shape ({arm.n},) [rad/s^2]; got {np.shape(acceleration)}")
    wanted, torque = np.zeros(arm.model.nv), np.empty(arm.model.nv)
    wanted[arm.dofs] = acceleration
    mujoco.mj_mulM(arm.model, data, torque, wanted)
    return (torque + data.qfrc_bias - data.qfrc_passive)[arm.dofs]


def inertia(arm: Arm, data: mujoco.MjData) -> np.ndarray:
    """M of the controlled joints, armature included, (n, n) [kg m^2]; `data` current up to its positions."""
    arm.require_own(data)
    full = np.empty((arm.model.nv, arm.model.nv))
    mujoco.mj_fullM(arm.model, data, full)
    return full[np.ix_(arm.dofs, arm.dofs)]


def jacobian_rate(arm: Arm, data: mujoco.MjData) -> np.ndarray:
    """Jdot, (6, n): how the site's Jacobian changes in a second; `data` current up to its velocities."""
    arm.require_own(data)
    rate = np.empty((6, arm.model.nv))
    body = arm.model.site_bodyid[arm.site]
    mujoco.mj_jacDot(arm.model, data, rate[:3], rate[3:], data.site_xpos[arm.site], body)
    return rate[:, arm.dofs]


def torque_limits(arm: Arm) -> np.ndarray:
    """Least and greatest torque of each joint's motor, (2, n) [N m], infinite where the model names no limit."""
    model, actuators = arm.model, arm.actuators
    if (actuators < 0).any():
        raise ValueError(f"every joint needs an actuator; {list(arm.joint_names)} have {actuators.tolist()} (-1: none)")
    limits = np.tile([[-np.inf], [np.inf]], arm.n)
    for limited, given in (
        (model.actuator_ctrllimited, model.actuator_ctrlrange),
        (model.actuator_forcelimited, model.actuator_forcerange),
    ):
        ranges = np.where(limited[actuators, None], given[actuators], [-np.inf, np.inf]).T
        limits = np.stack([np.maximum(limits[0], ranges[0]), np.minimum(limits[1], ranges[1])])
    return limits


def _require_motors(arm: Arm) -> None:
    model = arm.model
    for name, actuator in zip(arm.joint_names, arm.actuators, strict=True):
        if actuator < 0:
            raise ValueError(f"joint {name!r} has no actuator; the loop needs a motor on every joint")
        is_motor = (
            model.actuator_gaintype[actuator] == int(mujoco.mjtGain.mjGAIN_FIXED)
            and model.actuator_biastype[actuator] == int(mujoco.mjtBias.mjBIAS_NONE)
            and model.actuator_dyntype[actuator] == int(mujoco.mjtDyn.mjDYN_NONE)
            and model.actuator_gainprm[actuator, 0] == 1
            and model.actuator_gear[actuator, 0] == 1
        )
        if not is_motor:
            raise ValueError(
                f"the actuator of joint {name!r} is not a motor (gain 1, no bias, gear 1, the control its torque); "
                'panda(actuators="torque") has motors'
            )

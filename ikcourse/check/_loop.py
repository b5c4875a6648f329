"""The exercise on one step of the control loop."""

from __future__ import annotations

import mujoco
import numpy as np

from ikcourse.check import _scene
from ikcourse.check._answer import Answer, Broken, Function
from ikcourse.check._judge import Exercise, Mistake, Property, Result, judge
from ikcourse.check._loop_mistakes import MISTAKES
from ikcourse.check._loop_record import at_limit, free, free_too, recorded, row_length, steps_of
from ikcourse.inverse import damped
from ikcourse.jacobian import pose_error, site_jacobian, site_pose

TOLERANCE = 1e-6
BY_HAND = "To write to qpos is to leave physics: the setpoint goes to data.ctrl, and mj_step2 moves the joints."


def loop(function: Function) -> Result:
    """Check one step of the control loop.

    Args:
        function: f(arm, data, target_position, target_quaternion, damping, integration_dt) -> qdot (n,): takes damped
            least squares of the pose error at the data's present state, sends the setpoint q + qdot * integration_dt,
            clipped to the joint limits, to the arm's position actuators, and advances the simulation by one time step.
            The arm stands among other joints and actuators.

    Returns:
        What was found. It tells apart by name: a stale pose; a displacement where a velocity is meant; a velocity sent
        as a setpoint; joint ids for dofs, coordinates or actuators; an unclipped setpoint; joints moved by hand; a
        simulation that does not advance by one step; the error's sign.
    """
    return judge(recorded(function), EXERCISE)


def advances(answer: Answer) -> str:
    for step in steps_of(answer, free()):
        timesteps = (step.time - step.before.time) / _scene.arm().model.opt.timestep
        if timesteps == 0 and not np.array_equal(step.qpos, step.before.qpos):
            raise Broken("joints moved by hand", "No time passes, but qpos is another: " + BY_HAND)
        if abs(timesteps - 1) > 1e-6:
            return f"One call moves the simulation on by {timesteps:.3g} time steps; one is asked for."
    return ""


def command(answer: Answer) -> str:
    arm = _scene.arm()
    for case in (free(), free_too()):
        for number, step in enumerate(steps_of(answer, case)):
            error = pose_error(case.target_position, case.target_quaternion, *site_pose(arm, step.before))
            right = damped(site_jacobian(arm, step.before), error, case.damping)
            off = float(np.abs(step.qdot - right).max())
            if off > TOLERANCE:
                return (
                    f"In step {number}, with damping = {case.damping}, your qdot differs by up to {off:.2g} rad/s from "
                    "damped least squares of the pose error at the state that the step was given."
                )
    return ""


def setpoint(answer: Answer) -> str:
    arm = _scene.arm()
    for case in (free(), free_too()):
        for number, step in enumerate(steps_of(answer, case)):
            right = step.before.qpos[arm.qpos_addresses] + step.qdot * case.integration_dt
            off = float(np.abs(step.setpoint - right).max())
            if off > TOLERANCE:
                return (
                    f"In step {number}, with integration_dt = {case.integration_dt}, the setpoints are up to "
                    f"{off:.2g} rad away from q + qdot * integration_dt."
                )
    return ""


def inside_limits(answer: Answer) -> str:
    arm = _scene.arm()
    cases = (at_limit(1), at_limit(-1))
    for step, integration_dt in [(step, case.integration_dt) for case in cases for step in steps_of(answer, case)]:
        asked = step.before.qpos[arm.qpos_addresses] + step.qdot * integration_dt
        if np.abs(step.setpoint - np.clip(asked, arm.lower, arm.upper)).max() > TOLERANCE:
            outside = float(np.maximum(step.setpoint - arm.upper, arm.lower - step.setpoint).max())
            if outside > TOLERANCE:
                return f"A setpoint lies {outside:.2g} rad outside its joint's limits."
            return "Beside a joint limit the setpoint is not q + qdot * integration_dt, clipped joint by joint."
    return ""


def leaves_others_alone(answer: Answer) -> str:
    others = np.setdiff1d(np.arange(_scene.arm().model.nu), _scene.arm().actuators)
    for step in steps_of(answer, free()):
        changed = others[step.ctrl[others] != step.before.ctrl[others]]
        if len(changed):
            return f"The step writes to actuator {changed[0]}, which is not the arm's."
    return ""


def integrated(answer: Answer) -> str:
    for number, step in enumerate(steps_of(answer, free())):
        step.before.ctrl[:] = step.ctrl
        mujoco.mj_step(step.before.model, step.before)
        off = float(np.abs(step.before.qpos - step.qpos).max())
        if off > TOLERANCE:
            return (
                f"In step {number} the joints end {off:.2g} rad from where these setpoints move them in one time step."
            )
    return ""


EXERCISE = Exercise(
    shape=lambda case: (case.steps, row_length()),
    properties=(
        Property(
            "the simulation does not advance by one step", advances, "mj_step1 and mj_step2 are one step together."
        ),
        Property(
            "the commanded velocity is wrong",
            command,
            "Measure first and integrate last; check.pose_error, check.jacobian and check.dls test the parts.",
        ),
        Property(
            "the setpoint is wrong", setpoint, "It is built on the measured q, and integration_dt makes it an angle."
        ),
        Property(
            "an unclipped setpoint",
            inside_limits,
            "MuJoCo may clamp it in silence, and then nobody counts it: clip to arm.lower and arm.upper yourself.",
        ),
        Property("another's actuator", leaves_others_alone, "Write to data.ctrl[arm.actuators] only."),
        Property(
            "joints moved by hand",
            integrated,
            BY_HAND,
        ),
    ),
    mistakes=tuple(Mistake(name, cause, [recorded(step) for step in steps]) for name, cause, steps in MISTAKES),
    probes=lambda: [(free(),)],
    passed="It measures at the present state, commands its own joints inside their limits, and physics moves them.",
)

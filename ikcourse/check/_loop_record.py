"""A control step as a function whose value can be judged: a few steps, and the state that each was given and left."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from ikcourse import rotation
from ikcourse.check import _scene
from ikcourse.check._answer import ARRAY_CHANGED, MODEL_CHANGED, Answer, Broken, checked, model_bytes
from ikcourse.jacobian import site_pose


@dataclass(frozen=True, eq=False)
class Case:
    """A start, a target that stands still, and the parameters of the step."""

    q: np.ndarray
    target_position: np.ndarray
    target_quaternion: np.ndarray
    integration_dt: float
    damping: float
    steps: int = 4


def _case(
    seed: int, integration_dt: float, damping: float, turn: tuple[float, float, float], near_limit: int = 0
) -> Case:
    q = _scene.posture(seed, near_limit)
    position, quaternion = site_pose(_scene.arm(), _scene.data_at(q))
    target = rotation.quat_multiply(quaternion, rotation.quat_exp(turn))
    return Case(q, position + (0.1, -0.08, 0.12), target, integration_dt, damping)


@functools.cache
def free() -> Case:
    """No setpoint comes near a limit."""
    return _case(1, 0.4, 0.1, (0.3, 0.2, -0.4))


@functools.cache
def free_too() -> Case:
    """Another free case: a damping or an integration_dt that is typed by hand shows."""
    return _case(3, 0.25, 0.05, (-0.2, 0.3, 0.3))


@functools.cache
def at_limit(side: int = 1) -> Case:
    """The last joint stands just inside its upper (1) or lower (-1) limit, and the target asks it to turn on."""
    return _case(2, 1.0, 0.1, (0.0, 0.0, 0.8 * side), near_limit=side)


def _sizes() -> list[int]:
    """Lengths of qdot, ctrl, qpos and qvel in a row."""
    arm = _scene.arm()
    return [arm.n, arm.model.nu, arm.model.nq, arm.model.nv]


def row_length() -> int:
    """Length of a row: qdot, ctrl, qpos, qvel and time."""
    return sum(_sizes()) + 1


def recorded(step: Any) -> Any:
    """The step as a function of a case: one row a step of qdot, ctrl, qpos, qvel and time."""
    if step is None or step is Ellipsis:
        return step

    def record(case: Case) -> np.ndarray | None:
        arm, data, rows = _scene.arm(), _scene.data_at(case.q), []
        for _ in range(case.steps):
            before = data.time, data.ctrl.copy()
            target = case.target_position.copy(), case.target_quaternion.copy()
            model = model_bytes(arm.model)
            qdot = step(arm, data, *target, case.damping, case.integration_dt)
            if not np.array_equal(model, model_bytes(arm.model)):
                raise Broken("the model is changed", MODEL_CHANGED)
            for name, given, old in zip(
                ("position", "quaternion"), target, (case.target_position, case.target_quaternion), strict=True
            ):
                if not np.array_equal(given, old):
                    raise Broken(
                        "an input is changed", f"The target's {name} is not what it was before. {ARRAY_CHANGED}"
                    )
            if qdot is None or qdot is Ellipsis:
                if data.time == before[0] and np.array_equal(data.ctrl, before[1]):
                    return None
                raise Broken("nothing is returned", "The step does its work: let it return the qdot it commanded.")
            rows.append(np.concatenate([checked(qdot, (arm.n,)), data.ctrl, data.qpos, data.qvel, [data.time]]))
        return np.array(rows)

    return record


@dataclass(frozen=True, eq=False)
class Step:
    """One recorded step: the simulation in the state that it was given (kinematics current), and what it left."""

    before: mujoco.MjData
    qdot: np.ndarray
    ctrl: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    time: float

    @property
    def setpoint(self) -> np.ndarray:
        return self.ctrl[_scene.arm().actuators]


def steps_of(answer: Answer, case: Case) -> list[Step]:
    model = _scene.arm().model
    steps, data = [], _scene.data_at(case.q)
    for row in answer(case):
        qdot, ctrl, qpos, qvel, time = np.split(row, np.cumsum(_sizes()))
        steps.append(Step(data, qdot, ctrl, qpos, qvel, float(time[0])))
        data = _scene.data_at(case.q)
        data.qpos[:], data.qvel[:], data.ctrl[:], data.time = qpos, qvel, ctrl, float(time[0])
        mujoco.mj_forward(model, data)
    return steps

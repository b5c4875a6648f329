"""What an ablation changes of the reach: small factors that alter the model, the law or the loop, and combine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np

from ikcourse.arm import Arm
from ikcourse.laws import DampedLeastSquares
from ikcourse.track import Controller

NONE, AND = "none", " + "
"""The name of no factor at all, and what stands between the names of several."""


class StaleController(Controller):
    """`Controller` with `mj_step` alone: q is new, while J and the tool's pose are those of the step before."""

    def step(
        self,
        target_position: np.ndarray,
        target_quaternion: np.ndarray,
        target_twist: np.ndarray | None = None,
        target_acceleration: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        self._measure(target_position, target_quaternion, target_twist, target_acceleration)
        qdot = self._ask(self.state)
        start = self.state.q if self.setpoint_from == "measured" else self.data.ctrl[self._ctrl]
        setpoint = start + qdot * self.integration_dt
        self.data.ctrl[self._ctrl] = np.clip(setpoint, *self.limits)
        mujoco.mj_step(self.arm.model, self.data)
        return qdot, setpoint


@dataclass(frozen=True)
class Factor:
    """One thing changed.

    Attributes:
        model: alters the model.
        law: fields of `DampedLeastSquares`.
        loop: keyword arguments of the controller.
        controller: another class of controller.
        clips: whether setpoints are still cut to the limits.
    """

    model: Callable[[mujoco.MjModel], None] | None = None
    law: Mapping[str, Any] = field(default_factory=dict)
    loop: Mapping[str, Any] = field(default_factory=dict)
    controller: type[Controller] | None = None
    clips: bool = True


def _no_floor(model: mujoco.MjModel) -> None:
    model.geom_contype[model.geom("floor").id] = model.geom_conaffinity[model.geom("floor").id] = 0


def _no_self_collision(model: mujoco.MjModel) -> None:
    """Without an affinity of their own, the arm's shapes meet only what has one: the floor."""
    model.geom_conaffinity[model.geom_bodyid != 0] = 0


def _no_clamp(model: mujoco.MjModel) -> None:
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)


def _no_gravity(model: mujoco.MjModel) -> None:
    model.opt.gravity[:] = 0


FACTORS: Mapping[str, Factor] = {
    "setpoint unclipped": Factor(clips=False),
    "clamp off": Factor(model=_no_clamp),
    "speed scaled": Factor(loop={"max_joint_speed": 1.0}),
    "speed cut": Factor(loop={"max_joint_speed": 1.0, "speed_bound": "clip"}),
    "null-space pull": Factor(law={"nullspace_gain": 0.5}),
    "no floor": Factor(model=_no_floor),
    "no self-collision": Factor(model=_no_self_collision),
    "no gravity": Factor(model=_no_gravity),
    "pose one step old": Factor(controller=StaleController),
    "commanded q": Factor(loop={"setpoint_from": "commanded", "integration_dt": 0.02}),
}
"""Speed is bounded to 1 rad/s, the pull is 0.5 / s. The gain of the commanded q, 0.02 s in a step of 0.002 s, is the 10
in a second that the Panda's servos have at integration_dt 1.0 from measured q."""


def factors_of(names: str) -> list[Factor]:
    """The factors of a combination; ValueError with the names that exist for another."""
    listed = [] if names == NONE else names.split(AND)
    unknown = [name for name in listed if name not in FACTORS]
    if unknown or len(set(listed)) < len(listed):
        raise ValueError(f"factors must be {NONE!r} or some of {list(FACTORS)}, each once; got {names!r}")
    return [FACTORS[name] for name in listed]


def alter(arm: Arm, factors: Sequence[Factor]) -> Arm:
    """The arm with a model of its own that the factors have altered; the arm itself where none of them does."""
    changes = [factor.model for factor in factors if factor.model]
    if not changes:
        return arm
    model = copy(arm.model)
    for change in changes:
        change(model)
    return replace(arm, model=model)


def controller(arm: Arm, damping: float, factors: Sequence[Factor]) -> Controller:
    """The loop that the factors make of `Controller` and `DampedLeastSquares`, on an altered arm.

    Raises:
        ValueError: two of them set the same thing, of which one would be lost.
    """
    given = [
        name for factor in factors for name in (*factor.law, *factor.loop, *["controller"] * bool(factor.controller))
    ]
    if twice := {name for name in given if given.count(name) > 1}:
        raise ValueError(f"only one of the factors may set {', '.join(sorted(twice))}")
    law: dict[str, Any] = {}
    loop: dict[str, Any] = {}
    for factor in factors:
        law |= factor.law
        loop |= factor.loop
    kind = next((factor.controller for factor in factors if factor.controller), Controller)
    made = kind(arm, DampedLeastSquares(damping, **law), **loop)
    if not all(factor.clips for factor in factors):
        made.limits = np.repeat([[-np.inf], [np.inf]], arm.n, axis=1)
    return made

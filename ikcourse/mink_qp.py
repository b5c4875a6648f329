"""The peer as a law: mink's quadratic programme, its tasks as costs and the limits as constraints.

mink and a solver come with the extras `book` and `test`; a plain install has neither, and misses this module alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from ikcourse.arm import Arm
from ikcourse.box import LIMIT_GAIN, Speed, _require_limits, allowed, require_one_speed_a_joint
from ikcourse.laws import State, Step, _require_at_least_zero


@dataclass(frozen=True)
class MinkQP:
    """mink's displacement over dt: a pose task and a posture task as costs, joint and speed limits as constraints.

    With J and e as mink has them (one logarithm for position and orientation, in the hand's axes) and d = qdot dt, it
    minimises, inside `velocity_box`,

        ||C (J d - e)||^2 + posture_cost^2 ||d - (q_home - q)||^2 + (damping_weight + lm_damping ||C e||^2) ||d||^2.

    The programme is of the whole model, as mink builds it: joints that the arm does not control are in it too, and
    stand still where they would move the tool.

    Attributes:
        position_cost, orientation_cost: the diagonal of C, >= 0, not both zero.
        posture_cost: weight of the way home, >= 0; it is squared, as lambda is.
        lm_damping: damping that grows with the squared error, >= 0.
        damping_weight: mink's `damping`, >= 0: a weight, lambda^2 and not lambda.
        max_joint_speed: one for all joints or one for each [rad/s] or [m/s], > 0; None for no limit.
        limit_gain: part of the way to its limit that a joint may go in one step; None for no joint limits.
        dt: how long the step is over which the error should vanish [s], > 0: give the loop's integration_dt.
        solver: a solver that `qpsolvers` finds installed, such as "daqp" or "quadprog".

    Raises:
        ValueError: a value is out of its range, or posture_cost and damping_weight are both zero, which leaves the
            minimum no single point; in `bind`, the solver is not installed; in a step, as `velocity_box`.
        RuntimeError: in `bind`, mink is not installed; in a step, the solver found no minimum.

    Source: Zakka 2024; Sugihara 2011 (lm_damping).
    """

    position_cost: float = 1.0
    orientation_cost: float = 1.0
    posture_cost: float = 1e-2
    lm_damping: float = 1.0
    damping_weight: float = 1e-12
    max_joint_speed: Speed = None
    limit_gain: float | None = LIMIT_GAIN
    dt: float = 1.0
    solver: str = "daqp"

    def __post_init__(self) -> None:
        for name in ("position_cost", "orientation_cost", "posture_cost", "lm_damping", "damping_weight"):
            _require_at_least_zero(name, getattr(self, name))
        if self.position_cost == 0 and self.orientation_cost == 0:
            raise ValueError("position_cost and orientation_cost are both 0: there is no task")
        if self.posture_cost == 0 and self.damping_weight == 0:
            raise ValueError("posture_cost and damping_weight are both 0: the minimum need not be a single point")
        _require_limits(self.max_joint_speed, self.limit_gain, self.dt)

    def bind(self, arm: Arm) -> Step:
        mink, qpsolvers = _installed()
        if self.solver not in qpsolvers.available_solvers:
            raise ValueError(
                f"solver must be one of those installed, {qpsolvers.available_solvers}; got {self.solver!r}"
            )
        require_one_speed_a_joint(arm, self.max_joint_speed)
        now = mink.Configuration(arm.model, arm.data().qpos)
        tool = mink.FrameTask(arm.site, "site", self.position_cost, self.orientation_cost, lm_damping=self.lm_damping)
        tasks = [tool]
        if self.posture_cost > 0:
            posture = mink.PostureTask(arm.model, self.posture_cost)
            posture.set_target_from_configuration(now)
            tasks.append(posture)
        limits = []
        if self.limit_gain is not None:
            limits.append(mink.ConfigurationLimit(arm.model, self.limit_gain))
        if self.max_joint_speed is not None:
            speeds = np.broadcast_to(np.asarray(self.max_joint_speed, float), (arm.n,))
            limits.append(mink.VelocityLimit(arm.model, dict(zip(arm.joints.tolist(), speeds, strict=True))))
        still = [mink.DofFreezingTask(arm.model, others)] if (others := _others_that_move_the_tool(arm)) else None

        def step(state: State) -> np.ndarray:
            now.update(state.data.qpos)
            tool.set_target(mink.SE3(np.concatenate([state.target_quaternion, state.target_position])))
            try:
                answer = mink.solve_ik(
                    now, tasks, self.dt, self.solver, damping=self.damping_weight, limits=limits, constraints=still
                )
            except (mink.NoSolutionFound, qpsolvers.exceptions.QPError) as error:
                allowed(arm, state.q, self.max_joint_speed, self.limit_gain, self.dt)  # says which joint, if one is
                raise RuntimeError(f"{self.solver} found no minimum at q = {state.q}: {error}") from error
            return np.asarray(answer[arm.dofs])

        return step


def _others_that_move_the_tool(arm: Arm) -> list[int]:
    """Dofs between the world and the tool that the arm does not control."""
    model, dofs = arm.model, []
    body = int(model.site_bodyid[arm.site])
    while body > 0:
        first = int(model.body_dofadr[body])
        dofs += [dof for dof in range(first, first + int(model.body_dofnum[body])) if dof not in arm.dofs]
        body = int(model.body_parentid[body])
    return sorted(dofs)


def _installed() -> tuple[ModuleType, ModuleType]:
    """mink and qpsolvers, or RuntimeError."""
    try:
        import mink
        import qpsolvers
    except ImportError as error:
        raise RuntimeError(
            f"MinkQP needs mink and a solver, which come with `pip install ikcourse[book]`: {error}"
        ) from error
    return mink, qpsolvers

"""The mink study: the reach as a quadratic programme, with and without a posture, and whether the solver matters.

Damped least squares and mink minimise the same kind of sum, so one table holds both: of damped least squares the
`damping_weight` is lambda^2, and its speed bound scales the answer where mink's is a constraint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from ikcourse import scenes
from ikcourse.arm import Arm
from ikcourse.box import boxed_least_squares, velocity_box
from ikcourse.laws import DampedLeastSquares
from ikcourse.loop import Run
from ikcourse.mink_qp import MinkQP
from ikcourse.paths import REACH, reach_and_return
from ikcourse.studies.ends import EndState
from ikcourse.studies.many import Progress
from ikcourse.studies.outcome import Outcome, measures
from ikcourse.studies.tables import measured, setting
from ikcourse.track import track

FILE = "mink.csv"
SPEED = 1.0
"""Bound on every joint's commanded speed [rad/s]."""
JUDGED = slice(100, None, 100)
"""The steps of a run at which its answers are held against the exact minimum."""
GAP_ROUNDING, APART_ROUNDING = 1e-12, 1e-6
"""What is smaller is written as 0: it is rounding, and another machine has other rounding."""


class Setting(NamedTuple):
    """What is run: a method and its parameters, as the columns of the same names say."""

    method: str
    reach_m: float
    posture_cost: float
    lm_damping: float
    damping_weight: float
    solver: str


COMPARED = (
    *(Setting("DLS", REACH, 0.0, 0.0, weight, "scaled") for weight in (1e-8, 1e-6, 1e-4)),
    Setting("mink", REACH, 1e-2, 1.0, 1e-12, "daqp"),
)
"""Damped least squares at lambda 1e-4, 1e-3 and 1e-2 beside mink."""
REACHES, SOLVERS = (0.70, 0.72), ("daqp", "quadprog")
WEIGHTS = tuple(
    Setting("mink", reach, cost, lm_damping, 1e-12, solver)
    for cost, lm_damping, reach, solver in product((0.0, 1e-3, 1e-2, 1e-1), (0.0, 1.0), REACHES, SOLVERS)
)
BARE = tuple(
    Setting("mink", reach, 0.0, 0.0, weight, solver)
    for weight, reach, solver in product((1e-10, 1e-8, 1e-6, 1e-4), REACHES, SOLVERS)
)
"""Neither posture nor lm_damping: mink's `damping` alone."""
SETTINGS = tuple(dict.fromkeys((*COMPARED, *WEIGHTS, *BARE)))
CHECKED = tuple(
    each
    for each in SETTINGS
    if each in COMPARED or (each.reach_m == REACH and each.solver == "daqp" and each.posture_cost >= 1e-3)
)
"""What one machine computes as another does; a run without a posture can end elsewhere for one bit of rounding."""


@dataclass(frozen=True)
class Row(Outcome):
    """One run of the study.

    Attributes:
        method: damped least squares, or mink.
        posture_cost, lm_damping, damping_weight: as `MinkQP`.
        solver: how the speed bound is kept, or who solves the programme.
        objective_gap: how far the objective of the worst judged step lies above its minimum, as a part of ||e||^2.
        answers_apart_rad_s: how far a joint's speed was from the minimum's in the worst judged step.
    """

    model: str = setting()
    method: str = setting()
    reach_m: float = setting("{:.2f}")
    posture_cost: float = setting("{:g}")
    lm_damping: float = setting("{:g}")
    damping_weight: float = setting("e")
    solver: str = setting()
    objective_gap: float = measured("{:.0e}")
    answers_apart_rad_s: float = measured("{:.0e}")


def study(arm: Arm, settings: Sequence[Setting], progress: Progress = iter, model: str = "builtin") -> list[Row]:
    """Run the reach once for every setting.

    Args:
        arm: the Panda.
        settings: such as `SETTINGS`.
        progress: wraps the settings, for a progress bar.
        model: what the rows call the arm.

    Raises:
        RuntimeError: mink is not installed.
    """
    return [_row(arm, each, model) for each in progress(settings)]


def compute(model: str, settings: Sequence[Setting] = SETTINGS, progress: Progress = iter) -> list[Row]:
    """The study as `results/` holds it."""
    return study(scenes.panda(model), settings, progress, model)


def law_of(each: Setting) -> MinkQP:
    """mink with a setting's weights."""
    return MinkQP(
        posture_cost=each.posture_cost,
        lm_damping=each.lm_damping,
        damping_weight=each.damping_weight,
        max_joint_speed=SPEED,
        solver=each.solver,
    )


def _row(arm: Arm, each: Setting, model: str) -> Row:
    path = reach_and_return(arm, each.reach_m)
    if each.method == "DLS":
        run = track(arm, path, DampedLeastSquares(each.damping_weight**0.5), max_joint_speed=SPEED)
        gap = apart = float("nan")  # scaling does not look for the minimum
    elif each.method != "mink":
        raise ValueError(f"method must be 'DLS' or 'mink'; got {each.method!r}")
    else:
        run = track(arm, path, law_of(each))
        gap, apart = gaps(run)
    return Row(model=model, **each._asdict(), objective_gap=gap, answers_apart_rad_s=apart, **measures(run))


def gaps(run: Run) -> tuple[float, float]:
    """How far a run of `MinkQP` stayed from the exact minimum, at the worst of the `JUDGED` steps.

    The minimum is that of bounded least squares on the stacked rows, which never squares J: it has the digits that the
    normal equations of a programme lose.

    Returns:
        The objective above its minimum, as a part of ||C e||^2, and the largest distance of a joint's speed [rad/s];
        zero where they are rounding.
    """
    import mink

    law, arm, path = run.law, run.arm, run.path
    assert isinstance(law, MinkQP)
    now, data = mink.Configuration(arm.model), arm.data()
    tool = mink.FrameTask(arm.site, "site", law.position_cost, law.orientation_cost)
    costs, gap, apart = tool.cost, 0.0, 0.0
    for k in range(*JUDGED.indices(len(run.qdot))):
        q, answer = run.q[k], run.qdot[k] * law.dt
        data.qpos[arm.qpos_addresses] = q
        now.update(data.qpos)
        tool.set_target(mink.SE3(np.concatenate([path.quaternions[k], path.positions[k]])))
        J, e = costs[:, None] * tool.compute_jacobian(now)[:, arm.dofs], -costs * tool.compute_error(now)
        weight = law.posture_cost**2 + law.damping_weight + law.lm_damping * (e @ e)
        z = law.posture_cost**2 / weight * (arm.home - q)
        lowest, highest = velocity_box(arm, q, law.max_joint_speed, law.limit_gain, law.dt)
        best = boxed_least_squares(J, e, lowest * law.dt, highest * law.dt, weight**0.5, z)

        def objective(
            step: np.ndarray, J: np.ndarray = J, e: np.ndarray = e, z: np.ndarray = z, weight: float = weight
        ) -> float:
            return float(np.sum((J @ step - e) ** 2) + weight * np.sum((step - z) ** 2))

        gap = max(gap, (objective(answer) - objective(best)) / float(e @ e))
        apart = max(apart, float(np.abs(answer - best).max()) / law.dt)
    return (gap if gap > GAP_ROUNDING else 0.0), (apart if apart > APART_ROUNDING else 0.0)


def facts(rows: Sequence[Row]) -> list[str]:
    """What the table says, a sentence each."""
    said = []
    for model in sorted({row.model for row in rows}):
        own = [row for row in rows if row.model == model and row.method == "mink"]
        for cost in sorted({row.posture_cost for row in own}):
            alike = [row for row in own if row.posture_cost == cost and row.damping_weight == 1e-12]
            home = sum(row.end_state is EndState.HEALTHY for row in alike)
            said.append(f"{model}, posture cost {cost:g}: {home} of {len(alike)} runs of mink come home.")
        for row in own:
            if row.posture_cost == row.lm_damping == 0:
                said.append(
                    f"{model}, reach {row.reach_m:.2f} m, damping {row.damping_weight:g} alone, {row.solver}: "
                    f"{row.end_state.value}, drift {row.drift_rad:.3f} rad, objective gap {row.objective_gap:.0e}."
                )
    return said

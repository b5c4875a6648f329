"""The reach with one thing of the loop changed, or two: what each of them is proved to have changed, and who folds.

A row is compared, bit for bit, with the run of the same damping in which nothing was changed. A factor that changed
nothing says so: leaving out the setpoint clip does not move the arm while MuJoCo clamps the controls itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product

import numpy as np

from ikcourse import scenes
from ikcourse.arm import Arm
from ikcourse.laws import DampedLeastSquares, Law
from ikcourse.loop import Loop, Run, follow
from ikcourse.paths import REACH, reach_and_return
from ikcourse.studies import damping as damping_study
from ikcourse.studies.ends import EndState
from ikcourse.studies.factors import AND, FACTORS, NONE, StaleController, alter, controller, factors_of
from ikcourse.studies.many import Progress
from ikcourse.studies.outcome import Outcome, measures
from ikcourse.studies.tables import measured, setting, span
from ikcourse.track import Controller

FILE = "ablation.csv"
TOGETHER = (
    "setpoint unclipped + clamp off",
    "no self-collision + no floor",
    "commanded q + setpoint unclipped",
    "commanded q + setpoint unclipped + clamp off",
    "commanded q + pose one step old",
    "commanded q + null-space pull",
    "null-space pull + pose one step old",
    "null-space pull + speed scaled",
    "no gravity + pose one step old",
    "no gravity + null-space pull",
)
COMBINATIONS = (NONE, *FACTORS, *TOGETHER)
DAMPINGS = (1e-5, 1e-4, 1e-3, 5e-3, 7e-3, 1e-2)
SETTINGS = tuple(product(COMBINATIONS, DAMPINGS))
CHECKED = tuple((names, 5e-3) for names in COMBINATIONS)
"""Below 1e-3 an end hangs on the last bit, which another machine's libraries may round elsewhere."""


class Changed(StrEnum):
    """What a factor changed."""

    NOTHING = "nothing"
    CONTROLS = "ctrl alone"
    MOTION = "motion"


@dataclass(frozen=True)
class Row(Outcome):
    """One run of the study, and what it proved to have changed.

    Attributes:
        factors: names of `FACTORS`, joined, or none.
        changed: against the run in which nothing is changed.
        last_changed: against the run without the factor named last.
        same_steps: before the first after which q is not the same to the last bit, of the unchanged run's 3000.
        ctrl_steps: whose controls are not the same.
        apart_rad: the farthest that a joint was from where it was in the unchanged run at that time.
    """

    model: str = setting()
    factors: str = setting()
    damping: float = setting("e")
    changed: Changed = measured()
    last_changed: Changed = measured()
    same_steps: int = measured(tolerance=2)
    ctrl_steps: int = measured(tolerance=2)
    apart_rad: float = measured("{:.4f}", tolerance=0.02)


def compare(run: Run, other: Run) -> tuple[Changed, int, int, float]:
    """What differs between two runs: the kind, and `same_steps`, `ctrl_steps` and `apart_rad` of a `Row`."""
    moved = np.any(run.q[1:] != other.q[1:], axis=1)
    asked = np.any(_controls(run) != _controls(other), axis=1)
    kind = Changed.MOTION if moved.any() else Changed.CONTROLS if asked.any() else Changed.NOTHING
    same = int(np.argmax(moved)) if moved.any() else len(moved)
    return kind, same, int(asked.sum()), float(np.abs(run.q - other.q).max())


def _controls(run: Run) -> np.ndarray:
    """What was written into data.ctrl, before MuJoCo clamps it, (T, n)."""
    return np.clip(run.setpoints, *run.limits)


def compute(model: str, settings: Sequence[tuple[str, float]] = SETTINGS, progress: Progress = iter) -> list[Row]:
    """Reach to 0.70 m and return, once for each (factors, damping)."""
    arm = scenes.panda(model)
    path = reach_and_return(arm, REACH)
    altered = cache(lambda names: alter(arm, factors_of(names)))

    @cache
    def run(names: str, damping: float) -> Run:
        return follow(controller(altered(names), damping, factors_of(names)), path)

    rows = []
    for names, damping in progress(settings):
        mine = run(names, damping)
        without_last = names.rpartition(AND)[0] or NONE
        changed, same, asked, apart = compare(mine, run(NONE, damping))
        rows.append(
            Row(
                model=model,
                factors=names,
                damping=damping,
                changed=changed,
                last_changed=compare(mine, run(without_last, damping))[0],
                same_steps=same,
                ctrl_steps=asked,
                apart_rad=apart,
                **measures(mine),
            )
        )
    return rows


def idle(rows: Sequence[Row]) -> list[str]:
    """The combinations that moved the arm in none of their rows."""
    names = dict.fromkeys(row.factors for row in rows)
    active = {row.factors for row in rows if row.changed is Changed.MOTION}
    return [name for name in names if name not in active and name != NONE]


def facts(rows: Sequence[Row]) -> list[str]:
    """What the table says, a sentence each."""
    said = []
    for model in sorted({row.model for row in rows}):
        plain = {row.damping: row.end_state for row in rows if (row.model, row.factors) == (model, NONE)}
        folded = ", ".join(f"{damping:g}" for damping, end in plain.items() if end is EndState.COLLAPSED)
        said.append(f"{model}, nothing changed: {len(plain)} runs, one a damping; {folded} fold.")
        for names in dict.fromkeys(row.factors for row in rows if row.model == model and row.factors != NONE):
            said.append(_of_factors([row for row in rows if (row.model, row.factors) == (model, names)], plain))
        still = idle([row for row in rows if row.model == model])
        said.append(f"{model}: what moved the arm at none of these dampings: {'; '.join(still) or 'nothing'}.")
    return said


def _of_factors(rows: Sequence[Row], plain: Mapping[float, EndState]) -> str:
    """One sentence on the rows of one combination, beside the ends of the unchanged runs."""
    moved, asked = (sum(row.changed is kind for row in rows) for kind in (Changed.MOTION, Changed.CONTROLS))
    said = f"{rows[0].model}, {rows[0].factors}: moves the arm in {moved} of {len(rows)} runs"
    said += f", changes ctrl alone in {asked}" if asked else ""
    if AND in rows[0].factors:
        own = sum(row.last_changed is Changed.MOTION for row in rows)
        said += f" ({rows[0].factors.rpartition(AND)[2]}, as the last, in {own})"
    ends = [
        f"{row.damping:g} {row.end_state}{f' ({row.reason})' if row.reason else ''}"
        for row in rows
        if row.end_state is not plain.get(row.damping, row.end_state)
    ]
    drifts = [row.drift_rad for row in rows if row.end_state is not EndState.HEALTHY]
    said += f"; other ends: {', '.join(ends)}" if ends else "; the same ends"
    return said + (f"; drift of those not home {span(drifts, '.3f')} rad." if drifts else "; all home.")


LOOPS: Mapping[str, Callable[[Arm, Law], Loop]] = {
    "as it is": Controller,
    "pose one step old": StaleController,
    "setpoint from commanded q": lambda arm, law: Controller(arm, law, **FACTORS["commanded q"].loop),
}
"""Three loops for one law, to be tried side by side with `study`."""


def study(
    arm: Arm,
    loop: Callable[[Arm, Law], Loop],
    reach: float = REACH,
    dampings: Sequence[float] = damping_study.DAMPINGS,
    progress: Callable[[Sequence[float]], Iterable[float]] = iter,
) -> list[damping_study.Row]:
    """`damping.study` with another loop, such as one of `LOOPS`; its other arguments are the same."""
    path = reach_and_return(arm, reach)
    return [
        damping_study.summary(follow(loop(arm, DampedLeastSquares(damping)), path), damping)
        for damping in progress(dampings)
    ]

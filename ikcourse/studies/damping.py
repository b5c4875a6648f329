"""The damping study: one reach, eleven values of lambda, two places where the arm can end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ikcourse import scenes
from ikcourse.arm import Arm
from ikcourse.laws import DampedLeastSquares
from ikcourse.loop import Run
from ikcourse.paths import REACH, reach_and_return
from ikcourse.studies.ends import EndState, elbow_of
from ikcourse.studies.many import Progress
from ikcourse.studies.outcome import Outcome, measures
from ikcourse.studies.tables import setting
from ikcourse.track import track

FILE = "damping_end_state.csv"
DAMPINGS = (1e-6, 1e-5, 1e-4, 3e-4, 5e-4, 1e-3, 3e-3, 5e-3, 7e-3, 1e-2, 1e-1)
SETTINGS = DAMPINGS


@dataclass(frozen=True)
class Row(Outcome):
    """One run of the study."""

    model: str = setting()
    damping: float = setting("e")


def summary(run: Run, damping: float, model: str = "builtin") -> Row:
    """The row of a run."""
    return Row(model=model, damping=damping, **measures(run))


def study(
    arm: Arm,
    reach: float = REACH,
    dampings: Sequence[float] = DAMPINGS,
    progress: Progress = iter,
    model: str = "builtin",
) -> list[Row]:
    """Run the reach once for every damping.

    Args:
        arm: the Panda.
        reach: farthest distance from the shoulder [m].
        dampings: values of lambda.
        progress: wraps the dampings, for a progress bar.
        model: what the rows call the arm.

    Raises:
        ValueError: the arm is not the Panda, or a value is out of its range.
    """
    elbow_of(arm)
    path = reach_and_return(arm, reach)
    return [summary(track(arm, path, DampedLeastSquares(lam)), lam, model) for lam in progress(dampings)]


def compute(model: str, settings: Sequence[float] = SETTINGS, progress: Progress = iter) -> list[Row]:
    """The study as `results/` holds it: the reach of 0.70 m, once for each damping."""
    return study(scenes.panda(model), REACH, settings, progress, model)


def facts(rows: Sequence[Row]) -> list[str]:
    """What the table says, a sentence each."""
    said = []
    for model in sorted({row.model for row in rows}):
        ends = [row.end_state for row in rows if row.model == model]
        folded = [f"{row.damping:g}" for row in rows if row.model == model and row.end_state is EndState.COLLAPSED]
        said.append(
            f"The {model} Panda reaches to {REACH:.2f} m from its shoulder and returns; {len(ends)} runs, one a damping"
            f": {ends.count(EndState.HEALTHY)} come home, {len(folded)} fold (lambda {', '.join(folded)}), "
            f"{ends.count(EndState.UNDECIDED)} are undecided."
        )
    return [*said, "A mean over both kinds would describe neither."]

"""The null-space study: what a pull towards home does to the reach that folds, gain by gain and damping by damping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from ikcourse import scenes
from ikcourse.laws import DampedLeastSquares
from ikcourse.paths import REACH, reach_and_return
from ikcourse.studies.ends import EndState
from ikcourse.studies.many import Progress, run_all
from ikcourse.studies.outcome import Outcome, measures
from ikcourse.studies.tables import setting

FILE = "nullspace_end_state.csv"
GAINS = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0)
DAMPINGS = (1e-5, 1e-4, 3e-4, 5e-4, 1e-3, 3e-3, 5e-3, 7e-3, 1e-2)
SETTINGS = tuple(product(GAINS, DAMPINGS))


@dataclass(frozen=True)
class Row(Outcome):
    """One run of the study."""

    model: str = setting()
    nullspace_gain: float = setting("{:g}")
    damping: float = setting("e")


def compute(model: str, settings: Sequence[tuple[float, float]] = SETTINGS, progress: Progress = iter) -> list[Row]:
    """Reach to 0.70 m and return, once for each (nullspace_gain, damping)."""
    arm = scenes.panda(model)
    path = reach_and_return(arm, REACH)
    laws = [DampedLeastSquares(damping, gain) for gain, damping in settings]
    runs = run_all(arm, [path] * len(laws), laws, progress)
    return [
        Row(model=model, nullspace_gain=gain, damping=damping, **measures(run))
        for (gain, damping), run in zip(settings, runs, strict=True)
    ]


def facts(rows: Sequence[Row]) -> list[str]:
    """What the table says, a sentence each."""
    said = []
    for model in sorted({row.model for row in rows}):
        for gain in GAINS:
            ends = [row for row in rows if (row.model, row.nullspace_gain) == (model, gain)]
            folded = [f"{row.damping:g}" for row in ends if row.end_state is EndState.COLLAPSED]
            undecided = sum(row.end_state is EndState.UNDECIDED for row in ends)
            said.append(
                f"{model}, gain {gain:g}: {len(folded)} of {len(ends)} runs fold"
                + (f" (lambda {', '.join(folded)})" if folded else "")
                + (f", {undecided} undecided" if undecided else "")
                + "."
            )
    return said

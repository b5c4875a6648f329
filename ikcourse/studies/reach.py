"""The reach study: 126 runs over distance, null-space gain and damping, and where each of them ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ikcourse import scenes
from ikcourse.laws import DampedLeastSquares
from ikcourse.paths import reach_and_return
from ikcourse.studies.ends import EndState
from ikcourse.studies.many import Progress, run_all
from ikcourse.studies.outcome import Outcome, measures
from ikcourse.studies.tables import measured, setting

FILE = "reach_end_state.csv"
REACHES = (0.66, 0.68, 0.69, 0.70, 0.71, 0.72)
GAINS = (0.0, 0.5, 2.0)
DAMPINGS = (1e-4, 3e-4, 5e-4, 1e-3, 3e-3, 5e-3, 1e-2)
SETTINGS = tuple(product(REACHES, GAINS, DAMPINGS))
FINAL_Q = tuple(f"q{i}_rad" for i in range(1, 8))


@dataclass(frozen=True)
class Row(Outcome):
    """One run of the study, and the joint positions in which it ended."""

    model: str = setting()
    reach_m: float = setting("{:.2f}")
    nullspace_gain: float = setting("{:g}")
    damping: float = setting("e")
    q1_rad: float = measured("{:.4f}", tolerance=0.02)
    q2_rad: float = measured("{:.4f}", tolerance=0.02)
    q3_rad: float = measured("{:.4f}", tolerance=0.02)
    q4_rad: float = measured("{:.4f}", tolerance=0.02)
    q5_rad: float = measured("{:.4f}", tolerance=0.02)
    q6_rad: float = measured("{:.4f}", tolerance=0.02)
    q7_rad: float = measured("{:.4f}", tolerance=0.02)

    @property
    def final_q(self) -> np.ndarray:
        """Where the run ended, (7,) [rad]."""
        return np.array([getattr(self, name) for name in FINAL_Q])


def compute(
    model: str, settings: Sequence[tuple[float, float, float]] = SETTINGS, progress: Progress = iter
) -> list[Row]:
    """Reach and return once for each (reach, nullspace_gain, damping)."""
    arm = scenes.panda(model)
    paths = {reach: reach_and_return(arm, reach) for reach in {reach for reach, _, _ in settings}}
    laws = [DampedLeastSquares(damping, gain) for _, gain, damping in settings]
    runs = run_all(arm, [paths[reach] for reach, _, _ in settings], laws, progress)
    return [
        Row(
            model=model,
            reach_m=reach,
            nullspace_gain=gain,
            damping=damping,
            **measures(run),
            **dict(zip(FINAL_Q, run.q[-1].tolist(), strict=True)),
        )
        for (reach, gain, damping), run in zip(settings, runs, strict=True)
    ]


def facts(rows: Sequence[Row]) -> list[str]:
    """What the table says, a sentence each."""
    said = []
    for model in sorted({row.model for row in rows}):
        mine = [row for row in rows if row.model == model]
        folded = [row for row in mine if row.end_state is EndState.COLLAPSED]
        home = [row.drift_rad for row in mine if row.end_state is EndState.HEALTHY]
        undecided = len(mine) - len(folded) - len(home)
        said.append(
            f"{model}: {len(folded)} of {len(mine)} runs fold, {len(home)} come home, {undecided} are undecided."
        )
        for gain in GAINS:
            counts = {
                reach: sum((row.reach_m, row.nullspace_gain) == (reach, gain) for row in folded) for reach in REACHES
            }
            where = ", ".join(f"{count} at {reach:.2f} m" for reach, count in counts.items() if count)
            said.append(f"{model}, gain {gain:g}: folded {where or 'nowhere'}.")
        if folded and home:
            drifts = [row.drift_rad for row in folded]
            apart = max(float(np.abs(a.final_q - b.final_q).max()) for a in folded for b in folded)
            said.append(
                f"{model}: drift is at most {max(home):.3f} rad in the runs that come home and "
                f"{min(drifts):.3f} to {max(drifts):.3f} rad in those that fold; "
                f"no joint of two folded runs ends farther apart than {apart:.4f} rad."
            )
    return said

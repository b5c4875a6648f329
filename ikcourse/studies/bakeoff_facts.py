"""What the bake-off says: each law over all its reaches, and which of them come home on every one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ikcourse import scenes
from ikcourse.studies.bakeoff import LAWS, REACHES, Row
from ikcourse.studies.ends import EndState, farthest_reach
from ikcourse.studies.tables import span

PLACES = 5
"""How many of the nearest are named."""


@dataclass(frozen=True)
class Line:
    """A law at one value, over all its reaches.

    Attributes:
        law, value: as in `Row`.
        home, folded, undecided: how many reaches ended so.
        rms_mm: of the worst reach, over the steps whose target exists.
        peak_rad_s: greatest commanded speed.
        joint_rad_s: greatest speed of a joint.
        clipped: steps, all together.
    """

    law: str
    value: float
    home: int
    folded: int
    undecided: int
    rms_mm: float
    peak_rad_s: float
    joint_rad_s: float
    clipped: int

    @property
    def always_home(self) -> bool:
        """Whether it came home on every reach of the study."""
        return self.home == len(REACHES)

    @property
    def name(self) -> str:
        """The law and its parameter's value."""
        parameter = LAWS[self.law].parameter
        return self.law if np.isnan(self.value) else f"{self.law}, {parameter} {self.value:.3g}"


def lines(rows: Sequence[Row]) -> list[Line]:
    """The rows of one model, a law's value a line, in the order of `LAWS`."""
    found = []
    for name in LAWS:
        own = [row for row in rows if row.law == name]
        for value in dict.fromkeys(f"{row.value:.3g}" for row in own):
            alike = [row for row in own if f"{row.value:.3g}" == value]
            ends = [row.end_state for row in alike]
            home, folded, undecided = (
                ends.count(state) for state in (EndState.HEALTHY, EndState.COLLAPSED, EndState.UNDECIDED)
            )
            found.append(
                Line(
                    law=name,
                    value=float(value),
                    home=home,
                    folded=folded,
                    undecided=undecided,
                    rms_mm=1e3 * max(row.rms_reachable_m for row in alike),
                    peak_rad_s=max(row.peak_speed_rad_s for row in alike),
                    joint_rad_s=max(row.joint_speed_rad_s for row in alike),
                    clipped=sum(row.clipped_steps for row in alike),
                )
            )
    return found


def facts(rows: Sequence[Row]) -> list[str]:
    """What the table says, a sentence each."""
    said = [f"Along the ray of the reach the pose stops existing at {1e3 * farthest_reach(scenes.panda()):.2f} mm."]
    for model in sorted({row.model for row in rows}):
        found = lines([row for row in rows if row.model == model])
        for name in dict.fromkeys(line.law for line in found):
            said.append(f"{model}, {_of_law([line for line in found if line.law == name])}")
        for posture, word in ((False, "without"), (True, "with")):
            best = [line for line in found if line.always_home and LAWS[line.law].posture is posture]
            for place, line in enumerate(sorted(best, key=lambda line: line.rms_mm)[:PLACES], 1):
                said.append(
                    f"{model}, home on every reach {word} a posture, place {place}: {line.name}; {line.rms_mm:.2f} mm, "
                    f"commands {line.peak_rad_s:.2f} rad/s, moves {line.joint_rad_s:.2f} rad/s, "
                    f"{line.clipped} steps clipped."
                )
    return said


def _of_law(found: Sequence[Line]) -> str:
    """One sentence on a law over all its values."""
    home, folded, undecided = (sum(getattr(line, key) for line in found) for key in ("home", "folded", "undecided"))
    said = f"{found[0].law}: {home} of {home + folded + undecided} runs come home, {folded} fold, {undecided} undecided"
    always = [line for line in found if line.always_home]
    if not always:
        return said + "; no value is home on every reach."
    rms, peak = span([line.rms_mm for line in always], ".1f"), span([line.peak_rad_s for line in always], ".2f")
    values = ", ".join(f"{line.value:.3g}" for line in always if not np.isnan(line.value))
    where = f" with {LAWS[found[0].law].parameter} {values}" if values else ""
    return said + f"; home on every reach{where}: in the worst {rms} mm, commands at most {peak} rad/s."

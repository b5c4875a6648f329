"""The damping study: one reach, eleven values of lambda, two places where the arm can end."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from enum import StrEnum
from pathlib import Path

import numpy as np

from ikcourse.arm import Arm
from ikcourse.laws import DampedLeastSquares
from ikcourse.loop import Run
from ikcourse.paths import REACH, reach_and_return
from ikcourse.track import track

FILE = "damping_end_state.csv"
DAMPINGS = (1e-6, 1e-5, 1e-4, 3e-4, 5e-4, 1e-3, 3e-3, 5e-3, 7e-3, 1e-2, 1e-1)
HOME_ERROR = (0.05, 0.05)
"""A tool farther than this from its target [m] or turned farther [rad] is not back: droop is 7 mm, a fold 430 mm."""
HOME_DISTANCE = 0.5
"""Joints farther than this from home [rad], all together, hold the tool by another bend of the arm."""


class EndState(StrEnum):
    """Where the arm rests after the reach."""

    HEALTHY = "healthy"
    COLLAPSED = "collapse"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Row:
    """One run of the study; the fields are the columns of the table, units in their names."""

    damping: float
    end_state: EndState
    drift_rad: float
    final_error_m: float
    peak_speed_rad_s: float
    clipped_steps: int
    rms_position_m: float


FORMATS = {
    "end_state": "{}",
    "drift_rad": "{:.3f}",
    "final_error_m": "{:.5f}",
    "peak_speed_rad_s": "{:.2f}",
    "clipped_steps": "{}",
    "rms_position_m": "{:.5f}",
}


def straight_elbow(arm: Arm) -> float:
    """The angle of the Panda's joint 4 at which shoulder, elbow and wrist are farthest apart [rad]: -0.4670.

    The elbow's axis is offset from both links; it is straight where the two offsets' angles add up.
    """
    model = arm.model
    upper = model.body("link3").pos, model.body("link4").pos
    forearm = model.body("link5").pos
    offset, length = upper[1][0], np.linalg.norm(upper[0])
    return -float(np.arctan2(offset, length) + np.arctan2(-forearm[0], forearm[1]))


def end_state(run: Run) -> EndState:
    """Where the Panda rests, by mechanism: joints and tool back at home, or elbow past straight and tool away."""
    elbow = run.q[-1, run.arm.joint_names.index("joint4")]
    bent_as_at_home = elbow < straight_elbow(run.arm)
    position, orientation = HOME_ERROR
    tool_is_back = run.position_error[-1] < position and np.linalg.norm(run.errors[-1, 3:]) < orientation
    joints_are_back = np.linalg.norm(run.q[-1] - run.arm.home) < HOME_DISTANCE
    if bent_as_at_home and tool_is_back and joints_are_back:
        return EndState.HEALTHY
    if not bent_as_at_home and not tool_is_back:
        return EndState.COLLAPSED
    return EndState.UNDECIDED


def summary(run: Run, damping: float) -> Row:
    """The row of a run."""
    return Row(
        damping=damping,
        end_state=end_state(run),
        drift_rad=float(run.distance_from_home.max()),
        final_error_m=float(run.position_error[-1]),
        peak_speed_rad_s=float(run.joint_speed.max()),
        clipped_steps=int(run.clipped.sum()),
        rms_position_m=float(np.sqrt(np.mean(run.position_error**2))),
    )


def study(
    arm: Arm,
    reach: float = REACH,
    dampings: Sequence[float] = DAMPINGS,
    progress: Callable[[Sequence[float]], Iterable[float]] = iter,
) -> list[Row]:
    """Run the reach once for every damping.

    Args:
        arm: the Panda.
        reach: farthest distance from the shoulder [m].
        dampings: values of lambda.
        progress: wraps the dampings, for a progress bar.

    Raises:
        ValueError: the arm is not the Panda, or a value is out of its range.
    """
    if "joint4" not in arm.joint_names:
        raise ValueError(f"the study is about the Panda's elbow, joint4; this arm has {list(arm.joint_names)}")
    path = reach_and_return(arm, reach)
    return [summary(track(arm, path, DampedLeastSquares(damping)), damping) for damping in progress(dampings)]


def header() -> list[str]:
    """The names of the table's columns."""
    return [column.name for column in fields(Row)]


def printed(row: Row) -> list[str]:
    """The row's values as they are written, one a column."""
    short = f"{row.damping:.0e}"
    damping = short if float(short) == row.damping else f"{row.damping:g}"
    return [damping, *(FORMATS[name].format(value) for name, value in zip(header()[1:], astuple(row)[1:], strict=True))]


def table(rows: Iterable[Row]) -> str:
    """The table as text, in columns."""
    lines = [header(), *map(printed, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def write(rows: Iterable[Row], file: Path) -> None:
    """Write the table as CSV."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header())
        writer.writerows(map(printed, rows))


def read(file: Path) -> list[Row]:
    """Read a table that `write` wrote.

    Raises:
        ValueError: the file holds another table.
    """
    convert = {"damping": float, "end_state": EndState, "clipped_steps": int}
    with file.open(newline="") as stream:
        lines = csv.DictReader(stream)
        if lines.fieldnames != header():
            raise ValueError(f"{file} must have the columns {header()}; it has {lines.fieldnames}")
        try:
            return [Row(**{name: convert.get(name, float)(text) for name, text in line.items()}) for line in lines]
        except (TypeError, ValueError) as error:  # a cell too many, too few, or of another kind
            raise ValueError(f"{file}, line {lines.line_num}: {error}") from None


def agree(a: Row, b: Row) -> bool:
    """Whether two runs are the same run: every printed digit where the arm came home, the same fold where it did not.

    A folded arm rests against the floor and itself, which magnifies the last bit of rounding into the third digit.
    """
    if a.end_state is EndState.HEALTHY or b.end_state is EndState.HEALTHY:
        return printed(a) == printed(b)
    same_fold = (a.damping, a.end_state, a.clipped_steps) == (b.damping, b.end_state, b.clipped_steps)
    tolerances = {"drift_rad": 0.002, "final_error_m": 0.001, "peak_speed_rad_s": 0.02, "rms_position_m": 0.001}
    return same_fold and all(abs(getattr(a, name) - getattr(b, name)) <= bound for name, bound in tolerances.items())

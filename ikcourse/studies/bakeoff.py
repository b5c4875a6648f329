"""The bake-off: every law, each swept over its own parameter, on five reaches that all leave the arm's reach.

None of the five farthest poses exists, so all the laws are asked for something that cannot be had. The target then
waits at home for two seconds: what is still wrong at the end is no lag. The root mean square is taken where the pose
exists: what no law can reach counts against none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ikcourse import scenes
from ikcourse.box import BoxedLeastSquares
from ikcourse.laws import (
    AdaptiveDamping,
    DampedLeastSquares,
    Law,
    PseudoInverse,
    SelectivelyDamped,
    Transpose,
    TruncatedSVD,
)
from ikcourse.loop import Run
from ikcourse.mink_qp import MinkQP
from ikcourse.paths import reach_and_return
from ikcourse.studies.ends import farthest_reach
from ikcourse.studies.many import Progress, run_all
from ikcourse.studies.outcome import Outcome, measures
from ikcourse.studies.tables import measured, setting
from ikcourse.track import track

FILE = "bakeoff.csv"
REACHES = (0.70, 0.71, 0.72, 0.73, 0.74)
REST = 2.0
"""How long the target waits at home after the reach [s]."""
NOTHING = float("nan")
"""The value of a law that has no parameter."""


class Sweep(NamedTuple):
    """A law and the values of its one parameter.

    Attributes:
        parameter: its name.
        values: what it is swept over.
        law: the law of a value.
        posture: whether the law wants to come home, beside following.
        stacks: whether `track_many` takes the law.
    """

    parameter: str
    values: Sequence[float]
    law: Callable[[float], Law]
    posture: bool = False
    stacks: bool = True


DAMPINGS = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.05, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5)
WEIGHTS = (1e-4, 1e-3, 3e-3, 5e-3, 1e-2, 2e-2, 3e-2, 0.1, 0.3)
FEW = (1e-3, 1e-2, 0.1)
WEIGHTS_OF_MINK = (1e-3, 1e-2, 3e-2, 0.1)

LAWS: Mapping[str, Sweep] = {
    "pseudo-inverse": Sweep("none", (NOTHING,), lambda value: PseudoInverse()),
    "transpose, best step": Sweep("none", (NOTHING,), lambda value: Transpose()),
    "transpose": Sweep("gain", (0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 100.0, 200.0), Transpose),
    "truncated": Sweep("threshold", (1e-3, 1e-2, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.15, 0.2), TruncatedSVD),
    "adaptive": Sweep(
        "damping_max", (1e-2, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5), lambda value: AdaptiveDamping(0.05, value)
    ),
    "selective": Sweep("gamma_max", (0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3.0), SelectivelyDamped),
    "damped": Sweep("damping", DAMPINGS, DampedLeastSquares),
    "damped + posture": Sweep("damping", WEIGHTS, lambda value: DampedLeastSquares(value, 1.0), posture=True),
    "box": Sweep("damping", FEW, lambda value: BoxedLeastSquares(value, 0.0, max_joint_speed=1.0), stacks=False),
    "box + posture": Sweep(
        "damping", FEW, lambda value: BoxedLeastSquares(value, 1.0, max_joint_speed=1.0), posture=True, stacks=False
    ),
    "mink": Sweep(
        "posture_cost", (0.0, *WEIGHTS_OF_MINK), lambda value: MinkQP(posture_cost=value), posture=True, stacks=False
    ),
    "mink, cost 1e-3": Sweep(
        "max_joint_speed",
        (0.05, 0.1, 0.2),
        lambda value: MinkQP(posture_cost=1e-3, max_joint_speed=value),
        posture=True,
        stacks=False,
    ),
}


class Setting(NamedTuple):
    """What is run, as the columns of the same names say."""

    law: str
    parameter: str
    value: float
    reach_m: float


SETTINGS = tuple(
    Setting(name, sweep.parameter, value, reach)
    for name, sweep in LAWS.items()
    for value in sweep.values
    for reach in REACHES
)

SURE = {
    "transpose": (30.0,),
    "truncated": (0.1,),
    "adaptive": (0.2,),
    "selective": (0.4,),
    "damped": (1e-2, 0.12, 0.2),
    "damped + posture": (1e-2, 3e-2, 0.1),
    "box + posture": (1e-2,),
    "mink": (1e-2,),
}
CHECKED = tuple(
    each for each in SETTINGS if each.value in SURE.get(each.law, ()) and each.reach_m in (REACHES[0], REACHES[-1])
)
"""What one machine computes as another does; nearer to a fold the last bit of rounding decides."""


@dataclass(frozen=True)
class Row(Outcome):
    """One run of the study.

    Attributes:
        law, parameter, value: a name of `LAWS`, its parameter and the value.
        rms_reachable_m: root mean square of the distance from the target, over the steps whose target exists.
        rms_reachable_rad: likewise of the angle.
        joint_speed_rad_s: of the joint that moved fastest in any step; the servo makes it of the command, whose own
            greatest is `peak_speed_rad_s`.
    """

    model: str = setting()
    law: str = setting()
    parameter: str = setting()
    value: float = setting("{:.3g}")
    reach_m: float = setting("{:.2f}")
    rms_reachable_m: float = measured("{:.5f}", tolerance=0.001)
    rms_reachable_rad: float = measured("{:.4f}", tolerance=0.01)
    joint_speed_rad_s: float = measured("{:.2f}", tolerance=0.05)


def compute(model: str, settings: Sequence[Setting] = SETTINGS, progress: Progress = iter) -> list[Row]:
    """Reach, return and wait, once for every setting.

    Raises:
        RuntimeError: mink is not installed and a setting asks for it.
    """
    arm = scenes.panda(model)
    paths = {reach: reach_and_return(arm, reach, rest=REST) for reach in {each.reach_m for each in settings}}
    laws = [LAWS[each.law].law(each.value) for each in settings]
    stacked = [i for i, each in enumerate(settings) if LAWS[each.law].stacks]
    alone = [i for i in range(len(settings)) if i not in set(stacked)]
    for i in alone:
        laws[i].bind(arm)  # what is not installed is said before the first run
    rows = {}
    for i, run in zip(
        stacked,
        run_all(arm, [paths[settings[i].reach_m] for i in stacked], [laws[i] for i in stacked], progress),
        strict=True,
    ):
        rows[i] = _row(model, settings[i], run)
    for i in progress(alone):
        rows[i] = _row(model, settings[i], track(arm, paths[settings[i].reach_m], laws[i]))
    return [rows[i] for i in range(len(settings))]


def _row(model: str, each: Setting, run: Run) -> Row:
    position, angle = rms_reachable(run)
    return Row(
        model=model,
        **each._asdict(),
        rms_reachable_m=position,
        rms_reachable_rad=angle,
        joint_speed_rad_s=float(moved(run).max()),
        **measures(run),
    )


def reachable(run: Run) -> np.ndarray:
    """Which steps of a reach ask for a pose that exists, (T,)."""
    arm = run.arm
    shoulder = arm.data().xanchor[arm.joints[0]]
    return np.asarray(np.linalg.norm(run.path.positions - shoulder, axis=1) <= farthest_reach(arm))


def rms_reachable(run: Run) -> tuple[float, float]:
    """Root mean square of the pose error over the steps whose target exists, [m] and [rad]."""
    squared = run.errors[reachable(run)] ** 2
    return float(squared[:, :3].sum(axis=1).mean() ** 0.5), float(squared[:, 3:].sum(axis=1).mean() ** 0.5)


def moved(run: Run) -> np.ndarray:
    """Speed of the joint that moved fastest in each step, (T,) [rad/s]: not what was commanded."""
    return np.asarray(np.abs(np.diff(run.q, axis=0)).max(axis=1) / run.arm.model.opt.timestep)


def facts(rows: Sequence[Row]) -> list[str]:
    """What the table says, a sentence each."""
    from ikcourse.studies import bakeoff_facts  # which reads this module's rows

    return bakeoff_facts.facts(rows)

"""What a solve costs: each law of the bake-off timed on the same states. A time is no result, and is printed only."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping

import numpy as np

from ikcourse import scenes
from ikcourse.arm import Arm
from ikcourse.jacobian import jacobians_at, pose_error, site_pose
from ikcourse.laws import DampedLeastSquares, Law, State
from ikcourse.paths import Path, reach_and_return
from ikcourse.studies.bakeoff import LAWS, REACHES
from ikcourse.track import track

TYPICAL = {
    "transpose": 30.0,
    "truncated": 0.07,
    "adaptive": 0.2,
    "selective": 0.8,
    "damped": 0.12,
    "mink, cost 1e-3": 0.1,
}
"""Values that come home; 1e-2 for the others that have one."""
EVERY = 100
"""Steps from one timed state to the next."""
REPEATS = 7


def laws() -> dict[str, Law]:
    """Every law of the bake-off at one value."""
    return {name: sweep.law(TYPICAL.get(name, 1e-2)) for name, sweep in LAWS.items()}


def states(arm: Arm, path: Path) -> list[State]:
    """What the laws are asked: states of a run that comes home, each with its own simulation."""
    run = track(arm, path, DampedLeastSquares(1e-2, 1.0))
    found = []
    for k in range(0, len(path.times), EVERY):
        q, data = run.q[k].copy(), arm.data(run.q[k])
        pose, target = site_pose(arm, data), (path.positions[k], path.quaternions[k])
        error = pose_error(*target, *pose)
        found.append(State(q, np.zeros(arm.n), *pose, jacobians_at(arm, q), error, *target, path.twists[k], data))
    return found


def microseconds(arm: Arm, timed: Mapping[str, Law], repeats: int = REPEATS) -> dict[str, list[float]]:
    """Microseconds of one solve of each law, a mean over the same states in each of the interleaved repeats."""
    asked = states(arm, reach_and_return(arm, max(REACHES)))
    steps = {name: law.bind(arm) for name, law in timed.items()}
    found: dict[str, list[float]] = {name: [] for name in steps}
    for repeat in range(repeats + 1):  # the first warms up
        for name, step in steps.items():
            began = time.perf_counter()
            for state in asked:
                step(state)
            if repeat:
                found[name].append((time.perf_counter() - began) / len(asked) * 1e6)
    return found


def print_costs() -> None:
    """Print the fastest and the median of each law; on a busy machine the fastest says more."""
    for name, spent in microseconds(scenes.panda(), laws()).items():
        print(f"{name:>22}: {min(spent):6.1f} us a solve, median {statistics.median(spent):6.1f} of {len(spent)}")

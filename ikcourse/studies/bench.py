"""What control costs beside the physics it drives: closed loops, one and many, against replays of their controls."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import mujoco
import numpy as np
from mujoco import rollout

from ikcourse import scenes
from ikcourse.laws import DampedLeastSquares
from ikcourse.paths import reach_and_return
from ikcourse.studies import reach
from ikcourse.track import Controller, track
from ikcourse.track_many import track_many

BOUND = 3.5
REPEATS = 15
BATCH_BOUND = 2.2
"""Most seconds of `track_many` per second of the bare replay of its runs, both on two threads."""
FASTER_BOUND = 6.0
"""Least seconds of `track`, run after run, per second of `track_many`."""
BATCH_REPEATS = 3
THREADS = 2


def ratios(damping: float = 1e-2, repeats: int = REPEATS) -> tuple[list[float], float]:
    """Seconds of `track` over seconds of a one-thread `mujoco.rollout` of the same controls, interleaved.

    Returns:
        One ratio for each repeat, and the microseconds a control step took in the fastest of them.
    """
    arm, law = scenes.panda(), DampedLeastSquares(damping)
    path = reach_and_return(arm)
    controller = Controller(arm, law)
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty(mujoco.mj_stateSize(arm.model, full))
    mujoco.mj_getState(arm.model, controller.data, start, full)
    controls = np.empty((len(path.times), arm.model.nu))
    for k in range(len(controls)):
        controller.step(path.positions[k], path.quaternions[k])
        controls[k] = controller.data.ctrl
    loop_ends_at = controller.data.qpos.copy()

    replay, found, fastest = mujoco.MjData(arm.model), [], np.inf
    with rollout.Rollout(nthread=0) as bare:
        for _ in range(repeats):
            began = time.perf_counter()
            run = track(arm, path, law)
            closed = time.perf_counter()
            states, _ = bare.rollout(arm.model, replay, start[None], controls[None])
            ended = time.perf_counter()
            found.append((closed - began) / (ended - closed))
            fastest = min(fastest, closed - began)
    replayed = states[0, -1, 1 : 1 + arm.model.nq]
    if not np.allclose(replayed, loop_ends_at, atol=1e-9) or not np.allclose(
        run.q[-1], replayed[arm.qpos_addresses], atol=1e-9
    ):
        raise RuntimeError("the replay does not follow the loop: the two times cannot be compared")
    return found, fastest / len(path.times) * 1e6


def batch_seconds(
    settings: Sequence[tuple[float, float, float]] = reach.SETTINGS, repeats: int = BATCH_REPEATS
) -> np.ndarray:
    """Seconds of the runs of the reach study, interleaved: `track_many`, their bare replay, `track` run after run.

    Returns:
        (repeats, 3); the first two on two threads.
    """
    arm = scenes.panda()
    target = {distance: reach_and_return(arm, distance) for distance, _, _ in settings}
    paths = [target[distance] for distance, _, _ in settings]
    laws = [DampedLeastSquares(damping, gain) for _, gain, damping in settings]
    home, full = arm.data(), mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty(mujoco.mj_stateSize(arm.model, full))
    mujoco.mj_getState(arm.model, home, start, full)
    controls = np.tile(home.ctrl, (len(laws), len(paths[0].times), 1))
    runs = track_many(arm, paths, laws, threads=THREADS)
    for control, run in zip(controls, runs, strict=True):
        control[:, arm.actuators] = np.clip(run.setpoints, *run.limits)
    starts, warm = np.tile(start, (len(laws), 1)), np.tile(home.qacc_warmstart, (len(laws), 1))
    ends, replays = np.array([run.q[-1] for run in runs]), [mujoco.MjData(arm.model) for _ in range(THREADS)]
    del runs  # a tenth of a gigabyte of traces

    seconds = np.empty((repeats, 3))
    with rollout.Rollout(nthread=THREADS) as bare:
        for row in seconds:
            marks = [time.perf_counter()]
            track_many(arm, paths, laws, threads=THREADS)
            marks.append(time.perf_counter())
            states, _ = bare.rollout(arm.model, replays, starts, controls, initial_warmstart=warm)
            marks.append(time.perf_counter())
            for path, law in zip(paths, laws, strict=True):
                track(arm, path, law)
            marks.append(time.perf_counter())
            row[:] = np.diff(marks)
    if not np.array_equal(states[:, -1, 1 + arm.qpos_addresses], ends):
        raise RuntimeError("the replay does not follow the runs: the times cannot be compared")
    return seconds


def print_ratio() -> None:
    """Print each median ratio beside the bound that the project sets itself."""
    found, microseconds = ratios()
    _print("control step / bare rollout step", found, statistics.median(found) <= BOUND, f"at most {BOUND}")
    print(f"one control step takes {microseconds:.1f} microseconds")
    many, bare, one_by_one = batch_seconds().T
    cost, faster = (many / bare).tolist(), (one_by_one / many).tolist()
    name = f"track_many / bare rollout, {THREADS} threads"
    _print(name, cost, statistics.median(cost) <= BATCH_BOUND, f"at most {BATCH_BOUND}")
    _print("track / track_many", faster, statistics.median(faster) >= FASTER_BOUND, f"at least {FASTER_BOUND}")


def _print(name: str, found: Sequence[float], met: bool, bound: str) -> None:
    print(f"{name}: {statistics.median(found):.2f} (median of {len(found)}, {min(found):.2f} to {max(found):.2f})")
    print(f"bound {bound}: {'met' if met else 'MISSED'}")

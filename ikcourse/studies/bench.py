"""What a control step costs beside the physics it drives: a closed loop against a bare replay of its controls."""

from __future__ import annotations

import statistics
import time

import mujoco
import numpy as np
from mujoco import rollout

from ikcourse import scenes
from ikcourse.laws import DampedLeastSquares
from ikcourse.paths import reach_and_return
from ikcourse.track import Controller, track

BOUND = 3.5
REPEATS = 15


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


def print_ratio() -> None:
    """Print the median ratio beside the bound that the project sets itself."""
    found, microseconds = ratios()
    median = statistics.median(found)
    verdict = "met" if median <= BOUND else "MISSED"
    print(
        f"control step / bare rollout step: {median:.2f} (median of {len(found)}, {min(found):.2f} to {max(found):.2f})"
    )
    print(f"bound {BOUND}: {verdict}; one control step takes {microseconds:.1f} microseconds")

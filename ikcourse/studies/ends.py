"""Where a reach ended, told by mechanism: on which side of its straight elbow the arm stands, and whether it rests.

A lag is a number, not a state: an arm on home's side with its tool a few centimetres behind is healthy, and its row
says how far behind. What is neither home nor folded is undecided, with its reason; no run is forced into a state.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ikcourse.arm import Arm
from ikcourse.loop import Run

ELBOW_MARGIN = 0.1
"""An elbow nearer to straight than this [rad] is on neither side."""
REST_SPEED, REST_TIME = 0.03, 0.1
"""An arm rests where no joint moved faster than this [rad/s], on average over this long [s]."""
HOME_ERROR = (0.1, 0.5)
"""A tool farther than this from its target [m], or turned farther [rad], has not come home."""
HOME_DISTANCE = 0.8
"""Joints farther than this from home [rad], all together, have swivelled."""


class EndState(StrEnum):
    """Where the arm is after the reach."""

    HEALTHY = "healthy"
    COLLAPSED = "collapse"
    UNDECIDED = "undecided"


class Reason(StrEnum):
    """Why an end is neither home nor folded."""

    NONE = ""
    MOVING = "moving"
    STRAIGHT = "elbow straight"
    STALLED = "stalled"
    SWIVELLED = "swivelled"


@dataclass(frozen=True)
class End:
    """An end state, and the reason where it is undecided."""

    state: EndState
    reason: Reason = Reason.NONE


def straight_elbow(arm: Arm) -> float:
    """The angle of the Panda's joint 4 at which shoulder, elbow and wrist are farthest apart [rad]: -0.4670.

    The elbow's axis is offset from both links; it is straight where the two offsets' angles add up.

    Raises:
        ValueError: the arm is not the Panda.
    """
    elbow_of(arm)
    model = arm.model
    offset, length = model.body("link4").pos[0], np.linalg.norm(model.body("link3").pos)
    forearm = model.body("link5").pos
    return -float(np.arctan2(offset, length) + np.arctan2(-forearm[0], forearm[1]))


def farthest_reach(arm: Arm) -> float:
    """The farthest distance from the shoulder at which `reach_and_return` asks for a pose that exists [m]: 0.69907.

    The wrist is carried along the ray with the tool, as far from it as at home, and comes no farther from the shoulder
    than the two halves of a straight arm are long. Home's own wrist is, of all that the free joint allows, the one
    nearest to the shoulder.

    Raises:
        ValueError: the arm is not the Panda.
    """
    elbow_of(arm)
    model, data = arm.model, arm.data()
    shoulder, tool = data.xanchor[arm.joints[0]], data.site_xpos[arm.site]
    upper_arm, forearm = model.body("link3").pos, model.body("link5").pos
    offset = model.body("link4").pos
    longest = np.hypot(np.linalg.norm(upper_arm), offset[0]) + np.linalg.norm(forearm)
    wrist, ray = data.body("link5").xpos - shoulder, tool - shoulder
    distance = float(np.linalg.norm(ray))
    along = float(wrist @ ray) / distance
    return distance - along + float(np.sqrt(along**2 - wrist @ wrist + longest**2))


def elbow_of(arm: Arm) -> int:
    """Which of the arm's joints is the Panda's elbow, joint4; ValueError where there is none."""
    if "joint4" not in arm.joint_names:
        raise ValueError(f"the study is about the Panda's elbow, joint4; this arm has {list(arm.joint_names)}")
    return arm.joint_names.index("joint4")


def end(run: Run) -> End:
    """Where the Panda ended."""
    back = min(max(1, round(REST_TIME / run.arm.model.opt.timestep)), len(run.q) - 1)
    moved = run.q[-1] - run.q[-1 - back]
    speed = float(np.abs(moved).max()) / (back * run.arm.model.opt.timestep)
    return decide(run.arm, run.q[-1], speed, run.errors[-1])


def end_state(run: Run) -> EndState:
    """The state alone."""
    return end(run).state


def decide(arm: Arm, q: np.ndarray, speed: float, error: np.ndarray) -> End:
    """The rule itself.

    Args:
        arm: the Panda.
        q: where it ended, (n,) [rad].
        speed: of its fastest joint at the end [rad/s].
        error: the last pose error, (6,) [m] and [rad].

    Raises:
        ValueError: a value is not finite, which no comparison below would notice.
    """
    if not (np.isfinite(q).all() and np.isfinite(speed) and np.isfinite(error).all()):
        raise ValueError(f"an end needs finite joints, speed and error; got {q}, {speed} and {error}")
    past_straight = q[elbow_of(arm)] - straight_elbow(arm)
    rests = speed < REST_SPEED
    if past_straight > ELBOW_MARGIN:
        return End(EndState.COLLAPSED) if rests else End(EndState.UNDECIDED, Reason.MOVING)
    if past_straight > -ELBOW_MARGIN:
        return End(EndState.UNDECIDED, Reason.STRAIGHT if rests else Reason.MOVING)
    if np.linalg.norm(error[:3]) >= HOME_ERROR[0] or np.linalg.norm(error[3:]) >= HOME_ERROR[1]:
        return End(EndState.UNDECIDED, Reason.STALLED if rests else Reason.MOVING)
    if np.linalg.norm(q - arm.home) > HOME_DISTANCE:
        return End(EndState.UNDECIDED, Reason.SWIVELLED)
    return End(EndState.HEALTHY)

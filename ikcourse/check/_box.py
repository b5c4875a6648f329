"""The exercise on the box that joint and speed limits leave to one step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ikcourse.check._answer import Answer, Broken, Function
from ikcourse.check._box_mistakes import MISTAKES, right
from ikcourse.check._judge import Exercise, Property, Result, close, judge

TOLERANCE = 1e-9


def box(function: Function) -> Result:
    """Check the box of joint velocities that the limits allow for one step.

    Args:
        function: f(q, lower, upper, speed, gain, dt) -> (2, n), the lowest and the highest joint velocity: a step of dt
            goes at most gain of the way to a joint limit and no joint is faster than its speed. A joint outside its
            limits has to come back; where its speed cannot bring it back far enough, it comes back at its speed.
            Limits may be infinite.

    Returns:
        What was found. It tells apart by name: displacements where velocities are meant; a continuous joint that loses
        its speed limit; a joint outside that may stay there; a box that is empty; the wider of two bounds; a gain that
        is ignored or scales the speed too; rows or limits the wrong way round; a changed input.
    """
    return judge(function, EXERCISE)


@dataclass(frozen=True, eq=False)
class Case:
    """The arguments of one call."""

    q: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    gain: float
    dt: float

    @property
    def arguments(self) -> tuple:
        return self.q.copy(), self.lower.copy(), self.upper.copy(), self.speed.copy(), self.gain, self.dt


def case(places: list[float], gain: float, dt: float, continuous: bool = False, speed: float = 1.0) -> Case:
    """Joints with ranges of their own, each at a place: 0 its lower limit, 1 its upper, beyond them outside."""
    n = len(places)
    lower, upper = np.linspace(-2.0, -0.5, n), np.linspace(0.4, 2.5, n)
    q = lower + np.array(places) * (upper - lower)
    if continuous:
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    return Case(q, lower, upper, speed * np.linspace(0.8, 1.7, n), gain, dt)


MIDDLE = case([0.4, 0.5, 0.6], 0.9, 0.01)
CONTINUOUS = case([0.5, 3.0, -7.0], 0.9, 0.01, continuous=True)
NEAR = case([0.002, 0.999, 0.998, 0.001], 0.8, 0.05, speed=5.0)
OUTSIDE = case([-0.002, 1.001, -0.001], 0.8, 0.05, speed=5.0)
FAR = case([-0.4, 1.3, 0.5, 1.2], 0.95, 0.1)
MIXED = case([0.5, 1.001, 0.001, -0.3, 0.999], 0.7, 0.02)
PROBED = (MIDDLE, NEAR, OUTSIDE, FAR, MIXED, case([1.4, 0.001, 1.0], 0.5, 2.0))


def _speed_both_ways(answer: Answer, probe: Case, where: str) -> str:
    lowest, highest = answer(*probe.arguments)
    if close(np.stack([-lowest, highest]), np.stack([probe.speed] * 2), TOLERANCE):
        return ""
    i = int(np.maximum(np.abs(lowest + probe.speed), np.abs(highest - probe.speed)).argmax())
    return (
        f"{where} a joint may go as fast as its speed, for joint {i + 1} that is {probe.speed[i]:.3g} rad/s both ways; "
        f"yours gets {lowest[i]:.3g} to {highest[i]:.3g}."
    )


def speed_alone(answer: Answer) -> str:
    return _speed_both_ways(answer, MIDDLE, "Far from its limits")


def continuous(answer: Answer) -> str:
    try:
        return _speed_both_ways(answer, CONTINUOUS, "Without position limits")
    except Broken as broken:
        if broken.finding != "not finite":
            raise
        return "A joint without position limits is allowed an infinite velocity."


def near(answer: Answer) -> str:
    lowest, highest = answer(*NEAR.arguments)
    way = np.array([NEAR.lower - NEAR.q, NEAR.upper - NEAR.q])
    used = np.array([lowest[[0, 3]], highest[[1, 2]]]) * NEAR.dt / np.array([way[0, [0, 3]], way[1, [1, 2]]])
    if np.abs(used - NEAR.gain).max() <= TOLERANCE:
        return ""
    worst = used.flat[np.abs(used - NEAR.gain).argmax()]
    return f"Near a limit one step of dt goes {worst:.3g} of the way to it, and gain, {NEAR.gain}, is allowed."


def comes_back(answer: Answer) -> str:
    lowest, highest = answer(*OUTSIDE.arguments)
    velocity = np.array([lowest[0], highest[1], lowest[2]])
    limit = np.array([OUTSIDE.lower[0], OUTSIDE.upper[1], OUTSIDE.lower[2]])
    back = velocity * OUTSIDE.dt / (limit - OUTSIDE.q)
    if np.abs(back - OUTSIDE.gain).max() <= TOLERANCE:
        return ""
    return (
        f"A joint just outside its limit must come back by gain, {OUTSIDE.gain}, of the way or more in a step; your "
        f"box begins at {back[np.abs(back - OUTSIDE.gain).argmax()]:.3g} of it."
    )


def never_empty(answer: Answer) -> str:
    lowest, highest = answer(*FAR.arguments)
    if (lowest > highest).any():
        i = int(np.argmax(lowest - highest))
        return f"For a joint far outside the lowest velocity, {lowest[i]:.3g}, is above the highest, {highest[i]:.3g}."
    fastest = np.array([FAR.speed[0], -FAR.speed[1], -FAR.speed[3]])
    out = [0, 1, 3]
    if close(np.stack([lowest[out], highest[out]]), np.stack([fastest] * 2), TOLERANCE):
        return ""
    return (
        f"A joint too far outside for one step must come back at its speed, {fastest[0]:.3g}; yours may choose between "
        f"{lowest[0]:.3g} and {highest[0]:.3g}."
    )


def everywhere(answer: Answer) -> str:
    for probe in PROBED:
        try:
            given = answer(*probe.arguments)
        except Broken as broken:
            return f"With {len(probe.q)} joints and dt = {probe.dt:g} it fails: {broken.finding}."
        if not close(given, right(*probe.arguments), TOLERANCE):
            return f"With {len(probe.q)} joints, gain {probe.gain:g} and dt = {probe.dt:g} a bound is another one."
    return ""


EXERCISE = Exercise(
    shape=lambda q, lower, upper, speed, gain, dt: (2, len(q)),
    properties=(
        Property("the speed limit is not kept", speed_alone, "Far from the limits the speed alone decides."),
        Property(
            "a continuous joint loses its speed limit",
            continuous,
            "It needs no case of its own: the smaller of infinity and its speed is its speed.",
        ),
        Property("the joint limit is not kept", near, "The bound is gain (limit - q) / dt."),
        Property("a joint outside is not brought back", comes_back, "The same formula says it, with its sign."),
        Property("the box is wrong far outside", never_empty, "Cut both rows to -speed ... speed."),
        Property("not the same box everywhere", everywhere, "Is a number of joints or a dt written by hand?"),
    ),
    mistakes=MISTAKES,
    probes=lambda: [probe.arguments for probe in PROBED],
    passed="It is the box: speed far from the limits, part of the way near them, back from outside, and never empty.",
)

"""The rule that says where a reach ended, and the wrong ones that are known."""

from __future__ import annotations

from collections.abc import Callable

from ikcourse.check._judge import Mistake
from ikcourse.studies.ends import ELBOW_MARGIN, HOME_DISTANCE, HOME_ERROR, REST_SPEED

Rule = Callable[[float, float, float, float, float], str]
PANDA_STRAIGHT = -0.467


def _rule(
    margin: float = ELBOW_MARGIN,
    rest: float = REST_SPEED,
    home_rest: float = float("inf"),
    near: float = HOME_ERROR[0],
    away_most: float = HOME_DISTANCE,
) -> Rule:
    """The rule with these thresholds; an infinite one asks for nothing."""

    def rule(elbow: float, straight: float, speed: float, error: float, away: float) -> str:
        past = elbow - straight
        if past > margin:
            return "collapse" if speed < rest else "undecided"
        home = past < -margin and error < near and away <= away_most and speed < home_rest
        return "healthy" if home else "undecided"

    return rule


right: Rule = _rule()
"""What the exercise asks for."""


def _forced(elbow: float, straight: float, speed: float, error: float, away: float) -> str:
    found = right(elbow, straight, speed, error, away)
    return "collapse" if found == "undecided" else found


MISTAKES = (
    Mistake(
        "drift alone",
        "It asks how far the joints are from home, which only looks like a fold. An arm that stalls is not far from "
        "home and has not come home. Ask on which side of straight the elbow rests.",
        tuple(
            lambda elbow, straight, speed, error, away, most=most: "healthy" if away < most else "collapse"
            for most in (1.6, 2.0, 2.5)
        ),
    ),
    Mistake(
        "error alone",
        "It asks where the tool is. An arm can hold its tool in place with its elbow past straight, and can be far "
        "behind on its way home: both are read wrong.",
        tuple(
            lambda elbow, straight, speed, error, away, most=most: "healthy" if error < most else "collapse"
            for most in (0.02, 0.1, 0.15)
        ),
    ),
    Mistake(
        "the elbow's side alone",
        "Each arm is forced into home or folded by its side. One that still moves, stands straight or has stalled is "
        "neither, and a table that says otherwise has made it up.",
        (lambda elbow, straight, speed, error, away: "collapse" if elbow > straight else "healthy",),
    ),
    Mistake(
        "nothing is undecided",
        "Where the rule has no answer it gives one all the same. Undecided is an answer.",
        (_forced,),
    ),
    Mistake(
        "the sign of the straight elbow",
        "The sides are exchanged, or straight has lost its sign. Home is where elbow - straight is negative.",
        (
            lambda elbow, straight, *rest: right(elbow, -straight, *rest),
            lambda elbow, straight, *rest: right(-elbow, -straight, *rest),
            lambda elbow, straight, *rest: right(elbow, 0.0, *rest),
        ),
    ),
    Mistake(
        "one arm's straight elbow",
        "-0.467 is written into it. The angle belongs to the arm, and comes as an argument.",
        (lambda elbow, straight, *rest: right(elbow, PANDA_STRAIGHT, *rest),),
    ),
    Mistake(
        "a moving arm counts as folded",
        "Past straight is not folded as long as the arm moves. Compare the speed too.",
        (_rule(rest=float("inf")),),
    ),
    Mistake(
        "home must be at rest",
        "An arm whose tool follows its target home at the end is home; only folded asks for rest.",
        (_rule(home_rest=REST_SPEED),),
    ),
    Mistake(
        "a lag is a failure",
        "A few centimetres behind is a lag. It belongs into the table as a number; the state asks for 0.1 m.",
        (_rule(near=0.02), _rule(near=0.05), _rule(near=0.01)),
    ),
    Mistake(
        "no margin",
        "An elbow that stands straight is put on one side of it. Within 0.1 rad it is on neither.",
        (_rule(margin=0.0),),
    ),
    Mistake(
        "a stalled arm is healthy",
        "On home's side is not home while the tool is 0.2 m off. Compare the error.",
        (_rule(near=float("inf")), _rule(near=float("inf"), away_most=float("inf"))),
    ),
    Mistake(
        "a swivelled arm is healthy",
        "The tool is in place, and the joints are in another posture than home's. Compare away.",
        (_rule(away_most=float("inf")),),
    ),
)

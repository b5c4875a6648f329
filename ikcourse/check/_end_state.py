"""The exercise on where a reach ended: home, folded, or neither."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from itertools import product
from typing import Any

from ikcourse.check._answer import Answer, Broken, Function
from ikcourse.check._end_state_mistakes import MISTAKES, right
from ikcourse.check._judge import Exercise, Property, Result, judge
from ikcourse.studies.ends import EndState

STATES = tuple(EndState)


def end_state(function: Function) -> Result:
    """Check a rule that says where a reach ended.

    Args:
        function: f(elbow, straight, speed, error, away) -> "healthy", "collapse" or "undecided", or an `EndState`: from
            the final elbow angle and the angle at which that elbow is straight, home being below it [rad], the fastest
            joint at the end [rad/s], the tool's distance from its target [m] and the joints' from home [rad]. Folded is
            at rest (slower than 0.03) more than 0.1 past straight; home is more than 0.1 before it, moving or not,
            with error below 0.1 and away at most 0.8; all else is undecided.

    Returns:
        What was found. It tells apart by name: drift alone; error alone; the elbow's side alone; the sign of the
        straight elbow, or one arm's angle for it; a moving arm that counts as folded, or must rest to be home; a lag
        taken for a failure; no margin; an arm that stalled or swivelled and is called healthy; no undecided at all.
    """
    return judge(_in_numbers(function), EXERCISE)


def _in_numbers(function: Any) -> Any:
    """The function with its state as a number, which the other checkers' machinery compares."""
    if not callable(function):
        return function

    def numbered(*arguments: float) -> Any:
        value = function(*arguments)
        if value is None or value is Ellipsis:
            return value
        if isinstance(value, str) and value in STATES:
            return float(STATES.index(EndState(value)) + 1)
        raise Broken(
            "not a state", f"It returned {value!r}; the states are {', '.join(repr(str(state)) for state in STATES)}."
        )

    return numbered


@dataclass(frozen=True)
class Ending:
    """The arguments of one call."""

    elbow: float
    straight: float
    speed: float
    error: float
    away: float


HOME = Ending(-1.574, -0.467, 0.001, 0.0066, 0.01)
FOLDED = Ending(-0.068, -0.467, 0.01, 0.429, 2.67)


def _expect(ending: Ending, state: EndState, words: str) -> Callable[[Answer], str]:
    def measure(answer: Answer) -> str:
        value = STATES[round(float(answer(*astuple(ending)))) - 1]
        return "" if value is state else f"{words} is {state.value}; yours says {value.value}."

    return measure


def _same_rule(answer: Answer) -> str:
    for arguments in PROBES:
        if float(answer(*arguments)) != _RIGHT(*arguments):
            names = ", ".join(f"{name}={value:g}" for name, value in zip(vars(HOME), arguments, strict=True))
            return f"At {names} it says another state than the rule."
    return ""


_RIGHT = _in_numbers(right)
PROBES = tuple(
    (straight + past, straight, speed, error, away)
    for straight, past, speed, error, away in product(
        (-0.467, 0.3, -1.2),
        (-1.1, -0.3, -0.11, -0.09, -0.03, 0.03, 0.09, 0.11, 0.39),
        (0.01, 0.05),
        (0.007, 0.06, 0.2),
        (0.3, 1.2, 2.6),
    )
)

EXERCISE = Exercise(
    shape=lambda *ending: (),
    properties=(
        Property("an arm at home", _expect(HOME, EndState.HEALTHY, "An arm at rest at home"), "Begin with this one."),
        Property("a folded arm", _expect(FOLDED, EndState.COLLAPSED, "An arm at rest past straight"), "Then this one."),
        Property(
            "a lag is no failure",
            _expect(replace(HOME, error=0.06, speed=0.05), EndState.HEALTHY, "An arm on its way home, 60 mm behind,"),
            "How far behind is a number for the table.",
        ),
        Property(
            "a folded arm that holds its tool",
            _expect(replace(FOLDED, error=0.007), EndState.COLLAPSED, "An elbow at rest past straight, tool in place,"),
            "The elbow tells the two postures of one tool pose apart.",
        ),
        Property(
            "a moving arm",
            _expect(replace(FOLDED, speed=0.05), EndState.UNDECIDED, "An arm past straight that still moves"),
            "Nobody knows yet where it comes to rest.",
        ),
        Property(
            "a straight elbow",
            _expect(replace(HOME, elbow=-0.42), EndState.UNDECIDED, "An elbow half a margin from straight"),
            "It is on neither side.",
        ),
        Property(
            "an arm that stalled",
            _expect(replace(HOME, error=0.2, away=0.3), EndState.UNDECIDED, "An arm near home, its tool 0.2 m off,"),
            "It has not folded, and it is not home.",
        ),
        Property(
            "an arm that swivelled",
            _expect(replace(HOME, away=1.2), EndState.UNDECIDED, "A tool in place, its joints 1.2 rad from home,"),
            "A redundant arm can hold its tool in many postures.",
        ),
        Property("another rule", _same_rule, "Is an angle, or a comparison, written by hand?"),
    ),
    mistakes=tuple(replace(mistake, formulas=tuple(map(_in_numbers, mistake.formulas))) for mistake in MISTAKES),
    probes=lambda: PROBES,
    passed="It tells home from folded by the elbow's side, and leaves undecided what is neither.",
)

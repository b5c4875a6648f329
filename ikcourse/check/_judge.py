"""How an exercise is judged: properties first; what broke one is then named, if a known mistake gives the same answers.

A property measures the answer and says in numbers what is wrong with it. A mistake is a deliberately wrong formula: it
is tried only after a property failed, and named only if it reproduces the reader's answers on every probe.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ikcourse.check import _scene
from ikcourse.check._answer import UNANSWERED, Answer, Broken, Function

MATCH = 1e-6
"""A formula gives the reader's answer if it agrees to this fraction of the answer's size."""


@dataclass(frozen=True, repr=False)
class Result:
    """What a checker found; true if the answer passed.

    Attributes:
        passed: whether every property holds.
        finding: "passed", "not answered yet", or the name of what broke.
        message: what was measured and what usually causes it.
    """

    passed: bool
    finding: str
    message: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"{self._title}: {self.message}"

    def _repr_markdown_(self) -> str:
        return f"**{self._title}.** {self.message}"

    def _repr_html_(self) -> str:
        kind = "tip" if self.passed else "note" if self.finding == UNANSWERED else "warning"
        title = html.escape(self._title)
        message = re.sub("`(.+?)`", r"<code>\1</code>", html.escape(self.message))
        return f'<div class="admonition {kind}"><p class="admonition-title">{title}</p><p>{message}</p></div>'

    @property
    def _title(self) -> str:
        return self.finding[:1].upper() + self.finding[1:]


@dataclass(frozen=True)
class Property:
    """One thing that every right answer does.

    Attributes:
        name: the finding where it does not hold.
        measure: asks the answer, and returns what it found wrong in numbers; "" where the property holds.
        cause: what usually breaks it.
    """

    name: str
    measure: Callable[[Answer], str]
    cause: str


@dataclass(frozen=True)
class Mistake:
    """A known way to go wrong: its name, the wrong formulas that it covers, and what to do about it."""

    name: str
    cause: str
    formulas: Sequence[Function]


@dataclass(frozen=True)
class Exercise:
    """What is asked, and how an answer is judged.

    Attributes:
        shape: shape of a right answer, from the arguments of the call.
        properties: tested in this order, up to the first that does not hold.
        mistakes: tried in this order, after a property failed.
        probes: fresh arguments of the calls on which a mistake is recognised.
        passed: what a right answer is told.
    """

    shape: Callable[..., tuple[int, ...]]
    properties: Sequence[Property]
    mistakes: Sequence[Mistake]
    probes: Callable[[], Iterable[tuple]]
    passed: str


def judge(function: Any, exercise: Exercise) -> Result:
    """Test the properties in their order; name the mistake behind the first that fails, or else the property."""
    if function is None or function is Ellipsis:
        return Result(False, UNANSWERED, "There is no function yet.")
    answer = Answer(function, exercise.shape)
    try:
        for tested in exercise.properties:
            if measured := tested.measure(answer):
                raise Broken(tested.name, f"{measured} {tested.cause}")
    except Broken as broken:
        if broken.finding == "the model is changed":
            _scene.arm.cache_clear()  # the next check gets a new one
            return Result(False, broken.finding, broken.message)
        mistake = None if broken.finding == UNANSWERED else _recognised(function, exercise)
        if mistake is not None:
            return Result(False, mistake.name, mistake.cause)
        return Result(False, broken.finding, broken.message)
    return Result(True, "passed", exercise.passed)


def _recognised(function: Function, exercise: Exercise) -> Mistake | None:
    answers = _outcomes(function, exercise)
    for mistake in exercise.mistakes:
        if any(_same(answers, _outcomes(formula, exercise)) for formula in mistake.formulas):
            return mistake
    return None


def _outcomes(function: Function, exercise: Exercise) -> list[np.ndarray | None]:
    """The function's value on every probe; None where it has none."""
    values: list[np.ndarray | None] = []
    for arguments in exercise.probes():
        try:
            with np.errstate(all="ignore"):
                value = function(*arguments)
            values.append(None if value is None or np.iscomplexobj(value) else np.asarray(value, dtype=float))
        except Exception:
            values.append(None)
    return values


def _same(answers: list[np.ndarray | None], others: list[np.ndarray | None]) -> bool:
    """Whether both have the same values, and both have none on the same probes; no value at all is no match."""
    pairs = [(a, b) for a, b in zip(answers, others, strict=True) if a is not None or b is not None]
    return bool(pairs) and all(a is not None and b is not None and close(a, b, MATCH) for a, b in pairs)


def close(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    """Whether two arrays have one shape, and differ by at most the tolerance times the size of the second."""
    return a.shape == b.shape and bool(np.abs(a - b).max() <= tolerance * np.abs(b).max())

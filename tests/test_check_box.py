"""The checker of the exercise on the box: every named mistake is named, no right answer is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ikcourse import check
from ikcourse.check import _box


def by_clip(q, lower, upper, speed, gain, dt):
    return np.clip(gain * np.stack([lower - q, upper - q]) / dt, -speed, speed)


def by_min_and_max(q, lower, upper, speed, gain, dt):
    lowest = np.minimum(np.maximum(gain * (lower - q) / dt, -speed), speed)
    highest = np.maximum(np.minimum(gain * (upper - q) / dt, speed), -speed)
    return lowest, highest


def joint_by_joint(q, lower, upper, speed, gain, dt):
    rows = np.empty((2, len(q)))
    for i in range(len(q)):
        for row, limit in enumerate((lower[i], upper[i])):
            rows[row, i] = max(-speed[i], min(speed[i], gain * (limit - q[i]) / dt))
    return rows


def by_next_place(q, lower, upper, speed, gain, dt):
    reachable = np.stack([q - speed * dt, q + speed * dt])
    allowed = np.stack([q + gain * (lower - q), q + gain * (upper - q)])
    return (np.clip(allowed, *reachable) - q) / dt


def by_displacements(q, lower, upper, speed, gain, dt):
    return np.clip([gain * (lower - q), gain * (upper - q)], -speed * dt, speed * dt) / dt


def by_where(q, lower, upper, speed, gain, dt):
    wanted = gain * np.array([lower - q, upper - q]) / dt
    return np.where(np.abs(wanted) > speed, np.sign(wanted) * speed, wanted)


def by_mean_and_width(q, lower, upper, speed, gain, dt):
    rows = by_clip(q, lower, upper, speed, gain, dt)
    middle, half = rows.mean(axis=0), (rows[1] - rows[0]) / 2
    return np.stack([middle - half, middle + half])


def by_ratio(q, lower, upper, speed, gain, dt):
    way = np.stack([lower - q, upper - q]) * gain / dt
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.isinf(way), np.sign(way), np.clip(way / speed, -1, 1)) * speed


RIGHT = {
    "clip": by_clip,
    "min and max": by_min_and_max,
    "a loop": joint_by_joint,
    "displacements, then / dt": by_displacements,
    "where": by_where,
    "middle and width": by_mean_and_width,
    "of the speed": by_ratio,
    "by the next place": by_next_place,
    "lists": lambda *a: by_clip(*a).tolist(),
    "sorted": lambda *a: np.sort(by_clip(*a), axis=0),
    "median of three": lambda q, lo, up, v, g, dt: np.array(
        [np.median([g * (limit - q) / dt, -v, v], axis=0) for limit in (lo, up)]
    ),
}


def rows(q, lower, upper, gain, dt):
    return gain * np.stack([lower - q, upper - q]) / dt


def one_sided(bounds, speed):
    return np.maximum(bounds[0], -speed), np.minimum(bounds[1], speed)


def only_limited(q, lower, upper, speed, gain, dt):
    box = np.stack([np.full(len(q), -np.inf), np.full(len(q), np.inf)])
    for i in np.flatnonzero(np.isfinite(lower)):
        box[:, i] = by_clip(q, lower, upper, speed, gain, dt)[:, i]
    return box


def stays_outside(q, lower, upper, speed, gain, dt):
    inside = np.clip(q, lower, upper)
    return by_clip(inside, lower, upper, speed, gain, dt)


def in_place(q, lower, upper, speed, gain, dt):
    lower -= q
    upper -= q
    return np.clip(gain * np.stack([lower, upper]) / dt, -speed, speed)


def free_to_choose(q, lower, upper, speed, gain, dt):
    lowest, highest = one_sided(rows(q, lower, upper, gain, dt), speed)
    crossed = lowest > highest
    return np.where(crossed, -speed, lowest), np.where(crossed, speed, highest)


WRONG = {
    ("the box can be empty", "as mink has it"): lambda q, lo, up, v, g, dt: one_sided(rows(q, lo, up, g, dt), v),
    ("a displacement where a velocity is meant", "no dt"): lambda q, lo, up, v, g, dt: np.clip(
        rows(q, lo, up, g, 1), -v, v
    ),
    ("a displacement where a velocity is meant", "both are ways"): lambda q, lo, up, v, g, dt: (
        by_clip(q, lo, up, v, g, dt) * dt
    ),
    ("a displacement where a velocity is meant", "speed dt"): lambda q, lo, up, v, g, dt: np.clip(
        rows(q, lo, up, g, dt), -v * dt, v * dt
    ),
    ("a displacement where a velocity is meant", "times dt"): lambda q, lo, up, v, g, dt: np.clip(
        rows(q, lo, up, g, 1) * dt, -v, v
    ),
    ("a displacement where a velocity is meant", "no dt, and empty"): lambda q, lo, up, v, g, dt: one_sided(
        rows(q, lo, up, g, 1), v
    ),
    ("a continuous joint loses its speed limit", "skipped"): only_limited,
    ("a continuous joint loses its speed limit", "a large number"): lambda q, lo, up, v, g, dt: np.clip(
        only_limited(q, lo, up, v, g, dt), -1e6, 1e6
    ),
    ("a continuous joint loses its speed limit", "held still"): lambda q, lo, up, v, g, dt: np.where(
        np.isfinite(lo), by_clip(q, lo, up, v, g, dt), 0.0
    ),
    ("a joint outside may stay outside", "clip q first"): stays_outside,
    ("a joint outside may stay outside", "cut at zero"): lambda q, lo, up, v, g, dt: (
        np.minimum(by_clip(q, lo, up, v, g, dt)[0], 0),
        np.maximum(by_clip(q, lo, up, v, g, dt)[1], 0),
    ),
    ("the wider of two bounds", "min, max"): lambda q, lo, up, v, g, dt: (
        np.minimum(rows(q, lo, up, g, dt)[0], -v),
        np.maximum(rows(q, lo, up, g, dt)[1], v),
    ),
    ("the gain is ignored", "all the way"): lambda q, lo, up, v, g, dt: by_clip(q, lo, up, v, 1.0, dt),
    ("the gain is ignored", "all the way, and empty"): lambda q, lo, up, v, g, dt: one_sided(rows(q, lo, up, 1, dt), v),
    ("the gain scales the speed too", "all"): lambda q, lo, up, v, g, dt: g * by_clip(q, lo, up, v, 1.0, dt),
    ("the rows are the wrong way round", "rows"): lambda *a: by_clip(*a)[::-1],
    ("the rows are the wrong way round", "limits"): lambda q, lo, up, v, g, dt: by_clip(q, up, lo, v, g, dt),
    ("the sign of a bound", "q minus a limit"): lambda q, lo, up, v, g, dt: np.clip(
        g * np.stack([q - lo, up - q]) / dt, -v, v
    ),
    ("the sign of a bound", "q minus both"): lambda q, lo, up, v, g, dt: by_clip(-q, -lo, -up, v, g, dt),
    ("a displacement where a velocity is meant", "the cut way over dt"): lambda q, lo, up, v, g, dt: (
        np.clip(rows(q, lo, up, g, 1), -v, v) / dt
    ),
    ("the speed limit is not kept", "half"): lambda q, lo, up, v, g, dt: by_clip(q, lo, up, v / 2, g, dt),
    ("the joint limit is not kept", "speed alone"): lambda q, lo, up, v, g, dt: np.stack([-v, v]),
    ("a joint outside is not brought back", "half as fast"): lambda q, lo, up, v, g, dt: (
        np.where((q < lo) | (q > up), 0.5, 1.0) * by_clip(q, lo, up, v, g, dt)
    ),
    ("the box is wrong far outside", "free to choose"): free_to_choose,
    ("not the same box everywhere", "a dt by hand"): lambda q, lo, up, v, g, dt: by_clip(q, lo, up, v, g, min(dt, 0.1)),
    ("an input is changed", "the limits"): in_place,
    ("wrong shape", "(n, 2)"): lambda *a: by_clip(*a).T,
}


@pytest.mark.parametrize("answer", RIGHT.values(), ids=RIGHT)
def test_a_right_answer_passes_whatever_its_formula(answer):
    result = check.box(answer)
    assert result, result
    assert result.finding == "passed"


def test_at_least_ten_right_formulas_are_tried():
    assert len(RIGHT) >= 10


@pytest.mark.parametrize(("name", "answer"), [(name, a) for (name, _), a in WRONG.items()], ids=map(str, WRONG))
def test_a_mistake_is_named_in_a_sentence_or_three(name, answer):
    result = check.box(answer)
    assert not result
    assert result.finding == name, result
    assert result.message[-1] in ".?"
    assert len(result.message) < 420, len(result.message)


def test_the_joint_that_is_wrong_is_the_one_that_is_named():
    result = check.box(lambda q, lo, up, v, g, dt: by_clip(q, lo, up, np.full(len(q), v[0]), g, dt))
    assert result.finding == "the speed limit is not kept"
    assert "for joint 3 that is 1.7 rad/s" in result.message


def test_every_finding_that_the_checker_can_make_has_its_mistake_here():
    names = {named.name for named in (*_box.EXERCISE.mistakes, *_box.EXERCISE.properties)}
    assert names - {name for name, _ in WRONG} == set()


@pytest.mark.parametrize("answer", [None, ..., lambda *a: None, lambda *a: ...])
def test_an_empty_answer_is_told_so_and_raises_nothing(answer):
    assert check.box(answer).finding == "not answered yet"


def test_an_answer_that_raises_is_shown_its_message():
    def answer(*arguments):
        raise RuntimeError("the elbow is stuck")

    result = check.box(answer)
    assert result.finding == "raises RuntimeError"
    assert "the elbow is stuck" in result.message

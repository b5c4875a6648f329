"""`check.end_state`: every right rule passes, and every known mistake is named."""

import numpy as np
import pytest

from ikcourse import check
from ikcourse.check import _end_state
from ikcourse.check._end_state import end_state
from ikcourse.studies.ends import EndState

H, C, U = "healthy", "collapse", "undecided"


def by_ifs(elbow, straight, speed, error, away):
    past = elbow - straight
    if past > 0.1:
        return C if speed < 0.03 else U
    if past > -0.1 or error >= 0.1 or away > 0.8:
        return U
    return H


def by_two_questions(elbow, straight, speed, error, away):
    folded = elbow > straight + 0.1 and speed < 0.03
    home = elbow < straight - 0.1 and error < 0.1 and away <= 0.8
    return C if folded else H if home else U


def as_members(*ending):
    return EndState(by_ifs(*ending))


def by_numpy(elbow, straight, speed, error, away):
    side = np.sign(elbow - straight) * (abs(elbow - straight) > 0.1)
    home = side < 0 and max(error / 0.1, away / 0.8) < 1
    return np.array([U, H, C])[int(home) + 2 * int(side > 0 and speed < 0.03)]


RIGHT = {"ifs": by_ifs, "two questions": by_two_questions, "members": as_members, "numpy": by_numpy}

WRONG = {
    ("drift alone", "the study's gap"): lambda q, s, v, e, a: H if a < 2.5 else C,
    ("drift alone", "its greatest healthy drift"): lambda q, s, v, e, a: H if a <= 1.6 else C,
    ("error alone", "0.1 m"): lambda q, s, v, e, a: H if e < 0.1 else C,
    ("error alone", "0.02 m"): lambda q, s, v, e, a: H if e < 0.02 else C,
    ("the elbow's side alone", "bare"): lambda q, s, v, e, a: C if q > s else H,
    ("nothing is undecided", "else folded"): lambda *x: C if by_ifs(*x) == U else by_ifs(*x),
    ("the sign of the straight elbow", "lost"): lambda q, s, *x: by_ifs(q, abs(s), *x) if s < 0 else by_ifs(q, -s, *x),
    ("the sign of the straight elbow", "sides exchanged"): lambda q, s, *x: by_ifs(-q, -s, *x),
    ("the sign of the straight elbow", "zero"): lambda q, s, *x: by_ifs(q, 0.0, *x),
    ("one arm's straight elbow", "the Panda's"): lambda q, s, *x: by_ifs(q, -0.467, *x),
    ("a moving arm counts as folded", "no speed"): lambda q, s, v, e, a: by_ifs(q, s, 0.0, e, a),
    ("home must be at rest", "everywhere"): lambda q, s, v, e, a: by_ifs(q, s, v, e, a) if v < 0.03 else U,
    ("a lag is a failure", "0.02 m"): lambda q, s, v, e, a: by_ifs(q, s, v, 5 * e, a),
    ("no margin", "bare sides"): lambda q, s, v, e, a: (
        (C if v < 0.03 else U) if q > s else H if e < 0.1 and a <= 0.8 else U
    ),
    ("a stalled arm is healthy", "no error"): lambda q, s, v, e, a: by_ifs(q, s, v, 0.0, a),
    ("a stalled arm is healthy", "neither error nor away"): lambda q, s, v, e, a: by_ifs(q, s, v, 0.0, 0.0),
    ("a swivelled arm is healthy", "no away"): lambda q, s, v, e, a: by_ifs(q, s, v, e, 0.0),
    ("not a state", "another word"): lambda *x: "collapsed",
    ("not a state", "a truth value"): lambda *x: True,
    ("an arm at home", "always undecided"): lambda *x: U,
    ("a folded arm", "never folded"): lambda *x: H if by_ifs(*x) == H else U,
    ("a lag is no failure", "0.05 m and exactly still"): lambda q, s, v, e, a: (
        by_ifs(q, s, v, e, a) if e < 0.055 else C
    ),
    ("a folded arm that holds its tool", "error first"): lambda q, s, v, e, a: H if e < 0.1 else by_ifs(q, s, v, e, a),
    ("a moving arm", "it is healthy"): lambda q, s, v, e, a: H if q > s + 0.1 and v > 0.03 else by_ifs(q, s, v, e, a),
    ("a straight elbow", "a margin of 0.04"): lambda q, s, *x: by_ifs(s + 2.5 * (q - s), s, *x),
    ("an arm that stalled", "it is folded"): lambda q, s, v, e, a: (
        C if e >= 0.1 and q < s - 0.1 else by_ifs(q, s, v, e, a)
    ),
    ("an arm that swivelled", "from 1.5 rad"): lambda q, s, v, e, a: by_ifs(q, s, v, e, a / 2),
    ("another rule", "0.04 rad/s"): lambda q, s, v, e, a: by_ifs(q, s, v / 4, e, a) if s > 0 else by_ifs(q, s, v, e, a),
}


@pytest.mark.parametrize("answer", RIGHT.values(), ids=RIGHT)
def test_a_right_rule_passes_whatever_its_form(answer):
    result = end_state(answer)
    assert result, result
    assert result.finding == "passed"


@pytest.mark.parametrize(("name", "answer"), [(name, a) for (name, _), a in WRONG.items()], ids=map(str, WRONG))
def test_a_mistake_is_named_in_a_sentence_or_three(name, answer):
    result = end_state(answer)
    assert not result
    assert result.finding == name, result
    assert result.message[-1] in ".?"
    assert len(result.message) < 420, len(result.message)


def test_every_finding_that_the_checker_can_make_has_its_mistake_here():
    names = {named.name for named in (*_end_state.EXERCISE.mistakes, *_end_state.EXERCISE.properties)}
    assert names - {name for name, _ in WRONG} == set()


@pytest.mark.parametrize("answer", [None, ..., lambda *a: None, lambda *a: ...])
def test_an_empty_answer_is_told_so_and_raises_nothing(answer):
    assert end_state(answer).finding == "not answered yet"


def test_an_answer_that_raises_is_shown_its_message():
    def answer(*ending):
        raise RuntimeError("the elbow is stuck")

    result = end_state(answer)
    assert result.finding == "raises RuntimeError"
    assert "the elbow is stuck" in result.message


def test_the_probes_stand_on_no_threshold():
    for elbow, straight, speed, error, away in _end_state.PROBES:
        assert min(abs(abs(elbow - straight) - 0.1), abs(speed - 0.03), abs(error - 0.1), abs(away - 0.8)) > 0.005


def test_the_package_offers_it():
    assert check.end_state is end_state

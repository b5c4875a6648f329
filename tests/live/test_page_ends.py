"""Where a reach goes and how it ended: the page's path and rule are Python's."""

import numpy as np
import pytest

import ikcourse as ik
from ikcourse.studies import ends
from ikcourse.studies.ends import End, EndState, Reason

from .conftest import PageError

ARM = ik.panda()
STRAIGHT = ends.straight_elbow(ARM)


def as_page_says(end: End) -> dict:
    return {"state": str(end.state), "reason": str(end.reason)}


# ----- the path


@pytest.mark.parametrize(
    ("name", "arm", "reach", "duration"),
    [
        ("panda", ARM, 0.70, 6.0),
        ("panda", ARM, 0.66, 2.5),
        ("panda", ARM, 0.30, 0.002),
        ("planar2", ik.planar2(), 1.5, 6.0),
    ],
)
def test_the_path_of_the_reach(ask, name, arm, reach, duration):
    ours = ask("path", arm=name, distance=reach, duration=duration)
    theirs = ik.reach_and_return(arm, reach, duration)
    assert ours["steps"] == len(theirs.times)
    assert np.abs(np.reshape(ours["positions"], (-1, 3)) - theirs.positions).max() < 1e-15
    assert np.abs(np.array(ours["quaternion"]) - theirs.quaternions[0]).max() < 1e-15


def test_the_reach_of_the_course_is_the_default(ask):
    assert ask("path") == ask("path", distance=ik.paths.REACH, duration=6.0)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"distance": 0}, "reach must be positive"),
        ({"distance": -0.7}, "reach must be positive"),
        ({"distance": "far"}, "reach must be positive"),
        ({"duration": 0.001}, "at least one time step, 0.002 s"),
        ({"duration": "long"}, "at least one time step"),
    ],
)
def test_a_path_that_cannot_be_is_refused(ask, request_, said):
    with pytest.raises(PageError, match=said):
        ask("path", **request_)


def test_a_tool_whose_home_is_the_shoulder_is_refused(ask):
    xml = """
    <mujoco>
      <compiler angle="radian"/>
      <worldbody>
        <body><joint name="joint1" axis="0 0 1"/><geom size="0.1"/><site name="end_effector"/></body>
      </worldbody>
      <actuator><position joint="joint1"/></actuator>
    </mujoco>
    """
    with pytest.raises(PageError, match="no direction"):
        ask("path", arm="planar2", xml=xml, names={"joints": ["joint1"], "home": None}, distance=1)


def test_the_straight_elbow_and_the_farthest_reach(ask):
    ours = ask("geometry")
    assert ours["straightElbow"] == pytest.approx(STRAIGHT, abs=1e-15)
    assert ours["farthestReach"] == pytest.approx(ends.farthest_reach(ARM), abs=1e-15)


def test_an_arm_without_that_elbow_is_refused_with_the_joints_that_it_has(ask):
    for task, request in (("geometry", {}), ("decide", {"ends": [{"q": [0, 0], "speed": 0, "error": [0] * 6}]})):
        with pytest.raises(PageError, match="joint4; this arm has joint1, joint2"):
            ask(task, arm="planar2", **request)


# ----- the rule


def random_ends(rng, count):
    """Joints, speed and error of ends on every side of every threshold."""
    for _ in range(count):
        q = ARM.home + rng.normal(0, rng.choice([0.0, 0.2, 0.6]), 7)
        near = STRAIGHT + rng.choice([-1, 1]) * (ends.ELBOW_MARGIN + rng.choice([-1, 0, 1]) * rng.uniform(0, 0.02))
        q[3] = rng.choice([ARM.home[3], near, rng.uniform(*(ARM.lower[3], ARM.upper[3]))])
        speed = ends.REST_SPEED * rng.choice([0.0, 0.5, 0.99, 1.01, 4.0])
        error = np.concatenate(
            [greatest * rng.choice([0.0, 0.5, 0.99, 1.01, 3.0]) * unit(rng) for greatest in ends.HOME_ERROR]
        )
        yield q, float(speed), error


def unit(rng):
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def test_the_rule_on_many_ends_of_every_kind(ask, rng):
    many = list(random_ends(rng, 4000))
    theirs = [ends.decide(ARM, *one) for one in many]
    told = {(end.state, end.reason) for end in theirs}
    assert {state for state, _ in told} == set(EndState)
    assert {reason for _, reason in told} == set(Reason), "every reason is met"
    sent = [{"q": q.tolist(), "speed": speed, "error": error.tolist()} for q, speed, error in many]
    assert ask("decide", ends=sent) == [as_page_says(end) for end in theirs]


@pytest.mark.parametrize("wrong", ["q", "speed", "error"])
def test_an_end_that_is_not_finite_is_refused(ask, wrong):
    one = {"q": ARM.home.tolist(), "speed": 0.0, "error": [0.0] * 6}
    one[wrong] = "NaN" if wrong == "speed" else ["NaN"] * len(one[wrong])
    with pytest.raises(PageError, match="finite joints, speed and error"):
        ask("decide", ends=[one])

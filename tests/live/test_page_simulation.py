"""What the page's simulation knows of an arm, what it measures, and what it refuses to hide."""

import mujoco
import numpy as np
import pytest

import ikcourse as ik
from ikcourse import rotation

from ..models import SHUFFLED, from_xml
from .conftest import PageError

REST = [0.0] * 7

HINGE = """
<mujoco>
  <compiler angle="radian"/>
  <option integrator="{integrator}" gravity="0 0 0"/>
  <worldbody>
    <body>
      <joint name="joint1" type="{joint}" {range}/>
      <geom type="capsule" fromto="0 0 0 1 0 0" size="0.03" contype="0" conaffinity="0"/>
      <site name="end_effector" pos="1 0 0"/>
    </body>
  </worldbody>
  <actuator>{actuators}</actuator>
</mujoco>
"""
SERVO = '<position joint="joint1" kp="100" dampratio="1" {}/>'
PLAIN_SERVO = SERVO.format("")


def hinge(actuators=PLAIN_SERVO, joint="hinge", limits="", integrator="implicitfast"):
    """A request for an arm of one joint."""
    xml = HINGE.format(actuators=actuators, joint=joint, range=limits, integrator=integrator)
    return {"arm": "planar2", "xml": xml, "names": {"joints": ["joint1"], "home": None}}


SHUFFLED_ARM = {"arm": "planar2", "xml": SHUFFLED, "names": {"site": "tip", "joints": ["three", "one"], "home": "bent"}}
"""Addresses of joints, dofs and actuators that are all different, in an order of their own."""


# ----- the arm


@pytest.mark.parametrize(
    ("request_", "arm"),
    [
        ({}, ik.panda()),
        ({"arm": "planar2"}, ik.planar2()),
        (SHUFFLED_ARM, from_xml(SHUFFLED, joints=["three", "one"], home="bent")),
    ],
    ids=["panda", "planar2", "shuffled"],
)
def test_the_arm_is_resolved_as_in_python(ask, request_, arm):
    ours = ask("arm", **request_)
    assert (ours["n"], ours["names"]) == (arm.n, list(arm.joint_names))
    assert (ours["dofs"], ours["actuators"]) == (arm.dofs.tolist(), arm.actuators.tolist())
    assert ours["timestep"] == arm.model.opt.timestep
    assert ours["home"] == arm.home.tolist()
    for key, theirs in (("lower", arm.lower), ("upper", arm.upper)):
        assert np.array(ours[key], float) == pytest.approx(theirs, abs=0)
    for key, theirs in zip(("setpointLower", "setpointUpper"), arm.setpoint_limits, strict=True):
        assert np.array(ours[key], float) == pytest.approx(theirs, abs=0)


def test_a_narrower_control_range_limits_the_setpoint(ask):
    narrow = ask("arm", **hinge(SERVO.format('ctrlrange="-0.5 2"'), limits='range="-1 1"'))
    assert (narrow["setpointLower"], narrow["setpointUpper"]) == ([-0.5], [1])
    free = ask("arm", **hinge())
    assert (free["setpointLower"], free["setpointUpper"]) == (["-Infinity"], ["Infinity"])


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"names": {"site": "tool"}}, 'no site "tool"'),
        ({"names": {"joints": ["joint1", "elbow"]}}, 'no joint "elbow"'),
        ({"names": {"home": "zero"}}, 'no keyframe "zero"'),
        ({"xml": "<mujoco>"}, "XML"),
        (hinge(integrator="RK4"), "RK4"),
        (hinge(joint="ball"), "neither a hinge nor a slide"),
        (hinge(actuators=""), "needs one actuator; 0 drive it"),
        (hinge(PLAIN_SERVO * 2), "needs one actuator; 2 drive it"),
    ],
)
def test_an_arm_that_the_loop_cannot_drive_is_refused(ask, request_, said):
    with pytest.raises(PageError, match=said):
        ask("arm", **request_)


# ----- what it measures


@pytest.mark.parametrize(
    ("request_", "arm"),
    [({}, ik.panda()), (SHUFFLED_ARM, from_xml(SHUFFLED, joints=["three", "one"], home="bent"))],
    ids=["panda", "shuffled"],
)
def test_pose_jacobian_and_error_are_those_of_python(ask, rng, request_, arm):
    asked, expected = [], []
    for q in arm.home + rng.normal(0, 0.5, (20, arm.n)):
        data = arm.data(q)
        position, quaternion = ik.site_pose(arm, data)
        wanted = position + rng.normal(0, 0.2, 3)
        turned = rotation.quat_multiply(rotation.quat_exp(rng.normal(0, 1.5, 3)), quaternion) * rng.choice([-1, 1])
        asked.append(("measure", {"q": q.tolist(), "target": as_target(wanted, turned), **request_}))
        error = ik.pose_error(wanted, turned, position, quaternion)
        expected.append([q, position, quaternion, ik.site_jacobian(arm, data).ravel(), error])
    for ours, theirs in zip(ask(asked), expected, strict=True):
        for key, value in zip(("q", "position", "quaternion", "jacobian", "error"), theirs, strict=True):
            assert np.abs(np.array(ours[key]) - value).max() < 1e-14, key


def as_target(position, quaternion):
    return {"position": np.asarray(position).tolist(), "quaternion": np.asarray(quaternion).tolist()}


def test_the_rotation_error_at_every_angle_and_of_either_sign(ask, rng):
    currents = rng.normal(size=(60, 4))
    currents /= np.linalg.norm(currents, axis=1, keepdims=True)
    axes = rng.normal(size=(60, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    angles = np.concatenate([[0.0, 1e-300, 1e-16, 1e-9], rng.uniform(0, np.pi, 50), np.pi - 10.0 ** -np.arange(3, 9)])
    targets = rotation.quat_multiply(rotation.quat_exp(axes * angles[:, None]), currents)
    theirs = rotation.rotation_error(targets, currents)
    for sign in (1, -1):
        ours = ask("rotationErrors", targets=(sign * targets).tolist(), currents=currents.tolist())
        # The product's rounding, times two: not more near pi, and no more in either sign.
        assert np.abs(np.array(ours) - theirs).max() < 4e-15


def test_no_turn_at_all_is_zero_of_either_sign(ask):
    same, turned = [1, 0, 0, 0], [0, 0.6, 0, 0.8]
    targets = [same, [-1, 0, 0, 0], turned, [0, -0.6, 0, -0.8]]
    ours = ask("rotationErrors", targets=targets, currents=[same, same, turned, turned])
    assert np.abs(np.array(ours, float)).max() == 0


def test_half_a_turn_has_one_answer(ask):
    half = [[0, 1, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0], [0, 0, 0.6, -0.8], [0, 0, -0.6, 0.8], [0, 0, 0, -1]]
    ours = ask("rotationErrors", targets=half, currents=[[1, 0, 0, 0]] * len(half))
    pi = np.pi
    expected = [[pi, 0, 0], [pi, 0, 0], [0, pi, 0], [0, 0.6 * pi, -0.8 * pi], [0, 0.6 * pi, -0.8 * pi], [0, 0, pi]]
    assert np.abs(np.array(ours) - expected).max() < 1e-15
    theirs = rotation.rotation_error(np.array(half, float), np.array([1.0, 0, 0, 0]))
    assert np.abs(np.array(ours) - theirs).max() < 1e-15


def test_after_a_reset_the_target_stands_where_the_tool_does(ask):
    arm, q = ik.panda(), [0.3, 0.2, -0.1, -1.4, 0.2, 1.7, 0.4]
    for start, data in (({}, arm.data()), ({"q": q}, arm.data(q))):
        position, _ = ik.site_pose(arm, data)
        stands = ask("measure", **start)
        assert stands["position"] == pytest.approx(position, abs=1e-15)
        assert stands["target"] == stands["position"]
        assert stands["error"] == [0] * 6


@pytest.mark.parametrize("q", [[0.0] * 6, [0.0] * 8, [0.0] * 6 + ["NaN"]])
def test_joint_positions_that_are_none_are_refused(ask, q):
    with pytest.raises(PageError, match="7 finite joint positions"):
        ask("measure", q=q)


# ----- the engine


@pytest.mark.parametrize("code", ["binary", "module"])
def test_the_engine_starts_from_bytes_and_from_a_compiled_module(ask, code):
    assert ask("engine", code=code) == 0.002


@pytest.mark.parametrize("code", ["cut short", "no engine"])
def test_an_engine_that_is_none_is_told_and_does_not_wait_for_ever(ask, code):
    with pytest.raises(PageError) as told:
        ask("engine", code=code)
    assert "no answer" not in str(told.value)


def test_a_browser_without_webassembly_is_told_so(ask):
    with pytest.raises(PageError, match="no WebAssembly, so the simulation cannot run"):
        ask("engine", code="binary", webAssembly=False)


# ----- the step


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"integrationDt": 0}, "integrationDt must be positive"),
        ({"integrationDt": -1}, "integrationDt must be positive"),
        ({"integrationDt": "long"}, "integrationDt must be positive"),
        ({"maxJointSpeed": 0}, "maxJointSpeed must be positive"),
        ({"maxJointSpeed": -2}, "maxJointSpeed must be positive"),
        ({"maxJointSpeed": "fast"}, "maxJointSpeed must be positive"),
    ],
)
def test_a_setting_out_of_its_range_is_refused(ask, settings, said):
    with pytest.raises(PageError, match=said):
        ask("step", qdot=REST, settings=settings)


def test_a_command_faster_than_the_bound_is_shortened_as_a_whole(ask):
    qdot = [0.1, -2.0, 0.5, 0.0, 1.0, -0.3, 0.2]
    bounded = ask("step", qdot=qdot, settings={"maxJointSpeed": 0.5})
    assert bounded["qdot"] == pytest.approx(np.array(qdot) / 4, rel=1e-15)
    slow = ask("step", qdot=qdot, settings={"maxJointSpeed": 2.0})
    assert slow["qdot"] == qdot
    assert ask("step", qdot=qdot)["qdot"] == qdot


def test_the_setpoint_starts_at_the_measured_joints_and_is_cut_to_the_limits(ask):
    arm = ik.panda()
    lower, upper = arm.setpoint_limits
    for qdot, clipped in ((REST, False), ([0.1] * 7, False), ([0.1] * 6 + [5.0], True), ([-9.0] + REST[1:], True)):
        done = ask("step", qdot=qdot, settings={"integrationDt": 0.8})
        asked = arm.home + np.array(qdot) * 0.8
        assert done["setpoint"] == pytest.approx(asked, abs=1e-15)
        assert done["clipped"] is clipped
        assert np.array(done["ctrl"])[arm.actuators] == pytest.approx(np.clip(asked, lower, upper), abs=1e-15)
        assert done["ctrl"][7] == 255, "the hand's own actuator is left alone"


def test_each_setpoint_goes_to_the_actuator_of_its_joint(ask):
    done = ask("step", qdot=[0.01, -0.3], **SHUFFLED_ARM)
    # Joint three has actuator 0 and joint one actuator 2; the others keep what the keyframe gave them.
    assert done["ctrl"] == pytest.approx([0.2 + 0.01, 0, 0.1 - 0.3, 0, -0.7], abs=1e-15)


@pytest.mark.parametrize("bad", ["NaN", "Infinity"])
def test_an_answer_that_is_not_finite_stops_the_run(ask, bad):
    with pytest.raises(PageError, match="law's answer is not finite"):
        ask("step", qdot=[*REST[:6], bad])


@pytest.mark.parametrize("before", [0, 1, 5], ids=["in the first step", "in the second", "later"])
@pytest.mark.parametrize(
    ("state", "what"),
    [({"qpos": 1e12}, "positions"), ({"qvel": 1e12}, "velocities"), ({"qvel": 1e9}, "accelerations")],
)
def test_a_simulation_that_diverges_is_told(ask, before, state, what):
    arm, data = ik.panda(), ik.panda().data()
    ((name, value),) = state.items()
    sizes = {"qpos": arm.model.nq, "qvel": arm.model.nv}
    with pytest.raises(PageError, match=f"diverged .joint {what}.*0.002 s"):
        ask("step", qdot=REST, before=before, **{name: [value] * sizes[name]})
    # And so says MuJoCo of the same state in Python.
    getattr(data, name)[:] = value
    mujoco.mj_step(arm.model, data)
    warnings = {"positions": "BADQPOS", "velocities": "BADQVEL", "accelerations": "BADQACC"}
    assert data.warning[getattr(mujoco.mjtWarning, f"mjWARN_{warnings[what]}")].number == 1


def test_a_sound_step_is_not_called_diverged(ask):
    assert ask("step", qdot=REST, before=3)["time"] == pytest.approx(0.008)


def test_the_engine_may_take_memory_in_the_middle_of_a_run(ask):
    """The views of its heap are then empty: a page that kept them would read nothing and stand still."""
    short = {"distance": 0.68, "duration": 0.5}
    plain, grown = ask([("run", short), ("run", {**short, "grow": 100})])
    assert plain["q"] == grown["q"]
    assert grown["drift"] > 0.1

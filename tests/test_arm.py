"""An arm knows which joints, dofs, coordinates and actuators are its own, whatever stands around it."""

import mujoco
import numpy as np
import pytest

import ikcourse as ik

from .models import FLOATING, SHUFFLED, from_xml, mounted_panda, random_data, random_q


def test_by_default_every_hinge_and_slide_between_the_site_and_the_world_is_controlled():
    arm = from_xml(SHUFFLED)
    assert arm.joint_names == ("one", "two", "three")
    assert arm.joints.tolist() == [1, 2, 3]
    assert arm.n == 3


def test_a_joint_is_not_a_dof_and_nq_is_not_nv():
    arm = from_xml(SHUFFLED)
    model = arm.model
    assert (model.njnt, model.nv, model.nq) == (5, 7, 8)
    assert arm.dofs.tolist() == [3, 4, 5]
    assert arm.qpos_addresses.tolist() == [4, 5, 6]
    # The break: a joint's id taken for its dof or its coordinate finds the ball joint's columns.
    assert not np.array_equal(arm.joints, arm.dofs)
    data = random_data(arm, np.random.default_rng(1))
    assert not np.allclose(ik.site_jacobian(arm, data, arm.joints), ik.site_jacobian(arm, data))


def test_the_ball_and_free_joints_of_the_chain_itself_are_left_out():
    arm = from_xml(FLOATING)
    assert arm.joint_names == ("slider", "elbow")
    assert arm.dofs.tolist() == [9, 10]
    assert arm.qpos_addresses.tolist() == [11, 12]


def test_actuators_are_found_by_the_joint_they_drive():
    arm = from_xml(SHUFFLED)
    names = [arm.model.actuator(i).name for i in arm.actuators]
    assert names == ["drives_one", "drives_two", "drives_three"]
    # The breaks: actuators in the model's order, and a tendon's id read as a joint's.
    assert arm.actuators.tolist() != [0, 1, 2]
    assert arm.model.actuator("pulls_both").trnid[0] == arm.model.joint("one").id


def test_an_actuator_in_the_parent_frame_counts_as_driving_its_joint():
    arm = from_xml(SHUFFLED.replace('name="drives_two" joint=', 'name="drives_two" jointinparent='))
    assert arm.model.actuator(arm.actuators[1]).name == "drives_two"


def test_a_joint_without_an_actuator_has_none():
    arm = from_xml(SHUFFLED.replace('<position name="drives_two" joint="two" kp="200"/>', "").replace(" 0 -0.7", " 0"))
    assert arm.actuators.tolist() == [2, -1, 0]


def test_limits_are_infinite_where_a_joint_has_none():
    arm = from_xml(SHUFFLED)
    assert arm.lower.tolist() == [-np.inf, -2, -0.1]
    assert arm.upper.tolist() == [np.inf, 1, 0.4]
    # The break: the range as stored says that the free joint may not move at all.
    assert arm.model.joint("one").range.tolist() == [0, 0]


def test_free_bodies_before_and_after_the_arm_shift_the_columns_and_change_nothing_else():
    alone, among = mounted_panda(), mounted_panda(neighbours=True)
    assert among.model.nq - among.model.nv == 2
    assert among.dofs.tolist() == list(range(6, 13))
    assert among.qpos_addresses.tolist() == list(range(7, 14))
    for name in ("home", "lower", "upper"):
        assert np.array_equal(getattr(alone, name), getattr(among, name))
    for q in random_q(alone, np.random.default_rng(2), 20):
        here, there = alone.data(q), among.data(q)
        for ours, theirs in zip(ik.site_pose(alone, here), ik.site_pose(among, there), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-15)
        np.testing.assert_allclose(ik.site_jacobian(alone, here), ik.site_jacobian(among, there), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "missing", "existing"),
    [
        ({"site": "tool"}, "no site 'tool'", ["'tip'"]),
        ({"site": "tip", "joints": ["one", "four"]}, "no joint 'four'", ["'socket'", "'one'", "'two'", "'three'"]),
        ({"site": "tip", "home": "rest"}, "no keyframe 'rest'", ["'bent'", "'other'"]),
    ],
)
def test_an_unknown_name_is_refused_with_the_names_that_exist(arguments, missing, existing):
    with pytest.raises(ValueError, match=missing) as caught:
        ik.Arm.from_model(mujoco.MjModel.from_xml_string(SHUFFLED), **arguments)
    for name in existing:
        assert name in str(caught.value)


def test_where_nothing_has_a_name_the_refusal_says_so():
    with pytest.raises(ValueError, match="no keyframe 'home'; it has none that has a name"):
        from_xml(FLOATING, home="home")


@pytest.mark.parametrize(("joint", "kind"), [("shoulder", "ball"), ("base", "free")])
def test_a_joint_of_several_dofs_cannot_be_controlled(joint, kind):
    with pytest.raises(ValueError, match=f"'{joint}' is a {kind} joint"):
        from_xml(FLOATING, joints=["elbow", joint])


def test_a_joint_driven_twice_is_refused_by_the_names_of_its_actuators():
    twice = SHUFFLED.replace("</actuator>", '<motor name="helps_one" joint="one"/></actuator>').replace(
        "0 -0.7", "0 -0.7 0"
    )
    with pytest.raises(ValueError, match=r"'one' is driven by more than one actuator: \['drives_one', 'helps_one'\]"):
        from_xml(twice)
    # An arm that does not control that joint does not mind.
    assert from_xml(twice, joints=["two", "three"]).n == 2


def test_a_joint_named_twice_is_refused():
    with pytest.raises(ValueError, match="controlled once"):
        from_xml(SHUFFLED, joints=["one", "two", "one"])


def test_a_site_that_no_controllable_joint_moves_is_refused():
    with pytest.raises(ValueError, match="moves site 'still'"):
        from_xml('<mujoco><worldbody><site name="still"/></worldbody></mujoco>', site="still")


def test_named_joints_keep_the_order_in_which_they_are_named():
    arm = from_xml(SHUFFLED, joints=["three", "one"], home="bent")
    assert arm.joint_names == ("three", "one")
    assert arm.dofs.tolist() == [5, 3]
    assert arm.home.tolist() == [0.2, 0.1]
    assert [arm.model.actuator(i).name for i in arm.actuators] == ["drives_three", "drives_one"]
    data = arm.data([0.3, -0.4])
    assert data.joint("three").qpos == 0.3
    assert data.joint("one").qpos == -0.4


def test_what_an_arm_resolved_cannot_be_changed():
    arm = from_xml(SHUFFLED, home="bent")
    for name in ("joints", "dofs", "qpos_addresses", "actuators", "home", "lower", "upper"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(arm, name)[0] = 0
    with pytest.raises(AttributeError):
        arm.site = 3  # type: ignore[misc]
    arm.model.key_qpos[0] = 9.0
    assert arm.home.tolist() == [0.1, -0.7, 0.2], "home must not be a view of the model"


def test_data_is_at_home_with_its_controls_and_its_kinematics_current():
    arm = from_xml(SHUFFLED, home="bent")
    data = arm.data()
    assert data.qpos.tolist() == [1, 0, 0, 0, 0.1, -0.7, 0.2, 0]
    assert data.ctrl.tolist() == [0.2, 0, 0.1, 0, -0.7]
    assert np.linalg.norm(data.site_xpos[arm.site]) > 0.5
    assert arm.data() is not data
    assert arm.data().qpos is not data.qpos


def test_without_a_keyframe_home_is_the_reference_configuration():
    arm = from_xml(SHUFFLED)
    assert arm.home_key == -1
    assert arm.home.tolist() == [0, 0, 0]
    assert arm.data().qpos.tolist() == arm.model.qpos0.tolist()


def test_data_at_q_moves_the_controlled_joints_and_no_other():
    arm = ik.panda()
    q = random_q(arm, np.random.default_rng(3))
    data = arm.data(q)
    assert np.array_equal(data.qpos[arm.qpos_addresses], q)
    others = np.setdiff1d(np.arange(arm.model.nq), arm.qpos_addresses)
    assert np.array_equal(data.qpos[others], arm.data().qpos[others])
    at_home = arm.data()
    assert np.linalg.norm(data.site_xpos[arm.site] - at_home.site_xpos[arm.site]) > 0.1


def test_reset_brings_everything_back():
    arm = ik.panda()
    data = arm.data(arm.home + 0.3)
    data.qvel[:] = 1
    data.ctrl[:] = 0
    data.mocap_pos[:] = 7
    for _ in range(5):
        mujoco.mj_step(arm.model, data)
    arm.reset(data)
    fresh = arm.data()
    for name in ("qpos", "qvel", "ctrl", "mocap_pos", "site_xpos", "qacc"):
        assert np.array_equal(getattr(data, name), getattr(fresh, name)), name
    assert data.time == 0


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (np.zeros(6), r"shape \(7,\).*'joint1'"),
        (np.zeros(9), r"shape \(7,\)"),
        (np.zeros((1, 7)), r"shape \(7,\)"),
        (0.0, r"shape \(7,\)"),
        ([0, 0, np.nan, 0, 0, 0, 0], "finite"),
        ([0, 0, np.inf, 0, 0, 0, 0], "finite"),
    ],
)
def test_a_q_that_does_not_fit_is_refused(q, message):
    with pytest.raises(ValueError, match=message):
        ik.panda().data(q)


def test_an_arm_without_actuators_has_the_joints_own_setpoint_limits():
    lower, upper = ik.planar(3).setpoint_limits
    assert np.array_equal(lower, np.full(3, -np.inf))
    assert np.array_equal(upper, np.full(3, np.inf))

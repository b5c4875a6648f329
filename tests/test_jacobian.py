"""The site's Jacobian and the derivative of its error, against differences that share no code with them.

The bound is 1e-8 in the worst entry: central differences of step 1e-5 are good to about 1e-10 here, and the smallest
mistake that a test plants moves an entry by more than 1e-3.
"""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import ikcourse as ik

from .models import (
    FLOATING,
    differences,
    from_xml,
    mounted_panda,
    moved_poses,
    pose_of,
    quaternion_of,
    random_data,
    random_q,
)

BOUND = 1e-8


@pytest.fixture(scope="module")
def floating():
    return from_xml(FLOATING)


@pytest.fixture(scope="module")
def panda_configurations():
    """1000 random Panda configurations, and the differences at each: (1000, 7), (1000, 6, 7)."""
    arm = ik.panda()
    configurations = random_q(arm, np.random.default_rng(10), 1000)
    data = arm.data()
    measured = np.empty((1000, 6, 7))
    for k, q in enumerate(configurations):
        data.qpos[arm.qpos_addresses] = q
        measured[k] = differences(arm, data, dofs=arm.dofs)
    return arm, configurations, measured


def test_site_pose_is_what_mujoco_says(floating):
    rng = np.random.default_rng(11)
    for _ in range(50):
        data = random_data(floating, rng)
        position, quaternion = ik.site_pose(floating, data)
        expected_position, expected_rotation = pose_of(floating, data)
        assert np.array_equal(position, expected_position)
        assert abs(np.linalg.norm(quaternion) - 1) < 1e-14
        turned = Rotation.from_quat(quaternion, scalar_first=True)
        np.testing.assert_allclose(turned.as_matrix(), expected_rotation.as_matrix(), rtol=0, atol=1e-14)


def test_site_pose_is_a_copy():
    arm = ik.panda()
    data = arm.data()
    position, _ = ik.site_pose(arm, data)
    position[:] = 9
    assert not np.array_equal(data.site_xpos[arm.site], position)


def test_panda_jacobian_equals_differences_over_1000_configurations(panda_configurations):
    arm, configurations, measured = panda_configurations
    jacobians = ik.jacobians_at(arm, configurations)
    assert np.abs(jacobians - measured).max() < BOUND
    # The breaks: a point 0.1 m away, and angular rows in the site's own axes.
    data = arm.data(configurations[0])
    linear, angular = np.empty((3, arm.model.nv)), np.empty((3, arm.model.nv))
    mujoco.mj_jacBody(arm.model, data, linear, angular, arm.model.site_bodyid[arm.site])
    assert np.abs(linear[:, arm.dofs] - measured[0, :3]).max() > 0.05
    _, rotation = pose_of(arm, data)
    assert np.abs(rotation.as_matrix().T @ jacobians[0, 3:] - measured[0, 3:]).max() > 0.5


def test_the_courses_own_differences_equal_the_jacobian_over_1000_configurations(panda_configurations):
    arm, configurations, measured = panda_configurations
    jacobians, data = ik.jacobians_at(arm, configurations), arm.data()
    worst = 0.0
    for k, q in enumerate(configurations):
        data.qpos[arm.qpos_addresses] = q
        own = ik.finite_difference_jacobian(arm, data)
        assert np.abs(own - measured[k]).max() < 1e-10
        worst = max(worst, np.abs(own - jacobians[k]).max())
    assert worst < BOUND


def test_all_columns_of_a_floating_arm_equal_differences(floating):
    rng = np.random.default_rng(12)
    for _ in range(100):
        data = random_data(floating, rng)
        jacobian = ik.site_jacobian(floating, data, slice(None))
        assert jacobian.shape == (6, floating.model.nv) == (6, 11)
        assert np.abs(jacobian - differences(floating, data)).max() < BOUND
        own = ik.finite_difference_jacobian(floating, data, dofs=slice(None))
        assert np.abs(jacobian - own).max() < BOUND


def test_the_floating_arm_would_show_a_mistake(floating):
    """Its base is turned, its site is far away, and its quaternions are not columns."""
    data = random_data(floating, np.random.default_rng(13))
    measured = differences(floating, data)
    jacobian = ik.site_jacobian(floating, data, slice(None))
    assert np.linalg.norm(floating.model.site_pos[floating.site]) == pytest.approx(3)
    assert Rotation.from_quat(data.xquat[1], scalar_first=True).magnitude() > 0.5
    # The rotation of a free joint is about the body's own axes: read as world axes, its columns are others.
    in_world_axes = jacobian.copy()
    in_world_axes[:, 3:6] = jacobian[:, 3:6] @ data.xmat[1].reshape(3, 3).T
    assert np.abs(in_world_axes - measured).max() > 0.1
    # Without the arm from the centre of mass to the site.
    body = floating.model.site_bodyid[floating.site]
    linear, angular = np.empty((3, 11)), np.empty((3, 11))
    mujoco.mj_jacBodyCom(floating.model, data, linear, angular, body)
    assert np.abs(linear - measured[:3]).max() > 0.5


def test_jacobian_equals_mj_jac_at_the_sites_world_position(floating):
    rng = np.random.default_rng(14)
    linear, angular = np.empty((3, 11)), np.empty((3, 11))
    for _ in range(50):
        data = random_data(floating, rng)
        body = floating.model.site_bodyid[floating.site]
        mujoco.mj_jac(floating.model, data, linear, angular, data.site_xpos[floating.site], body)
        jacobian = ik.site_jacobian(floating, data, slice(None))
        np.testing.assert_allclose(jacobian, np.concatenate([linear, angular]), rtol=0, atol=1e-13)


def test_hinge_columns_are_axis_cross_arm_and_axis():
    """The textbook's column, from the joint's axis and anchor in the world."""
    arm = ik.panda()
    rng = np.random.default_rng(15)
    for q in random_q(arm, rng, 50):
        data = arm.data(q)
        axes, anchors = data.xaxis[arm.joints], data.xanchor[arm.joints]
        position = data.site_xpos[arm.site]
        textbook = np.concatenate([np.cross(axes, position - anchors), axes], axis=1).T
        np.testing.assert_allclose(ik.site_jacobian(arm, data), textbook, rtol=0, atol=1e-14)


def test_jacobian_equals_mujocos_own_derivative_of_a_pose_sensor():
    """`mjd_transitionFD` differentiates sensors inside MuJoCo, by code of its own."""

    def add_sensors(robot):
        for kind in (mujoco.mjtSensor.mjSENS_FRAMEPOS, mujoco.mjtSensor.mjSENS_FRAMEQUAT):
            robot.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="end_effector")

    arm = mounted_panda(base_quaternion=(0.5, 0.5, 0.5, -0.5), alter=add_sensors)
    nv, rng = arm.model.nv, np.random.default_rng(16)
    for q in random_q(arm, rng, 10):
        data = arm.data(q)
        quaternion = data.sensordata[3:7].copy()
        jacobian = ik.site_jacobian(arm, data, slice(None))
        sensors = np.zeros((7, 2 * nv))
        mujoco.mjd_transitionFD(arm.model, data, 1e-6, True, None, None, sensors, None)
        # omega = 2 dq conj(q), its vector part.
        dw, dx = sensors[3, :nv], sensors[4:7, :nv]
        w, x = quaternion[0], quaternion[1:]
        angular = 2 * (w * dx - np.outer(x, dw) - np.cross(dx.T, x).T)
        assert np.abs(sensors[:3, :nv] - jacobian[:3]).max() < BOUND
        assert np.abs(angular - jacobian[3:]).max() < BOUND


def test_columns_are_those_asked_for(floating):
    data = random_data(floating, np.random.default_rng(17))
    every = ik.site_jacobian(floating, data, slice(None))
    assert np.array_equal(ik.site_jacobian(floating, data), every[:, [9, 10]])
    assert np.array_equal(ik.site_jacobian(floating, data, np.array([10, 3])), every[:, [10, 3]])
    own = ik.finite_difference_jacobian(floating, data, dofs=np.array([10, 3]))
    assert np.abs(own - every[:, [10, 3]]).max() < BOUND


def test_differences_do_not_change_the_data(floating):
    data = random_data(floating, np.random.default_rng(18))
    before = data.qpos.copy(), data.site_xpos.copy(), data.time
    ik.finite_difference_jacobian(floating, data)
    ik.finite_difference_error_jacobian(floating, data, np.zeros(3), [1, 0, 0, 0])
    assert np.array_equal(data.qpos, before[0])
    assert np.array_equal(data.site_xpos, before[1])
    assert data.time == before[2]


def test_differences_follow_a_mocap_body_that_carries_the_arm():
    arm = from_xml(
        """<mujoco><worldbody><body name="carrier" mocap="true"><body name="link">
           <joint name="hinge" axis="0 0 1"/><geom size="0.1"/><site name="tip" pos="1 0 0"/>
           </body></body></worldbody></mujoco>""",
        joints=["hinge"],
    )
    data = arm.data([0.3])
    data.mocap_pos[0], data.mocap_quat[0] = [1, 2, 3], [0.5, 0.5, 0.5, 0.5]
    mujoco.mj_forward(arm.model, data)
    jacobian = ik.site_jacobian(arm, data)
    assert np.abs(jacobian - ik.finite_difference_jacobian(arm, data)).max() < BOUND
    assert np.abs(jacobian - ik.site_jacobian(arm, arm.data([0.3]))).max() > 0.5, "the carrier must turn the arm"


def test_the_error_of_differences_is_a_v_with_its_minimum_near_the_cube_root_of_eps():
    arm = ik.panda()
    data = arm.data(arm.home + 0.2)
    jacobian = ik.site_jacobian(arm, data)
    worst = {
        step: np.abs(ik.finite_difference_jacobian(arm, data, step) - jacobian).max()
        for step in (1e-2, 1e-3, 1e-5, 1e-9)
    }
    assert worst[1e-2] / worst[1e-3] == pytest.approx(100, rel=0.05), "truncation falls with the square of the step"
    assert worst[1e-5] < 1e-9 < worst[1e-9], "rounding grows as the step shrinks"


@pytest.mark.parametrize("step", [0.0, -1e-5, np.nan, np.inf])
def test_a_step_that_is_no_step_is_refused(step):
    arm = ik.panda()
    with pytest.raises(ValueError, match="step"):
        ik.finite_difference_jacobian(arm, arm.data(), step)
    with pytest.raises(ValueError, match="step"):
        ik.finite_difference_error_jacobian(arm, arm.data(), np.zeros(3), [1, 0, 0, 0], step)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_jacobians_at_many_configurations_are_those_at_each(shape):
    arm = ik.panda()
    q = np.random.default_rng(19).uniform(arm.lower, arm.upper, (*shape, 7))
    jacobians = ik.jacobians_at(arm, q)
    assert jacobians.shape == (*shape, 6, 7)
    for index in np.ndindex(shape):
        assert np.array_equal(jacobians[index], ik.site_jacobian(arm, arm.data(q[index])))


@pytest.mark.parametrize("q", [np.zeros(6), np.zeros((7, 3)), np.full(7, np.nan)])
def test_jacobians_at_what_is_no_configuration_are_refused(q):
    with pytest.raises(ValueError, match="finite, of shape"):
        ik.jacobians_at(ik.panda(), q)


# ----- the pose error and its derivative


def target_at(arm: ik.Arm, data: mujoco.MjData, angle: float, rng: np.random.Generator) -> tuple[np.ndarray, Rotation]:
    """A target that is turned from the present pose by the angle, about a random axis, and 0.3 m or so away."""
    position, rotation = pose_of(arm, data)
    axis = rng.normal(size=3)
    return position + rng.normal(0, 0.2, 3), Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)) * rotation


def error_differences(arm, data, target_position, target_rotation, dofs, step=1e-5):
    """The derivative of the pose error by SciPy's logarithm, (6, k)."""
    positions, rotations = moved_poses(arm, data, step, dofs)
    errors = [
        np.concatenate([target_position - p, (target_rotation * Rotation.from_matrix(r).inv()).as_rotvec()], axis=1)
        for p, r in zip(positions, rotations, strict=True)
    ]
    return (errors[0] - errors[1]).T / (2 * step)


def test_pose_error_is_target_minus_position_and_the_rotation_between():
    arm, rng = ik.panda(), np.random.default_rng(20)
    for _ in range(200):
        data = arm.data(random_q(arm, rng))
        position, rotation = target_at(arm, data, rng.uniform(0, 3.1), rng)
        error = ik.pose_error(position, quaternion_of(rotation), *ik.site_pose(arm, data))
        here, turned = pose_of(arm, data)
        assert np.array_equal(error[:3], position - here)
        np.testing.assert_allclose(error[3:], (rotation * turned.inv()).as_rotvec(), rtol=0, atol=1e-13)


def test_pose_error_broadcasts():
    rng = np.random.default_rng(21)
    quaternions = quaternion_of(Rotation.random(6, rng=rng))
    positions = rng.normal(size=(6, 3))
    errors = ik.pose_error(positions, quaternions, np.zeros(3), [1, 0, 0, 0])
    assert errors.shape == (6, 6)
    for k in range(6):
        assert np.array_equal(errors[k], ik.pose_error(positions[k], quaternions[k], np.zeros(3), [1, 0, 0, 0]))
    assert ik.pose_error(positions[:, None], quaternions, np.zeros(3), [1, 0, 0, 0]).shape == (6, 6, 6)


@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros(2), [1, 0, 0, 0], np.zeros(3), [1, 0, 0, 0]),
        (np.zeros(3), [1, 0, 0, 0], np.array([0, np.nan, 0]), [1, 0, 0, 0]),
        (np.zeros(3), [1, 0, 0], np.zeros(3), [1, 0, 0, 0]),
        (np.zeros(3), [1, 0, 0, 0], np.zeros(3), [0, 0, 0, 0]),
        (np.zeros(3), [1.01, 0, 0, 0], np.zeros(3), [1, 0, 0, 0]),
    ],
)
def test_what_is_no_pose_is_refused(arguments):
    with pytest.raises(ValueError):
        ik.pose_error(*arguments)


@pytest.mark.parametrize("angle", [0.01, 1.0, 2.5])
def test_derivative_of_the_error_equals_differences_where_plain_minus_j_does_not(angle):
    # What J_r^-1(e) adds to a unit vector across e: 0.005, 0.507 and 1.382.
    half = angle / 2
    left_out = np.hypot(half / np.tan(half) - 1, half)
    arm, rng = ik.panda(), np.random.default_rng(22)
    worst_plain = 0.0
    for q in random_q(arm, rng, 80):
        data = arm.data(q)
        position, rotation = target_at(arm, data, angle, rng)
        error = ik.pose_error(position, quaternion_of(rotation), *ik.site_pose(arm, data))
        assert np.linalg.norm(error[3:]) == pytest.approx(angle, rel=1e-12)
        jacobian = ik.site_jacobian(arm, data)
        derivative = ik.error_jacobian(error, jacobian)
        measured = error_differences(arm, data, position, rotation, arm.dofs)
        assert np.abs(derivative - measured).max() < BOUND
        own = ik.finite_difference_error_jacobian(arm, data, position, quaternion_of(rotation))
        assert np.abs(derivative - own).max() < BOUND
        assert np.abs(measured[:3] + jacobian[:3]).max() < BOUND, "the linear rows are -J"
        # Every hinge turns about a unit axis, so a column is wrong by at most what is left out.
        wrong = np.linalg.norm(measured[3:] + jacobian[3:], axis=0)
        assert (wrong < left_out * (1 + 1e-6) + BOUND).all()
        worst_plain = max(worst_plain, wrong.max())
    assert worst_plain > 0.95 * left_out > 4e-3


@pytest.mark.parametrize("angle", [0.01, 1.0, 2.5])
def test_derivative_of_the_error_of_a_floating_arm_equals_differences(floating, angle):
    rng = np.random.default_rng(23)
    for _ in range(30):
        data = random_data(floating, rng)
        position, rotation = target_at(floating, data, angle, rng)
        error = ik.pose_error(position, quaternion_of(rotation), *ik.site_pose(floating, data))
        derivative = ik.error_jacobian(error, ik.site_jacobian(floating, data, slice(None)))
        measured = error_differences(floating, data, position, rotation, np.arange(11))
        assert np.abs(derivative - measured).max() < BOUND
        own = ik.finite_difference_error_jacobian(floating, data, position, quaternion_of(rotation), dofs=slice(None))
        assert np.abs(derivative - own).max() < BOUND


def test_the_left_jacobian_in_place_of_the_right_one_is_seen():
    """J_l^-1(e) = J_r^-1(-e): the derivative with the sign of the cross product turned."""
    arm, rng = ik.panda(), np.random.default_rng(24)
    data = arm.data(random_q(arm, rng))
    position, rotation = target_at(arm, data, 1.0, rng)
    error = ik.pose_error(position, quaternion_of(rotation), *ik.site_pose(arm, data))
    mirrored = error * [1, 1, 1, -1, -1, -1]
    wrong = ik.error_jacobian(mirrored, ik.site_jacobian(arm, data))
    assert np.abs(wrong - error_differences(arm, data, position, rotation, arm.dofs)).max() > 0.1

"""The control loop: what a step reads, asks for and refuses, and what a run reports."""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import ikcourse as ik

from .models import SHUFFLED, from_xml, mounted_panda, quaternion_of, random_q, servo_arm

LAW = ik.DampedLeastSquares(1e-2)


@pytest.fixture(scope="module")
def arm():
    return ik.panda()


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    """MuJoCo logs its warnings into the working directory."""
    monkeypatch.chdir(tmp_path)


class Answer:
    """A law that always gives the same joint velocity."""

    def __init__(self, qdot):
        self.qdot = np.asarray(qdot, float)

    def bind(self, arm):
        return lambda state: self.qdot


class Spy:
    """A law that keeps copies of what it was shown, and answers as damped least squares does."""

    def __init__(self):
        self.seen = []

    def bind(self, arm):
        inner = LAW.bind(arm)

        def step(state):
            names = (
                "q", "qd", "position", "quaternion", "jacobian", "error",
                "target_position", "target_quaternion", "target_twist",
            )  # fmt: skip
            self.seen.append({name: getattr(state, name).copy() for name in names})
            return inner(state)

        return step


# ----- what a step reads


class OneStepOld(ik.Controller):
    """The mutant: `mj_step` alone, whose kinematics are those of the state before it."""

    def step(self, target_position, target_quaternion, target_twist=None):
        self._measure(target_position, target_quaternion, target_twist)
        qdot = self._law(self.state)
        setpoint = self.state.q + qdot * self.integration_dt
        self.data.ctrl[self._ctrl] = np.clip(setpoint, self.arm.lower, self.arm.upper)
        mujoco.mj_step(self.arm.model, self.data)
        return qdot, setpoint


def staleness(controller_class, arm, steps=40):
    """The worst difference between what a step used and what a fresh simulation says of the state it started from."""
    spy, path = Spy(), ik.circle(arm, duration=0.2)
    controller = controller_class(arm, spy)
    fresh, worst = mujoco.MjData(arm.model), 0.0
    for k in range(steps):
        fresh.qpos[:], fresh.qvel[:] = controller.data.qpos, controller.data.qvel
        mujoco.mj_forward(arm.model, fresh)
        controller.step(path.positions[k], path.quaternions[k], path.twists[k])
        seen = spy.seen[-1]
        rotation = Rotation.from_matrix(fresh.site_xmat[arm.site].reshape(3, 3))
        target = Rotation.from_quat(path.quaternions[k], scalar_first=True)
        linear, angular = np.empty((3, arm.model.nv)), np.empty((3, arm.model.nv))
        mujoco.mj_jac(arm.model, fresh, linear, angular, fresh.site_xpos[arm.site], arm.model.site_bodyid[arm.site])
        expected = {
            "q": fresh.qpos[arm.qpos_addresses],
            "qd": fresh.qvel[arm.dofs],
            "position": fresh.site_xpos[arm.site],
            "jacobian": np.concatenate([linear, angular])[:, arm.dofs],
            "error": np.concatenate(
                [path.positions[k] - fresh.site_xpos[arm.site], (target * rotation.inv()).as_rotvec()]
            ),
            "target_position": path.positions[k],
            "target_quaternion": path.quaternions[k],
            "target_twist": path.twists[k],
        }
        worst = max(worst, *(np.abs(seen[name] - value).max() for name, value in expected.items()))
        turned = Rotation.from_quat(seen["quaternion"], scalar_first=True) * rotation.inv()
        worst = max(worst, turned.magnitude())
        assert np.array_equal(controller.state.error, seen["error"])
    return worst


def test_a_step_never_reads_a_stale_pose(arm):
    assert staleness(ik.Controller, arm) < 1e-13
    assert staleness(OneStepOld, arm) > 1e-4


def test_a_step_reads_the_joints_of_an_arm_among_other_things():
    arm = from_xml(SHUFFLED, home="bent")
    assert staleness(ik.Controller, arm) < 1e-13
    shuffled = from_xml(SHUFFLED, joints=["three", "one"], home="bent")
    assert staleness(ik.Controller, shuffled) < 1e-13


def unit_quaternions(rng):
    """Random rotations, tiny ones, ones near pi, and exact half turns: w is 0, and -0."""
    for _ in range(200):
        q = rng.normal(size=4)
        yield q / np.linalg.norm(q)
    for angle in (0.0, 1e-12, 1e-9, 1e-6, 1e-3, np.pi - 1e-3, np.pi - 1e-9, np.pi - 1e-13):
        for _ in range(5):
            yield quaternion_of(Rotation.from_rotvec(angle * _axis(rng)))
    for axis in np.eye(3):
        yield np.array([0.0, *axis])
        yield np.array([-0.0, *axis])
    for _ in range(50):
        yield np.array([0.0, *_axis(rng)])
    yield np.array([0.0, 0.0, -0.6, 0.8])
    yield np.array([1e-17, 0.0, -0.6, 0.8])


def _axis(rng):
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def upright_arm():
    """An arm whose site's orientation at home is the identity, so that a target is the rotation between."""
    return servo_arm('<position joint="hinge" kp="100" kv="10"/>')


def test_the_loops_rotation_error_is_rotation_error_for_every_quaternion_and_both_signs():
    arm = upright_arm()
    controller = ik.Controller(arm, Answer([0.0]))
    identity = np.array([1.0, 0, 0, 0])
    rng = np.random.default_rng(50)
    half_turns = 0
    for target in unit_quaternions(rng):
        controller.step(np.zeros(3), target)
        assert np.array_equal(controller.state.quaternion, identity)
        error = controller.state.error[3:].copy()
        expected = ik.rotation.rotation_error(target, identity)
        np.testing.assert_allclose(error, expected, rtol=1e-13, atol=1e-15)
        controller.step(np.zeros(3), -target)
        np.testing.assert_array_equal(controller.state.error[3:], error)
        if target[0] == 0:
            half_turns += 1
            assert np.linalg.norm(error) == pytest.approx(np.pi, rel=4e-16)
            assert error[np.flatnonzero(error)[0]] > 0
    assert half_turns > 50


def test_the_loops_rotation_error_is_rotation_error_at_random_poses(arm):
    rng = np.random.default_rng(51)
    for q in random_q(arm, rng, 50):
        controller = ik.Controller(arm, LAW, arm.data(q))
        target = quaternion_of(Rotation.random(rng=rng))
        controller.step(np.zeros(3), target)
        expected = ik.rotation.rotation_error(target, controller.state.quaternion)
        np.testing.assert_allclose(controller.state.error[3:], expected, rtol=1e-12, atol=1e-15)


def test_a_target_that_is_the_pose_itself_leaves_a_finite_error(arm):
    controller = ik.Controller(arm, LAW)
    position, quaternion = ik.site_pose(arm, controller.data)
    controller.step(position, quaternion)
    assert np.abs(controller.state.error).max() < 1e-15


# ----- what a step asks for


def test_a_step_sets_q_plus_qdot_times_integration_dt(arm):
    qdot = np.array([0.1, -0.2, 0.3, 0.1, -0.1, 0.2, -0.3])
    for integration_dt in (0.01, 0.5, 1.0):
        controller = ik.Controller(arm, Answer(qdot), integration_dt=integration_dt)
        commanded, setpoint = controller.step(np.zeros(3), np.array([1.0, 0, 0, 0]))
        assert np.array_equal(commanded, qdot)
        assert np.array_equal(setpoint, arm.home + qdot * integration_dt)
        assert np.array_equal(controller.data.ctrl[arm.actuators], setpoint)
        assert controller.data.time == pytest.approx(0.002)


def test_a_setpoint_beyond_the_joint_limits_is_cut_and_reported_uncut(arm):
    controller = ik.Controller(arm, Answer([10, -10, 0.1, 10, -10, -10, 0]))
    _, setpoint = controller.step(np.zeros(3), np.array([1.0, 0, 0, 0]))
    assert np.array_equal(setpoint, arm.home + [10, -10, 0.1, 10, -10, -10, 0])
    cut = controller.data.ctrl[arm.actuators]
    expected = setpoint.copy()
    expected[[0, 3]] = arm.upper[[0, 3]]
    expected[[1, 4, 5]] = arm.lower[[1, 4, 5]]
    assert np.array_equal(cut, expected)


def test_actuators_in_another_order_get_their_own_joints_setpoint():
    arm = from_xml(SHUFFLED, home="bent")
    controller = ik.Controller(arm, Answer([0.01, 0.02, 0.03]), arm.data())
    _, setpoint = controller.step(np.zeros(3), np.array([1.0, 0, 0, 0]))
    control = {arm.model.actuator(i).name: controller.data.ctrl[i] for i in range(arm.model.nu)}
    assert control["drives_one"] == setpoint[0] == 0.1 + 0.01
    assert control["drives_two"] == setpoint[1] == -0.7 + 0.02
    assert control["drives_three"] == setpoint[2] == 0.2 + 0.03
    assert control["pulls_both"] == control["drives_bystander"] == 0, "other actuators keep the keyframe's control"
    for _ in range(3000):
        controller.data.ctrl[arm.actuators] = [0.5, -0.5, 0.1]
        mujoco.mj_step(arm.model, controller.data)
    np.testing.assert_allclose(controller.data.qpos[arm.qpos_addresses], [0.5, -0.5, 0.1], atol=1e-2)


def test_an_unlimited_joint_is_not_cut():
    arm = from_xml(SHUFFLED)
    controller = ik.Controller(arm, Answer([100.0, 0, 0]))
    controller.step(np.zeros(3), np.array([1.0, 0, 0, 0]))
    assert controller.data.ctrl[arm.actuators[0]] == 100


def test_the_gripper_keeps_its_command_and_its_width(arm):
    run = ik.track(arm, ik.hold(arm, 0.2), LAW)
    assert run.q.shape[1] == 7
    controller = ik.Controller(arm, LAW)
    path = ik.circle(arm, duration=0.5)
    for k in range(250):
        controller.step(path.positions[k], path.quaternions[k])
    assert controller.data.ctrl[7] == 255
    assert np.abs(controller.data.qpos[7:9] - 0.04).max() < 1e-3


def test_a_speed_bound_scales_before_the_setpoint_is_made(arm):
    qdot = np.array([3.0, -1.0, 0.5, 0, 0, 0, 1.5])
    controller = ik.Controller(arm, Answer(qdot), integration_dt=0.1, max_joint_speed=1.0)
    commanded, setpoint = controller.step(np.zeros(3), np.array([1.0, 0, 0, 0]))
    np.testing.assert_allclose(commanded, qdot / 3, rtol=1e-15)
    np.testing.assert_allclose(setpoint, arm.home + qdot / 30, rtol=1e-15)


def test_a_controller_drives_the_data_that_it_is_given(arm):
    data = arm.data()
    controller = ik.Controller(arm, LAW, data)
    assert controller.data is data
    controller.step(np.array([0.4, 0, 0.5]), np.array([0.0, 1, 0, 0]))
    assert data.time > 0
    assert ik.Controller(arm, LAW).data is not data


def test_track_is_the_controller_step_by_step(arm):
    path = ik.circle(arm, duration=0.4)
    run = ik.track(arm, path, LAW, integration_dt=0.7, max_joint_speed=0.4)
    controller = ik.Controller(arm, LAW, integration_dt=0.7, max_joint_speed=0.4)
    for k in range(200):
        q = controller.data.qpos[arm.qpos_addresses].copy()
        qdot, setpoint = controller.step(path.positions[k], path.quaternions[k], path.twists[k])
        assert np.array_equal(run.q[k], q)
        assert np.array_equal(run.qdot[k], qdot)
        assert np.array_equal(run.setpoints[k], setpoint)
        assert np.array_equal(run.errors[k], controller.state.error)
    assert np.array_equal(run.q[-1], controller.data.qpos[arm.qpos_addresses])


def test_the_same_run_twice_is_the_same_run(arm):
    one, other = (ik.track(arm, ik.reach_and_return(arm, duration=0.5), LAW) for _ in range(2))
    for name in ("q", "qdot", "errors", "setpoints"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


# ----- what a run reports


def test_a_runs_arrays_and_what_they_say(arm):
    path = ik.reach_and_return(arm, 0.86, duration=1.0)
    run = ik.track(arm, path, ik.DampedLeastSquares(1e-3))
    assert run.arm is arm
    assert run.path is path
    assert run.integration_dt == 1.0
    assert run.q.shape == (501, 7)
    assert run.qdot.shape == run.setpoints.shape == (500, 7)
    assert run.errors.shape == (500, 6)
    assert np.array_equal(run.times, path.times)
    assert np.array_equal(run.q[0], arm.home)
    np.testing.assert_allclose(run.setpoints, run.q[:-1] + run.qdot, rtol=0, atol=1e-12)
    for k in (0, 123, 499):
        assert run.position_error[k] == pytest.approx(np.sqrt(sum(run.errors[k, i] ** 2 for i in range(3))))
        assert run.joint_speed[k] == max(abs(v) for v in run.qdot[k])
        assert run.distance_from_home[k] == pytest.approx(np.sqrt(sum((run.q[k + 1] - arm.home) ** 2)))
        beyond = any(not arm.lower[i] <= run.setpoints[k, i] <= arm.upper[i] for i in range(7))
        assert run.clipped[k] == beyond
    assert run.position_error.shape == run.joint_speed.shape == run.distance_from_home.shape == (500,)
    assert run.clipped.shape == (500,)
    assert run.clipped.dtype == bool
    assert 0 < run.clipped.sum() < 500, "a reach near the end of the arm asks for setpoints beyond the limits"


def test_a_run_follows_its_path(arm):
    run = ik.track(arm, ik.circle(arm, 0.05, 0.1, duration=1.0), LAW)
    assert run.position_error.max() < 0.02
    # The errors are of the path: the site of the measured q is that far from the target.
    position, _ = ik.site_pose(arm, arm.data(run.q[300]))
    assert np.linalg.norm(run.path.positions[300] - position) == pytest.approx(run.position_error[300], abs=1e-12)


def test_a_run_can_start_elsewhere(arm):
    q = arm.home + 0.1
    run = ik.track(arm, ik.hold(arm, 0.01), LAW, q=q)
    assert np.array_equal(run.q[0], q)
    assert run.position_error[0] > 0.02
    with pytest.raises(ValueError, match="shape"):
        ik.track(arm, ik.hold(arm, 0.01), LAW, q=np.zeros(6))


def test_a_run_of_one_step(arm):
    run = ik.track(arm, ik.hold(arm, 0.002), LAW)
    assert run.q.shape == (2, 7)


# ----- what is refused


@pytest.mark.parametrize("integration_dt", [0.0, -1.0, np.nan, np.inf])
def test_an_integration_dt_that_is_no_time_is_refused(arm, integration_dt):
    with pytest.raises(ValueError, match="integration_dt"):
        ik.Controller(arm, LAW, integration_dt=integration_dt)


@pytest.mark.parametrize(
    "bound", [0.0, -1.0, np.nan, np.inf, np.ones(6), np.array([1, 1, 1, 0, 1, 1, 1]), np.ones((7, 1))]
)
def test_a_speed_bound_that_bounds_nothing_is_refused(arm, bound):
    with pytest.raises(ValueError, match="max_joint_speed"):
        ik.Controller(arm, LAW, max_joint_speed=bound)


def test_a_path_of_another_time_step_is_refused(arm):
    path = ik.hold(arm, 0.1)
    other = ik.Path(path.times * 2, path.positions, path.quaternions, path.twists, path.accelerations)
    with pytest.raises(ValueError, match=r"time step is 0.004 s, the model's 0.002 s"):
        ik.track(arm, other, LAW)


@pytest.mark.parametrize(
    "actuator",
    [
        '<position joint="hinge" kp="100"/>',
        '<position joint="hinge" kp="100" kv="10" ctrlrange="-1 1"/>',
        '<position joint="hinge" kp="100" timeconst="0.05"/>',
        '<general joint="hinge" gainprm="100" biastype="affine" biasprm="0 -100 -10"/>',
    ],
)
def test_position_actuators_are_accepted(actuator):
    ik.Controller(servo_arm(actuator), LAW)


@pytest.mark.parametrize(
    "actuator",
    [
        '<motor joint="hinge"/>',
        '<velocity joint="hinge" kv="3"/>',
        '<intvelocity joint="hinge" kp="100" actrange="-1 1"/>',
        '<position joint="hinge" kp="100" gear="2"/>',
        '<position joint="hinge" kp="-100"/>',
        '<general joint="hinge" gainprm="100" biastype="affine" biasprm="0 -50 0"/>',
        '<general joint="hinge" gainprm="100" biastype="affine" biasprm="7 -100 0"/>',
        '<general joint="hinge" gaintype="affine" gainprm="100 3 0" biastype="affine" biasprm="0 -100 0"/>',
        '<general joint="hinge" gainprm="0" biastype="affine" biasprm="0 0 0"/>',
    ],
)
def test_an_actuator_whose_control_is_not_the_joints_setpoint_is_refused(actuator):
    with pytest.raises(ValueError, match="'hinge' is not a position actuator"):
        ik.Controller(servo_arm(actuator), LAW)


def test_a_joint_without_an_actuator_is_refused_by_its_name():
    with pytest.raises(ValueError, match="'joint1' has no actuator"):
        ik.Controller(ik.planar(2), LAW)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_law_whose_answer_is_not_finite_is_not_taken_for_a_run(arm, value):
    class Breaks:
        def bind(self, arm):
            steps = iter(range(1000))
            return lambda state: np.full(arm.n, value if next(steps) == 7 else 0.0)

    with pytest.raises(FloatingPointError, match="not finite at step 7"):
        ik.track(arm, ik.hold(arm, 0.1), Breaks())


def test_a_simulation_that_diverges_is_not_taken_for_a_run():
    # An explicit integrator and a servo far too stiff for its time step.
    arm = servo_arm('<position joint="hinge" kp="1e14"/>', integrator="Euler", timestep=0.01)
    with pytest.raises(FloatingPointError, match=r"diverged.*0.01 s"):
        ik.track(arm, ik.hold(arm, 2.0), Answer([0.1]))
    # MuJoCo itself only warns, and goes on from a reset state.
    data = arm.data()
    data.ctrl[:] = 0.1
    for _ in range(200):
        mujoco.mj_step(arm.model, data)
    assert np.isfinite(data.qpos).all()


def test_the_same_servo_at_a_sound_time_step_runs():
    arm = servo_arm('<position joint="hinge" kp="1e3" kv="50"/>', timestep=0.002)
    run = ik.track(arm, ik.hold(arm, 2.0), LAW)
    assert np.isfinite(run.q).all()


# ----- the loop on a base of its own


def test_a_free_body_beside_the_arm_does_not_disturb_the_loop():
    alone, among = mounted_panda(), mounted_panda(neighbours=True)
    path = ik.reach_and_return(alone, duration=1.0)
    one, other = ik.track(alone, path, LAW), ik.track(among, path, LAW)
    assert np.abs(one.qdot - other.qdot).max() < 1e-11

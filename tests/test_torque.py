"""Torque control: motors with the real arm's limits, inverse dynamics, Khatib's formula, circles and a jump."""

import dataclasses

import mujoco
import numpy as np
import pytest

import ikcourse as ik
from ikcourse.torque import inertia, jacobian_rate, torque_limits

from .models import SHARED, random_q, servo_arm

LIMITS = np.array([87, 87, 87, 87, 12, 12, 12.0])
DAMPINGS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
LAWS = (ik.DampedLeastSquares, ik.OperationalSpace)
AFTER_START = 500
"""Control steps in the first second."""


@pytest.fixture(scope="module")
def arm():
    return ik.panda(actuators="torque")


@pytest.fixture(scope="module")
def free(arm):
    """The same arm without contacts, joint limits and the coupling of the fingers: what inverse dynamics is about."""
    free = ik.panda(actuators="torque")
    free.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return free


def moving(arm, rng):
    """Data at random joint positions and velocities, everything current."""
    data = arm.data(random_q(arm, rng))
    data.qvel[arm.dofs] = rng.normal(0, 1, arm.n)
    mujoco.mj_forward(arm.model, data)
    return data


def shifted(path, offset):
    return dataclasses.replace(path, positions=path.positions + np.asarray(offset))


def worst_millimetres(run):
    return 1e3 * run.position_error[AFTER_START:].max()


# ----- the scene


def test_the_motors_have_the_limits_of_the_real_arm_and_nothing_else_changed(arm):
    model, servos = arm.model, ik.panda().model
    assert np.array_equal(model.actuator_ctrlrange[:7], np.stack([-LIMITS, LIMITS], axis=1))
    assert np.array_equal(torque_limits(arm), [-LIMITS, LIMITS])
    for name in ("body_mass", "body_inertia", "dof_armature", "dof_damping", "jnt_range", "key_qpos", "qpos0",
                 "actuator_forcerange"):  # fmt: skip
        assert np.array_equal(getattr(model, name), getattr(servos, name)), name
    for name in ("actuator_gainprm", "actuator_biasprm", "actuator_ctrlrange"):
        assert np.array_equal(getattr(model, name)[7], getattr(servos, name)[7]), "the gripper keeps its drive"
    assert np.array_equal(model.key_ctrl[0], [0] * 7 + [255])
    assert (servos.actuator_biastype[:7] == int(mujoco.mjtBias.mjBIAS_AFFINE)).all()


def test_without_a_torque_the_arm_falls_and_a_control_is_a_torque(arm):
    data = arm.data()
    for _ in range(100):
        mujoco.mj_step(arm.model, data)
    assert np.linalg.norm(data.qpos[arm.qpos_addresses] - arm.home) > 0.1
    data.ctrl[arm.actuators] = [1, 2, 3, 4, 5, 6, 100]
    mujoco.mj_forward(arm.model, data)
    assert np.array_equal(data.qfrc_actuator[arm.dofs], [1, 2, 3, 4, 5, 6, 12])


def test_an_unknown_kind_of_actuator_is_refused():
    with pytest.raises(ValueError, match=r"\['position', 'torque'\]; got 'velocity'"):
        ik.panda(actuators="velocity")


def test_each_loop_refuses_the_other_ones_arm(arm):
    with pytest.raises(ValueError, match=r"'joint1' is not a motor.*actuators=\"torque\""):
        ik.ComputedTorque(ik.panda(), ik.DampedLeastSquares())
    with pytest.raises(ValueError, match="'joint1' is not a position actuator"):
        ik.Controller(arm, ik.DampedLeastSquares())
    with pytest.raises(ValueError, match="'joint1' has no actuator"):
        ik.ComputedTorque(ik.planar(2), ik.DampedLeastSquares())


@pytest.mark.parametrize(
    "actuator",
    [
        '<motor joint="hinge" gear="2"/>',
        '<general joint="hinge" gainprm="3"/>',
        '<general joint="hinge" dyntype="integrator"/>',
        '<velocity joint="hinge" kv="1"/>',
        '<position joint="hinge" kp="1"/>',
    ],
)
def test_an_actuator_whose_control_is_not_its_torque_is_refused(actuator):
    with pytest.raises(ValueError, match="'hinge' is not a motor"):
        ik.ComputedTorque(servo_arm(actuator), ik.DampedLeastSquares())


def test_the_tighter_of_two_limits_counts_and_no_limit_is_infinite():
    for limits, expected in {
        "": np.inf, 'ctrlrange="-3 3"': 3, 'forcerange="-2 2"': 2, 'ctrlrange="-3 3" forcerange="-2 2"': 2,
        'ctrlrange="-1 1" forcerange="-2 2"': 1,
    }.items():  # fmt: skip
        assert np.array_equal(torque_limits(servo_arm(f'<motor joint="hinge" {limits}/>')), [[-expected], [expected]])


@pytest.mark.parametrize(
    ("name", "value"),
    [("position_gain", 0.0), ("position_gain", np.nan), ("velocity_gain", -1.0), ("velocity_gain", np.inf),
     ("feedforward", "jerk"), ("max_joint_speed", 0.0), ("speed_bound", "bend")],
)  # fmt: skip
def test_a_parameter_out_of_its_range_is_refused(arm, name, value):
    with pytest.raises(ValueError, match=name):
        ik.ComputedTorque(arm, ik.DampedLeastSquares(), **{name: value})


@pytest.mark.parametrize("name", ["damping", "nullspace_gain"])
def test_operational_space_refuses_a_negative_parameter(name):
    with pytest.raises(ValueError, match=name):
        ik.OperationalSpace(**{name: -1.0})


# ----- the dynamics


def test_inverse_dynamics_is_mujocos(free):
    rng, without_armature = np.random.default_rng(80), 0.0
    for _ in range(20):
        data = moving(free, rng)
        acceleration = rng.normal(0, 5, free.n)
        torque = ik.inverse_dynamics(free, data, acceleration)
        data.qacc[:] = 0
        data.qacc[free.dofs] = acceleration
        mujoco.mj_inverse(free.model, data)
        np.testing.assert_allclose(torque, data.qfrc_inverse[free.dofs], rtol=0, atol=1e-11)
        bare = np.empty(free.model.nv)
        mujoco.mj_rne(free.model, data, 1, bare)
        rest = torque - (bare - data.qfrc_passive)[free.dofs]
        without_armature = max(without_armature, np.abs(rest).max())
        np.testing.assert_allclose(rest, 0.1 * acceleration, rtol=0, atol=1e-11)
    assert without_armature > 0.5, "mj_rne alone forgets the motors' own inertia"


@pytest.mark.parametrize("gravity_compensation", [False, True])
def test_the_torque_gives_the_acceleration(gravity_compensation):
    """Through MuJoCo's forward dynamics; the fingers, which may move, shift it by less than a thousandth."""
    arm, rng = ik.panda(gravity_compensation=gravity_compensation, actuators="torque"), np.random.default_rng(81)
    arm.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    arm.model.actuator_ctrllimited[:] = arm.model.actuator_forcelimited[:] = 0
    for _ in range(10):
        data = moving(arm, rng)
        acceleration = rng.normal(0, 5, arm.n)
        data.ctrl[arm.actuators] = ik.inverse_dynamics(arm, data, acceleration)
        mujoco.mj_forward(arm.model, data)
        assert np.abs(data.qacc[arm.dofs] - acceleration).max() < 0.05
    data.ctrl[arm.actuators] -= data.qfrc_bias[arm.dofs]
    mujoco.mj_forward(arm.model, data)
    assert np.abs(data.qacc[arm.dofs] - acceleration).max() > 1


def test_the_dynamics_of_another_model_are_refused(arm, free):
    """MuJoCo itself would read past the end of such data, and say nothing."""
    for call in (inertia, jacobian_rate, lambda one, data: ik.inverse_dynamics(one, data, np.zeros(7))):
        with pytest.raises(ValueError, match="belongs to another model"):
            call(arm, free.data())


@pytest.mark.parametrize("acceleration", [1.0, np.zeros(3), np.zeros((1, 7)), None])
def test_an_acceleration_that_is_not_one_for_each_joint_is_refused(arm, acceleration):
    with pytest.raises(ValueError, match=r"acceleration must have shape \(7,\)"):
        ik.inverse_dynamics(arm, arm.data(), acceleration)


def test_torque_limits_need_an_actuator_on_every_joint():
    """-1 stands for no actuator, and would read the limits of the last one."""
    with pytest.raises(ValueError, match="every joint needs an actuator"):
        torque_limits(ik.planar(2))


def test_inertia_is_what_an_acceleration_costs(free):
    rng = np.random.default_rng(82)
    for _ in range(5):
        data = moving(free, rng)
        coast = ik.inverse_dynamics(free, data, np.zeros(free.n))
        columns = [ik.inverse_dynamics(free, data, unit) - coast for unit in np.eye(free.n)]
        np.testing.assert_allclose(inertia(free, data), np.stack(columns, axis=1), rtol=0, atol=1e-12)


def test_jacobian_rate_is_the_difference_of_two_jacobians(arm):
    rng, h = np.random.default_rng(83), 1e-6
    for _ in range(10):
        data = moving(arm, rng)
        q, qd = data.qpos[arm.qpos_addresses], data.qvel[arm.dofs]
        before, after = ik.jacobians_at(arm, np.stack([q - h * qd, q + h * qd]))
        rate = jacobian_rate(arm, data)
        assert np.abs(rate).max() > 0.1
        np.testing.assert_allclose(rate, (after - before) / (2 * h), rtol=0, atol=1e-8)


# ----- the loop's torques


def one_step(arm, law, data, rng, **gains):
    """A loop after one step towards a random near target: the loop, the state it read, the torque it asked."""
    loop = ik.ComputedTorque(arm, law, data, **gains)
    position, quaternion = ik.site_pose(arm, data)
    turn = ik.rotation.quat_exp(rng.normal(0, 0.1, 3))
    target = position + rng.normal(0, 0.05, 3), ik.rotation.quat_multiply(turn, quaternion)
    twist, acceleration = rng.normal(0, 0.3, 6), rng.normal(0, 1, 6)
    before = mujoco.MjData(arm.model)
    before.qpos[:], before.qvel[:] = data.qpos, data.qvel
    mujoco.mj_forward(arm.model, before)
    error = ik.pose_error(*target, position, quaternion)
    _, torque = loop.step(*target, twist, acceleration)
    np.testing.assert_allclose(loop.state.error, error, rtol=0, atol=1e-13)
    return before, error, twist, acceleration, torque


def test_where_the_law_is_exact_the_tool_gets_the_resolved_acceleration(free):
    """a_t + (K + V)(v_t - v) + K V e, of Luh, Walker and Paul, for both laws; and each part of it matters."""
    rng, K, V = np.random.default_rng(84), 7.0, 30.0
    for law in (ik.DampedLeastSquares(0.0), ik.OperationalSpace(0.0), ik.DampedLeastSquares(0.0, 2.0)):
        for _ in range(5):
            data = moving(free, rng)
            before, e, v_t, a_t, torque = one_step(free, law, data, rng, position_gain=K, velocity_gain=V)
            J, qd = ik.site_jacobian(free, before), before.qvel[free.dofs]
            coast = ik.inverse_dynamics(free, before, np.zeros(free.n))
            qddot = np.linalg.solve(inertia(free, before), torque - coast)
            turning = jacobian_rate(free, before) @ qd
            tool = J @ qddot + turning
            wanted = a_t + (K + V) * (v_t - J @ qd) + K * V * e
            scale = np.abs(wanted).max()
            assert np.abs(tool - wanted).max() < 1e-8 * scale * np.linalg.cond(J)
            assert np.abs(turning).max() > 1e-2


def test_operational_space_is_khatibs_formula(free):
    rng, K, V, damping, pull = np.random.default_rng(85), 7.0, 30.0, 3e-2, 1.5
    other = 0.0
    for _ in range(10):
        data = moving(free, rng)
        law = ik.OperationalSpace(damping, pull)
        before, e, v_t, a_t, torque = one_step(free, law, data, rng, position_gain=K, velocity_gain=V)
        J, M = ik.site_jacobian(free, before), inertia(free, before)
        q, qd = before.qpos[free.qpos_addresses], before.qvel[free.dofs]
        Minv = np.linalg.inv(M)
        tool_mass = np.linalg.inv(J @ Minv @ J.T + damping**2 * np.eye(6))
        Jbar = Minv @ J.T @ tool_mass
        a = a_t + (K + V) * (v_t - J @ qd) + K * V * e
        force = tool_mass @ (a - jacobian_rate(free, before) @ qd)
        tau_0 = M @ (V * (pull * (free.home - q) - qd))
        h = (before.qfrc_bias - before.qfrc_passive)[free.dofs]
        khatib = J.T @ force + (np.eye(7) - J.T @ Jbar.T) @ tau_0 + h
        np.testing.assert_allclose(torque, khatib, rtol=0, atol=1e-9 * np.abs(khatib).max())
        unweighted = ik.ComputedTorque(free, ik.DampedLeastSquares(damping, pull), before, K, V)
        _, plain = unweighted.step(*ik.site_pose(free, before), np.zeros(6), np.zeros(6))
        other = max(other, np.abs(plain - khatib).max())
        # The tool feels nothing of tau_0, where lambda is zero.
        exact = Minv @ J.T @ np.linalg.inv(J @ Minv @ J.T)
        assert np.abs(J @ Minv @ (tau_0 - J.T @ exact.T @ tau_0)).max() < 1e-9 * np.abs(tau_0).max()
    assert other > 1


def test_feedforward_decides_what_is_read_of_the_path(free):
    """Without it the torque does not depend on twist and acceleration; with the twist alone not on acceleration."""

    def answer(feedforward, twist, acceleration):
        loop = ik.ComputedTorque(free, ik.DampedLeastSquares(), feedforward=feedforward)
        position, quaternion = ik.site_pose(free, loop.data)
        return loop.step(position, quaternion, twist, acceleration)[1]

    still, go = np.zeros(6), np.full(6, 0.1)
    for feedforward, reads_twist, reads_acceleration in (
        ("none", False, False), ("velocity", True, False), ("acceleration", True, True),
    ):  # fmt: skip
        rest = answer(feedforward, still, still)
        assert (np.abs(answer(feedforward, go, still) - rest).max() > 1e-3) == reads_twist
        assert (np.abs(answer(feedforward, still, go) - rest).max() > 1e-3) == reads_acceleration


# ----- the circle


@pytest.mark.parametrize(("frequency", "bound"), [(0.25, 0.3), (1.0, 1.0)])
@pytest.mark.parametrize("law", LAWS)
def test_the_tool_stays_on_the_circle_at_every_damping(arm, law, frequency, bound):
    path = ik.circle(arm, 0.1, frequency, duration=3.0)
    for damping in DAMPINGS:
        run = ik.follow(ik.ComputedTorque(arm, law(damping)), path)
        assert worst_millimetres(run) < bound
        assert np.rad2deg(np.linalg.norm(run.errors[AFTER_START:, 3:], axis=1).max()) < 0.1
        assert (np.abs(run.torques) <= LIMITS).all()


@pytest.mark.parametrize("law", LAWS)
def test_without_feedforward_the_tool_trails_by_velocity_over_gain(arm, law):
    path = ik.circle(arm, 0.1, 0.25, duration=3.0)
    speed = 2 * np.pi * 0.25 * 0.1
    for gain in (10.0, 20.0):
        worst = {
            feedforward: worst_millimetres(
                ik.follow(ik.ComputedTorque(arm, law(1e-2), position_gain=gain, feedforward=feedforward), path)
            )
            for feedforward in ("none", "velocity", "acceleration")
        }
        assert worst["none"] == pytest.approx(1e3 * speed / gain, rel=0.02)
        assert worst["none"] > 30 * worst["velocity"] > 60 * worst["acceleration"]


def test_a_loop_that_forgets_the_weight_sags(arm):
    """The break: the bar is not met by gains alone."""

    class Weightless(ik.ComputedTorque):
        def step(self, target_position, target_quaternion, target_twist=None, target_acceleration=None):
            mujoco.mj_step1(self.arm.model, self.data)
            self._measure(target_position, target_quaternion, target_twist, target_acceleration)
            qdot = self._ask(self.state.with_error(self._aim()))
            torque = inertia(self.arm, self.data) @ (self.velocity_gain * (qdot - self.state.qd))
            self.data.ctrl[self._ctrl] = np.clip(torque, *self.limits)
            mujoco.mj_step2(self.arm.model, self.data)
            return qdot, torque

    run = ik.follow(Weightless(arm, ik.DampedLeastSquares(1e-2)), ik.circle(arm, 0.1, 0.25, duration=2.0))
    assert worst_millimetres(run) > 3


def test_an_arm_that_compensates_gravity_itself_makes_the_same_motion(arm):
    path, law = ik.circle(arm, duration=1.0), ik.DampedLeastSquares(1e-2)
    other = ik.panda(gravity_compensation=True, actuators="torque")
    one, same = (ik.follow(ik.ComputedTorque(a, law), path) for a in (arm, other))
    assert np.abs(one.q - same.q).max() < 1e-4
    assert np.abs(one.torques[-1]).max() > 10 * np.abs(same.torques[-1]).max()


def test_on_the_public_panda_too():
    if not (SHARED / "menagerie" / "franka_emika_panda").is_dir():
        pytest.skip("the public Panda (../shared/menagerie) does not stand beside this checkout")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENAGERIE_ROOT", str(SHARED / "menagerie"))
        arm = ik.panda("menagerie", actuators="torque")
    assert arm.model.nmesh > 50
    assert np.array_equal(torque_limits(arm), [-LIMITS, LIMITS])
    run = ik.follow(ik.ComputedTorque(arm, ik.DampedLeastSquares(1e-2)), ik.circle(arm, duration=2.0))
    assert worst_millimetres(run) < 0.3


# ----- the jump


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("offset", [*np.eye(3) / 10, *-np.eye(3) / 10])
def test_a_jump_saturates_the_motors_never_exceeds_them_and_is_made_good(arm, law, offset):
    path = shifted(ik.hold(arm, 1.5), offset)
    for damping in (1e-4, 1e-2):
        run = ik.follow(ik.ComputedTorque(arm, law(damping)), path)
        assert run.position_error[0] == pytest.approx(0.1)
        assert np.abs(run.setpoints).max() > 400
        assert run.clipped.any()
        assert np.array_equal(run.torques, np.clip(run.setpoints, -LIMITS, LIMITS))
        assert (np.abs(run.torques) == LIMITS).any()
        assert run.position_error[AFTER_START:].max() < 1e-4


def test_the_controller_itself_asks_for_no_more_than_the_limits(arm):
    """MuJoCo would cut it anyway: what the controller wrote stands in ctrl, uncut by the model."""
    loop = ik.ComputedTorque(arm, ik.DampedLeastSquares(1e-2))
    position, quaternion = ik.site_pose(arm, loop.data)
    _, asked = loop.step(position + [0.1, 0, 0], quaternion)
    assert (np.abs(asked) > LIMITS).any()
    assert np.array_equal(loop.data.ctrl[arm.actuators], np.clip(asked, -LIMITS, LIMITS))
    assert loop.data.ctrl[7] == 255


def test_a_jump_onto_the_circle_is_made_good(arm):
    path = shifted(ik.circle(arm, 0.1, 0.25, duration=2.0), [0.1, 0, 0])
    run = ik.follow(ik.ComputedTorque(arm, ik.DampedLeastSquares(1e-2)), path)
    assert run.clipped.any()
    assert (np.abs(run.torques) <= LIMITS).all()
    assert run.position_error[AFTER_START:].max() < 1e-4


def test_the_limits_are_the_motors_and_not_the_controllers_alone(arm):
    """A controller that forgets them is cut by the model; a model without them is cut by nothing."""
    data = arm.data()
    data.ctrl[arm.actuators] = 1000
    mujoco.mj_step(arm.model, data)
    assert np.array_equal(data.actuator_force[arm.actuators], LIMITS)
    unlimited = ik.panda(actuators="torque")
    unlimited.model.actuator_ctrllimited[:7] = unlimited.model.actuator_forcelimited[:7] = 0
    path = shifted(ik.hold(unlimited, 0.5), [0.1, 0, 0])
    run = ik.follow(ik.ComputedTorque(unlimited, ik.DampedLeastSquares(1e-2)), path)
    assert (np.abs(run.torques).max(axis=0) > LIMITS).any()
    assert not run.clipped.any()


def test_a_speed_bound_holds_in_the_joints_too(arm):
    path = shifted(ik.hold(arm, 1.5), [0.1, 0, 0])
    fastest = {}
    for bound in (None, 1.5):
        run = ik.follow(ik.ComputedTorque(arm, ik.DampedLeastSquares(1e-2), max_joint_speed=bound), path)
        fastest[bound] = np.abs(np.diff(run.q, axis=0)).max() / arm.model.opt.timestep
        assert run.position_error[-1] < 1e-4
    assert fastest[None] > 3
    assert fastest[1.5] < 1.52


def test_the_reach_that_folds_the_servos_comes_home_on_motors(arm):
    from ikcourse.studies.ends import EndState, end_state

    path = ik.reach_and_return(arm, 0.70)
    run = ik.follow(ik.ComputedTorque(arm, ik.DampedLeastSquares(5e-3)), path)
    servos = ik.track(ik.panda(), path, ik.DampedLeastSquares(5e-3))
    assert end_state(run) is EndState.HEALTHY
    assert end_state(servos) is EndState.COLLAPSED
    assert run.integration_dt is None


def test_the_second_practice_tells_servos_from_motors(arm):
    from ikcourse.studies import practice

    servos, path = ik.panda(), ik.circle(arm, 0.1, 0.25, duration=1.5)
    rows = practice.study(servos, arm, path, dampings=(1e-3, 1e-2))
    assert [(row.control, row.damping) for row in rows] == [
        (control, lam)
        for lam in (1e-3, 1e-2)
        for control in ("position servos", "computed torque", "operational space")
    ]
    for row in rows:
        assert row.worst_error_m >= row.final_error_m
        assert (row.worst_error_m < 3e-4) == (row.control != "position servos")
        assert 0.1 < row.peak_speed_rad_s < 1
        assert 30 < row.peak_torque_nm < 87
        assert row.peak_torque_nm / 87 <= row.peak_torque_of_limit <= 1
    run = ik.track(servos, path, ik.DampedLeastSquares(1e-2))
    row = practice.summary(run, "position servos", 1e-2)
    assert row == rows[3]
    assert row.peak_speed_rad_s == max(
        abs(run.q[k + 1, i] - run.q[k, i]) / 0.002 for k in range(len(run.times)) for i in range(7)
    )
    assert row.peak_torque_nm == max(abs(t) for t in run.torques.ravel())
    assert row.peak_torque_of_limit == (np.abs(run.torques) / LIMITS).max()
    # Each damping reaches each control: with another law in a place the row is another.
    loops = (
        ik.Controller(servos, ik.DampedLeastSquares(1e-3)),
        ik.ComputedTorque(arm, ik.DampedLeastSquares(1e-3)),
        ik.ComputedTorque(arm, ik.OperationalSpace(1e-3)),
    )
    for loop, row in zip(loops, rows, strict=False):
        assert row == practice.summary(ik.follow(loop, path), row.control, 1e-3)
    assert len({(row.control, row.worst_error_m) for row in rows}) == len(rows)


def test_a_small_motor_at_its_limit_counts_more_than_a_large_one_below_it(arm):
    from ikcourse.studies import practice

    run = ik.follow(ik.ComputedTorque(arm, ik.DampedLeastSquares()), ik.hold(arm, 1.1))
    torques = np.tile([40.0, 40, 40, 40, 1, -9, 1], (len(run.times), 1))
    row = practice.summary(dataclasses.replace(run, torques=torques), "wrist", 1e-2)
    assert row.peak_torque_nm == 40
    assert row.peak_torque_of_limit == 9 / 12

"""mink as a law: what it minimises, that SciPy's box answers the same, and what is said where it has no answer."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import mujoco
import numpy as np
import pytest

import ikcourse as ik
from ikcourse import rotation
from ikcourse.box import BoxedLeastSquares, boxed_least_squares, velocity_box
from ikcourse.mink_qp import MinkQP

from .test_laws import state

mink = pytest.importorskip("mink")
qpsolvers = pytest.importorskip("qpsolvers")

ARM = ik.panda()
SOLVERS = ("daqp", "quadprog")
EPS = np.finfo(float).eps


def at(q, target, arm=ARM):
    """What the loop would hand to a law at q with this target."""
    position, quaternion = target
    data = arm.data(q)
    error = ik.pose_error(*target, *ik.site_pose(arm, data))
    given = state(arm, ik.site_jacobian(arm, data), error, q)
    return dataclasses.replace(given, data=data, target_position=position, target_quaternion=quaternion)


def as_mink_sees_it(given, arm=ARM, position_cost=1.0, orientation_cost=1.0):
    """mink's own weighted J (6, n) and e (6,): one logarithm of the pose, in the hand's axes."""
    tool = mink.FrameTask(arm.site_name, "site", position_cost, orientation_cost)
    tool.set_target(mink.SE3(np.concatenate([given.target_quaternion, given.target_position])))
    now = mink.Configuration(arm.model, given.data.qpos)
    costs = np.repeat([position_cost, orientation_cost], 3)
    return costs[:, None] * tool.compute_jacobian(now)[:, arm.dofs], -costs * tool.compute_error(now)


def cases(count, seed, arm=ARM):
    """Configurations inside the limits, every third at a limit or just outside, and targets up to half a metre away."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        q = arm.lower + rng.uniform(0.02, 0.98, arm.n) * (arm.upper - arm.lower)
        if k % 3 == 0:
            joint = rng.integers(arm.n)
            q[joint] = arm.upper[joint] + rng.uniform(-0.02, 0.02)
        position, quaternion = ik.site_pose(arm, arm.data(q))
        turn = rotation.quat_exp(rng.normal(0, 0.3, 3))
        target = position + rng.normal(0, 0.3, 3), rotation.quat_multiply(turn, quaternion)
        yield k, rng, q, at(q, target, arm)


# ----- the law is mink


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_law_is_minks_own_answer(solver):
    law = MinkQP(
        0.7, 0.3, 0.05, 0.5, 1e-6, max_joint_speed=(1, 1, 1, 1, 2, 2, 2), limit_gain=0.8, dt=0.5, solver=solver
    )
    step = law.bind(ARM)
    for _, _, q, given in cases(30, 80):
        now = mink.Configuration(ARM.model, ARM.data(q).qpos)
        tool = mink.FrameTask("end_effector", "site", 0.7, 0.3, lm_damping=0.5)
        tool.set_target(mink.SE3(np.concatenate([given.target_quaternion, given.target_position])))
        posture = mink.PostureTask(ARM.model, 0.05)
        posture.set_target(ARM.model.key_qpos[ARM.home_key])
        speeds = {f"joint{i}": 1.0 if i < 5 else 2.0 for i in range(1, 8)}
        limits = [mink.ConfigurationLimit(ARM.model, gain=0.8), mink.VelocityLimit(ARM.model, speeds)]
        answer = mink.solve_ik(now, [tool, posture], 0.5, solver, damping=1e-6, limits=limits)
        np.testing.assert_array_equal(step(given), answer[:7])


@pytest.mark.parametrize("dt", [1.0, 0.1])
def test_least_squares_in_a_box_is_minks_answer(dt):
    """150 configurations, bounds active in most, the regularisation from 1e-6 up: 1e-9, of mink's displacement."""
    active, regularisation = 0, []
    for k, rng, q, given in cases(150, 81):
        weights = {
            "posture_cost": (0.0, 1e-3, 1e-2, 0.3)[k % 4],
            "lm_damping": (0.0, 1e-3, 1.0)[k % 3],
            "damping_weight": 10.0 ** rng.uniform(-6, -1),
        }
        speed = (None, 1.0, 0.2)[k // 3 % 3]
        J, e = as_mink_sees_it(given)
        weight = weights["posture_cost"] ** 2 + weights["lm_damping"] * (e @ e) + weights["damping_weight"]
        box = velocity_box(ARM, q, speed, dt=dt)
        z = weights["posture_cost"] ** 2 / weight * (ARM.home - q) / dt
        mine = boxed_least_squares(J, e / dt, *box, weight**0.5, z)
        for solver in SOLVERS:
            other = MinkQP(**weights, max_joint_speed=speed, dt=dt, solver=solver).bind(ARM)(given)
            assert np.abs(mine - other).max() * dt <= 1e-9
        active += np.min([mine - box[0], box[1] - mine]) < 1e-9
        regularisation.append(weight)
    assert active > 75
    assert min(regularisation) < 3e-6


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit_gain": 1.0},
        {"max_joint_speed": 1.01},
        {"dt": 0.5},
        {"damping": 1e-2**0.5},
        {"damping": 1e-4},
        {"nullspace_gain": 0.0},
    ],
)
def test_a_box_or_a_weight_that_is_another_shows(wrong):
    right = {"damping": 1e-2, "nullspace_gain": 1.0, "max_joint_speed": 1.0, "limit_gain": 0.95, "dt": 1.0}
    peer = MinkQP(posture_cost=1e-2, lm_damping=0.0, damping_weight=0.0, max_joint_speed=1.0).bind(ARM)
    law, other = (BoxedLeastSquares(**{**right, **change}).bind(ARM) for change in ({}, wrong))
    apart, off = [], []
    for *_, given in cases(30, 82):
        J, e = as_mink_sees_it(given)
        seen = dataclasses.replace(given, jacobian=J, error=e)
        apart.append(np.abs(law(seen) - peer(given)).max())
        off.append(np.abs(other(seen) - peer(given)).max())
    assert max(apart) < 1e-9
    assert max(off) > 1e-4


# ----- damped least squares with a posture is the posture task


def stacked(J, e, q, weight, gain):
    """argmin ||J qdot - e||^2 + weight^2 ||qdot - gain (q_home - q)||^2 from its rows, by QR."""
    rows = np.concatenate([J, weight * np.eye(J.shape[1])])
    aim = np.concatenate([e, weight * gain * (ARM.home - q)])
    Q, R = np.linalg.qr(rows)
    return np.linalg.solve(R, Q.T @ aim)


@pytest.mark.parametrize("gain", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("weight", [1e-3, 1e-2, 0.1, 1.0])
def test_damped_least_squares_is_the_posture_task_of_weight_lambda(weight, gain):
    """To 1e-11, wherever the matrix that the law solves with leaves so many digits."""
    law, strict = ik.DampedLeastSquares(weight, nullspace_gain=gain).bind(ARM), 0
    for *_, q, given in cases(40, 83):
        expected = stacked(given.jacobian, given.error, q, weight, gain)
        J = given.jacobian
        tolerance = max(1e-11, 10 * EPS * np.linalg.cond(J @ J.T + weight**2 * np.eye(6)))
        assert np.linalg.norm(law(given) - expected) <= tolerance * np.linalg.norm(expected)
        strict += tolerance == 1e-11
    assert strict > 30


@pytest.mark.parametrize("wrong", ["weight", "gain", "sign"])
def test_another_weight_gain_or_sign_is_not_the_posture_task(wrong):
    weight, gain = (0.01 * 1.0001 if wrong == "weight" else 0.01), (1.0001 if wrong == "gain" else 1.0)
    law = ik.DampedLeastSquares(weight, nullspace_gain=gain).bind(ARM)
    for *_, q, given in cases(10, 84):
        expected = stacked(given.jacobian, given.error, q, 0.01, -1.0 if wrong == "sign" else 1.0)
        assert np.linalg.norm(law(given) - expected) > 1e-8 * np.linalg.norm(expected)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weight", [1e-2, 0.1, 1.0])
def test_minks_posture_task_is_damped_least_squares(weight, solver):
    """mink squares J: its answer has the digits of sigma_1^2 / weight^2, which is asked for down to 1e-11."""
    law = ik.DampedLeastSquares(weight, nullspace_gain=1.0).bind(ARM)
    peer = MinkQP(posture_cost=weight, lm_damping=0.0, damping_weight=0.0, limit_gain=None, solver=solver).bind(ARM)
    for *_, given in cases(40, 85):
        J, e = as_mink_sees_it(given)
        mine = law(dataclasses.replace(given, jacobian=J, error=e))
        tolerance = max(1e-11, 10 * EPS * np.linalg.norm(J, 2) ** 2 / weight**2)
        assert tolerance < 2e-10
        assert np.linalg.norm(mine - peer(given)) <= tolerance * np.linalg.norm(mine)


@pytest.mark.parametrize("gain", [0.1, 0.5, 0.9])
def test_a_gain_below_one_is_a_posture_and_a_damping_in_that_proportion(gain):
    weight = 0.1
    law = ik.DampedLeastSquares(weight, nullspace_gain=gain).bind(ARM)
    peer = MinkQP(
        posture_cost=weight * gain**0.5, damping_weight=(1 - gain) * weight**2, lm_damping=0.0, limit_gain=None
    ).bind(ARM)
    for *_, given in cases(20, 86):
        J, e = as_mink_sees_it(given)
        mine = law(dataclasses.replace(given, jacobian=J, error=e))
        assert np.linalg.norm(mine - peer(given)) <= 1e-11 * np.linalg.norm(mine)


# ----- joints outside, joints of others


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dt", [1.0, 0.002])
def test_a_joint_outside_is_pushed_back_until_its_speed_cannot(solver, dt):
    target, may = ik.site_pose(ARM, ARM.data()), 0.5 * dt / 0.95
    step = MinkQP(max_joint_speed=0.5, dt=dt, solver=solver).bind(ARM)
    q = ARM.home.copy()
    q[3] = ARM.upper[3] + 0.9 * may
    assert step(at(q, target))[3] <= -0.95 * 0.9 * may / dt * (1 - 1e-6)
    q[3] = ARM.upper[3] + 1.5 * may
    with pytest.raises(ValueError, match=rf"'joint4' is {1.5 * may:.4g} rad above its upper limit .*is 0\.5 rad/s"):
        step(at(q, target))
    free = MinkQP(dt=dt, solver=solver).bind(ARM)
    assert free(at(q, target))[3] <= -0.95 * 1.5 * may / dt * (1 - 1e-6), "without a speed limit it comes back"
    assert np.isfinite(MinkQP(limit_gain=None, max_joint_speed=0.5, solver=solver).bind(ARM)(at(q, target))).all()


def test_mink_itself_says_only_that_there_is_no_solution():
    q = ARM.home.copy()
    q[3] = ARM.upper[3] + 1.0
    given = at(q, ik.site_pose(ARM, ARM.data()))
    with pytest.raises(ValueError, match="joint4") as refused:
        MinkQP(max_joint_speed=0.5).bind(ARM)(given)
    assert isinstance(refused.value.__context__, mink.NoSolutionFound)
    assert "joint" not in str(refused.value.__context__)


@pytest.mark.parametrize("failure", [mink.NoSolutionFound("daqp"), qpsolvers.exceptions.ProblemError("not convex")])
def test_no_minimum_without_an_empty_box_is_told_too(monkeypatch, failure):
    def fails(*arguments, **more):
        raise failure

    monkeypatch.setattr(mink, "solve_ik", fails)
    with pytest.raises(RuntimeError, match="daqp found no minimum at q ="):
        MinkQP().bind(ARM)(at(ARM.home, ik.site_pose(ARM, ARM.data())))


def test_joints_without_names_have_their_own_speed_limits():
    link = '<body pos="0.5 0 0"><joint axis="0 0 1"/><geom size="0.1"/>{}</body>'
    nested = link.format(link.format(link.format('<site name="tip" pos="0.5 0 0"/>')))
    arm = ik.Arm.from_model(mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{nested}</worldbody></mujoco>"), "tip")
    assert arm.joint_names == ("", "", "")
    speeds = (0.1, 0.2, 0.3)
    q = np.array([0.3, 0.5, 0.7])
    position, quaternion = ik.site_pose(arm, arm.data(q))
    given = at(q, (position + np.array([-3.0, 3.0, 0.0]), quaternion), arm)
    law = MinkQP(posture_cost=0.0, lm_damping=0.0, damping_weight=1e-4, max_joint_speed=speeds)
    J, e = as_mink_sees_it(given, arm)
    expected = boxed_least_squares(J, e, *velocity_box(arm, q, speeds), 1e-2)
    assert (np.abs(expected) > 0.99 * np.array(speeds)).sum() >= 2
    np.testing.assert_allclose(law.bind(arm)(given), expected, rtol=0, atol=1e-9)


def test_a_joint_that_is_not_the_arms_stands_still():
    """mjctrl#7, mink#64: six of the seven joints are the arm's, and a free body floats beside it."""
    six = ik.Arm.from_model(ARM.model, "end_effector", [f"joint{i}" for i in (1, 2, 4, 5, 6, 7)], home="home")
    step = MinkQP(posture_cost=0.1, lm_damping=0.0, damping_weight=1e-6, max_joint_speed=1.0).bind(six)
    for *_, q, given in cases(20, 87, six):
        if ((q < six.lower) | (q > six.upper)).any():
            continue
        J, e = as_mink_sees_it(given, six)
        weight = 0.1**2 + 1e-6
        z = 0.1**2 / weight * (six.home - q)
        expected = boxed_least_squares(J, e, *velocity_box(six, q, 1.0), weight**0.5, z)
        np.testing.assert_allclose(step(given), expected, rtol=0, atol=1e-9)


def test_the_right_dofs_answer_where_nq_is_not_nv():
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody>
        <body name="thing" pos="1 1 1"><freejoint/><geom size="0.1"/></body>
        <body name="one"><joint name="one" axis="0 0 1" range="-2 2" limited="true"/><geom size="0.1"/>
          <body name="two" pos="0.5 0 0"><joint name="two" axis="0 0 1"/><geom size="0.1"/>
            <site name="tip" pos="0.5 0 0"/></body></body>
        </worldbody></mujoco>"""
    )
    arm = ik.Arm.from_model(model, "tip", ["two", "one"])
    assert list(arm.dofs) == [7, 6]
    q = np.array([0.4, 0.3])
    position, quaternion = ik.site_pose(arm, arm.data(q))
    given = at(q, (position + np.array([0.02, 0.05, 0]), quaternion), arm)
    J, e = as_mink_sees_it(given, arm)
    answer = MinkQP(posture_cost=0.1, lm_damping=0.0, damping_weight=1e-6, max_joint_speed=1.0).bind(arm)(given)
    weight = 0.1**2 + 1e-6
    expected = boxed_least_squares(J, e, *velocity_box(arm, q, 1.0), weight**0.5, 0.1**2 / weight * (arm.home - q))
    np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-9)
    assert np.abs(answer).max() > 1e-3


# ----- the two solvers


def dull(arm, q, damping):
    """The programme of the whole model at q for a target 2 cm away, no posture and only this damping."""
    now = mink.Configuration(arm.model, arm.data(q).qpos)
    tool = mink.FrameTask(arm.site, "site", 1.0, 1.0)
    position, quaternion = ik.site_pose(arm, arm.data(q))
    tool.set_target(mink.SE3(np.concatenate([quaternion, position + np.array([0.02, 0, 0])])))
    return mink.build_ik(now, [tool], 1.0, damping, [mink.ConfigurationLimit(arm.model)])


def test_the_fingers_rows_hold_nothing_but_the_damping():
    """What makes the programme singular to a solver: two dofs that no task touches."""
    problem = dull(ARM, ARM.home, 1e-12)
    assert np.array_equal(problem.P[7:, 7:], 1e-12 * np.eye(2))
    assert not problem.P[7:, :7].any()
    assert not problem.q[7:].any()


def test_from_1e_6_up_two_solvers_agree_to_a_billionth():
    q = ARM.home + np.array([0.3, 0.2, -0.2, 0.5, 0.1, 0.2, 0.0])
    for damping in (1e-6, 1e-4):
        first, second = (qpsolvers.solve_problem(dull(ARM, q, damping), solver).x for solver in SOLVERS)
        np.testing.assert_allclose(first, second, rtol=0, atol=1e-9)


# ----- what is refused


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"position_cost": -1.0}, "position_cost"),
        ({"orientation_cost": np.nan}, "orientation_cost"),
        ({"posture_cost": -1e-3}, "posture_cost"),
        ({"lm_damping": -1.0}, "lm_damping"),
        ({"damping_weight": np.inf}, "damping_weight"),
        ({"position_cost": 0.0, "orientation_cost": 0.0}, "no task"),
        ({"posture_cost": 0.0, "damping_weight": 0.0}, "single point"),
        ({"max_joint_speed": 0.0}, "max_joint_speed"),
        ({"limit_gain": 1.5}, "limit_gain"),
        ({"dt": 0.0}, "dt"),
    ],
)
def test_a_parameter_that_is_wrong_is_refused(parameters, complaint):
    with pytest.raises(ValueError, match=complaint):
        MinkQP(**parameters)


def test_an_unknown_solver_is_told_which_there_are():
    with pytest.raises(ValueError, match=r"daqp.*quadprog.*got 'qdap'"):
        MinkQP(solver="qdap").bind(ARM)


def test_speed_limits_of_another_number_of_joints_are_refused():
    with pytest.raises(ValueError, match="one number or 7"):
        MinkQP(max_joint_speed=(1.0, 2.0)).bind(ARM)


def test_without_mink_the_law_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mink", None)
    with pytest.raises(RuntimeError, match=r"pip install ikcourse\[book\]"):
        MinkQP().bind(ARM)


def test_the_law_is_made_without_importing_mink():
    code = "import sys; from ikcourse.mink_qp import MinkQP; MinkQP(); print({'mink', 'qpsolvers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"

"""The box that limits leave, least squares inside it, and what is said where it is empty."""

from __future__ import annotations

import numpy as np
import pytest

import ikcourse as ik
from ikcourse.box import BoxedLeastSquares, boxed_least_squares, velocity_box

from .test_laws import state

ARM = ik.panda()


def random_q(rng):
    return ARM.lower + rng.uniform(size=7) * (ARM.upper - ARM.lower)


def outside(by, joint=3, arm=ARM):
    q = arm.home.copy()
    q[joint] = arm.upper[joint] + by
    return q


# ----- the box


def test_a_step_goes_part_of_the_way_to_a_limit_and_no_joint_is_too_fast():
    rng = np.random.default_rng(70)
    for dt in (1.0, 0.1, 0.002):
        for _ in range(50):
            q = random_q(rng)
            lowest, highest = velocity_box(ARM, q, 0.7, 0.9, dt)
            assert (lowest >= -0.7).all()
            assert (highest <= 0.7).all()
            assert (q + lowest * dt >= ARM.lower).all()
            assert (q + highest * dt <= ARM.upper).all()
            fast = highest == 0.7
            np.testing.assert_allclose((highest * dt / (ARM.upper - q))[~fast], 0.9, rtol=1e-12)
            assert (0.9 * (ARM.upper - q)[fast] >= 0.7 * dt * (1 - 1e-12)).all()


def test_without_a_bound_there_is_none():
    lowest, highest = velocity_box(ARM, ARM.home, limit_gain=None)
    assert (lowest == -np.inf).all()
    assert (highest == np.inf).all()
    lowest, highest = velocity_box(ARM, ARM.home)
    np.testing.assert_array_equal(highest, 0.95 * (ARM.upper - ARM.home))
    np.testing.assert_array_equal(lowest, 0.95 * (ARM.lower - ARM.home))


def test_a_joint_without_limits_keeps_its_speed_limit():
    """pink#31, in the box."""
    arm = ik.planar(3)
    assert np.isinf(arm.lower).all()
    lowest, highest = velocity_box(arm, np.array([0.1, 9.0, -9.0]), (1.0, 2.0, 3.0))
    np.testing.assert_array_equal(highest, [1, 2, 3])
    np.testing.assert_array_equal(lowest, [-1, -2, -3])


@pytest.mark.parametrize("dt", [1.0, 0.01])
@pytest.mark.parametrize("side", [1, -1])
def test_a_joint_outside_has_to_come_back(side, dt):
    q = ARM.home.copy()
    q[3] = (ARM.upper if side > 0 else ARM.lower)[3] + side * 0.01
    lowest, highest = velocity_box(ARM, q, 2.0, dt=dt)
    towards = highest if side > 0 else lowest
    assert side * towards[3] == pytest.approx(-0.95 * 0.01 / dt)
    assert (np.delete(lowest, 3) < 0).all()
    assert (np.delete(highest, 3) > 0).all()


@pytest.mark.parametrize("dt", [1.0, 0.002])
def test_a_joint_too_far_outside_is_named_with_what_would_do(dt):
    may = 0.5 * dt / 0.95
    velocity_box(ARM, outside(0.999 * may), 0.5, dt=dt)
    with pytest.raises(ValueError, match=r"'joint4' is .* rad above its upper limit -0\.0698 rad") as refused:
        velocity_box(ARM, outside(1.5 * may), 0.5, dt=dt)
    assert f"is {1.5 * may:.4g} rad above" in str(refused.value)
    assert f"it needs {1.5 * 0.5:.4g} rad/s" in str(refused.value)
    assert "max_joint_speed is 0.5 rad/s" in str(refused.value)
    assert f"start it within {may:.4g} rad of the limit" in str(refused.value)
    velocity_box(ARM, outside(1.5 * may), dt=dt)  # without a speed limit it can always come back


def test_the_joint_that_is_farthest_out_is_the_one_that_is_named():
    q = outside(0.1)
    q[1] = ARM.lower[1] - 0.2
    with pytest.raises(ValueError, match=r"'joint2' is 0.2 rad below its lower limit -1.763 rad.*needs 0.19 rad/s"):
        velocity_box(ARM, q, 0.01)


def test_a_sliding_joint_is_told_in_metres():
    import mujoco

    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="b"><joint name="rail" type="slide" range="-0.1 0.2" limited="true"/>'
        '<geom size="0.1"/><site name="tip"/></body></worldbody></mujoco>'
    )
    arm = ik.Arm.from_model(model, "tip")
    with pytest.raises(ValueError, match=r"'rail' is 0.3 m above its upper limit 0.2 m: .* 0.285 m/s"):
        velocity_box(arm, np.array([0.5]), 0.1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"max_joint_speed": 0.0}, "max_joint_speed"),
        ({"max_joint_speed": np.nan}, "max_joint_speed"),
        ({"max_joint_speed": (1.0, -1.0)}, "max_joint_speed"),
        ({"max_joint_speed": ((1.0,),)}, "max_joint_speed"),
        ({"limit_gain": 0.0}, "limit_gain"),
        ({"limit_gain": 1.01}, "limit_gain"),
        ({"limit_gain": np.nan}, "limit_gain"),
        ({"dt": 0.0}, "dt"),
        ({"dt": -1.0}, "dt"),
        ({"dt": np.inf}, "dt"),
    ],
)
def test_a_limit_that_is_none_is_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        velocity_box(ARM, ARM.home, **arguments)
    with pytest.raises(ValueError, match=complaint):
        BoxedLeastSquares(**arguments)


def test_a_place_that_is_none_is_refused():
    with pytest.raises(ValueError, match="q must have shape"):
        velocity_box(ARM, np.zeros(6))
    with pytest.raises(ValueError, match="finite"):
        velocity_box(ARM, np.full(7, np.nan))


# ----- least squares inside it


def conditions(J, e, z, lam, lowest, highest, answer):
    """Gradient inside the box, and the worst that points back into it from a bound; both zero at the minimum."""
    gradient = J.T @ (J @ answer - e) + lam**2 * (answer - z)
    low, high = (
        answer <= lowest + 1e-12,
        answer >= highest - 1e-12,
    )  # the solver walks to a bound, and may stop a bit short
    inside = np.abs(gradient[~low & ~high]).max(initial=0)
    return inside, max(-gradient[low & ~high].min(initial=0), gradient[high & ~low].max(initial=0))


def problems(count=200):
    rng = np.random.default_rng(71)
    for k in range(count):
        q = random_q(rng)
        J, e, z = ik.jacobians_at(ARM, q), rng.normal(0, 0.5, 6), rng.normal(0, 1, 7)
        yield J, e, z, 10.0 ** rng.uniform(-3, 0), *velocity_box(ARM, q, (None, 0.5, 0.1)[k % 3])


def test_the_answer_is_the_minimum_in_the_box():
    active = 0
    for J, e, z, lam, lowest, highest in problems():
        answer = boxed_least_squares(J, e, lowest, highest, lam, z)
        assert (answer >= lowest).all()
        assert (answer <= highest).all()
        assert max(conditions(J, e, z, lam, lowest, highest, answer)) < 1e-12 * max(1, np.linalg.norm(e))
        active += ((answer <= lowest + 1e-12) | (answer >= highest - 1e-12)).any()
    assert active > 100


def test_a_minimum_that_is_only_cut_to_the_box_fails_the_conditions():
    worst = []
    for J, e, z, lam, lowest, highest in problems():
        free = ik.damped_with_secondary(J, e, z, lam)
        cut = np.clip(free, lowest, highest)
        if not np.array_equal(free, cut):
            worst.append(max(conditions(J, e, z, lam, lowest, highest, cut)))
    assert len(worst) > 100
    assert np.median(worst) > 1e-3


def test_where_no_limit_is_met_it_is_damped_least_squares():
    met = 0
    for J, e, z, lam, *_ in problems():
        free = ik.damped_with_secondary(J, e, z, lam)
        answer = boxed_least_squares(J, e, free - 1, free + 1, lam, z)
        tolerance = 20 * np.finfo(float).eps * np.linalg.cond(J @ J.T + lam**2 * np.eye(6)) ** 0.5
        assert np.linalg.norm(answer - free) < 1e3 * tolerance * np.linalg.norm(free)
        met += 1
    assert met == 200


def test_a_bound_without_room_is_kept_exactly():
    rng = np.random.default_rng(72)
    J, e = ik.jacobians_at(ARM, ARM.home), rng.normal(size=6)
    lowest, highest = np.full(7, -1.0), np.full(7, 1.0)
    lowest[3] = highest[3] = -0.3
    answer = boxed_least_squares(J, e, lowest, highest, 1e-2)
    assert answer[3] == -0.3
    others = np.delete(np.arange(7), 3)
    alone = boxed_least_squares(J[:, others], e + 0.3 * J[:, 3], lowest[others], highest[others], 1e-2)
    np.testing.assert_allclose(answer[others], alone, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("lowest", "highest", "damping", "complaint"),
    [
        (-1.0, 1.0, 0.0, "damping"),
        (-1.0, 1.0, -1.0, "damping"),
        (-1.0, 1.0, np.nan, "damping"),
        (1.0, -1.0, 0.1, "lowest"),
        (np.nan, 1.0, 0.1, "lowest"),
    ],
)
def test_a_box_that_is_none_is_refused(lowest, highest, damping, complaint):
    with pytest.raises(ValueError, match=complaint):
        boxed_least_squares(np.eye(6, 7), np.ones(6), np.full(7, lowest), np.full(7, highest), damping)


# ----- the law


def test_the_law_is_least_squares_in_the_box_of_its_state():
    law = BoxedLeastSquares(0.05, 0.4, max_joint_speed=0.3, limit_gain=0.8, dt=0.5)
    step, rng = law.bind(ARM), np.random.default_rng(73)
    for _ in range(20):
        q = random_q(rng)
        J, e = ik.jacobians_at(ARM, q), rng.normal(0, 0.5, 6)
        box = velocity_box(ARM, q, 0.3, 0.8, 0.5)
        expected = boxed_least_squares(J, e, *box, 0.05, 0.4 * (ARM.home - q))
        np.testing.assert_array_equal(step(state(ARM, J, e, q)), expected)


def test_a_joint_too_far_outside_stops_the_loop_with_its_name():
    law = BoxedLeastSquares(max_joint_speed=0.1)
    controller = ik.Controller(ARM, law, ARM.data(outside(0.3)))
    with pytest.raises(ValueError, match=r"'joint4' is 0\.3 rad above"):
        controller.step(*ik.site_pose(ARM, ARM.data()))


def test_under_physics_a_joint_that_starts_outside_comes_back():
    path = ik.hold(ARM, 1.0)
    run = ik.track(ARM, path, BoxedLeastSquares(max_joint_speed=0.5), q=outside(0.2))
    assert run.q[0, 3] > ARM.upper[3] + 0.19
    assert run.q[-1, 3] < ARM.upper[3]
    assert (run.qdot[0] <= 0.5).all()
    assert run.qdot[0, 3] <= -0.95 * 0.2 * (1 - 1e-12)


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"damping": 0.0}, "damping"),
        ({"damping": np.inf}, "damping"),
        ({"nullspace_gain": -1.0}, "nullspace_gain"),
        ({"limit_gain": None}, "without either"),
        ({"limit_gain": None, "max_joint_speed": 1.0, "dt": 0.5}, "dt=0.5 does nothing"),
    ],
)
def test_parameters_that_are_wrong_or_would_be_ignored_are_refused(parameters, complaint):
    with pytest.raises(ValueError, match=complaint):
        BoxedLeastSquares(**parameters)


@pytest.mark.parametrize("law", [BoxedLeastSquares(max_joint_speed=(1.0, 2.0)), ik.SpeedLimited((1.0, 2.0))])
def test_speed_limits_of_another_number_of_joints_are_refused(law):
    with pytest.raises(ValueError, match="one number or 7"):
        law.bind(ARM)


def test_speed_limited_is_the_box_without_joint_limits():
    box, speed = BoxedLeastSquares(1e-2, max_joint_speed=0.3, limit_gain=None), ik.SpeedLimited(0.3, 1e-2)
    rng, a, b = np.random.default_rng(74), box.bind(ARM), speed.bind(ARM)
    for q in (random_q(rng), outside(1.0)):
        J, e = ik.jacobians_at(ARM, q), rng.normal(0, 0.5, 6)
        np.testing.assert_array_equal(a(state(ARM, J, e, q)), b(state(ARM, J, e, q)))
        assert np.abs(b(state(ARM, J, e, q))).max() == 0.3
    with pytest.raises(ValueError, match="max_joint_speed"):
        ik.SpeedLimited(None)


@pytest.mark.parametrize("speeds", [(), (1.0,), (1.0, 2.0, 3.0)])
def test_a_box_with_as_many_speeds_as_no_arm_has_joints_says_so(speeds):
    arm = ik.panda()
    with pytest.raises(ValueError, match="max_joint_speed must be one number or 7"):
        velocity_box(arm, arm.home, speeds)

"""What the servo under the loop costs: droop, the setpoint's two origins, a stale pose, two ways to bound speed."""

import dataclasses

import numpy as np
import pytest

import ikcourse as ik
from ikcourse.studies import ablation, damping
from ikcourse.studies.ends import EndState

from .models import SHARED, random_q

LAW = ik.DampedLeastSquares(1e-2)
DROOP = {1.0: 6.72, 0.5: 13.5, 0.25: 27.1, 0.1: 67.9}
"""Millimetres after 12 s of hold at home, by integration_dt."""


@pytest.fixture(scope="module")
def arm():
    return ik.panda()


@pytest.fixture(scope="module")
def compensated():
    return ik.panda(gravity_compensation=True)


def held(arm, lam=1e-2, integration_dt=1.0, **more):
    return ik.track(arm, ik.hold(arm, 12.0), ik.DampedLeastSquares(lam), integration_dt, **more)


def off_by(predicted, measured):
    """Relative difference of two errors' lengths in space."""
    return abs(np.linalg.norm(predicted[:3]) / np.linalg.norm(measured[:3]) - 1)


# ----- droop


@pytest.mark.parametrize("lam", [1e-2, 1e-1])
@pytest.mark.parametrize("integration_dt", DROOP)
def test_droop_and_its_prediction_from_the_statics(arm, integration_dt, lam):
    run = held(arm, lam, integration_dt)
    measured = run.errors[-1]
    if lam == 1e-2:
        assert 1e3 * run.position_error[-1] == pytest.approx(DROOP[integration_dt], rel=0.01)
    assert off_by(ik.droop(arm, arm.data(), lam, integration_dt), measured) < 0.02
    sagged = arm.data(run.q[-2])
    at_rest = ik.droop(arm, sagged, lam, integration_dt)
    assert off_by(at_rest, measured) < 5e-4
    assert np.linalg.norm(at_rest - measured) < 5e-4 * np.linalg.norm(measured), "direction and rotation too"
    assert measured[2] > 0, "the tool hangs below its target"
    # What the formula is made of, one part left out at a time.
    assert off_by(ik.droop(arm, sagged, 0.0, integration_dt), measured) > 5e-5
    if lam == 1e-1:
        assert off_by(ik.droop(arm, sagged, 0.0, integration_dt), measured) > 0.01
    assert off_by(ik.droop(arm, sagged, lam**0.5, integration_dt), measured) > 0.01


def test_droop_goes_with_gravity(arm, compensated):
    weightless = ik.panda()
    weightless.model.opt.gravity[:] = 0
    for light in (compensated, weightless):
        assert 1e3 * held(light).position_error[-1] < 0.02
        assert np.abs(ik.droop(light, light.data(), 1e-2)).max() < 1e-15
    assert np.abs(ik.droop(arm, arm.data(), 1e-2)).max() > 1e-3


def test_droop_on_the_public_panda():
    if not (SHARED / "menagerie" / "franka_emika_panda").is_dir():
        pytest.skip("the public Panda (../shared/menagerie) does not stand beside this checkout")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENAGERIE_ROOT", str(SHARED / "menagerie"))
        public = ik.panda("menagerie")
    run = held(public)
    assert 1e3 * run.position_error[-1] == pytest.approx(DROOP[1.0], rel=0.01)
    assert off_by(ik.droop(public, public.data(run.q[-2]), 1e-2), run.errors[-1]) < 5e-4


def test_droop_needs_position_actuators():
    motors = ik.panda(actuators="torque")
    with pytest.raises(ValueError, match="not a position actuator"):
        ik.droop(motors, motors.data(), 1e-2)


@pytest.mark.parametrize(
    ("name", "value"),
    [("damping", -0.01), ("damping", np.nan), ("integration_dt", 0.0), ("integration_dt", -1.0),
     ("integration_dt", np.inf)],
)  # fmt: skip
def test_droop_refuses_what_no_loop_has(arm, name, value):
    with pytest.raises(ValueError, match=name):
        ik.droop(arm, arm.data(), **{"damping": 1e-2, name: value})


def test_a_run_reports_the_servos_torques(arm):
    """kp (setpoint - q) - kp/10 qd inside the force limits: computed here from the run's own q."""
    run = ik.track(arm, ik.reach_and_return(arm), ik.DampedLeastSquares(1e-3))
    stiffness = np.array([4500, 4500, 3500, 3500, 2000, 2000, 2000.0])
    force_limits = np.array([87, 87, 87, 87, 12, 12, 12.0])
    speed = np.diff(run.q, axis=0) / arm.model.opt.timestep  # of step k, which step k + 1 reads: semi-implicit
    speed = np.concatenate([np.zeros((1, 7)), speed[:-1]])
    control = np.clip(run.setpoints, arm.lower, arm.upper)
    expected = np.clip(stiffness * (control - run.q[:-1]) - stiffness / 10 * speed, -force_limits, force_limits)
    np.testing.assert_allclose(run.torques, expected, rtol=0, atol=1e-6)
    assert (np.abs(run.torques) == force_limits).any()


# ----- the setpoint from the commanded q


def test_a_commanded_setpoint_starts_where_the_arm_is_and_adds_to_itself(arm):
    q = arm.home + 0.1
    controller = ik.Controller(arm, LAW, arm.data(q), 0.005, setpoint_from="commanded")
    path, expected = ik.hold(arm, 0.1), q
    for k in range(50):
        qdot, setpoint = controller.step(path.positions[k], path.quaternions[k])
        expected = np.clip(expected + 0.005 * qdot, arm.lower, arm.upper)
        assert np.array_equal(setpoint, expected)
        assert np.array_equal(controller.data.ctrl[arm.actuators], expected)
    assert np.abs(setpoint - controller.state.q).max() > 1e-3


def test_a_commanded_setpoint_does_not_wind_up_beyond_the_joint_limits(arm):
    class Pushes:
        def bind(self, arm):
            return lambda state: np.full(7, 10.0)

    run = ik.track(arm, ik.hold(arm, 1.0), Pushes(), 0.01, setpoint_from="commanded")
    assert (run.setpoints <= arm.upper + 0.1 + 1e-12).all()
    assert run.clipped[-1]


def test_a_commanded_setpoint_neither_droops_nor_creeps(arm):
    runs = {
        "measured": held(arm),
        "commanded": held(arm, integration_dt=0.005, setpoint_from="commanded"),
    }
    assert 1e3 * runs["measured"].position_error[-1] > 6
    assert 1e3 * runs["commanded"].position_error.max() > 3, "it sags before it has integrated the weight"
    assert 1e3 * runs["commanded"].position_error[-1] < 1e-6
    creep = {name: np.linalg.norm(run.q[-1] - run.q[-501]) for name, run in runs.items()}
    assert creep["measured"] > 1e-6
    assert creep["commanded"] < 1e-10


def test_a_commanded_setpoint_trails_farther_or_rings(compensated):
    """The servo is a pole at 10 / s: s^2 / 10 + s + gain = 0 rings from a gain of 2.5 / s, integration_dt 0.005."""
    timestep = compensated.model.opt.timestep
    path = ik.hold(compensated, 6.0)
    jump = dataclasses.replace(path, positions=path.positions + [0, 0, 0.01])

    def overshoot(integration_dt, **more):
        return -1e3 * ik.track(compensated, jump, LAW, integration_dt, **more).errors[:, 2].min()

    assert overshoot(1.0) < 0.01
    assert overshoot(2.5 * timestep, setpoint_from="commanded") < 0.01
    for gain in (5, 10):
        decay, turn = 5, np.sqrt(10 * gain - 25)
        expected = 10 * np.exp(-np.pi * decay / turn)
        assert overshoot(gain * timestep, setpoint_from="commanded") == pytest.approx(expected, rel=0.1)
    circle = ik.circle(compensated, 0.1, 0.25, duration=6.0)
    lag = {
        name: ik.track(compensated, circle, LAW, dt, setpoint_from=name).position_error[-1]
        for name, dt in {"measured": 1.0, "commanded": 2.5 * timestep}.items()
    }
    assert lag["commanded"] > 3 * lag["measured"]


def test_an_unknown_origin_is_refused(arm):
    with pytest.raises(ValueError, match="setpoint_from must be 'measured' or 'commanded'"):
        ik.Controller(arm, LAW, setpoint_from="wished")


# ----- ablations of the damping study


@pytest.fixture(scope="module")
def ends(arm):
    """{name of the loop: {damping: end state}}."""
    return {
        name: {row.damping: row.end_state for row in ablation.study(arm, loop)} for name, loop in ablation.LOOPS.items()
    }


def test_the_loop_as_it_is_is_the_damping_study(arm, ends):
    rows = damping.study(arm, dampings=(1e-2, 5e-3))
    assert ablation.study(arm, ablation.LOOPS["as it is"], dampings=(1e-2, 5e-3)) == rows
    assert {lam for lam, end in ends["as it is"].items() if end is EndState.COLLAPSED} == {5e-4, 1e-3, 3e-3, 5e-3}


def test_a_stale_pose_changes_one_end_and_says_nothing(arm, ends):
    changed = {lam for lam in damping.DAMPINGS if ends["pose one step old"][lam] != ends["as it is"][lam]}
    assert changed == {1e-5}
    assert ends["pose one step old"][1e-5] is EndState.COLLAPSED
    # Nothing tells: no error, no warning, and where it comes home it comes home to the same place.
    path = ik.reach_and_return(arm)
    controller = ablation.StaleController(arm, ik.DampedLeastSquares(1e-2))
    stale, sound = ik.follow(controller, path), ik.track(arm, path, LAW)
    assert not any(warning.number for warning in controller.data.warning)
    assert abs(stale.position_error[-1] - sound.position_error[-1]) < 1e-5
    assert np.abs(stale.q - sound.q).max() > 1e-4, "the ablation did change something"


def test_a_commanded_setpoint_folds_at_other_dampings(ends):
    folded = {lam for lam, end in ends["setpoint from commanded q"].items() if end is EndState.COLLAPSED}
    assert folded == {1e-4, 5e-3, 7e-3, 1e-2}


def test_the_stale_controller_is_stale(arm):
    """Its pose lags the q that it reads by one step; the controller's does not."""
    path = ik.circle(arm, duration=0.2)
    for controller_class, lags in ((ik.Controller, False), (ablation.StaleController, True)):
        controller = controller_class(arm, LAW)
        for k in range(60):
            controller.step(path.positions[k], path.quaternions[k])
        fresh, _ = ik.site_pose(arm, arm.data(controller.state.q))
        assert (np.linalg.norm(controller.state.position - fresh) > 1e-5) == lags


# ----- two ways to bound speed


def test_clipping_each_joint_bends_the_tools_direction_and_scaling_keeps_it(arm):
    rng, bent = np.random.default_rng(90), []
    jacobian = ik.site_jacobian(arm, arm.data())
    for _ in range(50):
        qdot = ik.damped(jacobian, rng.normal(0, 1, 6), 1e-2)
        limit = 0.5 * np.abs(qdot).max()
        tool = jacobian @ qdot
        for bound, keeps in ((ik.scale_to_speed_limit, True), (ik.clip_to_speed_limit, False)):
            answer = bound(qdot, limit)
            assert np.abs(answer).max() <= limit * (1 + 1e-15)
            bounded = jacobian @ answer
            cosine = bounded @ tool / np.linalg.norm(bounded) / np.linalg.norm(tool)
            if keeps:
                assert cosine == pytest.approx(1, abs=1e-12)
            else:
                bent.append(np.degrees(np.arccos(min(1, cosine))))
                assert np.array_equal(answer, [min(max(v, -limit), limit) for v in qdot])
    assert np.median(bent) > 1


def test_a_quadratic_programme_does_at_least_as_well_as_either_bound(arm):
    """Against the optimality conditions: no gradient inside the limits, and none that points back from a limit."""
    rng, limit, lam, better = np.random.default_rng(91), 0.5, 1e-2, []
    law, state = ik.SpeedLimited(limit, lam).bind(arm), ik.Controller(arm, LAW).state
    for _ in range(200):
        J = state.jacobian[:] = ik.jacobians_at(arm, random_q(arm, rng))
        e = state.error[:] = rng.normal(0, 0.5, 6)
        qdot, free = law(state), ik.damped(J, e, lam)
        assert np.abs(qdot).max() <= limit
        gradient = J.T @ (J @ qdot - e) + lam**2 * qdot
        inside = np.abs(qdot) < limit * (1 - 1e-9)
        assert np.abs(gradient[inside]).max(initial=0) < 1e-9
        assert (gradient[~inside] * qdot[~inside] < 1e-9).all()
        if np.abs(free).max() < limit:
            np.testing.assert_allclose(qdot, free, rtol=0, atol=1e-9)
            continue

        def cost(v, J=J, e=e):
            return np.sum((J @ v - e) ** 2) + lam**2 * v @ v

        others = cost(ik.scale_to_speed_limit(free, limit)), cost(ik.clip_to_speed_limit(free, limit))
        better.append(min(others) / cost(qdot))
    assert min(better) >= 1 - 1e-9
    assert np.median(better) > 1.05


@pytest.mark.parametrize(
    "parameters", [(0.0,), (-1.0,), (np.nan,), ((1.0, 0.0),), (1.0, 0.0), (1.0, -1.0), (1.0, np.inf)]
)
def test_a_quadratic_programme_without_a_sound_limit_or_damping_is_refused(parameters):
    with pytest.raises(ValueError, match=r"max_joint_speed|damping"):
        ik.SpeedLimited(*parameters)


def test_each_joint_may_have_its_own_speed_limit(arm):
    limit = np.array([1, 2, 3, 4, 5, 6, 7.0])
    assert np.array_equal(ik.clip_to_speed_limit(np.full(7, -10.0), limit), -limit)
    assert np.array_equal(ik.clip_to_speed_limit(np.full(7, 0.5), limit), np.full(7, 0.5))


@pytest.mark.parametrize("bound", [ik.scale_to_speed_limit, ik.clip_to_speed_limit])
@pytest.mark.parametrize(
    ("qdot", "limit"),
    [(np.ones(7), -1.0), (np.ones(7), 0.0), (np.ones(7), np.nan), (np.ones(7), np.inf), (np.full(7, np.nan), 1.0),
     (np.ones(7), np.ones(3)), (np.ones(7), np.ones((1, 7)))],
)  # fmt: skip
def test_a_speed_limit_that_bounds_nothing_is_refused(bound, qdot, limit):
    with pytest.raises(ValueError, match="limit"):
        bound(qdot, limit)


def test_a_quadratic_programme_has_one_limit_or_one_for_each_joint(arm):
    limit = (0.02, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4)
    state = ik.Controller(arm, LAW).state
    state.jacobian[:], state.error[:] = ik.jacobians_at(arm, arm.home), [0, 0.1, 0, 0, 0, 0.1]
    qdot = ik.SpeedLimited(limit).bind(arm)(state)
    assert abs(qdot[0]) == 0.02
    assert np.abs(qdot).max() > 0.02, "the others have limits of their own"
    with pytest.raises(ValueError, match="max_joint_speed must be one number or 7"):
        ik.SpeedLimited((1.0, 1.0, 1.0)).bind(arm)
    with pytest.raises(ValueError, match="max_joint_speed"):
        ik.SpeedLimited(((1.0,) * 7,))


def test_the_loop_takes_either_bound(arm):
    path = ik.circle(arm, 0.1, 1.0, duration=0.5)
    runs = {name: ik.track(arm, path, LAW, max_joint_speed=0.05, speed_bound=name) for name in ("scale", "clip")}
    for run in runs.values():
        assert run.joint_speed.max() <= 0.05 * (1 + 1e-15)
    free = LAW.bind(arm)
    state = ik.Controller(arm, LAW).state
    for name, run in runs.items():
        state.q[:], state.jacobian[:], state.error[:] = run.q[200], ik.jacobians_at(arm, run.q[200]), run.errors[200]
        whole = free(state)
        assert np.abs(whole).max() > 0.05
        expected = whole * 0.05 / np.abs(whole).max() if name == "scale" else np.clip(whole, -0.05, 0.05)
        np.testing.assert_allclose(run.qdot[200], expected, rtol=0, atol=1e-10)


def test_a_way_to_bound_without_a_bound_is_refused(arm):
    with pytest.raises(ValueError, match="bounds nothing without max_joint_speed"):
        ik.Controller(arm, LAW, speed_bound="clip")
    with pytest.raises(ValueError, match=r"speed_bound must be one of \['scale', 'clip'\]"):
        ik.Controller(arm, LAW, max_joint_speed=1.0, speed_bound="bend")


# ----- following with any loop


def test_a_loop_goes_on_from_where_its_simulation_stands(arm):
    path = ik.circle(arm, duration=0.4)
    whole = ik.track(arm, path, LAW)
    controller = ik.Controller(arm, LAW)
    halves = [
        ik.follow(controller, ik.Path(*(getattr(path, field.name)[part] for field in dataclasses.fields(path))))
        for part in (slice(0, 100), slice(100, 200))
    ]
    for name in ("qdot", "errors", "setpoints", "torques"):
        assert np.array_equal(np.concatenate([getattr(half, name) for half in halves]), getattr(whole, name))
    assert np.array_equal(halves[1].q, whole.q[100:])


def test_a_loop_is_told_the_paths_twist_and_acceleration(arm):
    seen = []

    class Listens:
        def bind(self, arm):
            def step(state):
                seen.append((state.target_twist.copy(), state.target_acceleration.copy()))
                return np.zeros(7)

            return step

    path = ik.circle(arm, duration=0.1)
    ik.track(arm, path, Listens())
    assert np.array_equal([twist for twist, _ in seen], path.twists)
    assert np.array_equal([acceleration for _, acceleration in seen], path.accelerations)


def test_a_bare_loop_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        ik.Loop(ik.panda(), LAW, None, None, "scale")

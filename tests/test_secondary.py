"""The motion that is left over: how much of it leaks, the objectives that use it, how hard they may pull, the loop.

The leak's reference is a least-squares problem by QR in long double, in which nothing is squared.
"""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest

import ikcourse as ik
from ikcourse import laws

from .conftest import planted_problem
from .test_inverse import least_squares_by_qr, stacked
from .test_laws import state

EPS = np.finfo(float).eps
DAMPINGS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
ELBOW = "link4"
ELBOW_OUT = np.array([0.4, 0.5, 0.3, 0, 0, 0, 0])
"""Away from home, where self-motion moves the elbow."""


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]


@pytest.fixture(scope="module")
def arm() -> ik.Arm:
    return ik.panda()


@pytest.fixture(scope="module")
def light_arm() -> ik.Arm:
    return ik.panda(gravity_compensation=True)


# ----- the leak


def leaking_problems(damping: float, count: int = 1000):
    """Jacobians with sigma = lambda planted in the first half, sigma_min = 1e-6 in the second and third quarter.

    Every singular direction holds a part of z of size 0.1 to 0.4, so that no leak is small by chance.
    """
    rng, quarter = np.random.default_rng(3), count // 4
    sigma = np.exp(rng.uniform(np.log(0.3), np.log(2), (count, 6)))
    sigma[: 2 * quarter, 4] = damping
    sigma[quarter : 3 * quarter, 5] = 1e-6
    J, _ = planted_problem(rng, (6, 7), sigma)
    right = np.linalg.svd(J)[2]
    parts = rng.uniform(0.3, 1, (count, 7)) * rng.choice([-1, 1], (count, 7))
    z = times(np.swapaxes(right, -1, -2), parts)
    return J, z / np.linalg.norm(z, axis=-1, keepdims=True), 2 * quarter


def true_leak(J: np.ndarray, z: np.ndarray, damping: float) -> np.ndarray:
    """lambda^2 y with y = argmin ||J^T y - z||^2 + lambda^2 ||y||^2, in long double."""
    return np.longdouble(damping) ** 2 * least_squares_by_qr(*stacked(np.swapaxes(J, -1, -2), z, damping))


def over_the_bars(leak, J: np.ndarray, z: np.ndarray, damping: float) -> tuple[np.ndarray, np.ndarray]:
    """How far a leak (..., m) is from each singular direction's own, as multiples of the two bars, (count,) each."""
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    gain = damping**2 * sigma / (sigma**2 + damping**2)
    off = np.abs(times(np.swapaxes(U, -1, -2), leak) - gain * times(Vt, z)).max(axis=-1)
    away = np.linalg.norm((leak - true_leak(J, z, damping)).astype(float), axis=-1)
    return off / (1e-12 * gain.max(axis=-1)), away / (10 * EPS * sigma[:, 0] ** 2 / damping)


@pytest.mark.parametrize("damping", DAMPINGS)
def test_the_leak_is_each_singular_directions_own(damping: float) -> None:
    J, z, _ = leaking_problems(damping)
    off, _ = over_the_bars(ik.leak(J, z, damping), J, z, damping)
    assert off.max() < 1


@pytest.mark.parametrize("damping", DAMPINGS)
def test_the_leak_is_the_true_one_as_far_as_j_tells_it(damping: float) -> None:
    """A J in double holds its smallest direction to eps sigma_1 / sigma: some eps sigma_1 of the leak are not in it."""
    J, z, _ = leaking_problems(damping)
    away = np.linalg.norm((ik.leak(J, z, damping) - true_leak(J, z, damping)).astype(float), axis=-1)
    assert (away < 10 * 7 * EPS * np.linalg.norm(J, 2, axis=(-2, -1))).all()
    if damping >= 1e-2:
        assert away.max() < 1e-12 * damping / 2, "where a few eps are below the bar they stay below it"


@pytest.mark.parametrize("damping", DAMPINGS)
def test_the_damped_projection_leaks_what_it_should(damping: float) -> None:
    """The solve's own digits are judged, so J is multiplied in long double."""
    J, z, _ = leaking_problems(damping)
    felt = times(J.astype(np.longdouble), ik.project(J, z, damping))
    _, away = over_the_bars(felt, J, z, damping)
    assert away.max() < 1


@pytest.mark.parametrize("damping", DAMPINGS)
@pytest.mark.parametrize(
    "wrong",
    [
        lambda J, z, damping: np.zeros(J.shape[:-1]),
        lambda J, z, damping: times(J, ik.project(J, z)),
        lambda J, z, damping: ik.leak(J, z, 1.01 * damping),
        lambda J, z, damping: -ik.leak(J, z, damping),
    ],
)
def test_a_leak_that_is_zero_or_wrong_fails_both_bars(wrong, damping: float) -> None:
    J, z, planted = leaking_problems(damping)
    off, away = over_the_bars(wrong(J, z, damping), J, z, damping)
    # With lambda wrong by 1 % the direction at the peak leaks 1 % more: below the solve's own digits at 1e-6.
    zero_or_mirrored = np.linalg.norm(wrong(J, z, damping) - ik.leak(J, z, damping), axis=-1).min() > 0.02 * damping
    assert off[:planted].min() > 1
    if zero_or_mirrored or damping >= 1e-4:
        assert away[:planted].min() > 1


def test_the_leak_peaks_at_half_lambda_where_sigma_is_lambda() -> None:
    for damping in DAMPINGS:
        sigma = damping * np.array([0.0, 0.5, 0.99, 1.0, 1.01, 2.0, 1e6])
        gain = ik.leak_gain(sigma, damping)
        assert gain[3] == pytest.approx(damping / 2, rel=1e-15)
        assert gain.argmax() == 3
        assert gain[0] == 0
        assert gain[-1] == pytest.approx(damping**2 / sigma[-1], rel=1e-11)
    np.testing.assert_array_equal(ik.leak_gain([0.0, 1.0], 0.0), 0)
    np.testing.assert_allclose(ik.leak_gain([[1.0], [1.0]], [1.0, 2.0]), [[0.5], [0.8]])


def test_nothing_leaks_without_damping_whatever_the_rank(rng: np.random.Generator) -> None:
    for rank in range(7):
        sigma = np.concatenate([rng.uniform(0.3, 2, (100, rank)), np.zeros((100, 6 - rank))], axis=-1)
        J, _ = planted_problem(rng, (6, 7), sigma)
        z = rng.normal(size=(100, 7))
        projected = ik.project(J, z)
        assert np.abs(times(J, projected)).max() < 1e-12
        assert np.linalg.norm(projected, axis=-1).min() > 1e-4, "and it is not the zero that would pass too"
        assert np.abs(ik.leak(J, z, 0.0)).max() == 0


def test_the_pseudo_inverse_times_j_loses_the_digits_that_singular_vectors_keep(rng: np.random.Generator) -> None:
    """J^+ (J z) divides the rounding of J z by sigma_min: z - J^+ J z is off along that direction."""
    J, _ = planted_problem(rng, (6, 7), np.tile([2.0, 1.5, 1.0, 0.7, 0.5, 1e-10], (50, 1)))
    z = rng.normal(size=(50, 7))
    Vt = np.linalg.svd(J)[2]
    want = np.sum(Vt[:, 6] * z, axis=-1)[:, None] * Vt[:, 6]
    kept = np.linalg.norm(ik.project(J, z) - want, axis=-1)
    lost = np.linalg.norm(z - ik.pseudo_inverse(J, times(J, z)) - want, axis=-1)
    assert kept.max() < 1e-14
    assert np.median(lost) > 1e-8


# ----- one factorisation, no projector


def counted(monkeypatch: pytest.MonkeyPatch, module, name: str) -> list:
    """The shapes of the first argument of every call of module.name from now on."""
    calls, original = [], getattr(module, name)

    def count(matrix, *rest, **options):
        calls.append(matrix.shape)
        return original(matrix, *rest, **options)

    monkeypatch.setattr(module, name, count)
    return calls


ALL = (
    ik.Posture(2.0),
    ik.LimitRepulsion(5.0, margin=2.5),
    ik.ManipulabilityGradient(3.0),
    ik.SecondTask(ik.PointTask(ELBOW, (0.1, 0.2, 0.6)), damping=0.05),
)


@pytest.mark.parametrize("secondary", [(), ALL[:1], ALL[:3]])
def test_a_step_factors_one_matrix_with_or_without_secondary_motion(arm, monkeypatch, secondary) -> None:
    at = state(arm, ik.site_jacobian(arm, arm.data()), np.ones(6), arm.home + ELBOW_OUT)
    step = ik.DampedLeastSquares(1e-2, secondary=secondary).bind(arm)
    factored = counted(monkeypatch, laws.lapack, "dposv")
    step(at)
    assert factored == [(6, 6)]
    # The break: the primary solve and a damped projection of their own are two.
    solve = laws._damped_solver(1e-2, arm.n)
    solve(at.jacobian, at.error)
    solve(at.jacobian, at.jacobian @ at.q)
    assert len(factored) == 3


@pytest.mark.parametrize(("damping", "solves", "decompositions"), [(0.1, 1, 0), (0.0, 0, 1)])
def test_a_secondary_motion_shares_the_factorisation(rng, monkeypatch, damping, solves, decompositions) -> None:
    J, e, z = rng.normal(size=(6, 7)), rng.normal(size=6), rng.normal(size=7)
    import array_api_compat.numpy.linalg as linalg

    solved, decomposed = counted(monkeypatch, linalg, "solve"), counted(monkeypatch, linalg, "svd")
    ik.damped_with_secondary(J, e, z, damping)
    assert (len(solved), len(decomposed)) == (solves, decompositions)
    ik.damped(J, e, damping) + ik.project(J, z, damping)
    assert (len(solved), len(decomposed)) == (3 * solves, 3 * decompositions), "the break: two calls factor twice"


@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_the_projector_is_never_formed(rng: np.random.Generator, damping: float) -> None:
    """Of 200000 joints it would take 320 GB."""
    J, z = rng.normal(size=(6, 200_000)), rng.normal(size=200_000)
    both = ik.damped_with_secondary(J, np.ones(6), z, damping)
    np.testing.assert_allclose(both, ik.damped(J, np.ones(6), damping) + ik.project(J, z, damping), atol=1e-9)


# ----- objectives, alone and together


@pytest.fixture(scope="module")
def elbow_out(arm) -> ik.State:
    q = arm.home + ELBOW_OUT
    data = arm.data(q)
    at = state(arm, ik.site_jacobian(arm, data), np.array([0.1, -0.2, 0.1, 0.3, 0, 0.1]), q)
    return dataclasses.replace(at, data=data)


@pytest.mark.parametrize("damping", [0.0, 1e-2])
@pytest.mark.parametrize("objective", ALL)
def test_each_objective_alone_changes_the_command_and_not_the_task(arm, elbow_out, objective, damping) -> None:
    at = elbow_out
    plain = ik.DampedLeastSquares(damping).bind(arm)(at)
    moved = ik.DampedLeastSquares(damping, secondary=(objective,)).bind(arm)(at)
    assert np.linalg.norm(moved - plain) > 1e-3
    z = objective.bind(arm)(at)
    felt = at.jacobian @ (moved - plain)
    np.testing.assert_allclose(felt, ik.leak(at.jacobian, z, damping), atol=1e-13)
    # The break: the objective is added without its projection.
    assert np.linalg.norm(at.jacobian @ z) > 1e-2


def test_objectives_add_up_and_the_old_gain_is_one_of_them(arm, elbow_out) -> None:
    at = elbow_out
    plain = ik.DampedLeastSquares().bind(arm)(at)
    alone = [ik.DampedLeastSquares(secondary=(one,)).bind(arm)(at) - plain for one in ALL]
    together = ik.DampedLeastSquares(secondary=ALL).bind(arm)(at) - plain
    np.testing.assert_allclose(together, sum(alone), atol=1e-12)
    for left_out in range(len(ALL)):
        rest = ik.DampedLeastSquares(secondary=ALL[:left_out] + ALL[left_out + 1 :]).bind(arm)(at) - plain
        np.testing.assert_allclose(together - rest, alone[left_out], atol=1e-12)
    by_gain = ik.DampedLeastSquares(nullspace_gain=2.0).bind(arm)(at) - plain
    np.testing.assert_allclose(by_gain, alone[0], atol=1e-14)
    both = ik.DampedLeastSquares(nullspace_gain=2.0, secondary=ALL[1:]).bind(arm)(at) - plain
    np.testing.assert_allclose(both, together, atol=1e-12)


def test_a_posture_may_be_another_than_home(arm, elbow_out) -> None:
    other = tuple(arm.home + 0.2)
    np.testing.assert_allclose(ik.Posture(3.0, other).bind(arm)(elbow_out), 3 * (0.2 - ELBOW_OUT), atol=1e-14)
    with pytest.raises(ValueError, match=r"q must have shape \(7,\)"):
        ik.Posture(1.0, (0.0, 1.0)).bind(arm)


def held(arm: ik.Arm, q: np.ndarray, secondary: tuple, steps: int = 750, **options) -> ik.Run:
    """The pose at q, held from q."""
    position, quaternion = ik.site_pose(arm, arm.data(q))
    still = np.zeros((steps, 6))
    path = ik.Path(
        np.arange(steps) * 0.002, np.tile(position, (steps, 1)), np.tile(quaternion, (steps, 1)), still, still
    )
    return ik.track(arm, path, ik.DampedLeastSquares(1e-3, secondary=secondary), q=q, **options)


def test_each_objective_gets_what_it_wants_at_the_same_pose(light_arm) -> None:
    q = light_arm.home + ELBOW_OUT
    elbow = light_arm.model.body(ELBOW).id

    def outcome(secondary: tuple) -> dict[str, float]:
        run = held(light_arm, q, secondary)
        assert run.position_error[-1] < 1e-3
        end = run.q[-1]
        depth = np.maximum([light_arm.lower + 1.8 - end, end - light_arm.upper + 1.8], 0)
        return {
            "posture": float(np.linalg.norm(end - light_arm.home)),
            "limits": float(np.sum(depth**2)),
            "manipulability": float(ik.manipulability(ik.site_jacobian(light_arm, light_arm.data(end)))),
            "elbow": float(light_arm.data(end).xpos[elbow, 2]),
        }

    before = outcome(())
    assert outcome((ik.Posture(5.0),))["posture"] < before["posture"] - 1e-4
    assert outcome((ik.LimitRepulsion(20.0, margin=1.8),))["limits"] < before["limits"] - 1e-2
    assert outcome((ik.ManipulabilityGradient(50.0),))["manipulability"] > before["manipulability"] * 1.01
    lifted = outcome((ik.SecondTask(ik.PointTask(ELBOW, (0, 0, 0.9), gain=3.0, axes="z"), damping=0.05),))
    assert lifted["elbow"] > before["elbow"] + 1e-3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ik.DampedLeastSquares(secondary=ik.Posture()), "secondary must be a tuple"),
        (lambda: ik.DampedLeastSquares(secondary=(1.0,)), "secondary must be a tuple"),
        (lambda: ik.Posture(-1.0), "gain"),
        (lambda: ik.LimitRepulsion(np.nan), "gain"),
        (lambda: ik.LimitRepulsion(1.0, -0.1), "margin"),
        (lambda: ik.ManipulabilityGradient(np.inf), "gain"),
        (lambda: ik.PointTask(ELBOW, (0, 0, 0), -1.0), "gain"),
        (lambda: ik.PointTask(ELBOW, (0, 0, np.nan)), "target"),
        (lambda: ik.PointTask(ELBOW, (0, 0)), "target"),  # type: ignore[arg-type]
        (lambda: ik.PointTask(ELBOW, (0, 0, 0), axes="xw"), "axes"),
        (lambda: ik.PointTask(ELBOW, (0, 0, 0), axes=""), "axes"),
        (lambda: ik.PointTask(ELBOW, (0, 0, 0), axes="zz"), "axes"),
        (lambda: ik.PointTask("elbow", (0, 0, 0)).bind(ik.panda()), "no body 'elbow'; it has .*'link4'"),
        (lambda: ik.SecondTask(ik.PointTask(ELBOW, (0, 0, 0)), -1.0), "damping"),
        (lambda: ik.RecursivePriority(ik.PointTask(ELBOW, (0, 0, 0)), -1.0), "damping"),
        (lambda: ik.RecursivePriority(ik.PointTask(ELBOW, (0, 0, 0)), 1.0, -1.0), "second_damping"),
    ],
)
def test_objectives_that_mean_nothing_are_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_the_gradient_refuses_joints_that_do_not_come_base_first(arm) -> None:
    names = ["joint2", "joint1", *arm.joint_names[2:]]
    shuffled = ik.Arm.from_model(arm.model, arm.site_name, names, home="home")
    with pytest.raises(ValueError, match="from the base to the tip"):
        ik.ManipulabilityGradient().bind(shuffled)


# ----- two tasks


@pytest.mark.parametrize("axes", ["z", "xyz", "yx"])
def test_a_point_task_is_the_bodys_position_and_its_derivative(arm, elbow_out, axes: str) -> None:
    J2, e2 = ik.PointTask(ELBOW, (0.1, 0.2, 0.6), gain=2.0, axes=axes).bind(arm)(elbow_out)
    rows, body = ["xyz".index(axis) for axis in axes], arm.model.body(ELBOW).id
    np.testing.assert_allclose(e2, 2 * (np.array([0.1, 0.2, 0.6]) - elbow_out.data.xpos[body])[rows], atol=1e-15)
    h = 1e-5
    for joint, direction in enumerate(np.eye(7)):
        ends = [arm.data(elbow_out.q + s * direction).xpos[body][rows] for s in (h, -h)]
        np.testing.assert_allclose(J2[:, joint], (ends[0] - ends[1]) / (2 * h), atol=1e-9)


def test_the_two_laws_are_the_two_formulas(arm, elbow_out) -> None:
    task, at = ik.PointTask(ELBOW, (0.1, 0.2, 0.6)), elbow_out
    second = task.bind(arm)(at)
    robust = ik.DampedLeastSquares(1e-2, secondary=(ik.SecondTask(task, 0.05),)).bind(arm)(at)
    recursive = ik.RecursivePriority(task, 1e-2, 0.05).bind(arm)(at)
    np.testing.assert_allclose(
        robust, ik.priority_robust(at.jacobian, at.error, *second, 1e-2, 0.05), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(recursive, ik.priority_recursive(at.jacobian, at.error, *second, 1e-2, 0.05))
    assert np.linalg.norm(robust - recursive) > 1e-2
    # Each damping reaches its own solve, and the robust form's second one is the task's, whatever it is.
    for damping, second_damping in ((1e-2, 0.5), (0.5, 1e-2)):
        other = ik.DampedLeastSquares(damping, secondary=(ik.SecondTask(task, second_damping),)).bind(arm)(at)
        want = ik.priority_robust(at.jacobian, at.error, *second, damping, second_damping)
        np.testing.assert_allclose(other, want, rtol=0, atol=1e-12)
        assert np.linalg.norm(other - robust) > 1e-3


def test_at_home_self_motion_turns_joints_1_and_3_and_leaves_the_elbow(arm) -> None:
    def elbow_speed(q: np.ndarray) -> tuple[np.ndarray, float]:
        data = arm.data(q)
        free = np.linalg.svd(ik.site_jacobian(arm, data))[2][-1]
        columns = np.empty((3, arm.model.nv))
        mujoco.mj_jacBody(arm.model, data, columns, None, arm.model.body(ELBOW).id)
        return free, float(np.linalg.norm(columns[:, arm.dofs] @ free))

    free, speed = elbow_speed(arm.home)
    want = np.array([-1, 0, 1, 0, 0, 0, 0]) / np.sqrt(2)
    np.testing.assert_allclose(free * np.sign(free @ want), want, atol=1e-14)
    assert speed < 1e-15
    assert elbow_speed(arm.home + ELBOW_OUT)[1] > 0.05


# ----- how hard the posture may pull


@pytest.mark.parametrize(("product", "grows"), [(0.5, False), (1.0, False), (1.9, False), (1.99, False), (2.05, True)])
@pytest.mark.parametrize("integration_dt", [1.0, 0.1])
def test_a_kinematic_step_is_stable_up_to_gain_times_integration_dt_of_two(
    arm, product: float, grows: bool, integration_dt: float
) -> None:
    """q + integration_dt * qdot multiplies what is left in the null space by 1 - nullspace_gain * integration_dt."""
    q, gain = arm.home + 1e-6 * np.array([-1, 0, 1, 0, 0, 0, 0]), product / integration_dt
    position, quaternion = ik.site_pose(arm, arm.data())
    law = ik.DampedLeastSquares(1e-3, nullspace_gain=gain).bind(arm)
    for _ in range(200):
        data = arm.data(q)
        error = ik.pose_error(position, quaternion, *ik.site_pose(arm, data))
        q = q + integration_dt * law(state(arm, ik.site_jacobian(arm, data), error, q))
    left = np.linalg.norm(q - arm.home) / (1e-6 * np.sqrt(2))
    assert (left > 100) if grows else (left < 0.2)
    if product == 1.99:
        assert left == pytest.approx(0.99**200, rel=0.05)


def servo_boundary(arm: ik.Arm, q: np.ndarray) -> float:
    """nullspace_gain * integration_dt at which the servo's explicit setpoint and implicit damping lose each other.

    Along the free direction n: M v+ = M v - h kp K x - h kv v+, x+ = x + h v+, stable for h^2 kp K < 2 (2 M + h kv).
    """
    model, h = arm.model, arm.model.opt.timestep
    data = arm.data(q)
    inertia = np.empty((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    free = np.linalg.svd(ik.site_jacobian(arm, data))[2][-1]
    stiffness = model.actuator_gainprm[arm.actuators, 0]
    damping = -model.actuator_biasprm[arm.actuators, 2] + model.dof_damping[arm.dofs]
    m = free @ inertia[np.ix_(arm.dofs, arm.dofs)] @ free
    return float(2 * (2 * m + h * free @ (damping * free)) / (h**2 * free @ (stiffness * free)))


@pytest.mark.parametrize(("away", "boundary"), [(np.zeros(7), 129.9), (ELBOW_OUT, 141.4)])
@pytest.mark.parametrize("integration_dt", [1.0, 0.5])
def test_the_position_actuators_take_far_more_and_their_boundary_is_predicted(
    light_arm, away, boundary, integration_dt
) -> None:
    q = light_arm.home + away
    assert servo_boundary(light_arm, q) == pytest.approx(boundary, abs=0.1)
    assert 100 < boundary < 150
    free = np.linalg.svd(ik.site_jacobian(light_arm, light_arm.data(q)))[2][-1]
    position, quaternion = ik.site_pose(light_arm, light_arm.data(q))

    def speed_after(gain: float, push: float = 1e-6) -> float:
        law = ik.DampedLeastSquares(1e-2, secondary=(ik.Posture(gain, tuple(q)),))
        controller = ik.Controller(light_arm, law, light_arm.data(q + push * free), integration_dt=integration_dt)
        speeds = []
        for _ in range(350):
            controller.step(position, quaternion)
            speeds.append(np.abs(controller.data.qvel[light_arm.dofs]).max())
        return float(max(speeds[-50:]))

    assert speed_after(0.97 * boundary / integration_dt) < 1e-6
    assert speed_after(1.03 * boundary / integration_dt) > 0.1
    # A push that saturates the motors starts the same oscillation well below the boundary.
    assert speed_after(0.9 * boundary / integration_dt, push=1e-3) > 0.1


# ----- the wide loop


@pytest.fixture(scope="module")
def loops(arm, light_arm):
    """Runs of the wide loop without and with a pull towards home, keyed by whether gravity is compensated."""
    return {
        compensated: [ik.track(which, ik.wide_loop(which), ik.DampedLeastSquares(1e-2, gain)) for gain in (0.0, 5.0)]
        for compensated, which in ((False, arm), (True, light_arm))
    }


@pytest.mark.parametrize("compensated", [False, True])
def test_round_the_wide_loop_only_a_posture_brings_the_arm_home(loops, compensated: bool) -> None:
    free, pulled = loops[compensated]
    assert free.distance_from_home[-1] > 2.5
    assert pulled.distance_from_home[-1] < 0.02
    for run in (free, pulled):
        assert not run.clipped.any()
        assert 0.08 < run.position_error.max() < 0.12, "the lag on the way"


def test_both_runs_of_the_wide_loop_end_at_the_same_gripper_pose(loops, light_arm) -> None:
    ends = [ik.site_pose(light_arm, light_arm.data(run.q[-1])) for run in loops[True]]
    apart = ik.pose_error(*ends[0], *ends[1])
    assert np.linalg.norm(apart[:3]) < 1e-4
    assert np.linalg.norm(apart[3:]) < 1e-3
    free, pulled = loops[False]
    assert abs(free.position_error[-1] - pulled.position_error[-1]) < 1e-3
    assert free.position_error[-1] > 1e-3, "gravity holds both below the target"
    # Under gravity the free run creeps on while the target rests.
    assert free.distance_from_home[-1] - free.distance_from_home[-500] > 1e-3

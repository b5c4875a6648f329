"""What the task leaves free, against SciPy's null_space, against determinants, and against the leak in closed form."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import ikcourse as ik
from ikcourse.ellipsoid import jacobian_derivative, manipulability, manipulability_gradient
from ikcourse.nullspace import damped_with_secondary, leak, leak_gain, limit_repulsion, posture, project

from .models import SHUFFLED, from_xml

DAMPINGS = (1e-6, 1e-4, 1e-2, 1e-1, 1.0)
SHAPES = [(6, 7), (3, 7), (6, 6), (6, 3), (1, 4), (2, 2)]


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]


def jacobians(planted_problem, rng, shape, count: int = 40, smallest: float = 0.2) -> tuple[np.ndarray, ...]:
    """Jacobians, errors, and joint velocities to send through the null space."""
    sigma = np.concatenate([rng.uniform(0.3, 2, size=(count, min(shape) - 1)), np.full((count, 1), smallest)], axis=-1)
    J, e = planted_problem(rng, shape, sigma)
    return J, e, rng.normal(size=(count, shape[1]))


def orthogonal_projection(J: np.ndarray, z: np.ndarray) -> np.ndarray:
    free = scipy.linalg.null_space(J)
    return free @ (free.T @ z)


# --- the projector


@pytest.mark.parametrize("shape", SHAPES)
def test_undamped_projection_is_onto_scipys_null_space(planted_problem, shape, rng: np.random.Generator) -> None:
    J, _, z = jacobians(planted_problem, rng, shape)
    got = project(J, z)
    for j, velocity, answer in zip(J, z, got, strict=True):
        np.testing.assert_allclose(answer, orthogonal_projection(j, velocity), atol=1e-13)
    np.testing.assert_allclose(project(J, got), got, atol=1e-14)


@pytest.mark.parametrize("smallest", [0.2, 1e-3, 1e-8, 1e-12, 0.0])
def test_the_task_does_not_feel_an_undamped_projection(planted_problem, smallest: float, rng) -> None:
    J, _, z = jacobians(planted_problem, rng, (6, 7), smallest=smallest)
    duplicate = J.copy()
    duplicate[:, 5] = duplicate[:, 4]
    for matrix in (J, duplicate, np.zeros_like(J)):
        assert np.abs(times(matrix, project(matrix, z))).max() < 1e-12
    for velocity, j, answer in zip(z, duplicate, project(duplicate, z), strict=True):
        np.testing.assert_allclose(answer, orthogonal_projection(j, velocity), atol=1e-9)
    np.testing.assert_array_equal(project(np.zeros((6, 7)), z), z)


def off_the_leak(projection, J: np.ndarray, z: np.ndarray, damping: float) -> float:
    """How far J times the projection is from lambda^2 (J J^T + lambda^2 I)^-1 J z, taken from the spectrum of J J^T."""
    felt = times(J, projection(J, z, damping))
    values, vectors = np.linalg.eigh(J @ np.swapaxes(J, -1, -2))
    along = times(np.swapaxes(vectors, -1, -2), times(J, z))
    want = times(vectors, damping**2 / (np.maximum(values, 0) + damping**2) * along)
    return float(np.abs(felt - want).max())


@pytest.mark.parametrize("damping", DAMPINGS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_damped_projection_leaks_exactly_what_it_should(planted_problem, shape, damping: float, rng) -> None:
    J, _, z = jacobians(planted_problem, rng, shape)
    assert off_the_leak(project, J, z, damping) < 1e-12


def test_near_a_singularity_the_leak_is_the_formulas(planted_problem, rng: np.random.Generator) -> None:
    J, _, z = jacobians(planted_problem, rng, (6, 7), smallest=1e-3)
    for damping in DAMPINGS:
        assert off_the_leak(project, J, z, damping) < 1e-12
    at_the_singularity = times(J, project(J, z, 0.1))
    assert np.abs(at_the_singularity).max() > 1e-3  # the hand does move; without damping it would not
    assert np.abs(times(J, project(J, z))).max() < 1e-12


@pytest.mark.parametrize(
    "slip",
    [
        lambda J, z, damping: project(J, z),  # damping forgotten
        lambda J, z, damping: project(J, z, damping**0.5),  # not squared
        lambda J, z, damping: z - times(np.swapaxes(J, -1, -2), times(J, z)),  # no solve
    ],
)
def test_a_wrong_projector_fails_the_leak(planted_problem, slip, rng: np.random.Generator) -> None:
    J, _, z = jacobians(planted_problem, rng, (6, 7))
    assert off_the_leak(slip, J, z, 0.1) > 1e-4


def test_zero_and_positive_damping_live_in_one_batch(planted_problem, rng: np.random.Generator) -> None:
    J, e, z = jacobians(planted_problem, rng, (6, 7), count=6)
    J[3, 5] = J[3, 4]
    damping = np.array([0.0, 1e-3, 0.1, 0.0, 1.0, 1e-12])
    projected, together = project(J, z, damping), damped_with_secondary(J, e, z, damping)
    for i in range(6):
        np.testing.assert_allclose(projected[i], project(J[i], z[i], damping[i]), atol=1e-13)
        np.testing.assert_allclose(together[i], damped_with_secondary(J[i], e[i], z[i], damping[i]), atol=1e-12)


@pytest.mark.parametrize(("sigma", "exists"), [(1e-13, True), (2e-15, True), (1.2e-15, False), (0.0, False)])
def test_a_singular_value_counts_down_to_the_rounding_of_j(sigma: float, exists: bool) -> None:
    """max(m, n) eps = 1.6e-15 of the largest: a J whose SVD is exact shows on which side each one falls."""
    J, e, z = np.eye(6, 7), np.full(6, 2e-16), np.full(7, 0.5)
    J[5, 5] = sigma
    assert project(J, z)[5] == (0 if exists else 0.5)
    assert damped_with_secondary(J, e, z, 0.0)[5] == (pytest.approx(2e-16 / sigma) if exists else 0.5)


def test_without_damping_there_is_an_answer_for_each_lambda_of_the_batch(planted_problem, rng) -> None:
    J, e, z = (array[0] for array in jacobians(planted_problem, rng, (6, 7), count=1))
    for alone, together in (
        (project(J, z), project(J, z, [0.0, 0.0, 0.0])),
        (damped_with_secondary(J, e, z, 0.0), damped_with_secondary(J, e, z, [0.0, 0.0, 0.0])),
    ):
        np.testing.assert_array_equal(together, np.stack([alone] * 3))


# --- a secondary motion from the same solve


@pytest.mark.parametrize("damping", [0.0, *DAMPINGS])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_solve_is_the_sum_of_two(planted_problem, shape, damping: float, rng: np.random.Generator) -> None:
    J, e, z = jacobians(planted_problem, rng, shape)
    together, apart = damped_with_secondary(J, e, z, damping), ik.damped(J, e, damping) + project(J, z, damping)
    if shape[1] >= shape[0]:
        np.testing.assert_allclose(together, apart, atol=1e-12)
    else:  # J J^T has eigenvalues lambda^2 for certain: judged against the matrix that both solve
        condition = 1 + (np.linalg.norm(J, ord=2, axis=(-2, -1)).max() / damping) ** 2 if damping else 1e3
        np.testing.assert_allclose(together, apart, atol=10 * np.finfo(float).eps * condition)


def test_each_part_alone_changes_the_answer(planted_problem, rng: np.random.Generator) -> None:
    """The break: a secondary motion that is skipped, or that is added without its projection."""
    J, e, z = jacobians(planted_problem, rng, (6, 7))
    zero = np.zeros_like
    np.testing.assert_allclose(damped_with_secondary(J, e, zero(z), 0.1), ik.damped(J, e, 0.1), atol=1e-14)
    np.testing.assert_allclose(damped_with_secondary(J, zero(e), z, 0.1), project(J, z, 0.1), atol=1e-14)
    both = damped_with_secondary(J, e, z, 0.1)
    assert np.abs(both - ik.damped(J, e, 0.1)).max() > 0.1
    assert np.abs(both - (ik.damped(J, e, 0.1) + z)).max() > 0.1


def test_without_damping_the_task_is_met_and_the_rest_is_as_close_as_it_can_be(planted_problem, rng) -> None:
    """argmin ||qdot - z|| subject to J qdot = e, by its own KKT system."""
    J, e, z = jacobians(planted_problem, rng, (6, 7))
    got = damped_with_secondary(J, e, z, 0.0)
    kkt = np.block([[np.broadcast_to(np.eye(7), (40, 7, 7)), np.swapaxes(J, -1, -2)], [J, np.zeros((40, 6, 6))]])
    want = np.linalg.solve(kkt, np.concatenate([z, e], axis=-1)[..., None])[:, :7, 0]
    np.testing.assert_allclose(got, want, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.floats(-5, 0))
def test_a_secondary_motion_makes_the_least_objective_about_itself(seed: int, power: float) -> None:
    """argmin ||J qdot - e||^2 + lambda^2 ||qdot - z||^2, by NumPy's lstsq."""
    rng, damping = np.random.default_rng(seed), 10.0**power
    J, e, z = rng.normal(size=(3, 5)), rng.normal(size=3), rng.normal(size=5)
    A, b = np.concatenate([J, damping * np.eye(5)]), np.concatenate([e, damping * z])
    want = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(damped_with_secondary(J, e, z, damping), want, rtol=1e-6, atol=1e-6)


# --- posture and manipulability


def test_posture_is_a_velocity_towards_home(rng: np.random.Generator) -> None:
    q, home = rng.normal(size=(4, 7)), rng.normal(size=7)
    np.testing.assert_allclose(posture(q, home, 2.0), 2 * (home - q))
    np.testing.assert_allclose(posture(q, home, [0.0, 1.0, 2.0, 3.0])[3], 3 * (home - q[3]))
    assert (np.linalg.norm(home - (q + 0.1 * posture(q, home, 1.0))) < np.linalg.norm(home - q)).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_manipulability_is_yoshikawas_determinant(planted_problem, shape, rng: np.random.Generator) -> None:
    J, _, _ = jacobians(planted_problem, rng, shape)
    got = manipulability(J)
    assert got.shape == (40,)
    if shape[1] < shape[0]:
        np.testing.assert_array_equal(got, np.zeros(40))
        assert np.sqrt(np.abs(np.linalg.det(J @ np.swapaxes(J, -1, -2)))).max() < 1e-6
    else:
        np.testing.assert_allclose(got, np.sqrt(np.linalg.det(J @ np.swapaxes(J, -1, -2))), rtol=1e-11)


def test_manipulability_of_the_two_link_arm_is_the_sine_of_its_elbow() -> None:
    for q2 in (0.0, 0.3, np.pi / 2, 2.0):
        first, second = np.array([-np.sin(0.4), np.cos(0.4)]), np.array([-np.sin(0.4 + q2), np.cos(0.4 + q2)])
        J = np.stack([first + second, second], axis=-1)
        assert manipulability(J) == pytest.approx(np.sin(q2), abs=1e-15)
    assert manipulability([[0.0, 0.0], [2.0, 1.0]]) == 0


# --- what is refused


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_values_that_are_not_finite_are_refused(bad: float, damping: float) -> None:
    J, e, z = np.eye(6, 7), np.ones(6), np.ones(7)
    J_bad, e_bad, z_bad = J.copy(), e.copy(), z.copy()
    J_bad[1, 1] = e_bad[1] = z_bad[1] = bad
    for call, name in (
        (lambda: project(J_bad, z, damping), "jacobian"),
        (lambda: project(J, z_bad, damping), "velocity"),
        (lambda: damped_with_secondary(J_bad, e, z, damping), "jacobian"),
        (lambda: damped_with_secondary(J, e_bad, z, damping), "error"),
        (lambda: damped_with_secondary(J, e, z_bad, damping), "secondary"),
        (lambda: manipulability(J_bad), "jacobian"),
    ):
        with pytest.raises(ValueError, match=f"{name} must be finite"):
            call()


def test_wrong_shapes_and_dampings_are_refused() -> None:
    J, e, z = np.eye(6, 7), np.ones(6), np.ones(7)
    for call, text in (
        (lambda: project(J, e), r"velocity must have shape \(\.\.\., n\) to fit jacobian \(6, 7\); got \(6,\)"),
        (lambda: project(z, z), r"velocity must have shape"),
        (lambda: project(J, z, -0.1), "damping must not be negative"),
        (lambda: project(J, z, np.nan), "damping must be finite"),
        (lambda: project(J, z, None), "damping must be finite"),
        (lambda: leak(J, z, -0.1), "damping must not be negative"),
        (lambda: leak(J, z, 1e200), "damping is too large to be squared"),
        (lambda: leak_gain([0.1], -0.1), "damping must not be negative"),
        (lambda: leak_gain([0.1], 1e200), "damping is too large to be squared"),
        (lambda: leak_gain([-0.1], 0.1), "sigma must not be negative"),
        (lambda: posture(z, e, 1.0), r"the same last axis; got \(7,\) and \(6,\)"),
        (lambda: posture(z, z, -1.0), "gain must not be negative"),
        (lambda: posture(np.nan * z, z, 1.0), "q must be finite"),
        (lambda: posture(z, np.nan * z, 1.0), "q_home must be finite"),
        (lambda: project(np.stack([J] * 3), np.stack([z] * 4)), r"leading axes do not broadcast.*'velocity': \(4,\)"),
        (lambda: project(np.stack([J] * 3), z, [0.0, 0.0]), r"leading axes do not broadcast.*'damping': \(2,\)"),
        (lambda: leak(np.stack([J] * 3), z, [0.1, 0.2]), r"leading axes do not broadcast.*'damping': \(2,\)"),
        (
            lambda: damped_with_secondary(np.stack([J] * 3), e, np.stack([z] * 4), 0.1),
            r"leading axes do not broadcast.*'secondary': \(4,\)",
        ),
        (lambda: damped_with_secondary(J, z, z, 0.1), r"error must have shape"),
        (lambda: damped_with_secondary(J, e, e, 0.1), r"secondary must have shape \(\.\.\., 7\); got \(6,\)"),
        (lambda: damped_with_secondary(J, e, z, -0.1), "damping must not be negative"),
        (lambda: manipulability(z), r"jacobian must have shape"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


# --- the joint limits


def test_limit_repulsion_acts_in_the_margins_only() -> None:
    lower, upper = np.array([-1.0, -2.0, -np.inf]), np.array([1.0, 2.0, np.inf])

    def push(*q: float) -> np.ndarray:
        return limit_repulsion(np.array(q), lower, upper, 2.0, 0.3)

    np.testing.assert_array_equal(push(0.6, -1.6, 1e6), 0)
    np.testing.assert_allclose(push(0.9, -1.9, 0), [-0.4, 0.4, 0], atol=1e-15)
    np.testing.assert_allclose(push(1.0, -2.0, 0), [-0.6, 0.6, 0], atol=1e-15)
    np.testing.assert_allclose(push(1.1, -2.1, 0), [-0.8, 0.8, 0], atol=1e-15)
    np.testing.assert_allclose(
        limit_repulsion([[0.9, 0, 0]] * 2, lower, upper, [1.0, 3.0], [0.2, 0.1, 0.1]), [[-0.1, 0, 0], [-0.3, 0, 0]]
    )


def test_limit_repulsion_is_downhill_in_its_potential(rng: np.random.Generator) -> None:
    lower, upper, gain, h = -np.ones(7), np.linspace(1, 2, 7), 3.0, 1e-6
    q = rng.uniform(-1.2, 2.2, (50, 7))

    def potential(q: np.ndarray) -> np.ndarray:
        depth = np.maximum(lower + 0.4 - q, 0) + np.maximum(q - upper + 0.4, 0)
        return gain * np.sum(depth**2, axis=-1) / 2

    slope = [(potential(q + h * d) - potential(q - h * d)) / (2 * h) for d in np.eye(7)]
    np.testing.assert_allclose(limit_repulsion(q, lower, upper, gain, 0.4), -np.stack(slope, axis=-1), atol=1e-6)


def test_limit_repulsion_refuses_what_means_nothing() -> None:
    q, lower, upper = np.zeros(3), -np.ones(3), np.ones(3)
    for arguments, message in (
        ((q * np.nan, lower, upper, 1.0, 0.1), "q must be finite"),
        ((q, lower, upper, -1.0, 0.1), "gain must not be negative"),
        ((q, lower, upper, 1.0, -0.1), "margin must not be negative"),
        ((q, lower, upper, 1.0, np.inf), "margin must be finite"),
        ((q, upper, lower, 1.0, 0.1), "lower limit must be below"),
        ((q, np.nan * lower, upper, 1.0, 0.1), "lower limit must be below"),
    ):
        with pytest.raises(ValueError, match=message):
            limit_repulsion(*arguments)


# --- how J and w move with the joints


def chains() -> list[ik.Arm]:
    """The Panda; hinge, hinge, slide behind a ball joint; a planar arm."""
    return [ik.panda(), from_xml(SHUFFLED, home="bent"), ik.planar(4, [0.5, 0.4, 0.3, 0.2])]


def differences_of(function, q: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Central differences over the joints, stacked on a new last axis."""
    return np.stack([(function(q + h * d) - function(q - h * d)) / (2 * h) for d in np.eye(len(q))], axis=-1)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_derivative_of_j_is_what_differences_of_mujocos_say(which: int, rng: np.random.Generator) -> None:
    arm = chains()[which]
    for _ in range(5):
        q = arm.home + rng.uniform(-0.5, 0.5, arm.n)
        want = differences_of(lambda q, arm=arm: ik.jacobians_at(arm, q), q)
        got = jacobian_derivative(ik.jacobians_at(arm, q))
        np.testing.assert_allclose(got, want, atol=2e-9)
        if arm.n == 7:
            assert np.abs(np.swapaxes(got, -1, -2) - want).max() > 0.1, "the break: which joint moves which column"


@pytest.mark.parametrize(("which", "rows"), [(0, range(6)), (0, (0, 1, 2)), (0, (3, 4, 5)), (1, (0, 1)), (2, (0, 1))])
def test_the_gradient_of_manipulability_is_what_differences_say(which: int, rows, rng: np.random.Generator) -> None:
    arm, rows = chains()[which], list(rows)
    q = arm.home + rng.uniform(-0.7, 0.7, (20, arm.n))
    got = manipulability_gradient(ik.jacobians_at(arm, q), rows)

    def w(q: np.ndarray) -> np.ndarray:
        return manipulability(ik.jacobians_at(arm, q)[..., rows, :])

    want = np.stack([differences_of(w, one) for one in q])
    np.testing.assert_allclose(got, want, atol=1e-8)
    assert np.abs(want).max() > 1e-2
    assert got.shape == q.shape


def test_the_gradient_stays_finite_at_a_singularity_where_w_has_a_kink() -> None:
    """Two unit links: w = |sin q2|, whose slopes at the straight arm are +1 and -1."""
    arm = ik.planar(2)
    for q2, want in ((0.0, 1.0), (1e-9, 1.0), (-1e-9, -1.0), (np.pi / 2, 0.0), (2.0, np.cos(2.0))):
        gradient = manipulability_gradient(ik.jacobians_at(arm, np.array([0.3, q2])), (0, 1))
        assert abs(gradient[0]) < 1e-15
        assert abs(abs(gradient[1]) - abs(want)) < 1e-7
        if q2 != 0:
            assert gradient[1] == pytest.approx(want, abs=1e-7)


@pytest.mark.parametrize("rows", [(), (0, 9), (0, -1), (1, 1), "xy"])
def test_the_gradient_refuses_rows_that_make_no_task(rows) -> None:
    with pytest.raises(ValueError, match="rows must name some of 0 to 5, each once"):
        manipulability_gradient(np.eye(6, 7), rows)


def test_another_unit_of_length_rescales_the_gradient_and_keeps_its_direction(rng: np.random.Generator) -> None:
    arm = ik.panda()
    J = ik.jacobians_at(arm, arm.home + rng.uniform(-0.3, 0.3, 7))
    millimetres = np.concatenate([1000 * J[:3], J[3:]])
    np.testing.assert_allclose(manipulability(millimetres), 1e9 * manipulability(J), rtol=1e-10)
    gradient = manipulability_gradient(J)
    np.testing.assert_allclose(manipulability_gradient(millimetres) / 1e9, gradient, atol=1e-12)
    assert np.linalg.norm(gradient) > 1e-2


def test_an_arm_with_fewer_joints_than_rows_has_no_gradient_and_rows_must_be_six() -> None:
    arm = from_xml(SHUFFLED, home="bent")
    np.testing.assert_array_equal(manipulability_gradient(ik.jacobians_at(arm, arm.home)), np.zeros(3))
    for bad, message in ((np.ones((3, 7)), r"shape \(\.\.\., 6, n\)"), (np.full((6, 7), np.nan), "finite")):
        with pytest.raises(ValueError, match=message):
            manipulability_gradient(bad)


def test_the_new_functions_keep_the_array_namespace(rng: np.random.Generator) -> None:
    J, z, q = rng.normal(size=(4, 6, 7)), rng.normal(size=(4, 7)), rng.normal(size=(4, 7))
    for function, arguments in (
        (lambda J, z: leak(J, z, 0.1), (J, z)),
        (lambda J: leak_gain(J[:, 0, :] ** 2, 0.1), (J,)),
        (lambda q, z: limit_repulsion(q, z - 1, z + 1, 0.5, 0.3), (q, z)),
        (jacobian_derivative, (J,)),
        (manipulability_gradient, (J,)),
        (lambda J, z: damped_with_secondary(J, z[:, :6], z, 0.0), (J, z)),
    ):
        got = function(*(array_api_strict.asarray(array) for array in arguments))
        assert isinstance(got, type(array_api_strict.asarray(0.0)))
        np.testing.assert_allclose(np.asarray(got), function(*arguments), rtol=1e-12, atol=1e-13)

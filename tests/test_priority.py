"""Two tasks in priority: what both forms share, and the algorithmic singularity that tells them apart."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
import scipy.linalg

from ikcourse.priority import priority_recursive, priority_robust

FORMS = (priority_robust, priority_recursive)


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]


def problems(rng: np.random.Generator, k: int, count: int = 20) -> tuple[np.ndarray, ...]:
    """J1 (3, 7), e1, J2 (k, 7), e2: four motions are left by task 1."""
    return tuple(rng.normal(size=(count, *shape)) for shape in ((3, 7), (3,), (k, 7), (k,)))


def near_the_algorithmic_singularity(distance: float) -> tuple[np.ndarray, ...]:
    """Two healthy tasks of a three-joint arm; of the one free motion, joint 3, task 2 sees only `distance`."""
    J1, e1 = np.array([[1.0, 0, 0], [0, 1.0, 0]]), np.array([0.3, -0.2])
    J2, e2 = np.array([[0.6, 0.8, distance]]), np.array([0.5])
    assert np.linalg.svd(J2, compute_uv=False)[-1] >= 1
    return J1, e1, J2, e2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("k", [1, 3, 4, 6])
def test_task_1_is_met_whatever_task_2_wants(form, k: int, rng: np.random.Generator) -> None:
    J1, e1, J2, e2 = problems(rng, k)
    for damping in (0.0, 0.1):
        qdot = form(J1, e1, J2, e2, 0.0, damping)
        np.testing.assert_allclose(times(J1, qdot), e1, atol=1e-10)
        assert np.linalg.norm(qdot - form(J1, e1, J2, -e2, 0.0, damping), axis=-1).min() > 1e-2


@pytest.mark.parametrize("k", [1, 3, 4])
def test_the_recursive_form_meets_both_tasks_where_they_can_be_met(k: int, rng: np.random.Generator) -> None:
    J1, e1, J2, e2 = problems(rng, k)
    assert np.abs(times(J2, priority_recursive(J1, e1, J2, e2)) - e2).max() < 1e-10
    # The robust form does not: its answer to task 2 is bent by the projection.
    assert np.linalg.norm(times(J2, priority_robust(J1, e1, J2, e2)) - e2, axis=-1).min() > 1e-3


def test_a_task_too_many_is_met_as_well_as_the_rest_of_the_room_allows(rng: np.random.Generator) -> None:
    """argmin ||J2 qdot - e2|| over qdot = J1^+ e1 + free motions, by SciPy's null space and NumPy's lstsq."""
    for J1, e1, J2, e2 in zip(*problems(rng, 6), strict=True):
        first, free = np.linalg.pinv(J1) @ e1, scipy.linalg.null_space(J1)
        best = np.linalg.lstsq(J2 @ free, e2 - J2 @ first, rcond=None)[0]
        np.testing.assert_allclose(priority_recursive(J1, e1, J2, e2), first + free @ best, atol=1e-10)


def test_both_forms_are_their_formulas_with_the_projector_formed(rng: np.random.Generator) -> None:
    for damping, second_damping in ((0.0, 0.0), (0.1, 0.0), (0.1, 0.3)):
        for J1, e1, J2, e2 in zip(*problems(rng, 2, 5), strict=True):

            def inverse(J: np.ndarray, lam: float) -> np.ndarray:
                return np.linalg.pinv(J) if lam == 0 else J.T @ np.linalg.inv(J @ J.T + lam**2 * np.eye(len(J)))

            first = inverse(J1, damping) @ e1
            leaky = np.eye(7) - inverse(J1, damping) @ J1
            robust = first + leaky @ inverse(J2, second_damping) @ e2
            got = priority_robust(J1, e1, J2, e2, damping, second_damping)
            np.testing.assert_allclose(got, robust, atol=1e-11)
            exact = np.eye(7) - np.linalg.pinv(J1) @ J1
            recursive = first + inverse(J2 @ exact, second_damping) @ (e2 - J2 @ first)
            got = priority_recursive(J1, e1, J2, e2, damping, second_damping)
            np.testing.assert_allclose(got, recursive, atol=1e-11)


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-6, 1e-9])
def test_the_algorithmic_singularity_tells_them_apart(distance: float) -> None:
    J1, e1, J2, e2 = near_the_algorithmic_singularity(distance)
    robust, recursive = (form(J1, e1, J2, e2) for form in FORMS)
    assert np.linalg.norm(robust) < 1
    left = e2[0] - (0.6 * 0.3 + 0.8 * -0.2)
    assert recursive[2] == pytest.approx(left / distance, rel=1e-7)
    np.testing.assert_allclose(J2 @ recursive, e2, atol=1e-7)
    assert abs(J2 @ robust - e2)[0] > 0.4, "bounded, because it does not try"
    damped = priority_recursive(J1, e1, J2, e2, 0.0, 0.1)
    assert abs(damped[2]) <= left / (2 * 0.1) * (1 + 1e-12), "1 / (2 lambda) is the cure, as ever"
    np.testing.assert_allclose(J1 @ recursive, e1, atol=1e-12)


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-9])
def test_a_second_task_that_runs_away_leaves_the_first_alone(distance: float, rng: np.random.Generator) -> None:
    """A direction of length 1e-9 has seven digits: without the second projection the first task feels the others."""
    J1, e1, J2, e2 = near_the_algorithmic_singularity(distance)
    turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    qdot = priority_recursive(J1 @ turned, e1, J2 @ turned, e2)
    speed = np.linalg.norm(qdot)
    assert speed > 0.4 / distance
    assert np.linalg.norm(J1 @ turned @ qdot - e1) < 1e-14 * speed + 1e-14


def test_at_the_singularity_itself_the_second_task_is_given_up(rng: np.random.Generator) -> None:
    """J2 = A J1 is all task 1's: what is left of J2 is rounding, and must not be taken for a direction."""
    J1, e1, _, e2 = problems(rng, 2)
    J2 = rng.normal(size=(20, 2, 3)) @ J1
    for damping in (0.0, 0.1):
        qdot = priority_recursive(J1, e1, J2, e2, 0.0, damping)
        np.testing.assert_allclose(qdot, times(np.linalg.pinv(J1), e1), atol=1e-12)
    # The break: a tolerance relative to the projected Jacobian itself.
    J, free = J1[0], scipy.linalg.null_space(J1[0])
    noise = J2[0] - (J2[0] @ np.linalg.pinv(J)) @ J
    assert np.linalg.norm(J2[0] @ free) < 1e-13
    assert np.linalg.norm(np.linalg.pinv(noise) @ e2[0]) > 1e6


def test_a_damped_second_task_moves_the_first_only_in_the_form_that_leaks(rng: np.random.Generator) -> None:
    J1, e1, J2, e2 = problems(rng, 2)
    moved = [
        np.abs(times(J1, form(J1, e1, J2, e2, 0.3, 0.3) - form(J1, e1, J2, -e2, 0.3, 0.3))).max() for form in FORMS
    ]
    assert moved[0] > 1e-2
    assert moved[1] < 1e-13


@pytest.mark.parametrize("form", FORMS)
def test_batches_broadcast_and_the_array_namespace_is_kept(form, rng: np.random.Generator) -> None:
    J1, e1, J2, e2 = problems(rng, 2, 6)
    lam, mu = np.linspace(0.1, 0.6, 6), np.linspace(0.6, 0.1, 6)
    together = form(J1, e1, J2, e2, lam, mu)
    for i in range(6):
        np.testing.assert_allclose(together[i], form(J1[i], e1[i], J2[i], e2[i], lam[i], mu[i]), atol=1e-13)
    one_task = form(J1[0], e1[0], J2, e2, 0.1, 0.1)
    np.testing.assert_allclose(one_task[3], form(J1[0], e1[0], J2[3], e2[3], 0.1, 0.1), atol=1e-13)
    strict = form(*(array_api_strict.asarray(array) for array in (J1, e1, J2, e2)), 0.1, 0.2)
    np.testing.assert_allclose(np.asarray(strict), form(J1, e1, J2, e2, 0.1, 0.2), atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_tasks_that_do_not_fit_are_refused(form) -> None:
    J1, e1, J2, e2 = near_the_algorithmic_singularity(0.1)
    for arguments, message in (
        ((J1, e2, J2, e2), "error must have shape"),
        ((J1, e1, J2, e1), "error must have shape"),
        ((J1, e1, J2 * np.nan, e2), "jacobian must be finite"),
        ((J1, e1, J2[:, :2], e2), r"shape"),
        ((J1, e1, J2, e2, -0.1), "must not be negative"),
        ((J1, e1, J2, e2, 0.1, -0.1), "must not be negative"),
    ):
        with pytest.raises(ValueError, match=message):
            form(*arguments)

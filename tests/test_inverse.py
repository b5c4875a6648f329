"""Every way of inverting J against something that shares no code with it.

QR in extended precision, NumPy's pinv, SciPy, plain loops over singular vectors, the answers of Newton's controller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

import ikcourse as ik
from ikcourse import nullspace

EPS = np.finfo(float).eps
SHAPES = [(6, 7), (6, 6), (6, 3), (3, 7), (2, 2), (1, 4), (5, 1)]
DAMPINGS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 0.3, 1.0)
LAWS: dict[str, Callable[[Any, Any], Any]] = {
    "damped": lambda J, e: ik.damped(J, e, 0.05),
    "damped_joint_space": lambda J, e: ik.damped_joint_space(J, e, 0.05),
    "damped_svd": lambda J, e: ik.damped_svd(J, e, 0.05),
    "damped, lambda 0": lambda J, e: ik.damped(J, e, 0.0),
    "pseudo_inverse": ik.pseudo_inverse,
    "truncated": lambda J, e: ik.truncated(J, e, 0.4),
    "transpose": ik.transpose,
    "transpose, gain 0.3": lambda J, e: ik.transpose(J, e, 0.3),
    "selectively_damped": ik.selectively_damped,
}


def norm(x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.asarray(x, dtype=float), axis=-1)


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]


def stacked(J: np.ndarray, e: np.ndarray, damping: float) -> tuple[np.ndarray, np.ndarray]:
    """[J; lambda I] and [e; 0]: the least-squares problem that damping solves, without a square anywhere."""
    n, batch = J.shape[-1], J.shape[:-2]
    A = np.concatenate([J, np.broadcast_to(damping * np.eye(n), (*batch, n, n))], axis=-2)
    return A, np.concatenate([e, np.zeros((*batch, n))], axis=-1)


def least_squares_by_qr(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """argmin ||A x - b|| by Householder QR in NumPy's longest float: a reference must be better than what it judges."""
    R, y, n = A.astype(np.longdouble), b.astype(np.longdouble), A.shape[-1]
    for k in range(n):
        v = R[..., k:, k].copy()
        v[..., 0] += np.copysign(np.sqrt(np.sum(v * v, axis=-1)), v[..., 0])
        w = 2 * v / np.sum(v * v, axis=-1, keepdims=True)
        R[..., k:, k:] -= w[..., None] * np.sum(v[..., None] * R[..., k:, k:], axis=-2, keepdims=True)
        y[..., k:] -= w * np.sum(v * y[..., k:], axis=-1, keepdims=True)
    x = np.zeros_like(y[..., :n])
    for k in reversed(range(n)):
        x[..., k] = (y[..., k] - np.sum(R[..., k, k + 1 : n] * x[..., k + 1 :], axis=-1)) / R[..., k, k]
    return x


def spectra(rng: np.random.Generator, shape: tuple[int, int], smallest: float, count: int) -> np.ndarray:
    """Singular values between 0.3 and 2, but the last of each, which is planted."""
    others = np.exp(rng.uniform(np.log(0.3), np.log(2), size=(count, min(shape) - 1)))
    return np.concatenate([others, np.full((count, 1), smallest)], axis=-1)


# --- damped least squares: three faces of one minimum


def test_the_qr_reference_is_numpys_lstsq(planted_problem, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        J, e = planted_problem(rng, shape, spectra(rng, shape, 0.2, 3))
        A, b = stacked(J, e, 0.1)
        for i in range(3):
            want = np.linalg.lstsq(A[i], b[i], rcond=None)[0]
            np.testing.assert_allclose(least_squares_by_qr(A, b)[i].astype(float), want, rtol=1e-12, atol=1e-13)


def faces_over_their_bars(
    J: np.ndarray, e: np.ndarray, damping: float, faces: tuple
) -> tuple[list[float], list[float]]:
    """Each face's worst relative error, as a multiple of its own bar and as a number."""
    m, n = J.shape[-2:]
    squared = np.linalg.svd(J, compute_uv=False) ** 2
    task = (squared[:, 0] + damping**2) / ((squared[:, -1] if m <= n else 0) + damping**2)
    joint = (squared[:, 0] + damping**2) / ((squared[:, -1] if n <= m else 0) + damping**2)
    with np.errstate(divide="ignore"):
        decomposed = np.minimum(np.sqrt(squared[:, 0] / squared[:, -1]), np.minimum(task, joint))
    reference = least_squares_by_qr(*stacked(J, e, damping))
    errors = [norm(face(J, e, damping) - reference) / norm(reference) for face in faces]
    # LAPACK states its SVD's backward error as a small multiple of max(m, n) * eps.
    bars = [10 * EPS * task, 10 * EPS * joint, 10 * max(m, n) * EPS * decomposed]
    return [float((x / bar).max()) for x, bar in zip(errors, bars, strict=True)], [float(x.max()) for x in errors]


FACES = (ik.damped, ik.damped_joint_space, ik.damped_svd)


# Where a single direction is all there is, and it is gone, no answer is left to be relative to.
PLANTED = [
    (shape, smallest)
    for shape in SHAPES
    for smallest in (0.3, 1e-2, 1e-4, 1e-6, 1e-9, 1e-15, 0.0)
    if min(shape) > 1 or smallest > 1e-3
]


@pytest.mark.parametrize(("shape", "smallest"), PLANTED)
def test_the_three_faces_agree_with_qr(planted_problem, shape, smallest: float, rng: np.random.Generator) -> None:
    J, e = planted_problem(rng, shape, spectra(rng, shape, smallest, 100))
    for damping in DAMPINGS:
        over, relative = faces_over_their_bars(J, e, damping, FACES)
        assert max(over) < 1, (damping, over)
        assert damping < 0.1 or max(relative) < 1e-12, (damping, relative)


@pytest.mark.parametrize(
    "slip",
    [
        lambda damping: damping**0.5,  # lambda where lambda^2 belongs
        lambda damping: damping**2,  # squared twice
        lambda damping: damping * (1 + 1e-6),
    ],
)
def test_a_wrong_lambda_would_be_caught(planted_problem, slip, rng: np.random.Generator) -> None:
    J, e = planted_problem(rng, (6, 7), spectra(rng, (6, 7), 1e-2, 100))
    faces = tuple(lambda J, e, damping, face=face: face(J, e, slip(damping)) for face in FACES)
    assert min(faces_over_their_bars(J, e, 0.3, faces)[0]) > 100


def test_the_joint_space_face_loses_digits_first(planted_problem, rng: np.random.Generator) -> None:
    """J is healthy, and still the 7 x 7 matrix has an eigenvalue lambda^2 for the joint to spare."""
    J, e = planted_problem(rng, (6, 7), spectra(rng, (6, 7), 0.3, 100))
    _, (task, joint, svd) = faces_over_their_bars(J, e, 1e-6, FACES)
    assert task < 1e-13
    assert svd < 1e-13
    assert joint > 1e-6


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("shape", SHAPES)
def test_damped_is_the_argmin(planted_problem, face, shape, rng: np.random.Generator) -> None:
    J, e = planted_problem(rng, shape, spectra(rng, shape, 0.05, 20))
    for damping in (1e-3, 1e-1, 1.0):

        def objective(qdot: np.ndarray, damping=damping) -> np.ndarray:
            return norm(times(J, qdot) - e) ** 2 + damping**2 * norm(qdot) ** 2

        qdot = face(J, e, damping)
        gradient = times(np.swapaxes(J, -1, -2), times(J, qdot) - e) + damping**2 * qdot
        assert norm(gradient).max() < 1e-8
        for size in (1e-6, 1e-3, 1.0):
            for _ in range(20):
                step = size * rng.normal(size=qdot.shape)
                # Exactly: ||J step||^2 + lambda^2 ||step||^2 more, and nothing of first order.
                more = norm(times(J, step)) ** 2 + damping**2 * norm(step) ** 2
                assert (objective(qdot + step) >= objective(qdot) * (1 - 4 * EPS)).all()
                np.testing.assert_allclose(objective(qdot + step) - objective(qdot), more, rtol=1e-6, atol=1e-9)


@given(
    st.sampled_from(SHAPES),
    st.floats(-6, 0),
    st.lists(st.floats(-4, 0.3), min_size=7, max_size=7),
    st.integers(0, 2**32 - 1),
)
def test_no_direction_moves_farther_than_half_over_lambda(shape, power: float, spectrum: list, seed: int) -> None:
    rng, damping = np.random.default_rng(seed), 10.0**power
    left, right = (np.linalg.qr(rng.normal(size=(size, size)))[0] for size in shape)
    k = min(shape)
    J = (left[:, :k] * 10.0 ** np.array(spectrum[:k])) @ right[:, :k].T
    e = rng.normal(size=shape[0])
    for face in FACES:
        assert norm(face(J, e, damping)) <= norm(e) / (2 * damping) * (1 + 1e-3)


# --- the largest gain: what the number called damping is


def largest_gain(law, damping: float, shape: tuple[int, int], rng: np.random.Generator) -> float:
    """max ||qdot|| / ||e|| over J = lambda * (orthonormal rows, or columns where the rows are more)."""
    m, n = shape
    orthonormal = np.linalg.qr(rng.normal(size=(max(m, n), min(m, n))))[0]
    Q = orthonormal.T if m <= n else orthonormal
    answers = law(damping * Q, np.eye(m), damping)
    return float(np.linalg.norm(answers.T, ord=2))


@pytest.mark.parametrize("damping", np.logspace(-6, 0, 13))
@pytest.mark.parametrize("shape", [(6, 7), (6, 6), (3, 7), (6, 3)])
@pytest.mark.parametrize("face", FACES)
def test_the_largest_gain_is_one_over_two_lambda(face, shape, damping: float, rng: np.random.Generator) -> None:
    assert largest_gain(face, damping, shape, rng) == pytest.approx(1 / (2 * damping), rel=1e-12)


@pytest.mark.parametrize("damping", np.logspace(-6, -0.001, 13))
def test_an_unsquared_lambda_fails_the_largest_gain(damping: float, rng: np.random.Generator) -> None:
    def unsquared(J: np.ndarray, e: np.ndarray, damping: float) -> np.ndarray:
        return ik.damped(J, e, math.sqrt(damping))

    assert largest_gain(unsquared, damping, (6, 7), rng) != pytest.approx(1 / (2 * damping), rel=1e-6)


# --- lambda = 0, and the pseudo-inverse


def numpy_pinv(J: np.ndarray, e: np.ndarray) -> np.ndarray:
    return times(np.linalg.pinv(J, rcond=max(J.shape[-2:]) * EPS), e)


def with_duplicate_rows(J: np.ndarray) -> np.ndarray:
    J = J.copy()
    J[..., -1, :] = J[..., 0, :]
    return J


@pytest.mark.parametrize("shape", SHAPES)
def test_lambda_zero_is_the_moore_penrose_solution(planted_problem, shape, rng: np.random.Generator) -> None:
    J, e = planted_problem(rng, shape, spectra(rng, shape, 0.2, 50))
    problems = [J, np.zeros_like(J)]
    if shape[0] > 1:
        problems += [with_duplicate_rows(J), 2.0**0.5 * with_duplicate_rows(J)]
    for matrix in problems:
        want = numpy_pinv(matrix, e)
        for answer in (ik.damped(matrix, e, 0.0), ik.damped_svd(matrix, e, 0.0), ik.pseudo_inverse(matrix, e)):
            np.testing.assert_allclose(answer, want, rtol=1e-11, atol=1e-12)


def test_a_pseudo_inverse_without_a_rank_tolerance_would_be_caught(planted_problem, rng: np.random.Generator) -> None:
    J, e = planted_problem(rng, (6, 7), spectra(rng, (6, 7), 0.2, 50))
    J = with_duplicate_rows(J)
    assert norm(ik.pseudo_inverse(J, e, rank_tolerance=0.0) - numpy_pinv(J, e)).max() > 1e6


def test_of_all_least_squares_answers_the_pseudo_inverse_is_the_shortest(planted_problem, rng) -> None:
    J, e = planted_problem(rng, (6, 7), spectra(rng, (6, 7), 0.2, 1))
    J, e = with_duplicate_rows(J)[0], e[0]
    qdot, free = ik.pseudo_inverse(J, e), scipy.linalg.null_space(J)
    assert free.shape == (7, 2)
    np.testing.assert_allclose(free.T @ qdot, 0, atol=1e-13)
    np.testing.assert_allclose(J.T @ (J @ qdot - e), 0, atol=1e-13)


def test_a_given_rank_tolerance_is_a_fraction_of_the_largest(planted_problem, rng: np.random.Generator) -> None:
    J, e = planted_problem(rng, (3, 3), np.array([[10.0, 1.0, 0.1]]))
    for tolerance in (0.009, 0.011, 0.2, 1.0):
        want = times(np.linalg.pinv(J, rcond=tolerance), e)
        np.testing.assert_allclose(ik.pseudo_inverse(J, e, rank_tolerance=tolerance), want, atol=1e-12)
    for bad in (-1e-9, np.nan):
        with pytest.raises(ValueError, match="rank_tolerance"):
            ik.pseudo_inverse(J, e, rank_tolerance=bad)


@pytest.mark.parametrize("damping", [1e-300, 1e-200, 1e-160, 1e-16, 1e-14, 1e-12, 1e-10, 1e-9])
def test_a_tiny_lambda_is_lambda_zero_also_where_j_is_singular(planted_problem, damping: float, rng) -> None:
    """A singular value that is rounding, over lambda^2, would be a command of 1e8 rad/s."""
    J, e = planted_problem(rng, (6, 7), spectra(rng, (6, 7), 0.2, 50))
    for matrix in (J, with_duplicate_rows(J), np.zeros_like(J)):
        want = numpy_pinv(matrix, e)
        for face in (ik.damped, ik.damped_svd):
            np.testing.assert_allclose(face(matrix, e, damping), want, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("damping", [0.0, 1e-200, 1e-12, 1e-6, 1e-2, 1.0])
def test_a_zero_jacobian_moves_nothing(damping: float) -> None:
    J, e = np.zeros((6, 7)), np.ones(6)
    for answer in (ik.damped(J, e, damping), ik.damped_svd(J, e, damping), ik.transpose(J, e)):
        np.testing.assert_array_equal(answer, np.zeros(7))
    for answer in (ik.truncated(J, e, damping), ik.selectively_damped(J, e)):
        np.testing.assert_array_equal(answer, np.zeros(7))


def test_joint_space_needs_damping() -> None:
    for damping in (0.0, [0.1, 0.0]):
        with pytest.raises(ValueError, match=r"damping\^2 > 0.*`damped`"):
            ik.damped_joint_space(np.ones((6, 7)), np.ones(6), damping)


# --- batches


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("shape", [(6, 7), (6, 6), (6, 3), (3, 6)])
@pytest.mark.parametrize("batch", [(1,), (6,), (2, 6), (6, 1), (3, 1, 2)])
def test_a_batch_is_the_loop_over_it(name: str, shape, batch, planted_problem, rng: np.random.Generator) -> None:
    """(6,) is the trap: six right-hand sides of length six are silently one 6 x 6 matrix to `solve`."""
    k = min(shape)
    sigma = np.sort(rng.uniform(0.2, 2, size=(*batch, k)))[..., ::-1] + 0.2 * np.arange(k)[::-1]
    J, e = planted_problem(rng, shape, sigma)
    law = LAWS[name]
    got = law(J, e)
    assert got.shape == (*batch, shape[1])
    for index in np.ndindex(batch):
        np.testing.assert_allclose(got[index], law(J[index], e[index]), rtol=1e-11, atol=1e-12)
    shared_jacobian = law(J[(0,) * len(batch)], e)
    np.testing.assert_allclose(shared_jacobian[(0,) * len(batch)], got[(0,) * len(batch)], rtol=1e-11, atol=1e-12)
    assert shared_jacobian.shape == law(J, e[(0,) * len(batch)]).shape == got.shape


def test_a_solve_without_the_trailing_axis_would_be_caught(planted_problem, rng: np.random.Generator) -> None:
    J, e = planted_problem(rng, (6, 7), spectra(rng, (6, 7), 0.2, 6))
    A = J @ np.swapaxes(J, -1, -2) + 0.05**2 * np.eye(6)
    slip = np.swapaxes(J, -1, -2) @ np.linalg.solve(A, e)
    assert slip.shape != ik.damped(J, e, 0.05).shape


@pytest.mark.parametrize("face", [ik.damped, ik.damped_svd])
def test_zero_and_positive_damping_live_in_one_batch(planted_problem, face, rng: np.random.Generator) -> None:
    J, e = planted_problem(rng, (6, 7), spectra(rng, (6, 7), 0.2, 6))
    J[3] = with_duplicate_rows(J[3])
    damping = np.array([0.0, 1e-12, 1e-3, 0.0, 0.5, 2.0])
    got = face(J, e, damping)
    for i in range(6):
        want = numpy_pinv(J[i], e[i]) if damping[i] < 1e-9 else face(J[i], e[i], damping[i])
        np.testing.assert_allclose(got[i], want, rtol=1e-11, atol=1e-12)


def test_parameters_carry_batch_axes_too(planted_problem, rng: np.random.Generator) -> None:
    J, e = planted_problem(rng, (6, 7), spectra(rng, (6, 7), 0.2, 1))
    J, e, values = J[0], e[0], np.array([[0.01, 0.3, 1.0], [0.2, 0.7, 5.0]])
    for law in (*FACES, ik.truncated, ik.transpose):
        got = law(J, e, values)
        assert got.shape == (2, 3, 7)
        for index in np.ndindex(2, 3):
            np.testing.assert_allclose(got[index], law(J, e, float(values[index])), rtol=1e-11, atol=1e-13)


# --- truncation, transpose, adaptive damping


def test_truncation_drops_a_direction_at_its_threshold_and_keeps_one_above() -> None:
    J, e = np.diag([4.0, 2.0, 0.5]), np.array([4.0, 3.0, 1.0])
    for threshold, want in (
        (0.0, [1, 1.5, 2]),
        (np.nextafter(0.5, 0), [1, 1.5, 2]),
        (0.5, [1, 1.5, 0]),
        (np.nextafter(2.0, 0), [1, 1.5, 0]),
        (2.0, [1, 0, 0]),
        (np.nextafter(4.0, 0), [1, 0, 0]),
        (4.0, [0, 0, 0]),
    ):
        np.testing.assert_allclose(ik.truncated(J, e, threshold), want, rtol=1e-15)


def test_truncation_is_the_sum_over_the_directions_it_keeps(planted_problem, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        J, e = planted_problem(rng, shape, spectra(rng, shape, 0.1, 5))
        for j, error in zip(J, e, strict=True):
            U, sigma, Vt = scipy.linalg.svd(j, full_matrices=False, lapack_driver="gesvd")
            want = sum((Vt[i] * (U[:, i] @ error) / s for i, s in enumerate(sigma) if s > 0.5), np.zeros(shape[1]))
            np.testing.assert_allclose(ik.truncated(j, error, 0.5), want, atol=1e-12)


def test_the_default_transpose_gain_leaves_the_smallest_error(planted_problem, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        J, e = planted_problem(rng, shape, spectra(rng, shape, 0.1, 20))
        for j, error in zip(J, e, strict=True):
            direction = j.T @ error
            gain = np.linalg.lstsq((j @ direction)[:, None], error, rcond=None)[0][0]
            np.testing.assert_allclose(ik.transpose(j, error), gain * direction, rtol=1e-11, atol=1e-12)
            left = norm(error - j @ ik.transpose(j, error))
            for factor in (0.99, 1.01):
                assert norm(error - j @ (factor * gain * direction)) > left


def test_a_given_transpose_gain_is_the_gain(planted_problem, rng: np.random.Generator) -> None:
    J, e = planted_problem(rng, (6, 7), spectra(rng, (6, 7), 0.1, 20))
    np.testing.assert_allclose(ik.transpose(J, e, 0.7), 0.7 * np.einsum("bij,bi->bj", J, e), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(ik.transpose(J, e, 0.0), np.zeros((20, 7)))
    # An error that no joint can reduce: J^T e is zero, and so is the answer, not 0 / 0.
    np.testing.assert_array_equal(ik.transpose([[0.0, 0.0], [2.0, 1.0]], [1.0, 0.0]), np.zeros(2))


def test_adaptive_damping_is_its_formula_and_has_its_limits(planted_problem, rng: np.random.Generator) -> None:
    smallest = np.concatenate([[0.0], np.logspace(-8, 0, 60)])
    sigma = np.concatenate([np.full((61, 5), 2.0) + np.arange(5), smallest[:, None]], axis=-1)
    J, _ = planted_problem(rng, (6, 7), sigma)
    got = ik.adaptive_damping(J, threshold=0.1, damping_max=0.5, damping_min=0.01)
    want = [0.01 if s >= 0.1 else math.sqrt(0.01**2 + (1 - (s / 0.1) ** 2) * (0.5**2 - 0.01**2)) for s in smallest]
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert got[0] == pytest.approx(0.5, rel=1e-14)
    assert (np.diff(got) <= 1e-15).all()
    np.testing.assert_allclose(ik.adaptive_damping(np.eye(3), 0.1, 0.5), 0.0, atol=0)
    assert ik.adaptive_damping(J.reshape(61, 1, 6, 7), 0.1, 0.5).shape == (61, 1)


def test_with_fewer_joints_than_rows_a_direction_is_always_missing(planted_problem, rng: np.random.Generator) -> None:
    for n in (1, 3, 5):
        J, _ = planted_problem(rng, (6, n), np.ones((4, n)))
        np.testing.assert_allclose(ik.adaptive_damping(J, 0.1, 0.5, 0.01), np.full(4, 0.5), rtol=1e-15)
        in_the_open = np.sqrt(0.01**2 + (1 - np.clip(np.linalg.svd(J)[1][:, -1] / 0.1, 0, 1) ** 2) * 0.2499)
        assert (in_the_open < 0.02).all()  # what the smallest of the n singular values would say


def test_adaptive_damping_refuses_what_it_cannot_mean() -> None:
    J = np.eye(6, 7)
    for bad in (0.0, -0.1, np.nan, np.inf):
        with pytest.raises(ValueError, match="threshold must be positive"):
            ik.adaptive_damping(J, bad, 0.5)
    for damping_max, damping_min in ((0.1, 0.2), (0.5, -0.1), (np.nan, 0.0), (0.5, np.nan), (np.inf, 0.0)):
        with pytest.raises(ValueError, match="damping_min <= damping_max"):
            ik.adaptive_damping(J, 0.1, damping_max, damping_min)


# --- selectively damped least squares


def clamp_max_abs(w: list[float], d: float) -> list[float]:
    largest = max(abs(x) for x in w)
    return w if largest <= d else [d * x / largest for x in w]


def buss_and_kim(J: np.ndarray, e: np.ndarray, gamma_max: float, effectors: tuple[int, ...]) -> np.ndarray:
    """Selectively damped least squares from the definitions of the paper (2005, section 5), one number at a time."""
    m, n = J.shape
    U, sigma, Vt = scipy.linalg.svd(J, lapack_driver="gesvd")
    first_rows = [sum(effectors[:index]) for index in range(len(effectors))]
    total = [0.0] * n
    for i in range(min(m, n)):
        if sigma[i] <= 1e-12 * sigma[0]:
            continue
        u, v = U[:, i], Vt[i]
        N = M = 0.0
        for first, rows in zip(first_rows, effectors, strict=True):
            N += math.sqrt(sum(u[r] ** 2 for r in range(first, first + rows)))
            for j in range(n):
                rho = math.sqrt(sum(J[r, j] ** 2 for r in range(first, first + rows)))
                M += abs(v[j]) * rho / sigma[i]
        gamma = min(1.0, N / M) * gamma_max
        alpha = sum(u[r] * e[r] for r in range(m))
        phi = clamp_max_abs([alpha * v[j] / sigma[i] for j in range(n)], gamma)
        total = [total[j] + phi[j] for j in range(n)]
    return np.array(clamp_max_abs(total, gamma_max))


@pytest.mark.parametrize(
    ("shape", "effectors"),
    [
        ((6, 7), (3, 3)),
        ((6, 6), (3, 3)),
        ((6, 3), (3, 3)),
        ((3, 7), (3,)),
        ((2, 2), (2,)),
        ((6, 7), (6,)),
        ((6, 9), (2, 2, 2)),
        ((5, 4), (4, 1)),
        ((6, 7), (1, 1, 1, 1, 1, 1)),
    ],
)
def test_selectively_damped_is_the_papers_loop(shape, effectors, planted_problem, rng: np.random.Generator) -> None:
    clamped = 0
    for size in (0.03, 0.3, 3.0, 30.0):
        for smallest in (0.2, 1e-2, 1e-5, 0.0):
            J, e = planted_problem(rng, shape, spectra(rng, shape, smallest, 6))
            default = (3, 3) if shape[0] == 6 else (shape[0],)
            given_effectors = None if effectors == default else effectors
            got = ik.selectively_damped(J, size * e, effectors=given_effectors)
            for j, error, answer in zip(J, size * e, got, strict=True):
                np.testing.assert_allclose(
                    answer, buss_and_kim(j, error, math.pi / 4, effectors), rtol=1e-9, atol=1e-10
                )
                clamped += norm(answer - ik.pseudo_inverse(j, error)) > 1e-6
    assert clamped > 24  # the bounds were at work


def test_the_effectors_matter_and_so_does_each_bound(planted_problem, rng: np.random.Generator) -> None:
    """The breaks: one effector for two, no bound a direction, and no bound on the sum."""
    J, e = planted_problem(rng, (6, 7), spectra(rng, (6, 7), 0.05, 50))
    got = ik.selectively_damped(J, 3 * e)
    assert norm(got - ik.selectively_damped(J, 3 * e, effectors=(6,))).max() > 1e-2
    exact = ik.pseudo_inverse(J, 3 * e)
    only_the_sum = exact * np.minimum(1, math.pi / 4 / np.abs(exact).max(axis=-1, keepdims=True))
    assert norm(got - only_the_sum).max() > 1e-2
    lone = ik.selectively_damped(np.eye(2), [9.0, 0.1])
    np.testing.assert_allclose(lone, [math.pi / 4, 0.1], rtol=1e-14)


@given(st.floats(0.01, 3), st.floats(-3, 3), st.integers(0, 2**32 - 1))
def test_no_joint_turns_farther_than_gamma_max(gamma_max: float, power: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    J, e = rng.normal(size=(6, 7)), 10.0**power * rng.normal(size=6)
    assert np.abs(ik.selectively_damped(J, e, gamma_max=gamma_max)).max() <= gamma_max * (1 + 1e-14)


def test_far_from_its_bounds_selective_damping_is_the_pseudo_inverse(planted_problem, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        J, e = planted_problem(rng, shape, spectra(rng, shape, 0.2, 30))
        small = 1e-3 * e
        np.testing.assert_allclose(ik.selectively_damped(J, small), numpy_pinv(J, small), rtol=1e-10, atol=1e-14)


def test_selectively_damped_refuses_what_it_cannot_mean() -> None:
    J, e = np.eye(6, 7), np.ones(6)
    for effectors in ((3, 2), (7,), (), (6, 0), (7, -1)):
        with pytest.raises(ValueError, match="effectors"):
            ik.selectively_damped(J, e, effectors=effectors)
    for gamma_max in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="gamma_max"):
            ik.selectively_damped(J, e, gamma_max=gamma_max)


# --- what is refused


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(name: str, bad: float) -> None:
    J, e = np.eye(6, 7), np.ones(6)
    J_bad, e_bad = J.copy(), e.copy()
    J_bad[2, 3] = e_bad[4] = bad
    with pytest.raises(ValueError, match="jacobian must be finite"):
        LAWS[name](J_bad, e)
    with pytest.raises(ValueError, match="error must be finite"):
        LAWS[name](J, e_bad)


@pytest.mark.parametrize(
    ("law", "name"),
    [
        (ik.damped, "damping"),
        (ik.damped_joint_space, "damping"),
        (ik.damped_svd, "damping"),
        (ik.truncated, "threshold"),
        (ik.transpose, "gain"),
    ],
)
def test_a_parameter_that_is_negative_or_not_finite_is_refused_by_name(law, name: str) -> None:
    J, e = np.eye(6, 7), np.ones(6)
    for bad in (-1e-300, -0.1, np.array([0.1, -0.1])):
        with pytest.raises(ValueError, match=f"{name} must not be negative"):
            law(J, e, bad)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=f"{name} must be finite"):
            law(J, e, bad)


@pytest.mark.parametrize("name", LAWS)
def test_shapes_that_do_not_fit_are_refused_and_named(name: str) -> None:
    law = LAWS[name]
    for J, e, text in (
        (np.ones((6, 7)), np.ones(7), r"error must have shape \(\.\.\., 6\) to fit jacobian \(6, 7\); got \(7,\)"),
        (np.ones((6, 7)), np.float64(1), r"error must have shape"),
        (np.ones(6), np.ones(6), r"jacobian must have shape \(\.\.\., m, n\); got \(6,\)"),
        (np.ones((6, 0)), np.ones(6), r"jacobian must have shape .*got \(6, 0\)"),
        (np.ones((4, 6, 7)), np.ones((3, 6)), r"do not broadcast.*'jacobian': \(4,\), 'error': \(3,\)"),
    ):
        with pytest.raises(ValueError, match=text):
            law(J, e)


def test_a_damping_that_does_not_fit_the_batch_is_refused() -> None:
    with pytest.raises(ValueError, match=r"do not broadcast.*'damping': \(2,\)"):
        ik.damped(np.ones((4, 6, 7)), np.ones((4, 6)), [0.1, 0.2])


def test_complex_values_are_refused_and_not_halved() -> None:
    """A complex-step derivative would lose its imaginary part in silence."""
    with pytest.raises(ValueError, match="real"):
        ik.damped(np.eye(6, 7) * (1 + 1e-20j), np.ones(6), 0.1)


# --- Newton's differential-IK controller, on its own Jacobians and poses

LATER = {"use_joint_limit_avoidance"}
"""Parameters whose cases belong to a later chapter of the package."""


def newton_quaternion(pose: list[float]) -> np.ndarray:
    x, y, z, w = pose[3:]
    return np.array([w, x, y, z])


def newton_answer(case: dict) -> tuple[np.ndarray, np.ndarray]:
    """Our joint velocity for a case of Newton's, and our pose error, from its Jacobian, its poses and its parameters.

    Axis weights scale the rows of J and e, and a row of weight zero is left out. Its transpose has gain one, its
    bandwidth multiplies what the solve returned. The rank tolerance is float32's, in which J was stored.
    """
    params, inputs = case["params"], case["inputs"]
    J = np.array(inputs.get("jacobian_tool_world") or case["newton"]["jacobian_tool_world"])
    here = inputs.get("tool_pose_world") or case["newton"]["tool_pose_world"]
    there = inputs["desired_tool_pose_world"]
    rotation = ik.rotation.rotation_error(newton_quaternion(there), newton_quaternion(here))
    pose_error = np.concatenate([np.subtract(there[:3], here[:3]), rotation])
    weight = np.array(params.get("axis_weight", np.ones(6)), dtype=float)
    kept = weight != 0
    Jw, ew = (weight[:, None] * J)[kept], (weight * pose_error)[kept]
    method = params["ik_method"]
    if method == "damped_least_squares":
        qdot = ik.damped(Jw, ew, abs(params["damping"]))
    elif method == "pseudo_inverse":
        qdot = ik.pseudo_inverse(Jw, ew, rank_tolerance=max(Jw.shape) * float(np.finfo(np.float32).eps))
    elif method == "transpose":
        qdot = ik.transpose(Jw, ew, 1.0)
    elif method == "truncated_svd":
        qdot = ik.truncated(Jw, ew, params["truncated_svd_threshold"])
    else:
        limits = (params["adaptive_damping_max"], params["adaptive_damping_min"])
        qdot = ik.damped_svd(Jw, ew, ik.adaptive_damping(Jw, params["adaptive_damping_threshold"], *limits))
    qdot = np.array(params["bandwidth"]) * qdot
    if params.get("use_null_space_posture_control"):
        towards = nullspace.posture(inputs["joint_q"], params["q_des_null"], 1.0) * params["null_space_stiffness"]
        held = np.array(params.get("null_space_axes", kept)) != 0
        qdot = qdot + (nullspace.project(J[held], towards, params["null_space_damping"]) if held.any() else towards)
    return qdot, pose_error


def newton_tolerance(case: dict) -> float:
    largest = np.abs(case["newton"]["joint_qd_target"]).max()
    return max(5e-4 + 2e-3 * largest, 3 * case["ref64"]["max_abs_diff"])


def expressible(cases: dict) -> list[dict]:
    every = cases["cases"] + cases["model_free"]
    return [case for case in every if not any(case["params"].get(name) for name in LATER)]


def test_newtons_single_steps_are_ours(newton_cases: dict) -> None:
    chosen, methods = expressible(newton_cases), set()
    for case in chosen:
        qdot, pose_error = newton_answer(case)
        allowed = newton_tolerance(case)
        np.testing.assert_allclose(qdot, case["newton"]["joint_qd_target"], rtol=0, atol=allowed, err_msg=case["name"])
        np.testing.assert_allclose(pose_error, case["ref64"]["pose_error"], rtol=0, atol=5e-6, err_msg=case["name"])
        methods.add(case["params"]["ik_method"])
    assert len(chosen) >= 100
    assert methods == {"damped_least_squares", "pseudo_inverse", "transpose", "truncated_svd", "adaptive_damping"}


def test_on_the_same_jacobian_the_answers_are_those_of_the_float64_reference(newton_cases: dict) -> None:
    """The model-free cases hand over J itself: there the independent float64 value is met to its own precision."""
    for case in newton_cases["model_free"]:
        qdot, _ = newton_answer(case)
        assert np.abs(qdot - case["ref64"]["joint_qd_target"]).max() < 1e-9, case["name"]
        if "lambda" in case["ref64"]:
            params, J = case["params"], np.array(case["inputs"]["jacobian_tool_world"])
            limits = (params["adaptive_damping_max"], params["adaptive_damping_min"])
            got = ik.adaptive_damping(J, params["adaptive_damping_threshold"], *limits)
            assert got == pytest.approx(case["ref64"]["lambda"], rel=1e-6), case["name"]


def test_newton_would_notice_an_unsquared_lambda_and_a_quaternion_read_in_the_wrong_order(newton_cases: dict) -> None:
    case = next(case for case in newton_cases["cases"] if case["name"] == "panda_mid_dls_lambda_0.5")
    for wrong in ({**case, "params": {**case["params"], "damping": 0.5**0.5}}, None):
        if wrong is None:
            inputs = dict(case["inputs"])
            pose = inputs["desired_tool_pose_world"]
            inputs["desired_tool_pose_world"] = [*pose[:3], pose[6], *pose[3:6]]
            wrong = {**case, "inputs": inputs}
        qdot, _ = newton_answer(wrong)
        assert np.abs(qdot - case["newton"]["joint_qd_target"]).max() > newton_tolerance(case)

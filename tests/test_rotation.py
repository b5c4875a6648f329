"""Rotations against SciPy, against answers known in closed form, and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from ikcourse.rotation import (
    log_jacobian,
    quat_conjugate,
    quat_exp,
    quat_log,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    rotation_error,
    skew,
)

NORMS = np.concatenate([np.logspace(-12, 0, 37), np.linspace(1.1, 3.1, 21), np.pi - np.logspace(-1, -9, 9)])
ULP_AT_PI = np.spacing(np.pi)
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def scipy_rotation(quaternion: np.ndarray) -> Rotation:
    return Rotation.from_quat(quaternion, scalar_first=True)


def random_quaternions(rng: np.random.Generator, *shape: int) -> np.ndarray:
    q = rng.normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def random_axes(rng: np.random.Generator, count: int) -> np.ndarray:
    axes = rng.normal(size=(count, 3))
    return axes / np.linalg.norm(axes, axis=-1, keepdims=True)


def coordinate_and_random_axes(rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([np.eye(3), -np.eye(3), random_axes(rng, 1000)])


def arccos_log(quaternion: np.ndarray) -> np.ndarray:
    """The logarithm as it is often written: the deliberate break for tiny angles and for angles near pi."""
    angle = 2 * np.arccos(np.clip(quaternion[..., :1], -1, 1))
    return angle * quaternion[..., 1:] / np.linalg.norm(quaternion[..., 1:], axis=-1, keepdims=True)


def worst_relative(got: np.ndarray, want: np.ndarray) -> float:
    return float((np.linalg.norm(got - want, axis=-1) / np.linalg.norm(want, axis=-1)).max())


# --- products, turning a vector, and exp, against SciPy


def test_products_and_inverses_are_scipys(rng: np.random.Generator) -> None:
    a, b = random_quaternions(rng, 200), random_quaternions(rng, 200)
    together = scipy_rotation(quat_multiply(a, b)).as_matrix()
    np.testing.assert_allclose(together, (scipy_rotation(a) * scipy_rotation(b)).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(quat_multiply(a, quat_conjugate(a)), np.tile(IDENTITY, (200, 1)), atol=1e-15)


def test_a_turned_vector_is_scipys(rng: np.random.Generator) -> None:
    q, v = random_quaternions(rng, 200), rng.normal(size=(200, 3))
    np.testing.assert_allclose(quat_rotate(q, v), scipy_rotation(q).apply(v), atol=1e-14)
    assert quat_rotate(q, v[0]).shape == (200, 3)


def test_skew_is_the_cross_product(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    np.testing.assert_allclose((skew(a) @ b[..., None])[..., 0], np.cross(a, b), atol=1e-15)


def test_exp_is_the_matrix_exponential(rng: np.random.Generator) -> None:
    for norm in (0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi, 5.0, 9.0):
        v = norm * random_axes(rng, 1)[0]
        np.testing.assert_allclose(scipy_rotation(quat_exp(v)).as_matrix(), expm(np.cross(v, np.eye(3)).T), atol=1e-14)


def test_log_is_scipys_in_any_shape_of_batch(rng: np.random.Generator) -> None:
    q = random_quaternions(rng, 5, 4)
    want = scipy_rotation(q.reshape(-1, 4)).as_rotvec().reshape(5, 4, 3)
    np.testing.assert_allclose(quat_log(q), want, atol=1e-14)
    np.testing.assert_allclose(quat_log(q[2, 1]), want[2, 1], atol=1e-14)


# --- the size of an angle: tiny, ordinary, near pi, at pi


def round_trip(log, rng: np.random.Generator) -> float:
    v = NORMS[:, None, None] * random_axes(rng, 50)
    return worst_relative(log(quat_exp(v)), v)


def test_log_undoes_exp_at_every_size_of_angle(rng: np.random.Generator) -> None:
    assert round_trip(quat_log, rng) < 1e-13


def known_angle(log, rng: np.random.Generator) -> float:
    """Quaternions written without exp: a tiny half angle is its own sine; near pi, the half gap's sine is w."""
    axes = random_axes(rng, 50)
    tiny = np.logspace(-12, -8, 9)[:, None, None]
    gap = np.logspace(-9, -1, 9)[:, None, None]
    near_zero = np.concatenate([np.ones((9, 50, 1)), tiny / 2 * axes], axis=-1)
    near_pi = np.concatenate([np.sin(gap / 2) * np.ones((9, 50, 1)), np.cos(gap / 2) * axes], axis=-1)
    return max(worst_relative(log(near_zero), tiny * axes), worst_relative(log(near_pi), (np.pi - gap) * axes))


def test_log_of_quaternions_whose_angle_is_known(rng: np.random.Generator) -> None:
    assert known_angle(quat_log, rng) < 1e-13


@pytest.mark.parametrize("check", [round_trip, known_angle])
def test_a_log_by_arccos_would_be_caught(check, rng: np.random.Generator) -> None:
    assert check(arccos_log, rng) > 1e-3


def test_tiny_errors_keep_their_size_beside_any_pose(rng: np.random.Generator) -> None:
    """The error of a pose turned by a tiny angle is that angle, to the rounding of the pose itself."""
    q = random_quaternions(rng, 1000)
    for angle in (1e-12, 1e-9, 1e-6):
        v = angle * random_axes(rng, 1000)
        error = rotation_error(quat_multiply(quat_exp(v), q), q)
        assert np.abs(error - v).max() < 2e-15


def half_turns(axes: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((len(axes), 1)), axes], axis=-1)


def test_a_half_turn_has_norm_pi_about_every_axis(rng: np.random.Generator) -> None:
    axes = coordinate_and_random_axes(rng)
    for q in (half_turns(axes), -half_turns(axes), quat_exp(np.pi * axes)):
        v = quat_log(q)
        assert np.abs(np.linalg.norm(v, axis=-1) - np.pi).max() <= 4 * ULP_AT_PI
        along = np.sum(v * axes, axis=-1)
        np.testing.assert_allclose(np.abs(along), np.pi, rtol=1e-14)


def test_a_half_turn_away_from_any_pose_has_norm_pi(rng: np.random.Generator) -> None:
    axes = coordinate_and_random_axes(rng)
    current = random_quaternions(rng, len(axes))
    error = rotation_error(quat_multiply(half_turns(axes), current), current)
    assert np.abs(np.linalg.norm(error, axis=-1) - np.pi).max() <= 4 * ULP_AT_PI


# --- the double cover


def double_cover_gap(error, target: np.ndarray, current: np.ndarray) -> float:
    """How far the error moves when either quaternion, or both, is replaced by its negative."""
    signs = ((-1, 1), (1, -1), (-1, -1))
    return max(float(np.abs(error(a * target, b * current) - error(target, current)).max()) for a, b in signs)


def error_of_one_sheet(target: np.ndarray, current: np.ndarray) -> np.ndarray:
    """The deliberate break: w is read with its sign, so that -q asks for the long way round."""
    q = quat_multiply(target, quat_conjugate(current))
    norm = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    return 2 * np.arctan2(norm, q[..., :1]) / norm * q[..., 1:]


def error_without_tie_break(target: np.ndarray, current: np.ndarray) -> np.ndarray:
    """The subtler break: the sign of w alone decides, which is no decision at an angle of exactly pi."""
    q = quat_multiply(target, quat_conjugate(current))
    q = np.where(q[..., :1] < 0, -q, q)
    norm = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    return 2 * np.arctan2(norm, q[..., :1]) / norm * q[..., 1:]


def test_q_and_its_negative_give_the_same_error(rng: np.random.Generator) -> None:
    target, current = random_quaternions(rng, 2, 1000)
    assert double_cover_gap(rotation_error, target, current) == 0
    assert double_cover_gap(error_of_one_sheet, target, current) > 1


def test_q_and_its_negative_give_the_same_error_at_exactly_pi(rng: np.random.Generator) -> None:
    target = half_turns(coordinate_and_random_axes(rng))
    assert double_cover_gap(rotation_error, target, IDENTITY) == 0
    assert double_cover_gap(error_without_tie_break, target, IDENTITY) > 6


def test_a_half_turn_is_read_with_its_first_component_positive(rng: np.random.Generator) -> None:
    v = quat_log(half_turns(coordinate_and_random_axes(rng)))
    first = np.take_along_axis(v, np.argmax(v != 0, axis=-1)[..., None], axis=-1)
    assert (first > 0).all()
    np.testing.assert_array_equal(quat_log([-0.0, 0.0, -1.0, 0.0]), [0, np.pi, 0])


def test_the_error_is_the_shorter_way_in_world_axes(rng: np.random.Generator) -> None:
    current = random_quaternions(rng, 300)
    v = rng.uniform(0.01, np.pi - 0.01, size=(300, 1)) * random_axes(rng, 300)
    target = (Rotation.from_rotvec(v) * scipy_rotation(current)).as_quat(scalar_first=True)
    np.testing.assert_allclose(rotation_error(target, current), v, atol=1e-13)
    in_tool_axes = quat_log(quat_multiply(quat_conjugate(current), target))
    assert np.abs(in_tool_axes - v).max() > 1


finite = st.floats(-1, 1).filter(lambda x: x == 0 or abs(x) > 1e-200)
quaternions = st.tuples(finite, finite, finite, finite).map(np.array).filter(lambda q: np.linalg.norm(q) > 1e-3)


@given(quaternions, quaternions)
def test_the_error_turns_current_into_target(target: np.ndarray, current: np.ndarray) -> None:
    target, current = (q / np.linalg.norm(q) for q in (target, current))
    error = rotation_error(target, current)
    assert np.linalg.norm(error) <= np.pi + 4 * ULP_AT_PI
    reached = (Rotation.from_rotvec(error) * scipy_rotation(current)).as_quat(scalar_first=True)
    assert min(np.abs(reached - target).max(), np.abs(reached + target).max()) < 1e-14
    np.testing.assert_array_equal(error, rotation_error(-target, current))


# --- what is normalised, and what is refused


def test_norms_within_a_thousandth_are_normalised(rng: np.random.Generator) -> None:
    q = random_quaternions(rng, 300)
    for scale in (0.9991, 1 - 1e-6, 1 - 1e-12, 1 + 1e-12, 1 + 1e-6, 1.0009):
        np.testing.assert_allclose(quat_normalize(scale * q), q, atol=1e-15)
        np.testing.assert_allclose(quat_log(scale * q), quat_log(q), atol=5e-15)


@pytest.mark.parametrize("scale", [0.0, 1e-300, 0.5, 0.9989, 1.0011, 2.0, 1e200])
@pytest.mark.parametrize(
    "function", [quat_normalize, quat_log, lambda q: rotation_error(q, IDENTITY), lambda q: rotation_error(IDENTITY, q)]
)
def test_other_norms_and_zero_are_refused(function, scale: float) -> None:
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="norm one"):
        function(scale * np.array([0.5, -0.5, 0.5, 0.5]))


def test_one_bad_norm_in_a_batch_is_refused(rng: np.random.Generator) -> None:
    q = random_quaternions(rng, 10)
    q[7] *= 1.01
    with pytest.raises(ValueError, match=r"norm one.*1\.01"):
        quat_log(q)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    q, v = np.array([1.0, bad, 0.0, 0.0]), np.array([0.1, bad, 0.0])
    for call in (
        lambda: quat_normalize(q),
        lambda: quat_log(q),
        lambda: rotation_error(q, IDENTITY),
        lambda: rotation_error(IDENTITY, q),
        lambda: quat_exp(v),
        lambda: log_jacobian(v),
    ):
        with pytest.raises(ValueError, match="must be finite"):
            call()


def test_wrong_shapes_are_refused_by_name() -> None:
    three, four = np.ones(3), np.ones(4)
    for call, text in (
        (lambda: quat_normalize(three), r"quaternion must have shape \(\.\.\., 4\); got \(3,\)"),
        (lambda: quat_log(1.0), r"quaternion must have shape \(\.\.\., 4\); got \(\)"),
        (lambda: quat_conjugate(three), "quaternion must"),
        (lambda: quat_multiply(four, three), "b must"),
        (lambda: quat_multiply(three, four), "a must"),
        (lambda: quat_rotate(four, four), "vector must"),
        (lambda: quat_rotate(three, three), "quaternion must"),
        (lambda: quat_exp(four), "rotation_vector must"),
        (lambda: log_jacobian(four), "rotation_vector must"),
        (lambda: skew(four), "vector must"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_nearly_unit_quaternions_and_identical_poses_are_finite_and_tiny(rng: np.random.Generator) -> None:
    """w = 1 + eps is where an arccos turns into NaN and reaches the motors."""
    for norm in (1 - 1e-12, 1 - 2**-53, 1.0, 1 + 2**-52, 1 + 1e-12):
        np.testing.assert_array_equal(quat_log(norm * IDENTITY), np.zeros(3))
        np.testing.assert_array_equal(quat_log(-norm * IDENTITY), np.zeros(3))
        q = random_quaternions(rng, 1000)
        error = rotation_error(norm * q, q)
        assert np.isfinite(error).all()
        assert np.abs(error).max() < 1e-15
    with np.errstate(invalid="ignore"):
        assert np.isnan(np.arccos(1 + 2**-52))


# --- the derivative of the logarithm


def log_after_a_turn(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    return (Rotation.from_rotvec(v) * Rotation.from_rotvec(w)).as_rotvec()


def differences(function, step: float = 1e-5) -> np.ndarray:
    """Central differences of a function of three numbers, a column for each."""
    return np.stack([(function(step * axis) - function(-step * axis)) / (2 * step) for axis in np.eye(3)], axis=-1)


@pytest.mark.parametrize("angle", [0.0, 1e-6, 0.00999, 0.01, 0.01001, 1.0, 2.5, 3.1])
def test_log_jacobian_against_finite_differences(angle: float, rng: np.random.Generator) -> None:
    for axis in random_axes(rng, 20):
        v = angle * axis
        measured = differences(lambda w, v=v: log_after_a_turn(v, w))
        assert np.abs(log_jacobian(v) - measured).max() < 1e-8


@pytest.mark.parametrize(("angle", "visible"), [(0.01, 3e-3), (1.0, 0.3), (2.5, 0.5)])
def test_the_error_moves_by_minus_log_jacobian_and_not_by_minus_identity(
    angle: float, visible: float, rng: np.random.Generator
) -> None:
    """The pose turns by a world rotation w; the error log(target current^-1) is measured on SciPy's side only."""
    for axis in random_axes(rng, 20):
        current = Rotation.random(rng=rng)
        target = Rotation.from_rotvec(angle * axis) * current
        measured = differences(lambda w, t=target, c=current: (t * (Rotation.from_rotvec(w) * c).inv()).as_rotvec())
        error = rotation_error(target.as_quat(scalar_first=True), current.as_quat(scalar_first=True))
        assert np.abs(-log_jacobian(error) - measured).max() < 1e-8
        assert np.abs(-np.eye(3) - measured).max() > visible
        left_for_right = np.swapaxes(log_jacobian(error), -1, -2)
        assert np.abs(-left_for_right - measured).max() > visible


def test_log_jacobian_is_smooth_where_the_series_meets_the_formula() -> None:
    axis = np.array([2.0, -1.0, 2.0]) / 3
    below, above = log_jacobian(0.01 * (1 - 1e-12) * axis), log_jacobian(0.01 * (1 + 1e-12) * axis)
    assert np.abs(below - above).max() < 1e-13


def test_log_jacobian_at_pi_and_in_batches(rng: np.random.Generator) -> None:
    """At pi the log itself jumps, but its Jacobian is finite: the inverse of I - 2/pi K + K^2, K = skew(v / pi)."""
    v = np.pi * random_axes(rng, 6)
    inverse = log_jacobian(v.reshape(2, 3, 3)).reshape(6, 3, 3)
    K = skew(v / np.pi)
    right_jacobian = np.eye(3) - 2 / np.pi * K + K @ K
    np.testing.assert_allclose(inverse @ right_jacobian, np.tile(np.eye(3), (6, 1, 1)), atol=1e-14)


def test_log_jacobian_refuses_a_full_turn() -> None:
    for angle in (2 * np.pi, 7.0):
        with pytest.raises(ValueError, match="2 pi"):
            log_jacobian([angle, 0, 0])

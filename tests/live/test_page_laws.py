"""The page's formulas are ikcourse's: every law on random and near-singular Jacobians, wide and tall."""

import dataclasses

import numpy as np
import pytest

import ikcourse as ik
from ikcourse import inverse

from .conftest import PageError

EPS = float(np.finfo(float).eps)
SHAPES = [(6, 7), (6, 2)]
SMALLEST = [0.3, 1e-2, 1e-4, 1e-6, 1e-9, 1e-13, 0.0]
DAMPINGS = [0.0, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.3]
EACH = 6


@pytest.fixture(params=SHAPES, ids=str)
def problems(request, rng, planted_problem):
    """J (B, m, n), e (B, m) and sigma (B, k): the smallest singular value from ordinary to none at all."""
    shape = request.param
    sigma = np.sort(rng.uniform(0.3, 2, (EACH * len(SMALLEST), min(shape))))[:, ::-1].copy()
    sigma[:, -1] = np.repeat(SMALLEST, EACH)
    return (*planted_problem(rng, shape, sigma), sigma)


def flat(jacobians, errors=None):
    """As a request carries them."""
    m, n = jacobians.shape[-2:]
    sent = {"jacobians": jacobians.reshape(-1, m * n).tolist(), "n": n}
    return sent if errors is None else sent | {"errors": errors.reshape(-1, m).tolist()}


def bound(sigma, errors, damping):
    """How far two sound solves of the same J may part: rounding of J, amplified as the damped inverse amplifies it.

    The route through J J^T + lambda^2 I has that matrix's condition number on top, and is taken only where rounding
    leaves three digits of lambda^2.
    """
    real = np.where(sigma > 10 * EPS * sigma[:, :1], sigma, np.inf).min(axis=1)
    seen = real**2 + damping**2
    first = EPS * sigma[:, 0] * np.linalg.norm(errors, axis=1) / seen
    wide = sigma.shape[1] == errors.shape[1]  # (6, 7), else (6, 2), whose J J^T is singular but for lambda^2
    by_solve = damping**2 > inverse.SOLVE_MARGIN * (7 if wide else 6) * EPS * (sigma**2).sum(axis=1)
    smallest = (sigma[:, -1] ** 2 if wide else 0) + damping**2
    condition = np.divide(sigma[:, 0] ** 2 + damping**2, smallest, out=np.ones(len(sigma)), where=by_solve)
    return 10 * first * np.maximum(condition, 10.0)


def assert_same(ours, theirs, tolerance):
    gap = np.linalg.norm(np.asarray(ours) - theirs, axis=1)
    worst = int(np.argmax(gap / tolerance))
    assert (gap <= tolerance).all(), f"problem {worst}: {gap[worst]:.3g} where {tolerance[worst]:.3g} is allowed"


# ----- the singular values


def test_the_singular_values_and_directions_are_those_of_the_matrix(ask, problems):
    J, _, planted = problems
    m, n = J.shape[1:]
    for one, expected, parts in zip(J, planted, ask("svd", m=m, **flat(J)), strict=True):
        sigma, left, right = (np.array(parts[key]) for key in ("sigma", "left", "right"))
        left, right = left.reshape(-1, m), right.reshape(-1, n)
        assert np.abs(sigma - np.linalg.svd(one)[1]).max() < 20 * EPS * sigma[0]
        assert np.abs(sigma - expected).max() < 20 * EPS * sigma[0]
        assert np.abs((left.T * sigma) @ right - one).max() < 20 * EPS * sigma[0]
        for directions in (left, right):
            assert np.abs(directions @ directions.T - np.eye(len(sigma))).max() < 50 * EPS


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((6, 7)),
        np.zeros((6, 2)),
        np.ones((6, 7)),
        np.ones((6, 2)),
        np.eye(6, 7),
        np.eye(6, 2)[::-1],
        np.diag(10.0 ** -np.arange(6)),
        np.array([[0.0, 0.0], [2.0, 1.0]]),
    ],
    ids=["zero", "zero tall", "rank one", "rank one tall", "axes", "axes tall", "graded", "planar arm at home"],
)
def test_the_singular_values_of_matrices_that_are_easy_to_get_wrong(ask, matrix):
    m, n = matrix.shape
    (parts,) = ask("svd", m=m, **flat(matrix[None]))
    sigma = np.array(parts["sigma"])
    assert np.abs(sigma - np.linalg.svd(matrix)[1]).max() <= 10 * EPS * sigma[0]
    left, right = np.reshape(parts["left"], (-1, m)), np.reshape(parts["right"], (-1, n))
    assert np.abs((left.T * sigma) @ right - matrix).max() <= 10 * EPS * sigma[0]
    short = left if m <= n else right
    assert np.abs(short @ short.T - np.eye(len(sigma))).max() < 50 * EPS, "complete even where sigma is zero"


def test_the_panda_near_its_singularities(ask, rng):
    """Straight elbow, wrist on the shoulder's axis, joints 1 and 3 collinear: sigma_min to the last digits."""
    arm = ik.panda()
    q = np.tile(arm.home, (40, 1))
    q[:, 3] = -(10.0 ** rng.uniform(-9, 0, 40)) - 0.0698
    q[:20, 5] = 10.0 ** rng.uniform(-9, 0, 20)
    J = ik.jacobians_at(arm, q)
    ours = np.array([parts["sigma"] for parts in ask("svd", m=6, **flat(J))])
    theirs = np.linalg.svd(J)[1]
    assert np.abs(ours - theirs).max() < 20 * EPS * theirs.max()


# ----- the laws


@pytest.mark.parametrize("damping", DAMPINGS)
def test_damped_least_squares(ask, problems, damping):
    J, e, sigma = problems
    ours = ask("answers", call="damped", parameters=[damping], **flat(J, e))
    # One by one, as the loop asks: a stack takes the SVD for all where one of them needs it.
    theirs = np.array([ik.damped(*one, damping) for one in zip(J, e, strict=True)])
    assert_same(ours, theirs, bound(sigma, e, damping))


@pytest.mark.parametrize("damping", DAMPINGS)
def test_the_face_by_singular_values(ask, problems, damping):
    J, e, sigma = problems
    ours = ask("answers", call="dampedSvd", parameters=[damping], **flat(J, e))
    assert_same(ours, ik.damped_svd(J, e, damping), bound(sigma, e, damping))


def test_a_damping_that_rounding_hides_is_left_to_the_singular_values(ask, rng, planted_problem):
    """With J singular and lambda^2 lost in J J^T the Cholesky factors answer with noise, or not at all."""
    sigma = np.array([[2.0, 1.5, 1.0, 0.7, 0.4, 0.0]] * 20)
    J, e = planted_problem(rng, (6, 7), sigma)
    for damping in (1e-9, 1e-8, 1e-7):
        by_solve = ask("answers", call="damped", parameters=[damping], **flat(J, e))
        by_svd = ask("answers", call="dampedSvd", parameters=[damping], **flat(J, e))
        assert np.isfinite(by_solve).all()
        assert by_solve == by_svd


@pytest.mark.parametrize("damping", [0.0, 1e-160, 1e-3])
def test_an_arm_that_cannot_move_at_all_is_left_at_rest(ask, damping):
    """Where lambda^2 underflows, e / lambda^2 would be infinite, and zero times infinity no answer."""
    for shape in SHAPES:
        J, e = np.zeros((1, *shape)), np.ones((1, 6))
        assert ask("answers", call="damped", parameters=[damping], **flat(J, e)) == [[0] * shape[1]]


def test_truncated(ask, problems):
    J, e, sigma = problems
    ours = ask("answers", call="truncated", parameters=[2e-2], **flat(J, e))
    # Between 0.3, which stays, and 0.01, which goes, the directions are told apart to rounding over their distance.
    assert_same(ours, ik.truncated(J, e, 2e-2), 100 * EPS * sigma[:, 0] * np.linalg.norm(e, axis=1) / 0.28**2)
    dropped = sigma[:, -1] == 1e-2
    assert np.linalg.norm(np.array(ours)[dropped] - ik.pseudo_inverse(J, e)[dropped], axis=1).min() > 1


def test_a_direction_at_the_threshold_is_dropped(ask):
    J = np.diag([1.0, 0.5])[None]
    request = flat(J, np.ones((1, 2)))
    assert ask("answers", call="truncated", parameters=[0.5], **request) == [[1, 0]]
    assert ask("answers", call="truncated", parameters=[0.499], **request) == [[1, 2]]


@pytest.mark.parametrize("gain", [None, 0.0, 0.7])
def test_transpose(ask, problems, gain):
    J, e, _ = problems
    ours = ask("answers", call="transpose", parameters=[gain], **flat(J, e))
    theirs = ik.transpose(J, e, gain)
    assert_same(ours, theirs, 50 * EPS * (1e-3 + np.linalg.norm(theirs, axis=1)))


def test_transpose_where_nothing_can_be_done_and_where_squares_vanish(ask):
    J = np.array([[[0.0, 0.0], [2.0, 1.0]]] * 2)
    e = np.array([[0.3, 0.0], [0.0, 1e-200]])
    nothing, tiny = ask("answers", call="transpose", parameters=[None], **flat(J, e))
    assert nothing == [0, 0]
    assert tiny == pytest.approx(ik.transpose(J, e)[1], rel=1e-14, abs=0)
    assert tiny[0] > 0


@pytest.mark.parametrize("dampings", [(0.05, 0.0), (0.05, 1e-3), (1e-2, 1e-2)])
def test_adaptive_damping(ask, problems, dampings):
    J, e, sigma = problems
    law = ik.AdaptiveDamping(0.05, *dampings)
    chosen = {"threshold": 0.05, "dampingMax": dampings[0], "dampingMin": dampings[1]}
    damping = ask("adaptiveDamping", m=J.shape[1], parameters=[0.05, *dampings], **flat(J))
    expected = ik.adaptive_damping(J, 0.05, *dampings)
    assert np.abs(damping - expected).max() < 20 * EPS
    if J.shape[1] > J.shape[2]:
        assert (expected == dampings[0]).all(), "fewer joints than rows: some direction is always missing"
    ours = ask("answers", call="adaptive", parameters=[chosen], **flat(J, e))
    assert_same(ours, law.answer(J, e), bound(sigma, e, expected))
    assert ask("law", kind="adaptive", parameters=chosen, **flat(J, e)) == ours


@pytest.mark.parametrize("damping", DAMPINGS)
def test_a_secondary_motion_in_the_null_space(ask, problems, damping, rng):
    J, e, sigma = problems
    z = rng.normal(size=J.shape[2])
    ours = ask("answers", call="dampedWithSecondary", parameters=[z.tolist(), damping], **flat(J, e))
    theirs = np.array([ik.damped_with_secondary(*one, z, damping) for one in zip(J, e, strict=True)])
    remaining = np.abs(e) + np.abs(J @ z)
    assert_same(ours, theirs, bound(sigma, remaining, damping))


# ----- the laws as the loop gets them


@dataclasses.dataclass
class Measured:
    jacobian: np.ndarray
    error: np.ndarray
    q: np.ndarray


@pytest.mark.parametrize("damping", [0.0, 1e-7, 1e-3, 1e-2])
@pytest.mark.parametrize("gain", [0.0, 0.5, 2.0])
def test_the_damped_law_of_the_loop_with_its_pull_towards_home(ask, rng, damping, gain):
    arm = ik.panda()
    q = arm.home + rng.normal(0, 0.4, 7)
    J = ik.jacobians_at(arm, arm.home + rng.normal(0, 0.4, (20, 7)))
    e = rng.normal(0, 0.2, (20, 6))
    step = ik.DampedLeastSquares(damping, gain).bind(arm)
    theirs = np.array([step(Measured(*one, q)) for one in zip(J, e, strict=True)])
    parameters = {"damping": damping, "nullspaceGain": gain}
    ours = ask("law", kind="damped", parameters=parameters, q=q.tolist(), home=arm.home.tolist(), **flat(J, e))
    remaining = np.abs(e) + gain * np.abs(J @ (arm.home - q))
    assert_same(ours, theirs, bound(np.linalg.svd(J)[1], remaining, damping))


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        ("damped", ik.DampedLeastSquares()),
        ("adaptive", ik.AdaptiveDamping()),
        ("truncated", ik.TruncatedSVD()),
        ("transpose", ik.Transpose()),
    ],
)
def test_without_parameters_a_law_is_the_one_of_the_course(ask, rng, kind, law):
    arm = ik.panda()
    J, e = ik.jacobians_at(arm, arm.home + rng.normal(0, 0.3, (5, 7))), rng.normal(0, 0.2, (5, 6))
    step = law.bind(arm)
    theirs = np.array([step(Measured(*one, arm.home)) for one in zip(J, e, strict=True)])
    ours = ask("law", kind=kind, **flat(J, e))
    assert np.abs(ours - theirs).max() < 1e-10 * np.abs(theirs).max()


@pytest.mark.parametrize(
    ("kind", "parameters", "said"),
    [
        ("newton", {}, 'no law "newton"; there are damped, adaptive, truncated, transpose'),
        ("toString", {}, "no law"),
        ("damped", {"threshold": 0.1}, '"damped" has no threshold; it has damping, nullspaceGain'),
        ("truncated", {"damping": 0.1}, '"truncated" has no damping'),
        ("damped", {"damping": -1e-3}, "damping must be finite and not negative; got -0.001"),
        ("damped", {"damping": None}, "damping must be finite"),
        ("damped", {"damping": "0.01"}, "damping must be finite"),
        ("damped", {"nullspaceGain": -1}, "nullspaceGain must be finite"),
        ("truncated", {"threshold": -1}, "threshold must be finite"),
        ("transpose", {"gain": -1}, "gain must be finite"),
        ("adaptive", {"threshold": 0}, "threshold must be positive"),
        ("adaptive", {"dampingMax": 0.01, "dampingMin": 0.02}, "dampingMin must not exceed dampingMax"),
    ],
)
def test_a_law_that_cannot_be_is_refused(ask, kind, parameters, said):
    with pytest.raises(PageError) as refused:
        ask("law", kind=kind, parameters=parameters, jacobians=[], errors=[], n=7)
    assert said in str(refused.value)

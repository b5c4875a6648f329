"""A law bound to an arm gives what its formula gives, quickly, and refuses parameters that mean nothing."""

import dataclasses
import math

import numpy as np
import pytest

import ikcourse as ik

from .models import SHUFFLED, from_xml

EPS = np.finfo(float).eps
DAMPINGS = (0.0, 1e-170, 1e-12, 1e-9, 1e-8, 1e-6, 1e-4, 1e-2, 0.1, 1.0, 1e3)


@pytest.fixture(scope="module")
def arm():
    return ik.panda()


def state(arm, jacobian, error, q=None):
    """What the loop would hand to a law."""
    return ik.State(
        q=arm.home if q is None else q,
        qd=np.zeros(arm.n),
        position=np.zeros(3),
        quaternion=np.array([1.0, 0, 0, 0]),
        jacobian=jacobian,
        error=error,
        target_position=np.zeros(3),
        target_quaternion=np.array([1.0, 0, 0, 0]),
        target_twist=np.zeros(6),
        data=arm.data(),
    )


def random_problems(count=30, n=7, smallest=(1e-1, 1e-4, 1e-9, 0.0)):
    """Random J with planted smallest singular values, and e: what an arm meets in the open and at a singularity."""
    rng = np.random.default_rng(40)
    for k in range(count):
        u, _ = np.linalg.qr(rng.normal(size=(6, 6)))
        v, _ = np.linalg.qr(rng.normal(size=(n, n)))
        sigma = np.sort(rng.uniform(0.3, 2, min(6, n)))[::-1]
        sigma[-1] = smallest[k % len(smallest)]
        rank = len(sigma)
        yield u[:, :rank] * sigma @ v[:, :rank].T, rng.normal(size=6), rng.uniform(-2, 2, n)


def least_squares(jacobian, error, damping):
    """argmin ||J x - e||^2 + lambda^2 ||x||^2 from the stacked problem [J; lambda I] x = [e; 0], by NumPy's `lstsq`."""
    n = jacobian.shape[1]
    stacked = np.concatenate([jacobian, damping * np.eye(n)])
    return np.linalg.lstsq(stacked, np.concatenate([error, np.zeros(n)]), rcond=max(jacobian.shape) * EPS)[0]


@pytest.mark.parametrize("damping", DAMPINGS)
def test_damped_least_squares_is_the_formula(arm, damping):
    step = ik.DampedLeastSquares(damping).bind(arm)
    for jacobian, error, _ in random_problems():
        qdot = step(state(arm, jacobian, error))
        formula = ik.damped(jacobian, error, damping)
        if damping**2 <= 7 * EPS * np.sum(jacobian**2):
            assert np.array_equal(qdot, formula), "below the rounding of J J^T both take the SVD"
            continue
        # Both solve J J^T + lambda^2 I.
        tolerance = 20 * EPS * np.linalg.cond(jacobian @ jacobian.T + damping**2 * np.eye(6)) * np.linalg.norm(formula)
        assert np.linalg.norm(qdot - formula) <= tolerance
        # The break: lambda not squared.
        if 1e-4 <= damping < 1:
            assert np.linalg.norm(ik.damped(jacobian, error, math.sqrt(damping)) - formula) > 10 * tolerance


@pytest.mark.parametrize("damping", [0.1, 1.0, 30.0])
def test_damped_least_squares_is_the_least_squares_answer(arm, damping):
    step = ik.DampedLeastSquares(damping).bind(arm)
    for jacobian, error, _ in random_problems():
        reference = least_squares(jacobian, error, damping)
        assert np.linalg.norm(step(state(arm, jacobian, error)) - reference) <= 1e-12 * np.linalg.norm(reference)


def test_without_damping_it_is_the_pseudo_inverse_also_where_j_is_singular(arm):
    step, pseudo = ik.DampedLeastSquares(0.0).bind(arm), ik.PseudoInverse().bind(arm)
    for jacobian, error, _ in random_problems(smallest=(0.3, 0.0)):
        reference = np.linalg.pinv(jacobian, rcond=7 * EPS) @ error
        for law in (step, pseudo):
            assert np.linalg.norm(law(state(arm, jacobian, error)) - reference) <= 1e-12 * np.linalg.norm(reference)


@pytest.mark.parametrize("damping", [0.0, 1e-170, 1e-9, 1e-6, 1e-2])
def test_a_jacobian_of_zeros_moves_nothing(arm, damping):
    assert not ik.DampedLeastSquares(damping).bind(arm)(state(arm, np.zeros((6, 7)), np.ones(6))).any()


@pytest.mark.parametrize("gain", [0.3, 5.0])
@pytest.mark.parametrize("damping", [0.0, 1e-9, 1e-4, 1e-2, 1.0])
def test_with_a_posture_it_is_damped_with_secondary(arm, damping, gain):
    step = ik.DampedLeastSquares(damping, gain).bind(arm)
    for jacobian, error, q in random_problems(smallest=(0.3, 1e-2)):
        qdot = step(state(arm, jacobian, error, q))
        posture = gain * (arm.home - q)
        formula = ik.damped_with_secondary(jacobian, error, posture, damping)
        gram = jacobian @ jacobian.T + damping**2 * np.eye(6)
        scale = np.linalg.norm(posture) + np.linalg.norm(formula)
        assert np.linalg.norm(qdot - formula) <= 20 * EPS * np.linalg.cond(gram) * scale
        if damping == 0:
            # Exactly in the null space: the task is met whatever the posture wants.
            assert np.linalg.norm(jacobian @ qdot - error) < 1e-11 * np.linalg.norm(posture)
        # The break: the posture's pull away from home instead of towards it.
        mirrored = ik.damped_with_secondary(jacobian, error, -posture, damping)
        assert np.linalg.norm(mirrored - formula) > 1e-3 * np.linalg.norm(posture)


def test_a_posture_pulls_towards_home(arm):
    q = arm.home + np.array([0.3, -0.2, 0.1, 0.2, 0, 0.1, -0.4])
    jacobian = ik.site_jacobian(arm, arm.data(q))
    qdot = ik.DampedLeastSquares(1e-2, 2.0).bind(arm)(state(arm, jacobian, np.zeros(6), q))
    assert qdot @ (arm.home - q) > 0


@pytest.mark.parametrize(
    ("law", "formula"),
    [
        (ik.PseudoInverse(), ik.pseudo_inverse),
        (ik.Transpose(), ik.transpose),
        (ik.Transpose(0.3), lambda J, e: ik.transpose(J, e, 0.3)),
        (ik.TruncatedSVD(0.05), lambda J, e: ik.truncated(J, e, 0.05)),
        (
            ik.AdaptiveDamping(0.2, 0.1, 0.01),
            lambda J, e: ik.damped_svd(J, e, ik.adaptive_damping(J, 0.2, 0.1, 0.01)),
        ),
        (ik.SelectivelyDamped(0.4), lambda J, e: ik.selectively_damped(J, e, 0.4)),
    ],
)
def test_every_law_is_the_formula_of_its_name(arm, law, formula):
    step = law.bind(arm)
    for jacobian, error, q in random_problems():
        assert np.array_equal(step(state(arm, jacobian, error, q)), formula(jacobian, error))


def test_laws_differ_near_a_singularity(arm):
    laws = [
        ik.DampedLeastSquares(0.05), ik.PseudoInverse(), ik.Transpose(), ik.TruncatedSVD(0.05),
        ik.AdaptiveDamping(0.2, 0.1, 0.01), ik.SelectivelyDamped(),
    ]  # fmt: skip
    jacobian, error, _ = next(random_problems(smallest=(1e-3,)))
    answers = [law.bind(arm)(state(arm, jacobian, error)) for law in laws]
    for i, one in enumerate(answers):
        for other in answers[i + 1 :]:
            assert np.linalg.norm(one - other) > 1e-2


@pytest.mark.parametrize(
    "law",
    [
        ik.DampedLeastSquares(0.1),
        ik.DampedLeastSquares(0.1, 1.0),
        ik.DampedLeastSquares(1e-9),
        ik.DampedLeastSquares(0.0),
        ik.PseudoInverse(),
        ik.Transpose(),
        ik.TruncatedSVD(),
        ik.AdaptiveDamping(),
        ik.SelectivelyDamped(),
    ],
)
def test_laws_leave_the_state_as_it_is_and_serve_an_arm_of_three_joints(law):
    arm = from_xml(SHUFFLED, home="bent")
    step = law.bind(arm)
    for jacobian, error, q in random_problems(8, n=3, smallest=(0.3, 1e-3)):
        given = state(arm, jacobian.copy(), error.copy(), q.copy())
        qdot = step(given)
        assert qdot.shape == (3,)
        assert np.isfinite(qdot).all()
        assert np.array_equal(given.jacobian, jacobian)
        assert np.array_equal(given.error, error)
        assert np.array_equal(given.q, q)


def test_an_arm_of_three_joints_gets_the_least_squares_answer():
    arm = from_xml(SHUFFLED)
    for damping in (0.1, 1.0):
        step = ik.DampedLeastSquares(damping).bind(arm)
        for jacobian, error, _ in random_problems(8, n=3, smallest=(0.3, 1e-3)):
            reference = least_squares(jacobian, error, damping)
            assert np.linalg.norm(step(state(arm, jacobian, error)) - reference) <= 1e-11 * np.linalg.norm(reference)


def test_a_law_is_its_parameters_and_cannot_change():
    law = ik.DampedLeastSquares(damping=0.3)
    assert law == ik.DampedLeastSquares(0.3, 0.0)
    assert hash(law) == hash(ik.DampedLeastSquares(0.3))
    assert repr(law) == "DampedLeastSquares(damping=0.3, nullspace_gain=0.0, secondary=())"
    with pytest.raises(dataclasses.FrozenInstanceError):
        law.damping = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ik.DampedLeastSquares(-1e-3), "damping"),
        (lambda: ik.DampedLeastSquares(math.nan), "damping"),
        (lambda: ik.DampedLeastSquares(math.inf), "damping"),
        (lambda: ik.DampedLeastSquares(1e-2, -1.0), "nullspace_gain"),
        (lambda: ik.DampedLeastSquares(1e-2, math.nan), "nullspace_gain"),
        (lambda: ik.Transpose(-0.1), "gain"),
        (lambda: ik.Transpose(math.inf), "gain"),
        (lambda: ik.TruncatedSVD(-0.1), "threshold"),
        (lambda: ik.TruncatedSVD(math.nan), "threshold"),
        (lambda: ik.AdaptiveDamping(threshold=0.0), "threshold"),
        (lambda: ik.AdaptiveDamping(threshold=-1.0), "threshold"),
        (lambda: ik.AdaptiveDamping(damping_max=0.1, damping_min=0.2), "damping_min <= damping_max"),
        (lambda: ik.AdaptiveDamping(damping_min=-0.1), "damping_min"),
        (lambda: ik.AdaptiveDamping(damping_max=math.inf), "damping_max"),
        (lambda: ik.AdaptiveDamping(damping_max=math.nan), "damping_max"),
        (lambda: ik.SelectivelyDamped(0.0), "gamma_max"),
        (lambda: ik.SelectivelyDamped(-1.0), "gamma_max"),
        (lambda: ik.SelectivelyDamped(math.nan), "gamma_max"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ----- the speed bound


@pytest.mark.parametrize("limit", [0.5, np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])])
def test_a_speed_bound_keeps_the_direction(limit):
    rng = np.random.default_rng(41)
    for scale in (1e-3, 1.0, 1e6):
        qdot = scale * rng.normal(size=7)
        bounded = ik.scale_to_speed_limit(qdot, limit)
        assert (np.abs(bounded) <= np.asarray(limit) * (1 + 2 * EPS)).all()
        direction = qdot / np.linalg.norm(qdot)
        assert np.linalg.norm(bounded - direction * (direction @ bounded)) <= 4 * EPS * np.linalg.norm(bounded)
        assert direction @ bounded > 0
        # The break: a clip holds the bound and turns the motion.
        clipped = np.clip(qdot, -np.asarray(limit), np.asarray(limit))
        if scale > 1e-2:
            assert np.linalg.norm(clipped - direction * (direction @ clipped)) > 0.05 * np.linalg.norm(clipped)


def test_one_joint_at_least_is_at_the_bound_when_it_bites():
    limit = np.array([1.0, 2.0, 4.0])
    bounded = ik.scale_to_speed_limit(np.array([1.5, 5.0, 2.0]), limit)
    assert np.max(np.abs(bounded) / limit) == pytest.approx(1, rel=1e-15)
    np.testing.assert_allclose(bounded, [0.6, 2.0, 0.8], rtol=1e-15)


def test_a_speed_within_the_bound_is_left_alone():
    qdot = np.array([0.3, -1.0, 0.0])
    assert np.array_equal(ik.scale_to_speed_limit(qdot, 1.0), qdot)
    assert np.array_equal(ik.scale_to_speed_limit(np.zeros(3), 1.0), np.zeros(3))

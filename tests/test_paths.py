"""Target paths: what they promise about distance, shape and derivatives, measured on the arrays themselves."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import ikcourse as ik

from .models import SHUFFLED, from_xml, quaternion_of


@pytest.fixture(scope="module")
def arm():
    return ik.panda()


def home_pose(arm):
    return ik.site_pose(arm, arm.data())


def check_derivatives(path, twist_bound, acceleration_bound):
    """Twists and accelerations against second-order differences of the positions."""
    dt = path.times[1] - path.times[0]
    velocity = (path.positions[2:] - path.positions[:-2]) / (2 * dt)
    acceleration = (path.positions[2:] - 2 * path.positions[1:-1] + path.positions[:-2]) / dt**2
    assert np.abs(path.twists[1:-1, :3] - velocity).max() < twist_bound
    assert np.abs(path.accelerations[1:-1, :3] - acceleration).max() < acceleration_bound


@pytest.mark.parametrize("reach", [0.30, 0.70, 0.90])
def test_reach_and_return_reaches_exactly_the_reach_and_returns(arm, reach):
    path = ik.reach_and_return(arm, reach)
    home, quaternion = home_pose(arm)
    shoulder = np.array([0, 0, 0.333])
    distance = np.linalg.norm(path.positions - shoulder, axis=1)
    home_distance = np.linalg.norm(home - shoulder)
    farthest = np.argmax(np.abs(distance - home_distance))
    assert path.times[farthest] == pytest.approx(3.0, abs=1e-9)
    assert distance[farthest] == pytest.approx(reach, abs=1e-14)
    assert np.abs(path.positions[0] - home).max() < 1e-15
    assert np.linalg.norm(path.positions[-1] - home) < 1e-6, "the last step starts one time step before the return"
    assert np.array_equal(path.quaternions, np.tile(path.quaternions[0], (3000, 1)))
    np.testing.assert_allclose(path.quaternions[0], quaternion, rtol=0, atol=1e-15)
    # Every target is on the ray.
    along = (home - shoulder) / home_distance
    assert np.abs(np.cross(path.positions - shoulder, along)).max() < 1e-15


def test_reach_follows_the_raised_cosine(arm):
    """Step k is at time k * 0.002: one step later the study's counts of clipped steps are others."""
    path = ik.reach_and_return(arm, 0.70)
    home, _ = home_pose(arm)
    start = np.linalg.norm(home - [0, 0, 0.333])
    distance = np.linalg.norm(path.positions - [0, 0, 0.333], axis=1)
    times = np.arange(3000) * 0.002
    expected = start + (0.70 - start) * np.sin(np.pi * times / 6) ** 2
    assert np.abs(path.times - times).max() == 0
    assert np.abs(distance - expected).max() < 1e-14
    assert np.abs(distance[:-1] - expected[1:]).max() > 1e-5


def test_reach_has_the_twists_and_accelerations_of_its_positions(arm):
    path = ik.reach_and_return(arm, 0.70)
    check_derivatives(path, 1e-7, 1e-6)
    assert np.abs(path.twists[0]).max() == 0
    assert np.abs(path.twists[:, 3:]).max() == 0
    assert np.abs(path.accelerations[:, 3:]).max() == 0
    assert np.abs(path.accelerations[:, :3]).max() > 0.03, "a bound of 1e-6 is far below what it bounds"


def test_after_the_reach_the_target_rests_at_home(arm):
    path, bare = ik.reach_and_return(arm, 0.74, rest=2.0), ik.reach_and_return(arm, 0.74)
    assert len(path.times) == 4000
    for name in ("times", "positions", "quaternions", "twists", "accelerations"):
        assert np.array_equal(getattr(path, name)[:3000], getattr(bare, name)), "the reach itself is another"
    assert np.array_equal(path.positions[3000:], np.tile(path.positions[0], (1000, 1)))
    assert np.array_equal(path.quaternions[3000:], np.tile(path.quaternions[0], (1000, 1)))
    assert not path.twists[3000:].any()
    assert not path.accelerations[3000:].any()
    assert path.accelerations[2999].any(), "it comes back with the acceleration that it left with"
    # A duration that is no multiple of the time step moves as long as it does without a rest.
    uneven = [ik.reach_and_return(arm, 0.74, duration=0.0251, rest=rest) for rest in (0.0, 0.01)]
    assert np.array_equal(uneven[1].positions[: len(uneven[0].times)], uneven[0].positions)
    assert not uneven[1].twists[len(uneven[0].times) :].any()


def test_reach_lasts_as_long_as_asked_and_starts_from_another_origin(arm):
    path = ik.reach_and_return(arm, 0.5, duration=1.5, origin=np.zeros(3))
    assert len(path.times) == 750
    assert np.linalg.norm(path.positions[375]) == pytest.approx(0.5, abs=1e-14)
    check_derivatives(path, 1e-5, 1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reach": 0.0}, "reach"),
        ({"reach": -0.7}, "reach"),
        ({"reach": np.nan}, "reach"),
        ({"reach": np.inf}, "reach"),
        ({"duration": 0.0}, "duration"),
        ({"duration": -6.0}, "duration"),
        ({"duration": 0.001}, "duration"),
        ({"duration": np.nan}, "duration"),
        ({"origin": np.array([0, np.nan, 0])}, "finite"),
        ({"rest": -0.1}, "rest"),
        ({"rest": np.inf}, "rest"),
        ({"duration": 0.0, "rest": 2.0}, "duration"),
    ],
)
def test_a_reach_that_makes_no_sense_is_refused(arm, arguments, message):
    with pytest.raises(ValueError, match=message):
        ik.reach_and_return(arm, **arguments)


def test_a_reach_without_a_direction_is_refused(arm):
    with pytest.raises(ValueError, match="no direction"):
        ik.reach_and_return(arm, origin=home_pose(arm)[0])


@pytest.mark.parametrize("normal", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, -2, 3), (100, 0, 1)])
def test_circle_is_a_circle_about_its_normal_that_starts_at_home(arm, normal):
    path = ik.circle(arm, radius=0.12, frequency=0.5, duration=4, normal=normal)
    home, _ = home_pose(arm)
    axis = np.array(normal) / np.linalg.norm(normal)
    assert np.abs(path.positions[0] - home).max() < 1e-15
    assert np.abs((path.positions - home) @ axis).max() < 1e-15
    centre = path.positions[:1000].mean(axis=0)  # one whole turn
    np.testing.assert_allclose(np.linalg.norm(path.positions - centre, axis=1), 0.12, rtol=0, atol=1e-14)
    assert np.linalg.norm(path.positions[1000] - home) < 1e-14
    np.testing.assert_allclose(np.linalg.norm(path.twists[:, :3], axis=1), 0.12 * np.pi, rtol=1e-13)
    turning = np.cross(path.positions - centre, path.twists[:, :3]) @ axis
    assert (turning > 0).all(), "it turns about the normal by the right-hand rule"
    check_derivatives(path, 1e-5, 1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"radius": 0.0}, "radius"),
        ({"radius": -0.1}, "radius"),
        ({"radius": np.nan}, "radius"),
        ({"frequency": 0.0}, "frequency"),
        ({"frequency": np.inf}, "frequency"),
        ({"duration": 0.0}, "duration"),
        ({"normal": (0, 0, 0)}, "normal"),
        ({"normal": (0, 1)}, "normal"),
        ({"normal": (0, np.nan, 1)}, "normal"),
    ],
)
def test_a_circle_that_makes_no_sense_is_refused(arm, arguments, message):
    with pytest.raises(ValueError, match=message):
        ik.circle(arm, **arguments)


def test_the_wide_loop_is_its_formula_from_home_to_home(arm):
    path = ik.wide_loop(arm)
    home, quaternion = home_pose(arm)
    assert path.times.shape == (4500,)
    u = np.minimum(path.times / 8, 1)
    theta = 4 * np.pi * (u - np.sin(2 * np.pi * u) / (2 * np.pi))
    x, y, z = (path.positions - home).T
    np.testing.assert_allclose(x, 0.208 * (np.cos(theta) - 1), rtol=0, atol=1e-13)
    np.testing.assert_allclose(y, -0.345 * np.sin(theta), rtol=0, atol=1e-13)
    np.testing.assert_allclose(z, 0.114 * (1 - np.cos(theta)) / 2, rtol=0, atol=1e-13)
    assert np.abs(path.positions[4000:] - home).max() < 1e-15
    assert np.abs(path.quaternions - quaternion).max() < 1e-15
    assert np.abs(path.twists[0]).max() == 0
    assert np.abs(path.twists[4000:]).max() < 1e-15
    check_derivatives(path, 1e-4, 1e-3)
    finer = from_timestep(2e-4)
    check_derivatives(ik.wide_loop(finer), 1e-6, 1e-4)
    assert np.abs(path.accelerations[:, :3]).max() > 2


def from_timestep(timestep):
    """The Panda with another time step."""
    arm = ik.panda()
    arm.model.opt.timestep = timestep
    return arm


def test_the_wide_loop_can_have_another_size_and_pace(arm):
    path = ik.wide_loop(arm, duration=2.0, rest=0.0, size=(0.1, 0.0, -0.2))
    home, _ = home_pose(arm)
    assert path.times.shape == (1000,)
    np.testing.assert_allclose((path.positions - home).min(axis=0), [-0.2, 0, -0.2], atol=1e-5)
    check_derivatives(path, 1e-2, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"duration": 0.0}, "duration"),
        ({"duration": np.nan}, "duration"),
        ({"rest": -1.0}, "rest"),
        ({"rest": np.inf}, "rest"),
        ({"size": (0.1, np.nan, 0.1)}, "size"),
    ],
)
def test_a_wide_loop_that_makes_no_sense_is_refused(arm, arguments, message):
    with pytest.raises(ValueError, match=message):
        ik.wide_loop(arm, **arguments)


def test_hold_holds_home(arm):
    path = ik.hold(arm, 0.5)
    home, quaternion = home_pose(arm)
    assert path.times.shape == (250,)
    assert np.array_equal(path.positions, np.tile(home, (250, 1)))
    np.testing.assert_allclose(path.quaternions, np.tile(quaternion, (250, 1)), rtol=0, atol=1e-15)
    assert not path.twists.any()
    assert not path.accelerations.any()


def test_paths_take_their_time_step_from_the_model():
    arm = from_xml(SHUFFLED)
    arm.model.opt.timestep = 0.01
    for path in (ik.hold(arm, 1.0), ik.circle(arm, duration=1.0), ik.reach_and_return(arm, duration=1.0)):
        assert len(path.times) == 100
        assert path.times[1] - path.times[0] == pytest.approx(0.01)


# ----- recordings


def turning(steps=200, dt=0.01):
    """A target that turns at a constant rate about a skew axis from a turned start, and moves along a parabola."""
    times = np.arange(steps) * dt
    omega = np.array([0.4, -1.1, 0.7])
    start = Rotation.from_rotvec([0.3, 2.0, -1.0])
    rotations = Rotation.from_rotvec(np.outer(times, omega)) * start
    positions = np.outer(times**2, [1, -2, 0.5]) + np.outer(times, [0.2, 0, 1])
    return times, positions, quaternion_of(rotations), omega


def test_a_recording_has_the_twist_of_what_was_recorded():
    times, positions, quaternions, omega = turning()
    path = ik.recorded(times, positions, quaternions)
    inside = slice(1, -1)
    velocity = np.outer(2 * times, [1, -2, 0.5]) + [0.2, 0, 1]
    assert np.abs(path.twists[inside, :3] - velocity[inside]).max() < 1e-12
    assert np.abs(path.twists[:, 3:] - omega).max() < 1e-12
    assert np.abs(path.accelerations[2:-2, :3] - [2, -4, 1]).max() < 1e-10
    assert np.abs(path.accelerations[:, 3:]).max() < 1e-10
    # The break: the rate in the target's own axes is another vector, since the start is turned.
    own_axes = Rotation.from_quat(quaternions[50], scalar_first=True).inv().apply(omega)
    assert np.abs(own_axes - omega).max() > 0.1


def test_a_recording_that_speeds_up_has_its_angular_acceleration():
    times = np.arange(400) * 0.005
    rotations = Rotation.from_rotvec(np.outer(times**2, [0.3, 0, 0.4])) * Rotation.from_rotvec([0, 1, 0])
    path = ik.recorded(times, np.zeros((400, 3)), quaternion_of(rotations))
    assert np.abs(path.twists[1:-1, 3:] - np.outer(2 * times, [0.3, 0, 0.4])[1:-1]).max() < 1e-10
    assert np.abs(path.accelerations[2:-2, 3:] - [0.6, 0, 0.8]).max() < 1e-8


def test_flips_of_the_quaternions_sign_do_not_disturb_a_recording():
    times, positions, quaternions, _ = turning()
    signs = np.where(np.random.default_rng(30).random(len(times)) < 0.5, -1.0, 1.0)
    steady, flipped = (ik.recorded(times, positions, q) for q in (quaternions, quaternions * signs[:, None]))
    assert np.array_equal(steady.twists, flipped.twists)
    assert np.array_equal(steady.accelerations, flipped.accelerations)
    # The break: subtracting the quaternions sees every flip as a jump.
    assert np.abs(np.diff(quaternions * signs[:, None], axis=0)).max() > 1


def test_a_recording_is_unit_quaternions():
    times, positions, quaternions, _ = turning()
    path = ik.recorded(times, positions, quaternions * 1.0005)
    assert np.abs(np.linalg.norm(path.quaternions, axis=1) - 1).max() < 1e-15


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t, p, q: (t[:2], p[:2], q[:2]), "three"),
        (lambda t, p, q: (t[:, None], p, q), "three poses"),
        (lambda t, p, q: (t, p[:-1], q), "need positions"),
        (lambda t, p, q: (t, p[:, :2], q), "need positions"),
        (lambda t, p, q: (t, p, q[:-1]), "need positions"),
        (lambda t, p, q: (t, p, q[:, :3]), "4"),
        (lambda t, p, q: (t, p, q * 1.01), "norm"),
        (lambda t, p, q: (t, p, q * np.nan), "finite"),
        (lambda t, p, q: (t, p * np.nan, q), "finite"),
        (lambda t, p, q: (t**1.5, p, q), "equal steps"),
        (lambda t, p, q: (-t, p, q), "equal steps"),
        (lambda t, p, q: (t * 0, p, q), "equal steps"),
    ],
)
def test_a_recording_that_does_not_fit_is_refused(spoil, message):
    times, positions, quaternions, _ = turning()
    with pytest.raises(ValueError, match=message):
        ik.recorded(*spoil(times, positions, quaternions))


# ----- a path made by hand


def parts(steps=4):
    return {
        "times": np.arange(steps) * 0.002,
        "positions": np.zeros((steps, 3)),
        "quaternions": np.tile([1.0, 0, 0, 0], (steps, 1)),
        "twists": np.zeros((steps, 6)),
        "accelerations": np.zeros((steps, 6)),
    }


def test_a_path_can_be_made_by_hand_and_normalises_its_quaternions():
    given = parts() | {"quaternions": np.tile([1.0005, 0, 0, 0], (4, 1))}
    path = ik.Path(**given)
    assert np.array_equal(path.quaternions, parts()["quaternions"])
    assert given["quaternions"][0, 0] == 1.0005, "what was given stays as it was"
    assert len(ik.Path(**parts(1)).times) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"positions": np.zeros((3, 3))}, r"positions must have shape \(4, 3\)"),
        ({"twists": np.zeros((4, 3))}, r"twists must have shape \(4, 6\)"),
        ({"accelerations": np.full((4, 6), np.inf)}, "accelerations must be finite"),
        ({"positions": np.full((4, 3), np.nan)}, "positions must be finite"),
        ({"quaternions": np.zeros((4, 4))}, "norm"),
        ({"times": np.array([0, 1, 3, 4.0])}, "equal steps"),
        ({"times": np.zeros(4)}, "equal steps"),
        ({"times": np.array([0, 0.002, np.nan, 0.006])}, "times"),
        ({"times": np.zeros((4, 1))}, "at least one time"),
    ],
)
def test_a_path_that_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        ik.Path(**(parts() | change))


@pytest.mark.parametrize("times", [[0, np.inf], [np.nan, 1]])
def test_times_must_be_finite(times):
    with pytest.raises(ValueError, match="times"):
        ik.Path(**(parts(2) | {"times": np.array(times)}))


def test_the_time_of_a_single_pose_must_be_finite():
    with pytest.raises(ValueError, match="times"):
        ik.Path(**(parts(1) | {"times": np.array([np.nan])}))


def test_a_path_of_no_step_is_refused():
    with pytest.raises(ValueError, match="at least one time"):
        ik.Path(**parts(0))

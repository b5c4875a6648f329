"""Where a reach ended: by the side of the straight elbow and by rest, and undecided with a reason where neither."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize

import ikcourse as ik
from ikcourse.studies import ends, outcome
from ikcourse.studies.ends import End, EndState, Reason

ARM = ik.panda()
STRAIGHT = ends.straight_elbow(ARM)
HERE, RESTS = np.zeros(6), 0.0


def bent(elbow, wrist=0.0):
    """Home, but for the elbow's angle and a turn of joint 7 [rad]."""
    q = ARM.home.copy()
    q[3] = elbow
    q[6] += wrist
    return q


def off(position=0.0, turned=0.0):
    """A pose error of these lengths [m] and [rad], neither along an axis."""
    return np.concatenate([position * np.array([0.6, 0, -0.8]), turned * np.array([0, 0.8, 0.6])])


# ----- the straight elbow


def reach_of_elbow(arm, q4):
    """Distance from the shoulder to the wrist, where the axes of joints 5 and 6 meet [m]."""
    data = arm.data(bent(q4))
    return np.linalg.norm(data.body("link5").xpos - data.body("link2").xpos)


def test_the_straight_elbow_is_where_shoulder_and_wrist_are_farthest_apart():
    assert pytest.approx(-0.4670, abs=5e-5) == STRAIGHT
    assert pytest.approx(-(np.arctan(0.0825 / 0.316) + np.arctan(0.0825 / 0.384)), abs=1e-15) == STRAIGHT
    # A parabola through three points around it has its top there.
    step = 1e-3
    near = [reach_of_elbow(ARM, STRAIGHT + k * step) for k in (-1, 0, 1)]
    top = 0.5 * step * (near[0] - near[2]) / (near[0] - 2 * near[1] + near[2])
    assert abs(top) < 1e-6
    assert near[1] > max(near[0], near[2])
    assert max(reach_of_elbow(ARM, q4) for q4 in np.linspace(ARM.lower[3], ARM.upper[3], 500)) < near[1] + 1e-9


def test_an_arm_without_that_elbow_is_refused_with_the_joints_that_it_has():
    planar = ik.planar2()
    for ask in (ends.straight_elbow, ends.elbow_of, ends.farthest_reach):
        with pytest.raises(ValueError, match=rf"joint4; this arm has .*{planar.joint_names[-1]}"):
            ask(planar)


# ----- the farthest reach


def missing(x):
    """The pose error of joints x[:7] at the distance x[7] along the ray of the reach, by MuJoCo's kinematics."""
    shoulder, (home, quaternion) = ARM.data().xanchor[ARM.joints[0]], ik.site_pose(ARM, ARM.data())
    ray = (home - shoulder) / np.linalg.norm(home - shoulder)
    return ik.pose_error(shoulder + x[7] * ray, quaternion, *ik.site_pose(ARM, ARM.data(x[:7])))


def test_the_farthest_reach_is_the_farthest_pose_that_an_optimiser_finds():
    farthest, rng = ends.farthest_reach(ARM), np.random.default_rng(0)
    assert farthest == pytest.approx(0.69907, abs=5e-6)
    for _ in range(2):
        start = np.clip(ARM.home + rng.normal(0, 0.5, 7), ARM.lower, ARM.upper)
        found = minimize(
            lambda x: -x[7],
            np.append(start, 0.6),
            jac=lambda x: -np.eye(8)[7],
            constraints={"type": "eq", "fun": missing},
            bounds=[*zip(ARM.lower, ARM.upper, strict=True), (0, 2)],
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        )
        assert np.abs(missing(found.x)).max() < 1e-9
        assert found.x[7] == pytest.approx(farthest, abs=1e-9)
        assert found.x[3] == pytest.approx(STRAIGHT, abs=1e-4), "there the elbow is straight"


def test_the_poses_end_within_a_tenth_of_a_millimetre_of_the_farthest_reach():
    def nearest(distance):
        near = [0, 0.67, 0, -0.5, 0, 1.13, -0.785]
        tight = dict.fromkeys(("ftol", "xtol", "gtol"), 1e-15)
        return least_squares(lambda q: missing(np.append(q, distance)), near, **tight).fun

    farthest = ends.farthest_reach(ARM)
    assert np.linalg.norm(nearest(farthest - 1e-4)) < 1e-7
    assert np.linalg.norm(nearest(farthest + 1e-4)) > 1e-5


# ----- the rule


@pytest.mark.parametrize(
    ("q", "speed", "error", "end"),
    [
        (bent(-1.57), RESTS, HERE, End(EndState.HEALTHY)),
        (bent(-1.57), RESTS, off(0.099), End(EndState.HEALTHY)),  # lag is a number, not a state
        (bent(-1.57), 0.2, off(0.05), End(EndState.HEALTHY)),  # and so is an arm that still follows
        (bent(-1.57), RESTS, off(0, 0.49), End(EndState.HEALTHY)),
        (bent(-1.57, 0.79), RESTS, HERE, End(EndState.HEALTHY)),
        (bent(-0.10), RESTS, off(0.43), End(EndState.COLLAPSED)),
        (bent(-0.10), RESTS, HERE, End(EndState.COLLAPSED)),  # past straight is past straight, wherever the tool
        (bent(-0.10), 0.029, off(0.43), End(EndState.COLLAPSED)),
        (bent(-0.10), 0.031, off(0.43), End(EndState.UNDECIDED, Reason.MOVING)),
        (bent(STRAIGHT), RESTS, HERE, End(EndState.UNDECIDED, Reason.STRAIGHT)),
        (bent(STRAIGHT + 0.099), RESTS, off(0.43), End(EndState.UNDECIDED, Reason.STRAIGHT)),
        (bent(STRAIGHT - 0.099), RESTS, off(0.01), End(EndState.UNDECIDED, Reason.STRAIGHT)),
        (bent(STRAIGHT), 0.031, off(0.43), End(EndState.UNDECIDED, Reason.MOVING)),
        (bent(-1.57), RESTS, off(0.101), End(EndState.UNDECIDED, Reason.STALLED)),
        (bent(-1.57), RESTS, off(0, 0.51), End(EndState.UNDECIDED, Reason.STALLED)),
        (bent(-1.57), 0.031, off(0.101), End(EndState.UNDECIDED, Reason.MOVING)),
        (bent(-1.57, 0.81), RESTS, HERE, End(EndState.UNDECIDED, Reason.SWIVELLED)),
        (bent(-1.57, 2.5), 0.2, HERE, End(EndState.UNDECIDED, Reason.SWIVELLED)),
    ],
)
def test_an_end_is_told_by_mechanism_and_never_forced(q, speed, error, end):
    assert ends.decide(ARM, q, speed, error) == end


def test_the_edges_belong_to_the_side_that_the_rule_names():
    at_rest, cut = ends.REST_SPEED, np.array([ends.HOME_ERROR[0], 0, 0, 0, 0, 0])
    assert ends.decide(ARM, bent(-0.1), at_rest, off(0.43)).reason is Reason.MOVING
    assert ends.decide(ARM, bent(-0.1), np.nextafter(at_rest, 0), off(0.43)).state is EndState.COLLAPSED
    assert ends.decide(ARM, ARM.home, RESTS, cut).reason is Reason.STALLED
    assert ends.decide(ARM, ARM.home, RESTS, np.roll(cut, 3) * 5).reason is Reason.STALLED
    assert ends.decide(ARM, ARM.home, RESTS, np.nextafter(cut, 0)).state is EndState.HEALTHY
    for gap, state in ((-1e-9, EndState.HEALTHY), (1e-9, EndState.UNDECIDED)):
        away = ARM.home + np.array([0, 0, 0, 0, 0, 0, ends.HOME_DISTANCE + gap])
        assert ends.decide(ARM, away, RESTS, HERE).state is state


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_refused_and_never_called_healthy(bad):
    """No comparison is true of a NaN: without the refusal it falls through to the last line, which says healthy."""
    broken = HERE.copy()
    broken[4] = bad
    for arguments in ((ARM.home, RESTS, broken), (bent(bad), RESTS, HERE), (bent(-1.57, bad), RESTS, HERE),
                      (ARM.home, bad, HERE)):  # fmt: skip
        with pytest.raises(ValueError, match="finite"):
            ends.decide(ARM, *arguments)


def test_the_margin_around_the_straight_elbow_is_as_wide_as_it_says():
    for side, state in ((-1, Reason.STALLED), (1, Reason.NONE)):
        inside, outside = (bent(STRAIGHT + side * (ends.ELBOW_MARGIN + gap)) for gap in (-1e-9, 1e-9))
        assert ends.decide(ARM, inside, RESTS, off(0.43)).reason is Reason.STRAIGHT
        assert ends.decide(ARM, outside, RESTS, off(0.43)).reason is state


def test_a_decided_end_has_no_reason_and_an_undecided_one_always():
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(500):
        q = bent(rng.uniform(-1.6, 0), rng.choice([0, 2]))
        end = ends.decide(ARM, q, rng.choice([0, 0.1]), off(rng.choice([0, 0.2]), rng.choice([0, 1])))
        assert (end.state is EndState.UNDECIDED) == (end.reason is not Reason.NONE)
        seen.add((end.state, end.reason))
    assert seen == {(EndState.HEALTHY, Reason.NONE), (EndState.COLLAPSED, Reason.NONE)} | {
        (EndState.UNDECIDED, reason) for reason in Reason if reason is not Reason.NONE
    }


# ----- of a run


@pytest.fixture(scope="module")
def still():
    """A run of 0.3 s at home."""
    return ik.track(ARM, ik.hold(ARM, 0.3), ik.DampedLeastSquares())


def with_last(run, q, error=HERE, before=0):
    """The run with its last q, and those of `before` more steps, and its last error replaced."""
    positions, errors = run.q.copy(), run.errors.copy()
    positions[-1 - before :], errors[-1] = q, error
    return dataclasses.replace(run, q=positions, errors=errors)


def test_a_run_rests_where_it_did_not_move_in_the_last_tenth_of_a_second(still):
    folded = bent(-0.1)
    arrived = with_last(still, folded, off(0.43), before=50)
    assert ends.end(arrived) == End(EndState.COLLAPSED)
    assert ends.end_state(arrived) is EndState.COLLAPSED
    just_now = with_last(still, folded, off(0.43), before=49)
    assert ends.end(just_now) == End(EndState.UNDECIDED, Reason.MOVING)
    slowly = with_last(arrived, folded + np.array([0, 0.0029, 0, 0, 0, 0, 0]), off(0.43))
    assert ends.end(slowly) == End(EndState.COLLAPSED)
    hardly = with_last(arrived, folded - np.array([0, 0.0031, 0, 0, 0, 0, 0]), off(0.43))
    assert ends.end(hardly).reason is Reason.MOVING


def test_a_run_shorter_than_that_is_judged_over_what_there_is(still):
    one = ik.track(ARM, ik.hold(ARM, 0.002), ik.DampedLeastSquares())
    assert ends.end(one) == ends.end(still) == End(EndState.HEALTHY)


def test_a_run_that_is_cut_off_on_its_way_is_undecided():
    """Simulated, not made up: the target has left, the arm has not arrived, and it is bent as at home."""
    held = ik.hold(ARM, 0.1)
    away = dataclasses.replace(held, positions=held.positions + np.array([0, 0.3, 0.1]))
    run = ik.track(ARM, away, ik.DampedLeastSquares(1e-2))
    assert run.q[-1, 3] < STRAIGHT
    assert ends.end(run) == End(EndState.UNDECIDED, Reason.MOVING)
    assert outcome.measures(run)["end_state"] is EndState.UNDECIDED
    assert outcome.measures(run)["reason"] is Reason.MOVING


def test_a_law_that_stalls_far_from_its_target_is_not_healthy():
    """Simulated: a truncation that leaves no direction keeps the arm where it is, at rest, as the target leaves."""
    weightless = ik.panda(gravity_compensation=True)
    path = ik.reach_and_return(weightless, 0.70, duration=1.0)
    half = ik.Path(*(getattr(path, f.name)[: len(path.times) // 2] for f in dataclasses.fields(path)))
    run = ik.track(weightless, half, ik.TruncatedSVD(1e3))
    assert run.distance_from_home.max() < 0.1, "the drift says that it is well"
    assert ends.end(run) == End(EndState.UNDECIDED, Reason.STALLED)


def test_a_reach_that_ends_in_another_bend_is_not_called_healthy():
    """Simulated, at 0.85 m with hardly any damping: the joints end radians away from home."""
    run = ik.track(ARM, ik.reach_and_return(ARM, reach=0.85), ik.DampedLeastSquares(1e-6))
    assert np.linalg.norm(run.q[-1] - ARM.home) > 1
    assert ends.end_state(run) is not EndState.HEALTHY


def test_the_reach_has_its_two_ends():
    path = ik.reach_and_return(ARM, 0.70)
    healthy, folded = (ik.track(ARM, path, ik.DampedLeastSquares(lam)) for lam in (1e-2, 1e-3))
    assert ends.end(healthy) == End(EndState.HEALTHY)
    assert ends.end(folded) == End(EndState.COLLAPSED)
    # The same run, cut off while it folds, is neither yet.
    way = np.argmax(folded.q[:, 3] > STRAIGHT + 0.2)
    cut = dataclasses.replace(folded, q=folded.q[:way], errors=folded.errors[: way - 1])
    assert ends.end(cut) == End(EndState.UNDECIDED, Reason.MOVING)


def test_measures_are_of_the_whole_run():
    run = ik.track(ARM, ik.reach_and_return(ARM, 0.86, duration=1.0), ik.DampedLeastSquares(1e-3))
    found = outcome.measures(run)
    assert list(found) == [f.name for f in dataclasses.fields(outcome.Outcome)]
    beyond = (run.setpoints < ARM.lower) | (run.setpoints > ARM.upper)
    assert found["clipped_steps"] == sum(bool(line.any()) for line in beyond) > 0
    assert found["drift_rad"] == max(np.linalg.norm(q - ARM.home) for q in run.q[1:])
    assert found["final_error_m"] == np.linalg.norm(run.errors[-1][:3])
    assert found["peak_speed_rad_s"] == np.abs(run.qdot).max()
    assert found["rms_position_m"] == pytest.approx(np.sqrt((run.errors[:, :3] ** 2).sum() / len(run.errors)))


def test_measures_are_of_the_worst_step_wherever_it_is(still):
    """The largest drift and speed lie in the middle, a clipped step at either end."""
    q, qdot, setpoints = still.q.copy(), still.qdot.copy(), still.setpoints.copy()
    q[70, 1] += 2.0
    qdot[40, 2] = -30.0
    setpoints[0, 0], setpoints[-1, 3] = ARM.upper[0] + 1, ARM.lower[3] - 1
    found = outcome.measures(dataclasses.replace(still, q=q, qdot=qdot, setpoints=setpoints))
    assert found["drift_rad"] == pytest.approx(2.0, abs=0.01)
    assert found["peak_speed_rad_s"] == 30.0
    assert found["clipped_steps"] == still.clipped.sum() + 2

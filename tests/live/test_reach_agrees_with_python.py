"""The page and Python run the same reach: the same joints step by step until the arm hits something, the same end."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import ikcourse as ik
from ikcourse.studies import ends

SAME_JOINTS = 1e-9
"""How far the joints of two runs of the same arithmetic may part [rad], order of sums and libraries aside."""
SAME_DRIFT = 0.005
"""And their farthest from home, once they hit something [rad]."""
STEPS = 3000
SETTINGS = {"integrationDt": "integration_dt", "maxJointSpeed": "max_joint_speed"}
PANDA, PLANAR = ik.panda(), ik.planar2()


def touching(data):
    """The pairs of geoms in contact."""
    return {(int(one), int(other)) for one, other in data.contact.geom}


@dataclass(frozen=True)
class Watched:
    """A law that keeps, for each step, whether the arm touched what it does not touch at home."""

    law: ik.Law
    touched: list[bool] = field(default_factory=list)

    def bind(self, arm):
        step, at_home = self.law.bind(arm), touching(arm.data())

        def watched(state):
            self.touched.append(bool(touching(state.data) - at_home))
            return step(state)

        return watched


def first_true(flags):
    return int(np.argmax(flags)) if np.any(flags) else len(flags)


@pytest.fixture
def compare(ask):
    """The page's run and Python's of one setting, held to the bars and printed; what the page told is given back."""

    def both(name, arm, law, distance=0.70, q=None, **request):
        watched = Watched(law)
        settings = {SETTINGS[key]: value for key, value in request.get("settings", {}).items()}
        theirs = ik.track(arm, ik.reach_and_return(arm, distance), watched, q=q, **settings)
        contact = first_true(watched.touched)
        start = {} if q is None else {"q": list(q)}
        ours = ask("run", arm=name, distance=distance, options={"sigmaMin": True, **start}, **request)
        joints, errors = np.reshape(ours["q"], (-1, arm.n)), np.reshape(ours["errors"], (-1, 6))
        gap = np.abs(joints - theirs.q).max(axis=1)
        report(gap, contact)
        assert len(theirs.q) == STEPS + 1 == len(joints)
        # Row k is what step k reads: the contact that step finds has not acted on it yet.
        assert gap[: contact + 1].max() < SAME_JOINTS, "the joints part"
        assert np.abs(errors - theirs.errors)[:contact].max() < SAME_JOINTS
        assert ours["drift"] == pytest.approx(theirs.distance_from_home.max(), abs=SAME_DRIFT)
        if arm is PANDA:
            end = ends.end(theirs)
            assert ours["end"] == {"state": str(end.state), "reason": str(end.reason)}
        if contact == STEPS:
            clipped = np.flatnonzero(theirs.clipped)
            assert ours["clippedSteps"] == len(clipped)
            assert ours["firstClip"] == (clipped[0] if len(clipped) else -1)
            # Near the singularity a difference of the joints is an error that the law divides by sigma_min.
            assert ours["speed"] == pytest.approx(theirs.joint_speed, rel=1e-6, abs=1e-6)
            assert ours["peakSpeed"] == max(ours["speed"])
            assert ours["finalError"] == pytest.approx(theirs.position_error[-1], abs=SAME_JOINTS)
            assert ours["rmsError"] == pytest.approx(np.mean(theirs.position_error**2) ** 0.5, abs=SAME_JOINTS)
        return ours, theirs, contact

    return both


def report(gap, contact):
    past = np.flatnonzero(gap > SAME_JOINTS)
    print(
        f"\nfirst contact at step {contact if contact < STEPS else 'none'}; joints agree within "
        f"{gap[: contact + 1].max():.1e} rad up to it, {gap.max():.1e} over the run; they part by more than "
        f"{SAME_JOINTS:g} at step {past[0] if len(past) else 'none'}"
    )


@pytest.mark.parametrize("damping", [1e-6, 1e-3, 1e-2])
def test_the_reach_of_the_panda(compare, damping):
    law = ik.DampedLeastSquares(damping)
    ours, theirs, contact = compare("panda", PANDA, law, parameters={"damping": damping})
    assert (contact < STEPS) == (damping == 1e-3), "of these three runs one hits something"
    sample = slice(0, STEPS, 50)
    sigma = np.linalg.svd(ik.jacobians_at(PANDA, theirs.q[:-1][sample]))[1][:, -1]
    assert np.abs(ours["sigmaMin"][sample] - sigma).max() < SAME_JOINTS


def test_the_runs_are_not_alike_by_standing_still(compare):
    """Another damping parts from Python's run: the bar of the tests above can fail."""
    with pytest.raises(AssertionError, match="the joints part"):
        compare("panda", PANDA, ik.DampedLeastSquares(1e-2), parameters={"damping": 1.001e-2})


def test_a_run_starts_at_home_whatever_ran_before(ask):
    first, second = ask("twice", distance=0.68, duration=0.5)
    assert first == second
    assert first[:7] == PANDA.home.tolist()


def test_rest_is_judged_over_the_last_tenth_of_a_second(ask):
    """Runs cut short where the arm has just come to rest, or just left it: one window's answer is not another's."""
    whole = ik.track(PANDA, ik.reach_and_return(PANDA, 0.70), ik.DampedLeastSquares(1e-3))

    def told(steps, window):
        q = whole.q[steps]
        speed = np.abs(q - whole.q[steps - window]).max() / (window * 0.002)
        return ends.decide(PANDA, q, speed, whole.errors[steps - 1])

    telling = [k for k in range(200, STEPS) if len({told(k, window) for window in (25, 50, 100)}) > 1]
    assert len(telling) > 10
    cuts = telling[:: len(telling) // 8]
    parameters = {"damping": 1e-3}
    for k, ours in zip(cuts, ask([("run", {"steps": k, "parameters": parameters}) for k in cuts]), strict=True):
        cut = replace(whole, q=whole.q[: k + 1], errors=whole.errors[:k])
        end = ends.end(cut)
        assert end == told(k, 50)
        assert ours["end"] == {"state": str(end.state), "reason": str(end.reason)}


@pytest.mark.parametrize(
    ("law", "request_"),
    [
        (ik.DampedLeastSquares(1e-2, 2.0), {"parameters": {"damping": 1e-2, "nullspaceGain": 2.0}}),
        (ik.DampedLeastSquares(1e-3, 0.5), {"parameters": {"damping": 1e-3, "nullspaceGain": 0.5}}),
        (ik.AdaptiveDamping(), {"kind": "adaptive"}),
        (ik.TruncatedSVD(), {"kind": "truncated"}),
        (ik.Transpose(), {"kind": "transpose"}),
        (ik.DampedLeastSquares(), {"settings": {"integrationDt": 0.3}}),
        (ik.DampedLeastSquares(), {"settings": {"maxJointSpeed": 0.5}}),
        (ik.DampedLeastSquares(1e-3), {"distance": 0.66, "parameters": {"damping": 1e-3}}),
    ],
    ids=["posture", "posture, little damping", "adaptive", "truncated", "transpose", "gain", "speed", "shorter"],
)
def test_every_law_and_every_setting_of_the_page(compare, law, request_):
    compare("panda", PANDA, law, **request_)


@pytest.mark.parametrize("damping", [1e-6, 1e-3, 1e-2])
@pytest.mark.parametrize("q", [None, (0.6, -1.2)], ids=["from home, where it is singular", "bent"])
def test_the_reach_of_the_planar_arm(compare, damping, q):
    law = ik.DampedLeastSquares(damping)
    ours, theirs, _ = compare("planar2", PLANAR, law, 1.5, q, parameters={"damping": damping})
    assert ours["end"] is None
    assert ours["sigmaMin"] == [0] * STEPS, "two joints never move six rows"
    if q is not None:
        assert np.abs(theirs.q[-1] - theirs.q[0]).max() > 0.1

"""`track_many` is `track`, bit for bit: whatever the batch's size, order, neighbours and number of threads."""

from __future__ import annotations

import itertools
import os
import pickle
from dataclasses import dataclass

import mujoco
import numpy as np
import pytest

import ikcourse as ik
from ikcourse.laws import Formula, seen_beside
from ikcourse.stacked_laws import bind_stacked
from ikcourse.studies import many
from ikcourse.track_many import track_many
from tests.models import SHARED, SHUFFLED, from_xml, servo_arm

REACH_STUDY = list(
    itertools.product((0.66, 0.68, 0.69, 0.70, 0.71, 0.72), (0.0, 0.5, 2.0), (1e-4, 3e-4, 5e-4, 1e-3, 3e-3, 5e-3, 1e-2))
)
LAW = ik.DampedLeastSquares()
SECOND = ik.SecondTask(ik.PointTask("link4", (0.0, 0.0, 0.8)))
LAWS = [
    ik.DampedLeastSquares(1e-2),
    ik.DampedLeastSquares(1e-4, nullspace_gain=2.0),
    ik.DampedLeastSquares(1e-7, nullspace_gain=0.5),
    ik.DampedLeastSquares(0.0),
    ik.DampedLeastSquares(0.0, nullspace_gain=1.0),
    ik.PseudoInverse(),
    ik.Transpose(),
    ik.Transpose(gain=2.0),
    ik.TruncatedSVD(0.1),
    ik.TruncatedSVD(0.05),
    ik.AdaptiveDamping(0.3, 0.2),
    ik.AdaptiveDamping(0.3, 0.1),
    ik.SelectivelyDamped(),
    ik.SelectivelyDamped(0.1),
]
BRANCHED = """
<mujoco>
  <option integrator="implicitfast" gravity="0 0 0"/>
  <default><joint damping="20" armature="0.1"/><geom contype="0" conaffinity="0" size="0.03"/></default>
  <worldbody>
    <body name="trunk">
      <joint name="trunk" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0"/>
      <body name="other" pos="0.4 0 0">
        <joint name="other" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.4"/>
      </body>
      <body name="limb" pos="0.4 0 0">
        <joint name="limb" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.4"/>
        <body name="bolted" pos="0 0 -0.4"><site name="tip" pos="0.1 0 0" euler="10 20 30"/></body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="other" kp="100"/><position joint="limb" kp="100"/><position joint="trunk" kp="100"/>
  </actuator>
</mujoco>
"""
"""Joint `other` is controlled and does not move the tip, which is bolted to its body."""


@pytest.fixture(scope="module", name="arm")
def panda():
    return ik.panda()


@pytest.fixture(scope="module")
def public():
    """The Panda with its public meshes."""
    if not (SHARED / "menagerie" / "franka_emika_panda").is_dir():
        pytest.skip("the public Panda (../shared/menagerie) does not stand beside this checkout")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENAGERIE_ROOT", str(SHARED / "menagerie"))
        return ik.panda("menagerie")


def bits(run):
    return {name: getattr(run, name).tobytes() for name in ("q", "qdot", "errors", "setpoints", "limits", "torques")}


def assert_same(runs, others):
    assert len(runs) == len(others)
    for i, (run, other) in enumerate(zip(runs, others, strict=True)):
        mine, its = bits(run), bits(other)
        differ = [name for name in mine if mine[name] != its[name]]
        assert not differ, f"run {i}: {differ}"
        assert run.path is other.path
        assert run.law is other.law
        assert run.integration_dt == other.integration_dt


def one_by_one(arm, paths, laws, **options):
    return [ik.track(arm, path, law, **options) for path, law in zip(paths, laws, strict=True)]


def part(path, first, last):
    names = ("times", "positions", "quaternions", "twists", "accelerations")
    return ik.Path(*(getattr(path, name)[first:last] for name in names))


@pytest.fixture(scope="module")
def fast(arm):
    """Three reaches of 0.6 s, two of them beyond what the arm can reach."""
    return [ik.reach_and_return(arm, reach, duration=0.6) for reach in (0.68, 0.72, 0.9)]


def reach_study(arm):
    paths = {reach: ik.reach_and_return(arm, reach) for reach, _, _ in REACH_STUDY}
    return [paths[reach] for reach, _, _ in REACH_STUDY], [
        ik.DampedLeastSquares(damping, nullspace_gain=gain) for _, gain, damping in REACH_STUDY
    ]


# ----- the bits of `track`


@pytest.fixture(scope="module")
def alone(arm):
    """The 126 runs, each by `track`."""
    return one_by_one(arm, *reach_study(arm))


@pytest.fixture(scope="module")
def alone_with_meshes(public):
    return one_by_one(public, *reach_study(public))


def test_the_126_runs_of_the_reach_study_in_one_batch(arm, alone):
    paths, laws = [run.path for run in alone], [run.law for run in alone]
    assert len(alone) == 126
    assert_same(track_many(arm, paths, laws), alone)


def test_the_126_runs_permuted_and_chunked_with_meshes(public, alone_with_meshes, rng):
    paths, laws = zip(*((run.path, run.law) for run in alone_with_meshes), strict=True)
    order = rng.permutation(len(laws))
    runs = {}
    for first in range(0, len(order), 40):
        chunk = order[first : first + 40]
        found = track_many(public, [paths[i] for i in chunk], [laws[i] for i in chunk], threads=2)
        runs.update(zip(chunk.tolist(), found, strict=True))
    assert_same([runs[i] for i in range(len(laws))], alone_with_meshes)


def bits_elsewhere(arm, paths, laws):
    """What a worker sends back: the process it is, and the bits of its runs."""
    return os.getpid(), [bits(run) for run in track_many(arm, paths, laws, threads=1)]


@pytest.mark.parametrize("model", ["alone", "alone_with_meshes"])
def test_the_126_runs_by_two_processes_of_a_dask_cluster(request, model):
    distributed = pytest.importorskip("distributed")
    runs = request.getfixturevalue(model)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        arm = client.scatter(runs[0].arm, broadcast=True)
        waiting = [
            client.submit(bits_elsewhere, arm, [run.path for run in part], [run.law for run in part], pure=False)
            for part in (runs[first : first + 40] for first in range(0, len(runs), 40))
        ]
        workers, found = zip(*client.gather(waiting), strict=True)
    assert len(set(workers)) == 2
    assert os.getpid() not in workers
    assert [one for part in found for one in part] == [bits(run) for run in runs]


@pytest.mark.parametrize(("size", "threads"), [(1, 1), (2, 2), (6, 1), (7, 2), (42, 2)])
def test_a_run_does_not_feel_its_neighbours(arm, fast, rng, size, threads):
    cases = list(itertools.product(fast, LAWS))
    order = rng.permutation(len(cases))[:size]
    paths, laws = [cases[i][0] for i in order], [cases[i][1] for i in order]
    assert_same(track_many(arm, paths, laws, threads=threads), one_by_one(arm, paths, laws))


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_every_law_alone_in_its_batch(arm, fast, law):
    assert_same(track_many(arm, fast, law), one_by_one(arm, fast, [law] * len(fast)))


def test_a_square_is_the_same_bits_for_one_matrix_as_for_many(rng):
    """The C library's pow(r, 2), which NumPy takes for a single r**2, is not always the product r r."""
    r = rng.uniform(0, 1, 100_000)
    one_by_one = np.array([float(value) ** 2 for value in r])
    r = np.concatenate([r[one_by_one != r * r], r[:200]])[:400]
    jacobian = np.tile(np.eye(6, 7), (len(r), 1, 1))
    jacobian[:, 5, 5] = r
    law, error = ik.AdaptiveDamping(1.0, 0.2), rng.normal(size=(len(r), 6))
    alone = np.array([law.answer(J, e) for J, e in zip(jacobian, error, strict=True)])
    assert law.answer(jacobian, error).tobytes() == alone.tobytes()


def test_each_run_chooses_for_itself_between_cholesky_and_svd(arm, fast):
    """lambda^2 near rounding: which solver answers depends on ||J||, and changes within a run and between runs."""
    path = fast[1]
    size = (ik.jacobians_at(arm, ik.track(arm, path, LAW).q) ** 2).sum(axis=(1, 2))
    between = np.linspace(size.min(), size.max(), 5)[1:-1]
    dampings = [float(np.sqrt(value / seen_beside(1.0, arm.n))) for value in between]
    laws = [ik.DampedLeastSquares(damping) for damping in dampings]
    runs = track_many(arm, path, laws)
    for run, damping in zip(runs, dampings, strict=True):
        by_svd = (ik.jacobians_at(arm, run.q) ** 2).sum(axis=(1, 2)) >= seen_beside(damping, arm.n)
        assert 0.05 < by_svd.mean() < 0.95
    assert_same(runs, one_by_one(arm, [path] * 3, laws))


def test_the_whole_stack_must_not_choose_one_solver(arm, rng):
    """The deliberate break: floor 0's `damped` takes the SVD for all rows as soon as one needs it, with other bits."""
    jacobian, error = rng.normal(size=(2, 6, 7)), rng.normal(size=(2, 6))
    laws = [ik.DampedLeastSquares(1e-2), ik.DampedLeastSquares(0.0)]
    alone = bind_stacked(arm, laws[:1])(np.zeros((1, 7)), jacobian[:1], error[:1])[0]
    beside = bind_stacked(arm, laws)(np.zeros((2, 7)), jacobian, error)[0]
    floor_0 = ik.damped(jacobian, error, np.array([1e-2, 0.0]))[0]
    assert beside.tobytes() == alone.tobytes()
    assert floor_0.tobytes() != alone.tobytes()
    assert np.allclose(floor_0, alone)


@pytest.mark.parametrize(
    "options",
    [
        {"max_joint_speed": 0.3},
        {"max_joint_speed": np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])},
        {"max_joint_speed": 0.3, "speed_bound": "clip"},
        {"integration_dt": 0.05, "setpoint_from": "commanded"},
        {"integration_dt": 0.5, "q": np.array([0.3, -0.2, 0.1, -1.9, 0.2, 1.7, -0.5])},
    ],
    ids=lambda options: "-".join(options),
)
def test_every_option_of_track(arm, fast, options):
    laws = [LAW, ik.DampedLeastSquares(1e-4, nullspace_gain=2.0), ik.TruncatedSVD()]
    runs = track_many(arm, fast, laws, **options)
    assert_same(runs, one_by_one(arm, fast, laws, **options))
    plain = track_many(arm, fast, laws)
    assert any(bits(run)["qdot"] != bits(other)["qdot"] for run, other in zip(runs, plain, strict=True))


@pytest.mark.parametrize("home", [None, "bent", "other"])
def test_actuators_in_another_order_than_joints_and_a_ball_joint_before_them(home):
    arm = from_xml(SHUFFLED, joints=["one", "two", "three"], home=home)
    paths = [ik.circle(arm, radius, duration=0.4) for radius in (0.02, 0.1, 0.3)]
    assert_same(track_many(arm, paths, LAW), one_by_one(arm, paths, [LAW] * 3))


def test_a_joint_that_does_not_move_the_tool():
    arm = from_xml(BRANCHED, joints=["trunk", "other", "limb"])
    assert not ik.site_jacobian(arm, arm.data())[:, 1].any()
    paths = [ik.circle(arm, radius, duration=0.4) for radius in (0.02, 0.1)]
    laws = [LAW, ik.DampedLeastSquares(1e-3, nullspace_gain=1.0)]
    q = np.array([0.1, 0.7, -0.4])
    runs = track_many(arm, paths, laws, q=q)
    assert_same(runs, one_by_one(arm, paths, laws, q=q))
    assert np.ptp(runs[1].q[:, 1]) > 1e-3


@pytest.mark.parametrize("half_turn", [(0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0, -1.0), (0.0, 0.6, 0.0, -0.8)])
def test_half_a_turn_away_and_the_other_sign_of_the_target(half_turn):
    arm = servo_arm('<position joint="hinge" kp="100" kv="10"/>')
    still = part(ik.hold(arm, 0.1), 0, None)
    paths = [
        ik.Path(still.times, still.positions, np.tile(quaternion, (len(still.times), 1)), still.twists, still.twists)
        for quaternion in ((1.0, 0, 0, 0), half_turn, (-1.0, 0, 0, 0))
    ]
    runs = track_many(arm, paths, LAW)
    assert_same(runs, one_by_one(arm, paths, [LAW] * 3))
    assert np.linalg.norm(runs[1].errors[0, 3:]) == pytest.approx(np.pi)
    assert bits(runs[0])["q"] == bits(runs[2])["q"]


# ----- what it takes and gives


def test_one_path_or_one_law_serves_every_run(arm, fast):
    law, other = ik.DampedLeastSquares(1e-3), ik.PseudoInverse()
    assert_same(track_many(arm, fast[0], [law, other]), one_by_one(arm, fast[:1] * 2, [law, other]))
    assert_same(track_many(arm, tuple(fast), law), one_by_one(arm, fast, [law] * 3))
    assert_same(track_many(arm, fast[0], law), one_by_one(arm, fast[:1], [law]))


def test_a_study_in_chunks_gives_each_path_its_own_law(arm, fast, monkeypatch):
    paths = [part(fast[i % 3], 0, 3) for i in range(5)]
    laws, seen = [ik.DampedLeastSquares(damping) for damping in (1e-4, 1e-3, 1e-2, 1e-1, 1.0)], []
    monkeypatch.setattr(many, "CHUNK", 2)
    runs = list(many.run_all(arm, paths, laws, lambda starts: seen.extend(starts) or starts))
    assert_same(runs, one_by_one(arm, paths, laws))
    assert seen == [0, 2, 4]


def test_a_path_of_one_step(arm, fast):
    short = [part(path, 40, 41) for path in fast]
    assert_same(track_many(arm, short, LAW), one_by_one(arm, short, [LAW] * 3))


def test_a_run_that_is_kept_keeps_no_other(arm, fast):
    for run in track_many(arm, fast, LAW):
        assert all(getattr(run, name).base is None for name in ("q", "qdot", "errors", "setpoints", "torques"))


def test_the_model_as_it_stands_is_simulated(fast):
    changed = ik.panda()
    changed.model.opt.gravity[:] = 0
    runs = track_many(changed, fast, LAW)
    assert_same(runs, one_by_one(changed, fast, [LAW] * 3))
    assert bits(runs[0])["q"] != bits(track_many(ik.panda(), fast, LAW)[0])["q"]


def test_an_arm_that_was_pickled_runs_the_same(arm, fast):
    """What a study sends to another process."""
    copy = pickle.loads(pickle.dumps(arm))
    laws = pickle.loads(pickle.dumps(LAWS))
    assert laws == LAWS
    for run, other in zip(track_many(copy, fast[1], laws), track_many(arm, fast[1], LAWS), strict=True):
        assert bits(run) == bits(other)


# ----- what it refuses


@dataclass(frozen=True)
class NotANumber(Formula):
    """Gives up at once."""

    def answer(self, jacobian, error):
        return np.full((*error.shape[:-1], jacobian.shape[-1]), np.nan)


@dataclass(frozen=True)
class Asks(Formula):
    """The same joint velocity whatever is measured."""

    speed: float

    def answer(self, jacobian, error):
        return np.full((*error.shape[:-1], jacobian.shape[-1]), self.speed)


@dataclass(frozen=True)
class Rewired(ik.PseudoInverse):
    """A formula whose step is not its formula."""

    def bind(self, arm):
        return lambda state: state.q


def test_no_run_at_all(arm, fast):
    for paths, laws in (([], []), (fast[0], []), ([], LAW)):
        with pytest.raises(ValueError, match="need a path and a law for each run; got 0 paths and 0 laws"):
            track_many(arm, paths, laws)


@pytest.mark.parametrize("make", [lambda fast: None, iter, lambda fast: [fast[0], None]], ids=["none", "iter", "one"])
def test_paths_that_are_none(arm, fast, make):
    with pytest.raises(ValueError, match="paths must be a Path or a sequence of them"):
        track_many(arm, make(fast), [LAW, LAW])


def test_as_many_paths_as_laws(arm, fast):
    with pytest.raises(ValueError, match="got 3 paths and 2 laws"):
        track_many(arm, fast, [LAW, LAW])


def test_paths_of_different_lengths(arm, fast):
    with pytest.raises(ValueError, match=r"of one length; got paths of \[200, 300\] steps"):
        track_many(arm, [fast[0], part(fast[1], 0, 200)], LAW)


def test_a_path_of_another_time_step(arm, fast):
    one = fast[0]
    slow = ik.Path(one.times * 2, one.positions, one.quaternions, one.twists, one.accelerations)
    for follow in (ik.track, track_many):
        with pytest.raises(ValueError, match=r"time step is 0.004 s, the model's 0.002 s"):
            follow(arm, slow, LAW)
    with pytest.raises(ValueError, match=r"time step is 0\.004 s"):
        track_many(arm, [fast[0], slow], LAW)


@pytest.mark.parametrize("threads", [-1, 1.5])
def test_a_number_of_threads_that_is_none(arm, fast, threads):
    with pytest.raises(ValueError, match="threads must be a whole number, not negative"):
        track_many(arm, fast, LAW, threads=threads)


@pytest.mark.parametrize(
    "law",
    [ik.DampedLeastSquares(secondary=(ik.LimitRepulsion(),)), ik.SpeedLimited(1.0), Rewired(),
     ik.RecursivePriority(ik.PointTask("link4", (0.0, 0.0, 0.8))), ik.DampedLeastSquares(secondary=(SECOND,))],
    ids=lambda law: type(law).__name__,
)  # fmt: skip
def test_a_law_that_needs_its_own_simulation(arm, fast, law):
    ik.track(arm, part(fast[0], 0, 2), law)
    with pytest.raises(ValueError, match=r"run 1: .*cannot be asked for many runs.*PseudoInverse.*TruncatedSVD"):
        track_many(arm, fast, [LAW, law, LAW])


def test_what_track_refuses(arm, fast):
    for options in ({"integration_dt": 0.0}, {"max_joint_speed": -1.0}, {"speed_bound": "clip"}, {"q": np.zeros(3)},
                    {"setpoint_from": "wish"}, {"speed_bound": "stop", "max_joint_speed": 1.0}):  # fmt: skip
        with pytest.raises(ValueError, match=r"must|bounds nothing"):
            track_many(arm, fast, LAW, **options)
    motors = ik.panda(actuators="torque")
    with pytest.raises(ValueError, match="not a position actuator"):
        track_many(motors, ik.hold(motors, 0.1), LAW)
    kutta = ik.panda()
    kutta.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    with pytest.raises(ValueError, match="RK4"):
        track_many(kutta, ik.hold(kutta, 0.1), LAW)


@dataclass(frozen=True)
class OneNumber(Formula):
    """Forgets the joints: (..., 1), which NumPy would spread over all of them."""

    def answer(self, jacobian, error):
        return error[..., :1]


def test_an_answer_of_another_shape_is_refused_as_track_refuses_it(arm, fast):
    with pytest.raises(ValueError, match=r"must answer with shape \(7,\); got \(1,\)"):
        ik.track(arm, fast[0], OneNumber())
    for laws in ([OneNumber()] * 3, [LAW, OneNumber(), OneNumber()]):
        with pytest.raises(ValueError, match=r"OneNumber.* must answer with shape \(7,\); got \(1,\)"):
            track_many(arm, fast, laws)


def test_an_answer_that_is_not_finite_names_its_run(arm, fast):
    with pytest.raises(FloatingPointError, match="run 2: the law's answer is not finite at step 0"):
        track_many(arm, fast, [LAW, LAW, NotANumber()])


def test_a_simulation_that_diverges_names_its_run():
    """MuJoCo itself only resets it and goes on."""
    arm = servo_arm('<position joint="hinge" kp="1e14"/>', integrator="Euler", timestep=0.01)
    path = ik.hold(arm, 2.0)
    assert np.isfinite(track_many(arm, path, [Asks(0.0), Asks(0.0)])[1].q).all()
    with pytest.raises(FloatingPointError, match=r"run 1: the simulation diverged.*0.01 s"):
        track_many(arm, path, [Asks(0.0), Asks(0.1)])

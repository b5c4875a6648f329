"""Many closed loops at once: `track` for a whole study, its physics on several threads and its laws on stacked arrays.

    runs = track_many(arm, paths, [DampedLeastSquares(damping) for damping in dampings])

Each run has the bits that `track` gives it alone, whatever runs beside it and on however many threads: a study may be
cut into batches as it suits the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from mujoco.batch import Batch

from ikcourse import rotation
from ikcourse.arm import Arm
from ikcourse.laws import Law
from ikcourse.loop import DIVERGED, Run, SpeedBound, fast_index, require_finite_run, require_time_step
from ikcourse.paths import Path
from ikcourse.speed_limits import clipped
from ikcourse.stacked_laws import bind_stacked
from ikcourse.track import Controller, SetpointFrom

VELOCITY = int(mujoco.mjtStage.mjSTAGE_VEL)
NOTHING = int(mujoco.mjtStage.mjSTAGE_NONE)

CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
FACTORS = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
SIGNS = np.array([[1.0, 1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0], [-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]])
"""The Hamilton product: component c of a b is the sum over i of SIGNS[i, c] a[i] b[FACTORS[i, c]]."""


def track_many(
    arm: Arm,
    paths: Path | Sequence[Path],
    laws: Law | Sequence[Law],
    integration_dt: float = 1.0,
    max_joint_speed: float | np.ndarray | None = None,
    q: np.ndarray | None = None,
    speed_bound: SpeedBound = "scale",
    setpoint_from: SetpointFrom = "measured",
    threads: int = 0,
) -> list[Run]:
    """`[track(arm, path, law, ...) for path, law in zip(paths, laws)]`, bit for bit, in a fraction of the time.

    Every run keeps its traces, 0.8 MB for 3000 steps of seven joints: cut a large study into batches of about a hundred
    and keep of each what the study needs.

    Args:
        arm, integration_dt, max_joint_speed, q, speed_bound, setpoint_from: as `track`, the same for every run.
        paths: one for each run, all of the same length, or one for all.
        laws: one for each run, of one kind or of several, or one for all.
        threads: that share the physics; 0 for as many as there are processors.

    Returns:
        The runs, in the order of the paths and laws.

    Raises:
        ValueError: as `track`; there is no run, a path is none, as many paths as laws are not given, the paths differ
            in length, a law cannot be asked for many runs at once, or threads is no whole number.
        FloatingPointError: a law's answer was not finite, or a simulation diverged; the message names the run.
    """
    paths, laws = _one_for_each_run(paths, laws)
    if not (isinstance(threads, int) and threads >= 0):
        raise ValueError(f"threads must be a whole number, not negative; got {threads}")
    for path in paths:
        require_time_step(path, arm)
    ask = bind_stacked(arm, laws)
    # A controller refuses what does not fit, and its simulation is where every run starts.
    one = Controller(arm, laws[0], arm.data(q), integration_dt, max_joint_speed, speed_bound, setpoint_from)
    lower, upper = one.limits
    joints, actuators = fast_index(arm.qpos_addresses), fast_index(arm.actuators)

    runs, steps = len(paths), len(paths[0].times)
    targets = np.stack([path.positions for path in paths], 1), np.stack([path.quaternions for path in paths], 1)
    positions, errors = np.empty((steps + 1, runs, arm.n)), np.empty((steps, runs, 6))
    qdots, setpoints, torques = (np.empty((steps, runs, arm.n)) for _ in range(3))

    batch = Batch(arm.model, runs, threads, persistent=True)
    start = np.empty(batch.nstate)
    mujoco.mj_getState(arm.model, one.data, start, int(mujoco.mjtState.mjSTATE_INTEGRATION))
    batch.state[:] = start
    measure = _Measurement(arm, batch)
    qpos, ctrl, forces = batch.bind("qpos"), batch.bind("ctrl"), batch.bind("actuator_force")
    batch.forward(stage=VELOCITY)
    positions[0] = qpos[:, joints]
    for k in range(steps):
        jacobian = measure(targets[0][k], targets[1][k], errors[k])
        qdot = ask(positions[k], jacobian, errors[k])
        if one.max_joint_speed is not None:
            qdot = _bounded(qdot, one.max_joint_speed, speed_bound)
        begin = positions[k] if setpoint_from == "measured" else ctrl[:, actuators]
        setpoint = begin + qdot * one.integration_dt
        ctrl[:, actuators] = np.minimum(np.maximum(setpoint, lower), upper)
        # The second half of this step and the first of the next: its kinematics are those of `mj_step1`.
        batch.step(stage=VELOCITY if k + 1 < steps else NOTHING)
        qdots[k], setpoints[k] = qdot, setpoint
        positions[k + 1], torques[k] = qpos[:, joints], forces[:, actuators]
    for i in range(runs):
        require_finite_run(qdots[:, i], [int(batch.warning[i, kind, 1]) for kind in DIVERGED], arm, f"run {i}: ")
    # Copies run by run: whoever keeps one run does not keep the batch.
    traces = [[trace[:, i].copy() for i in range(runs)] for trace in (positions, qdots, errors, setpoints, torques)]
    return [
        Run(arm, path, law, found, qdot, error, setpoint, one.limits.copy(), torque, one.integration_dt)
        for path, law, found, qdot, error, setpoint, torque in zip(paths, laws, *traces, strict=True)
    ]


def _one_for_each_run(paths: Path | Sequence[Path], laws: Law | Sequence[Law]) -> tuple[Sequence[Path], Sequence[Law]]:
    """The paths and laws as lists of the same length, a single one repeated."""
    if isinstance(paths, Path):
        paths = [paths] * (len(laws) if isinstance(laws, Sequence) else 1)
    if not (isinstance(paths, Sequence) and all(isinstance(path, Path) for path in paths)):
        raise ValueError(f"paths must be a Path or a sequence of them; got {paths!r}")
    if not isinstance(laws, Sequence):
        laws = [laws] * len(paths)
    if len(paths) != len(laws) or not paths:
        raise ValueError(f"need a path and a law for each run; got {len(paths)} paths and {len(laws)} laws")
    lengths = sorted({len(path.times) for path in paths})
    if len(lengths) > 1:
        raise ValueError(f"the paths of a batch must be of one length; got paths of {lengths} steps")
    return paths, laws


def _bounded(qdot: np.ndarray, limit: np.ndarray, speed_bound: SpeedBound) -> np.ndarray:
    """qdot (B, n) inside the speed bound, each run by itself, as `Loop._ask` bounds it."""
    if speed_bound == "clip":
        return clipped(qdot, limit)
    ratio = np.max(np.abs(qdot) / limit, axis=1, keepdims=True)
    return np.where(ratio > 1, qdot / np.where(ratio > 1, ratio, 1.0), qdot)


class _Measurement:
    """`Loop._measure` of every run of a batch whose kinematics are current.

    MuJoCo adds in the order in which it is written here: the bits are those of `mj_jacSite` and `mju_mulQuat`.
    """

    def __init__(self, arm: Arm, batch: Batch) -> None:
        body = int(arm.model.site_bodyid[arm.site])
        self._cdof, self._dofs = batch.bind("cdof"), fast_index(arm.dofs)
        self._center = batch.bind("subtree_com")[:, arm.model.body_rootid[body]]
        self._site = batch.bind("site_xpos")[:, arm.site]
        self._body_quaternion = batch.bind("xquat")[:, body]
        self._site_quaternion = arm.model.site_quat[arm.site].copy()
        self._elsewhere = np.flatnonzero(~_moves(arm.model, body)[arm.dofs])

    def __call__(self, position: np.ndarray, quaternion: np.ndarray, error: np.ndarray) -> np.ndarray:
        """J (B, 6, n); writes the pose error into e (B, 6), from the targets' positions (B, 3), quaternions (B, 4)."""
        np.subtract(position, self._site, out=error[:, :3])
        inverse = _product(self._body_quaternion, self._site_quaternion) * CONJUGATE
        turn = _product(quaternion, inverse)
        half_turn = turn[:, 0] == 0
        turn = np.where(turn[:, :1] < 0, -turn, turn)
        for angular, one in zip(error[:, 3:], turn, strict=True):
            mujoco.mju_quat2Vel(angular, one, 1.0)
        if half_turn.any():
            error[half_turn, 3:] = rotation.quat_log(turn[half_turn])
        return self._jacobian()

    def _jacobian(self) -> np.ndarray:
        motion = np.ascontiguousarray(self._cdof[:, self._dofs].transpose(2, 0, 1))  # component, run, dof
        (x, y, z), linear = motion[:3], motion[3:]
        ox, oy, oz = (self._site - self._center).T[..., None]
        jacobian = np.empty((motion.shape[1], 6, motion.shape[2]))
        jacobian[:, 0] = linear[0] + (y * oz - z * oy)
        jacobian[:, 1] = linear[1] + (z * ox - x * oz)
        jacobian[:, 2] = linear[2] + (x * oy - y * ox)
        jacobian[:, 3], jacobian[:, 4], jacobian[:, 5] = x, y, z
        jacobian[:, :, self._elsewhere] = 0.0
        return jacobian


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`rotation.quat_multiply` of a (B, 4) and b (B, 4) or (4,), each component's four terms added in two pairs."""
    terms = a[:, :, None] * (b[..., FACTORS] * SIGNS)
    return (terms[:, 0] + terms[:, 1]) + (terms[:, 2] + terms[:, 3])


def _moves(model: mujoco.MjModel, body: int) -> np.ndarray:
    """Which dofs move a body, (nv,)."""
    moves = np.zeros(model.nv, bool)
    while body > 0:
        first = int(model.body_dofadr[body])
        moves[first : first + int(model.body_dofnum[body])] = True
        body = int(model.body_parentid[body])
    return moves

"""An arm: a MuJoCo model, and which of its joints, dofs, coordinates and actuators the course controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np

CONTROLLABLE = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
JOINT_TRANSMISSIONS = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


@dataclass(frozen=True, eq=False)
class Arm:
    """What a controller must know of a model, with every name resolved to a number once.

    A joint is not a dof, and nq is not nv: a free joint has seven coordinates and six dofs, a ball joint four and
    three. `dofs` are columns of a Jacobian (nv), `qpos_addresses` entries of qpos (nq). Make one with
    `Arm.from_model` or take one from `ikcourse.panda()`.

    Attributes:
        model: the model.
        site: id of the end-effector site, and `site_name`, its name.
        joints: ids of the n controlled joints, hinges or slides, and `joint_names`, their names, base first.
        dofs: column of the Jacobian of each, (n,).
        qpos_addresses: entry of qpos of each, (n,).
        actuators: id of the actuator that drives each, (n,), -1 where there is none.
        home: joint positions at home, (n,) [rad] or [m].
        lower, upper: joint limits, (n,) [rad] or [m], infinite where the joint is not limited.
        home_key: id of the home keyframe, -1 where home is the model's reference configuration.
    """

    model: mujoco.MjModel = field(repr=False)
    site: int
    site_name: str
    joints: np.ndarray
    joint_names: tuple[str, ...]
    dofs: np.ndarray
    qpos_addresses: np.ndarray
    actuators: np.ndarray
    home: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    home_key: int

    @classmethod
    def from_model(
        cls, model: mujoco.MjModel, site: str, joints: Sequence[str] | None = None, home: str | None = None
    ) -> Arm:
        """Resolve names against a model.

        Args:
            model: any model.
            site: name of the end-effector site.
            joints: names of the controlled joints; by default every hinge and slide joint from the world to the site.
            home: name of the home keyframe; by default the model's reference configuration `qpos0`.

        Raises:
            ValueError: a name does not exist (the message lists those that do), a joint is neither hinge nor slide or
                is named twice, or more than one actuator drives a controlled joint.
        """
        site_id = _id_of(model, mujoco.mjtObj.mjOBJ_SITE, "site", site)
        if joints is None:
            ids = _joints_up_to(model, int(model.site_bodyid[site_id]))
        else:
            ids = np.array([_id_of(model, mujoco.mjtObj.mjOBJ_JOINT, "joint", name) for name in joints], dtype=int)
        names = tuple(model.joint(i).name for i in ids)
        if len(ids) == 0:
            raise ValueError(f"no hinge or slide joint moves site {site!r}")
        if len(set(ids.tolist())) < len(ids):
            raise ValueError(f"each joint may be controlled once; got {list(names)}")
        for joint_id, name in zip(ids, names, strict=True):
            if model.jnt_type[joint_id] not in CONTROLLABLE:
                kind = mujoco.mjtJoint(model.jnt_type[joint_id]).name.removeprefix("mjJNT_").lower()
                raise ValueError(f"joint {name!r} is a {kind} joint; only hinge and slide joints can be controlled")
        home_key = -1 if home is None else _id_of(model, mujoco.mjtObj.mjOBJ_KEY, "keyframe", home)
        home_qpos = model.qpos0 if home is None else model.key_qpos[home_key]
        limited = model.jnt_limited[ids].astype(bool)
        return cls(
            model=model,
            site=site_id,
            site_name=site,
            joints=_frozen(ids),
            joint_names=names,
            dofs=_frozen(model.jnt_dofadr[ids].astype(int)),
            qpos_addresses=_frozen(model.jnt_qposadr[ids].astype(int)),
            actuators=_frozen(np.array([_actuator_of(model, i) for i in ids], dtype=int)),
            home=_frozen(home_qpos[model.jnt_qposadr[ids]]),
            lower=_frozen(np.where(limited, model.jnt_range[ids, 0], -np.inf)),
            upper=_frozen(np.where(limited, model.jnt_range[ids, 1], np.inf)),
            home_key=home_key,
        )

    @property
    def n(self) -> int:
        """Number of controlled dofs."""
        return len(self.dofs)

    @property
    def setpoint_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest setpoint of each actuator, (n,) each: the joint's limits, or a narrower ctrlrange."""
        lower, upper = self.lower.copy(), self.upper.copy()
        driven = np.flatnonzero(self.actuators >= 0)
        cut = driven[self.model.actuator_ctrllimited[self.actuators[driven]] != 0]
        ctrl_lower, ctrl_upper = self.model.actuator_ctrlrange[self.actuators[cut]].T
        lower[cut], upper[cut] = np.maximum(lower[cut], ctrl_lower), np.minimum(upper[cut], ctrl_upper)
        return lower, upper

    def data(self, q: Sequence[float] | np.ndarray | None = None) -> mujoco.MjData:
        """A new MjData at home, the controlled joints at q (n,) where it is given, kinematics and contacts current.

        Raises:
            ValueError: q does not have shape (n,) or is not finite.
        """
        data = mujoco.MjData(self.model)
        self.reset(data)
        if q is not None:
            data.qpos[self.qpos_addresses] = self.checked(q)
        mujoco.mj_forward(self.model, data)
        return data

    def reset(self, data: mujoco.MjData) -> None:
        """Put the data back to home: the keyframe with its controls and target, or the reference configuration.

        Raises:
            ValueError: the data belongs to another model.
        """
        self.require_own(data)
        if self.home_key >= 0:
            mujoco.mj_resetDataKeyframe(self.model, data, self.home_key)
        else:
            mujoco.mj_resetData(self.model, data)
        mujoco.mj_forward(self.model, data)

    def require_own(self, data: mujoco.MjData) -> None:
        """Raise ValueError unless the data was made for this arm's model: MuJoCo itself reads past the end of it."""
        if data.model is not self.model:
            raise ValueError("this MjData belongs to another model; make one with `arm.data()`")

    def checked(self, q: Sequence[float] | np.ndarray) -> np.ndarray:
        """q as a float array, (n,), refused with ValueError where its shape or a value does not fit."""
        array = np.asarray(q, dtype=float)
        if array.shape != (self.n,):
            raise ValueError(
                f"q must have shape ({self.n},), one value for each of {list(self.joint_names)}; got {array.shape}"
            )
        if not np.isfinite(array).all():
            raise ValueError(f"q must be finite; got {array}")
        return array


def _id_of(model: mujoco.MjModel, kind: mujoco.mjtObj, word: str, name: str) -> int:
    if not isinstance(name, str):  # MuJoCo would end the process
        raise ValueError(f"a {word} is named by a string; got {name!r}")
    found = mujoco.mj_name2id(model, kind, name)
    if found < 0:
        counts = {
            mujoco.mjtObj.mjOBJ_SITE: model.nsite,
            mujoco.mjtObj.mjOBJ_JOINT: model.njnt,
            mujoco.mjtObj.mjOBJ_KEY: model.nkey,
            mujoco.mjtObj.mjOBJ_BODY: model.nbody,
        }
        names = [mujoco.mj_id2name(model, kind, i) for i in range(counts[kind])]
        known = ", ".join(repr(n) for n in names if n) or "none that has a name"
        raise ValueError(f"the model has no {word} {name!r}; it has {known}")
    return int(found)


def _joints_up_to(model: mujoco.MjModel, body: int) -> np.ndarray:
    """Ids of the hinge and slide joints between the world and a body, base first."""
    ids: list[int] = []
    while body > 0:
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        ids = [i for i in range(first, first + count) if model.jnt_type[i] in CONTROLLABLE] + ids
        body = int(model.body_parentid[body])
    return np.array(ids, dtype=int)


def _actuator_of(model: mujoco.MjModel, joint: int) -> int:
    on_joint = np.isin(model.actuator_trntype, JOINT_TRANSMISSIONS)
    drives = np.flatnonzero(on_joint & (model.actuator_trnid[:, 0] == joint))
    if len(drives) > 1:
        names = [model.actuator(i).name for i in drives]
        raise ValueError(f"joint {model.joint(joint).name!r} is driven by more than one actuator: {names}")
    return int(drives[0]) if len(drives) else -1


def _frozen(array: np.ndarray) -> np.ndarray:
    array = np.array(array)
    array.flags.writeable = False
    return array

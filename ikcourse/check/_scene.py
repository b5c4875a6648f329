"""The Panda in company: on a turned base, beside bodies that come first, so that no index equals another by chance."""

from __future__ import annotations

import functools

import mujoco
import numpy as np

from ikcourse import rotation, scenes
from ikcourse.arm import Arm

BASE = (0.8, 0.0, 0.36, 0.48)
"""Orientation of the base: world axes are not the base's."""


@functools.cache
def arm() -> Arm:
    """The Panda behind a ball joint and a driven hinge, which take joint ids 0 and 1, dofs 0 to 3, sites 0 and 1 and
    actuator 0.
    """
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for name, kind in (("ball", mujoco.mjtJoint.mjJNT_BALL), ("wheel", mujoco.mjtJoint.mjJNT_HINGE)):
        body = spec.worldbody.add_body(name=name, pos=[3, 0, 1])
        body.add_joint(name=name, type=kind, damping=1)
        body.add_site(name=name)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0, 0], mass=1, contype=0, conaffinity=0)
    wheel = spec.add_actuator(name="wheel", target="wheel", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    wheel.gainprm[0] = 1
    robot = mujoco.MjSpec.from_file(str(scenes.scene_folder() / "panda.xml"))
    mount = spec.worldbody.add_body(name="mount", quat=BASE)
    spec.attach(robot, frame=mount.add_frame(), prefix="arm/")
    joints = [f"arm/{name}" for name in scenes.PANDA_JOINTS]
    return Arm.from_model(spec.compile(), f"arm/{scenes.SITE}", joints, home="arm/home")


def posture(seed: int, near_limit: int = 0) -> np.ndarray:
    """Joint positions around home, (7,) [rad]; or the last joint just inside its upper (1) or lower (-1) limit."""
    a = arm()
    q = a.home + np.random.default_rng(seed).uniform(-0.4, 0.4, a.n)
    if near_limit:
        q[-1] = a.upper[-1] - 0.01 if near_limit > 0 else a.lower[-1] + 0.01
    return q


def data_at(q: np.ndarray) -> mujoco.MjData:
    """New data with the arm at q and its neighbours turned, kinematics current."""
    a, data = arm(), arm().data()
    data.qpos[:4] = rotation.quat_exp([0.5, -0.3, 0.7])
    data.qpos[4] = 0.6
    data.qpos[a.qpos_addresses] = q
    mujoco.mj_forward(a.model, data)
    return data

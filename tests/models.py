"""Small models and independent measurements that several test modules share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

import ikcourse as ik

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
"""Reference figures that only the tests read; absent from a clone."""

FLOATING = """
<mujoco>
  <option gravity="0 0 0"/>
  <worldbody>
    <body name="base" pos="0.3 -0.2 1.1">
      <freejoint name="base"/>
      <geom size="0.1" mass="2" contype="0" conaffinity="0"/>
      <body name="upper" pos="0.1 0.2 0.3" euler="20 -35 50">
        <joint name="shoulder" type="ball"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.03" contype="0" conaffinity="0"/>
        <body name="lower" pos="0 0 0.4" euler="-15 40 5">
          <joint name="slider" type="slide" axis="1 2 -1" range="-0.3 0.3"/>
          <joint name="elbow" axis="0.3 1 0.2"/>
          <geom size="0.05" mass="1" contype="0" conaffinity="0"/>
          <site name="tip" pos="1 2 -2" euler="10 70 -30"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
"""Every kind of joint in one chain, and a site 3 m from its body's centre of mass."""

SHUFFLED = """
<mujoco>
  <compiler angle="radian"/>
  <option integrator="implicitfast" gravity="0 0 0"/>
  <default><joint damping="20" armature="0.1"/><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body name="ball_before" pos="1 0 0">
      <joint name="socket" type="ball"/>
      <geom size="0.05" mass="0.1"/>
    </body>
    <body name="one">
      <joint name="one" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03"/>
      <body name="two" pos="0.5 0 0">
        <joint name="two" axis="0 1 0" range="-2 1"/>
        <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03"/>
        <body name="three" pos="0.5 0 0">
          <joint name="three" type="slide" axis="1 0 0" range="-0.1 0.4"/>
          <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
          <site name="tip" pos="0.3 0 0" quat="0.48 0.6 -0.64 0"/>
        </body>
      </body>
    </body>
    <body name="bystander" pos="0 2 0">
      <joint name="bystander" axis="0 0 1"/>
      <geom size="0.05" mass="0.1"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="zero"><joint joint="bystander" coef="1"/></fixed>
    <fixed name="both"><joint joint="one" coef="1"/><joint joint="two" coef="1"/></fixed>
  </tendon>
  <actuator>
    <position name="drives_three" joint="three" kp="100"/>
    <motor name="pulls_both" tendon="both"/>
    <position name="drives_one" joint="one" kp="300"/>
    <motor name="drives_bystander" joint="bystander"/>
    <position name="drives_two" joint="two" kp="200"/>
  </actuator>
  <keyframe>
    <key name="bent" qpos="1 0 0 0  0.1 -0.7 0.2  0" ctrl="0.2 0 0.1 0 -0.7"/>
    <key name="other" qpos="1 0 0 0  0.5 0.5 0.3  0"/>
  </keyframe>
</mujoco>
"""
"""Actuators in another order than their joints, a tendon whose id is a joint's id, a ball joint that comes first.

Joint ids: socket 0, one 1, two 2, three 3, bystander 4. Tendon ids: zero 0, both 1.
"""


def from_xml(xml: str, site: str = "tip", **names: object) -> ik.Arm:
    return ik.Arm.from_model(mujoco.MjModel.from_xml_string(xml), site, **names)  # type: ignore[arg-type]


def servo_arm(actuator: str, integrator: str = "implicitfast", timestep: float = 0.002) -> ik.Arm:
    """One hinge that carries a tip, driven by the given actuator element."""
    return from_xml(
        f"""
        <mujoco>
          <compiler angle="radian"/>
          <option integrator="{integrator}" timestep="{timestep}" gravity="0 0 0"/>
          <worldbody>
            <body>
              <joint name="hinge" axis="0 0 1" damping="0.1"/>
              <geom type="capsule" fromto="0 0 0 1 0 0" size="0.03" contype="0" conaffinity="0"/>
              <site name="tip" pos="1 0 0"/>
            </body>
          </worldbody>
          <actuator>{actuator}</actuator>
        </mujoco>
        """
    )


def mounted_panda(
    base_quaternion: tuple[float, float, float, float] = (1, 0, 0, 0),
    gravity: tuple[float, float, float] = (0, 0, -9.81),
    neighbours: bool = False,
    alter: Callable[[mujoco.MjSpec], None] = lambda robot: None,
) -> ik.Arm:
    """The built-in Panda on a body of the given orientation, no floor; `neighbours` adds free bodies around it."""
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.gravity = gravity

    def free_body(name: str, x: float) -> None:
        body = spec.worldbody.add_body(name=name, pos=[x, 0, 5], quat=[0.6, 0, 0.8, 0])
        body.add_freejoint(name=name)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0, 0], mass=1)

    robot = mujoco.MjSpec.from_file(str(ik.scenes.scene_folder() / "panda.xml"))
    alter(robot)
    if neighbours:
        free_body("before", 3)
    mount = spec.worldbody.add_body(name="mount", quat=base_quaternion)
    spec.attach(robot, frame=mount.add_frame(), prefix="arm/")
    if neighbours:
        free_body("after", -3)
    joints = [f"arm/joint{i}" for i in range(1, 8)]
    return ik.Arm.from_model(spec.compile(), "arm/end_effector", joints, home="arm/home")


def random_q(arm: ik.Arm, rng: np.random.Generator, count: int | None = None) -> np.ndarray:
    """Joint positions drawn evenly between the limits."""
    return rng.uniform(arm.lower, arm.upper, (arm.n,) if count is None else (count, arm.n))


def random_data(arm: ik.Arm, rng: np.random.Generator) -> mujoco.MjData:
    """Data in a random state: every joint of every kind moved far from its reference, kinematics current."""
    data = mujoco.MjData(arm.model)
    mujoco.mj_integratePos(arm.model, data.qpos, rng.normal(0, 2, arm.model.nv), 1.0)
    mujoco.mj_forward(arm.model, data)
    return data


def pose_of(arm: ik.Arm, data: mujoco.MjData) -> tuple[np.ndarray, Rotation]:
    """Position and rotation of the site, read from MuJoCo's matrix: no quaternion of ours is involved."""
    return data.site_xpos[arm.site].copy(), Rotation.from_matrix(data.site_xmat[arm.site].reshape(3, 3))


def differences(arm: ik.Arm, data: mujoco.MjData, step: float = 1e-5, dofs: np.ndarray | None = None) -> np.ndarray:
    """The site's Jacobian by central differences, with SciPy's rotations: (6, nv), or the columns of the given dofs."""
    positions, rotations = moved_poses(arm, data, step, np.arange(arm.model.nv) if dofs is None else dofs)
    turned = Rotation.from_matrix(rotations[0]) * Rotation.from_matrix(rotations[1]).inv()
    return np.concatenate([positions[0] - positions[1], turned.as_rotvec()], axis=1).T / (2 * step)


def moved_poses(arm: ik.Arm, data: mujoco.MjData, step: float, dofs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The site's positions (2, k, 3) and rotation matrices (2, k, 3, 3) with each dof moved by + step and by - step."""
    moved = mujoco.MjData(arm.model)
    positions, rotations = np.empty((2, len(dofs), 3)), np.empty((2, len(dofs), 3, 3))
    for column, dof in enumerate(dofs):
        direction = np.zeros(arm.model.nv)
        direction[dof] = 1
        for side, signed in enumerate((step, -step)):
            moved.qpos[:] = data.qpos
            mujoco.mj_integratePos(arm.model, moved.qpos, direction, signed)
            mujoco.mj_kinematics(arm.model, moved)
            positions[side, column] = moved.site_xpos[arm.site]
            rotations[side, column] = moved.site_xmat[arm.site].reshape(3, 3)
    return positions, rotations


def quaternion_of(rotation: Rotation) -> np.ndarray:
    """w, x, y, z."""
    return rotation.as_quat(scalar_first=True)

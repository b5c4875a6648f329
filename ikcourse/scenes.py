"""The arms of the course: the Panda on its stage, and planar arms of any number of links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from ikcourse.arm import Arm

SITE = "end_effector"
SITE_ON_HAND = (0.0, 0.0, 0.1)
"""Where the end-effector site sits in the hand's frame [m]."""
PANDA_JOINTS = tuple(f"joint{i}" for i in range(1, 8))
SOURCES = ("builtin", "menagerie")
ACTUATORS = ("position", "torque")


def scene_folder() -> Path:
    """The folder of the course's MJCF files: inside an installed package, beside it in a checkout."""
    package = Path(__file__).resolve().parent
    for folder in (package / "scene", package.parent / "scene"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the course's scenes are neither in {package} nor beside it; install ikcourse again")


def panda(source: str = "builtin", gravity_compensation: bool = False, actuators: str = "position") -> Arm:
    """The Panda on its stage (floor, light, mocap target), at home.

    Args:
        source: "builtin" is the course's own mesh-free Panda; "menagerie" takes the public meshes through the package
            `mujoco-menagerie`, which downloads them once or reads the folder named by MENAGERIE_ROOT.
        gravity_compensation: cancel gravity on every body of the arm, as the real arm's own controller does.
        actuators: "position" are the model's own servos; "torque" puts a motor in the place of each, with the same
            limits (87 N m in joints 1 to 4, 12 N m in joints 5 to 7), at rest in the keyframe.

    Raises:
        ValueError: source or actuators is neither of its two.
        RuntimeError: the public model can be neither found nor downloaded.
    """
    if source not in SOURCES:
        raise ValueError(f"source must be one of {list(SOURCES)}; got {source!r}")
    if actuators not in ACTUATORS:
        raise ValueError(f"actuators must be one of {list(ACTUATORS)}; got {actuators!r}")
    stage = (scene_folder() / "panda_ik.xml").read_text(encoding="utf-8")
    robot, meshes = _menagerie_panda() if source == "menagerie" else ((scene_folder() / "panda.xml").read_bytes(), {})
    spec = mujoco.MjSpec.from_string(stage, include={"panda.xml": robot}, assets=meshes)
    if spec.site(SITE) is None:
        spec.body("hand").add_site(name=SITE, pos=SITE_ON_HAND)
    for body in spec.body("link0").find_all("body"):
        body.gravcomp = float(gravity_compensation)
    if actuators == "torque":
        _servos_to_motors(spec)
    return Arm.from_model(spec.compile(), SITE, PANDA_JOINTS, home="home")


def planar2() -> Arm:
    """The planar arm of two one-metre links with position actuators, at home: `scene/planar2.xml`."""
    return Arm.from_model(mujoco.MjModel.from_xml_path(str(scene_folder() / "planar2.xml")), SITE, home="home")


def planar(n: int = 2, lengths: float | Sequence[float] = 1.0) -> Arm:
    """A planar arm in the x-y plane: n hinges about z, straight along x at home, no gravity, no actuators.

    Args:
        n: number of links, at least one.
        lengths: length of every link, or one for each [m], > 0.

    Raises:
        ValueError: n or a length is out of its range, or the number of lengths is not n.
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"n must be a whole number of links, at least 1; got {n!r}")
    try:
        links = np.broadcast_to(np.asarray(lengths, float), (n,))
    except ValueError:
        raise ValueError(f"lengths must be one number or {n}, one for each link; got {lengths}") from None
    if not (np.isfinite(links).all() and (links > 0).all()):
        raise ValueError(f"every length must be positive and finite [m]; got {lengths}")
    spec = mujoco.MjSpec()
    spec.modelname = f"planar{n}"
    spec.option.gravity = np.zeros(3)
    body, start = spec.worldbody, 0.0
    for i, length in enumerate(links.tolist(), start=1):
        body = body.add_body(name=f"link{i}", pos=[start, 0, 0])
        body.add_joint(name=f"joint{i}", axis=[0, 0, 1])
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=[0, 0, 0, length, 0, 0],
            size=[0.04, 0, 0],
            contype=0,
            conaffinity=0,
        )
        start = length
    body.add_site(name=SITE, pos=[start, 0, 0])
    return Arm.from_model(spec.compile(), SITE)


def _servos_to_motors(spec: mujoco.MjSpec) -> None:
    """Make the actuator of every joint of the arm a motor that keeps its force limit."""
    control = np.array(spec.key("home").ctrl)
    for i, servo in enumerate(spec.actuators):
        if servo.target in PANDA_JOINTS:
            servo.set_to_motor()
            servo.ctrlrange = servo.forcerange
            control[i] = 0.0
    spec.key("home").ctrl = control


def _menagerie_panda() -> tuple[bytes, dict[str, bytes]]:
    """The public model's XML, and the meshes that it names."""
    try:
        import mujoco_menagerie
    except ImportError:
        raise RuntimeError("source='menagerie' needs a package: pip install mujoco-menagerie") from None
    try:
        files = mujoco_menagerie.get("franka_emika_panda").assets("panda")
    except (mujoco_menagerie.MenagerieError, OSError) as error:
        raise RuntimeError(
            f"the public Panda can be neither found nor downloaded ({error}). Point MENAGERIE_ROOT at a folder that "
            "holds franka_emika_panda/, connect to the network once, or use source='builtin'."
        ) from error
    return files.pop("panda.xml"), files

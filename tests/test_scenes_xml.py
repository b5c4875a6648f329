"""The MJCF scenes themselves, loaded by MuJoCo alone: published constants, home, contacts, the planar Jacobian."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
SCENE = ROOT / "scene"
PUBLIC = ROOT.parent / "shared" / "menagerie" / "franka_emika_panda" / "panda.xml"

LINKS = [*(f"link{i}" for i in range(8)), "hand", "left_finger", "right_finger"]
JOINTS = [*(f"joint{i}" for i in range(1, 8)), "finger_joint1", "finger_joint2"]
ACTUATORS = [f"actuator{i}" for i in range(1, 9)]
HOME_QPOS = [0, 0, 0, -1.57079, 0, 1.57079, -0.7853, 0.04, 0.04]
HOME_CTRL = [0, 0, 0, -1.57079, 0, 1.57079, -0.7853, 255]

# What decides the motion, in the compiled model: all of it has to be the public Panda's.
DYNAMICS = [
    "body_parentid", "body_pos", "body_quat", "body_mass", "body_ipos", "body_iquat", "body_inertia",
    "jnt_type", "jnt_pos", "jnt_axis", "jnt_range", "jnt_limited", "jnt_solref", "jnt_solimp", "jnt_margin",
    "dof_armature", "dof_damping", "dof_frictionloss", "qpos0",
    "actuator_trntype", "actuator_gear", "actuator_gaintype", "actuator_biastype", "actuator_gainprm",
    "actuator_biasprm", "actuator_ctrlrange", "actuator_forcerange",
    "tendon_range", "wrap_type", "wrap_prm", "eq_type", "eq_data", "eq_solref", "eq_solimp", "key_qpos", "key_ctrl",
]  # fmt: skip


def load(name: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(SCENE / name))


def at_home(model: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
    return data


def names(model: mujoco.MjModel, kind: str, count: int) -> list[str]:
    return [getattr(model, kind)(i).name for i in range(count)]


def touching(model: mujoco.MjModel, qpos: np.ndarray) -> set[tuple[str, ...]]:
    """The pairs of bodies in contact at qpos."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    bodies = [model.geom_bodyid[[c.geom1, c.geom2]] for c in data.contact[: data.ncon]]
    return {tuple(sorted(model.body(i).name for i in pair)) for pair in bodies}


@pytest.fixture(scope="module")
def panda() -> mujoco.MjModel:
    return load("panda.xml")


@pytest.fixture(scope="module")
def panda_ik() -> mujoco.MjModel:
    return load("panda_ik.xml")


@pytest.fixture(scope="module")
def planar2() -> mujoco.MjModel:
    return load("planar2.xml")


@pytest.fixture(scope="module")
def public() -> mujoco.MjModel:
    if not PUBLIC.is_file():
        pytest.skip("the public Panda is not beside this checkout (../shared/menagerie)")
    return mujoco.MjModel.from_xml_path(str(PUBLIC))


def test_the_panda_has_the_public_names(panda: mujoco.MjModel) -> None:
    assert names(panda, "body", panda.nbody) == ["world", *LINKS]
    assert names(panda, "joint", panda.njnt) == JOINTS
    assert names(panda, "actuator", panda.nu) == ACTUATORS


def test_the_panda_has_the_published_constants(panda: mujoco.MjModel) -> None:
    masses = [0.629769, 4.970684, 0.646926, 3.228604, 3.587895, 1.225946, 1.666555, 0.735522, 0.73, 0.015, 0.015]
    assert np.array_equal(panda.body_mass[1:], masses)
    limits = [2.8973, 1.7628, 2.8973, None, 2.8973, None, 2.8973]
    for i, limit in enumerate(limits):
        if limit is not None:
            assert np.array_equal(panda.jnt_range[i], [-limit, limit])
    assert np.array_equal(panda.jnt_range[3], [-3.0718, -0.0698])
    assert np.array_equal(panda.jnt_range[5], [-0.0175, 3.7525])
    assert np.array_equal(panda.jnt_range[7:], [[0, 0.04]] * 2)
    assert (panda.dof_armature == 0.1).all()
    assert (panda.dof_damping == 1).all()

    gains = np.array([4500, 4500, 3500, 3500, 2000, 2000, 2000.0])
    assert np.array_equal(panda.actuator_gainprm[:7, 0], gains)
    assert np.array_equal(panda.actuator_biasprm[:7, :3], np.stack([0 * gains, -gains, -gains / 10], axis=1))
    forces = np.array([87, 87, 87, 87, 12, 12, 12.0])
    assert np.array_equal(panda.actuator_forcerange[:7], np.stack([-forces, forces], axis=1))
    assert np.array_equal(panda.actuator_ctrlrange[:7], panda.jnt_range[:7])


def test_identified_inertias_survive_the_compiler(panda: mujoco.MjModel) -> None:
    """MuJoCo keeps principal axes; turned back into the link's frame they are the numbers that were identified."""
    identified = {
        "link1": [0.70337, 0.70661, 0.0091170, -0.00013900, 0.0067720, 0.019169],
        "link2": [0.0079620, 2.8110e-2, 2.5995e-2, -3.925e-3, 1.0254e-2, 7.04e-4],
        "link3": [3.7242e-2, 3.6155e-2, 1.083e-2, -4.761e-3, -1.1396e-2, -1.2805e-2],
        "link4": [2.5853e-2, 1.9552e-2, 2.8323e-2, 7.796e-3, -1.332e-3, 8.641e-3],
        "link5": [3.5549e-2, 2.9474e-2, 8.627e-3, -2.117e-3, -4.037e-3, 2.29e-4],
        "link6": [1.964e-3, 4.354e-3, 5.433e-3, 1.09e-4, -1.158e-3, 3.41e-4],
        "link7": [1.2516e-2, 1.0027e-2, 4.815e-3, -4.28e-4, -1.196e-3, -7.41e-4],
    }
    for name, (xx, yy, zz, xy, xz, yz) in identified.items():
        body = panda.body(name)
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, body.iquat)
        axes = rotation.reshape(3, 3)
        inertia = axes @ np.diag(body.inertia) @ axes.T
        np.testing.assert_allclose(inertia, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], atol=1e-9, rtol=0)


@pytest.mark.parametrize("field", DYNAMICS)
def test_dynamics_equal_the_public_model(panda: mujoco.MjModel, public: mujoco.MjModel, field: str) -> None:
    ours, theirs = getattr(panda, field), getattr(public, field)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["panda.xml", "panda_ik.xml", "planar2.xml"])
def test_scenes_need_no_file_but_their_own(name: str) -> None:
    model = load(name)
    assert model.nmesh == model.nhfield == model.nskin == 0
    assert set(model.geom_type.tolist()).isdisjoint({mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_SDF})


def test_shells_are_seen_and_hulls_are_hit(panda: mujoco.MjModel) -> None:
    shells, hulls = panda.geom_group == 2, panda.geom_group == 3
    assert (shells | hulls).all()
    assert not panda.geom_contype[shells].any()
    assert not panda.geom_conaffinity[shells].any()
    assert (panda.geom_contype[hulls] == 1).all()
    assert (panda.geom_conaffinity[hulls] == 1).all()
    for name in LINKS:
        of_body = panda.geom_bodyid == panda.body(name).id
        assert (of_body & shells).any(), f"{name} is invisible"
        assert (of_body & hulls).any(), f"{name} cannot be hit"


def test_fingers_move_together_and_one_drive_moves_both(panda: mujoco.MjModel) -> None:
    data = at_home(panda)
    data.ctrl[7] = 0
    for _ in range(1000):
        mujoco.mj_step(panda, data)
        assert abs(data.qpos[7] - data.qpos[8]) < 1e-3
    assert abs(data.qpos[7:]).max() < 2e-3


@pytest.mark.parametrize("name", ["panda.xml", "panda_ik.xml"])
def test_end_effector_site_sits_on_the_hand(name: str) -> None:
    model = load(name)
    site = model.site("end_effector")
    assert model.body(site.bodyid.item()).name == "hand"
    assert np.array_equal(site.pos, [0, 0, 0.1])
    assert np.array_equal(site.quat, [1, 0, 0, 0])


@pytest.mark.parametrize("name", ["panda.xml", "panda_ik.xml"])
def test_home_has_every_coordinate(name: str) -> None:
    model = load(name)
    assert names(model, "key", model.nkey) == ["home"]
    assert np.array_equal(model.key("home").qpos, HOME_QPOS)
    assert np.array_equal(model.key("home").ctrl, HOME_CTRL)
    assert not model.key("home").qvel.any()


def test_target_waits_at_the_end_effector(panda_ik: mujoco.MjModel) -> None:
    data = at_home(panda_ik)
    site = data.site("end_effector")
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, site.xmat)
    mocap = panda_ik.body("target").mocapid.item()
    np.testing.assert_allclose(data.mocap_pos[mocap], site.xpos, atol=1e-8)
    assert abs(abs(data.mocap_quat[mocap] @ quat) - 1) < 1e-12


def test_target_can_be_picked_and_not_hit(panda_ik: mujoco.MjModel) -> None:
    of_target = panda_ik.geom_bodyid == panda_ik.body("target").id
    assert not panda_ik.geom_contype[of_target].any()
    assert not panda_ik.geom_conaffinity[of_target].any()

    # The ray of a click from the camera of the film hits the marker, not the arm around it.
    data = at_home(panda_ik)
    camera = panda_ik.camera("side").id
    hit = np.zeros(1, np.int32)
    along = data.body("target").xpos - data.cam_xpos[camera]
    mujoco.mj_ray(panda_ik, data, data.cam_xpos[camera], along, None, 1, -1, hit)
    assert of_target[hit[0]]


def test_the_stage_keeps_the_arms_physics(panda: mujoco.MjModel, panda_ik: mujoco.MjModel) -> None:
    assert panda_ik.opt.integrator == panda.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    assert panda_ik.opt.timestep == panda.opt.timestep == 0.002
    assert np.array_equal(panda_ik.opt.gravity, [0, 0, -9.81])
    for field in ("body_mass", "body_inertia", "body_iquat", "body_pos", "body_quat"):
        ours = getattr(panda_ik, field)[[panda_ik.body(name).id for name in LINKS]]
        assert np.array_equal(ours, getattr(panda, field)[1:]), field
    for field in ("jnt_range", "dof_armature", "dof_damping", "actuator_gainprm", "actuator_biasprm", "eq_data"):
        assert np.array_equal(getattr(panda_ik, field), getattr(panda, field)), field
    floor = panda_ik.geom("floor")
    assert floor.type.item() == mujoco.mjtGeom.mjGEOM_PLANE
    assert floor.pos[2] == 0


def test_nothing_touches_at_home(panda: mujoco.MjModel, panda_ik: mujoco.MjModel) -> None:
    assert at_home(panda).ncon == 0
    assert at_home(panda_ik).ncon == 0


def test_hulls_touch_nothing_near_home(panda_ik: mujoco.MjModel, rng: np.random.Generator) -> None:
    """A fitted shape that is too fat shows here first; the public hulls touch nothing within 0.5 rad of home either."""
    lower, upper = panda_ik.jnt_range[:7].T
    for _ in range(300):
        arm = np.clip(HOME_QPOS[:7] + rng.uniform(-0.5, 0.5, 7), lower, upper)
        assert touching(panda_ik, np.array([*arm, 0.04, 0.04])) == set()


def test_hulls_agree_with_the_public_hulls(
    panda: mujoco.MjModel, public: mujoco.MjModel, rng: np.random.Generator
) -> None:
    """Of 300 poses anywhere in the joint ranges, the two models disagree about which bodies touch in few."""
    lower, upper = panda.jnt_range[:7].T
    poses = [np.array([*rng.uniform(lower, upper), 0.04, 0.04]) for _ in range(300)]
    pairs = [(touching(panda, pose), touching(public, pose)) for pose in poses]
    assert sum(bool(theirs) for _, theirs in pairs) > 10
    assert sum(ours != theirs for ours, theirs in pairs) <= 0.04 * len(poses)


def test_a_folded_arm_lies_on_the_floor(panda_ik: mujoco.MjModel) -> None:
    """Where the damping study's collapsed arm comes to rest: the hand on the floor, below the forearm."""
    data = at_home(panda_ik)
    data.qpos[:7] = data.ctrl[:7] = [0, 1.7477, 0, -0.0698, 0, 0.2130, -0.7890]
    for _ in range(500):
        mujoco.mj_step(panda_ik, data)
    assert ("hand", "world") in touching(panda_ik, data.qpos)
    assert data.contact.dist[: data.ncon].min() > -2e-3


def test_planar_arm_cannot_move_along_itself(planar2: mujoco.MjModel) -> None:
    data = at_home(planar2)
    jacobian = np.zeros((3, planar2.nv))
    mujoco.mj_jacSite(planar2, data, jacobian, None, planar2.site("end_effector").id)
    assert np.array_equal(jacobian, [[0, 0], [2, 1], [0, 0]])
    assert np.array_equal(data.site("end_effector").xpos, [2, 0, 0])


def test_planar_arm_is_free_of_gravity_and_contact_and_its_servos_settle(planar2: mujoco.MjModel) -> None:
    assert not planar2.opt.gravity.any()
    assert not planar2.geom_contype.any()
    assert planar2.camera("top").id >= 0
    data = at_home(planar2)
    mujoco.mj_step(planar2, data, 500)
    assert not data.qpos.any()
    data.ctrl[:] = 0.5, -0.8
    peak = np.zeros(2)
    for _ in range(1000):
        mujoco.mj_step(planar2, data)
        peak = np.maximum(peak, np.abs(data.qpos))
    np.testing.assert_allclose(data.qpos, [0.5, -0.8], atol=1e-4)
    assert (peak < [0.55, 0.88]).all()

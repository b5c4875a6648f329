// An arm: a model, and what of it is controlled, as ikcourse/arm.py.

// Constants of MuJoCo that its JavaScript build names only as objects.
const OBJ_JOINT = 3;
const OBJ_SITE = 6;
const OBJ_KEY = 24;
const JOINT_TRANSMISSIONS = [0, 1]; // to the joint, and to the joint in its parent's frame
const SLIDE = 2;
const HINGE = 3;
const RK4 = 1;

/**
 * A model, and which of its joints, dofs, coordinates and actuators are controlled, every name resolved once.
 *
 * @param {object} mj the engine.
 * @param {Record<string, string>} files MJCF by file name: the model and what it includes.
 * @param {string} main the file to load.
 * @param {{site: string, joints: string[], home?: string}} names the end-effector site, the controlled joints
 *   from the base, and the keyframe that is home (without it: the model's reference configuration).
 * @returns {object} arm: mj, model, site, names, n, joints, dofs, qposAddresses, actuators, home (n,);
 *   lower, upper (n,): the joints' limits; setpointLower, setpointUpper (n,): the actuators', which are the
 *   joints' or a narrower ctrlrange; homeKey, timestep [s].
 * @throws {Error} a file does not load, a name does not exist, or a joint cannot be driven by this loop.
 */
export function loadArm(mj, files, main, { site, joints, home }) {
  const model = loadModel(mj, files, main);
  if (model.opt.integrator === RK4) {
    throw new Error("A control step is split in two, which RK4 does not allow; use implicitfast or Euler.");
  }
  const ids = joints.map((name) => idOf(mj, model, OBJ_JOINT, "joint", name));
  const homeKey = home === undefined ? -1 : idOf(mj, model, OBJ_KEY, "keyframe", home);
  const qposAddresses = ids.map((id) => model.jnt_qposadr[id]);
  const homeQpos = homeKey < 0 ? [...model.qpos0] : [...model.key_qpos.subarray(homeKey * model.nq)];
  const actuators = ids.map((id, i) => actuatorOf(model, id, joints[i]));
  const limits = ids.map((id) => limitsOf(model.jnt(id), "range", "limited"));
  const setpoints = actuators.map((id, i) => {
    const [low, high] = limitsOf(model.actuator(id), "ctrlrange", "ctrllimited");
    return [Math.max(limits[i][0], low), Math.min(limits[i][1], high)];
  });
  return {
    mj,
    model,
    site: idOf(mj, model, OBJ_SITE, "site", site),
    names: [...joints],
    n: ids.length,
    joints: ids,
    dofs: ids.map((id) => model.jnt_dofadr[id]),
    qposAddresses,
    actuators,
    home: Float64Array.from(qposAddresses, (address) => homeQpos[address]),
    lower: Float64Array.from(limits, ([low]) => low),
    upper: Float64Array.from(limits, ([, high]) => high),
    setpointLower: Float64Array.from(setpoints, ([low]) => low),
    setpointUpper: Float64Array.from(setpoints, ([, high]) => high),
    homeKey,
    timestep: model.opt.timestep,
  };
}

function loadModel(mj, files, main) {
  const vfs = new mj.MjVFS();
  const encoder = new TextEncoder();
  try {
    for (const [name, text] of Object.entries(files)) vfs.addBuffer(name, encoder.encode(text));
    return mj.MjModel.from_xml_path(main, vfs);
  } finally {
    vfs.delete();
  }
}

function idOf(mj, model, kind, word, name) {
  const id = mj.mj_name2id(model, kind, name);
  if (id < 0) throw new Error(`The model has no ${word} "${name}".`);
  return id;
}

function actuatorOf(model, joint, name) {
  if (model.jnt_type[joint] !== HINGE && model.jnt_type[joint] !== SLIDE) {
    throw new Error(`Joint "${name}" is neither a hinge nor a slide.`);
  }
  const drives = [];
  for (let i = 0; i < model.nu; i++) {
    const onJoint = JOINT_TRANSMISSIONS.includes(model.actuator_trntype[i]);
    if (onJoint && model.actuator_trnid[2 * i] === joint) drives.push(i);
  }
  if (drives.length !== 1) throw new Error(`Joint "${name}" needs one actuator; ${drives.length} drive it.`);
  return drives[0];
}

/** The range of a joint or an actuator, infinite where it has none. */
function limitsOf(named, range, limited) {
  const found = named[limited] ? [...named[range]] : [-Infinity, Infinity];
  named.delete();
  return found;
}

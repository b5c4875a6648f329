// The closed loop under physics, one control step a time step, as ikcourse/loop.py and track.py.

import { multiplyQuaternions, rotationError } from "./rotation.mjs";

export { loadArm } from "./arm.mjs";

// Warnings of MuJoCo, which resets a simulation that diverges, warns and goes on: unless asked, the run looks
// as if it had been sound.
const DIVERGED = [
  { warning: 3, what: "positions" },
  { warning: 4, what: "velocities" },
  { warning: 5, what: "accelerations" },
];

/**
 * An arm's simulation, and what its last control step measured.
 *
 * Arrays are refreshed in place: copy what you keep. World axes, linear before angular.
 *
 * arm, data: what is simulated.
 * q, qd: measured joint positions and velocities, (n,).
 * position, quaternion: pose of the site, (3,) [m] and (4,).
 * target: where it should be, {position, quaternion}.
 * jacobian: J, (6, n), row by row.
 * error: what is left to the target, (6,) [m] and [rad].
 * qdot: the command, within the speed bound, (n,).
 * setpoint: of the actuators, before their limits cut it, (n,); clipped: whether they did.
 * time: after the step [s].
 */
export class Simulation {
  #jacobianBuffers;
  #views = null;
  #warnings;
  #siteQuaternion;

  constructor(arm) {
    const { mj, model, n } = arm;
    this.arm = arm;
    this.data = new mj.MjData(model);
    this.q = new Float64Array(n);
    this.qd = new Float64Array(n);
    this.position = new Float64Array(3);
    this.quaternion = new Float64Array(4);
    this.jacobian = new Float64Array(6 * n);
    this.error = new Float64Array(6);
    this.target = { position: new Float64Array(3), quaternion: Float64Array.of(1, 0, 0, 0) };
    this.qdot = new Float64Array(n);
    this.setpoint = new Float64Array(n);
    this.clipped = false;
    this.time = 0;
    this.#jacobianBuffers = [new mj.DoubleBuffer(3 * model.nv), new mj.DoubleBuffer(3 * model.nv)];
    this.#warnings = this.data.warning; // the data's own: it goes with the data
    this.#siteQuaternion = model.site_quat.slice(4 * arm.site, 4 * arm.site + 4);
    this.reset();
  }

  /** Back to home, or to joint positions q (n,), at rest; the target goes where the tool then stands. */
  reset(q) {
    const { mj, model, n, homeKey, qposAddresses } = this.arm;
    if (q && !(q.length === n && q.every(Number.isFinite))) {
      throw new Error(`q must be ${n} finite joint positions; got ${q}.`);
    }
    if (homeKey >= 0) mj.mj_resetDataKeyframe(model, this.data, homeKey);
    else mj.mj_resetData(model, this.data);
    mj.mj_forward(model, this.data);
    if (q) {
      const { qpos } = this.#current();
      for (let i = 0; i < qposAddresses.length; i++) qpos[qposAddresses[i]] = q[i];
      mj.mj_forward(model, this.data);
    }
    this.qdot.fill(0);
    this.clipped = false;
    this.time = this.data.time;
    this.measure();
    this.setpoint.set(this.q);
    this.target.position.set(this.position);
    this.target.quaternion.set(this.quaternion);
    this.error.fill(0);
  }

  /** Refresh q, qd, the pose, J and e from the simulation, whose kinematics must be current. */
  measure() {
    const { mj, model, site, n, dofs, qposAddresses } = this.arm;
    mj.mj_jacSite(model, this.data, this.#jacobianBuffers[0], this.#jacobianBuffers[1], site);
    const { qpos, qvel, sitePosition, bodyQuaternion, linear, angular } = this.#current();
    const { q, qd, position, quaternion, jacobian, error, target } = this;
    const nv = linear.length / 3;
    for (let i = 0; i < n; i++) {
      q[i] = qpos[qposAddresses[i]];
      qd[i] = qvel[dofs[i]];
      for (let row = 0; row < 3; row++) {
        jacobian[row * n + i] = linear[row * nv + dofs[i]];
        jacobian[(row + 3) * n + i] = angular[row * nv + dofs[i]];
      }
    }
    for (let i = 0; i < 3; i++) {
      position[i] = sitePosition[i];
      error[i] = target.position[i] - position[i];
    }
    multiplyQuaternions(bodyQuaternion, this.#siteQuaternion, quaternion);
    rotationError(target.quaternion, quaternion, error);
  }

  /**
   * One control step, the order of which matters: refresh, measure and decide, set, integrate.
   *
   * The setpoint is built on the measured q: a leaky servo, which droops, creeps and lags.
   *
   * @param {(sim: Simulation) => void} law fills qdot, as `makeLaw` makes it.
   * @param {{integrationDt?: number, maxJointSpeed?: number | null}} [settings] integrationDt turns qdot into
   *   a setpoint [s]: a gain, not the time step. A qdot faster than maxJointSpeed [rad/s] is shortened as a
   *   whole; null is no bound.
   * @throws {Error} a setting is out of range, the law's answer is not finite, or the simulation diverged.
   */
  step(law, { integrationDt = 1, maxJointSpeed = null } = {}) {
    const { mj, model, n, actuators, setpointLower, setpointUpper } = this.arm;
    const { data, q, qdot, setpoint } = this;
    if (!(integrationDt > 0 && integrationDt < Infinity)) {
      throw new Error(`integrationDt must be positive and finite [s]; got ${integrationDt}.`);
    }
    if (maxJointSpeed !== null && !(maxJointSpeed > 0)) {
      throw new Error(`maxJointSpeed must be positive [rad/s], or null for no bound; got ${maxJointSpeed}.`);
    }
    // 1. Kinematics at the new state: after mj_step alone the site's pose is one step old.
    mj.mj_step1(model, data);

    // 2. Measure, and ask the law.
    this.measure();
    law(this);
    let fastest = 0;
    for (let i = 0; i < n; i++) {
      if (!Number.isFinite(qdot[i])) throw new Error("The law's answer is not finite.");
      fastest = Math.max(fastest, Math.abs(qdot[i]));
    }
    if (maxJointSpeed !== null && fastest > maxJointSpeed) {
      const ratio = fastest / maxJointSpeed;
      for (let i = 0; i < n; i++) qdot[i] /= ratio;
    }

    // 3. Setpoint of the position actuators, inside the joint limits.
    const { ctrl } = this.#current();
    this.clipped = false;
    for (let i = 0; i < n; i++) {
      setpoint[i] = q[i] + qdot[i] * integrationDt;
      const inside = Math.min(Math.max(setpoint[i], setpointLower[i]), setpointUpper[i]);
      if (inside !== setpoint[i]) this.clipped = true;
      ctrl[actuators[i]] = inside;
    }

    // 4. Integrate.
    mj.mj_step2(model, data);
    this.#requireProgress();
  }

  /** Write the joint positions as they stand now, after the step, at `offset` of an array. */
  readJoints(into, offset = 0) {
    const { qpos } = this.#current();
    const { qposAddresses } = this.arm;
    for (let i = 0; i < qposAddresses.length; i++) into[offset + i] = qpos[qposAddresses[i]];
  }

  /** Free the engine's memory; the simulation cannot be used any more. */
  dispose() {
    for (const buffer of this.#jacobianBuffers) buffer.delete();
    this.data.delete();
  }

  /** MuJoCo's reset puts the clock back: then, and in the first step, where that hides, ask for warnings. */
  #requireProgress() {
    const before = this.time;
    this.time = this.data.time;
    if (this.time > before && before > 0) return;
    for (const { warning, what } of DIVERGED) {
      const statistic = this.#warnings.get(warning);
      const { number } = statistic;
      statistic.delete();
      if (number > 0) {
        throw new Error(
          `The simulation diverged (joint ${what} that are not finite or too large); ` +
            `try a shorter time step than ${this.arm.timestep} s.`,
        );
      }
    }
  }

  /** Views of the engine's memory, taken anew when it has grown: the old ones are then empty. */
  #current() {
    if (this.#views === null || this.#views.qpos.length === 0) {
      const { data, arm } = this;
      const body = arm.model.site_bodyid[arm.site];
      this.#views = {
        qpos: data.qpos,
        qvel: data.qvel,
        ctrl: data.ctrl,
        sitePosition: data.site_xpos.subarray(3 * arm.site, 3 * arm.site + 3),
        bodyQuaternion: data.xquat.subarray(4 * body, 4 * body + 4),
        linear: this.#jacobianBuffers[0].GetView(),
        angular: this.#jacobianBuffers[1].GetView(),
      };
    }
    return this.#views;
  }
}

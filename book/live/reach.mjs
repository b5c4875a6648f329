// The course's experiment: out along the ray from the shoulder and back, and where the arm ended, as
// ikcourse/paths.py and ikcourse/studies/ends.py.

import { Simulation } from "./sim.mjs";
import { smallestSingularValue } from "./svd.mjs";

const OBJ_BODY = 1;
/** An elbow nearer to straight than this [rad] is on neither side. */
export const ELBOW_MARGIN = 0.1;
/** An arm rests where no joint moved faster than this [rad/s], on average over this long [s]. */
const REST_SPEED = 0.03;
const REST_TIME = 0.1;
/** A tool farther than this from its target [m], or turned farther [rad], has not come home. */
const HOME_ERROR = [0.1, 0.5];
/** Joints farther than this from home [rad], all together, have swivelled. */
const HOME_DISTANCE = 0.8;

/**
 * The reach: the tool goes out along the ray from the shoulder through its home and back, orientation held.
 *
 * The distance from the shoulder is d(t) = d_home + (reach - d_home) (1 - cos(2 pi t / duration)) / 2.
 *
 * @param {object} arm
 * @param {number} [reach] farthest distance from the shoulder [m].
 * @param {number} [duration] [s].
 * @returns {{steps: number, positions: Float64Array, quaternion: Float64Array}} the target's position in each
 *   control step, (steps, 3) [m], and its one orientation (4,).
 */
export function reachAndReturn(arm, reach = 0.7, duration = 6) {
  if (!(Number.isFinite(reach) && reach > 0)) {
    throw new Error(`reach must be positive and finite [m]; got ${reach}.`);
  }
  if (!(Number.isFinite(duration) && duration >= arm.timestep)) {
    throw new Error(`duration must be at least one time step, ${arm.timestep} s; got ${duration}.`);
  }
  const sim = new Simulation(arm);
  const shoulder = sim.data.xanchor.slice(3 * arm.joints[0], 3 * arm.joints[0] + 3);
  const { position: home, quaternion } = sim;
  const ray = home.map((value, i) => value - shoulder[i]);
  const distance = norm(ray);
  sim.dispose();
  if (distance === 0) throw new Error("The tool's home is at the shoulder: no direction to reach in.");
  const steps = Math.round(duration / arm.timestep);
  const positions = new Float64Array(3 * steps);
  for (let k = 0; k < steps; k++) {
    const along = ((reach - distance) / 2) * (1 - Math.cos(((2 * Math.PI) / duration) * (k * arm.timestep)));
    for (let i = 0; i < 3; i++) positions[3 * k + i] = home[i] + along * (ray[i] / distance);
  }
  return { steps, positions, quaternion };
}

/**
 * Follow a path, one control step a time step.
 *
 * @param {Simulation} sim it is reset first.
 * @param {{steps: number, positions: Float64Array, quaternion: Float64Array}} path
 * @param {(sim: Simulation) => void} law
 * @param {{integrationDt?: number, maxJointSpeed?: number | null}} [settings] as `Simulation.step`.
 * @param {{q?: Float64Array, sigmaMin?: boolean}} [options] q: where the joints start, (n,), by default home;
 *   sigmaMin: whether to keep the smallest singular value of each step.
 * @returns {object} of T steps: q (T + 1, n) [rad], where step k reads row k; errors (T, 6) that they used;
 *   speed (T,) of the fastest joint commanded [rad/s]; sigmaMin (T,) or null; clippedSteps, in which the
 *   limits cut a setpoint, and firstClip, the first of them or -1; drift, the farthest from home [rad];
 *   finalError and rmsError [m]; peakSpeed [rad/s]; end: {state, reason} of the Panda, null of another arm.
 * @throws {Error} as `Simulation.step`.
 */
export function runReach(sim, path, law, settings = {}, { q, sigmaMin = false } = {}) {
  const { arm } = sim;
  const { n } = arm;
  const { steps } = path;
  const run = {
    q: new Float64Array((steps + 1) * n),
    errors: new Float64Array(steps * 6),
    speed: new Float64Array(steps),
    sigmaMin: sigmaMin ? new Float64Array(steps) : null,
    clippedSteps: 0,
    firstClip: -1,
    drift: 0,
    finalError: 0,
    rmsError: 0,
    peakSpeed: 0,
    end: null,
  };
  sim.reset(q);
  sim.target.quaternion.set(path.quaternion);
  sim.readJoints(run.q, 0);
  let squares = 0;
  for (let k = 0; k < steps; k++) {
    for (let i = 0; i < 3; i++) sim.target.position[i] = path.positions[3 * k + i];
    sim.step(law, settings);
    run.errors.set(sim.error, 6 * k);
    sim.readJoints(run.q, (k + 1) * n);
    let away = 0;
    for (let i = 0; i < n; i++) {
      run.speed[k] = Math.max(run.speed[k], Math.abs(sim.qdot[i]));
      away += (run.q[(k + 1) * n + i] - arm.home[i]) ** 2;
    }
    run.drift = Math.max(run.drift, Math.sqrt(away));
    run.peakSpeed = Math.max(run.peakSpeed, run.speed[k]);
    squares += sim.error[0] ** 2 + sim.error[1] ** 2 + sim.error[2] ** 2;
    if (sigmaMin) run.sigmaMin[k] = smallestSingularValue(sim.jacobian, 6, n);
    if (sim.clipped) {
      run.clippedSteps++;
      if (run.firstClip < 0) run.firstClip = k;
    }
  }
  run.finalError = norm(sim.error.subarray(0, 3));
  run.rmsError = Math.sqrt(squares / steps);
  if (arm.names.includes("joint4")) run.end = endOf(arm, run, steps);
  return run;
}

function endOf(arm, run, steps) {
  const { n } = arm;
  const back = Math.min(Math.max(1, Math.round(REST_TIME / arm.timestep)), steps);
  let moved = 0;
  for (let i = n * steps; i < n * (steps + 1); i++) {
    moved = Math.max(moved, Math.abs(run.q[i] - run.q[i - n * back]));
  }
  const speed = moved / (back * arm.timestep);
  return decide(arm, run.q.subarray(n * steps), speed, run.errors.subarray(6 * (steps - 1)));
}

/**
 * Where the Panda ended, told by mechanism: on which side of its straight elbow it is, and whether it rests.
 *
 * @param {object} arm the Panda.
 * @param {Float64Array} q where it ended, (n,) [rad].
 * @param {number} speed of its fastest joint at the end [rad/s].
 * @param {Float64Array} error the last pose error, (6,) [m] and [rad].
 * @returns {{state: "healthy" | "collapse" | "undecided", reason: string}} why it is undecided, else empty:
 *   "moving", "elbow straight", "stalled" or "swivelled".
 * @throws {Error} a value is not finite, which no comparison would notice.
 */
export function decide(arm, q, speed, error) {
  if (!(q.every(Number.isFinite) && Number.isFinite(speed) && error.every(Number.isFinite))) {
    throw new Error(`An end needs finite joints, speed and error; got ${q}, ${speed} and ${error}.`);
  }
  const undecided = (reason) => ({ state: "undecided", reason });
  const pastStraight = q[elbowOf(arm)] - straightElbow(arm);
  const rests = speed < REST_SPEED;
  if (pastStraight > ELBOW_MARGIN) return rests ? { state: "collapse", reason: "" } : undecided("moving");
  if (pastStraight > -ELBOW_MARGIN) return undecided(rests ? "elbow straight" : "moving");
  if (norm(error.subarray(0, 3)) >= HOME_ERROR[0] || norm(error.subarray(3)) >= HOME_ERROR[1]) {
    return undecided(rests ? "stalled" : "moving");
  }
  if (norm(q.map((value, i) => value - arm.home[i])) > HOME_DISTANCE) return undecided("swivelled");
  return { state: "healthy", reason: "" };
}

/**
 * The angle of the Panda's joint 4 at which shoulder, elbow and wrist are farthest apart [rad]: -0.4670.
 *
 * The elbow's axis is offset from both links; it is straight where the two offsets' angles add up.
 */
export function straightElbow(arm) {
  elbowOf(arm);
  const forearm = offsetOf(arm, "link5");
  const upperArm = norm(offsetOf(arm, "link3"));
  return -(Math.atan2(offsetOf(arm, "link4")[0], upperArm) + Math.atan2(-forearm[0], forearm[1]));
}

/**
 * The farthest distance from the shoulder at which `reachAndReturn` asks for a pose that exists [m]: 0.69907.
 *
 * The wrist is carried along the ray with the tool, as far from it as at home, and comes no farther from the
 * shoulder than the two halves of a straight arm are long.
 */
export function farthestReach(arm) {
  elbowOf(arm);
  const sim = new Simulation(arm);
  const shoulder = sim.data.xanchor.slice(3 * arm.joints[0], 3 * arm.joints[0] + 3);
  const link5 = bodyOf(arm, "link5");
  const wrist = sim.data.xpos.slice(3 * link5, 3 * link5 + 3).map((value, i) => value - shoulder[i]);
  const ray = sim.position.map((value, i) => value - shoulder[i]);
  sim.dispose();
  const longest =
    Math.hypot(norm(offsetOf(arm, "link3")), offsetOf(arm, "link4")[0]) + norm(offsetOf(arm, "link5"));
  const distance = norm(ray);
  const along = (wrist[0] * ray[0] + wrist[1] * ray[1] + wrist[2] * ray[2]) / distance;
  return distance - along + Math.sqrt(along ** 2 - norm(wrist) ** 2 + longest ** 2);
}

/** Which of the arm's joints is the Panda's elbow, joint4. */
export function elbowOf(arm) {
  const elbow = arm.names.indexOf("joint4");
  if (elbow < 0) throw new Error(`The Panda's elbow is joint4; this arm has ${arm.names.join(", ")}.`);
  return elbow;
}

function bodyOf({ mj, model }, name) {
  const id = mj.mj_name2id(model, OBJ_BODY, name);
  if (id < 0) throw new Error(`The model has no body "${name}".`);
  return id;
}

function offsetOf(arm, name) {
  const body = bodyOf(arm, name);
  return arm.model.body_pos.slice(3 * body, 3 * body + 3);
}

function norm(vector) {
  let squared = 0;
  for (const value of vector) squared += value * value;
  return Math.sqrt(squared);
}

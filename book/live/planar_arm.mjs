/**
 * What a planar arm of two links can do in a posture, and chapter 1's loop that takes its tool to a target.
 *
 * There is no physics here: joint velocities are integrated as they are commanded. Lengths, limits and the
 * Jacobian are the model's, read through MuJoCo; the task is the first two rows of J, the linear velocity in
 * the plane.
 */

import { damped, svd } from "./dls.mjs";

/** The error is asked to vanish at this rate, K [1/s]. */
export const RATE = 20;

/** Joint velocities are scaled together until the fastest obeys [rad/s]. */
export const MAX_JOINT_SPEED = 5;

/** A tool as near to its target as this has arrived [m]. */
export const ARRIVED = 1e-4;

/** A slower command, of an arm that can only come to rest, has come to rest [rad/s]. */
const AT_REST = 1e-6;

/** The sum of the distances from joint to joint to tool [m], in any posture. */
export function reachOf(posture) {
  const points = [...posture.joints, posture.tool];
  return points.slice(1).reduce((sum, [x, y], i) => sum + Math.hypot(x - points[i][0], y - points[i][1]), 0);
}

/**
 * The arm at q.
 *
 * @param {object} sim a Simulation of scene/planar2.xml
 * @param {ArrayLike<number>} q joint angles, 2 [rad]
 * @returns {{q: number[], joints: number[][], tool: number[], jacobian: Float64Array, sigma: number[],
 *   directions: number[][]}} joints and tool are points (x, y) [m]; jacobian is J, 2 x 2 row-major [m]; sigma
 *   are its singular values [m], what is rounding counts as zero; directions are u1 and u2, (x, y) each.
 */
export function postureAt(sim, q) {
  sim.reset(q);
  const n = sim.arm.n;
  const jacobian = Float64Array.from([...sim.jacobian.subarray(0, 2), ...sim.jacobian.subarray(n, n + 2)]);
  const { left, sigma } = svd(jacobian, 2, 2);
  const tolerance = 2 * Number.EPSILON * sigma[0];
  const anchors = sim.data.xanchor;
  return {
    q: Array.from(q),
    joints: [0, 1].map((joint) => [anchors[3 * joint], anchors[3 * joint + 1]]),
    tool: [sim.position[0], sim.position[1]],
    jacobian,
    sigma: Array.from(sigma, (value) => (value > tolerance ? value : 0)),
    directions: [[left[0], left[1]], [left[2], left[3]]].map(pointingForward),
  };
}

/**
 * By how much each part of the error is multiplied, sigma / (sigma^2 + lambda^2) [rad/m].
 *
 * @param {number[]} sigma singular values [m]
 * @param {number} damping lambda [m], > 0
 */
export function filterFactors(sigma, damping) {
  return sigma.map((value) => value / (value * value + damping * damping));
}

/**
 * The joint velocity [rad/s] that the law asks for, scaled to MAX_JOINT_SPEED.
 *
 * @param {object} posture from `postureAt`
 * @param {number[]} target where the tool should be, (x, y) [m]
 * @param {number} damping lambda [m], > 0
 */
export function commandFor(posture, target, damping) {
  const velocity = Float64Array.from([0, 1], (row) => RATE * (target[row] - posture.tool[row]));
  const qdot = new Float64Array(posture.q.length);
  damped(posture.jacobian, velocity, damping, qdot);
  const fastest = Math.max(...qdot.map(Math.abs));
  return fastest > MAX_JOINT_SPEED ? qdot.map((speed) => (speed * MAX_JOINT_SPEED) / fastest) : qdot;
}

/**
 * Run the loop for some steps of the model's time step, or until there is nothing left to do.
 *
 * @param {object} sim a Simulation of scene/planar2.xml
 * @param {object} posture where it starts, from `postureAt`
 * @param {number[]} target (x, y) [m]
 * @param {number} damping lambda [m], > 0
 * @param {number} steps at most
 * @returns {{posture: object, resting: boolean}} resting once the tool has arrived or the joints stand still.
 */
export function follow(sim, posture, target, damping, steps) {
  const { lower, upper, timestep } = sim.arm;
  const outOfReach = distance(posture.joints[0], target) > reachOf(posture);
  for (let step = 0; step < steps; step++) {
    if (distance(posture.tool, target) < ARRIVED) return { posture, resting: true };
    const qdot = commandFor(posture, target, damping);
    const q = posture.q.map((angle, i) => clip(angle + timestep * qdot[i], lower[i], upper[i]));
    // A small command may be one that grows, as that of an arm almost straight does whose target is nearer.
    // Only an arm that has nowhere to go may stop early; any other goes on until the last digit of q stands.
    const slow = outOfReach || jointAtLimit(posture.q, sim.arm) >= 0 ? AT_REST * timestep : 0;
    const still = q.every((angle, i) => Math.abs(angle - posture.q[i]) <= slow);
    if (still) return { posture, resting: true };
    posture = postureAt(sim, q);
  }
  return { posture, resting: false };
}

/** The first joint that stands at one of its limits, {lower, upper} [rad]; -1 for none. */
export const jointAtLimit = (q, { lower, upper }) =>
  q.findIndex((angle, joint) => angle <= lower[joint] || angle >= upper[joint]);

/** Distance between two points (x, y) [m]. */
export const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** A number brought between two bounds. */
export const clip = (value, lower, upper) => Math.min(Math.max(value, lower), upper);

/** A direction or its opposite: whichever has its larger component positive, and no minus before a zero. */
function pointingForward(direction) {
  const larger = Math.abs(direction[0]) >= Math.abs(direction[1]) ? direction[0] : direction[1];
  return direction.map((component) => component * Math.sign(larger) + 0);
}

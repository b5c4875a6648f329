/** What the planar page says: numbers as a reader writes them, and sentences about the arm and its target. */

import {
  ARRIVED, commandFor, distance, filterFactors, jointAtLimit, MAX_JOINT_SPEED, RATE, reachOf,
} from "./planar_arm.mjs";

const NO_BREAK = "\u00a0";
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A number with so many significant digits, and a power of ten where it is large or small: 2.65 × 10⁻⁶. */
export function number(value, digits = 3) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const power = Math.floor(Math.log10(Math.abs(value)));
  if (power >= -3 && power < 4) return signed(value.toPrecision(digits));
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return `${signed(mantissa)}${NO_BREAK}×${NO_BREAK}10${powerOf(Number(exponent))}`;
}

/** A number with so many decimals, and no minus before a zero. */
export function fixed(value, decimals) {
  const text = value.toFixed(decimals);
  return signed(Number(text) === 0 ? text.replace("-", "") : text);
}

/** An exponent as superscript: -3 gives ⁻³. */
export const powerOf = (exponent) =>
  (exponent < 0 ? "⁻" : "") + String(Math.abs(exponent)).replace(/\d/g, (digit) => SUPERSCRIPTS[digit]);

/** A direction (x, y) in words, two decimals: (1, 0), (0.71, −0.71). */
export const direction = (components) =>
  `(${components.map((one) => signed(String(Number(one.toFixed(2)) + 0))).join(", ")})`;

/** Whether the arm has lost a direction or damping holds it back: sigma_2 < lambda. */
export const isOutOfRank = (posture, damping) => posture.sigma[1] < damping;

/** The state of the arm in one line. */
export function headline(posture, damping) {
  const [, weak] = posture.directions;
  if (posture.sigma[1] === 0) return `Out of rank: the direction ${direction(weak)} is missing`;
  if (isOutOfRank(posture, damping))
    return `Out of rank: σ₂ < λ, damping decides along ${direction(weak)}`;
  return "Full rank: every direction answers";
}

/** What the posture and the damping mean, in sentences. */
export function postureWords(posture, damping) {
  const [fast, slow] = posture.sigma;
  const factors = filterFactors(posture.sigma, damping);
  const weak =
    slow === 0
      ? `no joint velocity moves it along ${direction(posture.directions[1])}.`
      : `${withUnit(number(slow), "m/s")} in its slowest.`;
  return (
    `A joint velocity of norm ${withUnit(1, "rad/s")} moves the tool at ${withUnit(number(fast), "m/s")} ` +
    `in its fastest direction${slow === 0 ? ";" : " and at"} ${weak} ` +
    `An error of one metre is answered by ${number(factors[0])} ` +
    `and ${withUnit(number(factors[1]), "rad/s")}; ` +
    `no direction gets more than ${withUnit(number(1 / (2 * damping)), "rad/s")}.`
  );
}

/**
 * How the tool stands to its target, in a sentence; empty without a target.
 *
 * @param {object} posture from `postureAt`
 * @param {?number[]} target (x, y) [m]
 * @param {number} damping lambda [m]
 * @param {boolean} resting whether the loop has nothing left to do
 * @param {{lower: ArrayLike<number>, upper: ArrayLike<number>}} limits of the joints [rad]
 */
export function targetWords(posture, target, damping, resting, limits) {
  if (!target) return "";
  const error = distance(posture.tool, target);
  if (error < ARRIVED) return "The tool is at its target.";
  const qdot = commandFor(posture, target, damping);
  const away = `The tool is ${withUnit(fixed(error, 2), "m")} from its target`;
  const speed = withUnit(number(Math.hypot(...qdot), 2), "rad/s");
  if (!resting) return `${away}; the command has norm ${speed}.`;
  const stopped = jointAtLimit(posture.q, limits);
  if (distance(posture.joints[0], target) > reachOf(posture))
    return `${away} and rests: the target is out of reach.`;
  if (posture.sigma[1] === 0)
    return (
      `${away} and the command is zero: the error points along the missing direction. ` +
      "No damping changes that."
    );
  if (stopped >= 0) return `${away} and rests: joint ${stopped + 1} is at its limit.`;
  return `${away} and rests.`;
}

/** How the tool goes to a target, with the model's time step [s]. */
export const loopWords = (timestep) =>
  `The tool goes to a target by the chapter's loop, with K = ${RATE}/s ` +
  `and Δt = ${withUnit(number(timestep, 1), "s")}, no joint faster than ${withUnit(MAX_JOINT_SPEED, "rad/s")}; ` +
  "there is no physics here.";

const withUnit = (text, unit) => `${text}${NO_BREAK}${unit}`;
const signed = (text) => text.replace("-", "−");

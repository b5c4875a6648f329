// The control laws that the page offers, as ikcourse/laws.py: parameters that become, once checked, a step
// from what is measured to joint velocity. Each hands J and e to one formula of inverse.mjs.

import { adaptive, damped, dampedWithSecondary, transpose, truncated } from "./inverse.mjs";

export * from "./inverse.mjs";
export { smallestSingularValue, svd } from "./svd.mjs";

/** The parameters of each law where none are given: those of ikcourse's laws. */
export const LAW_DEFAULTS = {
  damped: { damping: 1e-2, nullspaceGain: 0 },
  adaptive: { threshold: 0.05, dampingMax: 0.05, dampingMin: 0 },
  truncated: { threshold: 1e-2 },
  transpose: { gain: null },
};

/**
 * A control law, as `Simulation.step` takes it: it reads what sim has measured and fills sim.qdot.
 *
 * @param {"damped" | "adaptive" | "truncated" | "transpose"} kind
 * @param {object} [parameters] damped: damping, nullspaceGain [1/s] (the pull towards home through the null
 *   space); adaptive: threshold, dampingMax, dampingMin; truncated: threshold; transpose: gain, null for the
 *   best step. Those left out take the values of ikcourse's laws.
 * @returns {(sim: object) => void}
 * @throws {Error} an unknown law, a parameter that the law would ignore, or a value out of its range.
 */
export function makeLaw(kind, parameters = {}) {
  if (!Object.hasOwn(LAW_DEFAULTS, kind)) {
    throw new Error(`There is no law "${kind}"; there are ${Object.keys(LAW_DEFAULTS).join(", ")}.`);
  }
  const defaults = LAW_DEFAULTS[kind];
  for (const [name, value] of Object.entries(parameters)) {
    if (!Object.hasOwn(defaults, name)) {
      throw new Error(`The law "${kind}" has no ${name}; it has ${Object.keys(defaults).join(", ")}.`);
    }
    if (!(value === null && defaults[name] === null) && !(Number.isFinite(value) && value >= 0)) {
      throw new Error(`${name} must be finite and not negative; got ${value}.`);
    }
  }
  return MAKERS[kind]({ ...defaults, ...parameters });
}

const MAKERS = {
  damped({ damping, nullspaceGain }) {
    if (nullspaceGain === 0) return (sim) => damped(sim.jacobian, sim.error, damping, sim.qdot);
    let z = new Float64Array(0);
    return (sim) => {
      const { q, qdot } = sim;
      if (z.length !== q.length) z = new Float64Array(q.length);
      for (let i = 0; i < q.length; i++) z[i] = nullspaceGain * (sim.arm.home[i] - q[i]);
      dampedWithSecondary(sim.jacobian, sim.error, z, damping, qdot);
    };
  },

  adaptive(parameters) {
    const { threshold, dampingMax, dampingMin } = parameters;
    if (!(threshold > 0)) throw new Error(`threshold must be positive; got ${threshold}.`);
    if (!(dampingMin <= dampingMax)) {
      throw new Error(`dampingMin must not exceed dampingMax; got ${dampingMin} and ${dampingMax}.`);
    }
    return (sim) => adaptive(sim.jacobian, sim.error, parameters, sim.qdot);
  },

  truncated({ threshold }) {
    return (sim) => truncated(sim.jacobian, sim.error, threshold, sim.qdot);
  },

  transpose({ gain }) {
    return (sim) => transpose(sim.jacobian, sim.error, gain, sim.qdot);
  },
};

// The worker: one reach a message, so that whoever asks owns the order and can stop between two runs.
//
// In: first {module, files}, the compiled engine and the scene's texts; then {id, reach, settings, record}.
// Out: {id, run} or {id, error}. A run carries its end; with `record` also q, and for each of its T steps
// the tool's distance from its target [m], the fastest joint [rad/s] and the elbow [rad].

import { loadEngine } from "./engine.mjs";
import { lawOf, loadPanda } from "./panda_arm.mjs";
import { elbowOf, reachAndReturn, runReach } from "./reach.mjs";
import { Simulation } from "./sim.mjs";

let simulation = null; // a promise of it

async function open({ module, files }) {
  return new Simulation(loadPanda(await loadEngine({ module }), files));
}

self.onmessage = async ({ data }) => {
  if (data.module) {
    simulation = open(data);
    simulation.catch(() => {}); // the first run that waits for it hears why
    return;
  }
  const { id, reach, settings, record } = data;
  try {
    const sim = await simulation;
    if (!sim) throw new Error("the engine did not reach the worker");
    const began = performance.now();
    const found = runReach(sim, reachAndReturn(sim.arm, reach), lawOf(settings), settings);
    const { end, finalError, drift, clippedSteps, firstClip } = found;
    const seconds = (performance.now() - began) / 1000;
    const run = { end, finalError, drift, clippedSteps, firstClip, seconds };
    self.postMessage({ id, run: record ? { ...run, ...recordOf(sim.arm, found) } : run });
  } catch (error) {
    self.postMessage({ id, error: String(error?.message ?? error) }); // the engine may throw a number
  }
};

function recordOf(arm, { q, errors, speed }) {
  const T = speed.length;
  const joint = elbowOf(arm);
  const steps = (value) => Float64Array.from({ length: T }, (_, k) => value(k));
  const elbow = steps((k) => q[k * arm.n + joint]);
  const positionError = steps((k) => Math.hypot(...errors.subarray(6 * k, 6 * k + 3)));
  return { T, q, speed, elbow, positionError };
}

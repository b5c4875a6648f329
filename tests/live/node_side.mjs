// The page's own modules, asked by the tests: a line of stdin is a JSON list of requests, answered by a line
// of stdout.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import * as laws from "../../book/live/dls.mjs";
import { loadEngine } from "../../book/live/engine.mjs";
import * as reach from "../../book/live/reach.mjs";
import { rotationError } from "../../book/live/rotation.mjs";
import { loadArm, Simulation } from "../../book/live/sim.mjs";

const mj = await loadEngine();
const scene = (name) => readFileSync(new URL(`../../scene/${name}`, import.meta.url), "utf8");
const PANDA_JOINTS = [1, 2, 3, 4, 5, 6, 7].map((i) => `joint${i}`);
const ARMS = {
  panda: { main: "panda_ik.xml", includes: ["panda.xml"], joints: PANDA_JOINTS },
  planar2: { main: "planar2.xml", includes: [], joints: ["joint1", "joint2"] },
};

/** Typed arrays as plain ones, which JSON writes as lists. */
function listed(arrays) {
  return Object.fromEntries(Object.entries(arrays).map(([key, array]) => [key, [...array]]));
}

const loaded = new Map();

/** An arm of ours, or the MJCF in `xml`; `names` overrides what is controlled. */
function armOf({ arm = "panda", xml, names = {} }) {
  const key = JSON.stringify([arm, xml, names]);
  if (!loaded.has(key)) {
    const { main, includes, joints: own } = ARMS[arm];
    const files = Object.fromEntries([main, ...includes].map((name) => [name, xml ?? scene(name)]));
    const { site = "end_effector", joints = own, home = "home" } = names;
    loaded.set(key, loadArm(mj, files, main, { site, joints, home: home ?? undefined }));
  }
  return loaded.get(key);
}

/** A law's function of the name on J and e, for each pair of them. */
function answers({ call, jacobians, errors, parameters = [], n }) {
  return jacobians.map((jacobian, i) => {
    const qdot = new Float64Array(n);
    laws[call](Float64Array.from(jacobian), Float64Array.from(errors[i]), ...parameters, qdot);
    return [...qdot];
  });
}

const WASM = new URL("../../book/live/node_modules/@mujoco/mujoco/mujoco.wasm", import.meta.url);
/** Ways to hand over the engine's code, sound and broken; the header alone is a module without a function. */
const HEADER = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
const CODE = {
  binary: () => ({ binary: readFileSync(WASM) }),
  module: () => ({ module: new WebAssembly.Module(readFileSync(WASM)) }),
  "cut short": () => ({ binary: readFileSync(WASM).subarray(0, 5000) }),
  "no engine": () => ({ module: new WebAssembly.Module(HEADER) }),
};

const TASKS = {
  answers,

  /** The time step of the planar arm, by an engine of its own. */
  async engine({ code, webAssembly = true }) {
    const kept = globalThis.WebAssembly;
    const given = CODE[code]();
    if (!webAssembly) delete globalThis.WebAssembly;
    try {
      const never = new Promise((_, reject) => setTimeout(reject, 20_000, new Error("no answer")).unref());
      const other = await Promise.race([loadEngine(given), never]);
      const files = { "planar2.xml": scene("planar2.xml") };
      return loadArm(other, files, "planar2.xml", { site: "end_effector", joints: [] }).timestep;
    } finally {
      globalThis.WebAssembly = kept;
    }
  },

  /** The same through `makeLaw`, in a state (q, home) that only the posture reads. */
  law({ kind, parameters, jacobians, errors, q, home, n }) {
    const law = laws.makeLaw(kind, parameters);
    return jacobians.map((jacobian, i) => {
      const sim = {
        jacobian: Float64Array.from(jacobian),
        error: Float64Array.from(errors[i]),
        q: Float64Array.from(q ?? []),
        arm: { home: Float64Array.from(home ?? []) },
        qdot: new Float64Array(n),
      };
      law(sim);
      return [...sim.qdot];
    });
  },

  svd({ jacobians, m, n }) {
    return jacobians.map((jacobian) => {
      const { sigma, left, right } = laws.svd(Float64Array.from(jacobian), m, n);
      return { sigma: [...sigma], left: [...left], right: [...right] };
    });
  },

  adaptiveDamping({ jacobians, m, n, parameters }) {
    return jacobians.map((J) => laws.adaptiveDamping(Float64Array.from(J), m, n, ...parameters));
  },

  rotationErrors({ targets, currents }) {
    return targets.map((target, i) => {
      const error = new Float64Array(6);
      rotationError(target, currents[i], error);
      return [...error.subarray(3)];
    });
  },

  arm(request) {
    const { n, names, dofs, actuators, timestep, ...arm } = armOf(request);
    const { home, lower, upper, setpointLower, setpointUpper } = arm;
    const limits = listed({ home, lower, upper, setpointLower, setpointUpper });
    return { n, names, dofs, actuators, timestep, ...limits };
  },

  geometry(request) {
    const arm = armOf(request);
    return { straightElbow: reach.straightElbow(arm), farthestReach: reach.farthestReach(arm) };
  },

  decide({ ends, ...request }) {
    const arm = armOf(request);
    return ends.map(({ q, speed, error }) =>
      reach.decide(arm, Float64Array.from(q), speed, Float64Array.from(error)),
    );
  },

  path({ distance, duration, ...request }) {
    const { steps, positions, quaternion } = reach.reachAndReturn(armOf(request), distance, duration);
    return { steps, positions: [...positions], quaternion: [...quaternion] };
  },

  /** The first `steps` of a run, by default all; in step `grow` memory is taken, so that the heap moves. */
  run({ kind = "damped", parameters, settings, distance, duration, options, steps, grow, ...request }) {
    return withSimulation(request, (sim) => {
      const law = laws.makeLaw(kind, parameters);
      const path = reach.reachAndReturn(sim.arm, distance, duration);
      const held = [];
      let taken = 0;
      const growing = (measured) => {
        const view = sim.data.qpos;
        if (grow && ++taken === grow) while (view.length > 0) held.push(new mj.DoubleBuffer(4_000_000));
        law(measured);
      };
      const run = reach.runReach(sim, { ...path, steps: steps ?? path.steps }, growing, settings, options);
      for (const buffer of held) buffer.delete();
      const { q, errors, speed, sigmaMin } = run;
      return { ...run, ...listed({ q, errors, speed, sigmaMin: sigmaMin ?? [] }) };
    });
  },

  /** Where two reaches end that one simulation runs after each other. */
  twice({ distance, duration, ...request }) {
    return withSimulation(request, (sim) => {
      const path = reach.reachAndReturn(sim.arm, distance, duration);
      return [1, 2].map(() => [...reach.runReach(sim, path, laws.makeLaw("damped")).q]);
    });
  },

  /** What the simulation has measured at joint positions q, the target where it is told. */
  measure({ q, target, ...request }) {
    return withSimulation(request, (sim) => {
      sim.reset(q?.map(Number));
      if (!target) return listed({ position: sim.position, target: sim.target.position, error: sim.error });
      sim.target.position.set(target.position);
      sim.target.quaternion.set(target.quaternion);
      sim.measure();
      const { position, quaternion, jacobian, error } = sim;
      return listed({ q: sim.q, position, quaternion, jacobian, error });
    });
  },

  /** One step under a law that answers `qdot`, after `before` steps at rest and with a new qpos or qvel. */
  step({ qdot, qpos, qvel, before = 0, settings, ...request }) {
    return withSimulation(request, (sim) => {
      for (let k = 0; k < before; k++) sim.step((measured) => measured.qdot.fill(0), settings);
      if (qpos) sim.data.qpos.set(qpos);
      if (qvel) sim.data.qvel.set(qvel);
      sim.step((measured) => measured.qdot.set(qdot.map(Number)), settings);
      const { clipped, time } = sim;
      return { clipped, time, ...listed({ qdot: sim.qdot, setpoint: sim.setpoint, ctrl: sim.data.ctrl }) };
    });
  },
};

function withSimulation(request, use) {
  const sim = new Simulation(armOf(request));
  try {
    return use(sim);
  } finally {
    sim.dispose();
  }
}

/** JSON has no infinity and no NaN: they go as words. */
function finiteOrWord(_key, value) {
  return typeof value === "number" && !Number.isFinite(value) ? `${value}` : value;
}

for await (const line of createInterface({ input: process.stdin })) {
  const replies = [];
  for (const { task, ...request } of JSON.parse(line)) {
    try {
      replies.push({ answer: await TASKS[task](request) });
    } catch (error) {
      replies.push({ error: error.message });
    }
  }
  process.stdout.write(`${JSON.stringify({ replies }, finiteOrWord)}\n`);
}

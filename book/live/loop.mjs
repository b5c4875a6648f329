// Real time: control steps from animation frames, only while something moves and somebody may be looking.

const MOST_STEPS = 25; // in a frame: a slower page runs slower, and never catches up
const SAMPLE = 10; // control steps between two samples
const RESTS = 5e-4; // [rad/s]: slower joints move nothing that can be seen
const RESTS_FOR = 1; // [s]
const FRAMES_KEPT = 240;

/**
 * The loop of the page. A reader who asked for less motion sees it run only after a deed of his own.
 *
 * @param {object} sim - the simulation.
 * @param {object} settings - of `Simulation.step`.
 * @param {{sampled: (fastest: number, clipped: boolean) => void, draw: (now: number) => void,
 *   stopped: (error: Error) => void}} told
 *   sampled: every 10 control steps, with the largest commanded joint speed [rad/s] since the last time, and
 *   whether a setpoint was clipped; draw: in a frame in which something has changed; stopped: a step threw.
 * @returns {object} wake(): something is to be done; redraw(): something is to be seen; setLaw, setPaused,
 *   setHeld, setUnseen; reset(): the simulation too; stops: why it may not run; steps, running, and framesMs,
 *   the lengths of the last frames [ms].
 */
export function makeLoop(sim, settings, told) {
  let law = null;
  let frame = 0;
  let before = 0;
  let owed = 0; // control steps, with a fraction
  let steps = 0;
  let fastest = 0;
  let clipped = false;
  let movedAt = 0; // simulated time of the last motion that can be seen
  let dirty = true;
  let resting = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const stops = { paused: false, failed: false, held: false, unseen: false };
  const framesMs = [];

  const running = () => !resting && !document.hidden && !Object.values(stops).some(Boolean);

  function redraw() {
    dirty = true;
    frame ||= requestAnimationFrame(tick);
  }

  function tick(now) {
    frame = 0;
    if (running()) {
      if (before) {
        framesMs.push(now - before);
        if (framesMs.length > FRAMES_KEPT) framesMs.shift();
        advance((now - before) / 1000);
      }
      before = now;
      dirty = true;
    } else before = 0;
    if (dirty) told.draw(now);
    dirty = false;
    if (running()) frame ||= requestAnimationFrame(tick);
  }

  function advance(seconds) {
    owed = Math.min(owed + seconds / sim.arm.timestep, MOST_STEPS);
    try {
      for (; owed >= 1; owed--) step();
    } catch (error) {
      stops.failed = true;
      told.stopped(error);
    }
  }

  function step() {
    sim.step(law, settings);
    steps++;
    for (let i = 0; i < sim.qdot.length; i++) {
      fastest = Math.max(fastest, Math.abs(sim.qdot[i]));
      if (Math.abs(sim.qd[i]) > RESTS) movedAt = sim.time;
    }
    clipped ||= sim.clipped;
    resting = sim.time - movedAt > RESTS_FOR;
    if (steps % SAMPLE) return;
    told.sampled(fastest, clipped);
    fastest = 0;
    clipped = false;
  }

  function wake() {
    resting = false;
    movedAt = sim.time;
    redraw();
  }

  const stop = (name) => (value) => {
    stops[name] = value;
    redraw();
  };
  document.addEventListener("visibilitychange", redraw);

  return {
    wake,
    redraw,
    setLaw: (value) => (law = value),
    setPaused: stop("paused"),
    setHeld: stop("held"),
    setUnseen: stop("unseen"),
    reset() {
      sim.reset();
      Object.assign(stops, { failed: false, held: false, paused: false });
      [owed, fastest, clipped] = [0, 0, false];
      wake();
    },
    stops,
    framesMs,
    get steps() {
      return steps;
    },
    get running() {
      return running();
    },
  };
}

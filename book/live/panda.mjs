// The Panda page: the arm follows the reader's target in real time, under the reader's law and settings.

import armText from "../../scene/panda.xml";
import stageText from "../../scene/panda_ik.xml";
import { DEFAULTS, makeControls } from "./controls.mjs";
import { smallestSingularValue } from "./dls.mjs";
import { loadEngine } from "./engine.mjs";
import { makeLoop } from "./loop.mjs";
import { speakWithTheBook, unpackEngine } from "./page.mjs";
import { lawOf, loadPanda } from "./panda_arm.mjs";
import { makePicture } from "./picture.mjs";
import { elbowOf, straightElbow } from "./reach.mjs";
import { makeReadouts, makeSpeaker, rankOf } from "./readouts.mjs";
import { mountReplay } from "./replay.mjs";
import { Simulation } from "./sim.mjs";
import { makeTraces } from "./trace.mjs";
import { signed } from "./words.mjs";

const WRITE = 100; // [ms] between two changes of the digits, which an eye must be able to read
const WORDS_AFTER = 1500; // [ms] after the last key or drag the target's place is said
const STRIPS = [
  { name: "position error", unit: "[mm]", low: 0.1, high: 1000 },
  { name: "largest joint speed", unit: "[rad/s], commanded", low: 0.001, high: 1000 },
  { name: "smallest singular value", unit: "σ_min", low: 1e-6, high: 1 },
];

const WELCOME = "Pull the orange cube, or click the picture and press the arrow keys: the arm follows.";

const byId = (id) => document.getElementById(id);
const files = { "panda.xml": armText, "panda_ik.xml": stageText };

/** Everything that follows from the engine: the page as it is used. */
function start(arm, module) {
  const sim = new Simulation(arm);
  const settings = { ...DEFAULTS };
  const elbow = elbowOf(arm);
  const say = makeSpeaker(byId("status"));
  const readouts = makeReadouts(byId, straightElbow(arm), say);
  const traces = makeTraces(byId("trace"), STRIPS);
  let words = 0; // the timer of what will be said of the target
  let sigmaMin = smallestSingularValue(sim.jacobian, 6, arm.n);
  let written = { at: -Infinity, speed: 0, clipped: false }; // since the digits were last written

  const loop = makeLoop(sim, settings, {
    sampled(speed, clipped) {
      sigmaMin = smallestSingularValue(sim.jacobian, 6, arm.n);
      traces.push(sim.time, [1000 * Math.hypot(...sim.error.subarray(0, 3)), speed, sigmaMin]);
      written.speed = Math.max(written.speed, speed);
      written.clipped ||= clipped;
    },
    draw(now) {
      if (loop.stops.held) return; // the replay draws
      picture.draw(sim.data, sim.target, sim.position);
      const rank = rankOf(settings, sigmaMin);
      readouts.states({ time: sim.time, rank, elbow: sim.q[elbow] });
      traces.draw([null, null, rank.limit === null ? null : { value: rank.limit, name: rank.name }]);
      if (loop.running && now - written.at < WRITE) return;
      readouts.numbers({ ...written, error: sim.error, sigmaMin, elbow: sim.q[elbow] });
      written = { at: now, speed: 0, clipped: false };
    },
    stopped(error) {
      clearTimeout(words);
      byId("pause").disabled = true;
      say(`The simulation stopped, and Reset puts the arm back. ${error.message}`);
    },
  });

  const settingsListeners = [];
  const takenBackListeners = [];
  const useLaw = () => loop.setLaw(lawOf(settings));
  const controls = makeControls(byId("controls"), settings, () => {
    useLaw();
    loop.wake();
    for (const listener of settingsListeners) listener();
  });
  useLaw();

  const picture = makePicture(byId, arm, sim.target, {
    redraw: loop.redraw,
    reset,
    moved(stopped) {
      takeBack();
      loop.wake();
      clearTimeout(words);
      if (loop.stops.failed) return; // what is said then must stay
      if (stopped) say(stopped, true);
      else words = setTimeout(() => say(targetWords(sim, readouts.state())), WORDS_AFTER);
    },
  });

  function reset() {
    clearTimeout(words);
    takeBack();
    loop.reset();
    picture.retarget(); // now: the next key may come before the next frame
    sigmaMin = smallestSingularValue(sim.jacobian, 6, arm.n);
    written = { at: -Infinity, speed: 0, clipped: false };
    readouts.forget();
    traces.clear();
    byId("pause").disabled = false;
    showPaused();
    say("The arm and its target are back where they began.");
  }

  function showPaused() {
    byId("pause").textContent = loop.stops.paused ? "Go on" : "Pause";
    if (loop.stops.paused) say("Paused. The target can still be moved.");
  }

  const resume = () => loop.setHeld(false);

  /** The reader's hand ends a replay. */
  function takeBack() {
    if (!loop.stops.held) return;
    for (const listener of takenBackListeners) listener();
    resume();
  }

  byId("reset").addEventListener("click", reset);
  byId("pause").addEventListener("click", () => {
    loop.setPaused(!loop.stops.paused);
    showPaused();
  });
  watchVisible(["stage", "controls", "traces"].map(byId), (visible) => loop.setUnseen(!visible));
  new ResizeObserver(loop.redraw).observe(byId("traces"));
  speakWithTheBook(() => {
    picture.setTheme();
    traces.setColours();
    loop.redraw();
  });

  const { mj, model } = arm;
  const pose = new mj.MjData(model); // the replay's own: the live arm stays where it is
  const live = {
    mj, arm, files, module, settings, resume, say,
    set: controls.set,
    onSettings: (listener) => settingsListeners.push(listener),
    onResume: (listener) => takenBackListeners.push(listener),
    showPose(q, position, quaternion) {
      loop.setHeld(true);
      mj.mj_resetDataKeyframe(model, pose, arm.homeKey);
      arm.qposAddresses.forEach((address, joint) => (pose.qpos[address] = q[joint]));
      mj.mj_kinematics(model, pose);
      picture.draw(pose, { position, quaternion }, pose.site_xpos.subarray(3 * arm.site, 3 * arm.site + 3));
    },
  };
  openReplay(live);
  loop.redraw();
  if (picture.scene) say(WELCOME);

  // For the tests and for the curious: the loop as it stands, to be read and not written.
  return {
    sim, settings, picture,
    framesMs: loop.framesMs,
    get steps() { return loop.steps; },
    get running() { return loop.running; },
  };
}

/** The replay is built when its part is first opened: by the reader, or by the address panda.html#map. */
function openReplay(live) {
  const part = byId("replay-part");
  part.addEventListener("toggle", () => part.open && mountReplay(byId("replay"), live), { once: true });
  const asAsked = () => (part.open ||= location.hash === "#map");
  addEventListener("hashchange", asAsked);
  asAsked();
}

/** Tell whether any of the elements is in view, whenever that changes. */
function watchVisible(elements, tell) {
  const inView = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) inView[isIntersecting ? "add" : "delete"](target);
    tell(inView.size > 0);
  });
  for (const element of elements) observer.observe(element);
}

function targetWords({ target, error }, state) {
  const round = (value) => Math.round(100 * value) / 100 + 0; // + 0: no minus before a zero
  const [x, y, z] = Array.from(target.position, (value) => signed(round(value), 2));
  const away = (1000 * Math.hypot(...error.subarray(0, 3))).toFixed(0);
  return `Target at (${x}, ${y}, ${z}) m: the hand is ${away} mm off${state && `, ${state}`}.`;
}

/** The page, or a plain sentence in its place. */
async function open() {
  try {
    const module = await unpackEngine();
    const page = start(loadPanda(await loadEngine({ module }), files), module);
    Object.defineProperties(globalThis.outOfRank, Object.getOwnPropertyDescriptors(page));
  } catch (error) {
    byId("stage-words").hidden = false; // it may have started, and then failed
    byId("stage-words").textContent = `The arm cannot be moved here. ${error.message}`;
    for (const part of document.querySelectorAll("[data-needs-engine]")) part.hidden = true;
    speakWithTheBook();
  }
}

globalThis.outOfRank = {};
globalThis.outOfRank.ready = open();

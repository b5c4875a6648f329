/** The planar page of chapter 1: bend the arm or pull its tool; see what it can do and what damping does. */

import xml from "../../scene/planar2.xml";

import { loadEngine } from "./engine.mjs";
import { speakWithTheBook, unpackEngine } from "./page.mjs";
import { ARRIVED, clip, distance, follow, postureAt, reachOf } from "./planar_arm.mjs";
import { filterBars } from "./planar_bars.mjs";
import { draggable, turnAbout } from "./planar_drag.mjs";
import { planePicture } from "./planar_picture.mjs";
import { showReadouts } from "./planar_readouts.mjs";
import { headline, isOutOfRank, loopWords, postureWords, targetWords } from "./planar_words.mjs";
import { loadArm, Simulation } from "./sim.mjs";

/** Steps of the sliders and of a dragged link [rad]: zero is one, so that the arm can be exactly straight. */
const ANGLE_STEP = 0.01;
/** How far an arrow key moves the target [m], and with Shift. */
const TARGET_STEP = 0.05;
const SMALL_TARGET_STEP = 0.005;
/** The straight arm is pulled back so far [m], and a nudge bends its elbow by so much [rad]. */
const PULL_BACK = 0.5;
const NUDGE = 1e-3;
/** Where less motion is asked for the loop runs so many steps at once: most arms are at rest by then. */
const STEPS_AT_ONCE = 4000;
/** A screen reader hears what became of an input once the inputs have paused so long [ms]. */
const PAUSE_BEFORE_WORDS = 700;

/** What stands where the target's words will stand. */
const HINT =
  "Drag a link to turn its joint. Drag the tool, or press the arrow keys on it, to give it a target.";

const element = (id) => document.getElementById(id);
const lessMotion = matchMedia("(prefers-reduced-motion: reduce)");

/** Everything that follows from the engine: the page as it is used. */
function start(sim) {
  const { lower, upper, timestep } = sim.arm;
  const picture = planePicture(element("plane"));
  const bars = filterBars(element("bars"));
  const sliders = [element("q1"), element("q2")];
  const lambda = element("damping");

  let posture = postureAt(sim, [0.4, -0.8]);
  let target = null;
  let damping = 10 ** lambda.valueAsNumber;
  let resting = true;
  let dragging = false;
  let frame = 0;
  let lastFrame = 0;
  let dueSteps = 0;
  let timer = 0;

  const reach = reachOf(posture);
  const postures = {
    straight: [0, 0],
    right: [Math.PI / 4, -Math.PI / 2], // the elbow at a right angle, the tool on the x axis
    folded: [0, upper[1]],
  };

  function show() {
    const outOfRank = isOutOfRank(posture, damping);
    picture.show(posture, { target, outOfRank });
    bars.show(posture.sigma, damping);
    showReadouts(posture, damping, outOfRank);
    element("target-words").textContent = wordsOfTarget() || HINT;
    sliders.forEach((slider, i) => (slider.value = posture.q[i]));
  }

  const wordsOfTarget = () => targetWords(posture, target, damping, resting, sim.arm);

  function speak() {
    clearTimeout(timer);
    const words = [headline(posture, damping) + ".", postureWords(posture, damping), wordsOfTarget()];
    element("status").textContent = words.join(" ");
  }

  /** After every input: draw, let the loop go on if there is a target, and say it once the inputs pause. */
  function changed() {
    resting = !target;
    clearTimeout(timer);
    timer = setTimeout(speak, PAUSE_BEFORE_WORDS);
    if (target && lessMotion.matches) advance(STEPS_AT_ONCE);
    else if (target && !frame) {
      lastFrame = performance.now();
      frame = requestAnimationFrame(tick);
    }
    show();
  }

  function advance(steps) {
    ({ posture, resting } = follow(sim, posture, target, damping, steps));
    if (!dragging && distance(posture.tool, target) < ARRIVED) target = null;
  }

  function tick(now) {
    frame = 0;
    if (!target || resting) return;
    dueSteps += clip((now - lastFrame) / 1000, 0, 0.05) / timestep;
    lastFrame = now;
    const steps = Math.floor(dueSteps);
    dueSteps -= steps;
    advance(steps);
    show();
    if (resting) speak();
    else frame = requestAnimationFrame(tick);
  }

  function setJoints(q) {
    posture = postureAt(sim, q);
    target = null;
    changed();
  }

  const setJoint = (joint, angle) => setJoints(posture.q.map((q, i) => (i === joint ? angle : q)));

  function setTarget(point) {
    target = point.map((metres) => clip(metres, -1.3 * reach, 1.3 * reach));
    changed();
  }

  [picture.handles.link1, picture.handles.link2].forEach((handle, joint) => {
    draggable(handle, picture.toPlane, (from) => {
      const first = posture.q[joint];
      const turned = turnAbout(posture.joints[joint], from);
      return (point) => {
        const angle = Math.round((first + turned(point)) / ANGLE_STEP) * ANGLE_STEP;
        setJoint(joint, clip(angle, lower[joint], upper[joint]));
      };
    });
  });
  for (const handle of [picture.handles.tool, picture.handles.target]) {
    const begin = (from) => {
      // The grabbed point need not be the middle.
      const held = handle === picture.handles.tool ? posture.tool : (target ?? posture.tool);
      const offset = [held[0] - from[0], held[1] - from[1]];
      dragging = true;
      return (point) => setTarget([point[0] + offset[0], point[1] + offset[1]]);
    };
    draggable(handle, picture.toPlane, begin, () => {
      dragging = false;
      if (target) changed();
    });
  }

  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  picture.handles.target.addEventListener("keydown", (event) => {
    if (!(event.key in arrows) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const step = event.shiftKey ? SMALL_TARGET_STEP : TARGET_STEP;
    setTarget((target ?? posture.tool).map((metres, i) => metres + step * arrows[event.key][i]));
  });

  sliders.forEach((slider, i) => {
    slider.min = Math.ceil(lower[i] / ANGLE_STEP) * ANGLE_STEP;
    slider.max = Math.floor(upper[i] / ANGLE_STEP) * ANGLE_STEP;
    slider.addEventListener("input", () => setJoint(i, slider.valueAsNumber));
  });
  lambda.addEventListener("input", () => {
    damping = 10 ** lambda.valueAsNumber;
    changed();
  });
  for (const button of document.querySelectorAll("button[data-posture]"))
    button.addEventListener("click", () => setJoints(postures[button.dataset.posture]));
  element("pull").addEventListener("click", () => {
    setJoints(postures.straight);
    setTarget([reach - PULL_BACK, 0]);
  });
  element("nudge").addEventListener("click", () => {
    posture = postureAt(sim, [posture.q[0], clip(posture.q[1] + NUDGE, lower[1], upper[1])]);
    changed();
  });

  element("loop-words").textContent = loopWords(timestep);
  show();
  return {
    get state() {
      return { ...posture, target, damping, resting };
    },
    setJoints,
    setTarget,
  };
}

/** The page, or a plain sentence in its place. */
async function open() {
  try {
    const mj = await loadEngine({ module: await unpackEngine() });
    const names = { site: "end_effector", joints: ["joint1", "joint2"], home: "home" };
    const arm = loadArm(mj, { "planar2.xml": xml }, "planar2.xml", names);
    const page = start(new Simulation(arm));
    element("starting").remove();
    for (const control of document.querySelectorAll(":disabled")) control.disabled = false;
    speakWithTheBook();
    return page;
  } catch (error) {
    element("page").remove();
    element("failure").hidden = false;
    element("failure").textContent = `The arm cannot be moved here. ${error.message}`;
    return null;
  }
}

globalThis.outOfRank = { ready: open() };

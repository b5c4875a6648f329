// The picture of the page with the reader's hand in it; without WebGL the keyboard and a sentence are left.

import { Object3D } from "three";
import { theme } from "./page.mjs";
import { makeScene } from "./scene.mjs";
import { listenToKeys, listenToPointers } from "./target.mjs";

const BLIND =
  "There is no picture, but the arm runs: click here or tab to this place, and the arrow keys move its " +
  "target. The numbers and traces follow.";
const LOST =
  "The browser took the picture away. The arm runs on; if the picture does not come back, reload the page.";
const HANDLES = { light: ["#3d4850", "#c4500c"], dark: ["#c6d0d8", "#f2955a"] }; // idle, and in hand

/**
 * @param {(id: string) => HTMLElement} byId
 * @param {object} arm
 * @param {{position: Float64Array, quaternion: Float64Array}} goal - the loop's target; the reader moves it.
 * @param {{moved: (stopped: string) => void, reset: () => void, redraw: () => void}} told
 *   moved: why the target was stopped, or "".
 * @returns {{draw, retarget, setTheme, target, scene}} draw(data, goal, hand): the arm, a target and the line
 *   between hand (3,) and target; retarget(): after the goal was changed elsewhere; setTheme(): after the
 *   page's theme has changed; scene: null where there is no picture.
 */
export function makePicture(byId, arm, goal, told) {
  const canvas = byId("picture");
  const stage = byId("stage");
  const words = byId("stage-words");
  const { scene, reason } = tryScene(canvas, arm);
  const target = scene?.target ?? new Object3D();

  const moved = (stopped) => {
    target.position.toArray(goal.position);
    const { w, x, y, z } = target.quaternion;
    goal.quaternion.set([w, x, y, z]);
    told.moved(stopped);
  };
  const place = ({ position, quaternion: [w, x, y, z] }) => {
    target.position.fromArray(position);
    target.quaternion.set(x, y, z, w);
  };
  const hand = { moved, reset: told.reset, redraw: told.redraw };
  listenToKeys(canvas, target, hand);
  place(goal);
  byId("buttons").hidden = false;
  byId("handles").hidden = byId("views").hidden = scene === null;
  words.hidden = scene !== null;
  if (scene === null) {
    words.textContent = `${reason} ${BLIND}`;
    return { draw: () => {}, retarget: () => place(goal), setTheme: () => {}, target, scene };
  }

  const pointers = listenToPointers(scene, canvas, hand);
  const setTheme = () => {
    scene.setTheme(theme());
    pointers.setColours(...HANDLES[theme()]);
  };
  const choose = (name, use) => {
    for (const input of stage.querySelectorAll(`input[name="${name}"]`)) {
      input.addEventListener("change", () => use(input.value));
      if (input.checked) use(input.value);
    }
  };
  choose("handles", (mode) => {
    pointers.setHandles(mode);
    told.redraw();
  });
  choose("view", (camera) => pointers.turnAbout(scene.look(camera)));
  setTheme();

  new ResizeObserver(() => {
    if (!stage.clientWidth) return;
    scene.resize(stage.clientWidth, stage.clientHeight);
    told.redraw();
  }).observe(stage);
  scene.resize(stage.clientWidth, stage.clientHeight);

  let lost = false;
  canvas.addEventListener("webglcontextlost", () => {
    lost = true; // three.js asks for it back
    words.textContent = LOST;
    words.hidden = false;
  });
  canvas.addEventListener("webglcontextrestored", () => {
    lost = false;
    words.hidden = true;
    told.redraw();
  });

  return {
    draw(data, shownGoal, handPosition) {
      if (lost) return;
      place(shownGoal);
      scene.update(data, handPosition);
      pointers.beforeDrawing();
      scene.render();
    },
    retarget: () => place(goal),
    setTheme,
    target,
    scene,
  };
}

function tryScene(canvas, { model, mj }) {
  try {
    return { scene: makeScene(canvas, model, mj) };
  } catch (error) {
    return { scene: null, reason: error.message };
  }
}

// The reader's hand on the target, by pointer and by keyboard, and on the view.

import { Plane, Quaternion, Raycaster, TOUCH, Vector2, Vector3 } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { TransformControls } from "three/addons/controls/TransformControls.js";
import { makeAxisNames } from "./axis_names.mjs";

const LOWEST = 0.03; // [m] above the floor
const FARTHEST = 1.2; // [m] from the robot's foot: beyond any reach, and still in the picture
const STRIDE = 0.01; // [m] a key press
const TURN = (5 * Math.PI) / 180; // [rad] a key press
const GRIP = { mouse: 12, pen: 16, touch: 30 }; // [px] around the target's middle that still take hold of it
const AXES = { x: new Vector3(1, 0, 0), y: new Vector3(0, 1, 0), z: new Vector3(0, 0, 1) };

const KEYS = {
  ArrowLeft: ["y", -1],
  ArrowRight: ["y", 1],
  ArrowUp: ["z", 1],
  ArrowDown: ["z", -1],
  PageUp: ["x", 1],
  PageDown: ["x", -1],
};
const SHIFTED = { y: "z", z: "y", x: "x" }; // sideways arrows turn about the vertical

/**
 * Keep a point where a target may be.
 *
 * @param {Vector3} position - [m], moved if need be.
 * @returns {string} why it was stopped, or "".
 */
export function keepInside(position) {
  let stopped = "";
  if (position.length() > FARTHEST) {
    position.setLength(FARTHEST);
    stopped = `The target stops here, ${FARTHEST} m from the robot's foot.`;
  }
  if (position.z < LOWEST) {
    position.z = LOWEST;
    stopped = "The target stops here, just above the floor.";
  }
  return stopped;
}

/**
 * Arrow keys and their kin move or turn the target.
 *
 * @param {HTMLElement} element - listens while it has the focus.
 * @param {{position: Vector3, quaternion: Quaternion}} target
 * @param {{moved: (stopped: string) => void, reset: () => void}} told
 */
export function listenToKeys(element, target, told) {
  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Home") {
      event.preventDefault();
      told.reset();
      return;
    }
    if (!(event.key in KEYS)) return;
    event.preventDefault(); // the page must not scroll under the reader's hand
    const [axis, sign] = KEYS[event.key];
    if (event.shiftKey) {
      const turn = new Quaternion().setFromAxisAngle(AXES[SHIFTED[axis]], sign * TURN);
      target.quaternion.premultiply(turn).normalize();
    } else {
      target.position.addScaledVector(AXES[axis], sign * STRIDE);
    }
    told.moved(keepInside(target.position));
  });
}

/**
 * Pointers: the cube itself is dragged in the picture's plane, its handles along or about one axis; elsewhere
 * a mouse turns the view. One finger beside the target scrolls the page, two turn the view.
 *
 * @param {object} picture - of `makeScene`.
 * @param {HTMLCanvasElement} canvas
 * @param {{moved: (stopped: string) => void, redraw: () => void}} told
 * @returns {{setHandles: (mode: "translate" | "rotate") => void,
 *   setColours: (idle: string, held: string) => void, turnAbout: (point: Vector3) => void,
 *   beforeDrawing: () => void}}
 */
export function listenToPointers({ camera, scene, target }, canvas, told) {
  const moved = () => told.moved(keepInside(target.position));
  const grab = grabber(camera, target, canvas, moved);
  canvas.addEventListener("pointerdown", grab.down, { capture: true }); // before the handles and the view

  const handles = new TransformControls(camera, canvas);
  handles.attach(target);
  handles.size = 0.8;
  handles.showXY = handles.showYZ = handles.showXZ = false;
  const names = makeAxisNames();
  scene.add(handles.getHelper(), names);
  handles.addEventListener("objectChange", moved);
  handles.addEventListener("change", told.redraw);

  canvas.addEventListener("wheel", (event) => event.ctrlKey || event.stopImmediatePropagation());
  const view = new OrbitControls(camera, canvas);
  Object.assign(view, { enablePan: false, minDistance: 0.6, maxDistance: 5, maxPolarAngle: 1.5 });
  view.touches = { ONE: null, TWO: TOUCH.DOLLY_ROTATE };
  view.addEventListener("change", told.redraw);
  handles.addEventListener("dragging-changed", ({ value }) => (view.enabled = !value));

  // A touch that holds something is ours; any other finger belongs to the page, which scrolls.
  canvas.style.touchAction = "pan-x pan-y";
  canvas.addEventListener(
    "touchstart",
    (event) => {
      const ours = grab.holds() || handles.dragging || event.touches.length > 1;
      if (ours && event.cancelable) event.preventDefault();
    },
    { passive: false },
  );

  return {
    setHandles(mode) {
      handles.setMode(mode);
      // The world's axes to move along, as the keys do; the target's own, which it shows, to turn about.
      handles.setSpace(mode === "translate" ? "world" : "local");
      names.visible = mode === "translate";
    },
    setColours(idle, held) {
      handles.setColors(idle, idle, idle, held);
      names.setColour(idle);
    },
    beforeDrawing: () => names.place(target.position, camera),
    turnAbout(point) {
      view.target.copy(point);
      view.update();
    },
  };
}

/** Drags the target in the plane through its middle that faces the camera. */
function grabber(camera, target, canvas, moved) {
  const ray = new Raycaster();
  const plane = new Plane();
  const offset = new Vector3();
  const hit = new Vector3();
  let holder = null;

  const onPlane = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top) / box.height) * 2;
    ray.setFromCamera(new Vector2(x, y), camera);
    return ray.ray.intersectPlane(plane, hit);
  };
  const reaches = (event) => {
    const box = canvas.getBoundingClientRect();
    const middle = target.position.clone().project(camera);
    const [x, y] = [((middle.x + 1) / 2) * box.width, ((1 - middle.y) / 2) * box.height];
    const away = Math.hypot(event.clientX - box.left - x, event.clientY - box.top - y);
    return away <= (GRIP[event.pointerType] ?? GRIP.mouse);
  };
  const move = (event) => {
    if (event.pointerId !== holder || !onPlane(event)) return;
    target.position.copy(hit).add(offset);
    moved();
  };
  const up = (event) => {
    if (event.pointerId !== holder) return;
    holder = null;
    canvas.removeEventListener("pointermove", move);
  };
  canvas.addEventListener("lostpointercapture", up); // let go, cancelled or taken away

  return {
    holds: () => holder !== null,
    down(event) {
      if (holder !== null) event.stopImmediatePropagation();
      if (holder !== null || event.button !== 0 || !reaches(event)) return;
      plane.setFromNormalAndCoplanarPoint(camera.getWorldDirection(new Vector3()), target.position);
      if (!onPlane(event)) return; // it lies behind the camera
      event.stopImmediatePropagation();
      holder = event.pointerId;
      canvas.setPointerCapture(holder);
      canvas.focus({ preventScroll: true, focusVisible: false });
      offset.copy(target.position).sub(hit);
      canvas.addEventListener("pointermove", move);
    },
  };
}

// The collapse map on the page: pixels, axes, the reader's settings as a crosshair, and the dots of own
// runs.

import { axes, percent, placing } from "./axes.mjs";
import { COIN_TOSS_BELOW, nearest } from "./mapdata.mjs";
import { keepPainted, paintCells } from "./paint.mjs";
import { element, exponent, metres, millimetres, SAID } from "./words.mjs";

const LEAP = 8; // pixels that Page Up and Page Down move

/**
 * Draw the map into an element.
 *
 * @param {HTMLElement} host
 * @param {ReturnType<import("./mapdata.mjs").decodeMap>} map
 * @param {{reachLimit: number, onPick: (picked: {damping: number, reach: number}) => void,
 *   onGain: (gain: number) => void}} options the farthest reach [m]; who is told which run of the map, and
 *   which gain, the reader chose.
 * @returns {object} point, addDot, markRow; gainIndex(): of the plane that is shown; above: the element for
 *   what shares the map's damping axis.
 */
export function createMap(host, map, { reachLimit, onPick, onGain }) {
  const { gains, reaches, dampings } = map;
  const place = placing(map);

  const canvas = element("canvas", { "aria-hidden": "true" });
  const crosshair = ["map-column", "map-row"].map((className) => element("div", { className }));
  const limit = element("div", { className: "map-limit" },
    element("span", {}, `farthest reach ${metres(reachLimit, 5)}`));
  const toss = element("div", { className: "map-toss" });
  const frame = element("div", { className: "map-swept", hidden: true });
  const dots = element("div", { className: "map-dots" });
  const readout = element("p", { className: "map-readout", id: "map-readout", "aria-live": "polite" });
  const field = element("div", { className: "map-field", tabIndex: 0, role: "application",
    "aria-label": "Collapse map: the arrow keys go from run to run", "aria-describedby": readout.id },
  canvas, toss, frame, ...crosshair, limit, dots);
  limit.style.bottom = percent(place.up(reachLimit));
  toss.style.left = percent(place.across(COIN_TOSS_BELOW));
  frame.style.height = `${100 / reaches.length}%`;

  const planes = Array.from(gains, (gain) =>
    element("button", { type: "button", onclick: () => onGain(gain) }, `gain ${gain}`));
  const head = element("div", { className: "map-head" }, element("h3", {}, "The collapse map"),
    element("div", { className: "joined", role: "group", "aria-label": "null-space gain" }, ...planes));
  const above = element("div", { className: "map-above", hidden: true });
  const [reachAxis, dampingAxis] = axes(place);
  const grid = element("div", { className: "map" }, above, reachAxis, field, dampingAxis);
  host.append(head, grid, readout);

  const runs = []; // the reader's own
  let plane = 0;
  let swept = null; // {r, g} of the row in the frame
  let here = { r: 0, d: 0 }; // the run under the crosshair
  showPlane(0);
  keepPainted(field, paint);

  function paint() {
    if (!field.clientWidth) return;
    paintCells(canvas, dampings.length, reaches.length, (r, d) => map.pixel(plane, r, d));
  }

  function showPlane(g) {
    plane = g;
    planes.forEach((button, k) => button.setAttribute("aria-pressed", String(k === plane)));
    paint();
    drawDots();
    drawFrame();
  }

  function drawFrame() {
    frame.hidden = swept?.g !== plane;
    if (swept) frame.style.bottom = `${(100 * swept.r) / reaches.length}%`;
  }

  function drawDots() {
    const seen = runs.filter((run) => run.plane === null || run.plane === plane);
    dots.replaceChildren(...seen.map(({ state, plane: own, words, damping, reach }) => {
      const className = `map-dot ${state}${own === null ? " hollow" : ""}`;
      const dot = element("span", { className, title: words });
      dot.style.left = percent(place.across(damping));
      dot.style.bottom = percent(place.up(reach));
      return dot;
    }));
  }

  function describe(damping, reach) {
    const { r, d } = here;
    const { state, finalError, drift, sensitive } = map.pixel(plane, r, d);
    const outside = [place.across(damping), place.up(reach)].some((share) => share < 0 || share > 1);
    const exact = damping === dampings[d] && reach === reaches[r];
    return `${outside ? "Your settings lie outside the map. " : ""}${exact ? "" : "Nearest run of the map: "}`
      + `λ ${exponent(dampings[d])}, ${metres(reaches[r])}: ${SAID[state]}, ${millimetres(finalError)} off, `
      + `drift ${drift.toFixed(2)} rad`
      + `${sensitive ? "; a reach 1 nm longer ends otherwise" : ""}.`;
  }

  const within = (k, axis) => Math.min(axis.length - 1, Math.max(0, k));
  const pick = (r, d) => onPick({ damping: dampings[within(d, dampings)], reach: reaches[within(r, reaches)] });

  function pickAt({ clientX, clientY }) {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const [x, y] = [(clientX - left) / width, (clientY - top) / height];
    pick(Math.floor((1 - y) * reaches.length), Math.floor(x * dampings.length));
  }

  field.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    field.setPointerCapture(event.pointerId);
    pickAt(event);
  });
  field.addEventListener("pointermove", (event) => {
    if (field.hasPointerCapture(event.pointerId)) pickAt(event);
  });
  field.addEventListener("keydown", (event) => {
    const moves = {
      ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0],
      PageUp: [LEAP, 0], PageDown: [-LEAP, 0], Home: [0, -dampings.length], End: [0, dampings.length],
    };
    const move = moves[event.key];
    if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    pick(here.r + move[0], here.d + move[1]);
  });

  return {
    above,
    gainIndex: () => plane,
    /** Move the crosshair to {damping, reach}, and turn to the plane of the gain, where the map has one. */
    point({ gain, damping, reach }) {
      const g = gains.indexOf(gain);
      if (g >= 0 && g !== plane) showPlane(g);
      here = { r: nearest(reaches, reach), d: nearest(dampings, damping, Math.log10) };
      crosshair[0].style.left = percent(place.across(damping));
      crosshair[1].style.bottom = percent(place.up(reach));
      readout.textContent = describe(damping, reach);
    },
    /** Put a run on the map: {damping, reach, state, words, plane}; plane null: not the map's settings. */
    addDot(run) {
      runs.push(run);
      drawDots();
    },
    /** Frame the row {r, g} that is swept; it is seen on its own plane. */
    markRow(row) {
      swept = row;
      drawFrame();
    },
  };
}

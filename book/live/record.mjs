// The record of a run over its time: tool error, fastest joint, elbow, each in a strip of its own.

import { element, millimetres, signed } from "./words.mjs";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 100; // of a strip's drawing; the page stretches it
const FULL = 0.95; // of the height that the largest value takes
const SLOWEST = 1e-2; // lower end of the logarithmic axis [rad/s]

function drawing(T, title, ...shapes) {
  const svg = document.createElementNS(SVG, "svg");
  const viewBox = `0 0 ${T - 1} ${HEIGHT}`;
  const settings = { viewBox, preserveAspectRatio: "none", role: "img", "aria-label": title };
  for (const [name, value] of Object.entries(settings)) svg.setAttribute(name, value);
  svg.append(...shapes.map(([name, attributes]) => {
    const shape = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
    return shape;
  }));
  return svg;
}

/** A strip: its name and value in a line, its curve below. `share` is a sample's height, 0 to 1. */
function strip(T, name, title, share, value, ...shapes) {
  const points = Array.from({ length: T }, (_, k) => `${k},${(HEIGHT * (1 - FULL * share(k))).toFixed(1)}`);
  const output = element("span", { className: "record-value" });
  const curve = ["path", { d: `M${points.join("L")}`, class: "record-curve" }];
  const box = element("div", { className: "record-strip" },
    element("div", { className: "record-head" }, element("span", {}, name), output),
    drawing(T, title, ...shapes, curve));
  return { box, show: (k) => { output.textContent = value(k); } };
}

/**
 * The record's place on the page.
 *
 * @param {HTMLElement} host
 * @param {{timestep: number, straight: number}} arm the time step [s] and the elbow's straight angle q4* [rad].
 * @returns {{draw: (run: object) => void, moveTo: (k: number) => string}} moveTo puts the cursor on a step and
 *   says what is there.
 */
export function createRecord(host, { timestep, straight }) {
  const cursor = element("div", { className: "record-cursor" });
  const clip = element("div", { className: "record-clip" }, element("span", {}, "first clipped step"));
  const [first, last] = [element("span"), element("span")];
  const strips = element("div", { className: "record-strips" });
  const box = element("div", { className: "record" }, cursor, strips,
    element("div", { className: "record-times", "aria-hidden": "true" }, first, last), clip);
  host.append(box);
  let run = null;
  let shown = [];

  function draw(found) {
    run = found;
    const { T, positionError: error, speed, elbow } = run;
    const most = Math.max(0.01, error.reduce((a, b) => Math.max(a, b), 0));
    const fastest = speed.reduce((a, b) => Math.max(a, b), 1);
    const decades = Math.log10(fastest / SLOWEST);
    const low = Math.min(straight, ...elbow) - 0.05;
    const high = Math.max(straight, ...elbow) + 0.05;
    const bend = (angle) => (angle - low) / (high - low);
    const line = HEIGHT * (1 - FULL * bend(straight));
    shown = [
      strip(T, `tool error, to ${millimetres(most)}`,
        `Tool error over the run: at most ${millimetres(most)}, at the end ${millimetres(error[T - 1])}`,
        (k) => error[k] / most, (k) => millimetres(error[k])),
      strip(T, `fastest joint asked, log, to ${fastest.toPrecision(2)} rad/s`,
        `Fastest commanded joint speed over the run: at most ${fastest.toPrecision(2)} rad/s`,
        (k) => Math.log10(Math.max(speed[k], SLOWEST) / SLOWEST) / decades,
        (k) => `${speed[k].toPrecision(2)} rad/s`),
      strip(T, `elbow q4, dashed: straight at ${signed(straight, 3)} rad`,
        `Elbow angle over the run, from ${signed(elbow[0], 2)} to ${signed(elbow[T - 1], 2)} rad`,
        (k) => bend(elbow[k]), (k) => `${signed(elbow[k], 2)} rad`,
        ["rect", { x: 0, y: 0, width: T - 1, height: line, class: "record-past" }],
        ["line", { x1: 0, x2: T - 1, y1: line, y2: line, class: "record-straight" }]),
    ];
    strips.replaceChildren(...shown.map(({ box: stripBox }) => stripBox));
    box.dataset.state = run.end.state;
    first.textContent = "0 s";
    last.textContent = `${(T * timestep).toFixed(0)} s`;
    clip.hidden = run.firstClip < 0;
    clip.classList.toggle("late", run.firstClip > 0.6 * T); // its words then stand to its left
    place(clip, run.firstClip);
  }

  function place(mark, k) {
    mark.style.setProperty("--along", k / (run.T - 1));
  }

  function moveTo(k) {
    place(cursor, k);
    for (const { show } of shown) show(k);
    const { positionError, elbow } = run;
    const error = millimetres(positionError[k]);
    return `${(k * timestep).toFixed(2)} s: error ${error}, elbow ${signed(elbow[k], 2)} rad`;
  }

  return { draw, moveTo };
}

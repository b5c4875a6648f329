/** The plane that the arm moves in, as SVG: links, joint angles, velocity ellipse and target. */

import { reachOf } from "./planar_arm.mjs";
import { draw, drawSymbol, set, starAt } from "./planar_svg.mjs";
import { fixed } from "./planar_words.mjs";

/** Drawn [m] of the ellipse for each [m/s]. */
const ELLIPSE_SCALE = 0.3;
/** Half of the line that marks a missing direction [m], and half of the plane that is shown [m]. */
const MISSING = 0.6;
const HALF = 2.7;
/** Radius of the arcs of the joint angles [m]. */
const ARC = 0.34;

/**
 * Draw into an empty <svg> whose parts follow `show`.
 *
 * @param {SVGSVGElement} svg square; drawn in CSS pixels, so that text and touch targets keep their size
 * @returns {{show: function, toPlane: function, handles: object}} `show(posture, {target, outOfRank})` draws;
 *   `toPlane(event)` is where a pointer event points, (x, y) [m]; handles are the elements to grab: link1,
 *   link2, tool, target.
 */
export function planePicture(svg) {
  const ground = draw(svg, "g", { class: "ground", "aria-hidden": "true" });
  const parts = draw(svg, "g", { "aria-hidden": "true" });
  const part = (name, attributes, text) => draw(parts, name, attributes, text);
  const rim = part("circle", { class: "rim" });
  const ellipse = part("ellipse", { class: "ellipse" });
  const axes = [0, 1].map(() => part("line", { class: "axis" }));
  const arcs = [0, 1].map(() => ({
    from: part("line", { class: "from" }),
    arc: part("path", { class: "arc" }),
    name: part("text", { class: "symbol" }),
  }));
  arcs.forEach(({ name }, i) => drawSymbol(name, "q", i));
  const shells = [0, 1].map(() => ({
    edge: part("line", { class: "edge" }),
    shell: part("line", { class: "shell" }),
  }));
  const hubs = [0, 1].map(() => ({
    hub: part("circle", { class: "hub" }),
    cap: part("circle", { class: "cap" }),
  }));
  const lost = part("line", { class: "lost" });
  const error = part("line", { class: "error" });
  const tool = part("circle", { class: "tool" });
  const star = part("path", { class: "star" });
  const names = [0, 1].map((i) => drawSymbol(part("text", { class: "symbol" }), "σ", i));
  const missing = part("text", { class: "missing" }, "missing");
  const handles = {
    link1: draw(svg, "line", { class: "handle link" }),
    link2: draw(svg, "line", { class: "handle link" }),
    tool: draw(svg, "circle", { class: "handle", r: 24 }),
    target: draw(svg, "circle", {
      class: "handle target", r: 24, tabindex: 0,
      // A slider of two dimensions: its arrow keys go both ways, and aria-valuetext says where it is.
      role: "slider", "aria-roledescription": "2D slider",
      "aria-label": "target of the tool; arrow keys move it",
      "aria-valuemin": 0, "aria-valuemax": 2.6,
    }),
  };
  let scale = 1;
  let last;

  const x = (metres) => scale * (HALF + metres);
  const y = (metres) => scale * (HALF - metres);
  const line = (element, [ax, ay], [bx, by]) =>
    set(element, { x1: x(ax), y1: y(ay), x2: x(bx), y2: y(by) });
  const place = (element, [px, py], by = [0, 0]) => set(element, { x: x(px) + by[0], y: y(py) + by[1] });
  const centre = (element, [px, py]) => set(element, { cx: x(px), cy: y(py) });
  const along = ([px, py], [dx, dy], length) => [px + length * dx, py + length * dy];

  function resize() {
    const side = svg.clientWidth || 1;
    scale = side / (2 * HALF);
    set(svg, { viewBox: `0 0 ${side} ${side}` });
    ground.replaceChildren();
    for (const metre of [-2, -1, 0, 1, 2]) {
      line(draw(ground, "line", { class: "grid" }), [metre, -HALF], [metre, HALF]);
      line(draw(ground, "line", { class: "grid" }), [-HALF, metre], [HALF, metre]);
      const text = String(metre).replace("-", "−");
      place(draw(ground, "text", { class: "tick", "text-anchor": "middle" }, text), [metre, -HALF], [0, -5]);
      if (metre > -2) place(draw(ground, "text", { class: "tick" }, text), [-HALF, metre], [5, 4]);
    }
    place(draw(ground, "text", { class: "tick", "text-anchor": "end" }, "x [m]"), [HALF, -HALF], [-6, -5]);
    place(draw(ground, "text", { class: "tick" }, "y [m]"), [-HALF, HALF], [5, 15]);
    const caption = `ellipse: ${ELLIPSE_SCALE} m for 1 m/s`;
    place(draw(ground, "text", { class: "tick", "text-anchor": "end" }, caption), [HALF, HALF], [-6, 15]);
    if (last) show(...last);
  }

  function show(posture, { target, outOfRank }) {
    last = [posture, { target, outOfRank }];
    const { joints, tool: tip, sigma, directions, q } = posture;
    const ends = [...joints, tip];
    svg.classList.toggle("out", outOfRank);
    centre(rim, joints[0]);
    set(rim, { r: scale * reachOf(posture) });

    const turn = (-180 / Math.PI) * Math.atan2(directions[0][1], directions[0][0]);
    const half = sigma.map((value) => ELLIPSE_SCALE * value);
    centre(ellipse, tip);
    set(ellipse, {
      // A radius of zero would draw nothing, where a line is meant.
      rx: scale * half[0], ry: Math.max(scale * half[1], 0.01),
      transform: `rotate(${turn} ${x(tip[0])} ${y(tip[1])})`,
    });
    const across = (element, i, length) =>
      line(element, along(tip, directions[i], -length), along(tip, directions[i], length));
    axes.forEach((axis, i) => across(axis, i, half[i]));
    names.forEach((name, i) => {
      const outward = towards(directions[i], tip, joints[1]);
      place(name, along(tip, outward, half[i]), [16 * outward[0], 4 - 14 * outward[1]]);
      name.toggleAttribute("hidden", half[i] < 0.06);
    });

    lost.toggleAttribute("hidden", !outOfRank);
    missing.toggleAttribute("hidden", sigma[1] > 0);
    across(lost, 1, MISSING);
    place(missing, along(tip, directions[1], -0.5), [0, 24]);

    arcs.forEach(({ from, arc, name }, i) => {
      const before = i ? Math.atan2(joints[1][1] - joints[0][1], joints[1][0] - joints[0][0]) : 0;
      const point = (angle, radius) => along(joints[i], [Math.cos(angle), Math.sin(angle)], radius);
      const [start, end] = [point(before, ARC), point(before + q[i], ARC)];
      const [large, sweep] = [Math.abs(q[i]) > Math.PI ? 1 : 0, q[i] > 0 ? 0 : 1];
      const radius = scale * ARC;
      const turned = `A${radius} ${radius} 0 ${large} ${sweep} ${x(end[0])} ${y(end[1])}`;
      set(arc, { d: `M${x(start[0])} ${y(start[1])}${turned}` });
      line(from, joints[i], point(before, ARC + 0.12));
      // At the end of the line that the angle is measured from, and away from the link.
      place(name, point(before - Math.sign(q[i]) * 0.12, ARC + 0.3), [0, 5]);
      for (const one of [from, arc, name]) one.toggleAttribute("hidden", Math.abs(q[i]) < 0.15);
    });
    shells.forEach(({ edge, shell }, i) => {
      for (const one of [edge, shell, handles[`link${i + 1}`]]) line(one, ends[i], ends[i + 1]);
      set(edge, { "stroke-width": 0.15 * scale + 2.4 });
      set(shell, { "stroke-width": 0.15 * scale });
    });
    hubs.forEach(({ hub, cap }, i) => {
      for (const one of [hub, cap]) centre(one, joints[i]);
      set(hub, { r: 0.11 * scale });
      set(cap, { r: 0.05 * scale });
    });
    for (const one of [tool, handles.tool]) centre(one, tip);
    set(tool, { r: 0.075 * scale });

    for (const one of [error, star]) one.toggleAttribute("hidden", !target);
    const goal = target ?? tip;
    centre(handles.target, goal);
    const [goalX, goalY] = goal.map((metres) => fixed(metres, 2));
    set(handles.target, {
      "aria-valuenow": Math.hypot(...goal).toFixed(2),
      "aria-valuetext": `x ${goalX}, y ${goalY} metres`,
    });
    line(error, tip, goal);
    set(star, { d: starAt(x(goal[0]), y(goal[1]), 11) });
  }

  function toPlane(event) {
    const box = svg.getBoundingClientRect();
    return [(event.clientX - box.left) / scale - HALF, HALF - (event.clientY - box.top) / scale];
  }

  new ResizeObserver(resize).observe(svg);
  resize();
  return { show, toPlane, handles };
}

/** A direction or its opposite: whichever leads away from the elbow. */
function towards(direction, tip, elbow) {
  const away = (tip[0] - elbow[0]) * direction[0] + (tip[1] - elbow[1]) * direction[1];
  return away < 0 ? direction.map((one) => -one) : direction;
}

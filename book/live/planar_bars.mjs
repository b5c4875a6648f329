/** The filter factors as bars over decades, what the exact inverse would ask for, and their ceiling. */

import { filterFactors } from "./planar_arm.mjs";
import { draw, drawSymbol, set } from "./planar_svg.mjs";
import { number, powerOf } from "./planar_words.mjs";

/** The decades that are shown [rad/m]. */
const LOWEST = -2;
const HIGHEST = 3.3;
const MARGIN = { left: 34, right: 52, top: 8, bottom: 26 };

/**
 * Draw into an empty <svg> whose parts follow `show(sigma, damping)`: singular values [m] and lambda [m].
 *
 * @param {SVGSVGElement} svg drawn in CSS pixels
 * @returns {{show: function}}
 */
export function filterBars(svg) {
  const ground = draw(svg, "g");
  const bars = [0, 1].map(() => draw(svg, "rect", { class: "bar" }));
  const ceiling = draw(svg, "line", { class: "ceiling" });
  const exacts = [0, 1].map(() => draw(svg, "path", { class: "exact" }));
  const ceilingName = draw(svg, "text", { class: "tick" }, "1/(2λ)");
  const values = [0, 1].map(() => draw(svg, "text", { class: "value", "text-anchor": "middle" }));
  let width = 1;
  let height = 1;
  let last;

  const inner = () => width - MARGIN.left - MARGIN.right;
  const y = (value) => {
    const power = Math.min(Math.max(Math.log10(value), LOWEST), HIGHEST);
    return MARGIN.top + ((HIGHEST - power) / (HIGHEST - LOWEST)) * (height - MARGIN.top - MARGIN.bottom);
  };
  const middle = (i) => MARGIN.left + inner() * (0.27 + 0.46 * i);

  function resize() {
    [width, height] = [svg.clientWidth || 1, svg.clientHeight || 1];
    set(svg, { viewBox: `0 0 ${width} ${height}` });
    ground.replaceChildren();
    for (let power = LOWEST; power <= HIGHEST; power++) {
      const level = y(10 ** power);
      const ends = { x1: MARGIN.left, x2: width - MARGIN.right, y1: level, y2: level };
      draw(ground, "line", { class: "grid", ...ends });
      const attributes = { class: "tick", "text-anchor": "end", x: MARGIN.left - 5, y: level + 4 };
      draw(ground, "text", attributes, `10${powerOf(power)}`);
    }
    for (const i of [0, 1]) {
      const at = { "text-anchor": "middle", x: middle(i), y: height - 7 };
      drawSymbol(draw(ground, "text", { class: "symbol", ...at }), "σ", i);
    }
    if (last) show(...last);
  }

  function show(sigma, damping) {
    last = [sigma, damping];
    const half = 0.17 * inner();
    const floor = y(0);
    filterFactors(sigma, damping).forEach((factor, i) => {
      const [top, left] = [y(factor), middle(i) - half];
      set(bars[i], { x: left, y: top, width: 2 * half, height: floor - top });
      values[i].textContent = number(factor);
      // Inside the bar where there is room, else above it.
      const inside = floor - top > 24;
      values[i].classList.toggle("inside", inside);
      set(values[i], { x: middle(i), y: inside ? floor - 8 : top - 6 });
      const exact = y(1 / sigma[i]);
      const [from, to] = [left - 5, middle(i) + half + 5];
      // Where 1/sigma lies beyond the scale, an arrow at its upper edge.
      const beyond = Math.log10(1 / sigma[i]) > HIGHEST;
      const arrow = `M${middle(i) - 6} ${exact + 7}l6 -7l6 7`;
      set(exacts[i], { d: beyond ? arrow : `M${from} ${exact}H${to}` });
    });
    const level = y(1 / (2 * damping));
    set(ceiling, { x1: MARGIN.left, x2: width - MARGIN.right, y1: level, y2: level });
    set(ceilingName, { x: width - MARGIN.right + 5, y: level + 4 });
  }

  new ResizeObserver(resize).observe(svg);
  resize();
  return { show };
}

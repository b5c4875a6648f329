// Ticks and key of the collapse map.

import { extent } from "./mapdata.mjs";
import { element, signed } from "./words.mjs";

/**
 * Where a run lies in the picture, as shares of its width and height; outside of 0 to 1 it is not on the map.
 *
 * @param {{reaches: Float64Array, dampings: Float64Array}} map
 */
export function placing({ reaches, dampings }) {
  const [left, right] = extent(dampings, Math.log10);
  const [low, high] = extent(reaches);
  return {
    across: (damping) => (Math.log10(damping) - left) / (right - left),
    up: (reach) => (reach - low) / (high - low),
    powers: between(left, right),
    centimetres: between(100 * low, 100 * high),
  };
}

/** The whole numbers between two numbers. */
function between(low, high) {
  const first = Math.ceil(low);
  return Array.from({ length: Math.floor(high) - first + 1 }, (_, k) => first + k);
}

/** A share as a place along an edge; what lies outside stands at the end. */
export const percent = (share) => `${100 * Math.min(1, Math.max(0, share))}%`;

/** The axes' own elements: reach [m] upwards, and the damping's decades. */
export function axes({ across, up, powers, centimetres }) {
  const tick = (side, share, ...label) => {
    const made = element("span", { className: "map-tick" }, ...label);
    made.style[side] = percent(share);
    return made;
  };
  const decade = (power) => (power === 0 ? ["1"] : ["10", element("sup", {}, signed(power, 0))]);
  return [
    element("div", { className: "map-y", "aria-hidden": "true" },
      element("span", { className: "map-name" }, "reach [m]"),
      ...centimetres.map((k) => tick("bottom", up(k / 100), (k / 100).toFixed(2)))),
    element("div", { className: "map-x", "aria-hidden": "true" },
      ...powers.map((power) => tick("left", across(10 ** power), ...decade(power))),
      element("span", { className: "map-name" }, "damping λ")),
  ];
}

/** What the colours and marks mean. */
export function key() {
  const mark = (name) => element("span", { className: `key-mark key-${name}`, "aria-hidden": "true" });
  const entry = (name, meaning) => element("li", {}, mark(name), meaning);
  return element("ul", { className: "map-key" },
    entry("home", "home, 0.01 to 0.1 m behind"),
    entry("fold", "folded, 0.1 to 0.45 m off"),
    entry("undecided", "undecided"),
    entry("sensitive", "dotted: a reach 1 nm longer ends otherwise"),
    entry("toss", "left of this line a run says little about its neighbours"),
    entry("own",
      "your runs: circle home, square folded, diamond undecided; hollow: not at the map's settings"));
}

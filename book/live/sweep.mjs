// A row of the map, run again in the reader's own browser, beside what the committed map holds.

import { nearest } from "./mapdata.mjs";
import { keepPainted, paintCells } from "./paint.mjs";
import { element, metres } from "./words.mjs";

const STRIDE = 3; // every third column first: the row's shape is seen early

// Seen: a run that folds with 18 of 19 reaches within 0.1 um, and comes home with the other.
const UNSEEN = " The map tried each run only once more, 1 nm farther: a rare turn can have escaped it.";

/** The settings that every run of the map was made with. */
export const MAP_SETTINGS = { kind: "damped", integrationDt: 1, maxJointSpeed: null };

/**
 * The strip above the map, its button, and its words.
 *
 * @param {HTMLElement} host takes the button, the progress and the words.
 * @param {{map: object, chart: object, run: (reach: number, settings: object) => Promise<object>,
 *   own: () => ?string}} parts the map, its drawing, the worker, and in words in which settings the reader's
 *   own loop differs from the map's, or null.
 * @returns {{aim: (reach: number) => void, stop: () => void}}
 */
export function createSweep(host, { map, chart, run, own }) {
  const { reaches, dampings, gains } = map;
  const canvas = element("canvas", { "aria-hidden": "true" });
  const marks = element("div", { className: "sweep-marks" });
  const strip = element("div", { className: "sweep-strip" }, canvas, marks);
  const names = element("div", { className: "sweep-names", "aria-hidden": "true" },
    element("span", {}, "map"), element("span", {}, "now"));
  chart.above.append(names, strip);

  const button = element("button", { type: "button", className: "sweep-button" });
  const progress = element("progress",
    { max: dampings.length, value: 0, hidden: true, "aria-label": "runs of the row" });
  const count = element("p", { className: "sweep-count", hidden: true });
  const verdict = element("p", { className: "sweep-verdict", role: "status" });
  host.append(element("div", { className: "sweep-line" }, button, progress), count, verdict);

  let aimed = 0; // the row that the button would sweep
  let sweep = null; // the sweep that is shown: {r, g, found, stopped}; it goes on until it is done or stopped
  let running = false;
  keepPainted(strip, paint);
  button.addEventListener("click", () => (running ? stop() : start()));

  function aim(reach) {
    aimed = nearest(reaches, reach);
    if (!running) button.textContent = `Sweep this row (${metres(reaches[aimed])})`;
  }

  function paint() {
    if (!sweep || !strip.clientWidth) return;
    const { r, g, found } = sweep;
    paintCells(canvas, dampings.length, 2, (row, d) => (row === 1 ? map.pixel(g, r, d) : found[d]));
  }

  function stop() {
    if (running) sweep.stopped = true;
  }

  const name = () => `the row at ${metres(reaches[sweep.r])}, gain ${gains[sweep.g]}`;

  /** How many runs are done, end as in the map, do not, and how many of those the map calls sensitive. */
  function tally() {
    const done = [...sweep.found.keys()].filter((d) => sweep.found[d]);
    const unlike = done.filter((d) => sweep.found[d].state !== map.pixel(sweep.g, sweep.r, d).state);
    const flagged = unlike.filter((d) => map.pixel(sweep.g, sweep.r, d).sensitive);
    return { done: done.length, alike: done.length - unlike.length, unlike, flagged: flagged.length };
  }

  function show() {
    const { done, alike, unlike } = tally();
    paint();
    progress.value = done;
    count.textContent = `${done} of ${dampings.length} runs; ${alike} end as in the committed map.`;
    marks.replaceChildren(...unlike.map((d) => {
      const mark = element("span", { title: "ends otherwise than in the committed map" }, "▴");
      mark.style.left = `${(100 * (d + 0.5)) / dampings.length}%`;
      return mark;
    }));
  }

  function conclude() {
    const { done, alike, unlike, flagged } = tally();
    const ran = `${done} of ${dampings.length} runs of ${name()}: ${alike} end as in the committed map`;
    const verb = unlike.length === 1 ? "does" : "do";
    const others = unlike.length === 0 ? ""
      : `; of the ${unlike.length} that ${verb} not, the map calls ${flagged} sensitive`;
    const unseen = unlike.length > flagged ? UNSEEN : "";
    verdict.textContent = `${sweep.stopped ? "Stopped. " : ""}${ran}${others}.${unseen}`;
  }

  async function start() {
    sweep = { r: aimed, g: chart.gainIndex(), found: new Array(dampings.length).fill(null), stopped: false };
    const { r, g, found } = sweep;
    running = true;
    button.textContent = "Stop the sweep";
    chart.above.hidden = progress.hidden = count.hidden = false;
    chart.markRow({ r, g });
    const differs = own();
    verdict.textContent = `Sweeping ${name()}.`
      + (differs ? ` With the map's settings, not yours: you have ${differs}.` : "");
    show();
    const columns = [...dampings.keys()];
    const order = [...columns.filter((d) => d % STRIDE === 0), ...columns.filter((d) => d % STRIDE !== 0)];
    try {
      for (const d of order) {
        const settings = { ...MAP_SETTINGS, damping: dampings[d], nullspaceGain: gains[g] };
        const { end, finalError, drift } = await run(reaches[r], settings);
        if (sweep.stopped) break;
        found[d] = { state: end.state, finalError, drift, sensitive: false };
        show();
      }
      conclude();
    } catch (error) {
      verdict.textContent = `The sweep ended: ${error.message}`;
    }
    running = false;
    progress.hidden = count.hidden = true;
    aim(reaches[aimed]);
  }

  return { aim, stop };
}

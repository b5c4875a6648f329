// The replay panel of the Panda page: run the reach, play it back, see where it lies on the collapse map.

import { key } from "./axes.mjs";
import { createMap } from "./map.mjs";
import { unpackMap } from "./mapdata.mjs";
import { createPlayer } from "./player.mjs";
import { farthestReach, reachAndReturn, straightElbow } from "./reach.mjs";
import { createRunner } from "./runner.mjs";
import { createSideview } from "./sideview.mjs";
import { createSweep, MAP_SETTINGS } from "./sweep.mjs";
import { element, exponent, metres, millimetres, SAID } from "./words.mjs";

const DISTANCES = { min: 0.65, max: 0.76, step: 1e-4, first: 0.7 }; // [m]

/**
 * Build the panel and unpack the map: called when the panel is first opened. The worker waits for the first
 * run.
 *
 * @param {HTMLElement} host inside of the details element that is the panel.
 * @param {{arm: object, files: object, module: WebAssembly.Module, settings: object,
 *   set: (name: string, value: number) => void, onSettings: (listener: () => void) => void,
 *   showPose: (q: Float64Array, position: Float64Array, quaternion: Float64Array) => void,
 *   resume: () => void, onResume: (listener: () => void) => void, say: (text: string) => void}} live the page's
 *   arm and loop: its settings {kind, damping, integrationDt, nullspaceGain, maxJointSpeed} and how to set one;
 *   showPose holds the live loop and draws a pose, resume lets it go on; onResume: told when the reader's hand
 *   has taken hold of the live arm; say: the line below its picture.
 */
export function mountReplay(host, live) {
  const { arm, settings } = live;
  const farthest = farthestReach(arm);
  const run = createRunner(live);
  let reach = DISTANCES.first;
  let map = null; // the map, its drawing and its sweep, once the panel was shown
  let chart = null;
  let sweep = null;

  const slider = element("input", { type: "range", id: "reach", min: DISTANCES.min, max: DISTANCES.max,
    step: DISTANCES.step, value: reach });
  const output = element("output", { htmlFor: "reach" });
  const mark = element("span", { className: "reach-mark" }, `farthest reach ${metres(farthest, 5)}`);
  mark.style.setProperty("--along", (farthest - DISTANCES.min) / (DISTANCES.max - DISTANCES.min));
  const start = element("button", { type: "button", className: "reach-run" }, "Run the reach");
  const words = element("p", { className: "reach-end", role: "status" });
  const detail = element("p", { className: "note" });
  host.classList.add("replay");
  host.append(
    element("div", { className: "reach-line" },
      element("div", { className: "field reach-field" },
        element("label", { htmlFor: "reach" }, "distance from the shoulder"), output, slider, mark),
      start),
    words, detail);

  let shown = null; // {found, path}: the run in the player
  let busy = false; // a reach is being run
  const player = createPlayer(host, {
    timestep: arm.timestep,
    straight: straightElbow(arm),
    show,
    leave() {
      leave();
      start.focus(); // the button that was pressed is gone
      live.say("The picture shows the live arm again.");
    },
  });
  const drawAside = createSideview(player.stage, arm);
  const mapHost = element("section", { className: "replay-map", "aria-label": "The collapse map" });
  host.append(mapHost);

  slider.addEventListener("input", () => setReach(Number(slider.value)));
  start.addEventListener("click", runReach);
  live.onSettings(point);
  live.onResume(player.pause);
  const part = host.closest("details");
  part.addEventListener("toggle", () => part.open || close());
  setReach(reach);
  openMap();

  function leave() {
    player.stop();
    live.resume();
  }

  function close() {
    leave();
    sweep?.stop();
  }

  /** Both pictures, as the run stood at step k. */
  function show(k) {
    const { found, path } = shown;
    const row = (array, size) => array.subarray(k * size, (k + 1) * size);
    const [q, position] = [row(found.q, arm.n), row(path.positions, 3)];
    live.showPose(q, position, path.quaternion);
    drawAside(q, position);
  }

  function setReach(chosen) {
    reach = chosen;
    slider.value = chosen;
    output.textContent = metres(reach);
    const side = reach > farthest ? "beyond" : "within";
    slider.setAttribute("aria-valuetext", `${metres(reach)}, ${side} the farthest reach`);
    point();
  }

  /** The settings, moved where the map and the sweep show them. */
  function point() {
    chart?.point({ gain: settings.nullspaceGain, damping: settings.damping, reach });
    sweep?.aim(reach);
  }

  function setBusy(value) {
    busy = value;
    start.setAttribute("aria-disabled", String(value)); // a disabled button would lose the keyboard's focus
  }

  async function runReach() {
    if (busy) return;
    setBusy(true);
    const asked = { ...settings };
    const distance = reach;
    delete words.dataset.state;
    words.textContent = "Running the reach…";
    detail.textContent = "";
    try {
      const found = await run(distance, asked, true);
      shown = { found, path: reachAndReturn(arm, distance) };
      say(found, distance, asked);
      if (part.open) { // else it would hold the live arm unseen
        player.load(found);
        live.say("The picture shows the replay, until you move the target or go back to the live arm.");
      }
    } catch (error) {
      leave(); // an earlier run does not stand below these words
      words.textContent = `The reach could not be run: ${error.message}`;
    }
    setBusy(false);
  }

  /** The end in words, and as a dot on the map. */
  function say(found, distance, asked) {
    const { end, finalError, drift, clippedSteps, firstClip, T, seconds } = found;
    const state = end.reason ? `${SAID[end.state]}: ${end.reason}` : SAID[end.state];
    const clipped = clippedSteps === 0
      ? "no step was clipped"
      : `the first of ${clippedSteps} clipped steps at ${(firstClip * arm.timestep).toFixed(2)} s`;
    words.dataset.state = end.state;
    words.replaceChildren(
      element("strong", {}, `${state[0].toUpperCase()}${state.slice(1)}.`),
      ` Final error ${millimetres(finalError)}, drift ${drift.toFixed(2)} rad, ${clipped}.`);
    const unlike = map && differences(asked, map.gains);
    detail.textContent = `${metres(distance)}, ${wordsOf(asked)}: ${T} steps in ${seconds.toFixed(2)} s.`
      + (unlike ? ` A hollow dot on the map, which holds no run with ${unlike}.` : "");
    const plane = unlike ? null : map?.gains.indexOf(asked.nullspaceGain);
    chart?.addDot({
      damping: asked.damping, reach: distance, state: end.state, plane,
      words: `${metres(distance)}, ${wordsOf(asked)}: ${state}`,
    });
  }

  async function openMap() {
    try {
      map = await unpackMap();
      chart = createMap(mapHost, map, {
        reachLimit: farthest,
        onPick: (picked) => {
          setReach(picked.reach);
          live.set("damping", picked.damping);
        },
        onGain: (gain) => live.set("nullspaceGain", gain),
      });
      sweep = createSweep(mapHost, { map, chart, run, own: () => differences(settings, map.gains) });
      mapHost.append(key());
      point();
    } catch (error) {
      mapHost.replaceChildren(element("p", { className: "note" },
        `The collapse map cannot be shown: ${error.message}. Runs of your own work without it.`));
    }
  }
}

/** In which of its settings a loop is not the map's, in words; null where the map could hold its run. */
function differences({ kind, integrationDt, nullspaceGain, maxJointSpeed }, gains) {
  const found = [];
  if (kind !== MAP_SETTINGS.kind) found.push(`the law "${kind}"`);
  else if (!gains.includes(nullspaceGain)) found.push(`gain ${nullspaceGain}`);
  if (integrationDt !== MAP_SETTINGS.integrationDt) found.push(`integration_dt ${integrationDt} s`);
  if (maxJointSpeed !== MAP_SETTINGS.maxJointSpeed) found.push(`a bound of ${maxJointSpeed} rad/s`);
  return found.length ? found.join(" and ") : null;
}

/** A loop's settings in words. */
function wordsOf({ kind, damping, integrationDt, nullspaceGain, maxJointSpeed }) {
  const law = {
    damped: `λ ${exponent(damping)}, gain ${nullspaceGain}`,
    adaptive: `adaptive damping up to ${exponent(damping)}`,
    truncated: `truncated at ${exponent(damping)}`,
    transpose: "transpose",
  }[kind];
  const bound = maxJointSpeed === null ? "no speed bound" : `at most ${maxJointSpeed} rad/s`;
  return `${law}, integration_dt ${integrationDt} s, ${bound}`;
}

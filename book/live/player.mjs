// Plays a run back: play and pause, speed, a scrubber, and the run's record below it.

import { createRecord } from "./record.mjs";
import { element } from "./words.mjs";

const SPEEDS = [1, 4];
const ARROW = 0.05; // what an arrow key moves [s]
const LONGEST_FRAME = 0.1; // a page that was hidden does not leap [s]

/**
 * The player's place on the page.
 *
 * @param {HTMLElement} host
 * @param {{timestep: number, straight: number, show: (k: number) => void, leave: () => void}} parts the time
 *   step [s], the elbow's straight angle [rad], who draws the arm as it stood at a step, and who takes it back
 *   to the live loop.
 * @returns {object} load(run): plays it from its start, or, for a reader who asked for less motion, shows its
 *   end; pause(); stop(): pauses and hides the player; stage: the element for a picture beside the record.
 */
export function createPlayer(host, { timestep, straight, show, leave }) {
  const play = element("button", { type: "button", className: "player-play" });
  const speeds = SPEEDS.map((times) => element("button",
    { type: "button", onclick: () => setSpeed(times), "aria-label": `speed ${times} times` }, `${times}×`));
  const clock = element("span", { className: "player-clock" });
  const back = element("button", { type: "button" }, "Back to the live arm");
  const scrubber = element("input", { type: "range", min: 0, value: 0, "aria-label": "time in the run" });
  const stage = element("div", { className: "player-stage" });
  const over = element("div", { className: "player-time" }, scrubber); // the record lies along the scrubber
  const line = element("div", { className: "player-line" },
    play, element("span", { className: "joined" }, ...speeds), clock, back);
  const box = element("div", { className: "player", hidden: true },
    line, element("div", { className: "player-below" }, stage, over));
  host.append(box);
  const record = createRecord(over, { timestep, straight });

  let run = null;
  let at = 0; // step, with a fraction while it plays
  let speed = SPEEDS[0];
  let frame = null; // the animation frame that is asked for, while it plays
  play.addEventListener("click", () => (frame === null ? start() : pause()));
  back.addEventListener("click", leave);
  scrubber.addEventListener("input", () => { pause(); moveTo(Number(scrubber.value)); });
  scrubber.addEventListener("keydown", (event) => {
    const towards = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!towards || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault(); // the browser's own step is one control step, too short to be seen
    pause();
    moveTo(Math.round(at) + towards * Math.round(ARROW / timestep));
  });

  function setSpeed(chosen) {
    speed = chosen;
    speeds.forEach((button, k) => button.setAttribute("aria-pressed", String(SPEEDS[k] === speed)));
  }

  function moveTo(step) {
    at = Math.min(run.T - 1, Math.max(0, step));
    const k = Math.round(at);
    scrubber.value = k;
    const words = record.moveTo(k);
    scrubber.setAttribute("aria-valuetext", words);
    clock.textContent = `${(k * timestep).toFixed(2)} of ${(run.T * timestep).toFixed(0)} s`;
    show(k);
  }

  function name() {
    play.textContent = frame === null ? "▶ Play" : "❚❚ Pause";
    play.setAttribute("aria-label", frame === null ? "Play the run" : "Pause the run");
  }

  function start() {
    if (at >= run.T - 1) moveTo(0);
    let before = performance.now();
    const tick = (now) => {
      const seconds = Math.min(LONGEST_FRAME, Math.max(0, now - before) / 1000);
      before = now;
      frame = requestAnimationFrame(tick);
      moveTo(at + (seconds * speed) / timestep);
      if (at >= run.T - 1) pause();
    };
    frame = requestAnimationFrame(tick);
    name();
  }

  function pause() {
    cancelAnimationFrame(frame);
    frame = null;
    name();
  }

  function stop() {
    pause();
    box.hidden = true;
  }

  function load(found) {
    pause();
    run = found;
    scrubber.max = run.T - 1;
    box.hidden = false;
    record.draw(run);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) moveTo(run.T - 1);
    else {
      moveTo(0);
      start();
    }
  }

  setSpeed(speed);
  return { load, stop, pause, stage };
}

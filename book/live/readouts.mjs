// The numbers and words beside the picture: what the loop measured, and what that means.

import { LAW_DEFAULTS } from "./dls.mjs";
import { ELBOW_MARGIN } from "./reach.mjs";
import { signed } from "./words.mjs";

const HELD = 0.4; // [s] that a change of state lasts before it is said: a flicker at the border is not news
const BETWEEN = 1500; // [ms] between two sentences, so that a screen reader can finish the first
const FOLDED = "Folded: the elbow has crossed its straight angle.";
const UNFOLDED = "No longer folded.";

/**
 * Is a direction of the tool missing, by the measure of the law that runs?
 *
 * @param {{kind: string, damping: number}} settings
 * @param {number} sigmaMin
 * @returns {{limit: number | null, name: string, out: boolean, words: string}} limit: what sigma_min is
 *   compared with, and its name.
 */
export function rankOf({ kind, damping }, sigmaMin) {
  if (kind === "transpose") return { limit: null, name: "", out: false, words: "" };
  if (kind === "truncated") {
    const words = "Out of rank: σ_min is not above the threshold, so the law drops that direction.";
    return { limit: damping, name: "threshold", out: sigmaMin <= damping, words };
  }
  const open = Math.min(sigmaMin / LAW_DEFAULTS.adaptive.threshold, 1);
  const limit = kind === "adaptive" ? damping * Math.sqrt(1 - open * open) : damping;
  const words = "Out of rank: σ_min is below λ, so in one direction the law gives way instead of racing.";
  return { limit, name: kind === "adaptive" ? "λ now" : "λ", out: sigmaMin < limit, words };
}

/**
 * One sentence at a time for the eye and the ear; what comes too soon waits, and only the latest is kept.
 *
 * @param {HTMLElement} line - role="status".
 * @returns {(text: string, atOnce?: boolean) => void} atOnce: an answer to the reader's hand does not wait.
 */
export function makeSpeaker(line) {
  let last = -Infinity;
  let timer = 0;
  return (text, atOnce = false) => {
    clearTimeout(timer);
    const speak = () => {
      last = performance.now();
      line.textContent = text;
    };
    const wait = atOnce ? 0 : last + BETWEEN - performance.now();
    if (wait <= 0) speak();
    else timer = setTimeout(speak, wait);
  };
}

/**
 * Fill the readouts and badges of the page.
 *
 * @param {(id: string) => HTMLElement} byId
 * @param {number} straight - the elbow's straight angle q4* [rad].
 * @param {(text: string) => void} say
 * @returns {{numbers: (now: object) => void, states: (now: object) => void, state: () => string,
 *   forget: () => void}} numbers({error (6), speed, sigmaMin, elbow, clipped}) writes them;
 *   states({time, rank, elbow}) shows the badges at once and says a change when it has lasted;
 *   state(): what the badges say, in words; forget(): what was the case is over, and its end is no news.
 */
export function makeReadouts(byId, straight, say) {
  byId("straight-elbow").textContent = signed(straight, 3);
  const clippedCell = byId("clipped").closest("div");
  const rankCell = byId("sigma-min").closest("div");
  const elbowCell = byId("elbow").closest("div");
  const write = (id, text) => byId(id).textContent === text || (byId(id).textContent = text);
  const badges = ["badge-rank", "badge-straight", "badge-folded"].map(byId);
  const [rankBadge, straightBadge, foldedBadge] = badges;
  const outOfRank = lasting((now) => say(now ? outOfRank.words : "In rank again."));
  const folded = lasting((now) => say(now ? FOLDED : UNFOLDED));
  let bent = false;

  return {
    numbers({ error, speed, sigmaMin, elbow, clipped }) {
      write("position-error", (1000 * Math.hypot(error[0], error[1], error[2])).toFixed(1));
      write("orientation-error", Math.hypot(error[3], error[4], error[5]).toFixed(3));
      write("joint-speed", speed < 1000 ? speed.toFixed(speed < 1 ? 3 : 1) : speed.toExponential(1));
      write("sigma-min", sigmaMin >= 0.001 ? sigmaMin.toFixed(4) : sigmaMin.toExponential(1));
      write("elbow", signed(elbow, 3));
      write("clipped", clipped ? "yes" : "no");
      clippedCell.classList.toggle("alarm", clipped);
    },
    states({ time, rank, elbow }) {
      // A straight elbow chatters about q4*: it is folded once clear of that, and until it is nearly back.
      bent = elbow > straight + (bent ? ELBOW_MARGIN / 2 : ELBOW_MARGIN);
      rankBadge.hidden = !rank.out;
      foldedBadge.hidden = !bent;
      straightBadge.hidden = bent || elbow < straight - ELBOW_MARGIN;
      rankCell.classList.toggle("alarm", rank.out);
      elbowCell.classList.toggle("alarm", bent);
      outOfRank.words = rank.words;
      outOfRank.see(rank.out, time);
      folded.see(bent, time);
    },
    state() {
      const shown = badges.filter(({ hidden }) => !hidden);
      return shown.map(({ textContent }) => textContent).join(", ");
    },
    forget() {
      outOfRank.forget();
      folded.forget();
    },
  };
}

/** Tells a yes or no once it has been the other way for a while. */
function lasting(tell) {
  let told = false;
  let since = null; // the time at which it turned
  return {
    words: "",
    see(now, time) {
      if (now === told || (since !== null && time < since)) since = null;
      else since ??= time;
      if (since === null || time - since < HELD) return;
      told = now;
      since = null;
      tell(now);
    },
    forget() {
      told = false;
      since = null;
    },
  };
}

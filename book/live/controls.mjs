// The settings of the loop as native inputs: what each is called, what it means under each law, its words.

import { element } from "./words.mjs";

/** The settings that the page opens with; maxJointSpeed null is no bound. */
export const DEFAULTS = {
  kind: "damped",
  damping: 1e-2,
  integrationDt: 1,
  nullspaceGain: 0,
  maxJointSpeed: null,
};

const LAWS = {
  damped: ["Damped least squares", "damping λ", "No direction's gain exceeds 1/(2λ)."],
  adaptive: ["Adaptive damping", "largest damping λ_max", "Reached as σ_min falls to zero."],
  truncated: ["Truncated SVD", "threshold", "Directions with σ up to it are dropped."],
  transpose: ["Transpose", "damping λ", "It has none: Jᵀe inverts nothing."],
};
const SPEED_OFF = 1.05; // the log10 of the speed bound's last notch, which is no bound

// value <-> notch of the slider; say(value) is the text that is shown, speak(value) what is read out.
const SLIDERS = {
  damping: {
    min: -6, max: 0, step: 0.05, notch: Math.log10, value: (notch) => 10 ** notch,
    say: (value) => value.toExponential(1), speak: (value) => value.toExponential(1),
  },
  integrationDt: {
    label: "integration_dt", min: -1.7, max: 0.7, step: 0.05, notch: Math.log10,
    value: (notch) => Number((10 ** notch).toPrecision(2)),
    say: (value) => `${value} s`, speak: (value) => `${value} seconds`,
    note: "A gain, not the physics time step.",
  },
  nullspaceGain: {
    label: "null-space gain", min: 0, max: 2, step: 0.05, notch: Number, value: Number,
    say: (value) => `${value}/s`, speak: (value) => `${value} per second`,
    note: "Pulls home within the null space.",
  },
  maxJointSpeed: {
    label: "speed bound", min: -1, max: SPEED_OFF, step: 0.05,
    notch: (value) => (value === null ? SPEED_OFF : Math.log10(value)),
    value: (notch) => (Number(notch) >= SPEED_OFF - 0.01 ? null : Number((10 ** notch).toPrecision(2))),
    say: (value) => (value === null ? "off" : `${value} rad/s`),
    speak: (value) => (value === null ? "off" : `${value} radians a second`),
    note: "All joints slow down together.",
  },
};

/**
 * Build the controls.
 *
 * @param {HTMLElement} host
 * @param {object} settings - as `DEFAULTS`; changed in place, and nowhere but here.
 * @param {(name: string) => void} changed - told after a setting has a new value.
 * @returns {{set: (name: string, value: number | string | null) => void}} the same from a script; it throws
 *   on a name or a law that does not exist, and keeps a number within its slider.
 */
export function makeControls(host, settings, changed) {
  const law = element("select", { id: "kind", name: "kind" });
  for (const [kind, [name]] of Object.entries(LAWS)) law.append(element("option", { value: kind }, name));
  law.addEventListener("change", () => set("kind", law.value));
  const lawLabel = element("label", { htmlFor: "kind" }, "control law");
  host.append(element("div", { className: "field" }, lawLabel, law));

  const sliders = {};
  for (const [name, { label = "", min, max, step, value, note = "" }] of Object.entries(SLIDERS)) {
    const described = { "aria-describedby": `${name}-note` };
    const input = element("input", { type: "range", id: name, name, min, max, step, ...described });
    const parts = {
      input,
      label: element("label", { htmlFor: name }, label),
      output: element("output", { htmlFor: name, id: `${name}-value` }),
      note: element("p", { className: "note", id: `${name}-note` }, note),
    };
    input.addEventListener("input", () => set(name, value(input.value)));
    sliders[name] = parts;
    host.append(element("div", { className: "field" }, parts.label, parts.output, input, parts.note));
  }
  host.addEventListener("submit", (event) => event.preventDefault());

  function set(name, value) {
    if (name === "kind") {
      requireKnown("law", value, LAWS);
      settings.kind = value;
    } else {
      requireKnown("setting", name, SLIDERS);
      settings[name] = within(SLIDERS[name], value);
    }
    show();
    changed(name);
  }

  function show() {
    const [, dampingLabel, dampingNote] = LAWS[settings.kind];
    law.value = settings.kind;
    sliders.damping.label.textContent = dampingLabel;
    sliders.damping.note.textContent = dampingNote;
    sliders.damping.input.disabled = settings.kind === "transpose";
    sliders.nullspaceGain.input.disabled = settings.kind !== "damped";
    sliders.nullspaceGain.note.textContent =
      settings.kind === "damped" ? SLIDERS.nullspaceGain.note : "Only with damped least squares.";
    for (const [name, { notch, say, speak }] of Object.entries(SLIDERS)) {
      const { input, output } = sliders[name];
      input.value = notch(settings[name]);
      input.setAttribute("aria-valuetext", input.disabled ? "not used by this law" : speak(settings[name]));
      output.textContent = input.disabled ? "–" : say(settings[name]);
    }
  }

  show();
  return { set };
}

function requireKnown(what, name, known) {
  if (!Object.hasOwn(known, name)) throw new Error(`no ${what} "${name}"; there are ${Object.keys(known)}`);
}

/** A number between the ends of its slider, which need not be a notch of it; null where that is a value. */
function within({ min, max, notch, value }, asked) {
  const wanted = notch(asked);
  const fits = asked === null ? value(max) === null : typeof asked === "number" && !Number.isNaN(wanted);
  if (!fits) throw new Error(`a setting must be a number; got ${asked}`);
  if (wanted < min) return value(min);
  return wanted > max ? value(max) : asked;
}

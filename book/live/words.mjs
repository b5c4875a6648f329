// Words, numbers and elements that the replay panel's parts share.

/** How the book says a state. */
export const SAID = { healthy: "home", collapse: "folded", undecided: "undecided" };

/** 1.2e-3 */
export const exponent = (x) => x.toExponential(1);

/** A distance with its unit, e.g. 0.7012 m. */
export const metres = (x, digits = 4) => `${x.toFixed(digits)} m`;

/** A length that is short, e.g. 12.3 mm. */
export const millimetres = (x) => `${(1e3 * x).toFixed(x < 0.1 ? 1 : 0)} mm`;

/** A number with a true minus sign. */
export const signed = (x, digits) => x.toFixed(digits).replace("-", "−");

/**
 * A new element with properties and attributes set and children appended.
 *
 * @param {string} name
 * @param {object} settings properties by their name (`className`, `onclick`); others become attributes.
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function element(name, settings = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(settings)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

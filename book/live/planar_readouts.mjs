/** The numbers and sentences beside the picture. */

import { filterFactors } from "./planar_arm.mjs";
import { fixed, headline, number, postureWords } from "./planar_words.mjs";

const write = (id, text) => (document.getElementById(id).textContent = text);
const say = (id, text) => document.getElementById(id).setAttribute("aria-valuetext", text);

/**
 * Write what follows from a posture and a damping.
 *
 * @param {object} posture from `postureAt`
 * @param {number} damping lambda [m]
 * @param {boolean} outOfRank
 */
export function showReadouts(posture, damping, outOfRank) {
  const { q, tool, jacobian, sigma } = posture;
  q.forEach((angle, i) => {
    write(`q${i + 1}-value`, `${fixed(angle, 3)} rad`);
    say(`q${i + 1}`, `${fixed(angle, 2)} radians`);
  });
  write("damping-value", `${number(damping)} m`);
  say("damping", `${number(damping)} metres`);
  filterFactors(sigma, damping).forEach((factor, i) => {
    write(`sigma${i + 1}`, number(sigma[i]));
    write(`exact${i + 1}`, number(1 / sigma[i]));
    write(`factor${i + 1}`, number(factor));
  });
  write("ceiling", number(1 / (2 * damping)));
  jacobian.forEach((entry, i) => write(`j${i}`, fixed(entry, 3)));
  write("manipulability", number(sigma[0] * sigma[1]));
  write("position", `(${tool.map((metres) => fixed(metres, 2)).join(", ")})`);
  write("headline", headline(posture, damping));
  write("posture-words", postureWords(posture, damping));
  for (const id of ["headline", "cost2"]) document.getElementById(id).classList.toggle("out", outOfRank);
}

// The arm seen from the side, as lines through its joints: what folds is seen beside the scrubber.

import { elbowOf, straightElbow } from "./reach.mjs";

const SVG = "http://www.w3.org/2000/svg";
const WINDOW = { left: -0.3, right: 0.84, low: -0.06, high: 0.94 }; // of the plane that is drawn [m]

function shape(name, settings) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(settings)) made.setAttribute(key, value);
  return made;
}

/**
 * The picture's place on the page.
 *
 * @param {HTMLElement} host
 * @param {object} arm the Panda.
 * @returns {(q: Float64Array, target: Float64Array) => void} draws joint positions (n,) and a target (3,)
 *   [m].
 */
export function createSideview(host, arm) {
  const { mj, model, joints, site, homeKey, qposAddresses } = arm;
  const data = new mj.MjData(model); // for this picture alone
  const straight = straightElbow(arm);
  const elbow = elbowOf(arm);
  mj.mj_resetDataKeyframe(model, data, homeKey);

  const { left, right, low, high } = WINDOW;
  const viewBox = `${left} ${-high} ${right - left} ${high - low}`;
  const named = { role: "img", "aria-label": "The arm from the side" };
  const svg = shape("svg", { class: "sideview", viewBox, ...named });
  const links = shape("polyline", { class: "sideview-links" });
  const joint = shape("circle", { class: "sideview-elbow", r: 0.03 });
  const target = shape("circle", { class: "sideview-target", r: 0.034 });
  const tool = shape("circle", { class: "sideview-tool", r: 0.014 });
  const floor = shape("line", { class: "sideview-floor", x1: left, x2: right, y1: 0, y2: 0 });
  svg.append(floor, links, joint, target, tool);
  host.append(svg);

  const put = (circle, [x, , z]) => {
    circle.setAttribute("cx", x);
    circle.setAttribute("cy", -z);
  };

  return (q, targetPosition) => {
    const { qpos } = data;
    qposAddresses.forEach((address, k) => (qpos[address] = q[k]));
    mj.mj_kinematics(model, data);
    const { xanchor, site_xpos: sites } = data;
    const anchors = joints.map((id) => xanchor.subarray(3 * id, 3 * id + 3));
    const tip = sites.subarray(3 * site, 3 * site + 3);
    const chain = [[anchors[0][0], 0, 0], ...anchors, tip];
    links.setAttribute("points", chain.map(([x, , z]) => `${x},${-z}`).join(" "));
    put(joint, anchors[elbow]);
    put(target, targetPosition);
    put(tool, tip);
    svg.classList.toggle("past", q[elbow] > straight);
  };
}

/** SVG elements, made and changed, and the shapes that the pictures share. */

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes, put into a parent. */
export function draw(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  parent.append(element);
  return element;
}

/** Set attributes of an element that stands. */
export function set(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
}

/** Write a letter with a small number into a <text>: σ₁, in italics as the chapter sets it. */
export function drawSymbol(text, letter, index) {
  draw(text, "tspan", { class: "letter" }, letter);
  draw(text, "tspan", { class: "index", dy: 4 }, String(index + 1));
  return text;
}

/** A star of five points, as a path. */
export function starAt(x, y, radius) {
  const corners = Array.from({ length: 10 }, (_, i) => {
    const [angle, r] = [(i * Math.PI) / 5, i % 2 ? 0.42 * radius : radius];
    return `${x + r * Math.sin(angle)} ${y - r * Math.cos(angle)}`;
  });
  return `M${corners.join("L")}Z`;
}

// Elements, and numbers as people read them.

import { strings } from "./strings.js";

export const find = (selector, root = document) => root.querySelector(selector);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "colour") node.style.setProperty("--colour", value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const h = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

export function writeStrings(root = document) {
  for (const node of root.querySelectorAll("[data-text]")) node.textContent = strings[node.dataset.text];
  for (const node of root.querySelectorAll("[data-label]")) {
    node.setAttribute("aria-label", strings[node.dataset.label]);
  }
}

export function show(number, digits = 5) {
  if (number === null || number === undefined) return "–";
  if (typeof number !== "number") return String(number);
  const places = Math.max(0, digits - Math.ceil(Math.log10(Math.abs(number) + 1)));
  return number.toLocaleString("en", { maximumFractionDigits: Math.min(places, 2), useGrouping: true });
}

// A colour and a pattern for each route: ten hues that stay apart, then the same with other dashes.
const HUES = [255, 35, 145, 320, 85, 205, 0, 285, 120, 60];
export function look(index) {
  const round = Math.floor(index / HUES.length) % 3;
  return {
    colour: `oklch(${[0.52, 0.42, 0.6][round]} 0.15 ${HUES[index % HUES.length] + 12 * round})`,
    dash: [null, "10 5", "3 5"][round],
  };
}

export function tell(node, message) {
  node.textContent = message ?? "";
  node.hidden = !message;
}

export function save(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

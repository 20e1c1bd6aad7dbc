// The cost of the best plan so far over the time that was spent.

import { find, h, show, svg } from "./dom.js";
import { listen, state } from "./state.js";
import { strings } from "./strings.js";

const WIDE = 320;
const HIGH = 64;
const PAD = { left: 4, right: 4, top: 6, bottom: 14 };

function draw() {
  const place = find("#curve");
  const points = (state.run?.points ?? []).filter((point) => point.cost !== null);
  if (!points.length) return void place.replaceChildren();
  const last = points.at(-1);
  const end = Math.max(state.run.seconds ?? 0, last.seconds, 0.001);
  const costs = points.map((point) => point.cost);
  const low = Math.min(...costs);
  const high = Math.max(...costs);
  const x = (seconds) => PAD.left + (seconds / end) * (WIDE - PAD.left - PAD.right);
  const y = (cost) => PAD.top + (high === low ? 0.5 : (high - cost) / (high - low)) * (HIGH - PAD.top - PAD.bottom);
  let path = `M${x(points[0].seconds)} ${y(points[0].cost)}`;
  for (const point of points.slice(1)) path += `H${x(point.seconds)}V${y(point.cost)}`;
  path += `H${x(end)}`;
  const text = strings.curveText(show(points[0].cost), show(last.cost), show(end, 2));
  place.replaceChildren(
    svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": text, preserveAspectRatio: "none" },
      svg("path", { class: "axis", d: `M${PAD.left} ${HIGH - PAD.bottom}H${WIDE - PAD.right}` }),
      svg("path", { class: "cost", d: path }),
      ...points.filter((point) => point.unserved).map((point) =>
        svg("circle", { class: "partial", cx: x(point.seconds), cy: y(point.cost), r: 2.5 })),
      svg("circle", { class: "now", cx: x(end), cy: y(last.cost), r: 3 })),
    h("figcaption", {}, h("span", {}, show(points[0].cost)), h("span", {}, `${show(end, 2)} s`)),
  );
}

export const startCurve = () => listen(["run"], draw);

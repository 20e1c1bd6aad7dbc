// When each vehicle is where: a row a route with driving, waiting, service, windows and the load.

import { Clock } from "./clock.js";
import { find, h, svg } from "./dom.js";
import { nameOf, styleOf } from "./map.js";
import { change, listen, shownRoutes, state } from "./state.js";
import { strings } from "./strings.js";

const ROW = 50;
const LABEL = 118;
const MOST_ROWS = 200;

// The stops of a route with their times as numbers.
export function timesOf(route, clock) {
  return route.stops.map((stop, order) => {
    const leaves = clock.of(stop.departure) || 0;
    const came = order ? clock.of(stop.arrival) || 0 : leaves;
    return { ...stop, came, begins: order ? came + stop.waiting : leaves, leaves };
  });
}

function draw() {
  const place = find("#timeline");
  const routes = shownRoutes().slice(0, MOST_ROWS);
  if (!routes.length) return void place.replaceChildren();
  const clock = new Clock(state.solved.rest.clock);
  const rows = routes.map((route) => timesOf(route, clock));
  const first = Math.min(...rows.map((row) => row[0].came));
  const last = Math.max(...rows.map((row) => row.at(-1).leaves), first + 1e-9);
  const wide = Math.max(place.clientWidth - LABEL - 28, 220);
  const x = (time) => Math.max(0, Math.min(wide, ((time - first) / (last - first)) * wide));
  place.replaceChildren(
    legend(),
    h("div", { class: "axis-row" }, h("span"), axis(clock, first, last, wide, x)),
    ...routes.map((route, index) => line(route, rows[index], clock, wide, x)),
  );
}

function legend() {
  const some = (holds) => state.plan.routes.some((route) => route.stops.some(holds));
  const kinds = [
    "driving", ...(some((stop) => stop.waiting) ? ["waiting"] : []), "service",
    ...(state.solved.stops.some((stop) => stop.open || stop.close !== null) ? ["window"] : []),
    ...(state.plan.routes.some((route) => route.breaks?.length) ? ["break"] : []), "load",
  ];
  return h("p", { class: "legend" }, kinds.map((kind) => h("span", { class: `key ${kind}` }, strings.legend[kind])));
}

function axis(clock, first, last, wide, x) {
  const step = clock.step(last - first, Math.max(2, wide / 70));
  const marks = [];
  const offset = clock.isNumber ? 0 : clock.origin / clock.unit;
  for (let time = Math.ceil((first + offset) / step) * step - offset; time <= last; time += step) {
    marks.push(svg("text", { x: x(time), y: 11, "text-anchor": x(time) < 16 ? "start" : x(time) > wide - 16 ? "end" : "middle" }, clock.brief(time)),
      svg("path", { d: `M${x(time)} 14v4` }));
  }
  return svg("svg", { width: wide, height: 18, "aria-hidden": "true", class: "axis" }, marks);
}

function line(route, stops, clock, wide, x) {
  const { colour } = styleOf(route);
  const parts = [];
  const window = (stop) => state.solved.stops[stop.node];
  const peak = Math.max(route.peak_load, ...stops.map((stop) => stop.load), 1e-9);
  let lane = -1;
  let drawn = "";
  let load = `M${x(stops[0].came)} ${ROW - 4}`;
  stops.forEach((stop, order) => {
    const before = stops[order - 1];
    if (before) parts.push(svg("path", { class: "driving", d: `M${x(before.leaves)} 16H${x(stop.came)}` }));
    const { open, close, depot } = window(stop) ?? {};
    const limited = !depot && (open || (close ?? null) !== null);
    const closings = [close].flat();
    const windows = limited ? [open].flat().map((begin, number) => [begin, closings[number] ?? null]) : [];
    // Windows of neighbours lie below each other; one that several share is drawn once.
    if (limited && `${open} ${close}` !== drawn) {
      drawn = `${open} ${close}`;
      lane = (lane + 1) % 3;
      for (const [begin, end] of windows) {
        const [from, to] = [x(begin ?? -Infinity), x(end ?? Infinity)];
        parts.push(svg("path", { class: "window", d: `M${from} ${22 + 3 * lane}v4H${to}${to < wide ? "v-4" : ""}` }));
      }
    }
    if (stop.waiting) parts.push(svg("rect", { class: "waiting", x: x(stop.came), y: 11, width: x(stop.begins) - x(stop.came), height: 10 }));
    const width = Math.max(x(stop.leaves) - x(stop.begins), 3);
    const between = windows.map(([begin, end]) =>
      strings.windowText(clock.brief(begin ?? 0), end === null ? strings.unlimited : clock.brief(end))).join(", ");
    const text = strings.blockText(stop.id, clock.brief(stop.came), clock.brief(stop.leaves), between);
    parts.push(svg("rect", { class: depot ? "base" : "service", x: Math.min(x(stop.begins), wide - width), y: 8, width, height: 16, rx: 2 }, svg("title", {}, text)));
    load += `H${x(stop.leaves)}V${ROW - 4 - (stop.load / peak) * 11}`;
  });
  for (const pause of route.breaks ?? []) {
    const [from, to] = [clock.of(pause.begin), clock.of(pause.end)];
    const about = strings.blockText(pause.name || strings.legend.break, clock.brief(from), clock.brief(to), "");
    parts.push(svg("rect", { class: "break", x: x(from), y: 10, width: Math.max(x(to) - x(from), 3), height: 12, rx: 6 }, svg("title", {}, about)));
  }
  const name = nameOf(route);
  const waiting = clock.lasting(stops.reduce((sum, stop) => sum + stop.waiting, 0));
  const text = strings.rowText(name, stops.filter((stop) => !window(stop)?.depot).length, clock.brief(stops[0].came), clock.brief(stops.at(-1).leaves), waiting);
  return h("div", { class: `time-row${state.selected === route.number ? " selected" : ""}`, colour },
    h("button", { type: "button", class: "plain", onclick: () => change({ selected: route.number }), title: name }, name),
    svg("svg", { width: wide, height: ROW, role: "img", "aria-label": text },
      svg("path", { class: "load", d: `${load}V${ROW - 4}Z` }), parts));
}

export function startTimeline() {
  listen(["plan", "hidden", "selected"], draw);
  let wide = 0;
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - wide) < 8) return;
    wide = entry.contentRect.width;
    draw();
  }).observe(find("#timeline"));
}

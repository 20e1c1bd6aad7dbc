// Stops and vehicles as tables to edit. A cell that cannot be read says so next to itself.

import { cell as makeCell, readers } from "./cells.js";
import { Clock } from "./clock.js";
import { find, h, tell } from "./dom.js";
import { centre } from "./map.js";
import { addStop, canGrow } from "./problem.js";
import { edit, listen, state } from "./state.js";
import { strings } from "./strings.js";

const ROWS = 100; // on a page of the table
let first = 0;
let latest = null;

function stopColumns(problem, clock) {
  const [x, y] = problem.geographic ? ["lon", "lat"] : ["x", "y"];
  const has = (name) => problem.stops.some((stop) => (stop[name] ?? null) !== null && stop[name] !== 0);
  const columns = [
    { name: "id", field: "ids", ...readers.id },
    ...(problem.drawn ? [
      { name: "x", label: x, field: "locations", wide: true, ...readers.number },
      { name: "y", label: y, field: "locations", wide: true, ...readers.number },
    ] : []),
    { name: "demand", field: "demand", ...readers.loads },
    { name: "open", field: "windows", ...readers.time(clock) },
    { name: "close", field: "windows", ...readers.time(clock) },
    { name: "service", field: "service", ...readers.number },
    ...(has("penalty") ? [{ name: "penalty", field: "penalty", ...readers.limit }] : []),
    ...(has("prize") ? [{ name: "prize", field: "prize", ...readers.number }] : []),
    { name: "depot", field: "depots", flag: true },
  ];
  return columns.map((column) => ({ ...column, title: strings.columns[column.label ?? column.name] }));
}

function fleetColumns(problem, clock) {
  const used = (name) => problem.vehicles.some((vehicle) => vehicle[name] !== undefined);
  const depots = problem.stops.filter((stop) => stop.depot).length;
  const columns = [
    { name: "name", ...readers.text },
    { name: "count", ...readers.limit },
    { name: "capacity", ...readers.loads, empty: undefined },
    ...(depots > 1 || used("end") ? [{ name: "start", ...readers.node(problem) }, { name: "end", ...readers.node(problem) }] : []),
    { name: "from", field: "window", ...readers.shift(clock, 0) },
    { name: "to", field: "window", ...readers.shift(clock, 1) },
    { name: "fixed_cost", ...readers.number },
    ...(used("unit_distance_cost") ? [{ name: "unit_distance_cost", ...readers.number }] : []),
    ...(used("max_length") ? [{ name: "max_length", ...readers.optional }] : []),
    ...(used("max_duration") ? [{ name: "max_duration", ...readers.optional }] : []),
    ...(used("pinned") ? [{ name: "pinned", ...readers.nodes(problem) }] : []),
    ...(used("forbidden") ? [{ name: "forbidden", ...readers.nodes(problem) }] : []),
  ];
  return columns.map((column) => ({ field: column.name, ...column, title: strings.fleet[column.name] }));
}

function table(kind, rows, columns, offset, nameOf, onRemove) {
  const body = rows.map((row, index) => h("tr", { "data-row": offset + index },
    columns.map((column) => h(column.name === "id" || column.name === "name" ? "th" : "td",
      column.name === "id" || column.name === "name" ? { scope: "row" } : {},
      makeCell(row, column, nameOf(row, offset + index), () => edit()))),
    h("td", {}, h("button", {
      type: "button", class: "plain", "aria-label": strings.removeRow(nameOf(row, offset + index)), title: strings.remove,
      onclick: () => onRemove(row, offset + index),
    }, "×"))));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": strings[kind] },
    h("table", { id: `${kind}-table`, class: "edit" },
      h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column.title)),
        h("th", { scope: "col" }, h("span", { class: "unseen" }, strings.remove)))),
      h("tbody", {}, body)));
}

function stops(problem, clock) {
  first = Math.min(first, Math.floor(Math.max(0, problem.stops.length - 1) / ROWS) * ROWS);
  const rows = problem.stops.slice(first, first + ROWS);
  const turn = (to) => () => { first = to; draw(); };
  const pager = problem.stops.length > ROWS ? h("div", { class: "row" },
    h("button", { type: "button", disabled: first === 0, onclick: turn(first - ROWS) }, strings.earlier),
    h("span", {}, strings.page(first + 1, first + rows.length, problem.stops.length)),
    h("button", { type: "button", disabled: first + ROWS >= problem.stops.length, onclick: turn(first + ROWS) }, strings.later)) : null;
  const add = canGrow(problem)
    ? h("button", { type: "button", id: "add-stop", onclick: () => {
      const { x, y } = centre();
      addStop(problem, x, y, strings.newStop(problem.stops.length));
      first = Math.floor((problem.stops.length - 1) / ROWS) * ROWS;
      edit();
      queueMicrotask(() => { draw(); find("#stops-table tbody tr:last-child input").focus(); });
    } }, strings.addStop)
    : h("p", { class: "muted" }, strings.noAdding);
  return h("div", { class: "card" }, h("h2", {}, strings.stops), fault("stops"),
    table("stops", rows, stopColumns(problem, clock), first, (stop) => String(stop.id), (stop) => {
      problem.stops.splice(problem.stops.indexOf(stop), 1);
      edit();
      draw();
    }), pager, add);
}

function vehicles(problem, clock) {
  const general = ["capacity", "max_routes", "max_length", ...(problem.kind === "earth" ? ["speed_kmh"] : [])]
    .filter((name) => name === "speed_kmh" || !problem.vehicles || (problem.rest[name] ?? null) !== null);
  const fields = h("div", { class: "fields" }, general.map((name) => {
    const holder = name === "speed_kmh" ? problem : problem.rest;
    const column = { name, field: name, ...(name === "capacity" ? readers.loads : readers.optional), title: strings.general[name] };
    return h("label", {}, h("span", {}, strings.general[name]), makeCell(holder, column, null, () => edit()));
  }));
  const held = problem.vehicles
    ? [table("vehicles", problem.vehicles, fleetColumns(problem, clock), 0, (one, number) => one.name || String(number), (one, number) => {
      problem.vehicles.splice(number, 1);
      if (!problem.vehicles.length) problem.vehicles = null;
      edit();
      draw();
    })]
    : [h("p", { class: "muted" }, strings.alike)];
  const add = h("button", { type: "button", onclick: () => {
    const type = { name: strings.newVehicle((problem.vehicles?.length ?? 0) + 1), count: 1 };
    if (!problem.vehicles) {
      type.count = problem.rest.max_routes ?? null;
      delete problem.rest.max_routes;
    }
    problem.vehicles = [...(problem.vehicles ?? []), type];
    edit();
    draw();
  } }, problem.vehicles ? strings.addVehicle : strings.differ);
  return h("div", { class: "card" }, h("h2", {}, strings.vehicles), fields, fault("vehicles"), held, add);
}

const fault = (kind) => h("p", { class: "fault", id: `${kind}-fault`, role: "alert", hidden: true });

function draw() {
  const { problem } = state;
  const place = find("#tables");
  latest = problem;
  if (!problem) return void place.replaceChildren();
  const clock = new Clock(problem.rest.clock);
  const scrolled = [...place.querySelectorAll(".scroll")].map((one) => [one.scrollTop, one.scrollLeft]);
  place.replaceChildren(stops(problem, clock), vehicles(problem, clock));
  place.querySelectorAll(".scroll").forEach((one, index) => {
    [one.scrollTop, one.scrollLeft] = scrolled[index] ?? [0, 0];
  });
}

// Show what the server said at the cell that it named; false where there is none.
export function blame({ field = "", node }, message, reveal) {
  const place = find("#tables");
  const type = /^vehicles, type (\d+)[^,]*, (.+)$/.exec(field);
  const name = field.replace(/,.*$/, "").replace("lonlat", "locations").replace("places", "locations");
  let cells = [];
  let box = find("#stops-fault");
  if (type) {
    box = find("#vehicles-fault");
    cells = place.querySelectorAll(`#vehicles-table tr[data-row="${type[1]}"] [data-field="${type[2]}"]`);
  } else {
    const row = node ?? /node (\d+)/.exec(field)?.[1];
    if (row !== undefined && row !== null) {
      const start = Math.floor(row / ROWS) * ROWS;
      if (start !== first) { first = start; draw(); box = find("#stops-fault"); }
      cells = place.querySelectorAll(`#stops-table tr[data-row="${row}"] [data-field="${name}"]`);
    } else {
      cells = place.querySelectorAll(`.fields [data-field="${name}"]`);
      if (cells.length || name === "vehicles") box = find("#vehicles-fault");
    }
  }
  if (!box || (!cells.length && !["vehicles", "depots"].includes(name))) return false;
  reveal();
  tell(box, message);
  for (const one of cells) {
    one.setAttribute("aria-invalid", "true");
    one.setAttribute("aria-describedby", box.id);
  }
  cells[0]?.focus();
  cells[0]?.scrollIntoView({ block: "center" });
  return true;
}

export function clearBlame() {
  for (const one of find("#tables").querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
  for (const kind of ["stops", "vehicles"]) {
    const box = find(`#${kind}-fault`);
    if (box) box.hidden = true;
  }
}

// Typing must not lose its place: only a problem that comes from elsewhere is drawn anew.
export const startTables = () => listen(["problem", "drawn"], () => {
  if (state.problem !== latest) { first = 0; draw(); }
});
export const redrawTables = draw;

// The plan in words: routes and who drives them, stops and what may be changed, who is left out.

import { api } from "./api.js";
import { find, h, save, show } from "./dom.js";
import { assign, forbid, isSingled, pin, singleOut, wishes } from "./fleet.js";
import { nameOf, styleOf } from "./map.js";
import { toDocument } from "./problem.js";
import { canGrant, grant } from "./remedies.js";
import { change, edit, listen, state } from "./state.js";
import { strings } from "./strings.js";
import { redrawTables } from "./table.js";

const EARTHLY = ["geojson", "gpx"]; // formats of longitudes and latitudes
let onFault = () => {};

function draw() {
  const { plan } = state;
  const focused = document.activeElement?.id;
  find("#plan").replaceChildren(...(plan
    ? [unserved(plan), changes(), routes(plan), chosen(plan), remarks(plan), downloads(plan)].filter(Boolean)
    : [h("p", { class: "muted card" }, strings.noPlan)]));
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

// ------------------------------------------------------------------------------------------ routes

function routes(plan) {
  const all = plan.routes.map((route) => route.number);
  const hide = (numbers) => () => change({ hidden: new Set(numbers) });
  const rows = plan.routes.map((route) => {
    const { colour } = styleOf(route);
    const name = nameOf(route);
    const box = h("input", {
      type: "checkbox", id: `show-${route.number}`, "aria-label": strings.shown(name), onchange: () => {
        const hidden = new Set(state.hidden);
        if (box.checked) hidden.delete(route.number); else hidden.add(route.number);
        change({ hidden });
      },
    });
    box.checked = !state.hidden.has(route.number);
    const visits = route.stops.filter((stop) => !["start", "end"].includes(stop.kind)).length;
    return h("li", { class: state.selected === route.number ? "selected" : null, colour }, box,
      h("button", {
        type: "button", class: "plain", id: `route-${route.number}`, "aria-pressed": String(state.selected === route.number),
        onclick: () => change({ selected: state.selected === route.number ? null : route.number }),
      }, h("span", { class: "swatch", "aria-hidden": "true" }), h("strong", {}, name),
      h("span", { class: "muted" }, strings.routeAbout(visits, show(route.peak_load), show(route.total_cost ?? route.cost)))));
  });
  return h("div", { class: "card" }, h("h2", {}, strings.routes),
    h("div", { class: "row" },
      h("button", { type: "button", id: "show-all", onclick: hide([]) }, strings.allRoutes),
      h("button", { type: "button", id: "show-none", onclick: hide(all) }, strings.noRoutes),
      byVehicle(plan)),
    h("ul", { class: "routes" }, rows));
}

// A list of vehicle types, where there are several, to see the routes of one.
function byVehicle(plan) {
  const names = [...new Set(plan.routes.map((route) => route.vehicle).filter((name) => name !== undefined))];
  if (names.length < 2) return null;
  const pick = h("select", { id: "by-vehicle", "aria-label": strings.vehicles, onchange: () => {
    const hidden = plan.routes.filter((route) => pick.value && String(route.vehicle) !== pick.value).map((route) => route.number);
    change({ hidden: new Set(hidden) });
  } }, h("option", { value: "" }, strings.vehicles), names.map((name) => h("option", { value: name }, String(name))));
  const seen = new Set(plan.routes.filter((route) => !state.hidden.has(route.number)).map((route) => route.vehicle));
  if (state.hidden.size && seen.size === 1) pick.value = String([...seen][0]);
  return pick;
}

function chosen(plan) {
  const route = plan.routes.find((one) => one.number === state.selected);
  if (!route) return null;
  const { colour } = styleOf(route);
  const spent = ["waiting", "pause", "service"].filter((name) => route.stops.some((stop) => stop[name]));
  const columns = ["id", "arrival", ...spent, "departure", "load", "change"];
  const brief = (moment) => (typeof moment === "string" ? moment.replace(/\.\d+$/, "").replace(/(:\d\d):\d\d$/, "$1") : show(moment));
  const rows = route.stops.map((stop, order) => {
    const isStop = !["start", "end"].includes(stop.kind) && !state.solved.stops[stop.node].depot;
    return h("tr", {}, h("th", { scope: "row" }, String(stop.id)), h("td", {}, brief(stop.arrival)),
      spent.map((name) => h("td", {}, stop[name] ? show(stop[name], 3) : "")),
      h("td", {}, brief(stop.departure)),
      h("td", {}, h("meter", { max: Math.max(route.peak_load, 1e-9), value: Math.max(0, stop.load), "aria-hidden": "true" }), show(stop.load)),
      h("td", {}, isStop ? changeMenu(plan, route, stop, order) : ""));
  });
  return h("div", { class: "card", colour }, h("h2", {}, h("span", { class: "swatch", "aria-hidden": "true" }), strings.stopsOf(nameOf(route))),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": strings.stopsOf(nameOf(route)) },
      h("table", { id: "route-table" },
        h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, strings.planColumns[column])))),
        h("tbody", {}, rows))));
}

// ----------------------------------------------------------------------------------------- changes

function changeMenu(plan, route, stop, order) {
  const others = plan.routes.filter((one) => one !== route);
  const menu = h("select", { "aria-label": strings.changeOf(stop.id), class: "change", onchange: () => act(menu.value, route.number, stop, order) },
    h("option", { value: "" }, strings.changeSign), h("option", { value: "pin" }, strings.pin),
    h("option", { value: "keep" }, strings.keep), h("option", { value: "forbid" }, strings.forbid),
    others.map((one) => h("option", { value: one.number }, strings.moveTo(nameOf(one)))));
  return menu;
}

function act(what, number, stop, order) {
  if (!what) return;
  const { problem, solved } = state;
  const plan = structuredClone(state.plan);
  if (!isSingled(problem, plan)) singleOut(problem, plan);
  const keyOf = (one) => solved.stops[one.node].key;
  const vehicleOf = (wanted) => {
    const route = plan.routes.find((one) => one.number === wanted);
    return problem.vehicles.find((vehicle) => vehicle.name === route.vehicle);
  };
  const mine = vehicleOf(number);
  const key = keyOf(stop);
  // A pickup and its delivery stay together.
  const keys = problem.pairs.find((pair) => pair.includes(key)) ?? [key];
  let moves = state.moves.filter((move) => !keys.includes(move.key));
  if (what === "pin") {
    const route = plan.routes.find((one) => one.number === number);
    const before = route.stops.slice(1, order + 1).filter((one) => !solved.stops[one.node].depot);
    pin(problem, mine, before.map(keyOf));
  } else if (what === "keep") {
    for (const one of keys) assign(problem, mine, one);
  } else if (what === "forbid") {
    for (const one of keys) forbid(problem, mine, one);
  } else {
    const other = vehicleOf(Number(what));
    for (const one of keys) assign(problem, other, one);
    moves = [...moves, ...keys.map((one) => ({ key: one, vehicle: other.name }))];
  }
  edit({ plan, moves });
  redrawTables();
}

function changes() {
  const told = wishes(state.problem);
  if (!told.length) return null;
  return h("div", { class: "card" }, h("h2", {}, strings.wishes), h("p", { class: "muted" }, strings.wishesHelp),
    h("ul", { id: "wishes", class: "plainly" }, told.map((wish) => h("li", {}, wish.text, " ",
      h("button", { type: "button", class: "plain", "aria-label": strings.releaseOf(wish.text), onclick: () => {
        wish.undo();
        edit({ plan: state.plan });
        redrawTables();
      } }, strings.release)))));
}

// ---------------------------------------------------------------------------------- who is left out

function unserved(plan) {
  const left = plan.unserved ?? [];
  if (!left.length) return null;
  const remedy = (begin, { message, changes }) => h("p", { class: "remedy" }, h("span", { class: "muted" }, `${begin}: `), message, " ",
    canGrant(changes) ? h("button", { type: "button", class: "plain", "aria-label": strings.grantOf(message), onclick: () => {
      grant(state.problem, state.solved, changes);
      edit({ plan: state.plan });
      redrawTables();
    } }, strings.grant) : null);
  return h("div", { class: "card warn", id: "unserved" }, h("h2", {}, strings.unserved(left.length)),
    h("ul", { class: "plainly" }, left.map((one) => h("li", {}, h("strong", {}, String(one.id)), " ", one.message,
      one.relaxation ? remedy(strings.takes, one.relaxation) : null,
      (one.alternatives ?? []).map((other) => remedy(strings.or, other))))));
}

function remarks(plan) {
  const broken = plan.violations.filter((one) => one.code !== "visit").map((one) => one.message);
  const lists = [[strings.violations, broken], [strings.notes, state.notes]];
  const shown = lists.filter(([, messages]) => messages.length).map(([title, messages]) =>
    [h("h2", {}, title), h("ul", {}, messages.map((message) => h("li", {}, message)))]);
  if (plan.skipped.length && !plan.unserved?.length) shown.push([h("p", {}, strings.skipped(plan.skipped.join(", ")))]);
  return shown.length ? h("div", { class: "card" }, shown.flat()) : null;
}

// --------------------------------------------------------------------------------------- downloads

function downloads() {
  const name = (state.problem.rest.name || "plan").replace(/[^\w-]+/g, "-");
  const formats = Object.entries(state.about.formats)
    .filter(([format]) => state.solved.geographic || !EARTHLY.includes(format));
  const fetched = (format, suffix) => async () => {
    try {
      save(await api.plan(state.job, format), `${name}${format === "vroom" ? "-vroom" : ""}.${suffix}`);
    } catch (error) {
      onFault(error);
    }
  };
  return h("div", { class: "card" }, h("h2", {}, strings.download),
    h("div", { class: "row", id: "downloads" },
      formats.map(([format, suffix]) => h("button", { type: "button", "data-format": format, onclick: fetched(format, suffix) }, strings.formats[format] ?? format)),
      h("button", { type: "button", "data-format": "problem", onclick: () =>
        save(new Blob([JSON.stringify(toDocument(state.problem), null, 1)], { type: "application/json" }), `${name}-problem.json`) },
      strings.formats.problem)));
}

export function startPlan(fault) {
  onFault = fault;
  listen(["plan", "problem", "hidden", "selected", "notes"], draw);
  draw();
}

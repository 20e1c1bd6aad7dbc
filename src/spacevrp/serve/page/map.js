// Stops and routes on a map: on the earth where they have longitudes, else on a plane.

import { find, h, look, show, svg, tell } from "./dom.js";
import { listen, shownRoutes, change, state } from "./state.js";
import { strings } from "./strings.js";

const MANY = 1_000; // stops that are drawn on a canvas, not as elements
const CROWDED = 300; // stops that are drawn small
const MOST_ARROWS = 400;
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
let map = null;
let layers = null;
let framed = null; // the problem that the map was fitted to
let moved = false; // by hand, since

function begin(geographic) {
  if (map && map.geographic === geographic) return;
  map?.remove();
  map = L.map("map", {
    crs: geographic ? L.CRS.EPSG3857 : L.CRS.Simple,
    attributionControl: false, zoomSnap: 0.25, minZoom: geographic ? 1 : -12, maxZoom: geographic ? 19 : 14,
    zoomAnimation: !calm, fadeAnimation: !calm, markerZoomAnimation: !calm,
  });
  map.geographic = geographic;
  framed = null;
  const { tiles, tiles_credit: credit } = state.about ?? {};
  if (geographic && tiles) {
    // Those who give tiles away ask who takes them.
    L.tileLayer(tiles, { maxZoom: 19, referrerPolicy: "strict-origin-when-cross-origin" }).addTo(map);
    if (credit) L.control.attribution({ prefix: false }).addAttribution(escape(credit)).addTo(map);
  } else {
    const grid = L.gridLayer({ tileSize: 128 });
    grid.createTile = () => h("div", { class: "grid" });
    grid.addTo(map);
  }
  layers = L.layerGroup().addTo(map);
  for (const type of ["mousedown", "touchstart", "wheel", "keydown"]) {
    map.getContainer().addEventListener(type, () => { moved = true; }, { passive: true });
  }
}

const size = () => (state.problem.stops.length > CROWDED ? 3 : 5);
const escape = (text) => h("p", {}, text).innerHTML;
const at = (stop) => [stop.y, stop.x];
const isPlaced = (stop) => Number.isFinite(stop.x) && Number.isFinite(stop.y) && stop.x !== null && stop.y !== null;

function draw() {
  const { problem, plan } = state;
  find("#map").classList.toggle("empty", !problem?.drawn);
  tell(find("#no-map"), problem && !problem.drawn ? strings.noMap : null);
  if (!problem?.drawn) return void layers?.clearLayers();
  begin(problem.geographic);
  layers.clearLayers();
  const placed = problem.stops.filter(isPlaced);
  if (framed !== problem) {
    framed = problem;
    moved = false;
    fit(placed);
  }
  const many = placed.length > MANY ? { renderer: L.canvas() } : {};
  const drawn = plan ? drawRoutes(placed, many) : new Map();
  for (const stop of placed) if (!drawn.has(stop.key)) drawStop(stop, drawn, many);
}

function fit(placed) {
  const bounds = L.latLngBounds(placed.map(at));
  if (bounds.isValid()) map.fitBounds(bounds, { padding: [32, 32], animate: false });
}

function drawRoutes(placed, many) {
  const now = new Map(placed.map((stop) => [stop.key, stop]));
  const found = new Map(); // key of a stop -> how it is drawn; null where its route is hidden
  const routes = shownRoutes();
  const lines = routes.reduce((sum, route) => sum + route.stops.length, 0);
  const every = Math.ceil(lines / MOST_ARROWS);
  for (const route of state.plan.routes) {
    const { colour, dash } = styleOf(route);
    const seen = !state.hidden.has(route.number);
    const stops = route.stops.map((stop) => now.get(state.solved.stops[stop.node]?.key)).filter(Boolean);
    route.stops.forEach((stop, order) => {
      const place = now.get(state.solved.stops[stop.node]?.key);
      if (place && !place.depot) found.set(place.key, seen ? { colour, order, stop, route } : null);
    });
    if (!seen) continue;
    const weight = state.selected === route.number ? 6 : 3;
    L.polyline(stops.map(at), {
      ...many, color: colour, weight, opacity: 0.9, dashArray: placed.length > CROWDED ? null : dash, className: `route route-${route.number}`,
    }).on("click", () => change({ selected: route.number })).bindTooltip(() => h("span", {}, nameOf(route))).addTo(layers);
    for (let leg = 1; leg < stops.length; leg += every) drawArrow(stops[leg - 1], stops[leg], colour);
  }
  for (const [key, look] of found) {
    const stop = now.get(key);
    if (look) drawVisit(stop, look, many);
  }
  return found;
}

// Where every route has a vehicle of its own, its colour stays with the vehicle.
export function styleOf(route) {
  const { plan, solved } = state;
  const own = new Set(plan.routes.map((one) => one.vehicle)).size === plan.routes.length;
  const vehicle = own ? solved.vehicles?.findIndex((one) => one.name === route.vehicle) ?? -1 : -1;
  return look(vehicle < 0 ? route.number - 1 : vehicle);
}

export const nameOf = (route) => strings.routeName(route.number, route.vehicle);

function drawVisit(place, { colour, order, stop, route }, many) {
  const label = `${nameOf(route)} · ${order}. ${stop.arrival ?? ""}`;
  L.circleMarker(at(place), {
    ...many, radius: size() + (state.selected === route.number ? 2 : 0), color: "#fff", weight: size() / 4, fillColor: colour, fillOpacity: 1,
    className: "visit",
  }).bindTooltip(h("span", {}, strings.place(String(place.id), label)))
    .on("click", () => change({ selected: route.number })).addTo(layers);
}

// A stop that no route serves, or a depot.
function drawStop(stop, drawn, many) {
  const left = state.plan && !stop.depot;
  if (stop.depot) {
    const icon = L.divIcon({ className: "depot", iconSize: [16, 16], html: h("span") });
    L.marker(at(stop), { icon, keyboard: false, zIndexOffset: 1000 })
      .bindTooltip(h("span", {}, strings.place(String(stop.id), strings.depot))).addTo(layers);
    return;
  }
  const about = left ? strings.notServed : show(stop.demand ?? "");
  L.circleMarker(at(stop), {
    ...many, radius: size() + (left ? 2 : 0), color: left ? "#b00020" : "#fff", weight: left ? 3 : size() / 4,
    fillColor: left ? "#fff" : "#456", fillOpacity: 1, className: left ? "unserved" : "stop",
  }).bindTooltip(h("span", {}, about ? strings.place(String(stop.id), about) : String(stop.id))).addTo(layers);
}

function drawArrow(from, to, colour) {
  const a = map.latLngToLayerPoint(at(from));
  const b = map.latLngToLayerPoint(at(to));
  if (a.distanceTo(b) < 24) return;
  const angle = (Math.atan2(b.y - a.y, b.x - a.x) * 180) / Math.PI;
  const arrow = svg("svg", { viewBox: "-8 -8 16 16", width: 16, height: 16, "aria-hidden": "true" },
    svg("path", { d: "M-4 -5 L6 0 L-4 5 Z", transform: `rotate(${angle})`, fill: colour, stroke: "#fff", "stroke-width": 1 }));
  const icon = L.divIcon({ className: "arrow", iconSize: [16, 16], html: arrow });
  const middle = map.layerPointToLatLng(a.add(b).divideBy(2));
  L.marker(middle, { icon, interactive: false, keyboard: false }).addTo(layers);
}

// Where the map is, for a new stop.
export function centre() {
  if (!map) return { x: 0, y: 0 };
  const { lat, lng } = map.getCenter();
  return { x: Number(lng.toFixed(5)), y: Number(lat.toFixed(5)) };
}

export function startMap() {
  listen(["problem", "plan", "hidden", "selected"], draw);
  new ResizeObserver(() => {
    if (!map) return;
    map.invalidateSize({ animate: false });
    if (!framed || moved) return;
    fit(framed.stops.filter(isPlaced));
    draw();
  }).observe(find("#map"));
}

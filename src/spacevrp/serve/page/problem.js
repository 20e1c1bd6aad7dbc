// The problem that is edited: rows of stops and vehicles, made from the server's JSON and back.
//
// Every stop has a key that it keeps; vehicles and pairs name stops by key, so that removing one
// needs no renumbering. Distances of a table stay in it, the key being the row.

const RADIUS = 6_371_008.8; // metres, as the server has it
// One value a node, and what a node that says nothing has.
const BY_NODE = {
  demand: 0, pickup: 0, service: 0, setup: 0, prize: 0, priority: 0, penalty: null, revealed_prize: 0, release: null,
};
// Of vehicles: lists of nodes, and single ones. Of problems: lists of lists.
const NODES = ["allowed", "forbidden", "pinned", "reload_depots", "on_board"];
const ENDS = ["start", "end"];
const SETS = ["same_route", "different_routes", "order"];
// Kept by rows, and made again from them.
const MADE = [
  "locations", "coordinates", "lonlat", "matrix", "durations", "travel_times", "places", "ids", "depots", "windows",
  "pairs", "vehicles", "speed_kmh", "groups", ...SETS, ...Object.keys(BY_NODE),
];

export function fromDocument(document) {
  const rest = Object.fromEntries(Object.entries(document).filter(([key]) => !MADE.includes(key)));
  const planar = document.locations ?? document.coordinates;
  const points = planar ?? document.lonlat ?? document.places ?? null;
  const size = (points ?? document.matrix).length;
  const ids = document.ids ?? Array.from({ length: size }, (_, node) => String(node));
  const numbered = ids.some((id) => typeof id === "number");
  const byId = new Map(ids.map((id, node) => [id, node]));
  const keyOf = (node) => (typeof node === "string" || numbered ? byId.get(node) : node);
  const depots = new Set([document.depots ?? []].flat().map(keyOf));
  const stops = ids.map((id, key) => ({
    key,
    id,
    x: points?.[key][0] ?? null,
    y: points?.[key][1] ?? null,
    depot: depots.has(key),
    ...windowOf(document.windows?.[key]),
    ...Object.fromEntries(Object.keys(BY_NODE).filter((name) => document[name]).map((name) => [name, document[name][key]])),
  }));
  const problem = { rest, stops, nextKey: size, pairs: (document.pairs ?? []).map((pair) => pair.map(keyOf)) };
  problem.groups = (document.groups ?? []).map((group) => ({ ...group, nodes: (group.nodes ?? group).map(keyOf) }));
  for (const name of SETS) problem[name] = (document[name] ?? []).map((nodes) => nodes.map(keyOf));
  problem.kind = planar ? "plane" : document.lonlat ? "earth" : "table";
  problem.geographic = Boolean(document.lonlat || document.geographic);
  problem.drawn = points !== null;
  if (document.lonlat) problem.speed_kmh = document.speed_kmh ?? null;
  if (document.durations) problem.durations = document.durations;
  if (document.travel_times) problem.travel_times = document.travel_times;
  if (problem.kind === "table") problem.matrix = document.matrix;
  problem.vehicles = document.vehicles?.map((vehicle) => {
    const held = { ...vehicle };
    for (const name of NODES) if (vehicle[name]) held[name] = vehicle[name].map(keyOf);
    for (const name of ENDS) if (vehicle[name] !== undefined && vehicle[name] !== null) held[name] = keyOf(vehicle[name]);
    if (vehicle.service) held.service = vehicle.service.map(([node, time]) => [keyOf(node), time]);
    return held;
  }) ?? null;
  return problem;
}

// Several windows of a stop are lists of openings and closings.
function windowOf(window) {
  if (!Array.isArray(window?.[0])) return { open: window?.[0] ?? null, close: window?.[1] ?? null };
  return { open: window.map(([open]) => open), close: window.map(([, close]) => close) };
}

function windowsOf({ open, close }) {
  if (!Array.isArray(open) && !Array.isArray(close)) return [open, close];
  const closings = [close].flat();
  return [open].flat().map((one, number) => [one, closings[number] ?? null]);
}

export function greatCircle([lon, lat], [toLon, toLat]) {
  const radians = Math.PI / 180;
  const up = Math.sin(((toLat - lat) * radians) / 2) ** 2;
  const across = Math.sin(((toLon - lon) * radians) / 2) ** 2;
  const squared = up + Math.cos(lat * radians) * Math.cos(toLat * radians) * across;
  return 2 * RADIUS * Math.asin(Math.sqrt(Math.min(1, squared)));
}

// How far one stop is from another, roughly: to find a place in a route, not to judge it.
export function between(problem, from, to) {
  if (problem.matrix) return problem.matrix[from.key][to.key] ?? Infinity;
  if (problem.kind === "earth") return greatCircle([from.x, from.y], [to.x, to.y]);
  return Math.hypot(from.x - to.x, from.y - to.y);
}

export function toDocument(problem) {
  const { stops, rest } = problem;
  const idOf = new Map(stops.map((stop) => [stop.key, stop.id]));
  const known = (keys) => keys.filter((key) => idOf.has(key)).map((key) => idOf.get(key));
  const document = { ...rest, ids: stops.map((stop) => stop.id) };
  const points = stops.map((stop) => [stop.x, stop.y]);
  const select = (table) => (Array.isArray(table)
    ? stops.map((from) => stops.map((to) => table[from.key][to.key]))
    : { ...table, locations: stops.map((stop) => table.locations[stop.key]) });
  if (problem.kind === "plane") document.locations = points;
  if (problem.kind === "earth") {
    delete document.geographic;
    document.lonlat = points;
    if (problem.speed_kmh) document.speed_kmh = problem.speed_kmh;
  }
  if (problem.kind === "table") {
    document.matrix = select(problem.matrix);
    if (problem.drawn) document.places = points;
  }
  if (problem.durations) document.durations = select(problem.durations);
  if (problem.travel_times) {
    document.travel_times = problem.travel_times.map(({ at, durations }) => ({ at, durations: select(durations) }));
  }
  document.depots = stops.filter((stop) => stop.depot).map((stop) => stop.id);
  for (const [name, unsaid] of Object.entries(BY_NODE)) {
    if (stops.some((stop) => stop[name] !== undefined)) document[name] = stops.map((stop) => stop[name] ?? unsaid);
  }
  if (stops.some((stop) => stop.open !== null || stop.close !== null)) {
    document.windows = stops.map(windowsOf);
  }
  const pairs = problem.pairs.filter((pair) => pair.every((key) => idOf.has(key)));
  if (pairs.length) document.pairs = pairs.map(known);
  if (Array.isArray(rest.max_ride)) document.max_ride = rest.max_ride.filter((_, number) => pairs.includes(problem.pairs[number]));
  const groups = problem.groups.map((group) => ({ ...group, nodes: known(group.nodes) })).filter((group) => group.nodes.length);
  if (groups.length) document.groups = groups;
  for (const name of SETS) {
    const sets = problem[name].map(known).filter((nodes) => nodes.length > 1);
    if (sets.length) document[name] = sets;
  }
  if (problem.vehicles) {
    document.vehicles = problem.vehicles.map((vehicle) => {
      const told = { ...vehicle };
      for (const name of NODES) {
        if (!vehicle[name]) continue;
        told[name] = known(vehicle[name]);
        if (!["allowed", "on_board"].includes(name) && !told[name].length) delete told[name];
      }
      if (vehicle.service) {
        told.service = vehicle.service.filter(([key]) => idOf.has(key)).map(([key, time]) => [idOf.get(key), time]);
      }
      for (const name of ENDS) {
        if (!(name in vehicle)) continue;
        if (idOf.has(vehicle[name])) told[name] = idOf.get(vehicle[name]);
        else delete told[name];
      }
      return told;
    });
  }
  return document;
}

// Whether stops may come: not where their distances stand in a table.
export const canGrow = (problem) => problem.kind !== "table" && !problem.durations && !problem.travel_times;

export function addStop(problem, x, y, name) {
  let id = name;
  for (let n = 2; problem.stops.some((stop) => stop.id === id); n++) id = `${name} ${n}`;
  const like = problem.stops.find((stop) => !stop.depot) ?? problem.stops[0];
  const stop = { ...structuredClone(like), key: problem.nextKey++, id, x, y, depot: false, open: null, close: null };
  problem.stops.push(stop);
  return stop;
}

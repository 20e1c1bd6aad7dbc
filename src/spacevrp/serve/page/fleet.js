// Pins, bans and moves. They are made to single vehicles, so each route gets one of its own first.

import { between } from "./problem.js";
import { strings } from "./strings.js";

// The fleet with a vehicle for each route of a plan, in the order of the routes, then the others.
export function singleOut(problem, plan) {
  const types = problem.vehicles ?? [{ name: "", count: problem.rest.max_routes ?? null }];
  const nameOf = (type) => type.name || (types.length > 1 ? String(types.indexOf(type)) : strings.vehicle);
  const typeOf = (route) => types.find((type) => type.name === route.vehicle)
    ?? types[Number(route.vehicle ?? 0)] ?? types[0];
  const taken = new Set(types.map((type) => type.name));
  const used = new Map(types.map((type) => [type, 0]));
  const singles = plan.routes.map((route) => {
    const type = typeOf(route);
    used.set(type, used.get(type) + 1);
    if (type.count === 1 && type.name) return { ...type };
    let number = 1;
    while (taken.has(`${nameOf(type)} ${number}`)) number++;
    const name = `${nameOf(type)} ${number}`;
    taken.add(name);
    return { ...type, name, count: 1 };
  });
  const others = types.flatMap((type) => {
    if (type.count === null || type.count === undefined) {
      const name = taken.has(strings.others(nameOf(type))) ? type.name : strings.others(nameOf(type));
      return [{ ...type, name, type: type.name }];
    }
    const left = type.count - used.get(type);
    if (left < 1) return [];
    return [{ ...type, type: type.name, count: left, name: used.get(type) ? strings.others(nameOf(type)) : nameOf(type) }];
  });
  const ids = structuredClone(problem.rest.vehicle_ids ?? {});
  if (problem.rest.vehicle_ids) {
    const told = plan.routes.map((route, index) => [singles[index].name, (ids[typeOf(route).name] ?? []).splice(0, 1)]);
    const left = others.map((other) => [other.name, ids[other.type] ?? []]);
    problem.rest.vehicle_ids = Object.fromEntries([...told, ...left].filter(([, list]) => list.length));
  }
  problem.vehicles = [...singles, ...others].map(({ type, ...vehicle }) => vehicle);
  plan.routes.forEach((route, index) => { route.vehicle = singles[index].name; });
}

// Whether every route already has a vehicle of its own.
export const isSingled = (problem, plan) => plan.routes.every((route) =>
  problem.vehicles?.some((vehicle) => vehicle.name === route.vehicle && vehicle.count === 1));

const without = (list, keys) => (list ?? []).filter((one) => !keys.includes(one));

export function pin(problem, vehicle, keys) {
  for (const other of problem.vehicles) {
    if (other.pinned) other.pinned = without(other.pinned, keys);
    if (other === vehicle) other.forbidden = without(other.forbidden, keys);
  }
  vehicle.pinned = [...keys];
}

export function forbid(problem, vehicle, key) {
  if (vehicle.pinned) vehicle.pinned = without(vehicle.pinned, [key]);
  vehicle.forbidden = [...without(vehicle.forbidden, [key]), key];
}

// Only this vehicle serves the stop.
export function assign(problem, vehicle, key) {
  for (const other of problem.vehicles) {
    if (other === vehicle) other.forbidden = without(other.forbidden, [key]);
    else forbid(problem, other, key);
  }
  if (vehicle.allowed && !vehicle.allowed.includes(key)) vehicle.allowed = [...vehicle.allowed, key];
}

// What the vehicles say of single stops, each with a way back.
export function wishes(problem) {
  const vehicles = problem.vehicles ?? [];
  const name = (key) => problem.stops.find((stop) => stop.key === key)?.id;
  const told = vehicles.filter((vehicle) => vehicle.pinned?.length).map((vehicle) => ({
    text: strings.wishPinned(vehicle.name, vehicle.pinned.map(name).join(", ")),
    undo: () => { vehicle.pinned = []; },
  }));
  const banned = new Set(vehicles.flatMap((vehicle) => vehicle.forbidden ?? []));
  for (const key of banned) {
    if (name(key) === undefined) continue;
    const may = vehicles.filter((vehicle) => !vehicle.forbidden?.includes(key));
    const mayNot = vehicles.filter((vehicle) => vehicle.forbidden?.includes(key));
    const undo = (them) => () => them.forEach((one) => { one.forbidden = without(one.forbidden, [key]); });
    if (may.length === 1 && mayNot.length > 1) {
      told.push({ text: strings.wishOnly(name(key), may[0].name), undo: undo(mayNot) });
    } else {
      for (const one of mayNot) told.push({ text: strings.wishForbidden(name(key), one.name), undo: undo([one]) });
    }
  }
  return told;
}

// The routes of a plan as lists of ids, without what is gone, and their vehicles by number.
export function startOf(problem, plan, solved) {
  const now = new Map(problem.stops.map((stop) => [stop.key, stop]));
  const routes = [];
  const vehicles = [];
  for (const route of plan.routes) {
    const stops = route.stops.map((stop) => now.get(solved.stops[stop.node]?.key)).filter(Boolean);
    const type = (problem.vehicles ?? []).findIndex((one, index) => (one.name || index) === route.vehicle);
    if (stops.every((stop) => stop.depot) || (problem.vehicles && type < 0)) continue;
    routes.push(stops);
    vehicles.push(type);
  }
  return { routes, vehicles: problem.vehicles ? vehicles : null };
}

// Take a stop out of its route and put it where the detour is shortest.
export function moveInStart(problem, start, key, type) {
  const stop = problem.stops.find((one) => one.key === key);
  start.routes = start.routes.map((route) => route.filter((one) => one.key !== key));
  const route = start.routes[start.vehicles.indexOf(type)];
  if (!route || route.length < 2) return;
  let best = { detour: Infinity, at: 1 };
  for (let at = 1; at < route.length; at++) {
    const detour = between(problem, route[at - 1], stop) + between(problem, stop, route[at])
      - between(problem, route[at - 1], route[at]);
    if (detour < best.detour) best = { detour, at };
  }
  route.splice(best.at, 0, stop);
}

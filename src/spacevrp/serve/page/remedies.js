// Changes of a problem that would serve a stop which is left out, as a plan names them.

const limited = (table, key, limit, load) => {
  const before = [table[key] ?? []].flat();
  if (before.length > 1) table[key] = before.map((one, kind) => (kind === load ? limit : one));
  else table[key] = limit;
};

// Roads are for the user to build.
export const canGrant = (changes) => changes.every((change) => change.kind !== "arc");

// solved: the problem of the plan, whose numbers of nodes and vehicles the changes have.
export function grant(problem, solved, changes) {
  for (const { kind, amount, limit, nodes, vehicle, load } of changes) {
    const keys = nodes.map((node) => solved.stops[node].key);
    if (kind === "window") {
      for (const stop of problem.stops) {
        if (!keys.includes(stop.key) || stop.close === null) continue;
        if (Array.isArray(stop.close)) stop.close = [...stop.close.slice(0, -1), stop.close.at(-1) + amount];
        else stop.close += amount;
      }
    }
    const name = solved.vehicles?.[vehicle ?? -1]?.name;
    const type = problem.vehicles?.find((one) => one.name === name) ?? problem.vehicles?.[vehicle ?? -1];
    if (type) grantType(type, { kind, amount, limit, keys, load });
    else if (kind === "capacity") limited(problem.rest, "capacity", limit, load);
    else if (kind === "length") problem.rest.max_length = limit;
    else if (kind === "fleet") problem.rest.max_routes = limit;
  }
}

function grantType(type, { kind, amount, limit, keys, load }) {
  if (kind === "capacity") limited(type, "capacity", limit, load);
  if (kind === "length" || kind === "duration") type[`max_${kind}`] = limit;
  if (kind === "fleet") type.count = limit;
  if (kind === "window" && type.window?.[1] !== undefined && type.window[1] !== null) {
    type.window = [type.window[0], type.window[1] + amount];
  }
  if (kind === "permission") {
    if (type.allowed) type.allowed = [...type.allowed, ...keys];
    if (type.forbidden) type.forbidden = type.forbidden.filter((key) => !keys.includes(key));
  }
}

// One call to the solver: begin, watch, stop, keep the best plan.

import { api, events } from "./api.js";
import { moveInStart, startOf } from "./fleet.js";
import { toDocument } from "./problem.js";
import { change, state } from "./state.js";

const REFRESH = 700; // milliseconds between two looks at the plan while it gets better
const TICK = 250;
let running = null;

export const isRunning = () => running !== null;

function start(problem, withPlan) {
  if (!withPlan || !state.plan) return undefined;
  const from = startOf(problem, state.plan, state.solved);
  if (!from.routes.length) return undefined;
  for (const { key, vehicle } of state.moves) {
    moveInStart(problem, from, key, problem.vehicles?.findIndex((one) => one.name === vehicle));
  }
  const numberOf = new Map(problem.stops.map((stop, number) => [stop.key, number]));
  const routes = from.routes.map((route) => route.map((stop) => numberOf.get(stop.key)));
  return from.vehicles ? { routes, vehicles: from.vehicles } : routes;
}

export async function solve(time, withPlan, onBreak) {
  const problem = structuredClone(state.problem);
  const request = { problem: toDocument(problem), time, start: start(problem, withPlan) };
  const job = await api.solve(request);
  running = { id: job.id, abort: new AbortController() };
  const began = performance.now();
  const run = { state: "queued", points: [], seconds: 0, id: job.id };
  change({ run, edited: false });
  const timer = setInterval(() => {
    if (run.state === "running") change({ run: Object.assign(run, { seconds: run.since + (performance.now() - run.from) / 1000 }) });
  }, TICK);
  let looked = -Infinity;
  try {
    for await (const event of events(job.id, running.abort.signal, onBreak)) {
      if (event.event === "state") Object.assign(run, { state: event.state, since: event.seconds, from: performance.now() });
      run.seconds = event.seconds;
      if (event.event === "plan") {
        run.points.push(event);
        if (performance.now() - looked > REFRESH) {
          looked = performance.now();
          await look(job.id, problem);
        }
      }
      change({ run });
    }
    const ended = await look(job.id, problem);
    change({ run: Object.assign(run, { state: ended.state, seconds: ended.seconds, took: performance.now() - began }) });
    return ended;
  } finally {
    clearInterval(timer);
    running = null;
    change({ run });
  }
}

// Numbers of routes of the last plan in a new one: a vehicle of its own keeps its route.
function same(plan, numbers) {
  const names = plan.routes.map((route) => route.vehicle);
  const own = new Set(names).size === names.length && names[0] !== undefined;
  const before = (number) => state.plan?.routes.find((route) => route.number === number)?.vehicle;
  return numbers
    .map((number) => (own ? plan.routes[names.indexOf(before(number))]?.number : number))
    .filter((number) => plan.routes.some((route) => route.number === number));
}

async function look(id, problem) {
  const job = await api.job(id);
  if (job.plan) {
    const [selected] = same(job.plan, [state.selected]);
    const hidden = new Set(same(job.plan, [...state.hidden]));
    change({ plan: job.plan, solved: problem, job: id, selected: selected ?? null, hidden, moves: [], notes: [...(job.warnings ?? []), ...(job.notes ?? [])] });
  }
  return job;
}

export async function stop() {
  if (running) await api.stop(running.id);
}

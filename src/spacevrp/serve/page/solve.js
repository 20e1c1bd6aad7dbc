// One call to the solver: begin, watch, stop, keep the best plan.

import { api, events } from "./api.js";
import { moveInStart, startOf } from "./fleet.js";
import { toDocument } from "./problem.js";
import { change, listen, state } from "./state.js";

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

// Follow a job to its end. It is given up where another problem is opened: its plan is of no use there.
export async function solve(time, withPlan, onBreak) {
  const problem = structuredClone(state.problem);
  const request = { problem: toDocument(problem), time, start: start(problem, withPlan) };
  const sent = state.moves; // those made from now on are for the next call
  const run = { state: "queued", points: [], seconds: 0 };
  const mine = { problem: state.problem, run, abort: new AbortController() };
  running = mine;
  let timer;
  try {
    const job = await api.solve(request);
    mine.id = run.id = job.id;
    if (running !== mine) api.stop(job.id).catch(() => {});
    mine.abort.signal.throwIfAborted();
    change({ run, edited: false, moves: state.moves.filter((move) => !sent.includes(move)) });
    timer = setInterval(() => {
      if (running === mine && run.state === "running") change({ run: Object.assign(run, { seconds: run.since + (performance.now() - run.from) / 1000 }) });
    }, TICK);
    let looked = -Infinity;
    for await (const event of events(job.id, mine.abort.signal, onBreak)) {
      mine.abort.signal.throwIfAborted();
      if (event.event === "state") begin(run, event);
      run.seconds = event.seconds;
      if (event.event === "plan") {
        run.points.push(event);
        if (performance.now() - looked > REFRESH) {
          looked = performance.now();
          await look(job.id, problem, mine);
        }
      }
      change({ run });
    }
    const ended = await look(job.id, problem, mine);
    Object.assign(run, { state: ended.state, seconds: ended.seconds });
    return ended;
  } catch (error) {
    run.state = "failed"; // its server may have forgotten it
    throw error;
  } finally {
    clearInterval(timer);
    if (running === mine) {
      running = null;
      change(run.id ? { run } : { run: state.run });
    }
  }
}

// A worker has the job; again where the server was started again, which measures from zero.
function begin(run, { state: now, seconds }) {
  const points = run.points.slice(-1).map((point) => ({ ...point, seconds }));
  Object.assign(run, { state: now, since: seconds, from: performance.now(), points });
}

function leave() {
  if (!running || running.problem === state.problem) return;
  const { id, abort } = running;
  running = null;
  abort.abort();
  if (id) api.stop(id).catch(() => {});
  change({ run: null });
}

export const startSolving = () => listen(["problem"], leave);

// Numbers of routes of the last plan in a new one: a vehicle of its own keeps its route.
function same(plan, numbers) {
  const names = plan.routes.map((route) => route.vehicle);
  const own = new Set(names).size === names.length && names[0] !== undefined;
  const before = (number) => state.plan?.routes.find((route) => route.number === number)?.vehicle;
  return numbers
    .map((number) => (own ? plan.routes[names.indexOf(before(number))]?.number : number))
    .filter((number) => plan.routes.some((route) => route.number === number));
}

async function look(id, problem, { abort }) {
  const job = await api.job(id);
  abort.signal.throwIfAborted();
  if (job.plan) {
    const [selected] = same(job.plan, [state.selected]);
    const hidden = new Set(same(job.plan, [...state.hidden]));
    change({ plan: job.plan, solved: problem, job: id, selected: selected ?? null, hidden, notes: [...(job.warnings ?? []), ...(job.notes ?? [])] });
  }
  return job;
}

export async function stop() {
  if (running?.id) await api.stop(running.id);
}

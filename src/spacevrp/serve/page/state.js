// What the page knows. Parts of it listen, and draw themselves again after a change.

export const state = {
  about: null, // what the server says of itself
  problem: null, // as edited
  variant: "",
  plan: null, // the best so far
  solved: null, // the problem of that plan
  job: null, // its id
  run: null, // {state, points, note} of the present or last call
  edited: false, // whether the problem has changed since the plan
  moves: [], // {key, vehicle}: stops that the next start has in other routes
  hidden: new Set(), // numbers of routes that are not shown
  selected: null, // the number of a route
  notes: [],
};

const listeners = new Map();

// Call a function after changes of any of these keys.
export function listen(keys, draw) {
  for (const key of keys) listeners.set(key, [...(listeners.get(key) ?? []), draw]);
}

let due = null;
export function change(patch) {
  Object.assign(state, patch);
  due ??= (queueMicrotask(flush), new Set());
  for (const key of Object.keys(patch)) for (const draw of listeners.get(key) ?? []) due.add(draw);
}

function flush() {
  const now = due;
  due = null;
  for (const draw of now) draw(state);
}

// A problem that was opened replaces everything.
export function open(problem, variant, more = {}) {
  change({
    problem, variant, plan: null, solved: null, job: null, run: null, edited: false, moves: [],
    hidden: new Set(), selected: null, notes: [], ...more,
  });
}

// The problem was edited in place.
export function edit(more = {}) {
  change({ problem: state.problem, edited: state.plan !== null || state.run !== null, ...more });
}

export const shownRoutes = () => (state.plan?.routes ?? []).filter((route) => !state.hidden.has(route.number));

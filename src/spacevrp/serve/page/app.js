// The page: what its controls do.

import { api, Fault, token, typeOf } from "./api.js";
import { startCurve } from "./curve.js";
import { find, h, show, tell, writeStrings } from "./dom.js";
import { startMap } from "./map.js";
import { startPlan } from "./plan.js";
import { fromDocument } from "./problem.js";
import { startScenarios } from "./scenarios.js";
import { isRunning, solve, startSolving, stop } from "./solve.js";
import { change, listen, open, state } from "./state.js";
import { strings } from "./strings.js";
import { blame, clearBlame, startTables } from "./table.js";
import { startTimeline } from "./timeline.js";

// ------------------------------------------------------------------------------------------ faults

function showFault(error) {
  if (!(error instanceof Fault)) throw error;
  const message = error.field ? strings.faultAt(error.field, error.message) : error.message;
  if (error.field === "time") {
    find("#time").setAttribute("aria-invalid", "true");
    find("#time").focus();
  } else if (blame(error, message, () => choose("problem"))) {
    return;
  }
  tell(find("#fault"), message);
  find("#fault").scrollIntoView({ block: "nearest" });
}

function clearFaults() {
  tell(find("#fault"), null);
  tell(find("#open-fault"), null);
  find("#time").removeAttribute("aria-invalid");
  clearBlame();
}

// Do something that may need the token; ask for it where it is missing or wrong, then go on.
async function guarded(action) {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof Fault) || error.status !== 401) throw error;
      if (!(await askToken())) throw error;
    }
  }
}

function askToken() {
  const dialog = find("#token-dialog");
  find("#token").value = token.get();
  tell(find("#token-fault"), token.get() ? strings.tokenWrong : null);
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const used = dialog.returnValue === "ok";
      if (used) token.set(find("#token").value.trim());
      resolve(used);
    }, { once: true });
  });
}

// ----------------------------------------------------------------------------------------- opening

async function openText(text, name = "", notes = []) {
  clearFaults();
  try {
    const told = await guarded(() => api.validate(text, typeOf(text, name)));
    const problem = fromDocument(told.problem);
    problem.rest.name ??= name.replace(/\.\w+$/, "");
    open(problem, told.variant);
    find("#warnings").replaceChildren(...[...notes, ...told.warnings].map((one) => h("li", {}, one)));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    choose("problem");
    const where = error.field && error.field !== "body" ? strings.faultAt(error.field, error.message) : error.message;
    tell(find("#open-fault"), where);
  }
}

// Spreadsheets often write tables in the code of Western Europe; read as UTF-8, names would lose letters.
async function openFile(file) {
  const bytes = await file.arrayBuffer();
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return openText(new TextDecoder("windows-1252").decode(bytes), file.name, [strings.notUtf8]);
  }
  return openText(text, file.name);
}

function startOpening() {
  const file = find("#file");
  file.addEventListener("change", async () => {
    if (file.files[0]) await openFile(file.files[0]);
    file.value = "";
  });
  find("#read").addEventListener("click", () => openText(find("#paste").value));
  const demo = find("#demo");
  demo.append(...Object.entries(strings.demos).map(([key, text]) => h("option", { value: key }, text)));
  demo.addEventListener("change", async () => {
    if (demo.value) await openText(await api.asset(`demos/${demo.value}.json`), strings.demos[demo.value]);
    demo.value = "";
  });
  const over = (event) => {
    event.preventDefault();
    document.body.classList.toggle("dropping", event.type === "dragover");
  };
  for (const type of ["dragover", "dragleave", "drop"]) document.addEventListener(type, over);
  document.addEventListener("drop", (event) => {
    const [dropped] = event.dataTransfer.files;
    if (dropped) openFile(dropped);
    else if (event.dataTransfer.getData("text")) openText(event.dataTransfer.getData("text"));
  });
}

// ----------------------------------------------------------------------------------------- solving

async function begin() {
  if (isRunning() || !state.problem) return;
  clearFaults();
  if (state.problem.stops.every((stop) => stop.depot)) return void tell(find("#fault"), strings.noStops);
  const unread = find("#tables [data-unread]");
  if (unread) {
    choose("problem");
    unread.setAttribute("aria-invalid", "true");
    unread.focus();
    return void tell(find("#fault"), unread.dataset.unread);
  }
  const withPlan = find("#from-plan").checked;
  try {
    const job = await guarded(() => solve(Number(find("#time").value), withPlan, (broken) => tell(find("#fault"), broken ? strings.cut : null)));
    if (job.state === "failed") throw new Fault(job.error.status ?? 500, job.error);
    clearFaults();
    choose("plan");
    find("#live").textContent = strings.ended(strings.states[job.state], show(job.cost), job.plan.routes.length);
  } catch (error) {
    if (error.name !== "AbortError") showFault(error); // another problem was opened
  }
}

let spoken = 0;
function drawRun() {
  const { run, plan, edited, problem } = state;
  const busy = isRunning();
  find("#solve").disabled = busy || !problem;
  find("#solve").textContent = plan ? strings.solveAgain : strings.solve;
  find("#stop").hidden = !busy;
  find("#from-plan-label").hidden = busy || !plan;
  const last = run?.points.at(-1);
  const figures = plan ? [
    ["cost", busy && last ? last.cost : plan.cost], ["routes", plan.routes.length],
    ["unservedFigure", plan.unserved?.length ?? 0], ["length", plan.totals.length],
  ] : [];
  const now = busy ? run?.state : edited ? "edited" : run?.state;
  find("#figures").replaceChildren(
    ...figures.map(([name, value]) => h("div", { class: name === "unservedFigure" && value ? "alarm" : null },
      h("dt", {}, strings[name]), h("dd", { "data-figure": name }, show(value)))),
    ...(now ? [h("div", {}, h("dt", {}, strings.state), h("dd", { id: "run-state", "data-state": now, "data-job": run?.id }, strings.states[now]))] : []),
  );
  if (!problem) find("#title").textContent = strings.nothing;
  else {
    const stops = problem.stops.filter((stop) => !stop.depot).length;
    find("#title").textContent = strings.title(problem.rest.name || strings.untitled, stops, state.variant);
  }
  // Heard now and then, not at every step of the search.
  if (busy && last && performance.now() - spoken > 3_000) {
    spoken = performance.now();
    find("#live").textContent = strings.live(show(last.cost), last.unserved);
  }
}

// -------------------------------------------------------------------------------------------- tabs

const TABS = ["problem", "plan", "scenarios"];

function choose(name) {
  for (const one of TABS) {
    const tab = find(`#tab-${one}`);
    tab.setAttribute("aria-selected", String(one === name));
    tab.tabIndex = one === name ? 0 : -1;
    find(`#${one}`).hidden = one !== name;
  }
}

function startTabs() {
  for (const [number, name] of TABS.entries()) {
    const tab = find(`#tab-${name}`);
    tab.addEventListener("click", () => choose(name));
    tab.addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (!step) return;
      const next = TABS[(number + step + TABS.length) % TABS.length];
      choose(next);
      find(`#tab-${next}`).focus();
    });
  }
  choose("problem");
}

async function start() {
  writeStrings();
  startTabs();
  startOpening();
  find("#solving").addEventListener("submit", (event) => { event.preventDefault(); begin(); });
  find("#stop").addEventListener("click", () => stop().catch(showFault));
  find("#token-button").addEventListener("click", askToken);
  startSolving();
  startMap();
  startTables();
  startTimeline();
  startCurve();
  startPlan(showFault);
  startScenarios();
  listen(["problem", "plan", "run", "edited", "about"], drawRun);
  listen(["selected"], () => { if (state.selected !== null) choose("plan"); });
  drawRun();
  try {
    const about = await api.about();
    change({ about });
    find("#time").max = Math.floor(about.max_time);
    find("#token-button").hidden = !about.token;
    document.body.dataset.ready = "true";
  } catch (error) {
    showFault(error);
  }
}

start();

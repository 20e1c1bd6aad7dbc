// Plans with a name, kept in this browser and set side by side.

import { find, h, show, tell } from "./dom.js";
import { listen, open, state } from "./state.js";
import { strings } from "./strings.js";

const KEY = "spacevrp-scenarios";
const FIGURES = ["cost", "routes", "unserved", "length"];

function load() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}

function keep(scenarios) {
  try {
    localStorage.setItem(KEY, JSON.stringify(scenarios));
    return true;
  } catch { // the browser's room is used up
    return false;
  }
}

const figuresOf = ({ cost, routes, unserved, totals }) => ({
  cost, routes: routes.length, unserved: unserved?.length ?? 0, length: totals.length,
});

function saveNow(name) {
  const { problem, plan, solved, job, variant } = state;
  const kept = { name, at: Date.now(), problem, plan, solved, job, variant, figures: figuresOf(plan) };
  const full = !keep([...load().filter((one) => one.name !== name), kept]);
  draw();
  tell(find("#scenario-fault"), full ? strings.full : null);
}

function reopen({ problem, variant, plan, solved, job }) {
  open(structuredClone(problem), variant, { plan, solved: structuredClone(solved), job });
}

function row(scenario, best) {
  const { name, figures } = scenario;
  return h("tr", {}, h("th", { scope: "row" }, name),
    FIGURES.map((figure) => h("td", { class: figures[figure] === best[figure] ? "best" : null },
      show(figures[figure]), figures[figure] === best[figure] ? h("span", { class: "unseen" }, ` (${strings.best})`) : null)),
    h("td", {},
      h("button", { type: "button", "aria-label": strings.restoreOf(name), onclick: () => reopen(scenario) }, strings.restore),
      h("button", { type: "button", class: "plain", "aria-label": strings.removeRow(name), title: strings.remove, onclick: () => {
        keep(load().filter((one) => one.name !== name));
        draw();
      } }, "×")));
}

function draw() {
  const scenarios = load();
  const best = Object.fromEntries(FIGURES.map((figure) => [figure, Math.min(...scenarios.map((one) => one.figures[figure] ?? Infinity))]));
  const typed = find("#scenario-name")?.value;
  const name = h("input", { id: "scenario-name", type: "text", maxlength: 60, required: true, autocomplete: "off" });
  name.value = typed || (state.problem?.rest.name ?? "");
  find("#scenarios").replaceChildren(h("div", { class: "card" },
    h("h2", {}, strings.scenarios), h("p", { class: "muted" }, strings.scenariosHelp),
    h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); saveNow(name.value.trim()); } },
      h("label", {}, h("span", {}, strings.scenarioName), name),
      h("button", { type: "submit", class: "main", disabled: !state.plan }, strings.saveScenario)),
    h("p", { id: "scenario-fault", class: "fault", role: "alert", hidden: true }),
    scenarios.length
      ? h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": strings.scenarios },
        h("table", { id: "scenario-table" },
          h("thead", {}, h("tr", {}, ["name", ...FIGURES].map((key) => h("th", { scope: "col" }, strings.scenarioColumns[key])),
            h("th", { scope: "col" }, h("span", { class: "unseen" }, strings.change)))),
          h("tbody", {}, scenarios.map((scenario) => row(scenario, best)))))
      : h("p", { class: "muted" }, strings.noScenarios)));
}

export function startScenarios() {
  listen(["plan", "job"], () => { if (!find("#scenarios").contains(document.activeElement)) draw(); });
  draw();
}

"""Draws the pictures of docs/gallery.md: ``python docs/gallery.py``, seconds on a CPU."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import spacevrp
from spacevrp.plots.maps import map_size
from spacevrp.plots.pictures import draw
from spacevrp.plots.schedule import schedule_size
from spacevrp.plots.style import new_figure

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
DATA = DOCS.parent / "examples" / "data"
DOTS_PER_INCH = 90
# Name of the picture -> variant, size and seed of the instance.
VARIANTS = {
    "capacity": ("CVRP", 50, 7),
    "several-depots": ("MDCVRP", 50, 7),
    "open-routes": ("OCVRP", 50, 7),
    "backhauls-last": ("CVRPBP", 20, 7),
    "orienteering": ("OP", 50, 7),
    "pairs": ("PDTSP", 20, 7),
    "bars": ("ACVRP", 20, 7),
}
# Page of docs/how-to, whose first program makes the plan -> pictures of it, and their kinds.
HOW_TO = {
    "working-time": {"working-time": "schedule"},
    "trips": {"trips-map": "routes", "trips": "schedule"},
    "replanning": {"replanning": "routes", "replanning-load": "load"},
    "opening-hours": {"opening-hours": "schedule"},
    "shipments": {"shipments": "routes", "shipments-load": "load"},
    "relations": {"relations": "routes"},
    "traffic": {"traffic": "schedule"},
    "goals": {"goals": "routes"},
    "fleet": {"fleet": "routes"},
}


def save(name: str, solution: spacevrp.Solution, kind: str = "routes") -> None:
    """Draw into docs/pictures, without pyplot: no window, no display."""
    problem = solution.plan.problem
    sizes = {"schedule": schedule_size(solution), "load": (8.0, 4.2), "bars": (8.0, 3.0)}
    figure = new_figure(*sizes.get(kind) or map_size(problem, solution))
    draw(problem, solution, kind, figure.add_subplot())
    figure.savefig(PICTURES / f"{name}.png", dpi=DOTS_PER_INCH)


def plan_of(page: str) -> spacevrp.Solution:
    """What the first program of a page calls its solution."""
    text = (DOCS / "how-to" / f"{page}.md").read_text(encoding="utf-8")
    (program, *_) = re.findall(r"```python\n(.*?)```", text, re.S)
    names: dict[str, Any] = {}
    exec(compile(program, page, "exec"), names)
    return names["solution"]


def main() -> None:
    """Solve the instances and draw them."""
    PICTURES.mkdir(exist_ok=True)
    for page, pictures in HOW_TO.items():
        solution = plan_of(page)
        for name, kind in pictures.items():
            save(name, solution, kind)
    solver = spacevrp.Solver(device="cpu")
    for name, (variant, size, seed) in VARIANTS.items():
        (problem,) = spacevrp.generate(variant, size=size, count=1, seed=seed)
        save(name, solver.solve(problem), "bars" if name == "bars" else "routes")

    stops = spacevrp.read(DATA / "stops.csv")
    assert isinstance(stops, spacevrp.Problem)
    morning = solver.solve(stops)
    save("schedule", morning, "schedule")
    save("load", morning, "load")
    save("partial", spacevrp.Solution.judged(stops, morning.routes[:-1]))

    answer = json.loads((DATA / "osrm_table.json").read_text(encoding="utf-8"))
    town = spacevrp.Problem.from_table(
        answer,
        ids=[waypoint["name"] for waypoint in answer["sources"]],
        demand=[0] + [3, 5, 2, 4] * 3,
        capacity=14,
    )
    save("roads", solver.solve(town))


if __name__ == "__main__":
    main()

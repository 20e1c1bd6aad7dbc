"""Draws the pictures of docs/gallery.md: ``python docs/gallery.py``, seconds on a CPU."""

from __future__ import annotations

import json
from pathlib import Path

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


def save(name: str, solution: spacevrp.Solution, kind: str = "routes") -> None:
    """Draw into docs/pictures, without pyplot: no window, no display."""
    problem = solution.plan.problem
    sizes = {"schedule": schedule_size(solution), "load": (8.0, 4.2), "bars": (8.0, 3.0)}
    figure = new_figure(*sizes.get(kind) or map_size(problem, solution))
    draw(problem, solution, kind, figure.add_subplot())
    figure.savefig(PICTURES / f"{name}.png", dpi=DOTS_PER_INCH)


def main() -> None:
    """Solve the instances and draw them."""
    PICTURES.mkdir(exist_ok=True)
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

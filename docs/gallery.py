"""Draws the pictures of docs/gallery.md: ``python docs/gallery.py``, seconds on a CPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import spacevrp
from spacevrp.plots.geographic import plot_geographic
from spacevrp.plots.maps import plot_solution
from spacevrp.plots.schedule import plot_load, plot_schedule, schedule_size

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
DATA = DOCS.parent / "examples" / "data"
DOTS_PER_INCH = 100
# Name of the picture -> variant, size and seed of the instance.
VARIANTS = {
    "capacity": ("CVRP", 50, 7),
    "several-depots": ("MDCVRP", 50, 7),
    "open-routes": ("OCVRP", 50, 7),
    "backhauls-last": ("CVRPBP", 20, 7),
    "orienteering": ("OP", 50, 7),
    "pairs": ("PDTSP", 20, 7),
}


def save(name: str, draw: Callable[[Axes], object], size: tuple[float, float] = (5.0, 5.0)) -> None:
    """Draw into docs/pictures, without pyplot: no window, no display."""
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure.add_subplot())
    figure.savefig(PICTURES / f"{name}.png", dpi=DOTS_PER_INCH)


def main() -> None:
    """Solve the instances and draw them."""
    PICTURES.mkdir(exist_ok=True)
    solver = spacevrp.Solver(device="cpu")
    for name, (variant, size, seed) in VARIANTS.items():
        (problem,) = spacevrp.generate(variant, size=size, count=1, seed=seed)
        solution = solver.solve(problem)
        save(name, lambda ax, p=problem, s=solution: plot_solution(p, s, ax))

    stops = spacevrp.read(DATA / "stops.csv")
    assert isinstance(stops, spacevrp.Problem)
    morning = solver.solve(stops)
    save("schedule", lambda ax: plot_schedule(morning, ax), schedule_size(morning))
    save("load", lambda ax: plot_load(morning, ax), (7.0, 4.2))

    answer = json.loads((DATA / "osrm_table.json").read_text(encoding="utf-8"))
    town = spacevrp.Problem.from_table(
        answer,
        ids=[waypoint["name"] for waypoint in answer["sources"]],
        demand=[0] + [3, 5, 2, 4] * 3,
        capacity=14,
    )
    roads = solver.solve(town)
    save("roads", lambda ax: plot_geographic(town, roads, ax), (9.0, 4.5))


if __name__ == "__main__":
    main()

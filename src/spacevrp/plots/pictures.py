"""Pictures of a solved instance as files: its routes, its schedule or its loads."""

from __future__ import annotations

from pathlib import Path

from spacevrp.plots.geographic import plot_geographic
from spacevrp.plots.maps import require_matplotlib, save_plot
from spacevrp.plots.schedule import plot_load, plot_schedule, schedule_size
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan_documents import places_of
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

KINDS = ("routes", "schedule", "load")
SUFFIXES = (".png", ".svg")


def save_picture(
    path: str | Path, problem: Problem, solution: Solution | None = None, kind: str = "routes"
) -> None:
    """Draw into a .png or .svg file.

    Parameters
    ----------
    solution
        None draws the instance alone, of which there are only ``routes`` (without any).
    kind
        ``routes`` on a plane, or on a map in degrees where places are geographic; ``schedule``, the
        stops beside their windows; ``load``, what is on board after each stop.
    """
    require_matplotlib()
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise UnsupportedError(f"{path}: pictures are written as .png or .svg")
    if kind not in KINDS:
        raise UnsupportedError(f"pictures: expected one of {KINDS}, received {kind!r}")
    geographic = problem.geographic and places_of(problem) is not None
    if kind == "routes" and not geographic:
        save_plot(path, problem, solution)
        return
    if kind != "routes" and solution is None:
        raise UnsupportedError(f"{path}: there is no plan of which to draw the {kind}")
    # Without pyplot: no window, no display, no state left behind.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (7.0, 7.0) if kind == "routes" else (7.0, 4.2)
    if kind == "schedule" and solution is not None:
        size = schedule_size(solution)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if kind == "routes":
        plot_geographic(problem, solution, axes)
    elif solution is not None:
        (plot_schedule if kind == "schedule" else plot_load)(solution, axes)
    figure.savefig(path, dpi=160)

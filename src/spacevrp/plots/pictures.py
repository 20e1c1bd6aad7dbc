"""Pictures of an instance and its plan: as axes, as files, or as a page to explore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.plots.charts import bars_size, plot_bars, plot_load
from spacevrp.plots.maps import map_size, plot_instance, plot_solution
from spacevrp.plots.page import page
from spacevrp.plots.schedule import plot_schedule, schedule_size
from spacevrp.plots.style import new_figure, require_matplotlib
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan_documents import places_of
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.writing import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is drawn of a plan -> how, and at what size.
_CHARTS = {
    "schedule": (plot_schedule, schedule_size),
    "load": (plot_load, lambda _: (8.0, 4.2)),
    "bars": (plot_bars, bars_size),
}
KINDS = ("routes", *_CHARTS)
SUFFIXES = (".png", ".svg", ".pdf", ".html")


def check_picture(path: Path, kind: str = "routes") -> None:
    """Refuse, before any work, what cannot be drawn."""
    if path.suffix.lower() not in SUFFIXES:
        raise UnsupportedError(f"{path}: expected a file name that ends in {', '.join(SUFFIXES)}")
    if kind not in KINDS:
        raise UnsupportedError(f"pictures: expected one of {KINDS}, received {kind!r}")
    if path.suffix.lower() != ".html":
        require_matplotlib()


def plot(
    problem: Problem, solution: Solution, path: str | Path | None, kind: str, ax: Axes | None
) -> Axes | None:
    """Into a file where there is a path, else into axes: what ``Solution.plot`` does."""
    if path is None:
        return draw(problem, solution, kind, ax)
    if ax is not None:
        raise UnsupportedError("plot: expected a path or axes, received both")
    check_picture(Path(path), kind)
    with replacing(Path(path)) as temporary:
        save_picture(temporary, problem, solution, kind)
    return None


def draw(
    problem: Problem, solution: Solution | None = None, kind: str = "routes", ax: Axes | None = None
) -> Axes:
    """Draw into the axes, or into new ones of a fitting size; returns them.

    Parameters
    ----------
    solution
        None draws the instance alone, of which there are only ``routes`` (without any).
    kind
        ``routes``, a map on a plane or in degrees (bars where there are no coordinates);
        ``schedule``, a timeline of each vehicle; ``load``, what is on board after each stop;
        ``bars``, what each leg of a route costs.
    """
    if kind not in KINDS:
        raise UnsupportedError(f"pictures: expected one of {KINDS}, received {kind!r}")
    if solution is None:
        if kind != "routes":
            raise UnsupportedError(f"there is no plan of which to draw the {kind}")
        return plot_instance(problem, ax)
    kind = _possible(problem, kind)
    if kind == "routes":
        return plot_solution(problem, solution, ax)
    return _CHARTS[kind][0](solution, ax)


def save_picture(
    path: str | Path, problem: Problem, solution: Solution | None = None, kind: str = "routes"
) -> None:
    """Draw into a .png, .svg or .pdf file, as :func:`draw` does, or write an .html page.

    The page has the map and, where there are windows, the schedule; it needs no network and no
    matplotlib.
    """
    path = Path(path)
    check_picture(path, kind)
    if path.suffix.lower() == ".html":
        path.write_text(page(problem, solution), encoding="utf-8")
        return
    size = (7.0, 7.0)
    if solution is not None and (chart := _CHARTS.get(_possible(problem, kind))):
        size = chart[1](solution)
    elif places_of(problem) is not None:
        size = map_size(problem, solution)
    figure = new_figure(*size)
    draw(problem, solution, kind, figure.add_subplot())
    figure.savefig(path, dpi=160)


def _possible(problem: Problem, kind: str) -> str:
    """Bars instead of a map that cannot be drawn."""
    return "bars" if kind == "routes" and places_of(problem) is None else kind

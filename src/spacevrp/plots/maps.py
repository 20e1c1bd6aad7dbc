"""Maps: depots as squares, customers sized by demand or prize, routes as coloured lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spacevrp.plots.layout import positions
from spacevrp.problems.distances import Array
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK = "#2f3437"
_QUIET = "#9aa3a8"
# Colours that stay apart on white, in an order that keeps neighbours unlike.
_COLOURS = (
    "#1f77b4",
    "#e4572e",
    "#2ca05a",
    "#8e5cc2",
    "#d9a400",
    "#17a2b8",
    "#c2407e",
    "#7a5230",
    "#5a7d00",
    "#34495e",
)
_SMALLEST, _LARGEST = 14.0, 90.0  # areas of customers' marks, in square points


def require_matplotlib() -> None:
    """Raise an error that says how to get matplotlib, if it is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UnsupportedError(
            "plots need matplotlib, which is not installed: pip install 'spacevrp[plots]'"
        ) from None


def plot_instance(problem: Problem, ax: Axes | None = None) -> Axes:
    """Draw the nodes of an instance; returns the axes (new ones where none are given)."""
    axes = _axes(ax)
    points = positions(problem)
    _draw_nodes(axes, problem, points, visited=frozenset(problem.customers))
    nodes = f"{len(problem.customers)} customers" if problem.depots else f"{problem.size} nodes"
    _finish(axes, problem, [problem.variant_name, nodes])
    return axes


def plot_solution(problem: Problem, solution: Solution, ax: Axes | None = None) -> Axes:
    """Draw an instance with its routes, the ways from and to the depots thin and dashed."""
    axes = _axes(ax)
    points = positions(problem)
    for number, route in enumerate(solution.routes):
        _draw_route(axes, problem, points, route, _COLOURS[number % len(_COLOURS)])
    visited = frozenset(node for route in solution.routes for node in route)
    _draw_nodes(axes, problem, points, visited)
    worth = f"prize {-solution.cost:.6g}" if problem.maximise_prize else f"cost {solution.cost:.6g}"
    parts = [problem.variant_name, worth]
    if problem.depots:
        count = len(solution.routes)
        parts.append("1 route" if count == 1 else f"{count} routes")
    if not solution.feasible:
        parts.append("NOT FEASIBLE")
    _finish(axes, problem, parts)
    return axes


def save_plot(path: str | Path, problem: Problem, solution: Solution | None = None) -> None:
    """Draw an instance, with its solution where there is one, into a picture file."""
    require_matplotlib()
    # Without pyplot: no window, no display, no state left behind.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 7.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if solution is None:
        plot_instance(problem, axes)
    else:
        plot_solution(problem, solution, axes)
    figure.savefig(path, dpi=160)


def _axes(ax: Axes | None) -> Axes:
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(7.0, 7.0), layout="constrained")[1]


def _draw_route(
    axes: Axes, problem: Problem, points: Array, route: Sequence[int], colour: str
) -> None:
    nodes = list(route)
    if not problem.depots:
        nodes.append(nodes[0])
    depots = set(problem.depots)
    customers = [node for node in nodes if node not in depots]
    axes.plot(*points[customers].T, color=colour, linewidth=1.6, solid_joinstyle="round", zorder=2)
    for origin, target in pairwise(nodes):
        if origin in depots or target in depots:
            ends = points[[origin, target]]
            axes.plot(*ends.T, color=colour, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        if not problem.distances.is_symmetric:
            _draw_arrow(axes, points[origin], points[target], colour)


def _draw_arrow(axes: Axes, origin: Array, target: Array, colour: str) -> None:
    """An arrowhead half way, where the direction matters."""
    before, after = origin + 0.48 * (target - origin), origin + 0.56 * (target - origin)
    axes.annotate(
        "",
        xy=(after[0], after[1]),
        xytext=(before[0], before[1]),
        arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 0.8, "mutation_scale": 9},
        zorder=2,
    )


def _draw_nodes(axes: Axes, problem: Problem, points: Array, visited: frozenset[int]) -> None:
    customers = np.array(problem.customers)
    areas = _areas(problem, customers)
    demand = problem.demand[customers]
    is_visited = np.array([node in visited for node in problem.customers])
    first = np.isin(customers, [pickup for pickup, _ in problem.pairs])
    collects = first if problem.pairs else demand < 0
    kinds = [
        ("delivery" if problem.pairs else "customer", "o", ~collects),
        ("pickup" if problem.pairs else "backhaul", "^", collects),
    ]
    for label, marker, member in kinds:
        for skipped, chosen in ((False, member & is_visited), (True, member & ~is_visited)):
            if not chosen.any():
                continue
            there = points[customers[chosen]]
            axes.scatter(
                there[:, 0],
                there[:, 1],
                s=areas[chosen],
                marker=marker,
                facecolor="white" if skipped else _INK,
                edgecolor=_QUIET if skipped else "white",
                linewidth=1.0 if skipped else 0.6,
                label=f"{label}, skipped" if skipped else label,
                zorder=3,
            )
    if problem.depots:
        there = points[list(problem.depots)]
        axes.scatter(
            there[:, 0],
            there[:, 1],
            s=110,
            marker="s",
            facecolor="#d62728",
            edgecolor="white",
            linewidth=1.2,
            label="depot" if len(problem.depots) == 1 else "depots",
            zorder=4,
        )


def _areas(problem: Problem, customers: np.ndarray[Any, Any]) -> Array:
    """Areas of the marks: by demand, else by prize, else all alike."""
    for amounts in (np.abs(problem.demand[customers]), problem.prize[customers]):
        if amounts.max(initial=0.0) > 0:
            share = amounts / amounts.max()
            return np.asarray(_SMALLEST + (_LARGEST - _SMALLEST) * share)
    return np.full(len(customers), 30.0)


def _finish(axes: Axes, problem: Problem, parts: list[str]) -> None:
    title = "  ·  ".join(parts)
    if problem.distances.coordinates is None:
        title += "\nno coordinates: nodes placed by scaling the distances to two dimensions"
    axes.set_title(title, fontsize=11, color=_INK)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.06)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_color("#d5dadd")
    handles, labels = axes.get_legend_handles_labels()
    if len(set(labels)) > 1:
        # Below the map, where it cannot cover anything.
        axes.legend(
            handles,
            labels,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.01),
            ncols=len(labels),
            frameon=False,
            fontsize=9,
            markerscale=0.8,
        )

"""Maps in degrees: routes at the longitudes and latitudes of their stops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from spacevrp.plots.maps import _COLOURS, _INK, _draw_nodes, _draw_route, require_matplotlib
from spacevrp.problems.distances import Array
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.globe import EARTH_RADIUS
from spacevrp.problems.plan import node_id
from spacevrp.problems.plan_documents import places_of
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more nodes than these, their ids would cover each other.
_MOST_LABELS = 40
_LONGEST_LABEL = 18
_METRES_OF_DEGREE = EARTH_RADIUS * math.pi / 180.0


def plot_geographic(
    problem: Problem, solution: Solution | None = None, ax: Axes | None = None
) -> Axes:
    """Routes on a map in degrees, with a scale bar; straight lines, as roads are not known."""
    require_matplotlib()
    places = places_of(problem)
    if places is None or not problem.geographic:
        raise UnsupportedError("a map needs longitudes and latitudes; see Problem.from_lonlat")
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(7.0, 7.0), layout="constrained")[1]
    visited = frozenset(problem.customers)
    if solution is not None:
        for number, route in enumerate(solution.routes):
            _draw_route(ax, problem, places, route, _COLOURS[number % len(_COLOURS)])
        visited = frozenset(node for route in solution.routes for node in route)
    _draw_nodes(ax, problem, places, visited)
    if problem.size <= _MOST_LABELS:
        _name_nodes(ax, problem, places)
    middle = float(np.mean(places[:, 1]))
    # A degree of longitude is shorter than one of latitude, the more so the nearer to a pole.
    ax.set_aspect(1.0 / max(math.cos(math.radians(middle)), 0.01), adjustable="datalim")
    ax.margins(0.08)
    ax.xaxis.set_major_formatter(lambda value, _: _degrees(value, "E", "W"))
    ax.yaxis.set_major_formatter(lambda value, _: _degrees(value, "N", "S"))
    ax.tick_params(labelsize=7, colors=_INK)
    ax.grid(color="#9aa3a8", alpha=0.25, lw=0.5)
    _draw_scale(ax, places, middle)
    ax.set_title(_title(problem, solution), fontsize=11, color=_INK)
    return ax


def _title(problem: Problem, solution: Solution | None) -> str:
    if solution is None:
        return f"{problem.variant_name}  ·  {problem.size} places"
    worth = f"prize {-solution.cost:.6g}" if problem.maximise_prize else f"cost {solution.cost:.6g}"
    count = len(solution.routes)
    parts = [problem.variant_name, worth, "1 route" if count == 1 else f"{count} routes"]
    if not solution.feasible:
        parts.append("NOT FEASIBLE")
    return "  ·  ".join(parts)


def _name_nodes(axes: Axes, problem: Problem, places: Array) -> None:
    for node in range(problem.size):
        axes.annotate(
            str(node_id(problem, node))[:_LONGEST_LABEL],
            (places[node, 0], places[node, 1]),
            xytext=(5, 4),
            textcoords="offset points",
            fontsize=7,
            color=_INK,
            zorder=5,
        )


def _degrees(value: float, positive: str, negative: str) -> str:
    return f"{abs(value):.6g}°{positive if value >= 0 else negative}"


def _draw_scale(axes: Axes, places: Array, latitude: float) -> None:
    """A bar of a round length, about a quarter of the map."""
    width = float(np.ptp(places[:, 0])) or float(np.ptp(places[:, 1])) or 1.0
    metres_of_degree = _METRES_OF_DEGREE * max(math.cos(math.radians(latitude)), 0.01)
    metres = _round_length(0.25 * width * metres_of_degree)
    left, low = float(places[:, 0].min()), float(places[:, 1].min())
    low -= 0.04 * max(float(np.ptp(places[:, 1])), 0.2 * width)
    degrees = metres / metres_of_degree
    axes.plot([left, left + degrees], [low, low], color=_INK, linewidth=2.0, solid_capstyle="butt")
    label = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
    axes.annotate(
        label,
        (left + degrees / 2, low),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        fontsize=7,
        color=_INK,
    )


def _round_length(metres: float) -> float:
    """The largest of 1, 2, 5, 10, 20, 50, ... that is not longer."""
    power = 10.0 ** math.floor(math.log10(metres)) if metres > 0 else 1.0
    return max(step * power for step in (1, 2, 5) if step * power <= max(metres, power))

"""Maps: depots, stops and routes, on a plane or at longitudes and latitudes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from spacevrp.plots.content import (
    Kind,
    RouteLook,
    depot_kinds,
    headline,
    links_of,
    looks_of,
    map_places,
    short,
    stop_kinds,
    unserved_nodes,
    verdict,
)
from spacevrp.plots.style import (
    INK,
    QUIET,
    RED,
    drawable,
    finish_title,
    new_axes,
    write_names,
)
from spacevrp.problems.distances import EARTH_RADIUS, Array
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan import RoutePlan, node_id
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SMALLEST, _LARGEST = 16.0, 80.0  # areas of the marks of 100 stops, in square points
_LEGEND_ROWS, _LEGEND_COLUMNS = 40, 3
# Inches of a map's longer side, of a large one's, and of a column of the legend.
_MAP, _LARGEST_MAP, _LEGEND = 7.0, 11.0, 2.5
_METRES_OF_DEGREE = EARTH_RADIUS * math.pi / 180.0
NO_PLACES = (
    "a map needs coordinates, and this problem has distances alone; give places=..., or draw the "
    "routes as bars (kind='bars')"
)


def plot_instance(problem: Problem, ax: Axes | None = None) -> Axes:
    """Draw the nodes of an instance; returns the axes (new ones where none are given)."""
    return _plot(problem, None, ax)


def plot_solution(problem: Problem, solution: Solution, ax: Axes | None = None) -> Axes:
    """Draw an instance with its routes, the arcs from and to the depots thin.

    Arrow heads show the direction of travel. The legend has number, stops, trips, load, cost and
    vehicle of each route. A ring around a depot is a reload, a grey line between customers a
    relation. Unserved stops are red crosses, and the title counts them; a plan that breaks a
    rule says which. Lines are straight: a plan knows how long roads are, not where they run.
    """
    return _plot(problem, solution, ax)


def map_size(problem: Problem, solution: Solution | None = None) -> tuple[float, float]:
    """Width and height in inches that suit the map and its legend."""
    places = _places(problem)
    width, height = np.ptp(places, axis=0) * (_stretch(problem, places), 1.0)
    share = min(max(width / height if height > 0 else 2.0, 0.7), 1.6)
    count = 0 if solution is None else len(solution.plan.routes)
    columns = min(math.ceil(count / _LEGEND_ROWS), _LEGEND_COLUMNS)
    side = min(max(_MAP, 0.35 * math.sqrt(problem.size)), _LARGEST_MAP)
    scale = side / max(share, 1.0)
    return scale * share + columns * _LEGEND, scale + 0.6


def _plot(problem: Problem, solution: Solution | None, ax: Axes | None) -> Axes:
    ax = new_axes(ax, map_size(problem, solution))
    places = _places(problem)
    from spacevrp.plots.labels import Annotations, Line

    colours = np.full(problem.size, INK, dtype=object)
    lines, handles = [], []
    if solution is not None:
        for look, route in zip(looks_of(solution), solution.plan.routes, strict=True):
            nodes = [stop.node for stop in route.stops]
            handles.append(_draw_route(ax, problem, places, look, route))
            lines.append(Line(places[nodes], look.colour, look.number))
            colours[nodes] = look.colour
    _draw_links(ax, problem, places)
    radii = _draw_nodes(ax, problem, places, colours, solution)
    for node, radius in _draw_reloads(ax, places, solution).items():
        radii[node] = max(radii[node], radius)
    if solution is not None and problem.depots:
        ends = [route.stops[-1].node for route in solution.plan.routes]
        ends = [node for node in ends if node not in problem.depots]
        radii[ends] = np.maximum(radii[ends], 0.5 * math.sqrt(_ring(problem)))
    names = _names(problem, places, radii, () if solution is None else unserved_nodes(solution))
    if len(lines) == 1:
        lines = [Line(lines[0].points, lines[0].colour)]  # one route needs no number
    size = 7.0 if problem.size <= 250 else 5.5
    kept = _finish(ax, problem, places)
    ax.add_artist(Annotations(lines, names, places, radii, size, kept))
    finish_title(ax, headline(problem, solution), [] if solution is None else verdict(solution))
    _add_legends(ax, handles)
    write_names(ax)
    return ax


def _places(problem: Problem) -> Array:
    places = map_places(problem)
    if places is None:
        raise UnsupportedError(NO_PLACES)
    return places


def _draw_route(
    axes: Axes, problem: Problem, places: Array, look: RouteLook, route: RoutePlan
) -> Any:
    """One route; returns the line that stands for it in the legend."""
    thick = 1.7 if problem.size <= 250 else 1.1
    style: Any = (0, look.dashes) if look.dashes else "-"
    nodes = [stop.node for stop in route.stops]
    away = [node in problem.depots for node in nodes]
    looks: dict[str, Any] = {"color": look.colour, "linestyle": style}
    thin = looks | {"linewidth": 0.5 * thick, "alpha": 0.75, "zorder": 1}
    trips: list[list[int]] = [[]]  # without the depots before and after them
    for node, at_depot in zip(nodes, away, strict=True):
        if at_depot:
            trips.append([])
        else:
            trips[-1].append(node)
    line = None
    for inner in filter(None, trips):
        (drawn,) = axes.plot(
            *places[inner].T, linewidth=thick, solid_joinstyle="round", zorder=2, **looks
        )
        line = line or drawn
    assert line is not None  # a route has customers
    line.set_label(look.label)
    for leg, at_depots in zip(pairwise(nodes), pairwise(away), strict=True):
        if any(at_depots):
            axes.plot(*places[list(leg)].T, **thin)
    if problem.depots and not away[-1]:
        label = "end of an open route"
        _draw_ring(axes, places[nodes[-1]], _ring(problem), look.colour, label, linewidth=1.3)
    return line


def _draw_reloads(axes: Axes, places: Array, solution: Solution | None) -> dict[int, float]:
    """A ring around a depot for each route that reloads there, the second around the first.

    Returns the radius of the largest ring of each depot, in points.
    """
    radii: dict[int, float] = {}
    for look, route in (
        [] if solution is None else zip(looks_of(solution), solution.plan.routes, strict=True)
    ):
        for node in {stop.node for stop in route.stops if stop.kind == "reload"}:
            radii[node] = radii.get(node, 6.5) + 2.5
            area = (2.0 * radii[node]) ** 2
            ring = {"linewidth": 1.6, "zorder": 4.5}
            _draw_ring(axes, places[node], area, look.colour, "reload", **ring)
    return radii


def _draw_ring(
    axes: Axes, place: Array, area: float, colour: str, label: str, **looks: Any
) -> None:
    x, y = map(float, place)
    looks = {"zorder": 3, **looks}
    axes.scatter(x, y, s=area, facecolor="none", edgecolor=colour, label=label, **looks)


def _draw_links(axes: Axes, problem: Problem, places: Array) -> None:
    """Thin grey lines between customers who are tied to each other."""
    for link in links_of(problem):
        looks: dict[str, Any] = {"color": QUIET, "linewidth": 3.0, "alpha": 0.6, "zorder": 0.5}
        there = places[list(link.nodes)].T
        style: Any = (0, link.dashes) if link.dashes else "-"
        axes.plot(*there, linestyle=style, label=link.label, **looks)


def _ring(problem: Problem) -> float:
    """Area of the ring around the last stop of an open route, in square points."""
    return 150.0 if problem.size <= 250 else 60.0


# ------------------------------------------------------------------------------------------- nodes


def _draw_nodes(
    axes: Axes, problem: Problem, places: Array, colours: Any, solution: Solution | None
) -> Array:
    """Draw all marks; returns their radii in points, (N,)."""
    skipped = frozenset() if solution is None else frozenset(solution.plan.skipped)
    unserved = () if solution is None else unserved_nodes(solution)
    crowd = min(1.0, math.sqrt(100.0 / max(problem.size, 1)))
    areas = _areas(problem) * crowd
    served = [node for node in problem.customers if node not in skipped]
    optional = [node for node in problem.customers if node in skipped and node not in unserved]

    def mark(kind: Kind, area: Any, **looks: Any) -> None:
        there = places[list(kind.nodes)]
        defaults: dict[str, Any] = {
            "linewidth": 0.6 * max(crowd, 0.5),
            "edgecolor": "white",
            "zorder": 3.5,
        }
        axes.scatter(
            there[:, 0],
            there[:, 1],
            s=area,
            marker=kind.marker,
            label=kind.label,
            **(defaults | looks),
        )

    for kind in stop_kinds(problem, served):
        nodes = list(kind.nodes)
        mark(kind, areas[nodes], facecolor=list(colours[nodes]))
    for kind in stop_kinds(problem, optional):
        label = f"{kind.label}, skipped ({len(kind.nodes)})"
        hollow: dict[str, Any] = {"facecolor": "white", "edgecolor": INK, "linewidth": 1.0}
        mark(
            Kind(label, kind.marker, kind.nodes), np.maximum(areas[list(kind.nodes)], 18), **hollow
        )
    if unserved:
        areas[list(unserved)] = max(70.0 * crowd, 34.0)
        label = f"unserved ({len(unserved)})"
        mark(Kind(label, "X", unserved), areas[list(unserved)], facecolor=RED, zorder=4)
    for kind in depot_kinds(problem):
        area = 110.0 if problem.size <= 250 else 70.0
        areas[list(kind.nodes)] = area
        face, edge = ("white", INK) if kind.hollow else (INK, "white")
        mark(kind, area, facecolor=face, edgecolor=edge, linewidth=1.2, zorder=5)
    return 0.5 * np.sqrt(areas)


def _areas(problem: Problem) -> Array:
    """Areas of the marks: by demand, else by prize, else all alike."""
    customers = list(problem.customers)
    for amounts in (np.abs(problem.demand), problem.prize):
        most = amounts[customers].max(initial=0.0)
        if most > 0:
            return np.asarray(_SMALLEST + (_LARGEST - _SMALLEST) * np.minimum(amounts / most, 1.0))
    return np.full(problem.size, 30.0)


def _names(problem: Problem, places: Array, radii: Array, unserved: Sequence[int]) -> list[Any]:
    """The ids in the order of their weight: depots, unserved stops, all others."""
    from spacevrp.plots.labels import Name

    bold = dict.fromkeys([*problem.depots, *unserved])
    order = [*bold, *(node for node in range(problem.size) if node not in bold)]
    named = problem.ids is not None
    return [
        Name(
            drawable(short(node_id(problem, node))),
            (float(places[node, 0]), float(places[node, 1])),
            float(radii[node]),
            bold=node in bold,
        )
        for node in order
        if named or node not in problem.depots  # a square with a number says nothing
    ]


# -------------------------------------------------------------------------------------------- axes


def _stretch(problem: Problem, places: Array) -> float:
    """The length of a unit to the right in units upwards: 1, or less for degrees."""
    if not problem.geographic:
        return 1.0
    return max(math.cos(math.radians(float(np.mean(places[:, 1])))), 0.01)


def _finish(axes: Axes, problem: Problem, places: Array) -> list[Any]:
    """Frame and axes; returns what no name may cover."""
    stretch = _stretch(problem, places)
    axes.set_aspect(1.0 / stretch, adjustable="datalim")
    axes.margins(0.08)
    for side in axes.spines.values():
        side.set_color("#d5dadd")
    if not problem.geographic:
        axes.set_xticks([])
        axes.set_yticks([])
        return []
    axes.xaxis.set_major_formatter(lambda value, _: _degrees(value, "E", "W"))
    axes.yaxis.set_major_formatter(lambda value, _: _degrees(value, "N", "S"))
    axes.tick_params(labelsize=7, colors=INK)
    axes.grid(color=QUIET, alpha=0.25, lw=0.5)
    return _draw_scale(axes, places, stretch * _METRES_OF_DEGREE)


def _add_legends(axes: Axes, routes: list[Any]) -> None:
    """Routes to the right of the map, kinds of nodes below it, where they cover nothing."""
    labels: dict[str, Any] = {}
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        if handle not in routes:
            labels.setdefault(label, handle)
    frame: dict[str, Any] = {"frameon": False, "borderaxespad": 0.0}
    if routes:
        most = _LEGEND_ROWS * _LEGEND_COLUMNS
        shown = routes if len(routes) <= most else routes[: most - 1]
        texts = [line.get_label() for line in shown]
        if len(shown) < len(routes):
            from matplotlib.lines import Line2D

            texts.append(f"and {len(routes) - len(shown)} more routes")
            shown = [*shown, Line2D([], [], linestyle="none")]
        columns = math.ceil(len(shown) / _LEGEND_ROWS)
        legend = axes.legend(
            shown,
            texts,
            **frame,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            ncols=columns,
            fontsize=7.5 if len(shown) <= _LEGEND_ROWS else 6.5,
            labelspacing=0.35,
        )
        axes.add_artist(legend)
        legend.set_clip_path(None)  # it lies outside
        legend.set_clip_on(False)
    if len(labels) > 1:
        below = axes.legend(
            list(labels.values()),
            list(labels),
            **frame,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.06 if axes.xaxis.get_ticklocs().size else -0.015),
            ncols=min(len(labels), 4),
            fontsize=8.5,
        )
        shown_marks: list[Any] = list(below.legend_handles)
        for mark in shown_marks:
            if hasattr(mark, "set_sizes"):
                mark.set_sizes([42.0])
                if not mark.get_facecolor().any():
                    mark.set_edgecolor(INK)
                if mark.get_label() in ("stop", "pickup", "delivery"):
                    mark.set_facecolor(INK)  # they have the colours of their routes


def _degrees(value: float, positive: str, negative: str) -> str:
    value -= 360.0 * round(value / 360.0)  # beyond the antimeridian longitudes go on
    return f"{abs(value):.6g}°{positive if value >= 0 else negative}"


def _draw_scale(axes: Axes, places: Array, metres_of_degree: float) -> list[Any]:
    """A bar of a round length, about a quarter of the map, and below it how long it is."""
    width = float(np.ptp(places[:, 0])) or float(np.ptp(places[:, 1])) or 1.0
    metres = _round_length(0.25 * width * metres_of_degree)
    left, low = float(places[:, 0].min()), float(places[:, 1].min())
    low -= 0.05 * max(float(np.ptp(places[:, 1])), 0.2 * width)
    degrees = metres / metres_of_degree
    looks: dict[str, Any] = {"color": INK, "linewidth": 2.0, "solid_capstyle": "butt"}
    bar = axes.plot([left, left + degrees], [low, low], **looks)
    label = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
    words = axes.annotate(
        label,
        (left + degrees / 2, low),
        xytext=(0, -3),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=7,
        color=INK,
    )
    return [*bar, words]


def _round_length(metres: float) -> float:
    """The largest of 1, 2, 5, 10, 20, 50, ... that is not longer."""
    power = 10.0 ** math.floor(math.log10(metres)) if metres > 0 else 1.0
    return max(step * power for step in (1, 2, 5) if step * power <= max(metres, power))

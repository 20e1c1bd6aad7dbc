"""Charts of routes: what their legs cost, what is on board, and lanes, one for each route."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from spacevrp.plots.content import RouteLook, headline, looks_of, short, unserved_nodes, verdict
from spacevrp.plots.style import (
    QUIET,
    RED,
    SEPARATOR,
    drawable,
    finish_title,
    new_axes,
    write_names,
)
from spacevrp.problems.plan import RoutePlan
from spacevrp.problems.plan_documents import places_of
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches: of a chart's width, of a lane, of the tallest chart, and of a letter in a lane.
WIDTH, LANE, TALLEST, LETTER = 9.0, 0.42, 60.0, 0.055


def finish(axes: Axes, solution: Solution, what: str) -> None:
    """Title, verdict and a light grid."""
    title = f"{what}{SEPARATOR}{headline(solution.plan.problem, solution)}"
    finish_title(axes, title, verdict(solution))
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", color=QUIET, alpha=0.25, lw=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    write_names(axes)


def count_lanes(solution: Solution) -> int:
    """One for each route, one for what is unserved."""
    return len(solution.plan.routes) + bool(unserved_nodes(solution))


def lanes(axes: Axes, solution: Solution) -> Iterator[tuple[int, RouteLook, RoutePlan]]:
    """Number, look and route of each lane; names them on the left."""
    looks, routes = looks_of(solution), solution.plan.routes
    labels = [drawable(look.label) for look in looks]
    unserved = unserved_nodes(solution)
    if unserved:
        labels.append(f"unserved ({len(unserved)})")
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    for tick, look in zip(axes.get_yticklabels(), looks, strict=False):
        tick.set_color(look.colour)
    if unserved:
        axes.get_yticklabels()[-1].set_color(RED)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    yield from zip(range(len(looks)), looks, routes, strict=True)


# -------------------------------------------------------------------------------------------- bars


def bars_size(solution: Solution) -> tuple[float, float]:
    """Width and height in inches at which the bars can be read."""
    return WIDTH, min(1.4 + LANE * max(count_lanes(solution), 1), TALLEST)


def plot_bars(solution: Solution, ax: Axes | None = None) -> Axes:
    """A bar for each route as long as its legs cost, cut at its stops; needs no coordinates."""
    plan = solution.plan
    axes = new_axes(ax, bars_size(solution))
    longest = max((r.cost for r in plan.routes if math.isfinite(r.cost)), default=0.0) or 1.0
    figure: Any = axes.get_figure()
    inch = (figure.get_figwidth() - 3.0) / longest
    for lane, look, route in lanes(axes, solution):
        ends = list(accumulate(_finite(stop.leg_cost) for stop in route.stops))
        axes.barh(lane, ends[-1], height=0.6, color=look.colour, zorder=2)
        for stop, start, end in zip(route.stops[1:], ends, ends[1:], strict=False):
            axes.plot([end, end], [lane - 0.3, lane + 0.3], color="white", linewidth=1.0, zorder=3)
            text = short(stop.id)
            if (end - start) * inch > LETTER * (len(text) + 1):
                _write(axes, end - 0.03 / inch, lane, text, ha="right", color="white")
            if not math.isfinite(stop.leg_cost):
                axes.plot([end], [lane], marker="x", markersize=8, color=RED, zorder=4)
    unserved = unserved_nodes(solution)
    if unserved:
        names = ", ".join(short(plan.id_of(node)) for node in unserved)
        room = int(longest * inch / LETTER)
        text = names if len(names) <= room else names[: room - 1] + "…"
        _write(axes, 0.0, len(plan.routes), text, ha="left", color=RED)
    axes.set_xlim(0.0, 1.03 * longest)
    axes.set_xlabel("cost of the legs up to each stop", fontsize=9)
    mapless = places_of(plan.problem) is None
    finish(axes, solution, "no coordinates: routes as bars" if mapless else "routes as bars")
    return axes


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _write(axes: Axes, x: float, y: float, text: str, **looks: Any) -> None:
    axes.text(x, y, text, fontsize=6.5, va="center", parse_math=False, zorder=4, **looks)


# ------------------------------------------------------------------------------------------- loads


def plot_load(solution: Solution, ax: Axes | None = None) -> Axes:
    """What is on board after each stop, of the first kind of load, one line a route."""
    plan, problem = solution.plan, solution.plan.problem
    axes = new_axes(ax, (7.0, 4.2))
    from matplotlib.ticker import MaxNLocator

    many = len(plan.routes) > 12
    for look, route in zip(looks_of(solution), plan.routes, strict=True):
        loads = [stop.load for stop in route.stops]
        if route.stops[0].kind != "start":  # a plan made by hand without the depot
            loads.insert(0, route.loads[0])
        axes.step(
            range(len(loads)),
            loads,
            where="post",
            color=look.colour,
            linestyle=(0, look.dashes) if look.dashes else "-",
            linewidth=1.0 if many else 1.8,
            marker="o",
            markersize=3,
            label=f"route {route.number}",
        )
        at = [place for place, stop in enumerate(route.stops) if stop.kind == "reload"]
        if at:
            there = [loads[place] for place in at]
            reload = "reload" if "reload" not in axes.get_legend_handles_labels()[1] else None
            axes.plot(at, there, "D", markersize=7, color=look.colour, label=reload, zorder=4)
    capacities = {terms.capacities[0] for terms in problem.fleet} or {problem.capacity}
    for capacity in sorted(filter(math.isfinite, capacities)):
        axes.axhline(capacity, color=RED, linewidth=1.0, linestyle=(0, (4, 3)))
        axes.annotate(
            "capacity",
            (1.0, capacity),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=8,
            color=RED,
        )
    axes.set_xlabel("stops made", fontsize=9)
    kinds = problem.kinds_of_load
    on_board = "on board" if kinds == 1 else f"on board, first of {kinds} kinds of load"
    axes.set_ylabel(on_board, fontsize=9)
    axes.tick_params(axis="y", labelsize=8)
    axes.set_ylim(bottom=min(0.0, *(s.load for r in plan.routes for s in r.stops), 0.0))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(axes.get_legend_handles_labels()[1]) > 1:
        anchor: dict[str, Any] = {
            "loc": "upper left",
            "bbox_to_anchor": (1.01, 1.0),
            "frameon": False,
        }
        axes.legend(fontsize=7, ncols=1 + len(plan.routes) // 20, **anchor)
    finish(axes, solution, "load")
    return axes

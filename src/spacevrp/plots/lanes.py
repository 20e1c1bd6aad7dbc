"""What charts with a lane for each route share: axes, titles, and the names of lanes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spacevrp.plots.content import RouteLook, headline, looks_of, unserved_nodes, verdict
from spacevrp.plots.style import QUIET, RED, finish_title, require_matplotlib
from spacevrp.problems.plan import RoutePlan
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches: of a chart's width, of a lane, of the tallest chart, and of a letter in a lane.
WIDTH, LANE, TALLEST, LETTER = 9.0, 0.42, 60.0, 0.055


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or new ones of that size."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def finish(axes: Axes, solution: Solution, what: str) -> None:
    """Title, verdict and a light grid."""
    finish_title(axes, f"{what}  ·  {headline(solution.plan.problem, solution)}", verdict(solution))
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", color=QUIET, alpha=0.25, lw=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def count_lanes(solution: Solution) -> int:
    """One for each route, one for what is unserved."""
    return len(solution.plan.routes) + bool(unserved_nodes(solution))


def lanes(axes: Axes, solution: Solution) -> Iterator[tuple[int, RouteLook, RoutePlan]]:
    """Number, look and route of each lane; names them on the left."""
    looks, routes = looks_of(solution), solution.plan.routes
    labels = [look.label for look in looks]
    unserved = unserved_nodes(solution)
    if unserved:
        labels.append(f"unserved ({len(unserved)})")
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    for tick, look in zip(axes.get_yticklabels(), looks, strict=False):
        tick.set_color(look.colour)
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)
    if unserved:
        axes.get_yticklabels()[-1].set_color(RED)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    yield from zip(range(len(looks)), looks, routes, strict=True)

"""Gap against seconds: a panel a problem and size, a line a solver."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from spacevrp.plots.records import Rows
from spacevrp.plots.style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    legend_above,
    new_figure,
    require_matplotlib,
    tidy,
)
from spacevrp.problems.errors import FormatError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIELDS = ("problem", "size", "limit", "solver", "instances", "solved", "gap", "seconds")
# Ours stand out; marks differ as well as colours.
_LOOKS = {
    "spacevrp": (VERMILION, "o"),
    "spacevrp search": (PURPLE, "v"),
    "spacevrp network + search": (VERMILION, "o"),
    "spacevrp savings + search": (PURPLE, "v"),
    "spacevrp insertion + search": (INK, "X"),
    "pyvrp": (BLUE, "s"),
    "ortools": (GREEN, "^"),
    "vroom": (ORANGE, "D"),
    "lkh": (INK, "*"),
}
_OTHER = (SKY, "P")
_COLUMNS = 4
_MARK = 4.5
# Percent. Logarithmic from the first on, so that a gap of nothing has its place; what is above the
# last is outside.
_TICKS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_LINEAR, _HIGHEST = 0.05, 15.0


def plot_frontier(rows: Rows) -> Figure:
    """Measured seconds an instance from left to right, gap upwards, both logarithmic."""
    require_matplotlib()
    held = [row for row in rows if row["gap"] is not None]
    if not held:
        raise FormatError("gap against seconds: expected rows with a gap, received none")
    panels = list(dict.fromkeys((row["problem"], row["size"]) for row in held))
    sizes = len({size for _, size in panels})
    full = len(panels) == sizes * len({problem for problem, _ in panels})
    columns = sizes if full and sizes > 1 else min(_COLUMNS, len(panels))
    lines = math.ceil(len(panels) / columns)
    figure = new_figure(3.5 * columns + 0.4, 0.8 + 2.9 * lines)
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True).flatten()
    for axes, panel in zip(grid, panels, strict=False):
        _draw(axes, [row for row in held if (row["problem"], row["size"]) == panel])
        axes.set_title(f"{panel[0]}, {panel[1]} customers", fontsize=10, color=INK)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    for axes in grid[::columns]:
        axes.set_ylabel("gap to the best known, percent", fontsize=8)
    legend_above(figure, list(grid[: len(panels)]))
    if any(row["solved"] < row["instances"] for row in held):
        figure.supxlabel("hollow: not all instances solved in time", fontsize=8, color=INK)
    return figure


def _draw(axes: Axes, rows: Rows) -> None:
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=_LINEAR, linscale=0.4)
    for solver in dict.fromkeys(row["solver"] for row in rows):
        some = [row for row in rows if row["solver"] == solver]
        # Without a limit it takes as long as it takes.
        _draw_line(axes, sorted(some, key=lambda row: row["limit"] or row["seconds"]))
    axes.set_ylim(-0.005, _HIGHEST)
    axes.set_yticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("seconds an instance", fontsize=8)
    tidy(axes)


def _draw_line(axes: Axes, rows: Rows) -> None:
    solver = rows[0]["solver"]
    colour, marker = _LOOKS.get(solver, _OTHER)
    ours = solver.startswith("spacevrp")
    axes.plot(
        [row["seconds"] for row in rows],
        [row["gap"] for row in rows],
        color=colour,
        linewidth=2.0 if ours else 1.25,
        marker=marker,
        markersize=_MARK,
        label=solver,
        zorder=3 if ours else 2,
    )
    partly = [row for row in rows if row["solved"] < row["instances"]]  # not the same thing
    axes.plot(
        [row["seconds"] for row in partly],
        [row["gap"] for row in partly],
        linestyle="",
        marker=marker,
        markersize=_MARK - 2,
        markeredgewidth=0.0,
        color="white",
        zorder=4,
    )

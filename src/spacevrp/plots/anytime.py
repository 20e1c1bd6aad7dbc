"""Gap at equal time: a panel a problem and size, a line a solver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.plots.curves import CLASSICAL, OTHER, draw_curve, explain_hollow, finish_axes
from spacevrp.plots.records import Rows
from spacevrp.plots.style import (
    INK,
    PURPLE,
    VERMILION,
    legend_above,
    new_figure,
    require_matplotlib,
    save_figure,
)
from spacevrp.problems.errors import FormatError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIELDS = ("problem", "size", "limit", "solver", "instances", "solved", "gap", "seconds")
# Ours stand out; marks differ as well as colours.
_LOOKS = {
    "spacevrp": (PURPLE, "o"),
    "spacevrp + improvement": (VERMILION, "o"),
    "spacevrp network + search": (VERMILION, "o"),
    "spacevrp savings + search": (PURPLE, "v"),
    "spacevrp insertion + search": (INK, "X"),
    **CLASSICAL,
}
_LINEAR = 1.0  # percent; logarithmic beyond


def plot_anytime(rows: Rows) -> Figure:
    """Measured seconds from left to right, gap upwards; both logarithmic but for small gaps."""
    require_matplotlib()
    held = [row for row in rows if row["gap"] is not None]
    if not held:
        raise FormatError("gap at equal time: expected rows with a gap, received none")
    problems = list(dict.fromkeys(row["problem"] for row in held))
    sizes = sorted({row["size"] for row in held})
    figure = new_figure(3.9 * len(sizes) + 0.4, 0.8 + 2.9 * len(problems))
    grid = figure.subplots(len(problems), len(sizes), squeeze=False)
    for line, problem in zip(grid, problems, strict=True):
        for axes, size in zip(line, sizes, strict=True):
            some = [row for row in held if (row["problem"], row["size"]) == (problem, size)]
            if not some:
                axes.set_axis_off()
                continue
            _draw(axes, some)
            axes.set_title(f"{problem}, {size} customers", fontsize=10, color=INK)
    legend_above(figure, [axes for axes in grid.flatten() if axes.lines])
    explain_hollow(figure, held)
    return figure


def save_anytime_plot(path: str | Path, rows: Rows) -> None:
    """Draw the panels into a picture file."""
    save_figure(plot_anytime(rows), path)


def _draw(axes: Axes, rows: Rows) -> None:
    for solver in dict.fromkeys(row["solver"] for row in rows):
        some = sorted((r for r in rows if r["solver"] == solver), key=lambda row: row["limit"])
        bold = solver.startswith("spacevrp")
        draw_curve(axes, some, _LOOKS.get(solver, OTHER), bold=bold, size=5)
    for limit in {row["limit"] for row in rows}:
        axes.axvline(limit, color=INK, linewidth=0.5, alpha=0.35, linestyle=":", zorder=1)
    axes.set_yscale("symlog", linthresh=_LINEAR)
    highest = max(row["gap"] for row in rows)
    axes.set_ylim(-0.1, max(1.5 * highest, _LINEAR))  # room for the marks
    axes.yaxis.set_major_formatter("{x:g}")
    finish_axes(axes, 8)

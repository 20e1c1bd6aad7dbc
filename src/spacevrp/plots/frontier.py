"""Gap against seconds: a line a solver, a panel a problem."""

from __future__ import annotations

import math
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

FIELDS = ("problem", "solver", "setting", "instances", "solved", "gap", "seconds")
# Ours stands out; marks differ as well as colours.
_LOOKS = {
    "spacevrp": (VERMILION, "o"),
    **CLASSICAL,
    "lkh": (PURPLE, "v"),
}
_COLUMNS = 2


def plot_frontier(rows: Rows) -> Figure:
    """Seconds an instance from left to right on a logarithmic scale, gap upwards."""
    require_matplotlib()
    problems = list(dict.fromkeys(row["problem"] for row in rows if row["gap"] is not None))
    if not problems:
        raise FormatError("gap against seconds: expected rows with a gap, received none")
    columns = min(_COLUMNS, len(problems))
    lines = math.ceil(len(problems) / columns)
    figure = new_figure(5.4 * columns, 0.6 + 3.7 * lines)
    grid = figure.subplots(lines, columns, squeeze=False).flatten()
    for axes, problem in zip(grid, problems, strict=False):
        _draw(axes, [row for row in rows if row["problem"] == problem and row["gap"] is not None])
        axes.set_title(problem, fontsize=11, color=INK)
    for axes in grid[len(problems) :]:
        axes.set_axis_off()
    legend_above(figure, list(grid[: len(problems)]))
    explain_hollow(figure, [row for row in rows if row["gap"] is not None])
    return figure


def save_frontier_plot(path: str | Path, rows: Rows) -> None:
    """Draw the lines into a picture file."""
    save_figure(plot_frontier(rows), path)


def _draw(axes: Axes, rows: Rows) -> None:
    for solver in dict.fromkeys(row["solver"] for row in rows):
        look = _LOOKS.get(solver, OTHER)
        some = sorted((r for r in rows if r["solver"] == solver), key=lambda row: row["seconds"])
        ours = solver == "spacevrp"
        draw_curve(axes, some, look, bold=ours, size=6)
        for row in some:
            axes.annotate(
                f"x{row['setting'].split()[0]}" if ours else row["setting"],
                (row["seconds"], row["gap"]),
                (4, 4),
                textcoords="offset points",
                fontsize=6.5,
                color=look[0],
            )
    axes.set_ylim(bottom=min(0.0, min(row["gap"] for row in rows)) - 0.15)
    axes.margins(x=0.1)
    finish_axes(axes, 9)

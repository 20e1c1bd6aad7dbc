"""Curves of a training run: cost of every problem, gradient norm and rate."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.plots.style import BLUE, SKY, VERMILION, new_figure, require_matplotlib, tidy
from spacevrp.problems.errors import FormatError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOG = "log.csv"
_COST, _BEST = "cost/", "best/"
_COLUMNS = 4

Columns = Mapping[str, Sequence[float]]


def read_log(path: str | Path) -> dict[str, list[float]]:
    """Columns of the log of a run, given its folder or the file; a cut-off row is left out."""
    file = Path(path)
    if file.is_dir():
        file = file / LOG
    if not file.is_file():
        raise FormatError(f"{file}: no such file; expected the log of a training run")
    with file.open(newline="", encoding="utf-8", errors="replace") as opened:
        reader = csv.DictReader(opened)
        names = list(reader.fieldnames or ())
        for name in ("step", "gradient_norm", "rate_factor"):
            if name not in names:
                raise FormatError(f"{file}: column {name}: missing in the log of a training run")
        columns: dict[str, list[float]] = {name: [] for name in names}
        for row in reader:
            try:
                numbers = [float(row[name]) for name in names]
            except (TypeError, ValueError):
                continue
            for name, number in zip(names, numbers, strict=True):
                columns[name].append(number)
    if not columns["step"]:
        raise FormatError(f"{file}: expected at least one row, received none")
    return columns


def plot_training(columns: Columns) -> Figure:
    """One small picture a problem, then the gradient norm and the factor of the rates."""
    require_matplotlib()
    problems = [name.removeprefix(_COST) for name in columns if name.startswith(_COST)]
    count = len(problems) + 2
    rows = math.ceil(count / _COLUMNS)
    figure = new_figure(3.4 * _COLUMNS, 2.3 * rows)
    grid = figure.subplots(rows, _COLUMNS, squeeze=False).flatten()
    step = columns["step"]
    for axes, problem in zip(grid, problems, strict=False):
        _draw(axes, step, columns[_COST + problem], BLUE, "mean")
        if _BEST + problem in columns:
            _draw(axes, step, columns[_BEST + problem], SKY, "best of an instance")
        axes.set_title(f"{problem}: cost", fontsize=10)
    norm, rate = grid[len(problems)], grid[len(problems) + 1]
    _draw(norm, step, columns["gradient_norm"], VERMILION, "norm")
    norm.set_title("gradient norm", fontsize=10)
    _draw(rate, step, columns["rate_factor"], VERMILION, "factor")
    rate.set_ylim(bottom=0.0)
    rate.set_title("factor of the rates", fontsize=10)
    for axes in grid[count:]:
        axes.set_axis_off()
    for axes in grid[max(0, count - _COLUMNS) : count]:
        axes.set_xlabel("steps", fontsize=8)
    if problems:
        grid[0].legend(fontsize=7, frameon=False)
    return figure


def _draw(
    axes: Axes, step: Sequence[float], values: Sequence[float], colour: str, label: str
) -> None:
    # Steps in which a problem was not drawn have no value; the line goes on over them.
    points = [(x, y) for x, y in zip(step, values, strict=True) if math.isfinite(y)]
    marker = "o" if len(points) < 3 else None
    axes.plot(
        *zip(*points, strict=True) if points else ((), ()),
        color=colour,
        lw=1.2,
        marker=marker,
        ms=3,
        label=label,
    )
    axes.set_xlim(0.0, max(step[-1], 1.0))
    tidy(axes)

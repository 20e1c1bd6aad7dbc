"""Pictures of measurements: gaps by variant and time, symmetric against not, training curves."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.plots.records import GAPS, TO, Rows, choose_gap
from spacevrp.plots.style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    QUIET,
    SKY,
    VERMILION,
    legend_above,
    new_figure,
    require_matplotlib,
    tidy,
)
from spacevrp.problems.errors import FormatError
from spacevrp.problems.variants import parse_variant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Small pictures side by side, at the most.
_MOST_COLUMNS = 4


# ------------------------------------------------------------------------------ gap against seconds

FRONTIER_FIELDS = ("problem", "size", "limit", "solver", "instances", "solved", "gap", "seconds")
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
    columns = sizes if full and sizes > 1 else min(_MOST_COLUMNS, len(panels))
    lines = math.ceil(len(panels) / columns)
    figure = new_figure(3.5 * columns + 0.4, 0.8 + 2.9 * lines)
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True).flatten()
    for axes, panel in zip(grid, panels, strict=False):
        _draw_panel(axes, [row for row in held if (row["problem"], row["size"]) == panel])
        axes.set_title(f"{panel[0]}, {panel[1]} customers", fontsize=10, color=INK)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    for axes in grid[::columns]:
        axes.set_ylabel("gap to the best known, percent", fontsize=8)
    legend_above(figure, list(grid[: len(panels)]))
    if any(row["solved"] < row["instances"] for row in held):
        figure.supxlabel("hollow: not all instances solved in time", fontsize=8, color=INK)
    return figure


def _draw_panel(axes: Axes, rows: Rows) -> None:
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


# ----------------------------------------------------------------------------------- gap by variant

_LINE = 0.155  # inches a variant
_SIDES = (("symmetric", False), ("asymmetric", True))


def plot_gaps(rows: Rows, gap: str | None = None) -> Figure:
    """Symmetric variants on the left, asymmetric ones on the right, in the order of the rows.

    Parameters
    ----------
    gap
        What the bars show: ``oracle``, the gap to the paper-protocol oracle, or ``best``, to the
        best known cost. By default the first of them that the rows have. The other one, where
        there is one, is a mark.
    """
    require_matplotlib()
    gap = choose_gap(gap, lambda name: any(row[GAPS[name]] is not None for row in rows), "some")
    sides = []
    for label, asymmetric in _SIDES:
        some = [r for r in rows if parse_variant(r["problem"]).features.asymmetric == asymmetric]
        if some:
            sides.append((label, some))
    longest = max(len(some) for _, some in sides)
    figure = new_figure(5.6 * len(sides), max(2.4, 1.3 + _LINE * longest))
    grid = figure.subplots(1, len(sides), squeeze=False)[0]
    for axes, (label, some) in zip(grid, sides, strict=True):
        _draw_bars(axes, some, gap)
        axes.set_title(f"{label} ({len(some)} variants)", fontsize=10, color=INK)
        axes.set_ylim(longest - 0.4, -0.6)  # the first on top; bars of the same height
    legend_above(figure, list(grid), first=_bar_label(gap))
    return figure


def _bar_label(gap: str) -> str:
    return f"ours, to {TO[gap]}"


def _draw_bars(axes: Axes, rows: Rows, gap: str) -> None:
    places = range(len(rows))
    other = next(name for name in GAPS if name != gap)
    bars = [row[GAPS[gap]] for row in rows]
    axes.barh(
        list(places),
        [0.0 if value is None else value for value in bars],
        height=0.7,
        color=BLUE,
        label=_bar_label(gap),
    )
    for place, row in zip(places, rows, strict=True):
        if all(row[name] is None for name in GAPS.values()):
            axes.text(0.5, place, "no reference", fontsize=5.5, va="center", color=INK)
    for name, marker, face, text in (
        (GAPS[other], "|", INK, f"ours, to {TO[other]}"),
        ("paper_gap", "D", VERMILION, "the paper's, to its oracle"),
    ):
        known = [
            (row[name], p) for p, row in zip(places, rows, strict=True) if row[name] is not None
        ]
        if known:
            values, heights = zip(*known, strict=True)
            axes.scatter(
                values,
                heights,
                marker=marker,
                s=46 if marker == "|" else 13,
                color=face,
                linewidth=1.6 if marker == "|" else 0.4,
                edgecolor=None if marker == "|" else "white",
                label=text,
                zorder=3,
            )
    axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.set_yticks(list(places), [row["problem"] for row in rows])
    axes.set_xlabel(f"gap to {TO[gap]} in percent; below zero is better", fontsize=9)
    tidy(axes)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", labelsize=6.5, length=0)


# --------------------------------------------------------------------- symmetric against asymmetric

_MOST_NAMED = 8  # the furthest dots from the middle carry their name


def pairs(rows: Rows, field: str) -> dict[str, tuple[float, float]]:
    """Variant -> its figure and that of its asymmetric form, where there are both."""
    values = {row["problem"]: row[field] for row in rows}
    return {
        name: (values[name], values[f"A{name}"])
        for name in values
        if values[name] is not None and values.get(f"A{name}") is not None
    }


def plot_symmetry(rows: Rows, gap: str | None = None) -> Figure:
    """Ours and the paper's, each variant's two dots joined by a thin line.

    Parameters
    ----------
    gap
        Of ours: ``oracle``, the gap to the paper-protocol oracle, or ``best``, to the best known
        cost; by default the first of them that the rows have. The paper's are always to its own
        oracle.
    """
    require_matplotlib()
    what = "some variant and its asymmetric form"
    gap = choose_gap(gap, lambda name: bool(pairs(rows, GAPS[name])), what)
    ours, theirs = pairs(rows, GAPS[gap]), pairs(rows, "paper_gap")
    theirs = {name: theirs[name] for name in ours if name in theirs}
    figure = new_figure(6.4, 6.4)
    axes = figure.add_subplot()
    every = [*ours.values(), *theirs.values()]
    low = min(min(point) for point in every)
    high = max(max(point) for point in every)
    margin = 0.06 * max(high - low, 1.0)
    ends = (min(low, 0.0) - margin, max(high, 0.0) + margin)
    axes.plot(ends, ends, color=QUIET, linewidth=1.0, linestyle=(0, (5, 4)), zorder=1)
    axes.axhline(0.0, color=QUIET, linewidth=0.8, zorder=1)
    axes.axvline(0.0, color=QUIET, linewidth=0.8, zorder=1)
    for name, point in theirs.items():
        axes.plot(*zip(ours[name], point, strict=True), color=QUIET, linewidth=0.5, zorder=1)
    _scatter(axes, theirs, VERMILION, f"the paper's, to its oracle ({len(theirs)})", hollow=True)
    _scatter(axes, ours, BLUE, f"ours, to {TO[gap]} ({len(ours)})", hollow=False)
    _name_outliers(axes, ours)
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_aspect("equal")
    axes.set_xlabel(f"symmetric: gap to {TO[gap]} in percent", fontsize=9)
    axes.set_ylabel(f"its asymmetric form: gap to {TO[gap]} in percent", fontsize=9)
    axes.set_title("one dot a variant; on the dashed line both forms do alike", fontsize=10)
    legend_above(figure, [axes])  # dots may lie anywhere
    tidy(axes)
    return figure


def _scatter(
    axes: Axes, points: Mapping[str, tuple[float, float]], colour: str, label: str, *, hollow: bool
) -> None:
    if points:
        across, upwards = zip(*points.values(), strict=True)
        axes.scatter(
            across,
            upwards,
            s=26,
            marker="D" if hollow else "o",
            facecolor="none" if hollow else colour,
            edgecolor=colour if hollow else "white",
            linewidth=1.0 if hollow else 0.6,
            label=label,
            zorder=2 if hollow else 3,
        )


def _name_outliers(axes: Axes, points: Mapping[str, tuple[float, float]]) -> None:
    middle = [sorted(values)[len(points) // 2] for values in zip(*points.values(), strict=True)]

    most = max(point[0] for point in points.values())
    rim = most - 0.2 * (most - min(point[0] for point in points.values()))

    def distance(name: str) -> float:
        x, y = points[name]
        return float((x - middle[0]) ** 2 + (y - middle[1]) ** 2)

    for name in sorted(points, key=distance, reverse=True)[:_MOST_NAMED]:
        to_the_left = points[name][0] > rim  # a name to the right would leave the picture
        axes.annotate(
            name,
            points[name],
            (-5 if to_the_left else 5, 4),
            textcoords="offset points",
            ha="right" if to_the_left else "left",
            fontsize=6.5,
            color=INK,
        )


# ------------------------------------------------------------------------- curves of a training run

LOG = "log.csv"
_COST, _BEST = "cost/", "best/"

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
    rows = math.ceil(count / _MOST_COLUMNS)
    figure = new_figure(3.4 * _MOST_COLUMNS, 2.3 * rows)
    grid = figure.subplots(rows, _MOST_COLUMNS, squeeze=False).flatten()
    step = columns["step"]
    for axes, problem in zip(grid, problems, strict=False):
        _draw_curve(axes, step, columns[_COST + problem], BLUE, "mean")
        if _BEST + problem in columns:
            _draw_curve(axes, step, columns[_BEST + problem], SKY, "best of an instance")
        axes.set_title(f"{problem}: cost", fontsize=10)
    norm, rate = grid[len(problems)], grid[len(problems) + 1]
    _draw_curve(norm, step, columns["gradient_norm"], VERMILION, "norm")
    norm.set_title("gradient norm", fontsize=10)
    _draw_curve(rate, step, columns["rate_factor"], VERMILION, "factor")
    rate.set_ylim(bottom=0.0)
    rate.set_title("factor of the rates", fontsize=10)
    for axes in grid[count:]:
        axes.set_axis_off()
    for axes in grid[max(0, count - _MOST_COLUMNS) : count]:
        axes.set_xlabel("steps", fontsize=8)
    if problems:
        grid[0].legend(fontsize=7, frameon=False)
    return figure


def _draw_curve(
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

"""Symmetric against asymmetric: one dot a variant and its asymmetric form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spacevrp.plots.records import GAPS, TO, Rows, choose_gap
from spacevrp.plots.style import (
    BLUE,
    INK,
    QUIET,
    VERMILION,
    legend_above,
    new_figure,
    require_matplotlib,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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

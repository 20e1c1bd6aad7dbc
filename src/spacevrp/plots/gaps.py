"""Gap by variant: a bar each, the paper's figure and the other gap as marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spacevrp.plots.records import GAPS, TO, Rows, choose_gap
from spacevrp.plots.style import (
    BLUE,
    INK,
    VERMILION,
    legend_above,
    new_figure,
    require_matplotlib,
    tidy,
)
from spacevrp.problems.variants import parse_variant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        _draw(axes, some, gap)
        axes.set_title(f"{label} ({len(some)} variants)", fontsize=10, color=INK)
        axes.set_ylim(longest - 0.4, -0.6)  # the first on top; bars of the same height
    legend_above(figure, list(grid), first=_bar_label(gap))
    return figure


def _bar_label(gap: str) -> str:
    return f"ours, to {TO[gap]}"


def _draw(axes: Axes, rows: Rows, gap: str) -> None:
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

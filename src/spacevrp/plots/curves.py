"""A line of gaps against seconds, hollow where not every instance was solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spacevrp.plots.style import BLUE, GREEN, INK, ORANGE, SKY, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colour and mark; marks differ as well as colours.
CLASSICAL = {"pyvrp": (BLUE, "s"), "ortools": (GREEN, "^"), "vroom": (ORANGE, "D")}
OTHER = (SKY, "P")


def draw_curve(
    axes: Axes,
    rows: Sequence[Mapping[str, Any]],
    look: tuple[str, str],
    *,
    bold: bool,
    size: float,
) -> None:
    """One solver, in the order of the rows; ``look`` is a colour and a marker."""
    colour, marker = look
    axes.plot(
        [row["seconds"] for row in rows],
        [row["gap"] for row in rows],
        color=colour,
        linewidth=2.0 if bold else 1.25,
        marker=marker,
        markersize=size,
        label=rows[0]["solver"],
        zorder=3 if bold else 2,
    )
    for row in rows:
        if row["solved"] < row["instances"]:  # not the same thing
            axes.plot(
                row["seconds"],
                row["gap"],
                marker=marker,
                markersize=size - 2,
                markeredgewidth=0.0,
                color="white",
                zorder=4,
            )


def finish_axes(axes: Axes, font: int) -> None:
    """Seconds on a logarithmic scale, gaps upwards."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("seconds an instance", fontsize=font)
    axes.set_ylabel("gap to the best known, percent", fontsize=font)
    tidy(axes)


def explain_hollow(figure: Figure, rows: Sequence[Mapping[str, Any]]) -> None:
    """What hollow marks mean, where there are any."""
    if any(row["solved"] < row["instances"] for row in rows):
        figure.supxlabel("hollow: not all instances solved in time", fontsize=8, color=INK)

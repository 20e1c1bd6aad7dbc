"""A line of gaps against seconds, hollow where not every instance was solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

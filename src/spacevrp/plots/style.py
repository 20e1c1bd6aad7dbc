"""Colours and axes that the pictures of measurements share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from spacevrp.problems.errors import UnsupportedError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of Okabe and Ito: apart for every kind of colour vision, and in grey by lightness.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, INK, QUIET = "#56B4E9", "#CC79A7", "#2f3437", "#9aa3a8"
RED = "#d0021b"  # what is late, unserved or against the rules
_LONGEST_LINE, _LONGEST_TITLE = 100, 66
SEPARATOR = "  ·  "  # of the parts of a title


def require_matplotlib() -> None:
    """Raise an error that says how to get matplotlib, if it is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UnsupportedError(
            "plots need matplotlib, which is not installed: pip install 'spacevrp[plots]'"
        ) from None


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or new ones of that size."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def finish_title(axes: Axes, title: str, warnings: Sequence[str]) -> None:
    """The title; what is wrong with a plan stands below it in red."""
    lines = [part for line in warnings for part in wrap(line, _LONGEST_LINE, max_lines=2)]
    looks: dict[str, Any] = {"fontsize": 10.5, "color": INK, "parse_math": False}
    axes.set_title(_in_lines(title), pad=8 + 12 * len(lines), **looks)
    axes.annotate(
        "\n".join(lines),
        (0.5, 1.0),
        xycoords="axes fraction",
        xytext=(0, 5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=8.5,
        color=RED,
        parse_math=False,
    )


def _in_lines(title: str) -> str:
    """A long title in several lines, broken between its parts.

    Labels and legends push the axes to one side, and a long line would leave the picture there.
    """
    parts, lines = title.split(SEPARATOR), [""]
    for part in parts:
        longer = f"{lines[-1]}{SEPARATOR}{part}" if lines[-1] else part
        if len(longer) <= _LONGEST_TITLE or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(part)
    return "\n".join(lines)


def new_figure(width: float, height: float) -> Figure:
    """A figure without pyplot: no window, no display, no state left behind."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a picture file."""
    figure.savefig(path, dpi=150)


def legend_above(figure: Figure, panels: Sequence[Axes], first: str | None = None) -> None:
    """One legend for several panels, above them all; ``first`` is the label that comes first."""
    handles: dict[str, Any] = {} if first is None else {first: None}
    for axes in panels:
        for handle, text in zip(*axes.get_legend_handles_labels(), strict=True):
            handles[text] = handles.get(text) or handle
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside upper center",
        ncols=len(handles),
        frameon=False,
        fontsize=9,
    )


def tidy(axes: Axes) -> None:
    """A light grid, and no frame where there is no scale."""
    axes.grid(color=QUIET, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(QUIET)
    axes.tick_params(labelsize=8, color=QUIET)

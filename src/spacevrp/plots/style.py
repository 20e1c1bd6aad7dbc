"""Colours and axes that the pictures of measurements share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.warning import warn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of Okabe and Ito: apart for every kind of colour vision, and in grey by lightness.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, INK, QUIET = "#56B4E9", "#CC79A7", "#2f3437", "#9aa3a8"
RED = "#d0021b"  # what is late, unserved or against the rules
_LONGEST_LINE, _LONGEST_TITLE = 100, 66
SEPARATOR = "  ·  "  # of the parts of a title
_NO_FONT = (
    "pictures: no installed font has some letters of these names, which are written as \\uXXXX; "
    "install one that has them, such as Noto Sans CJK, or draw an .html page"
)


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


@cache
def _letters(font: str) -> frozenset[int]:
    """What a font file can write."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(font).get_charmap())
    except (OSError, RuntimeError):  # a kind of font that matplotlib lists and cannot read
        return frozenset()


@cache
def _other_font(letter: str) -> str | None:
    """An installed font that has the letter; matplotlib's last resort writes boxes alone."""
    from matplotlib.font_manager import fontManager

    fonts = sorted(fontManager.ttflist, key=lambda font: ("Sans" not in font.name, font.name))
    held = (font for font in fonts if not font.name.startswith("Last Resort"))
    return next((font.name for font in held if ord(letter) in _letters(font.fname)), None)


def _foreign(text: str) -> dict[str, str | None]:
    """The letters that the usual font lacks, and the font that each is taken from."""
    from matplotlib.font_manager import FontProperties, findfont

    usual = _letters(findfont(FontProperties()))
    lacking = dict.fromkeys(one for one in text if one.isprintable() and ord(one) not in usual)
    return {letter: _other_font(letter) for letter in lacking}


def families(text: str) -> list[str]:
    """The fonts that a text is written in: the usual ones, then others for what these lack."""
    from matplotlib.font_manager import FontProperties

    others = filter(None, _foreign(text).values())
    return list(dict.fromkeys([*FontProperties().get_family(), *others]))


def drawable(text: str) -> str:
    r"""The text; letters that no installed font has as \uXXXX, where a box would say nothing."""
    missing = [letter for letter, font in _foreign(text).items() if font is None]
    for letter in missing:
        text = text.replace(letter, letter.encode("ascii", "backslashreplace").decode())
    if missing:  # the same words for all, so that they are shown once
        warn(_NO_FONT, UserWarning)
    return text


def write_names(axes: Axes) -> None:
    """Names of the user's are no formulas, and fonts that have their letters write them."""
    from matplotlib.text import Text

    for text in axes.findobj(Text):
        written: Any = text
        written.set_parse_math(False)
        written.set_text(drawable(written.get_text()))
        written.set_fontfamily(families(written.get_text()))


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

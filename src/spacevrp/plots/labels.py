"""Names, numbers and arrow heads on a map, placed when it is drawn so that none covers another.

Imports matplotlib; the other modules import this one when a picture is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Polygon
from matplotlib.text import Text
from numpy.typing import NDArray

from spacevrp.plots.style import families

Array = NDArray[np.float64]

# Where a name may stand beside its node: right, left, above, below, then the corners.
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_MANY = 120  # nodes
_HEAD = 7.5  # length of an arrow head in points
_BETWEEN_HEADS = 85.0  # points of a route from one arrow head to the next


@dataclass(frozen=True)
class Line:
    """A route on the map: points (K, 2) in its direction, its colour and number."""

    points: Array
    colour: str
    number: int | None = None


@dataclass(frozen=True)
class Name:
    """A name beside a node at (x, y); ``radius`` of the node's mark in points."""

    text: str
    point: tuple[float, float]
    radius: float
    bold: bool = False


class Annotations(Artist):
    """Arrow heads, route numbers and names; what does not fit is left out.

    Whether it fits depends on the size of the picture, so all is placed again at each drawing.
    None covers what is ``kept``, such as the scale.
    ``boxes`` has what was placed last: a text and its box (left, low, right, high) in pixels.
    """

    def __init__(
        self,
        lines: Sequence[Line],
        names: Sequence[Name],
        marks: Array,
        radii: Array,
        size: float,
        kept: Sequence[Artist] = (),
    ) -> None:
        super().__init__()
        self.kept = list(kept)
        self.lines, self.names, self.size = list(lines), list(names), size
        self.fonts = families("".join(name.text for name in names))
        self.marks, self.radii = marks, radii  # (N, 2) in data, (N,) in points
        self.boxes: list[tuple[str, tuple[float, ...]]] = []
        self.heads = 0
        self.set_zorder(6)
        self.set_in_layout(False)

    def draw(self, renderer: Any) -> None:
        """Place everything and draw it: heads, then numbers, then names in their order."""
        if not self.get_visible():
            return
        pixel = renderer.points_to_pixels(1.0)
        axes: Any = self.axes
        canvas = _Canvas(axes, renderer, pixel, self.marks, self.radii)
        canvas.fonts = self.fonts
        boxes = [artist.get_window_extent(renderer).extents for artist in self.kept]
        canvas.taken = np.vstack([canvas.taken, *boxes])
        # Many names would hide the routes: they stay off the lines then.
        canvas.most_crossed = 1 if len(self.marks) <= _MANY else 0
        paths = [axes.transData.transform(line.points) for line in self.lines]
        self.heads = 0
        for line, path in zip(self.lines, paths, strict=True):
            for tip, way in _heads(path, pixel):
                self._draw_head(renderer, tip, way, line.colour, pixel)
        for line, path in zip(self.lines, paths, strict=True):
            if line.number is not None:
                canvas.write_number(line, path, self.size + 0.5)
        segments = np.concatenate(
            [np.stack([p[:-1], p[1:]], axis=1) for p in paths if len(p) > 1]
            or [np.zeros((0, 2, 2))]
        )  # (S, 2, 2)
        for name in self.names:
            canvas.write_name(name, self.size, segments)
        self.boxes = canvas.placed

    def _draw_head(self, renderer: Any, tip: Array, way: Array, colour: str, pixel: float) -> None:
        side = np.array([-way[1], way[0]])
        long, wide = _HEAD * pixel, 0.4 * _HEAD * pixel
        corners = np.array([tip, tip - long * way + wide * side, tip - long * way - wide * side])
        head = Polygon(corners, closed=True, facecolor=colour, edgecolor="white", linewidth=0.4)
        axes: Any = self.axes
        head.set_figure(axes.get_figure())
        head.set_clip_box(axes.bbox)
        head.draw(renderer)
        self.heads += 1


def _heads(path: Array, pixel: float) -> list[tuple[Array, Array]]:
    """Tips and directions: in the middle of arcs that are long enough, not on every one."""
    legs = np.diff(path, axis=0)
    lengths = np.hypot(legs[:, 0], legs[:, 1]) / pixel
    found: list[tuple[Array, Array]] = []
    since = 0.6 * _BETWEEN_HEADS  # a short route has one, too
    longest = int(lengths.argmax()) if len(lengths) else 0
    for number, (start, leg, length) in enumerate(zip(path, legs, lengths, strict=False)):
        since += length
        enough = since >= _BETWEEN_HEADS and length >= 2.2 * _HEAD
        only = not found and number == longest and length >= 1.6 * _HEAD
        if (enough or only) and length > 0:
            way = leg / (length * pixel)
            found.append((start + 0.5 * leg + 0.5 * _HEAD * pixel * way, way))
            since = 0.0
    return found


class _Canvas:
    """Boxes that are taken, in pixels: of the nodes' marks and of the texts placed so far."""

    def __init__(self, axes: Any, renderer: Any, pixel: float, marks: Array, radii: Array) -> None:
        self.axes, self.renderer, self.pixel = axes, renderer, pixel
        centres = axes.transData.transform(marks) if len(marks) else np.zeros((0, 2))
        reach = (radii * pixel)[:, np.newaxis]
        self.taken = np.hstack([centres - reach, centres + reach])  # (N + texts, 4)
        self.texts = np.zeros((0, 4))
        self.most_crossed, self.fonts = 1, ["sans-serif"]
        self.placed: list[tuple[str, tuple[float, ...]]] = []
        box = axes.get_window_extent(renderer)
        self.inside = np.array([box.x0, box.y0, box.x1, box.y1])

    def write_number(self, line: Line, path: Array, size: float) -> None:
        """The number of a route in a disc on one of its arcs, the longest first."""
        text = str(line.number)
        width, height = self._measure(text, size, "bold")
        half = 0.5 * np.array([max(width, height), height]) + 2.0 * self.pixel
        legs = np.diff(path, axis=0)
        if not len(legs):
            return
        lengths = np.hypot(legs[:, 0], legs[:, 1])
        order = np.argsort(-lengths, kind="stable")[:12]
        middles = np.concatenate(
            [path[:-1][order] + share * legs[order] for share in (0.5, 0.3, 0.7)]
        )
        boxes = np.hstack([middles - half, middles + half])
        free = np.flatnonzero(self._free(boxes, self.taken))
        if not len(free):  # it may cover nodes, though not another number
            free = np.flatnonzero(self._free(boxes, self.texts))
        if len(free):
            at = middles[free[0]]
            shape: dict[str, Any] = {
                "boxstyle": "round,pad=0.25,rounding_size=0.6",
                "fc": line.colour,
            }
            shape |= {"ec": "white", "lw": 0.6}
            self._write(text, at, size, boxes[free[0]], color="white", weight="bold", bbox=shape)

    def write_name(self, name: Name, size: float, segments: Array) -> None:
        """A name on the side of its node where it is free and covers the fewest arcs."""
        weight = "bold" if name.bold else "normal"
        width, height = self._measure(name.text, size, weight)
        half = 0.5 * np.array([width, height])
        node = self.axes.transData.transform(np.array([name.point]))[0]
        sides = np.array(_SIDES, dtype=float)
        gap = np.where(np.abs(sides).sum(axis=1, keepdims=True) > 1, 0.7, 1.0)
        away = (name.radius + 1.5) * self.pixel * gap
        centres = node + sides * (half + away)
        boxes = np.hstack([centres - half, centres + half])
        low, high = (
            boxes[:, :2].min(axis=0),
            boxes[:, 2:].max(axis=0),
        )  # what is further off is free
        taken = self.taken
        taken = taken[((taken[:, :2] < high) & (taken[:, 2:] > low)).all(axis=1)]
        free = np.flatnonzero(self._free(boxes, taken))
        if not len(free):
            return
        ends = segments[
            ((segments.min(axis=1) <= high) & (segments.max(axis=1) >= low)).all(axis=1)
        ]
        crossed = _crossings(boxes[free], ends)
        if crossed.min() > self.most_crossed:
            return
        best = free[int(crossed.argmin())]
        self._write(name.text, centres[best], size, boxes[best], color="#2f3437", weight=weight)

    def _free(self, boxes: Array, taken: Array) -> NDArray[np.bool_]:
        """Which boxes lie within the axes and touch none that is taken."""
        low = (boxes[:, np.newaxis, :2] < taken[np.newaxis, :, 2:]).all(axis=-1)
        high = (boxes[:, np.newaxis, 2:] > taken[np.newaxis, :, :2]).all(axis=-1)
        within = (boxes[:, :2] >= self.inside[:2]).all(axis=1)
        within &= (boxes[:, 2:] <= self.inside[2:]).all(axis=1)
        touched: NDArray[np.bool_] = np.logical_and(low, high)
        return np.asarray(within & ~touched.any(axis=1))

    def _measure(self, text: str, size: float, weight: str) -> tuple[float, float]:
        font = FontProperties(family=self.fonts, size=size, weight=weight)
        width, height, _ = self.renderer.get_text_width_height_descent(text, font, ismath=False)
        return width, height

    def _write(self, text: str, at: Array, size: float, box: Array, **looks: Any) -> None:
        written = Text(
            at[0], at[1], text, fontsize=size, ha="center", va="center", parse_math=False, **looks
        )
        written.set_fontfamily(self.fonts)
        written.set_figure(self.axes.get_figure())
        written.draw(self.renderer)
        self.taken = np.vstack([self.taken, box])
        self.texts = np.vstack([self.texts, box])
        self.placed.append((text, tuple(float(side) for side in box)))


def _crossings(boxes: Array, segments: Array) -> NDArray[np.int64]:
    """How many segments (S, 2, 2) pass through each box (B, 4), clipped axis by axis."""
    start, way = segments[:, 0], segments[:, 1] - segments[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        low = (boxes[:, np.newaxis, :2] - start) / way  # (B, S, 2)
        high = (boxes[:, np.newaxis, 2:] - start) / way
    # Along an axis on which a segment does not move it is within the slab for ever, or never.
    beside = (boxes[:, np.newaxis, :2] <= start) & (start <= boxes[:, np.newaxis, 2:])
    still = np.broadcast_to(way == 0, low.shape)
    enter = np.where(still, np.where(beside, -np.inf, np.inf), np.minimum(low, high))
    leave = np.where(still, np.where(beside, np.inf, -np.inf), np.maximum(low, high))
    first = np.maximum(enter.max(axis=-1), 0.0)
    return np.asarray((first <= np.minimum(leave.min(axis=-1), 1.0)).sum(axis=1))

"""Charts of routes: when each stop happens beside its window, what is on board, what legs cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from spacevrp.plots.content import RouteLook, headline, looks_of, short, unserved_nodes, verdict
from spacevrp.plots.style import INK, QUIET, RED, finish_title, require_matplotlib
from spacevrp.problems.clock import Clock
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan import RoutePlan, Stop, node_id
from spacevrp.problems.plan_documents import places_of
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WINDOW, _EDGE = "#e1e7ea", "#aab4ba"
_WIDTH = 9.0
# Inches of a stop's row; with more rows than these a route gets one lane for all its stops.
_ROW, _MOST_ROWS = 0.2, 90
_LANE = 0.42
_TALLEST = 60.0
_LETTER = 0.055  # inches of a letter in a lane


# ---------------------------------------------------------------------------------------- schedule


def schedule_size(solution: Solution) -> tuple[float, float]:
    """Width and height in inches at which a schedule can be read."""
    rows = _count_rows(solution)
    inches = _ROW * rows if rows <= _MOST_ROWS else _LANE * _count_lanes(solution)
    return _WIDTH, min(1.6 + inches, _TALLEST)


def plot_schedule(solution: Solution, ax: Axes | None = None) -> Axes:
    """A timeline of each vehicle: its stops with their windows, the waiting and the service.

    Windows are grey, waiting is hatched, service is solid, travel a line; a red cross is a late
    arrival, and unserved stops stand at the end with their windows. Up to 90 rows every stop has
    its own; larger plans have one lane for each vehicle, the windows in it below one another.
    """
    plan, problem = solution.plan, solution.plan.problem
    axes = _new_axes(ax, schedule_size(solution))
    times = [time for route in plan.routes for s in route.stops for time in (s.reached, s.left)]
    if not all(map(math.isfinite, times)):
        raise UnsupportedError("schedule: a route travels an arc that does not exist")
    span = (min(times, default=0.0), max(times, default=1.0))
    if _count_rows(solution) <= _MOST_ROWS:
        _draw_rows(axes, solution, span)
    else:
        _draw_time_lanes(axes, solution, span)
    axes.margins(x=0.02)
    _format_times(axes, problem.clock)
    _explain(axes)
    _finish(axes, solution, "schedule")
    return axes


def _count_rows(solution: Solution) -> int:
    plan = solution.plan
    unserved = unserved_nodes(solution)
    return sum(len(route.visits) + 1 for route in plan.routes) + len(unserved) + bool(unserved)


def _count_lanes(solution: Solution) -> int:
    return len(solution.plan.routes) + bool(unserved_nodes(solution))


def _draw_rows(axes: Axes, solution: Solution, span: tuple[float, float]) -> None:
    """A heading for each vehicle, and below it a row for each stop."""
    problem = solution.plan.problem
    row, ticks, labels = 0, [], []

    def head(text: str, colour: str) -> None:
        axes.annotate(
            text,
            (0.0, row),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            weight="bold",
            color=colour,
            parse_math=False,
            zorder=5,
        )

    for look, route in zip(looks_of(solution), solution.plan.routes, strict=True):
        head(f"route {look.label}", look.colour)
        before = (route.stops[0].left, row)
        for stop in route.visits:
            row += 1
            _draw_window(axes, (stop.opening, stop.closing), row, 0.72, span)
            _draw_travel(axes, look, before, (stop.reached, row))
            _draw_stop(axes, problem, stop, row, 0.4, look.colour)
            ticks.append(row)
            labels.append(short(stop.id))
            before = (stop.left, row)
        end = route.stops[-1]
        if end.kind == "end":
            _draw_travel(axes, look, before, (end.reached, row + 0.5))
            _draw_end(axes, problem, end, row + 0.5, look.colour)
        row += 1
    unserved = unserved_nodes(solution)
    if unserved:
        head(f"unserved ({len(unserved)})", RED)
        for node in unserved:
            row += 1
            opening = _draw_window(axes, problem.windows[node], row, 0.72, span)
            axes.plot([opening], [row], marker="X", markersize=7, color=RED, zorder=4)
            ticks.append(row)
            labels.append(short(node_id(problem, node)))
        row += 1
    axes.set_yticks(ticks, labels, fontsize=7)
    axes.set_ylim(row - 0.4, -0.8)


def _draw_time_lanes(axes: Axes, solution: Solution, span: tuple[float, float]) -> None:
    """One lane for each vehicle; the windows of its stops lie below one another in it."""
    problem = solution.plan.problem
    for lane, look, route in _lanes(axes, solution):
        stops = route.stops
        _draw_travel(axes, look, (stops[0].left, lane), (stops[-1].reached, lane))
        for stop, height in _stacked(route.visits):
            _draw_window(axes, (stop.opening, stop.closing), lane + height, 0.5 / len(stops), span)
            _draw_stop(axes, problem, stop, lane, 0.32, look.colour)
        if stops[-1].kind == "end":
            _draw_end(axes, problem, stops[-1], lane, look.colour)
    unserved = unserved_nodes(solution)
    for node, height in _stacked(unserved):
        at = len(solution.plan.routes)
        opening = _draw_window(axes, problem.windows[node], at + height, 0.02, span)
        axes.plot([opening], [at], marker="X", markersize=6, color=RED, zorder=4)


def _lanes(axes: Axes, solution: Solution) -> Iterator[tuple[int, RouteLook, RoutePlan]]:
    """Number, look and route of each lane; names them on the left."""
    looks, routes = looks_of(solution), solution.plan.routes
    labels = [look.label for look in looks]
    unserved = unserved_nodes(solution)
    if unserved:
        labels.append(f"unserved ({len(unserved)})")
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    for tick, look in zip(axes.get_yticklabels(), looks, strict=False):
        tick.set_color(look.colour)
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)
    if unserved:
        axes.get_yticklabels()[-1].set_color(RED)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    yield from zip(range(len(looks)), looks, routes, strict=True)


def _stacked(items: Any) -> Iterator[tuple[Any, float]]:
    """Items with their places in the lower part of a lane, from above."""
    for position, item in enumerate(items):
        yield item, 0.2 + 0.22 * (position + 0.5) / len(items)


def _draw_window(
    axes: Axes, window: Any, row: float, height: float, span: tuple[float, float]
) -> float:
    """The window, as far as the chart goes; returns where it begins in the chart.

    None is drawn where it is always open.
    """
    opening, closing = float(window[0]), float(window[1])
    start = max(opening, span[0])
    if opening <= span[0] and closing >= span[1] and math.isinf(closing):
        return start
    width = max(min(closing, max(span[1], opening)) - start, 0.0)
    axes.barh(
        row,
        width,
        left=start,
        height=height,
        color=_WINDOW,
        edgecolor=_EDGE,
        linewidth=0.4,
        zorder=1,
    )
    return start


def _draw_travel(
    axes: Axes, look: RouteLook, start: tuple[float, float], end: tuple[float, float]
) -> None:
    style: Any = (0, look.dashes) if look.dashes else "-"
    ends = zip(start, end, strict=True)
    axes.plot(*ends, color=look.colour, linewidth=0.8, linestyle=style, zorder=2)


def _draw_stop(
    axes: Axes, problem: Problem, stop: Stop, row: float, height: float, colour: str
) -> None:
    if stop.waiting > 0:
        axes.barh(
            row,
            stop.waiting,
            left=stop.reached,
            height=height,
            facecolor="white",
            edgecolor=colour,
            hatch="/////",
            linewidth=0.4,
            zorder=3,
        )
    if stop.service > 0:
        begin = stop.reached + stop.waiting
        looks: dict[str, Any] = {
            "color": colour,
            "edgecolor": "white",
            "linewidth": 0.3,
            "zorder": 3,
        }
        axes.barh(row, stop.service, left=begin, height=height, **looks)
    late = stop.late > problem.time_tolerance
    mark, shade = ("x", RED) if late else ("|", colour)
    axes.plot([stop.reached], [row], marker=mark, markersize=6, color=shade, zorder=4)


def _draw_end(axes: Axes, problem: Problem, end: Stop, row: float, colour: str) -> None:
    """Back at the depot."""
    shade = RED if end.late > problem.time_tolerance else colour
    axes.plot([end.reached], [row], marker="s", markersize=4, color=shade, zorder=4)


def _explain(axes: Axes) -> None:
    """What the marks mean, below the chart."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure: Any = axes.get_figure()
    line: dict[str, Any] = {"color": INK, "linestyle": "none"}
    handles: dict[str, Any] = {
        "window": Patch(facecolor=_WINDOW, edgecolor=_EDGE),
        "waiting": Patch(facecolor="white", edgecolor=INK, hatch="/////", linewidth=0.4),
        "service": Patch(facecolor=INK),
        "travel": Line2D([], [], color=INK, linewidth=0.8),
        "back at the depot": Line2D([], [], marker="s", markersize=4, **line),
        "late": Line2D([], [], marker="x", markersize=6, **(line | {"color": RED})),
    }
    axes.legend(
        list(handles.values()),
        list(handles),
        loc="upper center",
        bbox_to_anchor=(0.5, -0.45 / max(figure.get_figheight() - 1.2, 1.0)),
        ncols=len(handles),
        frameon=False,
        fontsize=7.5,
    )


# -------------------------------------------------------------------------------------------- bars


def bars_size(solution: Solution) -> tuple[float, float]:
    """Width and height in inches at which the bars can be read."""
    return _WIDTH, min(1.4 + _LANE * max(_count_lanes(solution), 1), _TALLEST)


def plot_bars(solution: Solution, ax: Axes | None = None) -> Axes:
    """A bar for each route as long as it costs, cut at its stops; needs no coordinates."""
    plan = solution.plan
    axes = _new_axes(ax, bars_size(solution))
    longest = max((r.cost for r in plan.routes if math.isfinite(r.cost)), default=0.0) or 1.0
    figure: Any = axes.get_figure()
    inch = (figure.get_figwidth() - 3.0) / longest
    for lane, look, route in _lanes(axes, solution):
        ends = list(accumulate(_finite(stop.leg_cost) for stop in route.stops))
        axes.barh(lane, ends[-1], height=0.6, color=look.colour, zorder=2)
        for stop, start, end in zip(route.stops[1:], ends, ends[1:], strict=False):
            axes.plot([end, end], [lane - 0.3, lane + 0.3], color="white", linewidth=1.0, zorder=3)
            text = short(stop.id)
            if (end - start) * inch > _LETTER * (len(text) + 1):
                _write(axes, end - 0.03 / inch, lane, text, ha="right", color="white")
            if not math.isfinite(stop.leg_cost):
                axes.plot([end], [lane], marker="x", markersize=8, color=RED, zorder=4)
    unserved = unserved_nodes(solution)
    if unserved:
        names = ", ".join(short(plan.id_of(node)) for node in unserved)
        room = int(longest * inch / _LETTER)
        text = names if len(names) <= room else names[: room - 1] + "…"
        _write(axes, 0.0, len(plan.routes), text, ha="left", color=RED)
    axes.set_xlim(0.0, 1.03 * longest)
    axes.set_xlabel("cost of the route up to each stop", fontsize=9)
    mapless = places_of(plan.problem) is None
    _finish(axes, solution, "no coordinates: routes as bars" if mapless else "routes as bars")
    return axes


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _write(axes: Axes, x: float, y: float, text: str, **looks: Any) -> None:
    axes.text(x, y, text, fontsize=6.5, va="center", parse_math=False, zorder=4, **looks)


# ------------------------------------------------------------------------------------------- loads


def plot_load(solution: Solution, ax: Axes | None = None) -> Axes:
    """What is on board after each stop, one line a route, below the capacity."""
    plan, problem = solution.plan, solution.plan.problem
    axes = _new_axes(ax, (7.0, 4.2))
    from matplotlib.ticker import MaxNLocator

    many = len(plan.routes) > 12
    for look, route in zip(looks_of(solution), plan.routes, strict=True):
        loads = [stop.load for stop in route.stops]
        axes.step(
            range(len(loads)),
            loads,
            where="post",
            color=look.colour,
            linestyle=(0, look.dashes) if look.dashes else "-",
            linewidth=1.0 if many else 1.8,
            marker="o",
            markersize=3,
            label=f"route {route.number}",
        )
    if math.isfinite(problem.capacity):
        axes.axhline(problem.capacity, color=RED, linewidth=1.0, linestyle=(0, (4, 3)))
        axes.annotate(
            "capacity",
            (1.0, problem.capacity),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=8,
            color=RED,
        )
    axes.set_xlabel("stops made", fontsize=9)
    axes.set_ylabel("on board", fontsize=9)
    axes.tick_params(axis="y", labelsize=8)
    axes.set_ylim(bottom=min(0.0, *(s.load for r in plan.routes for s in r.stops), 0.0))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(plan.routes) > 1:
        anchor: dict[str, Any] = {
            "loc": "upper left",
            "bbox_to_anchor": (1.01, 1.0),
            "frameon": False,
        }
        axes.legend(fontsize=7, ncols=1 + len(plan.routes) // 20, **anchor)
    _finish(axes, solution, "load")
    return axes


# -------------------------------------------------------------------------------------------- axes


def _new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def time_ticks(clock: Clock | None, low: float, high: float) -> list[tuple[float, str]]:
    """About eight round moments from low to high, in the numbers of the problem, as written."""
    if clock is None or clock.form == "number":
        step = _round_number((high - low) / 7.0)
        offset = 0.0 if clock is None else float(clock.moment(0.0))  # type: ignore[arg-type]
        unit = 1.0
    else:
        step, offset, unit = _round_step((high - low) * clock.seconds), 0.0, clock.seconds
    if not step > 0:
        return [(low, _write_tick(clock, low))]
    first = math.ceil(((low + offset) * unit) / step - 1e-9)
    last = math.floor(((high + offset) * unit) / step + 1e-9)
    values = [number * step / unit - offset for number in range(first, last + 1)]
    return [(value, _write_tick(clock, value)) for value in values]


def _write_tick(clock: Clock | None, value: float) -> str:
    if clock is None or clock.form == "number":
        return f"{value if clock is None else clock.moment(value):.10g}"
    text = str(clock.moment(value))
    return text[:5] if clock.form == "time of day" else text[11:16]


def _format_times(axes: Axes, clock: Clock | None) -> None:
    """The user's own moments below the axis."""
    low, high = axes.get_xlim()
    ticks = time_ticks(clock, low, high)
    axes.set_xticks([value for value, _ in ticks], [text for _, text in ticks])
    dated = clock is not None and clock.form in ("datetime", "iso")
    axes.set_xlabel(
        str(clock.moment(max(low, 0.0)))[:10] if clock and dated else "time", fontsize=9
    )


def _round_number(value: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is not below it."""
    if not 0 < value < math.inf:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _round_step(seconds: float) -> float:
    """Ticks at round times, ten at most."""
    steps = (60, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
    return float(next((step for step in steps if seconds / step <= 10), 86400 * 7))


def _finish(axes: Axes, solution: Solution, what: str) -> None:
    finish_title(axes, f"{what}  ·  {headline(solution.plan.problem, solution)}", verdict(solution))
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", color=QUIET, alpha=0.25, lw=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

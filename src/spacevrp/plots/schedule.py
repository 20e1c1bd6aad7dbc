"""Schedules: when each stop happens beside its window, breaks, reloads and overtime."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spacevrp.plots.charts import LANE, LETTER, TALLEST, WIDTH, count_lanes, finish, lanes
from spacevrp.plots.content import RouteLook, looks_of, short, unserved_nodes
from spacevrp.plots.style import INK, RED, drawable, new_axes
from spacevrp.problems.clock import Clock
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan import RoutePlan, Stop, node_id
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee.timing import Pause
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WINDOW, _EDGE = "#e1e7ea", "#aab4ba"
_BREAK, _OVERTIME = "#ffe9a3", "#f9cfca99"
# Inches of a stop's row; with more rows than these a route gets one lane for all its stops.
_ROW, _MOST_ROWS = 0.2, 90


# ---------------------------------------------------------------------------------------- schedule


def schedule_size(solution: Solution) -> tuple[float, float]:
    """Width and height in inches at which a schedule can be read."""
    rows = _count_rows(solution)
    inches = _ROW * rows if rows <= _MOST_ROWS else LANE * count_lanes(solution)
    return WIDTH, min(1.6 + inches, TALLEST)


def plot_schedule(solution: Solution, ax: Axes | None = None) -> Axes:
    """A timeline of each vehicle: its stops with their windows, the waiting and the service.

    Windows are grey, waiting is hatched, service is solid, travel a line; a red cross is a late
    arrival, and unserved stops stand at the end with their windows. Breaks are yellow, a diamond
    is a reload, and what is overtime has a red ground. Up to 90 rows every stop has its own; larger
    plans have one lane for each vehicle, the windows in it below one another.
    """
    plan, problem = solution.plan, solution.plan.problem
    axes = new_axes(ax, schedule_size(solution))
    times = [time for route in plan.routes for s in route.stops for time in (s.reached, s.left)]
    if not all(map(math.isfinite, times)):
        raise UnsupportedError("schedule: a route travels an arc that does not exist")
    times += [p.end for route in plan.routes for p in route.pauses if math.isfinite(p.end)]
    span = (min(times, default=0.0), max(times, default=1.0))
    if _count_rows(solution) <= _MOST_ROWS:
        _draw_rows(axes, solution, span)
    else:
        _draw_time_lanes(axes, solution, span)
    axes.margins(x=0.02)
    _format_times(axes, problem.clock)
    _explain(axes, solution)
    finish(axes, solution, "schedule")
    return axes


def _count_rows(solution: Solution) -> int:
    unserved = unserved_nodes(solution)
    rows = sum(stop.kind != "end" for route in solution.plan.routes for stop in route.stops)
    return rows + len(unserved) + bool(unserved)


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
        heading, before = row, (route.stops[0].left, row + 0.45)  # below the words
        _draw_pauses(axes, route, 0, row + 0.5, span)
        for place, stop in enumerate(route.stops):
            if stop.kind == "start":
                continue
            ends = stop.kind == "end"
            row += not ends
            at = row + 0.5 * ends
            pauses = _draw_pauses(axes, route, place, 0.5 * (before[1] + at), span)
            _draw_travel(axes, look, [before, *pauses, (stop.reached, at)])
            before = (stop.left, at)
            if ends:
                _draw_end(axes, problem, stop, at, look.colour)
                continue
            _draw_window(axes, problem, stop.node, row, 0.72, span)
            _draw_stop(axes, problem, stop, row, 0.4, look.colour)
            ticks.append(row)
            labels.append(short(f"reload: {stop.id}" if stop.kind == "reload" else stop.id))
        _draw_pauses(axes, route, len(route.stops), row + 0.5, span)
        _draw_overtime(axes, route, (heading - 0.4, row + 0.6))
        row += 1
    unserved = unserved_nodes(solution)
    if unserved:
        head(f"unserved ({len(unserved)})", RED)
        for node in unserved:
            row += 1
            opening = _draw_window(axes, problem, node, row, 0.72, span)
            axes.plot([opening], [row], marker="X", markersize=7, color=RED, zorder=4)
            ticks.append(row)
            labels.append(short(node_id(problem, node)))
        row += 1
    axes.set_yticks(ticks, list(map(drawable, labels)), fontsize=7)
    axes.set_ylim(row - 0.1, -0.8)


def _draw_time_lanes(axes: Axes, solution: Solution, span: tuple[float, float]) -> None:
    """One lane for each vehicle; the windows of its stops lie below one another in it."""
    problem = solution.plan.problem
    for lane, look, route in lanes(axes, solution):
        stops = route.stops
        _draw_travel(axes, look, [(stops[0].left, lane), (stops[-1].reached, lane)])
        for stop, height in _stacked([s for s in stops if s.kind not in ("start", "end")]):
            _draw_window(axes, problem, stop.node, lane + height, 0.5 / len(stops), span)
            _draw_stop(axes, problem, stop, lane, 0.32, look.colour)
        for place in range(len(stops) + 1):
            _draw_pauses(axes, route, place, lane, span)
        _draw_overtime(axes, route, (lane - 0.4, lane + 0.45))
        if stops[-1].kind == "end":
            _draw_end(axes, problem, stops[-1], lane, look.colour)
    unserved = unserved_nodes(solution)
    for node, height in _stacked(unserved):
        at = len(solution.plan.routes)
        opening = _draw_window(axes, problem, node, at + height, 0.02, span)
        axes.plot([opening], [at], marker="X", markersize=6, color=RED, zorder=4)


def _stacked(items: Any) -> Iterator[tuple[Any, float]]:
    """Items with their places in the lower part of a lane, from above."""
    for position, item in enumerate(items):
        yield item, 0.2 + 0.22 * (position + 0.5) / len(items)


def _draw_window(
    axes: Axes, problem: Problem, node: int, row: float, height: float, span: tuple[float, float]
) -> float:
    """The window of a node, or all of them, as far as the chart goes; where it begins there.

    None is drawn where it is always open.
    """
    opening, closing = (float(time) for time in problem.windows[node])
    start = max(opening, span[0])
    if opening <= span[0] and math.isinf(closing) and not problem.closed:
        return start
    gaps = [(begin, end) for closed, begin, end in problem.closed if closed == node]
    ends = [opening, *(time for gap in gaps for time in gap), closing]
    for first, last in zip(ends[::2], ends[1::2], strict=True):
        left = max(first, span[0])
        looks: dict[str, Any] = {"color": _WINDOW, "edgecolor": _EDGE, "linewidth": 0.4}
        width = max(min(last, max(span[1], first)) - left, 0.0)
        axes.barh(row, width, left=left, height=height, zorder=1, **looks)
        if first == last:  # an appointment has no width
            axes.plot([first, first], [row - 0.4, row + 0.4], color=_EDGE, linewidth=2.0, zorder=1)
    return start


def _draw_travel(axes: Axes, look: RouteLook, points: list[tuple[float, float]]) -> None:
    style: Any = (0, look.dashes) if look.dashes else "-"
    times, rows = zip(*points, strict=True)
    axes.plot(times, rows, color=look.colour, linewidth=0.8, linestyle=style, zorder=2)


def _draw_pauses(
    axes: Axes, route: RoutePlan, place: int, row: float, span: tuple[float, float]
) -> list[tuple[float, float]]:
    """The breaks before a place of the route; their ends, through which the vehicle travels.

    A break without a window has no time of its own before the vehicle leaves.
    """
    ends: list[tuple[float, float]] = []
    for pause in route.pauses:
        if pause.place != place or not math.isfinite(pause.begin):
            continue
        width = pause.end - pause.begin
        looks: dict[str, Any] = {"facecolor": _BREAK, "edgecolor": INK, "linewidth": 0.5}
        axes.barh(row, width, left=pause.begin, height=0.46, zorder=3, **looks)
        text = short(_name_of(route, pause))
        if width / max(span[1] - span[0], width) * 0.8 * WIDTH > LETTER * len(text):
            words: dict[str, Any] = {"ha": "center", "va": "center", "parse_math": False}
            axes.text(pause.begin + width / 2, row, text, fontsize=6.5, zorder=4, **words)
        ends += [(pause.begin, row), (pause.end, row)]
    return ends


def _name_of(route: RoutePlan, pause: Pause) -> str:
    name = "" if route.vehicle is None else route.vehicle.breaks[pause.number - 1].name
    return name or "break"


def _draw_overtime(axes: Axes, route: RoutePlan, rows: tuple[float, float]) -> None:
    if route.vehicle is None or not route.overtime > 0:
        return
    first, last = route.stops[0].left + route.vehicle.max_duration, route.stops[-1].left
    height = rows[1] - rows[0]
    axes.barh(
        rows[0] + height / 2, last - first, left=first, height=height, color=_OVERTIME, zorder=1.5
    )


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
    if stop.kind == "reload":
        edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.8}
        axes.plot([stop.left], [row], marker="D", markersize=7, color=colour, zorder=4, **edge)


def _draw_end(axes: Axes, problem: Problem, end: Stop, row: float, colour: str) -> None:
    """Back at the depot."""
    shade = RED if end.late > problem.time_tolerance else colour
    axes.plot([end.reached], [row], marker="s", markersize=4, color=shade, zorder=4)


def _explain(axes: Axes, solution: Solution) -> None:
    """What the marks mean, below the chart; marks of rules that no route has are left out."""
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
    routes = solution.plan.routes
    if any(route.pauses for route in routes):
        handles["break"] = Patch(facecolor=_BREAK, edgecolor=INK, linewidth=0.5)
    if any(stop.kind == "reload" for route in routes for stop in route.stops):
        handles["reload"] = Line2D([], [], marker="D", markersize=4, **line)
    if any(route.overtime > 0 for route in routes):
        handles["overtime"] = Patch(facecolor=_OVERTIME)
    axes.legend(
        list(handles.values()),
        list(handles),
        loc="upper center",
        bbox_to_anchor=(0.5, -0.45 / max(figure.get_figheight() - 1.2, 1.0)),
        ncols=len(handles) if len(handles) < 9 else 5,
        frameon=False,
        fontsize=7.5,
    )


# ------------------------------------------------------------------------------------------- times


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

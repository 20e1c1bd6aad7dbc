"""Schedules and loads: when each stop happens beside its window, and what is on board."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from spacevrp.plots.maps import _COLOURS, _INK, _QUIET, require_matplotlib
from spacevrp.problems.clock import Clock
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan import RoutePlan, Stop
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WINDOW, _LATE = "#e8edf0", "#d62728"
# Inches of a stop's row, and where a chart stops growing.
_ROW, _TALLEST = 0.22, 60.0
_FEWEST_INCHES = 3.0
# Ids longer than this are cut.
_LONGEST_LABEL = 24


def schedule_size(solution: Solution) -> tuple[float, float]:
    """Width and height in inches at which every stop of a schedule can be read."""
    rows = sum(len(route.visits) + 1 for route in solution.plan.routes)
    return 9.0, min(max(_FEWEST_INCHES, 1.2 + _ROW * rows), _TALLEST)


def plot_schedule(solution: Solution, ax: Axes | None = None) -> Axes:
    """One row a stop, grouped by routes: its window, the wait in it, and the service.

    Bars are the windows, hatched where the vehicle waits, and coloured during service; a red mark
    is a late arrival. Thin lines lead from stop to stop.
    """
    plan, problem = solution.plan, _problem(solution)
    axes = _new_axes(ax, schedule_size(solution))
    last = max((stop.left for route in plan.routes for stop in route.stops), default=0.0)
    first = min((stop.reached for route in plan.routes for stop in route.stops), default=0.0)
    if not math.isfinite(last):
        raise UnsupportedError("schedule: a route travels an arc that does not exist")
    row, ticks, labels = 0, [], []
    for number, route in enumerate(plan.routes):
        colour = _COLOURS[number % len(_COLOURS)]
        before: tuple[float, int] | None = (route.stops[0].left, row)
        for stop in route.stops:
            if stop.kind in ("start", "end"):
                continue
            _draw_window(axes, stop, row, first, last)
            if before is not None:
                axes.plot(
                    [before[0], stop.reached],
                    [before[1], row],
                    color=colour,
                    linewidth=0.8,
                    zorder=2,
                )
            _draw_stop(axes, problem, stop, row, colour)
            ticks.append(row)
            labels.append(str(stop.id)[:_LONGEST_LABEL])
            before = (stop.left, row)
            row += 1
        _draw_return(axes, problem, route, row, before, colour)
        row += 1  # room between routes
    axes.set_yticks(ticks, labels, fontsize=7)
    axes.set_ylim(row - 0.5, -0.8)
    axes.margins(x=0.02)
    _format_times(axes, problem.clock)
    _finish(axes, f"schedule  ·  {problem.variant_name}  ·  {len(plan.routes)} routes")
    return axes


def _draw_window(axes: Axes, stop: Stop, row: int, first: float, last: float) -> None:
    """The window, as far as the chart goes; none is drawn where it is always open."""
    if math.isinf(stop.closing) and stop.opening <= first:
        return
    start, end = max(stop.opening, first), min(stop.closing, max(last, stop.opening))
    width = max(end - start, 0.0)
    axes.barh(row, width, left=start, height=0.72, color=_WINDOW, edgecolor=_QUIET, linewidth=0.4)


def _draw_stop(axes: Axes, problem: Problem, stop: Stop, row: int, colour: str) -> None:
    begin = stop.reached + stop.waiting
    if stop.waiting > 0:
        axes.barh(
            row,
            stop.waiting,
            left=stop.reached,
            height=0.4,
            facecolor="none",
            edgecolor=colour,
            hatch="////",
            linewidth=0.0,
            zorder=3,
        )
    if stop.service > 0:
        axes.barh(row, stop.service, left=begin, height=0.4, color=colour, zorder=3)
    is_late = stop.late > problem.time_tolerance
    mark, shade = ("x", _LATE) if is_late else ("|", colour)
    axes.plot([stop.reached], [row], marker=mark, markersize=6, color=shade, zorder=4)


def _draw_return(
    axes: Axes,
    problem: Problem,
    route: RoutePlan,
    row: int,
    before: tuple[float, int] | None,
    colour: str,
) -> None:
    """The way home ends in the gap below the route."""
    end = route.stops[-1]
    if end.kind != "end" or before is None:
        return
    axes.plot(
        [before[0], end.reached],
        [before[1], row - 0.5],
        color=colour,
        linewidth=0.8,
        linestyle=(0, (4, 3)),
        zorder=2,
    )
    is_late = end.late > problem.time_tolerance
    shade = _LATE if is_late else colour
    axes.plot([end.reached], [row - 0.5], marker="s", markersize=4, color=shade, zorder=4)


def plot_load(solution: Solution, ax: Axes | None = None) -> Axes:
    """What is on board after each stop, one line a route, below the capacity."""
    plan, problem = solution.plan, _problem(solution)
    axes = _new_axes(ax, (7.0, 4.2))
    from matplotlib.ticker import MaxNLocator

    many = len(plan.routes) > len(_COLOURS)
    for number, route in enumerate(plan.routes):
        loads = [stop.load for stop in route.stops]
        axes.step(
            range(len(loads)),
            loads,
            where="post",
            color=_COLOURS[number % len(_COLOURS)],
            linewidth=1.2 if many else 1.8,
            marker="o",
            markersize=3,
            label=f"route {route.number}",
        )
    if math.isfinite(problem.capacity):
        axes.axhline(problem.capacity, color=_LATE, linewidth=1.0, linestyle=(0, (4, 3)))
        axes.annotate(
            "capacity",
            (1.0, problem.capacity),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=8,
            color=_LATE,
        )
    axes.set_xlabel("stops made", fontsize=9)
    axes.set_ylabel("on board", fontsize=9)
    axes.set_ylim(bottom=min(0.0, *(s.load for r in plan.routes for s in r.stops), 0.0))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if 1 < len(plan.routes) <= len(_COLOURS):
        axes.legend(fontsize=8, frameon=False)
    _finish(axes, f"load  ·  {problem.variant_name}  ·  {len(plan.routes)} routes")
    return axes


def _problem(solution: Solution) -> Problem:
    return solution.plan.problem


def _new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def _format_times(axes: Axes, clock: Clock | None) -> None:
    """The user's own moments below the axis."""
    if clock is None or clock.form == "number":
        if clock is not None:
            axes.xaxis.set_major_formatter(lambda value, _: f"{clock.moment(value):g}")
        axes.set_xlabel("time", fontsize=9)
        return
    from matplotlib.ticker import MultipleLocator

    low, high = axes.get_xlim()
    step = _round_step((high - low) * clock.seconds)
    axes.xaxis.set_major_locator(MultipleLocator(step / clock.seconds))
    axes.xaxis.set_major_formatter(lambda value, _: _short(clock, value))
    axes.set_xlabel(str(clock.moment(max(low, 0.0)))[:10] if clock.form != "time of day" else "")


def _round_step(seconds: float) -> float:
    """Ticks at round times, ten at most."""
    steps = (60, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
    return float(next((step for step in steps if seconds / step <= 10), 86400 * 7))


def _short(clock: Clock, value: float) -> str:
    text = str(clock.moment(value))
    return text[:5] if clock.form == "time of day" else text[11:16]


def _finish(axes: Any, title: str) -> None:
    axes.set_title(title, fontsize=11, color=_INK)
    axes.tick_params(labelsize=8)
    axes.grid(axis="x", color=_QUIET, alpha=0.25, lw=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

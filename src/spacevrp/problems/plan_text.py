"""A plan to read: every route with its stops in a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta

from spacevrp.problems.clock import Clock, Moment, moment_of
from spacevrp.problems.fleet import called_break
from spacevrp.problems.plan import Plan, RoutePlan, Stop, capacities_of, peaks_of
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee.timing import Pause
from spacevrp.problems.variants import name_features

# Digits of costs and amounts; whole numbers are written whole.
_DIGITS = 6
# What a problem without the name of a variant asks for; depots and several routes are usual.
_ASKED = {
    "capacity": "capacity",
    "time_windows": "time windows",
    "pickup_delivery": "pairs",
    "backhaul": "pickups",
    "backhaul_last": "backhauls last",
    "prize_collecting": "optional stops",
    "orienteering": "prizes",
    "stochastic_prizes": "unknown prizes",
    "multi_depot": "several depots",
    "open_routes": "open routes",
    "length_limit": "a length limit",
    "asymmetric": "asymmetric distances",
}


def count(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def write_number(value: float) -> str:
    """A number for reading: whole where it is, else with six digits."""
    if math.isfinite(value) and value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.{_DIGITS}g}"


def write_worth(problem: Problem, cost: float) -> str:
    """What a plan costs, or the prize that it collects where that is maximised."""
    if problem.maximise_prize:
        return f"prize {write_number(-cost)}"
    return f"cost {write_number(cost)}"


def describe_problem(problem: Problem, longest: float = math.inf) -> str:
    """The name of the variant or, where it has none, what the problem asks for; for a title.

    What makes it longer than it may be is only counted, or left out next to a name.
    """
    features, beside = problem.features, problem.beside_variant
    name = problem.variant or name_features(features)
    if name:
        return problem.variant_name if len(problem.variant_name) <= longest else name
    base = "VRP" if features.several_routes else "TSP"
    words = [word for flag, word in _ASKED.items() if getattr(features, flag)] + beside
    for kept in range(len(words), 0, -1):
        more = f" and {len(words) - kept} more" if kept < len(words) else ""
        text = f"{base} with {', '.join(words[:kept])}{more}"
        if len(text) <= longest:
            return text
    return base


def describe_plan(plan: Plan) -> list[str]:
    """The routes, each with a line of totals and its stops below, and what is left out."""
    lines = []
    for route in plan.routes:
        lines.append(f"  route {route.number}: {_summary(plan, route)}")
        lines += [f"    {row}" for row in _table(plan, route)]
    return lines + describe_skipped(plan)


def describe_skipped(plan: Plan) -> list[str]:
    """One line on the customers that no route visits, where there are any."""
    if not plan.skipped:
        return []
    names = ", ".join(str(plan.id_of(node)) for node in plan.skipped)
    paid = f" (penalties {write_number(plan.penalties)})" if plan.penalties else ""
    return [f"  not visited: {names}{paid}"]


def stop_table(plan: Plan, route: RoutePlan) -> list[str]:
    """The rows of a route's stops; none where its order says all there is to say."""
    told = plan.problem.ids is not None or _is_timed(plan) or _is_loaded(plan)
    return _table(plan, route) if told else []


def _is_timed(plan: Plan) -> bool:
    """Whether times mean more than the lengths of legs, added up."""
    problem = plan.problem
    return (
        problem.inferred_features.time_windows
        or problem.has_route_rules
        or bool(problem.service.any())
        or problem.durations is not problem.distances
    )


def _is_loaded(plan: Plan) -> bool:
    return bool(plan.problem.loads.any())


def _summary(plan: Plan, route: RoutePlan) -> str:
    visits = len(route.visits)
    parts = [count(visits, "stop"), f"cost {write_number(route.cost)}"]
    if route.vehicle is not None:
        parts.insert(0, route.vehicle.name or f"type {route.vehicle.number}")
    if route.fixed_cost:
        parts[-1] += f" and {write_number(route.fixed_cost)} for the vehicle"
    if route.time_cost:
        parts[-1] += f" and {write_number(route.time_cost)} for its time"
    if _is_loaded(plan):
        loads = map(_of_capacity, peaks_of(route), capacities_of(plan.problem, route))
        parts.append(f"load {', '.join(loads)}")
    if _is_timed(plan):
        start, end = route.stops[0].departure, route.stops[-1].departure
        parts.append(f"{write_moment(start)} to {write_moment(end, after=start)}")
        for pause in route.pauses:
            parts.append(_tell_pause(plan, route, pause))
        if route.waiting > 0:
            parts.append(f"waiting {write_span(plan.problem.clock, route.waiting)}")
        if route.spare > plan.problem.time_tolerance:
            parts.append(f"may leave {write_span(plan.problem.clock, route.spare)} later")
    return ", ".join(parts)


def _tell_pause(plan: Plan, route: RoutePlan, pause: Pause) -> str:
    """When a break is taken."""
    breaks = route.vehicle.breaks if route.vehicle is not None else ()
    name = called_break(breaks[pause.number - 1], pause.number)
    if pause.place == 0:
        return f"{name} before leaving"
    if pause.place == len(route.stops):
        return f"{name} afterwards"
    clock, start = plan.problem.clock, route.stops[0].departure
    begin, end = (moment_of(clock, time) for time in (pause.begin, pause.end))
    return f"{name} {write_moment(begin, after=start)} to {write_moment(end, after=start)}"


def _of_capacity(load: float, capacity: float) -> str:
    """A load beside the room there is."""
    shown = write_number(load)
    return shown if math.isinf(capacity) else f"{shown} of {write_number(capacity)}"


def write_moment(moment: Moment, after: Moment | None = None) -> str:
    """A moment to the second; without its date where that of another one says it."""
    dated, before = _as_datetime(moment), _as_datetime(after)
    if dated is not None:
        if before is not None and dated.date() == before.date():
            return dated.strftime("%H:%M:%S")
        return dated.isoformat(sep=" ", timespec="seconds")
    if isinstance(moment, float):
        return write_number(moment)
    time_of_day = str(moment).partition(".")[0]
    return f"{time_of_day}:00" if time_of_day.count(":") == 1 else time_of_day


def _as_datetime(moment: Moment | None) -> datetime | None:
    """A datetime, also from its ISO text; None for any other moment."""
    if isinstance(moment, str) and "T" in moment:
        return datetime.fromisoformat(moment)
    return moment if isinstance(moment, datetime) else None


def write_span(clock: Clock | None, duration: float) -> str:
    """A length of time: hours, minutes and seconds beside dates, else a number."""
    if clock is None or clock.form == "number" or not math.isfinite(duration):
        return write_number(duration)
    try:
        return str(timedelta(seconds=round(duration * clock.seconds)))
    except OverflowError:  # more than all the days of the calendar
        return write_number(duration)


def _table(plan: Plan, route: RoutePlan) -> list[str]:
    """Rows of equal width: headings, then one row a stop."""
    columns: list[tuple[str, Callable[[Stop], str]]] = [("stop", lambda stop: str(stop.id))]
    if _is_timed(plan):
        start = route.stops[0].departure
        columns += [
            ("arrival", lambda stop: write_moment(stop.arrival, after=start)),
            ("waiting", lambda stop: write_span(stop.clock, stop.waiting)),
            ("departure", lambda stop: write_moment(stop.departure, after=start)),
        ]
    if _is_loaded(plan):
        columns.append(("load", lambda stop: " ".join(map(write_number, stop.loads))))
    columns.append(("leg cost", lambda stop: write_number(stop.leg_cost)))
    cells = [[heading, *map(write, route.stops)] for heading, write in columns]
    widths = [max(map(len, column)) for column in cells]
    rows = []
    for first, *others in zip(*cells, strict=True):
        padded = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        rows.append("  ".join([first.ljust(widths[0]), *padded]))
    return rows

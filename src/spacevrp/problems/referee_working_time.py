"""The referee's rules of routes: working time, breaks, trips and goods on board."""

from __future__ import annotations

from spacevrp.problems.breaks import called_break
from spacevrp.problems.fleet import called
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee_rules import (
    Trip,
    Violation,
    check_shift,
    tell_late,
    write_apart,
)
from spacevrp.problems.referee_schedule import Schedule
from spacevrp.problems.referee_timing import trips_of


def check_route_rules(problem: Problem, trip: Trip) -> list[Violation]:
    """Every rule of routes; after an arc that does not exist no time is known, and none judged."""
    violations = check_stops(trip) + check_reloads(problem, trip) + check_goods(problem, trip)
    if trip.schedule is None:
        return violations
    violations += check_schedule(problem, trip, trip.schedule)
    violations += check_breaks(trip, trip.schedule)
    violations += check_start(problem, trip, trip.schedule)
    return violations + check_working_time(problem, trip, trip.schedule)


def check_stops(trip: Trip) -> list[Violation]:
    """No more customers than the vehicle may serve."""
    limit, stops = trip.terms.max_stops, len(trip.customers)
    if limit is None or stops <= limit:
        return []
    return [trip.fault("stops", f"has {stops} stops, {called(trip.terms)} may have {limit}")]


def check_reloads(problem: Problem, trip: Trip) -> list[Violation]:
    """No more reloads than the vehicle may make; where it may not reload at all is its shape."""
    limit, reloads = trip.terms.max_reloads, len(trips_of(problem, trip.nodes)) - 1
    if not trip.terms.may_reload or limit is None or reloads <= limit:
        return []
    times = "once" if limit == 1 else f"{limit} times"
    text = f"reloads {reloads} times, {called(trip.terms)} may do so {times}"
    return [trip.fault("reload", text)]


def check_goods(problem: Problem, trip: Trip) -> list[Violation]:
    """A vehicle under way delivers what it has on board, and other goods after a reload."""
    on_board, vehicle = trip.terms.on_board, called(trip.terms)
    if on_board is None:
        return []
    violations = []
    for reloads, customers in enumerate(trips_of(problem, trip.nodes)):
        for node in customers:
            if not reloads and node in problem.loaded_customers and node not in on_board:
                text = f"delivers to customer {node}, whose goods are not on board of {vehicle}"
                violations.append(trip.fault("goods", f"{text}, without a reload before", node))
            elif reloads and node in on_board:
                text = f"delivers to customer {node} after a reload, but the goods are on board"
                violations.append(trip.fault("goods", f"{text} of {vehicle} from the start", node))
    return violations


def check_schedule(problem: Problem, trip: Trip, schedule: Schedule) -> list[Violation]:
    """Service and reloads begin inside the windows, and all is over when depot and shift end."""
    violations = []
    for position in schedule.late:
        verb = "returns to" if position == len(trip.nodes) - 1 else "reloads at"
        clock = schedule.reached[position]
        violations.append(tell_late(problem, trip, trip.nodes[position], clock, verb))
    return violations + check_shift(problem, trip, schedule.end)


def check_breaks(trip: Trip, schedule: Schedule) -> list[Violation]:
    """There is a time for every break: before the vehicle leaves, on the way or afterwards."""
    if schedule.pauses is not None:
        return []
    breaks = trip.terms.breaks
    names = [called_break(one, number) for number, one in enumerate(breaks, start=1)]
    what = names[0] if len(names) == 1 else f"all of {', '.join(names)}"
    return [trip.fault("break", f"leaves {called(trip.terms)} no time for {what}")]


def check_start(problem: Problem, trip: Trip, schedule: Schedule) -> list[Violation]:
    """The vehicle leaves in time."""
    latest = trip.terms.latest_start
    if schedule.departure <= latest + problem.time_tolerance:
        return []
    leaves, limit = write_apart(schedule.departure, latest)
    text = f"leaves not before {leaves}, {called(trip.terms)} must leave by {limit}"
    return [trip.fault("start", text)]


def check_working_time(problem: Problem, trip: Trip, schedule: Schedule) -> list[Violation]:
    """The route takes no longer than its vehicle may, overtime included."""
    limited_to = trip.terms.max_duration + trip.terms.max_overtime
    if schedule.duration <= limited_to + problem.time_tolerance:
        return []
    shown, limit = write_apart(schedule.duration, limited_to)
    more = ""
    if trip.terms.max_overtime:
        (overtime,) = write_apart(trip.terms.max_overtime)
        more = f", {overtime} of it overtime"
    text = f"takes {shown}, {called(trip.terms)} may take {limit}{more}"
    return [trip.fault("duration", text)]

"""The referee's rules for vehicles: who drives what, working time, breaks, trips, goods."""

from __future__ import annotations

from spacevrp.problems.fleet import Terms, called, called_break
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee.rules import (
    Trip,
    Violation,
    check_shift,
    name_node,
    tell_late,
    write_apart,
)
from spacevrp.problems.referee.schedule import Schedule
from spacevrp.problems.referee.timing import trips_of


def check_fleet_shape(
    problem: Problem, number: int, nodes: tuple[int, ...], terms: Terms
) -> tuple[Trip | None, list[Violation]]:
    """The route as a vehicle of that type travels it, and where its form is wrong."""
    faults: list[Violation] = []

    def fault(code: str, text: str, node: int) -> None:
        faults.append(Violation(code, f"route {number} {text}", number, node))

    if not nodes or (len(nodes) <= 2 and all(node in problem.depots for node in nodes)):
        return None, []  # a vehicle that stays at home
    first, last = nodes[0], nodes[-1]
    if first != terms.start:
        text = f"starts at {name_node(problem, first)}, {called(terms)} starts at depot"
        fault("depot", f"{text} {terms.start}", first)
    ends_at_depot = len(nodes) > 1 and last in problem.depots
    if terms.end is None and ends_at_depot:
        text = f"ends at depot {last}, but the route of {called(terms)} ends at its last customer"
        fault("shape", text, last)
        nodes = nodes[:-1]
    elif terms.end is not None and last != terms.end:
        text = f"ends at {name_node(problem, last)}, {called(terms)} ends at depot {terms.end}"
        fault("depot", text, last)
    inner_end = len(nodes) - 1 if terms.end is not None and ends_at_depot else len(nodes)
    reloads = terms.reload_depots if terms.may_reload else ()
    for position in range(1, inner_end):
        if nodes[position] in problem.depots and nodes[position] not in reloads:
            text = f"visits depot {nodes[position]} on the way, at position {position + 1}"
            fault("depot", text, nodes[position])
    return Trip.along(problem, number, nodes, terms), faults


def check_permissions(problem: Problem, trip: Trip) -> list[Violation]:
    """A vehicle serves no customer that is forbidden to it, and first of all those pinned to it."""
    violations = []
    terms = trip.terms
    others = [other for other in problem.fleet if other.number != terms.number]
    pinned_to = {customer: other for other in others for customer in other.pinned}
    carried_by = {customer: other for other in others for customer in other.on_board or ()}
    for node in trip.customers:
        visits = f"visits customer {node}"
        if node in pinned_to:
            text = f"{visits}, who is pinned to {called(pinned_to[node])}"
            violations.append(trip.fault("pin", text, node))
        elif node in carried_by:
            text = f"{visits}, whose goods are on board of {called(carried_by[node])}"
            violations.append(trip.fault("goods", text, node))
        elif node in terms.forbidden and not _lacks_goods(problem, terms, node):
            text = f"{visits}, whom {called(terms)} may not serve"
            violations.append(trip.fault("vehicle", text, node))
    for position, pinned in enumerate(terms.pinned):
        visited = trip.customers[position] if position < len(trip.customers) else None
        if visited != pinned:
            found = "no customer" if visited is None else f"customer {visited}"
            there = f"customer {pinned} is pinned there to {called(terms)}"
            text = f"visits {found} at position {position + 2}, {there}"
            violations.append(trip.fault("pin", text, pinned))
            break
    return violations


def _lacks_goods(problem: Problem, terms: Terms, node: int) -> bool:
    """Whether what keeps it from serving a customer is that its goods are not on board."""
    vehicle = (problem.vehicles or ())[terms.number]
    barred = vehicle.allowed is not None and node not in vehicle.allowed
    return not barred and node not in vehicle.forbidden and terms.on_board is not None


def check_counts(problem: Problem, trips: list[Trip]) -> list[Violation]:
    """No more vehicles of a type than there are, and every vehicle with pinned customers leaves."""
    violations = []
    for terms in problem.fleet:
        used = sum(trip.terms.number == terms.number for trip in trips)
        if terms.count is not None and used > terms.count:
            there = "there is 1" if terms.count == 1 else f"there are {terms.count}"
            text = f"the plan has {used} routes of {called(terms)}, of which {there}"
            violations.append(Violation("vehicle", text))
        if terms.pinned and not used:
            text = f"{called(terms)} stays at home, but customer {terms.pinned[0]} is pinned to it"
            violations.append(Violation("pin", text, node=terms.pinned[0]))
    return violations


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

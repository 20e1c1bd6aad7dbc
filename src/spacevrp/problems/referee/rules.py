"""The referee's rules for single routes and for pairs, one function each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from spacevrp.problems.fleet import Terms, called
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee.schedule import Schedule
from spacevrp.problems.referee.timing import trips_of


@dataclass(frozen=True)
class Violation:
    """One broken rule.

    Attributes
    ----------
    code
        A short, stable word for the rule: shape, depot, arc, capacity, precedence, length, window,
        duration, vehicle, pin, fleet, visit, pair, prize, stops, start, break, reload, goods, ride,
        lifo, order, group, same_route or different_routes.
    message
        A sentence with the numbers.
    route, node
        The route at fault, counted from 1, and the node, in the user's numbering; None where the
        violation belongs to no single one.
    """

    code: str
    message: str
    route: int | None = None
    node: int | None = None


@dataclass(frozen=True)
class Trip:
    """A route with at least one customer, as it is travelled.

    ``nodes`` holds everything on the way, ``customers`` leaves the depots out, and ``legs`` are the
    arcs that count (a tour without a depot closes itself, an open route does not), each with one of
    the ``lengths``. ``terms`` are those of the vehicle. Where there are rules of routes, a
    ``schedule`` says when what happens.
    """

    number: int
    nodes: tuple[int, ...]
    customers: tuple[int, ...]
    legs: tuple[tuple[int, int], ...]
    lengths: tuple[float, ...]
    terms: Terms
    schedule: Schedule | None = None

    @classmethod
    def along(
        cls, problem: Problem, number: int, nodes: tuple[int, ...], terms: Terms
    ) -> Trip | None:
        """The trip over these nodes; None where no customer is among them."""
        customers = tuple(node for node in nodes if node not in problem.depots)
        legs = tuple(pairwise(nodes))
        if not problem.depots:  # the way from the last node to the first is understood
            legs = tuple(zip(nodes, nodes[1:] + nodes[:1], strict=True))
        lengths = tuple(problem.distances.between(*leg) for leg in legs)
        return cls(number, nodes, customers, legs, lengths, terms) if customers else None

    def fault(self, code: str, text: str, node: int | None = None) -> Violation:
        """A rule that the route breaks; the text goes on after its number."""
        return Violation(code, f"route {self.number} {text}", self.number, node)


def name_node(problem: Problem, node: int) -> str:
    """What to call a node in a message."""
    if not problem.depots:
        return f"node {node}"
    return f"depot {node}" if node in problem.depots else f"customer {node}"


def write_apart(*values: float) -> list[str]:
    """The numbers, short, but with as many digits as it takes to see that they differ."""
    texts: list[str] = []
    for digits in range(6, 18):
        texts = [_write(value, digits) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts


def _write(value: float, digits: int) -> str:
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def check_arcs(problem: Problem, trip: Trip) -> list[Violation]:
    """Every leg must exist, in the distances and in the durations."""
    violations = []
    has_own_durations = problem.durations is not problem.distances
    for (origin, target), length in zip(trip.legs, trip.lengths, strict=True):
        duration = problem.durations.between(origin, target) if has_own_durations else length
        if math.isinf(length) or math.isinf(duration):
            ends = f"from {name_node(problem, origin)} to {name_node(problem, target)}"
            violations.append(trip.fault("arc", f"goes {ends}, where there is no arc", target))
    return violations


# -------------------------------------------------------------------------------------- load


def check_load(problem: Problem, trip: Trip) -> list[Violation]:
    """No load exceeds its capacity; one violation a route and kind of load, where it is worst."""
    violations = []
    loaded = trips_of(problem, trip.nodes) if trip.terms.may_reload else [list(trip.customers)]
    for kind, capacity in enumerate(trip.terms.capacities):
        if math.isinf(capacity):
            continue
        name = f" of kind {kind}" if problem.kinds_of_load > 1 else ""
        for number, customers in enumerate(loaded):
            if not customers:
                continue
            demand = [float(problem.loads[node, kind]) for node in customers]
            stays = 0.0
            if number == 0 and trip.terms.on_board is not None:
                kept = set(trip.terms.on_board) - set(customers)
                stays = sum(float(problem.loads[node, kind]) for node in sorted(kept))
            slack = problem.load_slack(capacity, kind)
            cargo = _Cargo(trip, customers, demand, capacity, slack, number, stays)
            if problem.pairs or problem.load_rule == "separate":
                violations += _check_on_board(problem, cargo, name, kind)
            else:
                # The rule `paper` restricts how plans are constructed; what they mean is `single`.
                violations += _check_single(cargo, name)
    return violations


@dataclass(frozen=True)
class _Cargo:
    """One kind of load between two depots: what each customer receives, and the room there is.

    ``reloads`` counts the depots passed on the way before. What ``stays`` on board is taken along
    for customers who are not served before the next depot.
    """

    trip: Trip
    customers: list[int]
    demand: list[float]
    capacity: float
    slack: float
    reloads: int
    stays: float


def _check_single(cargo: _Cargo, name: str) -> list[Violation]:
    """One commodity: some starting load keeps the load between 0 and the capacity.

    With a start of s the load after a prefix is s minus the prefix sum, so the largest and the
    smallest prefix sum may lie no further apart than the capacity.
    """
    prefix = lowest = highest = worst_spread = 0.0
    worst_node = cargo.customers[0]
    for node, demand in zip(cargo.customers, cargo.demand, strict=True):
        prefix += demand
        lowest = min(lowest, prefix)
        highest = max(highest, prefix)
        if highest - lowest > worst_spread:
            worst_spread, worst_node = highest - lowest, node
    if worst_spread <= cargo.capacity + cargo.slack:
        return []
    spread, capacity = write_apart(worst_spread, cargo.capacity)
    low, high = write_apart(lowest, highest)
    text = (
        f"needs room for {spread}{name} (the sum of what it has handed over, less what it has "
        f"collected, goes from {low} to {high}), capacity is {capacity}"
    )
    return [cargo.trip.fault("capacity", text, worst_node)]


def _check_on_board(problem: Problem, cargo: _Cargo, name: str, kind: int) -> list[Violation]:
    """Deliveries still on board plus everything collected so far fit in at every point.

    Deliveries outside pairs are on board from the start, what is collected outside pairs stays to
    the end. At one stop the delivery comes before the pickup.
    """
    load = cargo.stays
    for node, demand in zip(cargo.customers, cargo.demand, strict=True):
        if node not in problem.paired_customers:
            load += max(demand, 0.0)
    worst_load, worst_node = load, None
    for node, demand in zip(cargo.customers, cargo.demand, strict=True):
        load += float(problem.pickups[node, kind]) - demand
        if load > worst_load:
            worst_load, worst_node = load, node
    if worst_load <= cargo.capacity + cargo.slack:
        return []
    shown, capacity = write_apart(worst_load, cargo.capacity)
    if worst_node is None:
        again = f" after reload {cargo.reloads}" if cargo.reloads else ""
        text = f"leaves with a load of {shown}{name}{again}"
    else:
        text = f"has a load of {shown}{name} after {name_node(problem, worst_node)}"
    return [cargo.trip.fault("capacity", f"{text}, capacity is {capacity}", worst_node)]


def check_backhauls(problem: Problem, trip: Trip) -> list[Violation]:
    """Where backhauls come last, no linehaul follows a backhaul."""
    if not problem.backhaul_last:
        return []
    violations = []
    backhaul: int | None = None  # the last one passed since the vehicle was last empty
    for node in trip.nodes if trip.terms.may_reload else trip.customers:
        if node in problem.depots:
            backhaul = None
            continue
        loads = problem.loads[node]  # all of one sign
        if (loads < 0).any():
            backhaul = node
        elif (loads > 0).any() and backhaul is not None:
            text = f"delivers to customer {node} after collecting from customer {backhaul}"
            violations.append(
                trip.fault("precedence", f"{text}, expected all deliveries first", node)
            )
    return violations


# ------------------------------------------------------------------------------ length and time


def check_length(problem: Problem, trip: Trip) -> list[Violation]:
    """The legs of the route add up to no more than the limit."""
    length = 0.0
    for leg_length in trip.lengths:
        length += leg_length
    # A missing arc is its own violation; "infinitely long" would only repeat it.
    limited_to = trip.terms.max_length
    if math.isinf(length) or length <= limited_to + problem.length_tolerance:
        return []
    shown, limit = write_apart(length, limited_to)
    return [trip.fault("length", f"is {shown} long, limit is {limit}")]


def check_windows(problem: Problem, trip: Trip) -> list[Violation]:
    """Service starts inside each window, and closed routes are back before the depot closes.

    A shift binds beside that: no departure before it begins, and everything over when it ends.
    After a late arrival the clock runs on from the actual arrival, so that what follows is judged
    as it would happen. After an arc that does not exist no time is known, and nothing is judged.
    """
    terms = trip.terms
    if math.isinf(terms.back_by) and all(
        math.isinf(problem.windows[node, 1]) for node in trip.nodes
    ):
        return []  # nothing ever closes, so nothing can be late
    violations = []
    clock = max(float(problem.windows[trip.nodes[0], 0]), terms.leaves_from)
    if trip.nodes[0] not in problem.depots:  # a fault of its own, but the route is still judged
        clock += float(problem.service[trip.nodes[0]])
    for origin, target in trip.legs:
        clock += problem.durations.between(origin, target)
        if math.isinf(clock):
            break
        opening, closing = (float(time) for time in problem.windows[target])
        if clock > closing + problem.time_tolerance:
            violations.append(tell_late(problem, trip, target, clock, "returns to"))
        if target not in problem.depots:
            clock = max(clock, opening) + float(problem.service[target])
    return violations + check_shift(problem, trip, clock)


def tell_late(problem: Problem, trip: Trip, node: int, clock: float, verb: str) -> Violation:
    """A late arrival; the verb is what vehicles do at this depot, if it is one."""
    at_depot = node in problem.depots
    arrival, limit = write_apart(clock, float(problem.windows[node, 1]))
    text = f"{verb if at_depot else 'arrives at'} {name_node(problem, node)} at {arrival}"
    what = "the depot" if at_depot else "window"
    return trip.fault("window", f"{text}, {what} closes at {limit}", node)


def check_shift(problem: Problem, trip: Trip, end: float) -> list[Violation]:
    """Everything is over when the shift ends; of a route that never is, more is told elsewhere."""
    terms = trip.terms
    if math.isinf(end) or end <= terms.back_by + problem.time_tolerance:
        return []
    over, limit = write_apart(end, terms.back_by)
    text = f"is over at {over}, the shift of {called(terms)} ends at {limit}"
    return [trip.fault("window", text)]


def check_duration(problem: Problem, trip: Trip) -> list[Violation]:
    """The route takes no longer than its vehicle may, from the latest departure that is in time.

    To leave later never makes a route longer: it saves waiting, or moves everything.
    """
    limited_to = trip.terms.max_duration
    if math.isinf(limited_to):
        return []
    duration = route_duration(problem, trip)
    if math.isinf(duration) or duration <= limited_to + problem.time_tolerance:
        return []
    shown, limit = write_apart(duration, limited_to)
    return [trip.fault("duration", f"takes {shown}, {called(trip.terms)} may take {limit}")]


def route_duration(problem: Problem, trip: Trip) -> float:
    """How long the route takes from the latest departure that is in time."""
    busy = sum(problem.durations.between(*leg) for leg in trip.legs)
    busy += sum(float(problem.service[node]) for node in trip.customers)
    earliest = max(float(problem.windows[trip.nodes[0], 0]), trip.terms.leaves_from)
    latest = trip.terms.back_by
    for origin, target in reversed(trip.legs):
        if target not in problem.depots:
            latest -= float(problem.service[target])
        latest = min(latest, float(problem.windows[target, 1]))
        latest -= problem.durations.between(origin, target)
    if not math.isfinite(latest):
        return busy
    clock = start = max(earliest, latest)
    for origin, target in trip.legs:
        clock += problem.durations.between(origin, target)
        if target not in problem.depots:
            clock = max(clock, float(problem.windows[target, 0]))
            clock += float(problem.service[target])
    return clock - start


# ----------------------------------------------------------------------------------------- pairs


def check_pairs(problem: Problem, trips: list[Trip]) -> list[Violation]:
    """Pickup before delivery in the same route; then the vehicle is empty at the end, too."""
    place: dict[int, tuple[int, int]] = {}  # customer -> route and position of its first visit
    place_of_trip: dict[int, int] = {}  # customer -> reloads before its first visit
    for trip in trips:
        for position, node in enumerate(trip.customers):
            place.setdefault(node, (trip.number, position))
        if trip.terms.may_reload:
            for reloads, customers in enumerate(trips_of(problem, trip.nodes)):
                place_of_trip |= {node: reloads for node in customers}
    violations = []

    def fault(code: str, route: int, text: str, node: int) -> None:
        violations.append(Violation(code, f"route {route} {text}", route, node))

    for pickup, delivery in problem.pairs:
        its_delivery = f"its delivery, customer {delivery},"
        its_pickup = f"its pickup, customer {pickup},"
        if pickup in place and delivery in place:
            route, picked_at = place[pickup]
            other_route, delivered_at = place[delivery]
            if route != other_route:
                text = f"picks up at customer {pickup}, but {its_delivery} is on"
                fault("pair", route, f"{text} route {other_route}", delivery)
            elif place_of_trip.get(pickup) != place_of_trip.get(delivery):
                text = f"reloads between customer {pickup} and {its_delivery[:-1]}"
                fault("pair", route, text, delivery)
            elif delivered_at < picked_at:
                text = f"delivers to customer {delivery} before {its_pickup[:-1]}"
                fault("precedence", route, text, delivery)
        elif pickup in place:
            text = f"ends with the load of customer {pickup} on board, because {its_delivery}"
            fault("pair", place[pickup][0], f"{text} is never visited", delivery)
        elif delivery in place:
            text = f"delivers to customer {delivery}, but {its_pickup} is never visited"
            fault("pair", place[delivery][0], text, pickup)
    return violations

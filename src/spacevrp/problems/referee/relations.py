"""The referee's rules for relations between customers, and the terms of the objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from spacevrp.problems.fleet import called
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee.rides import begin_with_rides, schedule_route
from spacevrp.problems.referee.rules import Trip, Violation, name_node, route_duration, write_apart
from spacevrp.problems.referee.timing import Timing


def check_route_relations(problem: Problem, trip: Trip) -> list[Violation]:
    """What relations ask of a single route."""
    violations = []
    if problem.lifo:
        violations += check_lifo(problem, trip)
    if problem.max_ride is not None:
        violations += check_ride(problem, trip)
    if problem.max_ride is not None and trip.schedule is None:
        violations += check_ride_duration(problem, trip)
    if problem.order:
        violations += check_order(problem, trip)
    if problem.different_routes:
        violations += check_different_routes(problem, trip)
    return violations


def check_plan_relations(problem: Problem, trips: Sequence[Trip]) -> list[Violation]:
    """What relations ask of the plan as a whole."""
    violations = []
    if problem.groups:
        violations += check_groups(problem, trips)
    if problem.same_route:
        violations += check_same_route(problem, trips)
    return violations


# ------------------------------------------------------------------------------------- one route


def check_lifo(problem: Problem, trip: Trip) -> list[Violation]:
    """What was loaded last is unloaded first; what the depot sends lies below everything."""
    pickup_of = {delivery: pickup for pickup, delivery in problem.pairs}
    pickups = set(pickup_of.values())
    violations = []
    on_board: list[int] = []  # pickups, the last one on top
    for node in trip.customers:
        wanted = pickup_of.get(node)
        if node in pickups:
            on_board.append(node)
        elif wanted is not None:
            if wanted not in on_board:
                continue  # a fault of the pair
            if on_board[-1] != wanted:
                violations.append(_tell_buried(trip, node, on_board[-1]))
            on_board.remove(wanted)
        elif on_board and (problem.loads[node] > 0).any():
            violations.append(_tell_buried(trip, node, on_board[-1]))
    return violations


def _tell_buried(trip: Trip, node: int, above: int) -> Violation:
    what = f"delivers to customer {node} while what customer {above} loaded lies on top"
    return trip.fault("lifo", f"{what}, expected last in, first out", node)


def check_order(problem: Problem, trip: Trip) -> list[Violation]:
    """Where the route serves both, the earlier one comes first."""
    place = first_places(trip)
    return [
        trip.fault(
            "order",
            f"visits customer {later} before customer {earlier}, expected customer {earlier} first",
            later,
        )
        for earlier, later in problem.order
        if earlier in place and later in place and place[later] < place[earlier]
    ]


def check_different_routes(problem: Problem, trip: Trip) -> list[Violation]:
    """No two customers of a set are on the route; one violation for each after the first."""
    visited = first_places(trip)
    violations = []
    for nodes in problem.different_routes:
        here = sorted((node for node in nodes if node in visited), key=visited.__getitem__)
        for node in here[1:]:
            text = f"visits customers {here[0]} and {node}, expected them on different routes"
            violations.append(trip.fault("different_routes", text, node))
    return violations


def first_places(trip: Trip) -> dict[int, int]:
    """Customer -> position of its first visit."""
    place: dict[int, int] = {}
    for position, node in enumerate(trip.customers):
        place.setdefault(node, position)
    return place


def check_ride(problem: Problem, trip: Trip) -> list[Violation]:
    """Some schedule keeps all windows and all ride times."""
    if trip.schedule is not None:
        blamed = trip.schedule.ride
        driving, service = trip.schedule.driving, trip.schedule.service
    else:
        _, blamed = begin_with_rides(Timing(problem, trip.nodes, trip.terms))
        driving = (0.0, *(problem.durations.between(*leg) for leg in pairwise(trip.nodes)))
        service = tuple(float(problem.service[node]) for node in trip.nodes)
    if blamed is None:
        return []
    pickup, delivery, limit = blamed
    origin, target = trip.nodes[pickup], trip.nodes[delivery]
    ride = f"the ride from customer {origin} to customer {target}"
    # The least time between the two: nothing is waited for.
    least = sum(driving[pickup + 1 : delivery + 1]) + sum(service[pickup + 1 : delivery])
    if least > limit:
        shown, allowed = write_apart(least, limit)
        told = f"{ride} takes {shown} at least"
    else:
        allowed = write_apart(limit)[0]
        others = "windows, breaks" if trip.terms.breaks else "windows"
        told = f"{others} and other rides make {ride} too long"
    text = f"route {trip.number}: {told}, limit is {allowed}"
    return [Violation("ride", text, trip.number, target)]


def check_ride_duration(problem: Problem, trip: Trip) -> list[Violation]:
    """A pickup that waits for its delivery may make the route too long; else that is known."""
    limited_to = trip.terms.max_duration + problem.time_tolerance
    if math.isinf(limited_to) or route_duration(problem, trip) > limited_to:
        return []
    duration = duration_of(problem, trip)
    if duration <= limited_to or math.isinf(duration):
        return []
    shown, limit = write_apart(duration, trip.terms.max_duration)
    text = f"takes {shown} with its rides, {called(trip.terms)} may take {limit}"
    return [trip.fault("duration", text)]


# --------------------------------------------------------------------------------------- the plan


def _routes_of(trips: Sequence[Trip]) -> dict[int, int]:
    """Customer -> number of the route that visits it first."""
    route: dict[int, int] = {}
    for trip in trips:
        for node in trip.customers:
            route.setdefault(node, trip.number)
    return route


def check_groups(problem: Problem, trips: Sequence[Trip]) -> list[Violation]:
    """One of each group is served, or at most one where none is required."""
    route = _routes_of(trips)
    violations = []
    for group in problem.groups:
        served = [node for node in group.nodes if node in route]
        if not served and group.required:
            listed = ", ".join(map(str, group.nodes))
            text = f"none of the group of customers {listed} is visited, expected one"
            violations.append(Violation("group", text, node=group.nodes[0]))
        for node in served[1:]:
            other = f"customer {served[0]} of the same group is visited by route {route[served[0]]}"
            text = f"route {route[node]} visits {name_node(problem, node)}, but {other}"
            violations.append(Violation("group", text, route[node], node))
    return violations


def check_same_route(problem: Problem, trips: Sequence[Trip]) -> list[Violation]:
    """Those of a set who are served are served by one route; a violation for each who is not."""
    route = _routes_of(trips)
    violations = []
    for nodes in problem.same_route:
        served = [node for node in nodes if node in route]
        for node in served[1:]:
            if route[node] != route[served[0]]:
                expected = f"on route {route[served[0]]} with customer {served[0]}"
                text = f"route {route[node]} visits customer {node}, expected {expected}"
                violations.append(Violation("same_route", text, route[node], node))
    return violations


# -------------------------------------------------------------------------- terms of the objective


def duration_of(problem: Problem, trip: Trip) -> float:
    """How long the route takes, from the latest departure that ends as early as can be."""
    if trip.schedule is not None:
        return trip.schedule.duration
    if problem.max_ride is None:
        return route_duration(problem, trip)
    schedule = schedule_route(problem, trip.nodes, trip.terms)
    return math.inf if schedule is None else schedule.duration


def objective_terms(problem: Problem, trips: Sequence[Trip], cost: float) -> dict[str, float]:
    """Every term: the cost, the number of routes, the longest duration, and how much they differ.

    Where nothing takes time but travelling, and that takes as long as it is far, a duration is a
    length.
    """
    takes = [duration_of(problem, trip) for trip in trips]
    longest, shortest = max(takes, default=0.0), min(takes, default=0.0)
    return {
        "cost": cost,
        "vehicles": float(len(trips)),
        "makespan": longest,
        "balance": longest - shortest,
    }

"""The referee: what a plan costs, and every rule it breaks, in words.

Written from the definitions in ``docs/concepts``, one instance at a time, in plain loops over
float64. It shares no code with whatever constructed the plan, so that agreement means something.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from spacevrp.problems.assignment import FleetRoutes, cheapest_vehicles, stated_vehicles
from spacevrp.problems.conversion import show
from spacevrp.problems.errors import SolutionError
from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import BASE_TOLERANCE, Problem
from spacevrp.problems.referee.fleet import (
    check_counts,
    check_fleet_shape,
    check_permissions,
    check_route_rules,
)
from spacevrp.problems.referee.relations import (
    check_plan_relations,
    check_route_relations,
    objective_terms,
)
from spacevrp.problems.referee.rides import schedule_route
from spacevrp.problems.referee.rules import (
    Trip,
    Violation,
    check_arcs,
    check_backhauls,
    check_duration,
    check_length,
    check_load,
    check_pairs,
    check_windows,
    name_node,
    write_apart,
)

__all__ = ["Verdict", "Violation", "as_routes", "as_vehicles_of", "judge", "with_best_vehicles"]


@dataclass(frozen=True)
class Verdict:
    """What the referee says of a plan.

    Attributes
    ----------
    cost
        Length of all legs, times what a unit costs the vehicle, plus the fixed costs of vehicles
        that leave, what their time and overtime cost, and the penalties of skipped customers; minus
        the collected prize where prize is maximised. A broken rule adds nothing to it, except that
        travelling an arc that does not exist costs infinitely much.
    violations
        Everything that is wrong, route by route, then what concerns the plan as a whole.
    problem, trips
        What was judged: the instance, and the routes with customers.
    """

    cost: float
    violations: tuple[Violation, ...] = ()
    problem: Problem | None = field(default=None, repr=False, compare=False)
    trips: tuple[Trip, ...] = field(default=(), repr=False, compare=False)

    @property
    def feasible(self) -> bool:
        """Whether every rule is kept."""
        return not self.violations

    @cached_property
    def terms(self) -> dict[str, float]:
        """Every term of which an objective may consist: cost, vehicles, makespan and balance."""
        assert self.problem is not None  # the referee says which
        return objective_terms(self.problem, self.trips, self.cost)

    @property
    def objective(self) -> tuple[float, ...]:
        """What is compared of plans, by the problem's objective: the cost alone by default."""
        if self.problem is None or self.problem.objective.is_cost:
            return (self.cost,)
        return self.problem.objective.values(self.terms)


def judge(
    problem: Problem, routes: Iterable[Iterable[int]], vehicles: Iterable[int | str] | None = None
) -> Verdict:
    """Judge a plan: its cost in float64 and all its violations.

    A closed route lists its depot first and last, an open one only first; without a depot there is
    one route, whose first node is not repeated. Routes without customers are ignored. Routes and
    positions are numbered from 1 in messages.

    Parameters
    ----------
    problem, routes
        The instance and the plan.
    vehicles
        For each route the number of the type that drives it, counted from 0, or its name. Where
        the types differ and the plan does not say, the referee takes what breaks the fewest rules
        and, among that, what is cheapest.

    Raises
    ------
    SolutionError
        For a plan that cannot be judged: an entry that is not the number of a node, or not a type
        of vehicle.
    """
    listed = as_routes(problem, routes)
    driven_by = as_vehicles_of(problem, listed, vehicles_of(routes, vehicles))
    trips, violations = [], []
    for number, nodes in enumerate(listed, start=1):
        terms = None if driven_by is None else problem.fleet[driven_by[number - 1]]
        trip, faults = judge_route(problem, number, nodes, terms)
        violations += faults
        if trip is not None:
            trips.append(trip)
    violations += _check_fleet(problem, trips)
    violations += _check_visits(problem, trips)
    violations += check_pairs(problem, trips)
    violations += check_plan_relations(problem, trips)
    violations += _check_prize(problem, trips)
    return Verdict(_cost(problem, trips), tuple(violations), problem, tuple(trips))


def judge_route(
    problem: Problem, number: int, nodes: tuple[int, ...], terms: Terms | None
) -> tuple[Trip | None, list[Violation]]:
    """The route as it is travelled, by a vehicle of a type where there are any, and its faults."""
    if terms is None:
        trip, violations = _check_shape(problem, number, nodes)
    else:
        trip, violations = check_fleet_shape(problem, number, nodes, terms)
    if trip is None:
        return None, violations
    if terms is not None:
        violations += check_permissions(problem, trip)
    violations += check_arcs(problem, trip)
    violations += check_load(problem, trip)
    violations += check_backhauls(problem, trip)
    violations += check_length(problem, trip)
    if problem.has_route_rules:
        trip = replace(trip, schedule=schedule_route(problem, trip.nodes, trip.terms))
        violations += check_route_rules(problem, trip)
    else:
        violations += check_windows(problem, trip) + check_duration(problem, trip)
    return trip, violations + check_route_relations(problem, trip)


def vehicles_of(routes: object, vehicles: Iterable[int | str] | None) -> object:
    """The types that are named, beside the routes or by the routes themselves."""
    return getattr(routes, "vehicles", None) if vehicles is None else vehicles


def as_vehicles_of(
    problem: Problem, routes: tuple[tuple[int, ...], ...], vehicles: object
) -> tuple[int, ...] | None:
    """The type of each route: as stated, or what suits best; None where all vehicles are alike."""
    stated = stated_vehicles(problem, len(routes), vehicles)
    if stated is not None or problem.vehicles is None:
        return stated
    if len(problem.fleet) == 1:
        return (0,) * len(routes)
    depots = set(problem.depots)
    leaves = [row for row, nodes in enumerate(routes) if not depots.issuperset(nodes)]
    resolved = [0] * len(routes)  # an unused vehicle takes no place
    ways = [[routes[row]] * len(problem.fleet) for row in leaves]
    for row, number in zip(leaves, _best_types(problem, ways), strict=True):
        resolved[row] = number
    return tuple(resolved)


def with_best_vehicles(problem: Problem, stops: Sequence[Sequence[int]]) -> FleetRoutes:
    """Routes with these customers, each by the vehicle that suits best: legal first, then cheap.

    Exactly the best of all assignments. The routes begin and end where their vehicles do. Where all
    vehicles are alike but carry several kinds of load, only the depots are chosen.
    """
    ways = [[around(customers, terms) for terms in problem.fleet] for customers in stops]
    chosen = _best_types(problem, ways)
    routes = [of_types[number] for of_types, number in zip(ways, chosen, strict=True)]
    return FleetRoutes(routes, None if problem.vehicles is None else chosen)


def _best_types(problem: Problem, ways: Sequence[Sequence[tuple[int, ...]]]) -> tuple[int, ...]:
    """The type that drives each route, which has customers; ``ways`` are its nodes by type."""
    cost = np.zeros((len(ways), len(problem.fleet)))
    faults = np.zeros_like(cost)
    for row, of_types in enumerate(ways):
        for terms, nodes in zip(problem.fleet, of_types, strict=True):
            trip, violations = judge_route(problem, row + 1, nodes, terms)
            assert trip is not None  # it has customers
            faults[row, terms.number] = len(violations)
            cost[row, terms.number] = _price(trip)
    counts = [terms.count for terms in problem.fleet]
    return cheapest_vehicles(cost, faults, counts) if ways else ()


def around(customers: Sequence[int], terms: Terms) -> tuple[int, ...]:
    """The route of a vehicle that serves these customers."""
    return (terms.start, *customers, *(() if terms.end is None else (terms.end,)))


# ---------------------------------------------------------------------------- reading the routes


def as_routes(problem: Problem, routes: Iterable[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    """The routes as tuples of node numbers, or an error naming route and position."""
    resolved = []
    for number, route in enumerate(_entries("routes", routes, "a list of routes"), start=1):
        nodes = []
        entries = _entries(f"route {number}", route, "a list of nodes")
        for position, entry in enumerate(entries, start=1):
            node = _whole(entry)
            if node is None or not 0 <= node < problem.size:
                raise SolutionError(
                    f"route {number}, position {position}: expected a node from 0 to "
                    f"{problem.size - 1}, received {show(entry)}"
                )
            nodes.append(node)
        resolved.append(tuple(nodes))
    return tuple(resolved)


def _entries(where: str, values: object, expected: str) -> list[object]:
    # A text, a table or a set has entries too, but none in the order of a route.
    if not isinstance(values, str | bytes | Mapping | Set):
        try:
            return list(values)  # type: ignore[call-overload, no-any-return]
        except TypeError:
            pass
    raise SolutionError(f"{where}: expected {expected}, received {show(values)}")


def _whole(value: object) -> int | None:
    """The whole number, of Python's or NumPy's types or a tensor's entry; None for anything else.

    1.7 is no node, and neither are 1.0, True and "1".
    """
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _check_shape(
    problem: Problem, number: int, nodes: tuple[int, ...]
) -> tuple[Trip | None, list[Violation]]:
    """The route as it is travelled, and where its form is wrong; no trip without a customer."""
    if not nodes:
        return None, []
    if not problem.depots:
        return _check_tour(problem, number, nodes)
    faults: list[Violation] = []

    def fault(code: str, text: str, node: int) -> None:
        faults.append(Violation(code, f"route {number} {text}", number, node))

    first, last = nodes[0], nodes[-1]
    starts_at_depot = first in problem.depots
    if set(nodes) == {first} and starts_at_depot and len(nodes) <= 2:
        return None, []  # a vehicle that stays at home
    if not starts_at_depot:
        fault("depot", f"starts at {name_node(problem, first)}, expected a depot", first)
    if problem.open_routes:
        if len(nodes) > 1 and last in problem.depots:
            # The way back neither costs nor counts, so the depot at the end is not travelled to.
            fault("shape", f"ends at depot {last}, but open routes do not list the way back", last)
            nodes = nodes[:-1]
    elif last not in problem.depots:
        home = f"depot {first}" if starts_at_depot else "a depot"
        fault("depot", f"ends at {name_node(problem, last)}, expected to return to {home}", last)
    elif starts_at_depot and last != first:
        fault("depot", f"starts at depot {first} but ends at depot {last}", last)
    inner_end = len(nodes) if problem.open_routes else len(nodes) - 1
    for position in range(1, inner_end):
        node = nodes[position]
        if node in problem.depots:
            fault("depot", f"visits depot {node} on the way, at position {position + 1}", node)
    return Trip.along(problem, number, nodes, problem.uniform_terms(first)), faults


def _check_tour(
    problem: Problem, number: int, nodes: tuple[int, ...]
) -> tuple[Trip | None, list[Violation]]:
    """A tour without a depot: the leg from its last node to its first is understood."""
    faults = []
    if len(nodes) > 1 and nodes[0] == nodes[-1]:
        text = f"route {number} repeats its first node {nodes[0]} at the end, expected it only once"
        faults.append(Violation("shape", text, number, nodes[0]))
        nodes = nodes[:-1]
    return Trip.along(problem, number, nodes, problem.uniform_terms(nodes[0])), faults


# ------------------------------------------------------------------------ the plan as a whole


def _check_fleet(problem: Problem, trips: list[Trip]) -> list[Violation]:
    violations = []
    if problem.max_routes is not None and len(trips) > problem.max_routes:
        has = f"the plan has {len(trips)} routes with customers"
        violations.append(Violation("fleet", f"{has}, at most {problem.max_routes} allowed"))
    return violations if problem.vehicles is None else violations + check_counts(problem, trips)


def _check_visits(problem: Problem, trips: list[Trip]) -> list[Violation]:
    """Compulsory customers exactly once, the others at most once."""
    violations = []
    first_visit: dict[int, int] = {}  # customer -> number of the route that serves it first
    for trip in trips:
        for node in trip.customers:
            if node in first_visit:
                before = f"already visited by route {first_visit[node]}"
                text = f"visits {name_node(problem, node)} again, {before}"
                violations.append(trip.fault("visit", text, node))
            else:
                first_visit[node] = trip.number
    for node in problem.customers:
        if node not in first_visit and math.isinf(problem.penalty[node]):
            text = f"{name_node(problem, node)} is never visited"
            violations.append(Violation("visit", text, node=node))
    return violations


def _check_prize(problem: Problem, trips: list[Trip]) -> list[Violation]:
    """Enough of the real prizes must be collected, or all there is."""
    prizes = problem.real_prizes
    visited = _visited(trips)
    if len(visited) == len(problem.customers):
        return []
    collected = total = 0.0
    for node in problem.customers:
        total += float(prizes[node])
        if node in visited:
            collected += float(prizes[node])
    required = min(problem.min_prize, total)
    # The generated instances require 1, which makes this their 1e-5.
    if collected >= required - BASE_TOLERANCE * problem.min_prize:
        return []
    shown, limit = write_apart(collected, required)
    return [Violation("prize", f"the plan collects a prize of {shown}, at least {limit} required")]


def _visited(trips: list[Trip]) -> set[int]:
    return {node for trip in trips for node in trip.customers}


def _price(trip: Trip) -> float:
    """What a vehicle costs on a route; its fixed cost alone where there is no way."""
    price = trip.terms.fixed_cost + _times(trip.terms.unit_distance_cost, sum(trip.lengths))
    price += _price_of_time(trip)
    return price if math.isfinite(price) else trip.terms.fixed_cost


def _price_of_time(trip: Trip) -> float:
    """What the duration of a route costs, and what of it is overtime."""
    if trip.schedule is None:
        return 0.0
    terms, duration = trip.terms, trip.schedule.duration
    overtime = duration - terms.max_duration if duration > terms.max_duration else 0.0
    return _times(terms.unit_duration_cost, duration) + _times(terms.overtime_cost, overtime)


def _times(rate: float, amount: float) -> float:
    """What an amount costs; infinite where there is no way, even for nothing a unit."""
    return amount if math.isinf(amount) else rate * amount


def _cost(problem: Problem, trips: list[Trip]) -> float:
    visited = _visited(trips)
    cost = 0.0
    if problem.maximise_prize:
        for node in problem.customers:
            if node in visited:
                cost -= float(problem.prize[node])
        return cost
    for trip in trips:
        cost += trip.terms.fixed_cost
        for length in trip.lengths:
            cost += _times(trip.terms.unit_distance_cost, length)
        cost += _price_of_time(trip)
    for node in problem.customers:
        # A skipped compulsory customer is a violation, not a price.
        if node not in visited and math.isfinite(problem.penalty[node]):
            cost += float(problem.penalty[node])
    return cost

"""The referee: what a plan costs, and every rule it breaks, in words.

Written from the definitions in ``docs/concepts``, one instance at a time, in plain loops over
float64. It shares no code with whatever constructed the plan, so that agreement means something.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spacevrp.problems.conversion import show
from spacevrp.problems.errors import SolutionError
from spacevrp.problems.problem import BASE_TOLERANCE, Problem
from spacevrp.problems.referee_rules import (
    Trip,
    Violation,
    check_arcs,
    check_backhauls,
    check_length,
    check_load,
    check_pairs,
    check_windows,
    name_node,
    write_apart,
)

__all__ = ["Verdict", "Violation", "judge"]


@dataclass(frozen=True)
class Verdict:
    """What the referee says of a plan.

    Attributes
    ----------
    cost
        Length of all legs plus the penalties of skipped customers; minus the collected prize where
        prize is maximised. A broken rule adds nothing to it, except that travelling an arc that
        does not exist costs infinitely much.
    violations
        Everything that is wrong, route by route, then what concerns the plan as a whole.
    """

    cost: float
    violations: tuple[Violation, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether every rule is kept."""
        return not self.violations


def judge(problem: Problem, routes: Iterable[Iterable[int]]) -> Verdict:
    """Judge a plan: its cost in float64 and all its violations.

    A closed route lists its depot first and last, an open one only first; without a depot there is
    one route, whose first node is not repeated. Routes without customers are ignored. Routes and
    positions are numbered from 1 in messages.

    Raises
    ------
    SolutionError
        For a plan that cannot be judged: an entry that is not the number of a node.
    """
    trips, violations = [], []
    for number, nodes in enumerate(as_routes(problem, routes), start=1):
        trip, faults = _settle_shape(problem, number, nodes)
        violations += faults
        if trip is None:
            continue
        trips.append(trip)
        violations += check_arcs(problem, trip)
        violations += check_load(problem, trip)
        violations += check_backhauls(problem, trip)
        violations += check_length(problem, trip)
        violations += check_windows(problem, trip)
    violations += _check_fleet(problem, trips)
    violations += _check_visits(problem, trips)
    violations += check_pairs(problem, trips)
    violations += _check_prize(problem, trips)
    return Verdict(_cost(problem, trips), tuple(violations))


# ---------------------------------------------------------------------------- reading the routes


def as_routes(problem: Problem, routes: Iterable[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    """The routes as tuples of node numbers, or an error naming route and position."""
    settled = []
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
        settled.append(tuple(nodes))
    return tuple(settled)


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


def _settle_shape(
    problem: Problem, number: int, nodes: tuple[int, ...]
) -> tuple[Trip | None, list[Violation]]:
    """The route as it is travelled, and where its form is wrong; no trip without a customer."""
    if not nodes:
        return None, []
    if not problem.depots:
        return _settle_tour(problem, number, nodes)
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
    if all(node in problem.depots for node in nodes):
        return None, faults
    legs = tuple(pairwise(nodes))
    customers = tuple(node for node in nodes if node not in problem.depots)
    return Trip(number, nodes, customers, legs, _lengths(problem, legs)), faults


def _settle_tour(
    problem: Problem, number: int, nodes: tuple[int, ...]
) -> tuple[Trip, list[Violation]]:
    """A tour without a depot: the leg from its last node to its first is understood."""
    faults = []
    if len(nodes) > 1 and nodes[0] == nodes[-1]:
        text = f"route {number} repeats its first node {nodes[0]} at the end, expected it only once"
        faults.append(Violation("shape", text, number, nodes[0]))
        nodes = nodes[:-1]
    legs = tuple(zip(nodes, nodes[1:] + nodes[:1], strict=True))
    return Trip(number, nodes, nodes, legs, _lengths(problem, legs)), faults


def _lengths(problem: Problem, legs: tuple[tuple[int, int], ...]) -> tuple[float, ...]:
    return tuple(problem.distances.between(origin, target) for origin, target in legs)


# ------------------------------------------------------------------------ the plan as a whole


def _check_fleet(problem: Problem, trips: list[Trip]) -> list[Violation]:
    if problem.max_routes is None or len(trips) <= problem.max_routes:
        return []
    text = f"the plan has {len(trips)} routes with customers, at most {problem.max_routes} allowed"
    return [Violation("fleet", text)]


def _check_visits(problem: Problem, trips: list[Trip]) -> list[Violation]:
    """Compulsory customers exactly once, the others at most once."""
    violations = []
    first_visit: dict[int, int] = {}  # customer -> number of the route that serves it first
    for trip in trips:
        for node in trip.customers:
            if node in first_visit:
                text = (
                    f"route {trip.number} visits {name_node(problem, node)} again, "
                    f"already visited by route {first_visit[node]}"
                )
                violations.append(Violation("visit", text, trip.number, node))
            else:
                first_visit[node] = trip.number
    for node in problem.customers:
        if node not in first_visit and math.isinf(problem.penalty[node]):
            text = f"{name_node(problem, node)} is never visited"
            violations.append(Violation("visit", text, node=node))
    return violations


def _check_prize(problem: Problem, trips: list[Trip]) -> list[Violation]:
    """Enough of the real prizes must be collected, or all there is."""
    prizes = problem.prize if problem.revealed_prize is None else problem.revealed_prize
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


def _cost(problem: Problem, trips: list[Trip]) -> float:
    visited = _visited(trips)
    cost = 0.0
    if problem.maximise_prize:
        for node in problem.customers:
            if node in visited:
                cost -= float(problem.prize[node])
        return cost
    for trip in trips:
        for length in trip.lengths:
            cost += length
    for node in problem.customers:
        # A skipped compulsory customer is a violation, not a price.
        if node not in visited and math.isfinite(problem.penalty[node]):
            cost += float(problem.penalty[node])
    return cost

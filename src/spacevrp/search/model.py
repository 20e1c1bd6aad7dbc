"""A Problem as the compiled search takes it, and plans on their way in and out.

The search holds a plan for feasible only where the referee does, too. So the limits that it is
given lie inside the referee's: half of the slack that the referee allows is added to each of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacevrp import native
from spacevrp.problems.conversion import Array
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.fleet import Terms
from spacevrp.problems.judging import judge_all, with_vehicles
from spacevrp.problems.problem import BASE_TOLERANCE, Problem
from spacevrp.problems.referee import around
from spacevrp.problems.relations import has_jobs_beside_pairs, present_relations
from spacevrp.problems.solution import Solution
from spacevrp.search.route_rules import fastest, needs_times, rule_arguments

# Nodes up to which the search is given a matrix; beyond, it measures from coordinates.
MATRIX_NODES = 3000
# Of the referee's slack, so much is used: what is left is for rounding errors.
_SHARE = 0.5
# A duration also profits from the slack of windows, as the vehicle leaves later by as much.
_SHARE_OF_DURATION = 0.25

# Routes of customers without depots, and the type of vehicle of each.
Plan = tuple[list[list[int]], list[int]]


@dataclass(frozen=True)
class Native:
    """A problem and the compiled model of it.

    Attributes
    ----------
    problem
        What the plans are judged against: where only visits reveal prizes, the problem as expected.
    model
        The ``Model`` of the compiled module.
    """

    problem: Problem
    model: Any

    def start_of(self, solution: Solution) -> Plan:
        """The routes of a plan without their depots, and their types; empty routes are dropped."""
        depots = set(self.problem.depots)
        if not depots:
            return _tours_of(solution)
        type_of_depot = {depot: number for number, depot in enumerate(self.problem.depots)}
        routes, types = [], []
        for row, nodes in enumerate(solution.routes):
            customers = [node for node in nodes if node not in depots]
            if not customers:
                continue
            routes.append(customers)
            if solution.vehicles is not None:
                types.append(solution.vehicles[row])
            else:  # a route that begins elsewhere breaks a rule anyway
                types.append(type_of_depot.get(nodes[0], 0) if self.problem.vehicles is None else 0)
        return routes, types

    def solution(self, routes: Sequence[Sequence[int]], types: Sequence[int]) -> Solution:
        """A plan of the search as the referee judges it."""
        return solution_of(self.problem, routes, types, self.model)


def native_model(problem: Problem, candidates: NDArray[np.int32] | None = None) -> Native:
    """The compiled model of a problem; where only visits reveal prizes, with the expected ones.

    Parameters
    ----------
    candidates
        (N, C) nodes that each node should be tried next to, best first; -1 ends a list. None for
        the nearest.

    Raises
    ------
    UnsupportedError
        Without the compiled module.
    """
    if native.core is None:
        raise UnsupportedError(native.MISSING)
    known = problem.as_expected() if problem.has_unknown_prizes else problem
    arguments = model_arguments(known)
    if candidates is not None:
        arguments["candidates"] = np.ascontiguousarray(candidates, dtype=np.int32)
    return Native(known, native.core.Model(**arguments))


# ------------------------------------------------------------------------------------- the numbers


def model_arguments(problem: Problem) -> dict[str, Any]:
    """Everything that the compiled model is told of a problem, by name: no revealed prizes."""
    fleet = _fleet(problem)
    timed = _times_bind(problem, fleet)
    arguments = _roads(problem, timed, fastest(fleet))
    arguments |= _nodes(problem, timed)
    arguments |= _vehicles(problem, fleet, timed)
    arguments["rules"] = rule_arguments(problem, fleet, timed)
    arguments |= relation_arguments(problem)
    return arguments


def _fleet(problem: Problem) -> tuple[Terms, ...]:
    """The types of vehicles; a tour without a depot begins and ends at node 0."""
    if problem.depots:
        return problem.fleet
    return (Terms(0, "", 1, problem.capacities, 0, 0, 0.0, problem.max_length),)


def _times_bind(problem: Problem, fleet: Sequence[Terms]) -> bool:
    """Whether a vehicle can be late anywhere, or under way for too long."""
    if not problem.depots:
        return False
    if any(math.isfinite(terms.max_duration) for terms in fleet):
        return True
    if problem.max_ride is not None or measures_routes(problem) or needs_times(problem, fleet):
        return True
    closing = problem.windows[:, 1]
    if any(math.isfinite(terms.back_by) for terms in fleet):
        return True
    if math.isinf(closing.min()):
        return False
    ends = [terms.end for terms in fleet if terms.end is not None]
    ends += [depot for terms in fleet for depot in terms.reload_depots]
    return bool(
        np.isfinite(closing[list(problem.customers)]).any() or np.isfinite(closing[ends]).any()
    )


def _roads(problem: Problem, timed: bool, speed: float) -> dict[str, Any]:
    """Distances, and durations where they differ; an arc that one of both lacks does not exist.

    Durations are those of the fastest vehicle.
    """
    lengths, times = problem.distances, problem.durations
    own_times = times is not lengths
    missing = own_times and (times.has_missing_arcs or lengths.has_missing_arcs)
    three = lengths.metric.rounding == "three-decimals"
    by_points = (
        lengths.coordinates is not None
        and problem.size > MATRIX_NODES
        and not times.has_missing_arcs
        and not three  # the search does not measure so, and is given a matrix
    )
    metric = lengths.metric
    arguments: dict[str, Any] = {
        "coordinates": None if lengths.coordinates is None else _plain(lengths.coordinates),
        "geometry": metric.geometry,
        "rounding": "none" if three else metric.rounding,
        "distances": None,
        "durations": None,
    }
    if not by_points:
        matrix = lengths.matrix()
        if missing:
            matrix = np.where(np.isinf(times.matrix()), np.inf, matrix)
        arguments["distances"] = _plain(matrix)
    if timed and ((own_times and not _alike(lengths, times)) or speed != 1):
        matrix = times.matrix() / speed
        if missing:
            matrix = np.where(np.isinf(lengths.matrix()), np.inf, matrix)
        arguments["durations"] = _plain(matrix)
    return arguments


def _alike(lengths: Distances, times: Distances) -> bool:
    """Whether both are the same points, measured in the same way."""
    return (
        lengths.coordinates is not None
        and times.coordinates is not None
        and lengths.metric == times.metric
        and np.array_equal(lengths.coordinates, times.coordinates)
    )


def _nodes(problem: Problem, timed: bool) -> dict[str, Any]:
    """What holds for nodes (N,), and for the plan as a whole."""
    size = problem.size
    partner = np.full(size, -1, dtype=np.int32)
    is_pickup = np.zeros(size, dtype=np.uint8)
    for pickup, delivery in problem.pairs:
        partner[pickup], partner[delivery] = delivery, pickup
        is_pickup[pickup] = 1
    penalty = problem.penalty
    if problem.maximise_prize:  # then nothing but prize counts
        penalty = np.where(np.isinf(penalty), np.inf, 0.0)
    customers = problem.customers if problem.depots else range(1, size)
    return {
        "demand": _plain(
            problem.loads if problem.pickup is None else problem.loads - problem.pickups
        ),
        "opening": _plain(problem.windows[:, 0]),
        "closing": _plain(problem.windows[:, 1]),
        "service": _plain(problem.service),
        "timed": timed,
        "time_slack": _SHARE * problem.time_tolerance if timed else 0.0,
        "penalty": _plain(penalty),
        "prize": _plain(problem.prize),
        "maximise_prize": problem.maximise_prize,
        "min_prize": _required_prize(problem),
        "partner": partner,
        "is_pickup": is_pickup,
        "customers": np.array(customers, dtype=np.int32),
        "load_rule": _load_rule(problem),
        "backhaul_last": problem.backhaul_last,
        "max_routes": -1 if problem.max_routes is None else problem.max_routes,
    }


def _load_rule(problem: Problem) -> str:
    if problem.pickup is not None or has_jobs_beside_pairs(problem):
        return "mixed"
    if problem.pairs:
        return "pairs"
    # The rule `paper` restricts how plans are constructed; what they mean is `single`.
    return "separate" if problem.load_rule == "separate" else "single"


def _required_prize(problem: Problem) -> float:
    """The least prize that the referee accepts, less half of its slack; 0 for none."""
    if problem.min_prize == 0.0:
        return 0.0
    total = float(problem.prize[list(problem.customers)].sum())
    required = min(problem.min_prize, total)
    return max(required - _SHARE * BASE_TOLERANCE * problem.min_prize, 0.0)


def _vehicles(problem: Problem, fleet: Sequence[Terms], timed: bool) -> dict[str, Any]:
    """What holds for the types of vehicles (K,)."""
    # To find out a slack takes a while; where nothing is limited there is no need of one.
    limited = any(math.isfinite(terms.max_length) for terms in fleet)
    slack_of_length = _SHARE * problem.length_tolerance if limited else 0.0
    slack_of_time = _SHARE * problem.time_tolerance if timed else 0.0
    slack_of_duration = _SHARE_OF_DURATION * problem.time_tolerance if timed else 0.0
    allowed = None
    if any(terms.forbidden for terms in fleet):
        allowed = np.ones((len(fleet), problem.size), dtype=np.uint8)
        for row, terms in enumerate(fleet):
            allowed[row, sorted(terms.forbidden)] = 0
    return {
        "start": np.array([terms.start for terms in fleet], dtype=np.int32),
        "end": np.array([-1 if t.end is None else t.end for t in fleet], dtype=np.int32),
        "capacity": np.array(
            [
                [
                    capacity + _SHARE * problem.load_slack(capacity, kind)
                    for kind, capacity in enumerate(terms.capacities)
                ]
                for terms in fleet
            ]
        ),
        "fixed_cost": np.array([terms.fixed_cost for terms in fleet]),
        "unit_cost": np.array([terms.unit_distance_cost for terms in fleet]),
        "max_length": np.array([terms.max_length + slack_of_length for terms in fleet]),
        "max_duration": np.array(
            [terms.max_duration + terms.max_overtime + slack_of_duration for terms in fleet]
        ),
        "leaves_from": np.array([terms.leaves_from for terms in fleet]),
        "back_by": np.array([terms.back_by + slack_of_time for terms in fleet]),
        "count": np.array([-1 if t.count is None else t.count for t in fleet], dtype=np.int32),
        "allowed": allowed,
        "pinned": [list(terms.pinned) for terms in fleet],
    }


def _plain(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)


def measures_routes(problem: Problem) -> bool:
    """Whether it counts how long routes take."""
    return bool({"makespan", "balance"} & set(problem.objective.terms))


def relation_arguments(problem: Problem) -> dict[str, Any]:
    """What the compiled model is told beside the rest; nothing where there is nothing to tell."""
    mixed = problem.pickup is not None or has_jobs_beside_pairs(problem)
    present = present_relations(problem)
    if not present and not mixed:
        return {}
    told: dict[str, Any] = {}
    if mixed:  # what lies in the vehicle from the start, (N, D)
        delivered = np.maximum(problem.loads, 0.0)
        delivered[[node for pair in problem.pairs for node in pair]] = 0.0
        told["delivered"] = delivered.ravel().tolist()
    if problem.max_ride is not None:
        rides = np.full(problem.size, np.inf)
        rides[[pickup for pickup, _ in problem.pairs]] = problem.max_ride
        told["max_ride"] = rides.tolist()
    if problem.groups:
        told["groups"] = [(list(group.nodes), group.required) for group in problem.groups]
    if problem.priority is not None:
        told["priority"] = problem.priority.tolist()
    if not problem.objective.is_cost:
        told["first"] = list(problem.objective.first)
        told["weights"] = list(problem.objective.weights)
    for name in ("lifo", "same_route", "different_routes", "order"):
        if name in present:
            told[name] = getattr(problem, name)
    return {"relations": told}


# --------------------------------------------------------------------------------------- the plans


def _tours_of(solution: Solution) -> Plan:
    """Tours without a depot: turned so that node 0 comes first, and without it."""
    routes = []
    for nodes in solution.routes:
        at = nodes.index(0) if 0 in nodes else -1
        turned = [*nodes[at + 1 :], *nodes[: max(at, 0)]]
        if turned:
            routes.append(turned)
    return routes, [0] * len(routes)


def solution_of(
    problem: Problem,
    routes: Sequence[Sequence[int]],
    types: Sequence[int],
    model: Any = None,
) -> Solution:
    """A plan of the search, refereed; by its compiled model, where there is one already."""
    return Solution.judged(problem, _written(problem, routes, types, model))


def solutions_of(several: Sequence[Native], plans: Sequence[Plan]) -> list[Solution]:
    """Plans of the search, one for each problem, refereed."""
    return judge_all(
        [one.problem for one in several],
        [_written(one.problem, *plan, one.model) for one, plan in zip(several, plans, strict=True)],
    )


def _written(
    problem: Problem, routes: Sequence[Sequence[int]], types: Sequence[int], model: Any
) -> tuple[tuple[int, ...], ...]:
    """The routes with their depots, as the referee reads them, and without empty ones.

    The search leaves reloads out of its routes; its model knows where they come best.
    """
    if not problem.depots:
        return tuple((0, *route) for route in routes if route) or ((0,),)
    fleet = problem.fleet
    if any(terms.may_reload for terms in fleet):
        routes = (model or native_model(problem).model).visits(routes, types)
    driven = [
        (around(route, fleet[number]), number)
        for route, number in zip(routes, types, strict=True)
        if route
    ]
    vehicles = None if problem.vehicles is None else [number for _, number in driven]
    return with_vehicles(tuple(route for route, _ in driven), vehicles)

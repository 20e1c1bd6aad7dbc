"""The same problem in a form that the model was trained on.

Nothing need limit a user's routes, while every vehicle of the training has a capacity. A capacity
that can never be reached changes no plan and no cost, and makes the problem a named variant. Where
nothing at all limits a route, the problem is a travelling salesman's.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from spacevrp.problems.distances import Distances
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import name_features

Routes = Sequence[Sequence[int]]


def canonical(problem: Problem) -> Problem:
    """A problem with the same nodes, of which every plan is a plan of this one at the same cost.

    See :func:`restore` for the way back. The problem itself, where it is canonical already.
    """
    if not _may_change(problem):
        return problem
    if _is_tour(problem):
        return Problem(
            _over_the_depot(problem), name=problem.name, allow_unservable=problem.allow_unservable
        )
    if problem.max_routes == 1:
        return problem
    demand = np.ones(problem.size)
    if problem.backhaul_last:
        demand = np.sign(problem.demand)  # who comes first depends on the signs
    demand[list(problem.depots)] = 0.0
    if not demand.any():
        return problem
    return problem.replace(
        demand=demand, capacity=float(len(problem.customers)), load_rule="single"
    )


def _may_change(problem: Problem) -> bool:
    if problem.variant is not None or not problem.depots or problem.pairs:
        return False
    if problem.has_route_rules:
        return False  # nothing else says the same
    if needs_fleet_rules(problem):
        return False  # shown as something simpler anyway (see spacevrp.tensors.fleet)
    features = problem.inferred_features
    return not (features.capacity or features.orienteering or features.prize_collecting)


def needs_fleet_rules(problem: Problem) -> bool:
    """Whether plans are built by the rules of fleets, and the model is shown something simpler.

    So it is where vehicles differ, where they carry several kinds of load, and where customers may
    be left out of a problem that no variant is named after.
    """
    if problem.has_own_fleet:
        return True
    features = problem.features
    return features.prize_collecting and problem.variant is None and not name_features(features)


def restore(problem: Problem, routes: Routes) -> Routes:
    """Routes of :func:`canonical` as routes of the problem: a tour begins and ends at its depot.

    It passes there, too, where that is shorter, and so makes several routes.
    """
    if not _may_change(problem) or not _is_tour(problem):
        return routes
    (depot,) = problem.depots
    (tour,) = routes
    first = tour.index(depot)
    whole = (*tour[first:], *tour[:first], depot)
    if not _may_pass_home(problem):
        return (whole,)
    between = problem.distances.between
    parts: list[list[int]] = [[depot]]
    for node, after in pairwise(whole[1:]):
        parts[-1].append(node)
        if depot != after and between(node, depot) + between(depot, after) < between(node, after):
            parts[-1].append(depot)
            parts.append([depot])
    parts[-1].append(depot)
    return tuple(map(tuple, parts))


def _may_pass_home(problem: Problem) -> bool:
    """Whether the way over the depot may be shorter: there are a matrix and several routes.

    Between points of a map it is not, but for what rounding does.
    """
    return problem.max_routes != 1 and problem.distances.coordinates is None


def _over_the_depot(problem: Problem) -> Distances:
    """Distances with arcs that are no longer than the way over the depot, which ends a route."""
    if not _may_pass_home(problem):
        return problem.distances
    (depot,) = problem.depots
    length = problem.distances.matrix()
    over = length[:, [depot]] + length[[depot]]  # (N, N)
    np.fill_diagonal(over, np.inf)
    if (over >= length).all():
        return problem.distances
    return Distances(matrix=np.minimum(length, over))


def _is_tour(problem: Problem) -> bool:
    """Whether one closed route, wherever it begins, is all there is to decide.

    Several routes are shorter than one only where the way over the depot is shorter than the direct
    one (see :func:`restore`); and they may be needed where roads are missing.
    """
    roads_missing = problem.distances.has_missing_arcs or problem.durations.has_missing_arcs
    if problem.durations is not problem.distances and problem.durations.has_missing_arcs:
        return False  # a tour knows one matrix only
    if roads_missing and problem.max_routes != 1:
        return False
    features = problem.inferred_features
    limits = {"time_windows", "length_limit", "open_routes", "backhaul_last", "multi_depot"}
    if limits.intersection(features.active) or len(problem.depots) != 1:
        return False
    # A tour cannot count how often it passes home.
    unlimited = problem.max_routes is None or problem.max_routes == 1
    return unlimited or _over_the_depot(problem) is problem.distances

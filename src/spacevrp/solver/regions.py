"""Plans of many routes, planned anew region by region.

Neighbouring routes are together a smaller problem, which the network plans better than a whole: it
was trained with up to a hundred customers, and few routes leave less to chance than many. Where the
new routes are better they take the place of the old ones. Every round divides the plan otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from spacevrp.problems.errors import ProblemError
from spacevrp.problems.familiar import needs_fleet_rules
from spacevrp.problems.parts import restricted
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.plans import SMALL

# Views in each round: others than in the rounds before.
VIEWS = 2
# A plan that became so little cheaper over two rounds has no more to gain.
_ENOUGH = 5e-4
# Customers of a region at most, and as a share of all, in turn from round to round.
_SIZES = ((100, 1 / 2), (60, 1 / 3))
# But not fewer than the network was trained with; and fewer than twice as many are not divided.
_FEWEST = 20
# Routes that a region is put together from: the first, and those nearest to it.
_NEAREST = 24


@dataclass(frozen=True)
class Region:
    """Neighbouring routes as a problem of their own.

    Attributes
    ----------
    routes
        Their numbers in the plan.
    problem
        The customers they serve, and all depots.
    nodes
        Which nodes of the whole problem its nodes are.
    old
        The routes as a plan of it.
    """

    routes: tuple[int, ...]
    problem: Problem
    nodes: Sequence[int]
    old: Solution


def is_divisible(problem: Problem) -> bool:
    """Whether parts of a plan can be planned alone: vehicles are alike, and all must be served."""
    features = problem.features
    if features.orienteering or features.prize_collecting or needs_fleet_rules(problem):
        return False
    return bool(problem.depots) and len(problem.customers) >= 2 * _FEWEST


def is_exhausted(costs: Sequence[float]) -> bool:
    """Whether a plan that cost so much, at first and after each round, has no more to gain."""
    return len(costs) > 2 and costs[-3] - costs[-1] < _ENOUGH * costs[-1]


def divide(problem: Problem, plan: Solution, number: int, seed: int) -> list[Region]:
    """The regions of a round: two routes at least, and not all; some routes may be in none."""
    depots = set(problem.depots)
    stops = [[node for node in route if node not in depots] for route in plan.routes]
    size, share = _SIZES[number % len(_SIZES)]
    most = max(_FEWEST, min(size, round(share * len(problem.customers))))
    chosen = _groups(problem, stops, most, np.random.default_rng([seed, number]))
    found = []
    for routes in chosen:
        # An instance may be legal by a hair with tolerances that its parts do not have.
        with suppress(ProblemError):
            found.append(_region(problem, plan, routes, stops))
    return found


def put_together(
    problem: Problem, plan: Solution, regions: Sequence[Region], new: Sequence[Solution | None]
) -> Solution:
    """The plan with the new routes of all regions where these cost less."""
    gone: set[int] = set()
    fresh: list[tuple[int, ...]] = []
    for region, found in zip(regions, new, strict=True):
        if found is not None and found.cost < region.old.cost:
            gone.update(region.routes)
            fresh += [tuple(region.nodes[node] for node in route) for route in found.routes]
    stay = [route for number, route in enumerate(plan.routes) if number not in gone]
    whole = Solution.judged(problem, [*stay, *fresh])
    return whole if whole.feasible and whole.cost < plan.cost else plan


def _region(
    problem: Problem, plan: Solution, routes: tuple[int, ...], stops: Sequence[Sequence[int]]
) -> Region:
    customers = [node for number in routes for node in stops[number]]
    part, nodes = restricted(problem, sorted({*problem.depots, *customers}))
    if problem.max_routes is not None:
        part = part.replace(max_routes=len(routes))
    place = {node: position for position, node in enumerate(nodes)}
    old = [tuple(place[node] for node in plan.routes[number]) for number in routes]
    return Region(routes, part, nodes, Solution.judged(part, old))


def _groups(
    problem: Problem, stops: Sequence[Sequence[int]], most: int, random: np.random.Generator
) -> list[tuple[int, ...]]:
    """Numbers of neighbouring routes with so many customers at most, beginning anywhere.

    Two routes may have more, as long as the region is not large itself.
    """
    apart = _apart(problem, stops)
    sizes = [len(some) for some in stops]
    free = np.ones(len(stops), dtype=bool)
    found = []
    for first in random.permutation(len(stops)):
        if not free[first]:
            continue
        group, total = [int(first)], sizes[first]
        near = np.argsort(apart(int(first)), kind="stable")[: _NEAREST + 1]
        for route in near[free[near] & (near != first)]:
            limit = most if len(group) > 1 else SMALL
            if total + sizes[route] > limit:
                break
            group.append(int(route))
            total += sizes[route]
        free[group] = False
        if 1 < len(group) < len(stops):
            found.append(tuple(group))
    return found


def _apart(problem: Problem, stops: Sequence[Sequence[int]]) -> Callable[[int], np.ndarray]:
    """A function that tells how far all routes are from one: between middles, or in the mean."""
    where = problem.distances.coordinates
    if where is not None:
        middles = np.array([where[list(some)].mean(axis=0) for some in stops])  # (R, 2)

        def between_middles(route: int) -> np.ndarray:
            away: np.ndarray = np.square(middles - middles[route]).sum(axis=1)
            return away

        return between_middles
    length = problem.distances.matrix()
    exists = np.isfinite(length)
    if not exists.all():  # what does not exist is further than all that does
        length = np.where(exists, length, 2 * length[exists].max())
    owner = np.zeros((len(stops), len(length)))
    for number, some in enumerate(stops):
        owner[number, list(some)] = 1 / len(some)
    means = owner @ length @ owner.T  # (R, R)
    means = means + means.T

    def in_the_mean(route: int) -> np.ndarray:
        row: np.ndarray = means[route]
        return row

    return in_the_mean

"""Proven optima of tiny instances by plain enumeration; only the referee knows the rules."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, permutations

from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge


def optimum(problem: Problem) -> float:
    """The least cost of any feasible plan; inf where there is none.

    Customers are split into sets; each set is one route from some depot in some order. A plan is
    feasible exactly if its routes are and if it keeps the rules on the whole (fleet, visits,
    prize), so the best order of each set can be found on its own.
    """
    if not problem.depots:
        rest = range(1, problem.size)
        return min(judge(problem, [(0, *order)]).cost for order in permutations(rest))
    best_route: dict[frozenset[int], tuple[int, ...]] = {}
    for count in range(1, len(problem.customers) + 1):
        for chosen in combinations(problem.customers, count):
            route = _best_route(problem, chosen)
            if route is not None:
                best_route[frozenset(chosen)] = route
    best = math.inf
    for plan in _plans(frozenset(problem.customers), best_route, problem):
        verdict = judge(problem, plan)
        if verdict.feasible:
            best = min(best, verdict.cost)
    return best


def _best_route(problem: Problem, chosen: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shortest order and depot in which a route through these customers breaks no rule."""
    # What concerns the plan as a whole is not the route's fault.
    whole_plan = {"visit", "prize", "fleet"}
    best, best_length = None, math.inf
    for depot in problem.depots:
        for order in permutations(chosen):
            route = (depot, *order) if problem.open_routes else (depot, *order, depot)
            length = math.fsum(
                problem.distances.between(a, b) for a, b in zip(route, route[1:], strict=False)
            )
            if length >= best_length:
                continue
            violations = judge(problem, [route]).violations
            if all(violation.code in whole_plan for violation in violations):
                best, best_length = route, length
    return best


def _plans(
    left: frozenset[int], best_route: dict[frozenset[int], tuple[int, ...]], problem: Problem
) -> Iterator[list[tuple[int, ...]]]:
    """All ways to split some of the customers into routes."""
    if not left:
        yield []
        return
    first = min(left)
    others = sorted(left - {first})
    if math.isfinite(problem.penalty[first]):
        yield from _plans(left - {first}, best_route, problem)
    for count in range(len(others) + 1):
        for mates in combinations(others, count):
            members = frozenset((first, *mates))
            if members in best_route:
                for plan in _plans(left - members, best_route, problem):
                    yield [best_route[members], *plan]

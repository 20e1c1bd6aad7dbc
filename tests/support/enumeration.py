"""Proven optima of tiny instances by plain enumeration; only the referee knows the rules."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, pairwise, permutations

from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around, judge
from spacevrp.problems.solution import Solution

Drive = tuple[tuple[int, ...], int]  # a route and the type that drives it
# What concerns the plan as a whole is not the fault of a route.
OF_THE_PLAN = {"visit", "prize", "fleet"}


def best_plan(problem: Problem) -> Solution | None:
    """The cheapest of all feasible plans; None where there is none.

    Customers are split into sets; each set is one route by some vehicle in some order. A plan is
    feasible exactly if its routes are and if it keeps the rules on the whole, so the best order of
    each set can be found on its own.
    """
    if not problem.depots:
        tours = [[(0, *order)] for order in permutations(range(1, problem.size))]
        return min((Solution.judged(problem, tour) for tour in tours), key=lambda one: one.cost)
    drives: dict[frozenset[int], list[Drive]] = {}
    for count in range(1, len(problem.customers) + 1):
        for chosen in combinations(problem.customers, count):
            drives[frozenset(chosen)] = list(_best_orders(problem, chosen))
    best: Solution | None = None
    for plan in _plans(frozenset(problem.customers), drives, problem):
        length = sum(_length(problem, nodes) for nodes, _ in plan)
        if best is not None and not problem.maximise_prize and length > best.cost:
            continue  # costs are no less than lengths
        numbers = None if problem.vehicles is None else [number for _, number in plan]
        solution = Solution.judged(problem, [nodes for nodes, _ in plan], numbers)
        if solution.feasible and (best is None or solution.cost < best.cost):
            best = solution
    return best


def _length(problem: Problem, nodes: tuple[int, ...]) -> float:
    return math.fsum(problem.distances.between(a, b) for a, b in pairwise(nodes))


def _best_orders(problem: Problem, chosen: tuple[int, ...]) -> Iterator[Drive]:
    """Of each type the shortest order in which a route through these customers breaks no rule."""
    for terms in problem.fleet:
        vehicles = None if problem.vehicles is None else [terms.number]
        routes = [around(order, terms) for order in permutations(chosen)]
        for nodes in sorted(routes, key=lambda route: _length(problem, route)):
            faults = judge(problem, [nodes], vehicles).violations
            if not any(v.route == 1 and v.code not in OF_THE_PLAN for v in faults):
                yield nodes, terms.number
                break


def _plans(
    left: frozenset[int], drives: dict[frozenset[int], list[Drive]], problem: Problem
) -> Iterator[list[Drive]]:
    """All ways to split some of the customers into routes."""
    if not left:
        yield []
        return
    first = min(left)
    if math.isfinite(problem.penalty[first]):
        yield from _plans(left - {first}, drives, problem)
    for count in range(len(left)):
        for mates in combinations(sorted(left - {first}), count):
            some = frozenset((first, *mates))
            for drive in drives[some]:
                for rest in _plans(left - some, drives, problem):
                    yield [drive, *rest]

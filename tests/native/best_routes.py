"""The least cost of a tiny problem by trying out every plan, judged by the referee alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, permutations, product

from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around, judge


def least_cost(problem: Problem) -> tuple[int, float]:
    """How many compulsory customers must be left out, and the least cost of those plans."""
    routes = {
        (subset, terms.number): _best_route(problem, subset, terms)
        for size in range(1, len(problem.customers) + 1)
        for subset in combinations(problem.customers, size)
        for terms in problem.fleet
    }
    base = judge(problem, [], []).cost
    return min(_plans(problem, routes, frozenset(problem.customers), {}, 0, base))


def _plans(
    problem: Problem,
    routes: dict[tuple[tuple[int, ...], int], float],
    left: frozenset[int],
    used: dict[int, int],
    missing: int,
    cost: float,
) -> Iterator[tuple[int, float]]:
    """Every way to serve who is left, the first of them by one route or not at all."""
    if not left:
        yield missing, cost
        return
    first = min(left)
    skipped = int(math.isinf(problem.penalty[first]))
    yield from _plans(problem, routes, left - {first}, used, missing + skipped, cost)
    if problem.max_routes is not None and sum(used.values()) >= problem.max_routes:
        return
    others = sorted(left - {first})
    for size in range(len(others) + 1):
        for some in combinations(others, size):
            subset = tuple(sorted((first, *some)))
            for terms in problem.fleet:
                price = routes[subset, terms.number]
                count = used.get(terms.number, 0)
                if math.isinf(price) or (terms.count is not None and count >= terms.count):
                    continue
                yield from _plans(
                    problem,
                    routes,
                    left - set(subset),
                    used | {terms.number: count + 1},
                    missing,
                    cost + price,
                )


def _best_route(problem: Problem, subset: tuple[int, ...], terms: Terms) -> float:
    """The least that a route adds to the cost of the plan without any; infinite if it cannot be."""
    base = judge(problem, [], []).cost
    best = math.inf
    for order in permutations(subset):
        for visits in _with_reloads(order, terms):
            verdict = judge(problem, [around(visits, terms)], [terms.number])
            if all(one.route is None for one in verdict.violations):
                best = min(best, verdict.cost - base)
    return best


def _with_reloads(order: tuple[int, ...], terms: Terms) -> Iterator[tuple[int, ...]]:
    depots = terms.reload_depots if terms.may_reload else ()
    between = [((), *((depot,) for depot in depots)) for _ in order]
    if terms.on_board is None:
        between[0] = ((),)  # at the start, only who has goods on board needs others
    for choice in product(*between):
        yield tuple(
            node for reload, stop in zip(choice, order, strict=True) for node in (*reload, stop)
        )

"""The best plan of a tiny problem by trying out all of them; only the referee knows the rules."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, pairwise, permutations, product

from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around, judge
from spacevrp.problems.solution import Solution

# What a route adds to the cost of the plan without any, the route, and the type that drives it.
Drive = tuple[float, tuple[int, ...], int]


def best_plan(problem: Problem, *, partial: bool = False) -> Solution | None:
    """The cheapest of all feasible plans; None where there is none.

    A partial plan may leave out compulsory customers, the fewest there can be.

    Customers are split into sets; each set is one route by some vehicle in some order. A plan is
    feasible exactly if its routes are and if it keeps the rules on the whole, so the best order of
    each set can be found on its own.
    """
    if not problem.depots:
        tours = [[(0, *order)] for order in permutations(range(1, problem.size))]
        return min((Solution.judged(problem, tour) for tour in tours), key=lambda one: one.cost)
    base = judge(problem, []).cost
    drives = {
        frozenset(some): [
            drive for terms in problem.fleet for drive in _best_drive(problem, some, terms, base)
        ]
        for count in range(1, len(problem.customers) + 1)
        for some in combinations(problem.customers, count)
    }
    best, least = None, (math.inf, math.inf)
    for plan, missing in _plans(problem, drives, frozenset(problem.customers), ()):
        rank = (missing, base + math.fsum(cost for cost, _, _ in plan))
        if rank >= least or (missing and not partial):
            continue
        types = None if problem.vehicles is None else [number for _, _, number in plan]
        solution = Solution.judged(problem, [nodes for _, nodes, _ in plan], types)
        if solution.is_legal if partial else solution.feasible:
            best, least = solution, rank
    return best


def _best_drive(
    problem: Problem, some: tuple[int, ...], terms: Terms, base: float
) -> Iterator[Drive]:
    """The cheapest order, with reloads, in which a route through these customers keeps the rules.

    None where there is none.
    """
    orders = (visits for order in permutations(some) for visits in _with_reloads(order, terms))
    best: Drive | None = None
    for nodes in sorted(
        (around(one, terms) for one in orders), key=lambda one: _length(problem, one)
    ):
        verdict = judge(problem, [nodes], None if problem.vehicles is None else [terms.number])
        cost = verdict.cost - base
        if all(one.route is None for one in verdict.violations) and (
            best is None or cost < best[0]
        ):
            best = cost, nodes, terms.number
            if not problem.has_route_rules:  # the shortest is the cheapest
                break
    if best is not None:
        yield best


def _length(problem: Problem, nodes: tuple[int, ...]) -> float:
    return math.fsum(problem.distances.between(a, b) for a, b in pairwise(nodes))


def _with_reloads(order: tuple[int, ...], terms: Terms) -> Iterator[tuple[int, ...]]:
    depots = terms.reload_depots if terms.may_reload else ()
    between = [((), *((depot,) for depot in depots)) for _ in order]
    if terms.on_board is None:
        between[0] = ((),)  # at the start, only who has goods on board needs others
    for choice in product(*between):
        yield tuple(
            node for reload, stop in zip(choice, order, strict=True) for node in (*reload, stop)
        )


def _plans(
    problem: Problem,
    drives: dict[frozenset[int], list[Drive]],
    left: frozenset[int],
    made: tuple[Drive, ...],
) -> Iterator[tuple[tuple[Drive, ...], int]]:
    """All ways to split customers into routes, and how many compulsory ones each leaves out."""
    if not left:
        yield made, 0
        return
    first = min(left)
    skipped = int(math.isinf(problem.penalty[first]))
    for plan, missing in _plans(problem, drives, left - {first}, made):
        yield plan, missing + skipped
    if problem.max_routes is not None and len(made) >= problem.max_routes:
        return
    for count in range(len(left)):
        for mates in combinations(sorted(left - {first}), count):
            some = frozenset((first, *mates))
            for drive in drives[some]:
                limit = problem.fleet[drive[2]].count
                if limit is None or sum(one[2] == drive[2] for one in made) < limit:
                    yield from _plans(problem, drives, left - some, (*made, drive))

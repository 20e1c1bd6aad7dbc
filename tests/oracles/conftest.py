"""Proven optima of tiny instances by plain enumeration; only the referee knows the rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise, permutations

import pytest

from spacevrp.oracles import SolverOracle
from spacevrp.oracles.lkh import LkhOracle
from spacevrp.oracles.ortools import OrToolsIlsOracle, OrToolsOracle
from spacevrp.oracles.pyvrp import PyVrpOracle
from spacevrp.oracles.vroom import VroomOracle
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

# Searches end by their own count, so that no test depends on the clock.
_MAKERS: dict[str, Callable[[], SolverOracle]] = {
    "pyvrp": lambda: PyVrpOracle(iterations=1000),
    "ortools": lambda: OrToolsOracle(solutions=400),
    "ortools-ils": lambda: OrToolsIlsOracle(solutions=100),
    "vroom": lambda: VroomOracle(),
    "lkh": lambda: LkhOracle(runs=2),
}


@pytest.fixture(scope="session")
def optimum() -> Callable[[Problem], float]:
    """The proven optimum of a tiny instance; those with a name are enumerated once."""
    known: dict[str, float] = {}

    def find(problem: Problem) -> float:
        if not problem.name:
            return find_optimum(problem)
        if problem.name not in known:
            known[problem.name] = find_optimum(problem)
        return known[problem.name]

    return find


@pytest.fixture(scope="session")
def make_tiny_oracle() -> Callable[[str], SolverOracle]:
    """An oracle by name that takes its time by counting; skips where it is not installed."""

    def make(name: str) -> SolverOracle:
        oracle = _MAKERS[name]()
        if not oracle.is_installed():
            pytest.skip(f"{oracle.package} (extra {oracle.extra}) is not installed")
        return oracle

    return make


def find_optimum(problem: Problem) -> float:
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
            length = math.fsum(problem.distances.between(a, b) for a, b in pairwise(route))
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

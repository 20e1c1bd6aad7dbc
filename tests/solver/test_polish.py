"""The local search: against every plan there is, and never worse."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around, judge
from spacevrp.problems.solution import Solution
from spacevrp.solver import Solver
from spacevrp.solver.moves import moves_between, moves_within
from spacevrp.solver.polish import can_polish, polish, refine, shakes_of
from spacevrp.solver.roads import Roads, Route

Plan = list[tuple[int, ...]]


def optimum(problem: Problem) -> float:
    """The least cost of all plans there are; only the referee knows the rules.

    Customers are split into sets, and the vehicles drive each in the best order that is legal. The
    rules for the plan as a whole are judged with the plan.
    """
    fleet = problem.fleet
    if not fleet:  # a tour
        rest = range(1, problem.size)
        return min(judge(problem, [(0, *order)]).cost for order in permutations(rest))
    whole = {"visit", "prize", "fleet", "vehicle", "pin"}
    drives: dict[frozenset[int], list[tuple[tuple[int, ...], int]]] = {}
    for count in range(1, len(problem.customers) + 1):
        for chosen in combinations(problem.customers, count):
            for terms in fleet:
                vehicles = None if problem.vehicles is None else [terms.number]
                best, route = math.inf, None
                for order in permutations(chosen):
                    nodes = around(order, terms)
                    verdict = judge(problem, [nodes], vehicles)
                    length = sum(problem.distances.between(*leg) for leg in pairwise(nodes))
                    faults = {v.code for v in verdict.violations if v.route or v.code not in whole}
                    if not faults and length < best:
                        best, route = length, nodes
                if route is not None:
                    drives.setdefault(frozenset(chosen), []).append((route, terms.number))

    def plans(left: frozenset[int]) -> Iterator[list[tuple[tuple[int, ...], int]]]:
        if not left:
            yield []
            return
        first = min(left)
        if math.isfinite(problem.penalty[first]):
            yield from plans(left - {first})
        for count in range(len(left)):
            for mates in combinations(sorted(left - {first}), count):
                some = frozenset((first, *mates))
                for drive in drives.get(some, ()):
                    for rest in plans(left - some):
                        yield [drive, *rest]

    best = math.inf
    for plan in plans(frozenset(problem.customers)):
        vehicles = None if problem.vehicles is None else [number for _, number in plan]
        verdict = judge(problem, [nodes for nodes, _ in plan], vehicles)
        if verdict.feasible:
            best = min(best, verdict.cost)
    return best


VARIANTS = (
    *("TSP", "ATSP", "CVRP", "ACVRP", "OP", "AOP", "PCTSP", "PDTSP", "APDCVRP", "OPDCVRP"),
    *("CVRPTW", "OCVRPTW", "CVRPB", "ACVRPBTW", "CVRPBPL", "MDCVRP", "AMDOCVRPBPLTW"),
)


def tight(variant: str) -> Problem:
    (problem,) = generate(variant, 4, 1, seed=31)
    has_room = math.isfinite(problem.capacity) and not problem.pairs
    return problem.replace(capacity=11.0) if has_room else problem


@pytest.mark.parametrize("variant", VARIANTS)
def test_small_plans_of_a_poor_model_become_the_best(solver: Solver, variant: str) -> None:
    problem = tight(variant)
    solution = solver.solve(problem, augment=1)
    assert solution.feasible
    assert solution.cost == pytest.approx(optimum(problem), rel=1e-9, abs=1e-9)


FLEETS: dict[str, list[dict[str, Any]]] = {
    "two sizes, few of them": [
        {"capacity": 9, "fixed_cost": 3, "count": 1},
        {"capacity": 5, "fixed_cost": 1, "count": 3},
    ],
    "open, and forbidden": [
        {"capacity": 9, "open_route": True, "forbidden": [3]},
        {"capacity": 9, "fixed_cost": 2},
    ],
    "pinned": [{"capacity": 9, "pinned": [4, 2]}, {"capacity": 6, "fixed_cost": 1}],
    "shifts and lengths": [
        {"capacity": 9, "window": (0, 14)},
        {"capacity": 7, "window": (4, 30), "max_length": 16, "fixed_cost": 0.5},
    ],
}


def with_fleet(vehicles: list[dict[str, Any]], **more: Any) -> Problem:
    points = [(0, 0), (4, 1), (1, 5), (5, 4), (-2, 3), (-3, -1)]
    return Problem.from_coordinates(points, demand=[0, 3, 2, 4, 3, 2], vehicles=vehicles, **more)


@pytest.mark.parametrize("name", FLEETS)
@pytest.mark.parametrize("penalty", [None, [0, 2, math.inf, 3, math.inf, 4]])
def test_small_plans_of_fleets_become_the_best(solver: Solver, name: str, penalty: Any) -> None:
    problem = with_fleet(FLEETS[name], penalty=penalty)
    solution = solver.solve(problem, augment=1)
    assert solution.feasible
    assert solution.cost == pytest.approx(optimum(problem), rel=1e-9)


def test_windows_do_not_keep_a_tiny_plan_from_its_best(solver: Solver) -> None:
    """From 0 over 2 and 1 back: 200 + 95 + 110; there is no way from 1 to 2."""
    problem = Problem.from_matrix(
        [[0, 100.0, 200], [110, 0, None], [210, 95, 0]], windows=[(0, 14400)] * 3
    )
    assert solver.solve(problem).routes == ((0, 2, 1, 0),)
    assert solver.solve(problem).cost == 405.0


def test_the_model_alone_if_asked_for(solver: Solver) -> None:
    """An untrained one: what it finds alone can be improved on some of these."""
    problems = generate("CVRPTW", 8, 4)
    alone = solver.solve(problems, improve=False)
    finished = solver.solve(problems)
    assert all(a.cost >= b.cost - 1e-9 for a, b in zip(alone, finished, strict=True))
    assert any(a.cost > b.cost + 1e-6 for a, b in zip(alone, finished, strict=True))


def poor_plan(problem: Problem) -> Solution:
    """Whoever can is driven alone, the rest is left out."""
    routes: Plan = []
    units = list(problem.pairs) or [(node,) for node in problem.customers]
    for unit in units:
        for terms in problem.fleet:
            trial = Solution.judged(problem, [*routes, around(unit, terms)])
            if trial.is_legal:
                routes.append(around(unit, terms))
                break
    return Solution.judged(problem, routes)


@given(variant=st.sampled_from(VARIANTS[2:]), seed=st.integers(0, 10**6), size=st.integers(3, 12))
@settings(deadline=None, max_examples=12)
def test_plans_never_get_worse(variant: str, seed: int, size: int) -> None:
    (problem,) = generate(variant, size + size % 2, 1, seed=seed)
    start = poor_plan(problem)
    found = polish(start, shakes=3, seed=seed)
    assert found.is_legal
    left = [sum(v.code == "visit" for v in plan.violations) for plan in (start, found)]
    assert left[1] <= left[0]
    if left[0] == left[1] and start.feasible:
        assert found.feasible
        assert found.cost <= start.cost
    assert judge(problem, found.routes).cost == found.cost
    assert polish(start, shakes=3, seed=seed) == found  # the same draws


@given(seed=st.integers(0, 10**6), first=st.integers(1, 6), second=st.integers(0, 5))
@settings(deadline=None, max_examples=15)
def test_moves_cost_what_they_say(seed: int, first: int, second: int) -> None:
    """Nobody is lost on the way, and lengths taken from a few arcs are those of whole routes."""
    draws = np.random.default_rng(seed)
    size = first + second + 2
    matrix = draws.random((size, size))
    np.fill_diagonal(matrix, 0.0)
    problem = Problem.from_matrix(
        matrix,
        depots=(0, 1),
        vehicles=[
            {"start": 0, "end": 1, "fixed_cost": 0.3},
            {"start": 1, "open_route": True, "fixed_cost": 0.2},
        ],
    )
    roads = Roads(problem)
    order = tuple(int(node) for node in draws.permutation(np.arange(2, size)))
    a, b = Route(0, order[:first]), Route(1, order[first:])
    before = roads.cost(a) + roads.cost(b)
    found = 0
    for move in moves_between(roads, a, b, 0.0):
        assert move.second is not None
        assert sorted(move.first.stops + move.second.stops) == sorted(order)
        after = roads.cost(move.first) + roads.cost(move.second)
        assert after - before == pytest.approx(move.extra, abs=1e-9)
        found += 1
    for move in moves_within(roads, a, 0.0):
        assert sorted(move.first.stops) == sorted(a.stops)
        assert roads.cost(move.first) - roads.cost(a) == pytest.approx(move.extra, abs=1e-9)
    assert found or roads.cost(Route(0, order)) >= before - 1e-9  # joined, it would be no cheaper


@given(variant=st.sampled_from(("PDCVRP", "AOPDCVRP")), seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=15)
def test_a_glance_at_pairs_says_what_the_referee_says(variant: str, seed: int) -> None:
    """Any order, all pickups first, and one pair after another: the last is always legal."""
    (problem,) = generate(variant, 8, 1, seed=seed)
    roads, draws = Roads(problem), np.random.default_rng(seed)
    pairs = draws.permutation(problem.pairs)
    orders = [*draws.permuted(np.tile(pairs.ravel(), (6, 1)), axis=1), pairs.T.ravel()]
    orders += [pairs.ravel(), pairs[:3].T.ravel(), pairs[:2].T.ravel()]
    routes = [Route(0, tuple(order.tolist())) for order in orders]
    verdicts = [roads.is_legal(route) for route in routes]
    assert verdicts == [not roads._has_faults(route) for route in routes]
    assert verdicts[7]
    backwards = Route(0, routes[7].stops[::-1])
    assert not roads.is_legal(backwards)
    assert roads._has_faults(backwards)


def test_what_a_shorter_call_finds_a_longer_one_keeps() -> None:
    (problem,) = generate("CVRPTW", 14, 1, seed=4)
    start, told = poor_plan(problem), list[float]()
    costs = [polish(start, shakes).cost for shakes in (0, 4)]
    assert start.cost > costs[0]
    assert min(costs) >= refine(start, lambda done: done / 30, watch=told.append).cost - 1e-9
    assert told == sorted(told, reverse=True)
    assert refine(start, lambda done: 1.0) is start  # no time, no change


def test_who_is_left_out_comes_in() -> None:
    """Two routes on a line, each with room for one more; the start serves one customer only."""
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (2, 0), (3, 0)], demand=[0, 1, 1, 1], capacity=3, max_routes=1
    )
    found = polish(Solution.judged(problem, [(0, 2, 0)]), shakes=0)
    assert (found.feasible, found.cost) == (True, 6.0)


def test_real_prizes_are_not_looked_at() -> None:
    (problem,) = generate("SPCTSP", 6, 1)
    assert not can_polish(problem)
    assert shakes_of(problem) is None


def test_a_plan_that_comes_to_serve_everybody_is_the_solution(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all rollouts are stuck, and mending one makes room for everybody after all."""
    (problem,) = generate("CVRP", 12, 1)
    plan = poor_plan(problem)
    assert plan.feasible
    monkeypatch.setattr("spacevrp.solver.work.settle", lambda *_: (None, "", 0))
    monkeypatch.setattr("spacevrp.solver.work.best_partial", lambda *_: plan)
    attempt = solver.attempt(problem, augment=1, improve=False)
    assert attempt.solutions == [plan]
    assert (attempt.reasons, attempt.partial) == ({}, {})


def test_who_is_in_a_hurry_gets_a_partial_plan_at_once(solver: Solver) -> None:
    """One vehicle for a load of 2, with room for 1: nobody tries harder, nobody says why."""
    problem = Problem.from_coordinates(
        [(0, 0), (0, 1), (1, 0)], demand=[0, 1, 1], capacity=1, max_routes=1
    )
    attempt = solver.attempt(problem, augment=1, persist=False)
    assert (attempt.solutions, attempt.reasons) == ([None], {0: ""})
    assert len(attempt.partial[0].routes) == 1
    assert "the fleet is too small" in solver.attempt(problem, augment=1).reasons[0]


@pytest.mark.parametrize(
    ("variant", "polished"),
    [("APCTSP", True), ("CVRP", True), ("MDCVRP", False)],
)
def test_plans_are_finished(solver: Solver, variant: str, polished: bool) -> None:
    """But not of several depots, whose regions are planned anew."""
    problems = generate(variant, 15, 2)
    alone = solver.solve(problems, augment=1, improve=False, replan=0)
    finished = solver.solve(problems, augment=1, replan=0)
    assert all(plan.feasible for plan in finished)
    gained = [old.cost - new.cost for old, new in zip(alone, finished, strict=True)]
    assert min(gained) >= 0
    assert (max(gained) > 0) == polished

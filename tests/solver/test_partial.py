"""Partial plans: legal, no customer left out who fits, and every reason and relaxation holds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest
from enumeration import best_plan
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_problems import build

from spacevrp.inference.construct import Candidate
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.explanation.reasons import CODES
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation, around, judge
from spacevrp.problems.solution import Solution
from spacevrp.solver import NoPlanError, Solver
from spacevrp.solver.partial import best_partial, legal_part

INF = np.inf
Route = tuple[int, ...]


# What a problem may have of; more often than not it is too tight.
TIGHT = ("missing", "no_depot", "depots", "open", "capacity", "backhaul", "backhaul_last")
TIGHT += ("separate", "windows", "service", "length", "pairs", "max_routes")


def make(seed: int) -> Problem:
    """A small instance of some mixture of constraints, which each customer meets alone."""
    rng = np.random.default_rng(seed)
    features = {"matrix", *(one for one in TIGHT if rng.random() < 0.4)}
    problem = build(features, seed, int(rng.integers(3, 7)))
    changes: dict[str, Any] = {"allow_unservable": False}
    if problem.depots and rng.random() < 0.7:
        changes["max_routes"] = int(rng.integers(1, 3))
    if len(problem.depots) == 1 and rng.random() < 0.2:  # two vehicles, one not for everybody
        own = {"count": 1, "fixed_cost": 3.0}, {"count": 1, "forbidden": [problem.customers[-1]]}
        changes |= {"open_routes": False, "vehicles": own}
    return problem.replace(**changes)


def instances(first: int, number: int) -> list[Problem]:
    """As many of them as are not hopeless from the beginning."""
    made: list[Problem] = []
    for seed in count(first):
        with contextlib.suppress(ProblemError):  # a customer who cannot be served at all
            made.append(make(seed))
        if len(made) == number:
            break
    return made


def serious(violations: tuple[Violation, ...]) -> list[Violation]:
    """Violations other than that somebody is left out."""
    return [v for v in violations if not (v.code == "visit" and v.route is None)]


def every_way(problem: Problem, routes: tuple[Route, ...], stops: Route) -> Iterator[list[Route]]:
    """All plans that serve the stops, too: written down once more, to check the others by."""
    closed = bool(problem.depots) and not problem.open_routes
    for number, route in enumerate(routes):
        inner = list(route[1:-1] if closed else route[1:])
        ends = [route[0]], ([route[-1]] if closed else [])
        for first in range(len(inner) + 1):
            once = [*inner[:first], stops[0], *inner[first:]]
            for second in range(first + 1, len(once) + 1):
                twice = [*once[:second], *stops[1:], *once[second:]]
                grown = tuple([*ends[0], *twice, *ends[1]])
                yield [*routes[:number], grown, *routes[number + 1 :]]
    for depot in problem.depots:
        yield [*routes, (depot, *stops, depot) if closed else (depot, *stops)]


def examine(problem: Problem, solution: Solution) -> None:
    """Everything that a partial plan promises."""
    assert serious(solution.violations) == []
    left = {v.node for v in solution.violations}
    assert {one.node for one in solution.unserved} == left
    couple = {node: pair for pair in problem.pairs for node in pair}
    for one in solution.unserved:
        stops = couple.get(one.node, (one.node,))
        assert set(stops) <= left  # pairs are whole in or out
        for plan in every_way(problem, solution.routes, stops):
            assert serious(judge(problem, plan).violations), plan
        assert one.code in CODES[:7]
        assert f" {one.node}" in one.message
        for relaxation in (one.relaxation, *one.alternatives):
            if relaxation is None:
                continue
            assert relaxation.changes
            relaxed = relaxation.apply(problem)
            assert serious(judge(relaxed, relaxation.routes).violations) == []
            for change in relaxation.changes:
                if change.kind in ("capacity", "length") and change.vehicle is None:
                    less = {"capacity": "capacity", "length": "max_length"}[change.kind]
                    tighter = relaxed.replace(**{less: change.limit - 0.01 * change.amount})
                    assert not judge(tighter, relaxation.routes).feasible


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6))
def test_of_any_routes_a_legal_part_is_left(seed: int) -> None:
    """In the order that they had, and whole wherever a route was legal."""
    try:
        problem = make(seed)
    except ProblemError:
        assume(False)
    assume(problem.depots)
    order = np.random.default_rng(seed).permutation(problem.customers).tolist()
    half = len(order) // 2
    routes = [around(some, problem.fleet[0]) for some in (order[:half], order[half:])]
    found = legal_part(problem, routes)
    assert serious(found.violations) == []
    for route in found.routes:
        stops = [node for node in route if node not in problem.depots]
        assert stops == [node for node in order if node in stops]
    if serious(judge(problem, routes).violations) == []:
        assert sorted(found.routes) == sorted(routes)


def test_the_solver_keeps_every_promise(solver: Solver) -> None:
    problems = instances(760, 36)
    solutions = solver.solve(problems, augment=1, partial=True)
    partial = 0
    for problem, solution in zip(problems, solutions, strict=True):
        if not solution.feasible:
            partial += 1
            examine(problem, solution)
            assert solution.partial
    assert 3 < partial < 33  # some are too tight, some are not
    codes = {one.code for solution in solutions for one in solution.unserved}
    assert {"fleet", "pair", "unreachable"} <= codes


def test_an_error_carries_the_partial_plan(solver: Solver) -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (0, 1), (1, 0), (1, 1)], demand=[0, 2, 2, 2], capacity=3, max_routes=2
    )
    with pytest.raises(NoPlanError) as caught:
        solver.solve([problem])
    partial = caught.value.partial[0]
    assert caught.value.solutions == [None]
    assert len(partial.unserved) == 1
    attempt = solver.run([problem])
    assert attempt.partial == {0: partial}
    assert attempt.results == [partial]
    assert attempt.solutions == [None]


def test_the_plan_that_serves_most_is_taken_then_the_cheapest() -> None:
    # Two vehicles with room for one customer each.
    problem = Problem.from_coordinates(
        [(0, 0), (9, 0), (0, 3), (0, 1)], demand=[0, 1, 1, 1], capacity=1, max_routes=2
    )

    def stuck(*moves: int) -> Candidate:
        return Candidate(INF, 0, np.array(moves))

    dear = stuck(0, 1, 0, 2, 0)  # 18 + 6
    cheap = stuck(0, 2, 0, 3, 0)  # 6 + 2
    rested = stuck(0, 3, 3, 3)
    assert best_partial(problem, [rested, dear, cheap], problem).cost == 8
    assert best_partial(problem, [rested], problem).routes == ((0, 3, 0),)
    assert best_partial(problem, [], problem).routes == ()


def two_pairs(*places: tuple[int, int]) -> Problem:
    """One pair at a time, and the day is over."""
    return Problem.from_coordinates(
        [(0, 0), *places],
        demand=[0, -1, -1, 1, 1],
        pairs=[(1, 3), (2, 4)],
        capacity=1,
        windows=[[0, 6], [0, 9], [0, 9], [0, 9], [0, 9]],
        max_routes=1,
    )


def test_a_pair_makes_room_for_a_pair(solver: Solver) -> None:
    problem = two_pairs((0, 2), (1, 0), (0, 3), (2, 0))  # the second is nearer
    plan = solver.solve(problem, augment=1, partial=True)
    assert (plan.routes, plan.cost) == (((0, 2, 4, 0),), 4)
    examine(problem, plan)


def test_half_a_pair_is_taken_out() -> None:
    problem = two_pairs((0, 1), (1, 0), (0, 2), (2, 0))
    plan = best_partial(problem, [Candidate(INF, 0, np.array([0, 1, 3, 2, 2]))], problem)
    assert plan.routes == ((0, 1, 3, 0),)
    assert [(one.node, one.code) for one in plan.unserved] == [(2, "fleet"), (4, "fleet")]


def test_as_many_are_served_as_any_plan_serves(solver: Solver) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        points = rng.uniform(0, 9, (6, 2))
        problem = Problem.from_coordinates(
            points, demand=[0, *rng.integers(1, 6, 5)], capacity=5, max_routes=2, max_length=26
        )
        best = best_plan(problem, partial=True)
        assert best is not None
        plan = solver.solve(problem, augment=1, partial=True)
        assert len(plan.unserved) == len(best.unserved)


def test_a_tour_that_the_model_saw_without_its_depot() -> None:
    # One vehicle that nothing limits is a travelling salesman; he came to a dead end at once.
    matrix = np.full((4, 4), INF)
    matrix[0, :] = matrix[:, 0] = 1
    problem = Problem.from_matrix(matrix, max_routes=1)
    form = Problem.from_matrix(matrix, depots=())
    for moves in ([1, 1], [1, 0, 2, 2], [0, 1, 1]):
        plan = best_partial(problem, [Candidate(INF, 0, np.array(moves))], form)
        assert plan.partial
        assert len(plan.unserved) == 2
        examine(problem, plan)


def test_pinned_customers_stay_first(solver: Solver) -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (3, 0), (3, 4), (0, 4), (0, 8), (1, 1), (5, 5)],
        demand=[0, 2, 2, 2, 2, 3, 3],
        vehicles=[
            {"name": "van", "count": 1, "capacity": 6, "pinned": [4, 1]},
            {"name": "bike", "count": 1, "capacity": 3, "fixed_cost": 7, "forbidden": [6]},
        ],
    )
    assert legal_part(problem, ()).routes == ((0, 4, 1, 0),)
    plan = solver.solve(problem, augment=1, partial=True)
    assert plan.partial
    (van,) = [route for route in plan.routes if 4 in route]
    assert van[:3] == (0, 4, 1)
    assert len(plan.unserved) == 2  # 14 in all, and room for 9
    for one in plan.unserved:
        relaxed = one.relaxation.apply(problem)
        assert serious(judge(relaxed, one.relaxation.routes).violations) == []


def test_prize_is_collected_as_far_as_roads_go(solver: Solver) -> None:
    # Only one of the two can be visited: no road joins them, and there is one route.
    matrix = [[0, 1, 1], [1, 0, INF], [1, INF, 0]]
    problem = Problem.from_matrix(
        matrix, prize=[0, 1, 2], penalty=[0, 1, 1], min_prize=2.5, max_routes=1
    )
    with pytest.raises(NoPlanError, match=r"collects a prize of 2, at least 2.5 required"):
        solver.solve(problem)
    plan = solver.solve(problem, partial=True)
    assert plan.routes == ((0, 2, 0),)
    assert plan.partial
    assert plan.unserved == ()

"""Partial plans: legal, no customer left out who fits, and every reason and relaxation holds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from spacevrp.inference.construct import Candidate
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.explanation.reasons import CODES
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation, judge
from spacevrp.problems.solution import Solution
from spacevrp.solver import NoPlanError, Solver
from spacevrp.solver.partial import best_partial, legal_part

INF = np.inf
Route = tuple[int, ...]


def make(rng: np.random.Generator) -> Problem:
    """A small instance of some mixture of constraints, more often than not too tight."""
    size = int(rng.integers(4, 8))
    paired, depots = bool(rng.random() < 0.3), int(rng.integers(0, 8) > 0) + int(rng.random() < 0.2)
    if paired:
        depots, size = 1, 2 * (size // 2) + 1
    matrix = np.round(rng.uniform(1, 9, (size, size)), 2)
    if rng.random() < 0.5:
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    if rng.random() < 0.3:
        matrix[rng.random((size, size)) < 0.25] = INF
    np.fill_diagonal(matrix, 0.0)
    if depots == 0:
        return Problem.from_matrix(matrix, depots=())
    features: dict[str, Any] = {"depots": tuple(range(depots))}
    demand = np.zeros(size)
    if paired:
        half = (size - 1) // 2
        demand[1 : half + 1] = -rng.integers(1, 4, half)
        demand[half + 1 :] = -demand[1 : half + 1]
        features["pairs"] = [(node, node + half) for node in range(1, half + 1)]
        features |= {"demand": demand, "capacity": float(rng.integers(3, 6))}
    elif rng.random() < 0.7:
        demand[depots:] = rng.integers(1, 5, size - depots)
        if rng.random() < 0.4:
            demand[depots:] *= rng.choice([1, 1, -1], size - depots)
            features["backhaul_last"] = bool(rng.random() < 0.5)
            features["load_rule"] = str(rng.choice(["single", "separate"]))
        features |= {"demand": demand, "capacity": float(rng.integers(4, 8))}
    features["open_routes"] = bool(rng.random() < 0.3)
    if rng.random() < 0.6:
        features["max_routes"] = int(rng.integers(1, 3))
    if rng.random() < 0.4:
        windows = np.zeros((size, 2))
        windows[:, 0] = np.round(rng.uniform(0, 6, size), 1)
        windows[:depots, 0] = 0
        windows[:, 1] = windows[:, 0] + np.round(rng.uniform(5, 14, size), 1)
        windows[:depots, 1] = 28
        features |= {"windows": windows, "service": np.full(size, 0.5)}
    if rng.random() < 0.3:
        features["max_length"] = float(rng.uniform(14, 24))
    if depots == 1 and rng.random() < 0.2:
        features |= {"open_routes": False, "vehicles": fleet(rng, size)}
    return Problem.from_matrix(matrix, **features)


def fleet(rng: np.random.Generator, size: int) -> list[dict[str, Any]]:
    """A large vehicle, and a small one that not everybody wants to see."""
    return [
        {"count": 1, "capacity": float(rng.integers(5, 9)), "fixed_cost": 3.0},
        {"count": int(rng.integers(1, 3)), "capacity": 4.0, "forbidden": [size - 1]},
    ]


def instances(seed: int, number: int) -> list[Problem]:
    """As many of them as are not hopeless from the beginning."""
    rng = np.random.default_rng(seed)
    made: list[Problem] = []
    while len(made) < number:
        try:
            made.append(make(rng))
        except ProblemError:  # a customer who cannot be served at all
            continue
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
    rng = np.random.default_rng(seed)
    try:
        problem = make(rng)
    except ProblemError:
        assume(False)
    assume(problem.depots)
    order = rng.permutation(problem.customers).tolist()
    half = len(order) // 2
    end = () if problem.open_routes else (0,)
    routes = [(0, *some, *end) for some in (order[:half], order[half:])]
    found = legal_part(problem, routes)
    assert serious(found.violations) == []
    for route in found.routes:
        stops = [node for node in route if node not in problem.depots]
        assert stops == [node for node in order if node in stops]
    if serious(judge(problem, routes).violations) == []:
        assert sorted(found.routes) == sorted(routes)


def test_the_solver_keeps_every_promise(solver: Solver) -> None:
    problems = instances(3, 24)
    solutions = solver.solve(problems, augment=1, partial=True)
    partial = 0
    for problem, solution in zip(problems, solutions, strict=True):
        if not solution.feasible:
            partial += 1
            examine(problem, solution)
            assert solution.partial
    assert 3 < partial < 21  # some are too tight, some are not
    codes = {one.code for solution in solutions for one in solution.unserved}
    assert {"fleet", "unreachable"} <= codes


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
    # Two vehicles: every way to share some customers out among them, in every order.
    for seed in range(6):
        rng = np.random.default_rng(seed)
        points = rng.uniform(0, 9, (6, 2))
        problem = Problem.from_coordinates(
            points, demand=[0, *rng.integers(1, 6, 5)], capacity=5, max_routes=2, max_length=26
        )
        most = 0
        for owner in product((0, 1, 2), repeat=5):
            groups = [[n for n in range(1, 6) if owner[n - 1] == van] for van in (1, 2)]
            if sum(map(len, groups)) > most and all(_keeps_rules(problem, g) for g in groups):
                most = sum(map(len, groups))
        plan = solver.solve(problem, augment=1, partial=True)
        assert 5 - len(plan.unserved) == most


def _keeps_rules(problem: Problem, group: list[int]) -> bool:
    """Whether one vehicle can serve the group in some order."""
    return not group or any(
        not serious(judge(problem, [[0, *order, 0]]).violations) for order in permutations(group)
    )


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

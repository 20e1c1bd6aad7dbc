"""Orienteering: more prize within the length, and never a plan that the referee refuses."""

from __future__ import annotations

import math
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Solver
from spacevrp.solver.orienteering import collect, insertions, is_plain_orienteering, replacements


def once(done: int) -> float:
    """The search is over when no move helps."""
    return float(done)


def collected(problem: Problem, start: list[int], **more: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, collect(Solution.judged(problem, [start]), **more).routes))


def either_way(*route: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return route, route[::-1]


def on_a_map(points: list[tuple[float, float]], limit: float, **more: Any) -> Problem:
    fields: dict[str, Any] = {"prize": [0, *[1] * (len(points) - 1)], "max_routes": 1} | more
    return Problem.from_coordinates(points, max_length=limit, maximise_prize=True, **fields)


def by_road(matrix: list[list[float | None]], limit: float) -> Problem:
    prize = [0, *[1] * (len(matrix) - 1)]
    return Problem.from_matrix(
        matrix, prize=prize, max_length=limit, maximise_prize=True, max_routes=1
    )


# ------------------------------------------------------------------------------------ by hand


def test_who_has_room_comes_in() -> None:
    """To 2 and back is 4; 3 is too far."""
    problem = on_a_map([(0, 0), (1, 0), (2, 0), (3, 0)], 4)
    (route,) = collected(problem, [0, 1, 0], progress=once)
    assert route in either_way(0, 1, 2, 0)


def test_a_shorter_route_makes_room() -> None:
    """Crossing itself it is 19.3 long, around the square 16; customer 4 adds 2 sqrt(5) - 4."""
    problem = on_a_map([(0, 0), (0, 4), (4, 4), (4, 0), (2, -1)], 19.4)
    (route,) = collected(problem, [0, 2, 1, 3, 0], progress=once)
    assert route in either_way(0, 1, 2, 3, 4, 0)


def test_one_of_more_prize_takes_the_place_of_another() -> None:
    problem = on_a_map([(0, 0), (1, 0), (-1, 0)], 2, prize=[0, 1, 2])
    assert collected(problem, [0, 1, 0], progress=once) == ((0, 2, 0),)


def test_one_of_as_much_prize_makes_room_for_the_next() -> None:
    """To 1 and back is 6, all there is; to 2 and back is 2, and 3 lies just behind."""
    problem = on_a_map([(0, 0), (3, 0), (0, 1), (0, 2)], 6)
    (route,) = collected(problem, [0, 1, 0], progress=once)
    assert route in either_way(0, 2, 3, 0)


def test_as_much_prize_is_not_a_better_plan() -> None:
    problem = on_a_map([(0, 0), (1, 0), (0, 0.5)], 2)
    start = Solution.judged(problem, [(0, 1, 0)])
    assert collect(start) is start


def test_nobody_comes_in_who_has_no_prize() -> None:
    problem = on_a_map([(0, 0), (1, 0), (2, 0)], 4, prize=[0, 1, 0])
    assert collected(problem, [0, 1, 0]) == ((0, 1, 0),)


def test_a_plan_of_nobody_is_a_start() -> None:
    problem = on_a_map([(0, 0), (1, 0), (2, 0)], 3)
    assert collect(Solution.judged(problem, [])).routes == ((0, 1, 0),)
    far = on_a_map([(0, 0), (1, 0)], 2).replace(max_length=1.0, allow_unservable=True)
    start = Solution.judged(far, [])
    assert collect(start) is start


def test_open_routes_need_no_way_back() -> None:
    problem = on_a_map([(0, 0), (1, 0), (2, 0), (3, 0)], 3, open_routes=True)
    assert collected(problem, [0, 1], progress=once) == ((0, 1, 2, 3),)


def test_from_one_depot_to_another() -> None:
    """Straight on it is 4; over customer 3 it is 1 + sqrt(2) + sqrt(5) = 4.65, over 4 it is 6."""
    problem = on_a_map(
        [(0, 0), (4, 0), (1, 0), (2, 1), (-1, 0)],
        4.7,
        depots=(0, 1),
        vehicles=[{"start": 0, "end": 1, "count": 1}],
        prize=[0, 0, 1, 1, 5],
    )
    assert is_plain_orienteering(problem)
    found = collect(Solution.judged(problem, [(0, 2, 1)]))
    assert (found.routes, found.vehicles) == (((0, 2, 3, 1),), (0,))


def test_turned_round_a_route_has_other_lengths() -> None:
    """0 2 1 is 15 long, 0 1 2 is 3; customer 3 adds 7 to the first and 11 to the second."""
    problem = by_road([[0, 1, 5, 6], [5, 0, 1, 6], [1, 5, 0, 6], [6, 6, 6, 0]], 15.5)
    (route,) = collected(problem, [0, 2, 1, 0], progress=once)
    assert sorted(route) == [0, 0, 1, 2, 3]
    assert tuple(node for node in route if node != 3) == (0, 1, 2, 0)


@pytest.mark.parametrize("limit", [3, 1e9])
def test_roads_that_are_missing_are_not_used(limit: float) -> None:
    """To 2 over 1 only, and to 3 not at all: however long the route may be."""
    problem = by_road([[0, 1, None, None], [1, 0, 1, None], [1, 1, 0, None], [1, 1, 1, 0]], limit)
    assert collected(problem, [0, 1, 0]) == ((0, 1, 2, 0),)


def test_what_is_found_is_told() -> None:
    (problem,) = generate("OP", 30, 1, seed=5)
    told = list[float]()
    found = collect(Solution.judged(problem, []), watch=told.append)
    assert told == sorted(told, reverse=True)
    assert told[-1] == pytest.approx(found.cost)


# --------------------------------------------------------------------------------- in general


def way(length: np.ndarray, nodes: list[int]) -> float:
    return math.fsum(length[leg] for leg in pairwise(nodes))


def best_with(length: np.ndarray, nodes: list[int], customer: int) -> float:
    routes = [[*nodes[:at], customer, *nodes[at:]] for at in range(1, len(nodes))]
    return min(way(length, route) for route in routes)


@given(seed=st.integers(0, 10**6), stops=st.integers(1, 6), others=st.integers(1, 4))
@settings(deadline=None, max_examples=12)
def test_all_at_once_is_one_by_one(seed: int, stops: int, others: int) -> None:
    """From node 0 to the last; no way is as long there as back."""
    length = np.random.default_rng(seed).random((stops + others + 2,) * 2)
    nodes = [*range(stops + 1), stops + others + 1]
    outside = np.arange(stops + 1, stops + others + 1)
    total = way(length, nodes)
    extra = insertions(length, np.array(nodes), outside)
    instead = replacements(length, np.array(nodes), outside)
    assert (extra.shape, instead.shape) == ((stops + 1, others), (stops, others))
    for column, customer in enumerate(outside):
        for place in range(stops + 1):
            route = [*nodes[: place + 1], customer, *nodes[place + 1 :]]
            assert extra[place, column] == pytest.approx(way(length, route) - total)
        for row in range(stops):
            rest = nodes[: row + 1] + nodes[row + 2 :]
            better = best_with(length, rest, customer)
            assert instead[row, column] == pytest.approx(better - total)


def with_roads_missing(problem: Problem, seed: int) -> Problem:
    """One road in five is closed, and whoever cannot be served then is left alone."""
    matrix = problem.distances.matrix().copy()
    closed = np.random.default_rng(seed).random(matrix.shape) < 0.2
    np.fill_diagonal(closed, False)
    matrix[closed] = np.inf
    return Problem.from_matrix(
        matrix,
        prize=problem.prize,
        depots=problem.depots,
        max_length=problem.max_length,
        maximise_prize=True,
        max_routes=1,
        open_routes=bool(seed % 2),
        allow_unservable=True,
    )


@given(
    variant=st.sampled_from(("OP", "AOP")),
    missing=st.booleans(),
    seed=st.integers(0, 10**6),
    size=st.integers(4, 25),
)
@settings(deadline=None, max_examples=12)
def test_plans_never_get_worse(variant: str, missing: bool, seed: int, size: int) -> None:
    (problem,) = generate(variant, size, 1, seed=seed)
    if missing:
        problem = with_roads_missing(problem, seed)
    assert is_plain_orienteering(problem)
    end = () if problem.open_routes else problem.depots
    alone = [Solution.judged(problem, [(*problem.depots, c, *end)]) for c in problem.customers]
    for start in [plan for plan in alone if plan.feasible][:2]:
        found = collect(start, lambda done: done / 8, seed)
        assert found.feasible
        assert found.cost <= start.cost
        (route,) = found.routes
        length = math.fsum(problem.distances.between(*leg) for leg in pairwise(route))
        assert length <= problem.max_length + problem.length_tolerance
        assert collect(start, lambda done: done / 8, seed) == found  # the same draws
        assert collect(start, lambda done: 1.0) is start  # no time, no change


def most_prize(problem: Problem) -> float:
    """Of all routes there are."""
    (depot,) = problem.depots
    best = 0.0
    for count in range(1, len(problem.customers) + 1):
        for order in permutations(problem.customers, count):
            route = (depot, *order, depot)
            length = math.fsum(problem.distances.between(*leg) for leg in pairwise(route))
            if length <= problem.max_length:
                best = max(best, float(problem.prize[list(order)].sum()))
    return best


@pytest.mark.parametrize("variant", ["OP", "AOP"])
def test_small_plans_become_the_best(variant: str) -> None:
    for problem in generate(variant, 6, 2, seed=3):
        shorter = problem.replace(max_length=0.6 * problem.max_length, allow_unservable=True)
        found = collect(Solution.judged(shorter, []))
        assert -found.cost == pytest.approx(most_prize(shorter))


# ------------------------------------------------------------------------------------- for whom


def plain(**more: Any) -> Problem:
    points = [(0.0, 0.0), *((0.1 * k, 0.3) for k in range(1, 13))]
    return on_a_map(points, 3.0, **more)


def test_whose_plans_are_improved() -> None:
    assert is_plain_orienteering(plain())
    assert is_plain_orienteering(plain(variant="OP", max_routes=None))
    assert is_plain_orienteering(plain(open_routes=True))
    assert is_plain_orienteering(plain(service=[0, *[5] * 12]))  # nobody looks at the clock
    assert is_plain_orienteering(plain(demand=[0, *[1] * 12]))  # nor is there a capacity
    assert is_plain_orienteering(plain(vehicles=[{"count": 1, "fixed_cost": 3}]))


CLOSED = np.ones((13, 13)) - np.eye(13)
CLOSED[3, 4] = np.inf

OTHERS: dict[str, dict[str, Any]] = {
    "several routes": {"max_routes": None},
    "two depots": {"depots": (0, 5)},
    "windows": {"windows": [(0, 9)] * 13},
    "capacity": {"demand": [0, *[1] * 12], "capacity": 5},
    "pairs": {"pairs": [(k, k + 1) for k in range(1, 13, 2)]},
    "a prize that is required": {"min_prize": 2},
    "somebody who must be served": {"penalty": [*[0] * 12, math.inf]},
    "a shift": {"vehicles": [{"count": 1, "window": (0, 9)}]},
    "forbidden": {"vehicles": [{"count": 1, "forbidden": [3]}]},
    "pinned": {"vehicles": [{"count": 1, "pinned": [3]}]},
    "two types": {"vehicles": [{"count": 1}, {"count": 1}]},
    "closed, though it has a length": {"durations": CLOSED},
}


@pytest.mark.parametrize("name", OTHERS)
def test_whose_plans_are_left_to_others(name: str) -> None:
    assert not is_plain_orienteering(plain(**OTHERS[name]))


@pytest.mark.parametrize("variant", ["TSP", "CVRP", "PCTSP", "SPCTSP", "PDTSP", "MDCVRPL"])
def test_other_variants_are_left_to_others(variant: str) -> None:
    assert not is_plain_orienteering(generate(variant, 12, 1)[0])


def test_finished_plans_are_what_the_search_makes_of_the_models(solver: Solver) -> None:
    """An untrained one, whose plans leave much to be collected."""
    problems = generate("AOP", 16, 1)
    alone = solver.solve(problems, augment=1, improve=False)
    finished = solver.solve(problems, augment=1)
    assert finished == [collect(plan) for plan in alone]
    assert all(new.cost < old.cost for new, old in zip(finished, alone, strict=True))

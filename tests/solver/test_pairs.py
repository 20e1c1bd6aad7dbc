"""Pickups and deliveries in pairs: cheaper plans, and never one that the referee refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around
from spacevrp.problems.solution import Solution
from spacevrp.solver import Solver
from spacevrp.solver.moves import with_pair
from spacevrp.solver.pairs import (
    PairPlans,
    cheapest_places,
    has_plain_pairs,
    rearrange,
    with_pairs,
)
from spacevrp.solver.polish import polish, refine, search_of
from spacevrp.solver.roads import Roads, Route


def on_a_line(capacity: Any, **more: Any) -> Problem:
    """1 and 2 hand over 5 each, 3 and 4 receive it."""
    points = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0)]
    fields: dict[str, Any] = {"demand": [0, -5, -5, 5, 5], "capacity": capacity} | more
    return Problem.from_coordinates(points, pairs=[(1, 3), (2, 4)], **fields)


# 2 on the way from 1 to 3; 4 lies one beyond 3, and 3 is on the way back from 4, too.
THROUGH = [[Route(0, (1, 2, 3, 4))], [Route(0, (1, 2, 4, 3))]]


def put_in(problem: Problem, routes: list[tuple[int, ...]], pair: int) -> tuple[float, list[Route]]:
    """What a pair adds at the least, and the routes with it."""
    tours = PairPlans(Roads(problem))
    tour = tours.read([Route(0, stops) for stops in routes])[None]
    pairs = np.array(problem.pairs[pair : pair + 1])
    places = tours.places(tour, pairs, np.ones((1, tour.shape[1] - 1), dtype=bool))
    written = tours.written(with_pairs(tour, pairs, places)[0])
    return float(places.extra[0]), [route for route in written if route.stops]


# ------------------------------------------------------------------------------------ by hand


def test_a_pair_comes_in_where_it_adds_least() -> None:
    extra, routes = put_in(on_a_line(10), [(1, 3)], 1)
    assert extra == 2.0
    assert routes in THROUGH


def test_a_pair_comes_in_where_there_is_room() -> None:
    """Either first 2, 4 and then back to 1: 6 more; or 3, 2, 4 and home: 4 more."""
    assert put_in(on_a_line(5), [(1, 3)], 1) == (4.0, [Route(0, (1, 3, 2, 4))])


def test_another_vehicle_leaves_where_that_adds_least() -> None:
    """Alone 2 + 2 and no way home; behind the others 1 + 2."""
    assert put_in(on_a_line(5, open_routes=True), [(1, 3)], 1)[0] == 3.0
    points = [(0, 0), (1, 0), (-1, 0), (5, 0), (-2, 0)]
    problem = Problem.from_coordinates(points, pairs=[(1, 3), (2, 4)], open_routes=True)
    assert put_in(problem, [(1, 3)], 1) == (2.0, [Route(0, (1, 3)), Route(0, (2, 4))])
    one = problem.replace(max_routes=1)  # 0 -> -1 -> -2 -> 1 -> 5: 9 instead of 5
    assert put_in(one, [(1, 3)], 1) == (4.0, [Route(0, (2, 4, 1, 3))])
    dear = problem.replace(vehicles=[{"fixed_cost": 3}])
    assert put_in(dear, [(1, 3)], 1) == (4.0, [Route(0, (2, 4, 1, 3))])


def test_a_route_gets_no_longer_than_it_may() -> None:
    """With 4 on it the route is 8 long."""
    assert put_in(on_a_line(10, max_length=8), [(1, 3)], 1)[1] in THROUGH
    points = [(0, 0), (1, 0), (-1, 0), (2, 0), (-2, 0)]
    short = Problem.from_coordinates(points, pairs=[(1, 3), (2, 4)], max_length=5)
    assert put_in(short, [(1, 3)], 1) == (4.0, [Route(0, (1, 3)), Route(0, (2, 4))])
    assert put_in(short.replace(max_routes=1), [(1, 3)], 1)[0] == math.inf


def test_every_kind_of_load_has_its_own_room() -> None:
    apart = [[0, 0], [-5, 0], [0, -5], [5, 0], [0, 5]]
    problem = on_a_line([5, 5], demand=apart)
    assert put_in(problem, [(1, 3)], 1)[1] in THROUGH
    mixed = [[0, 0], [-5, -1], [0, -5], [5, 1], [0, 5]]
    problem = on_a_line([5, 5], demand=mixed)
    assert put_in(problem, [(1, 3)], 1) == (4.0, [Route(0, (1, 3, 2, 4))])


def test_room_for_one_is_not_room_across_a_full_arc() -> None:
    """Two arcs with room and a full one between: pickup and delivery stay on one side."""
    length = np.ones((5, 5)) - np.eye(5)
    length[0, 3] = length[4, 0] = length[3, 1] = length[2, 4] = 0.1
    tours, pairs = np.array([[0, 1, 2, 0]]), np.array([[3, 4]])
    free = np.array([[True, False, True]])
    places = cheapest_places(length, tours, pairs, free)
    assert (places.pickup.tolist(), places.delivery.tolist()) == ([0], [0])  # 0.1 + 1 + 1 - 1
    assert places.extra[0] == pytest.approx(1.1)
    everywhere = cheapest_places(length, tours, pairs, np.ones_like(free))
    assert (everywhere.pickup.tolist(), everywhere.delivery.tolist()) == ([0], [2])
    assert everywhere.extra[0] == pytest.approx(-0.8 - 0.8)


def test_two_loads_at_a_time_save_a_way() -> None:
    start = Solution.judged(on_a_line(10), [(0, 1, 3, 2, 4, 0)])
    found = rearrange(start)
    assert found.cost == 8.0
    assert Roads(found.plan.problem).read(found) in THROUGH
    full = Solution.judged(on_a_line(5), [(0, 1, 3, 2, 4, 0)])
    assert rearrange(full) is full  # nothing else is as short


def test_ways_that_are_missing_are_not_used() -> None:
    """From each to the next it is 1, to and from the depot 9, and otherwise there is no road."""
    matrix: Any = [
        [0, 1, 9, 9, 9],
        [9, 0, 1, None, None],
        [9, None, 0, 1, None],
        [9, None, None, 0, 1],
        [1, None, None, None, 0],
    ]
    problem = Problem.from_matrix(matrix, pairs=[(1, 2), (3, 4)])
    start = Solution.judged(problem, [(0, 1, 2, 0), (0, 3, 4, 0)])
    found = rearrange(start)
    assert (start.cost, found.cost, found.routes) == (22.0, 5.0, ((0, 1, 2, 3, 4, 0),))


def test_who_is_left_out_stays_out() -> None:
    """The general search brings them in."""
    start = Solution.judged(on_a_line(10), [(0, 1, 3, 0)])
    assert rearrange(start) is start
    assert search_of(start) is refine


def test_what_is_found_is_told() -> None:
    (problem,) = generate("PDCVRP", 30, 1, seed=5)
    told = list[float]()
    found = rearrange(one_by_one(problem), watch=told.append)
    assert told == sorted(told, reverse=True)
    assert told[-1] == pytest.approx(found.cost)


# --------------------------------------------------------------------------------- in general


def one_by_one(problem: Problem) -> Solution:
    """Each load is delivered before the next is picked up, by one vehicle."""
    stops = [node for pair in problem.pairs for node in pair]
    return Solution.judged(problem, [around(stops, problem.fleet[0])])


def drawn(seed: int, pairs: int, **more: Any) -> Problem:
    """No way is as long there as back; vehicles hold two or three loads."""
    draws = np.random.default_rng(seed)
    size = 2 * pairs + 1
    matrix = draws.uniform(0.1, 1.0, (size, size))
    np.fill_diagonal(matrix, 0.0)
    handed = draws.integers(1, 10, pairs)
    return Problem.from_matrix(
        matrix,
        pairs=[(k + 1, k + 1 + pairs) for k in range(pairs)],
        demand=[0, *-handed, *handed],
        capacity=15,
        open_routes=bool(seed % 2),
        **more,
    )


def ways_in(route: Route, pair: tuple[int, ...]) -> list[Route]:
    arcs = range(len(route.stops) + 1)
    return [
        Route(0, with_pair(route.stops, pair, (first, second)))
        for first in arcs
        for second in arcs[first:]
    ]


def cheapest_of_all(problem: Problem, routes: list[Route], pair: tuple[int, int]) -> float:
    """The least cost of all plans with the pair anywhere that the referee lets pass."""
    roads = Roads(problem)
    least = math.inf
    for number, route in enumerate([*routes, Route(0, ())]):
        others = [other for k, other in enumerate(routes) if k != number]
        for way in ways_in(route, pair):
            plan = roads.judged_plan([*others, way])
            if plan.feasible:
                least = min(least, plan.cost)
    return least


@given(
    seed=st.integers(0, 10**6),
    pairs=st.integers(1, 6),
    max_routes=st.sampled_from((None, 2)),
    max_length=st.sampled_from((math.inf, 4.5)),
    fixed_cost=st.sampled_from((0.0, 0.4)),
)
@settings(deadline=None, max_examples=20)
def test_all_places_at_once_are_one_by_one(
    seed: int, pairs: int, max_routes: int | None, max_length: float, fixed_cost: float
) -> None:
    """The last pair comes into a plan of the others."""
    fleet = [{"fixed_cost": fixed_cost}] if fixed_cost else None
    problem = drawn(
        seed, pairs, max_routes=max_routes, max_length=max_length, vehicles=fleet
    ).replace(allow_unservable=True)
    draws = np.random.default_rng(seed)
    roads = Roads(problem)
    routes = [Route(0, ()), Route(0, ())]
    for pair in problem.pairs[:-1]:
        at = int(draws.integers(2))
        ways = [way for way in ways_in(routes[at], pair) if roads.is_legal(way)]
        assume(ways)
        routes[at] = ways[draws.integers(len(ways))]
    routes = [route for route in routes if route.stops]
    before = math.fsum(map(roads.cost, routes))
    extra, after = put_in(problem, [route.stops for route in routes], pairs - 1)
    least = cheapest_of_all(problem, routes, problem.pairs[-1])
    assert before + extra == pytest.approx(least)
    if math.isfinite(least):
        plan = roads.judged_plan(after)
        assert plan.feasible
        assert plan.cost == pytest.approx(least)


def with_roads_missing(problem: Problem, seed: int) -> Problem:
    """One road in five is closed, but for those that a pair needs on its own."""
    matrix = problem.distances.matrix().copy()
    closed = np.random.default_rng(seed).random(matrix.shape) < 0.2
    closed[:, 0] = closed[0, :] = False
    for pair in problem.pairs:
        closed[pair] = False
    matrix[closed & ~np.eye(len(matrix), dtype=bool)] = np.inf
    return Problem.from_matrix(
        matrix,
        pairs=problem.pairs,
        demand=problem.demand,
        capacity=problem.capacity,
        open_routes=problem.open_routes,
    )


def alone(problem: Problem) -> Solution:
    """A vehicle for each pair."""
    routes = [around(pair, problem.fleet[0]) for pair in problem.pairs]
    return Solution.judged(problem, routes)


@given(
    variant=st.sampled_from(("PDCVRP", "OPDCVRP", "APDCVRP", "AOPDCVRP")),
    way=st.sampled_from(("as it is", "limited", "missing")),
    seed=st.integers(0, 10**6),
    pairs=st.integers(2, 12),
)
@settings(deadline=None, max_examples=12)
def test_plans_never_get_worse(variant: str, way: str, seed: int, pairs: int) -> None:
    (problem,) = generate(variant, 2 * pairs, 1, seed=seed)
    if way == "missing":
        problem = with_roads_missing(problem, seed)
    start = alone(problem)
    assert start.feasible
    if way == "limited":
        roads = Roads(problem)
        longest = max(map(roads.cost, roads.read(start)))
        start = alone(problem.replace(variant=None, max_length=1.3 * longest))
        problem = start.plan.problem
    assert has_plain_pairs(problem)
    found = rearrange(start, lambda done: done / 8, seed)
    assert found.feasible
    assert found.cost <= start.cost
    place = {node: (k, at) for k, one in enumerate(found.routes) for at, node in enumerate(one)}
    for pickup, delivery in problem.pairs:
        assert place[pickup][0] == place[delivery][0]
        assert place[pickup][1] < place[delivery][1]
    for route in found.routes:
        on_board = -np.cumsum(problem.demand[list(route)])
        assert on_board.max() <= problem.capacity
    assert rearrange(start, lambda done: done / 8, seed) == found  # the same draws
    assert rearrange(start, lambda done: 1.0) is start  # no time, no change


def test_much_is_gained() -> None:
    """More than the moves of the general search gain."""
    (problem,) = generate("AOPDCVRP", 30, 1, seed=3)
    start = one_by_one(problem)
    found = rearrange(start)
    assert found.cost < polish(start, 0).cost
    assert found.cost < rearrange(start, lambda done: done / 10).cost


# ------------------------------------------------------------------------------------- for whom


def plain(**more: Any) -> Problem:
    points = [(0.0, 0.0), *((0.1 * k, 0.3) for k in range(1, 13))]
    pairs = [(k, k + 6) for k in range(1, 7)]
    fields: dict[str, Any] = {"demand": [0, *[-1] * 6, *[1] * 6], "capacity": 2} | more
    return Problem.from_coordinates(points, pairs=pairs, **fields)


def test_whose_plans_are_rearranged() -> None:
    assert has_plain_pairs(plain())
    assert has_plain_pairs(plain(capacity=math.inf, max_routes=1))
    assert has_plain_pairs(plain(open_routes=True, max_length=9))
    assert has_plain_pairs(plain(service=[0, *[5] * 12]))  # nobody looks at the clock
    assert has_plain_pairs(plain(vehicles=[{"count": 2, "fixed_cost": 3, "capacity": 2}]))


CLOSED = np.ones((13, 13)) - np.eye(13)
CLOSED[3, 4] = np.inf

OTHERS: dict[str, dict[str, Any]] = {
    "windows": {"windows": [(0, 9)] * 13},
    "may be left out": {"penalty": [0, *[5] * 12]},
    "a shift": {"vehicles": [{"window": (0, 9)}]},
    "forbidden": {"vehicles": [{"forbidden": [3, 9]}], "allow_unservable": True},
    "pinned": {"vehicles": [{"count": 1, "pinned": [3]}]},
    "two types": {"vehicles": [{"count": 1}, {"count": 1, "fixed_cost": 2}]},
    "closed, though it has a length": {"durations": CLOSED},
}


@pytest.mark.parametrize("name", OTHERS)
def test_whose_plans_are_left_to_others(name: str) -> None:
    problem = plain(**OTHERS[name])
    assert not has_plain_pairs(problem)
    assert search_of(Solution.judged(problem, [])) is refine


@pytest.mark.parametrize("variant", ["TSP", "CVRP", "OP", "PCTSP", "CVRPB", "MDCVRPL"])
def test_other_variants_are_left_to_others(variant: str) -> None:
    assert not has_plain_pairs(generate(variant, 12, 1)[0])


def test_two_depots_are_left_to_others() -> None:
    points = [(0, 0), (1, 0), (2, 0), (3, 0)]
    problem = Problem.from_coordinates(points, depots=(0, 1), pairs=[(2, 3)])
    assert not has_plain_pairs(problem)


def test_finished_plans_are_what_the_search_makes_of_the_models(solver: Solver) -> None:
    """An untrained one, whose plans leave much to be saved."""
    problems = generate("AOPDCVRP", 16, 1)
    first = solver.solve(problems, augment=1, improve=False)
    finished = solver.solve(problems, augment=1)
    assert finished == [polish(rearrange(plan), 0) for plan in first]
    assert all(new.cost < old.cost for new, old in zip(finished, first, strict=True))

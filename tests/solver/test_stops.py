"""Plans of several routes, rebuilt: cheaper ones, and never one that the referee refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around
from spacevrp.problems.solution import Solution
from spacevrp.solver import Solver, stops
from spacevrp.solver.polish import finisher_of, refine, search_of
from spacevrp.solver.roads import Roads, Route
from spacevrp.solver.stops import StopPlans, StopTrials, has_plain_stops, rebuild


@pytest.fixture
def wide_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    """No place is passed over."""
    monkeypatch.setattr(stops, "_BLINK", 0.0)


def put_in(problem: Problem, routes: list[tuple[int, ...]], new: int) -> tuple[float, list[Route]]:
    """What the plan costs with one customer more, and its routes; inf where there is no place."""
    plans = StopPlans(Roads(problem))
    tour = plans.read([Route(0, one) for one in routes])
    # Taken out of the plan in one trial, with another customer in the other.
    trials = StopTrials(plans, tour, np.full((2, 0), 0))
    trials.put_in(np.array([new, new]), np.random.default_rng(0))
    assert trials.costs[0] == trials.costs[1]
    if math.isinf(trials.costs[0]):
        return math.inf, []
    written = plans.written(trials.tour(1))
    return float(trials.costs[0]), [route for route in written if route.stops]


def line(**fields: Any) -> Problem:
    """The depot at 0, customers at 1 to 4 on a line."""
    return Problem.from_coordinates([(float(k), 0.0) for k in range(5)], **fields)


# ------------------------------------------------------------------------------------ by hand


@pytest.mark.usefixtures("wide_awake")
class TestByHand:
    """Where one customer comes in."""

    def test_where_it_adds_least(self) -> None:
        assert put_in(line(), [(1, 3, 4)], 2) == (8.0, [Route(0, (1, 2, 3, 4))])

    def test_where_there_is_room(self) -> None:
        problem = line(demand=[0, 1, 1, 1, 1], capacity=3)
        assert put_in(problem, [(1, 3, 4)], 2) == (12.0, [Route(0, (1, 3, 4)), Route(0, (2,))])
        full = problem.replace(max_routes=1, allow_unservable=True)
        assert put_in(full, [(1, 3, 4)], 2) == (math.inf, [])

    def test_every_kind_of_load_has_its_own_room(self) -> None:
        problem = line(demand=[[0, 0], [1, 0], [0, 1], [1, 0], [1, 0]], capacity=[3, 1])
        assert put_in(problem, [(1, 3, 4)], 2)[0] == 8.0
        problem = line(demand=[[0, 0], [1, 0], [0, 1], [1, 1], [1, 0]], capacity=[3, 1])
        assert put_in(problem, [(1, 3, 4)], 2)[0] == 12.0

    def test_another_vehicle_costs_what_it_costs(self) -> None:
        problem = line(vehicles=[{"fixed_cost": 5, "capacity": 3}], demand=[0, 1, 1, 1, 1])
        assert put_in(problem, [(1, 3, 4)], 2)[0] == 5 + 8 + 5 + 4

    def test_when_its_window_is_open(self) -> None:
        """2 on the way back, at 6, as it does not open before; on the way out there is a wait."""
        windows = [(0, 9), (0, 9), (6, 9), (0, 9), (0, 4)]
        problem = line(windows=windows)
        assert put_in(problem, [(1, 3, 4)], 2) == (8.0, [Route(0, (1, 3, 4, 2))])
        late = line(windows=[(0, 9), (0, 9), (0, 1.5), (0, 9), (0, 9)], allow_unservable=True)
        assert put_in(late, [(1, 3, 4)], 2) == (math.inf, [])

    def test_somebody_behind_is_not_kept_waiting(self) -> None:
        """Service at 2 takes 3: the others are late, or the depot is closed. Alone it works."""
        problem = line(windows=[(0, 10), *[(0, 4.5)] * 4], service=[0, 0, 3, 0, 0])
        assert put_in(problem, [(1, 3, 4)], 2)[1] == [Route(0, (1, 3, 4)), Route(0, (2,))]
        longer = problem.replace(windows=[(0, 11), (0, 9), (0, 9), (0, 9), (0, 9)])
        assert put_in(longer, [(1, 3, 4)], 2)[0] == 8.0

    def test_the_depot_closes_only_for_those_who_come_back(self) -> None:
        problem = line(windows=[(0, 7.5), *[(0, 9)] * 4], allow_unservable=True)
        assert put_in(problem, [(1, 2)], 4) == (math.inf, [])
        opened = problem.replace(open_routes=True)
        assert put_in(opened, [(1, 2)], 4) == (4.0, [Route(0, (1, 2, 4))])

    def test_a_shift_ends_with_the_last_service(self) -> None:
        fields: dict[str, Any] = {"service": [0, 1, 1, 1, 1], "open_routes": True}
        short = line(vehicles=[{"window": (0, 6)}], **fields)
        assert put_in(short, [(1, 3)], 4) == (7.0, [Route(0, (1, 3)), Route(0, (4,))])
        assert put_in(line(vehicles=[{"window": (0, 7)}], **fields), [(1, 3)], 4)[0] == 4.0

    def test_a_route_gets_no_longer_than_it_may(self) -> None:
        assert put_in(line(max_length=8), [(1, 3)], 4)[0] == 8.0
        assert put_in(line(max_length=7, allow_unservable=True), [(1, 3)], 4)[0] == math.inf

    def test_what_is_collected_takes_the_room_of_what_was_delivered(self) -> None:
        """1 and 2 receive 5 each, 3 and 4 hand 5 over."""
        fields: dict[str, Any] = {"demand": [0, 5, 5, -5, -5], "capacity": 10}
        separate = line(load_rule="separate", **fields)
        assert put_in(separate, [(1, 2, 3)], 4) == (8.0, [Route(0, (1, 2, 4, 3))])
        single = line(load_rule="single", **fields)  # what was collected is delivered again
        there_and_back = put_in(single.replace(capacity=5), [(1, 3, 2)], 4)
        assert there_and_back == (10.0, [Route(0, (1, 3, 2, 4))])
        assert put_in(separate.replace(capacity=5), [(1, 3)], 2)[0] == 6.0 + 4.0

    def test_linehauls_come_first(self) -> None:
        problem = line(demand=[0, 5, -5, -5, 5], capacity=10, backhaul_last=True)
        assert put_in(problem, [(1, 4)], 3) == (8.0, [Route(0, (1, 4, 3))])
        assert put_in(problem, [(1, 3)], 4) == (8.0, [Route(0, (1, 4, 3))])


def test_roads_that_are_missing_are_not_used() -> None:
    """From each to the next it is 1, to and from the depot 9, and otherwise there is no road."""
    matrix: Any = [
        [0, 1, 9, 9, 9],
        [9, 0, 1, None, None],
        [9, None, 0, 1, None],
        [9, None, None, 0, 1],
        [1, None, None, None, 0],
    ]
    for more in ({}, {"windows": [(0, 99)] * 5}):
        problem = Problem.from_matrix(matrix, **more)
        start = Solution.judged(problem, [(0, 1, 2, 0), (0, 3, 4, 0)])
        found = rebuild(start)
        assert (start.cost, found.cost, found.routes) == (22.0, 5.0, ((0, 1, 2, 3, 4, 0),))


def test_who_is_left_out_stays_out() -> None:
    """The general search brings them in."""
    start = Solution.judged(line(), [(0, 1, 3, 0)])
    assert rebuild(start) is start
    assert search_of(start) is refine


def test_what_is_found_is_told() -> None:
    (problem,) = generate("CVRPTW", 30, 1, seed=5)
    told = list[float]()
    found = rebuild(alone(problem), watch=told.append)
    assert told == sorted(told, reverse=True)
    assert told[-1] == pytest.approx(found.cost)


# --------------------------------------------------------------------------------- in general


def alone(problem: Problem) -> Solution:
    """A vehicle for each customer."""
    routes = [around([node], problem.fleet[0]) for node in problem.customers]
    return Solution.judged(problem, routes)


def cheapest_of_all(problem: Problem, routes: list[Route], new: int) -> float:
    """The least cost of all plans with the customer anywhere that the referee lets pass."""
    roads = Roads(problem)
    least = math.inf
    for number, route in enumerate([*routes, Route(0, ())]):
        others = [other for k, other in enumerate(routes) if k != number]
        for at in range(len(route.stops) + 1):
            way = Route(0, (*route.stops[:at], new, *route.stops[at:]))
            plan = roads.judged_plan([*others, way])
            if all(violation.code == "visit" for violation in plan.violations):
                least = min(least, plan.cost)
    return least


KINDS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "few vehicles": {"max_routes": 3},
    "fixed costs": {"vehicles": [{"fixed_cost": 0.4, "capacity": 15}]},
    "separate": {"load_rule": "separate"},
    "short": {"max_length": 2.6},
}
VARIANTS = (
    "CVRP",
    "OCVRP",
    "CVRPL",
    "CVRPTW",
    "OCVRPTW",
    "CVRPB",
    "CVRPBTW",
    "CVRPBP",
    "OCVRPBPTW",
)


def drawn(variant: str, kind: str, size: int, seed: int) -> Problem:
    """Few fit into a vehicle, so that there are several."""
    (problem,) = generate(("", "A")[seed % 2] + variant, size, 1, seed=seed)
    more = {"capacity": 15.0} | KINDS[kind]
    return problem.replace(variant=None, allow_unservable=True, **more)


@given(
    variant=st.sampled_from(VARIANTS),
    kind=st.sampled_from(sorted(KINDS)),
    seed=st.integers(0, 10**6),
    size=st.integers(4, 9),
)
@settings(deadline=None, max_examples=20)
def test_all_places_at_once_are_one_by_one(variant: str, kind: str, seed: int, size: int) -> None:
    """Customers come into a plan, wherever it is legal; then the last, where it costs least."""
    problem = drawn(variant, kind, size, seed)
    draws, roads = np.random.default_rng(seed), Roads(problem)
    routes: list[Route] = []
    for node in problem.customers[:-1]:
        number = int(draws.integers(len(routes) + 1)) if len(routes) < 3 else 0
        route = routes[number] if number < len(routes) else Route(0, ())
        at = int(draws.integers(len(route.stops) + 1))
        way = Route(0, (*route.stops[:at], node, *route.stops[at:]))
        if roads.is_legal(way):
            routes[number : number + 1] = [way]
    before = stops._BLINK
    stops._BLINK = 0.0
    try:
        cost, after = put_in(problem, [route.stops for route in routes], problem.customers[-1])
    finally:
        stops._BLINK = before
    assert cost == pytest.approx(cheapest_of_all(problem, routes, problem.customers[-1]))
    if math.isfinite(cost):
        assert math.fsum(map(roads.cost, after)) == pytest.approx(cost)
        assert all(map(roads.is_legal, after))


@given(
    variant=st.sampled_from(VARIANTS),
    kind=st.sampled_from(sorted(set(KINDS) - {"few vehicles"})),
    seed=st.integers(0, 10**6),
    size=st.integers(4, 24),
)
@settings(deadline=None, max_examples=12)
def test_plans_never_get_worse(variant: str, kind: str, seed: int, size: int) -> None:
    problem = drawn(variant, kind, size, seed)
    assert has_plain_stops(problem)
    start = alone(problem)
    found = rebuild(start, lambda done: done / 8, seed)
    assert found.feasible == start.feasible
    assert found.cost <= start.cost
    assert rebuild(start, lambda done: done / 8, seed) == found  # the same draws
    assert rebuild(start, lambda done: 1.0) is start  # no time, no change


@pytest.mark.parametrize("variant", ["CVRP", "ACVRPBTW", "OCVRPTW"])
def test_much_is_gained(variant: str) -> None:
    """More than the moves of the general search gain, where no move of these is left.

    How much on which instance depends on the last bits of sums: 0.1 to 11 percent here.
    """
    starts = [refine(alone(problem), float) for problem in generate(variant, 40, 3, seed=3)]
    found = [rebuild(start, lambda done: done / 60) for start in starts]
    assert all(one.cost <= start.cost for one, start in zip(found, starts, strict=True))
    assert sum(one.cost for one in found) < sum(start.cost for start in starts)


# ------------------------------------------------------------------------------------- for whom


def plain(**more: Any) -> Problem:
    points = [(0.0, 0.0), *((0.1 * k, 0.3) for k in range(1, 13))]
    fields: dict[str, Any] = {"demand": [0, *[1] * 12], "capacity": 4} | more
    return Problem.from_coordinates(points, **fields)


PLAIN: dict[str, dict[str, Any]] = {
    "loads": {},
    "windows": {"windows": [(0, 9)] * 13},
    "both directions": {"demand": [0, *[1] * 6, *[-1] * 6]},
    "open, short, few": {"open_routes": True, "max_length": 9, "max_routes": 12},
    "a shift": {"vehicles": [{"window": (0, 9), "capacity": 4}]},
}
OTHERS: dict[str, dict[str, Any]] = {
    "one route": {"max_routes": 1, "capacity": math.inf},
    "may be left out": {"penalty": [0, *[5] * 12]},
    "two depots": {"depots": (0, 1), "demand": [0, 0, *[1] * 11]},
    "forbidden": {"vehicles": [{"forbidden": [3, 9]}], "allow_unservable": True},
    "pinned": {"vehicles": [{"pinned": [3]}]},
    "two types": {"vehicles": [{"count": 5}, {"count": 1, "fixed_cost": 2}]},
}


@pytest.mark.parametrize("name", PLAIN)
def test_whose_plans_are_rebuilt(name: str) -> None:
    problem = plain(**PLAIN[name])
    assert has_plain_stops(problem)
    assert search_of(alone(problem)) is rebuild
    finished = finisher_of(problem)
    assert finished is not None
    start = alone(problem)
    found = finished(start)
    assert found.feasible
    assert found.cost < start.cost


@pytest.mark.parametrize("name", OTHERS)
def test_whose_plans_are_left_to_others(name: str) -> None:
    assert not has_plain_stops(plain(**OTHERS[name]))


def test_large_plans_are_rebuilt_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stops, "ROUNDS", 1)
    (problem,) = generate("CVRPTW", 210, 1, seed=2)
    nodes = list(problem.customers)
    routes: list[tuple[int, ...]] = []
    roads = Roads(problem)
    while nodes:  # as many as fit, in the order of their numbers
        route = [nodes.pop(0)]
        while nodes and roads.is_legal(Route(0, (*route, nodes[0]))):
            route.append(nodes.pop(0))
        routes.append(around(route, problem.fleet[0]))
    start = Solution.judged(problem, routes)
    assert start.feasible
    found = stops.rebuild_in_parts(start)
    assert found.feasible
    assert found.cost < 0.9 * start.cost
    left_out = Solution.judged(problem, routes[1:])
    assert stops.rebuild_in_parts(left_out) is left_out


def test_solving_rebuilds_unless_told_otherwise() -> None:
    problems = generate("CVRPTW", 20, 1, seed=4)
    solver = Solver(device="cpu")
    first = solver.solve(problems, augment=1, replan=0, improve=False)
    found = solver.solve(problems, augment=1, replan=0)
    assert all(plan.feasible for plan in found)
    assert sum(plan.cost for plan in found) < sum(plan.cost for plan in first)

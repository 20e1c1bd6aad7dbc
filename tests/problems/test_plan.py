"""Plans stop by stop: by hand, and in agreement with the referee."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from random_problems import planned_problems

from spacevrp.problems.errors import SolutionError
from spacevrp.problems.plan import make_plan
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution

Build = Callable[..., Problem]


def test_times_loads_and_legs_by_hand(four_customers: Build) -> None:
    """0 -> 1 (3 away) -> 2 (4) -> 0 (5); 1 opens at 10, so the vehicle waits for 7."""
    problem = four_customers(
        demand=[0, 6, 4, 3, 7],
        capacity=10,
        windows=[(0, 40), (10, 20), (0, 30), (0, 30), (0, 30)],
        service=[0, 2, 1, 1, 1],
    )
    plan = Solution.judged(problem, [[0, 1, 2, 0], [0], [0, 3, 4, 0]]).plan
    assert [route.number for route in plan.routes] == [1, 3]  # as the referee counts them
    first = plan.routes[0]
    assert [stop.kind for stop in first.stops] == ["start", "delivery", "delivery", "end"]
    assert [stop.reached for stop in first.stops] == [0, 3, 16, 22]
    assert [stop.waiting for stop in first.stops] == [0, 7, 0, 0]
    assert [stop.left for stop in first.stops] == [0, 12, 17, 22]
    assert [stop.load for stop in first.stops] == [10, 4, 0, 0]
    assert [stop.leg_cost for stop in first.stops] == [0, 3, 4, 5]
    assert (first.cost, first.driving, first.waiting, first.service) == (12, 12, 7, 3)
    assert (first.delivered, first.collected, first.peak_load) == (10, 0, 10)
    # It may leave 7 later: then it is at customer 1 when that opens.
    assert first.spare == 7
    assert plan.cost == plan.length == 28
    assert plan.skipped == ()


def test_what_is_collected_where_something_is_delivered() -> None:
    """6 and 4 are handed over, 5 and 6 taken back, and 3 more from customer 3."""
    line = [(0, 0), (1, 0), (2, 0), (3, 0)]
    problem = Problem.from_coordinates(line, demand=[0, 6, 4, -3], pickup=[0, 5, 6, 0])
    solution = Solution.judged(problem, [[0, 1, 2, 3, 0]])
    totals = solution.to_dict()["totals"]
    assert (totals["delivered"], totals["collected"]) == (10, 14)
    rows = solution.to_rows()
    assert [row["amount"] for row in rows] == [0, 6, 4, -3, 0]
    assert [row["pickup"] for row in rows] == [0, 5, 6, 0, 0]
    without = Solution.judged(problem.replace(pickup=None), [[0, 1, 2, 3, 0]])
    assert "pickup" not in without.to_rows()[0]


def test_leaving_later_stops_short_of_a_closing_window(four_customers: Build) -> None:
    """Waiting 7 at customer 4 would be saved, but customer 3 closes 2 after the arrival."""
    windows = [(0, 40), (0, 40), (0, 40), (0, 6), (15, 40)]
    problem = four_customers(windows=windows)
    (route,) = Solution.judged(problem, [[0, 3, 4, 0]]).plan.routes
    assert route.waiting == 7
    assert route.spare == 2


def test_loads_of_the_three_rules(four_customers: Build) -> None:
    """Hand over 3, take in 4, hand over 2."""
    demand = [0, 3, -4, 2, 0]
    route = [[0, 1, 2, 3, 4, 0]]

    def loads(**features: Any) -> list[float]:
        problem = four_customers(capacity=9, **features)
        return [stop.load for stop in Solution.judged(problem, route).plan.routes[0].stops]

    # Deliveries are loaded at the depot, and what is collected goes back there.
    assert loads(demand=demand, load_rule="separate") == [5, 2, 6, 4, 4, 4]
    # What is collected may be handed over: 3 at the start are enough.
    assert loads(demand=demand, load_rule="single") == [3, 0, 4, 2, 2, 2]
    # Pairs start empty.
    paired = {"demand": [0, -3, -4, 3, 4], "pairs": [(1, 3), (2, 4)]}
    assert loads(**paired) == [0, 3, 7, 4, 0, 0]


def test_a_tour_without_a_depot_comes_back(four_customers: Build) -> None:
    problem = four_customers(depots=())
    plan = Solution.judged(problem, [[1, 2, 4, 3, 0]]).plan
    (route,) = plan.routes
    assert [stop.node for stop in route.stops] == [1, 2, 4, 3, 0, 1]
    assert [stop.kind for stop in route.stops] == ["visit"] * 5 + ["end"]
    assert route.cost == plan.cost == 4 + 5 + 4 + 4 + 3
    assert len(route.visits) == 5


def test_what_is_skipped_is_paid(four_customers: Build) -> None:
    problem = four_customers(
        max_routes=1,
        prize=[0, 1, 2, 3, 4],
        penalty=[0, 5, 6, 7, 8],
        min_prize=3,
        ids=["a", "b", "c", "d", "e"],
    )
    plan = Solution.judged(problem, [[0, 3, 0]]).plan
    assert plan.skipped == (1, 2, 4)
    assert plan.penalties == 5 + 6 + 8
    assert plan.prize == 3
    assert plan.cost == plan.length + plan.penalties == 27
    assert [plan.id_of(node) for node in plan.skipped] == ["b", "c", "e"]


def test_a_missing_road_stops_the_clock() -> None:
    matrix = [[0, 1, None], [1, 0, None], [1, 1, 0]]
    problem = Problem.from_matrix(matrix, penalty=[0, math.inf, 1], windows=[(0, 9)] * 3)
    solution = Solution.judged(problem, [[0, 1, 2, 0]])
    assert not solution.feasible
    assert [stop.reached for stop in solution.plan.routes[0].stops] == [0, 1, math.inf, math.inf]
    assert solution.to_dict()["routes"][0]["stops"][2]["arrival"] is None


def test_routes_alone_have_no_plan() -> None:
    with pytest.raises(SolutionError, match=r"Solution\.judged"):
        _ = Solution(((0, 1, 0),), 2.0).plan
    assert str(Solution(((0, 1, 0),), 2.0)) == "cost 2, 1 route, feasible\n  route 1: 0 -> 1 -> 0"


# ------------------------------------------------------------------------------------ properties


@given(planned_problems)
def test_the_referee_says_the_same(drawn: tuple[Problem, Any]) -> None:
    problem, routes = drawn
    verdict = judge(problem, routes)
    plan = make_plan(problem, routes, verdict.cost)
    assert plan.length + plan.penalties == pytest.approx(verdict.cost, rel=1e-12, abs=1e-12)

    def blamed(code: str) -> set[int | None]:
        return {violation.route for violation in verdict.violations if violation.code == code}

    late = {
        (route.number, stop.node)
        for route in plan.routes
        for stop in route.stops
        if stop.late > problem.tolerance
    }
    assert late == {(v.route, v.node) for v in verdict.violations if v.code == "window"}
    heavy = {
        route.number
        for route in plan.routes
        if route.peak_load > problem.capacity + problem.load_tolerance
    }
    assert heavy == blamed("capacity")
    long = {
        route.number for route in plan.routes if route.cost > problem.max_length + problem.tolerance
    }
    assert long == blamed("length")


@given(planned_problems)
def test_who_leaves_later_is_back_no_later(drawn: tuple[Problem, Any]) -> None:
    problem, routes = drawn
    (depot,) = problem.depots
    for number, route in enumerate(make_plan(problem, routes, 0.0).routes):
        windows = np.array(problem.windows)
        windows[depot, 0] += route.spare
        later = make_plan(problem.replace(windows=windows), routes, 0.0).routes[number]
        assert later.stops[0].reached == windows[depot, 0]
        assert later.stops[-1].left == pytest.approx(route.stops[-1].left, abs=1e-9)
        assert later.waiting == pytest.approx(route.waiting - route.spare, abs=1e-9)
        for before, after in zip(route.stops[1:], later.stops[1:], strict=True):
            assert after.late <= before.late + 1e-9
        alike = make_plan(problem, routes, 0.0).leaving_late.routes[number]
        assert [stop.reached for stop in alike.stops] == [stop.reached for stop in later.stops]


@given(planned_problems)
def test_every_form_of_a_plan_tells_the_same(drawn: tuple[Problem, Any]) -> None:
    problem, routes = drawn
    solution = Solution.judged(problem, routes)
    document = solution.to_dict()
    rows = solution.to_rows()
    stops = [stop for route in document["routes"] for stop in route["stops"]]
    for key in ("node", "arrival", "load", "leg_cost"):
        assert [row[key] for row in rows] == [stop[key] for stop in stops]
    steps = [step for route in solution.to_vroom()["routes"] for step in route["steps"]]
    late = [stop for route in solution.plan.leaving_late.routes for stop in route.stops]
    if problem.open_routes:  # VROOM adds a step at their end
        steps = [step for step in steps if step["type"] != "end"]
    assert [step["arrival"] for step in steps] == [stop.reached for stop in late]
    assert [step["load"] for step in steps] == [[stop["load"]] for stop in stops]
    assert document["feasible"] is solution.feasible
    assert len(document["violations"]) == len(solution.violations)
    text = str(solution)
    assert all(violation.message in text for violation in solution.violations)

"""Cost and feasibility of plans: what the compiled model says is what the referee says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import compare, faults
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import build, problems, random_plan

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.problems.variants import VARIANTS
from spacevrp.search import native_model

Build = Callable[..., Problem]


def evaluated(problem: Problem, routes: list[list[int]], types: Any = None) -> dict[str, Any]:
    told = native_model(problem).model.evaluate(routes, types or [0] * len(routes))
    return dict(told)


# ------------------------------------------------------------------------------------- by hand


def test_a_plan_costs_the_length_of_its_legs(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 6, 4, 3, 7], capacity=10)
    told = evaluated(problem, [[1, 2], [4, 3]])
    assert told["cost"] == pytest.approx(12 + 16)
    assert told["feasible"]
    assert told["unserved"] == []
    assert told["violations"] == 0


def test_a_tour_without_a_depot_begins_anywhere(four_customers: Build) -> None:
    problem = four_customers(depots=())
    native = native_model(problem)
    solution = Solution.judged(problem, [[4, 3, 0, 1, 2]])
    assert native.start_of(solution) == ([[1, 2, 4, 3]], [0])
    assert compare(native, native.start_of(solution)).cost == 20
    assert native.solution([[1, 2, 4, 3]], [0]).routes == ((0, 1, 2, 4, 3),)


def test_a_unit_of_distance_costs_what_its_vehicle_says(four_customers: Build) -> None:
    """0-1-2-0 is 12 long, and 0-4-3-0 is 16: 2.5 x 12 + 7, and nothing but 9 for the second."""
    cheap = {"unit_distance_cost": 0, "fixed_cost": 9}
    problem = four_customers(vehicles=[{"unit_distance_cost": 2.5, "fixed_cost": 7}, cheap])
    assert evaluated(problem, [[1, 2], [4, 3]], [0, 1])["cost"] == pytest.approx(46)
    assert evaluated(problem, [[1, 2], [4, 3]], [1, 0])["cost"] == pytest.approx(56)
    # Whatever the way is, the second type costs least: one vehicle of it serves all.
    found = native_model(problem).model.search([], [], seed=1, iterations=200)
    assert (found.cost, found.types) == (pytest.approx(9), [1])


@pytest.mark.parametrize(
    ("windows", "taken"),
    [
        (None, 14.0),  # 12 on the way, and a service of 1 at each
        ([[0, 99], [20, 99], [0, 99], [0, 99], [0, 99]], 14.0),  # leaves at 17 or later
        ([[0, 99], [0, 4], [20, 99], [0, 99], [0, 99]], 25.0),  # at 4 in 1, out of 2 at 21
        ([[0, 24], [20, 99], [0, 99], [0, 99], [0, 99]], None),  # back too late in any case
    ],
)
def test_a_route_takes_as_long_as_from_its_latest_start(
    four_customers: Build, windows: Any, taken: float | None
) -> None:
    """0-1-2-0 takes 3 + 4 + 5; the first leaves at 1 at the latest, and is back at 26."""
    fields = {"service": [0, 1, 1, 1, 1], "windows": windows, "allow_unservable": True}
    for limit, legal in ((taken or 99, taken is not None), ((taken or 99) - 0.1, False)):
        problem = four_customers(**fields, vehicles=[{"max_duration": limit}])
        assert compare(native_model(problem), ([[1, 2]], [0])).is_legal == legal


def test_limits_that_are_met_exactly_are_kept(four_customers: Build) -> None:
    """0-1-2-0 is 12 long; at 1 at 3, at 2 at 7, back at 12; the load is 10."""
    windows = [[0, 12], [0, 3], [7, 7], [0, 12], [0, 16]]
    shift = {"max_length": 12.0, "window": (0, 12), "count": 1}
    fields = {"demand": [0, 6, 4, 3, 7], "capacity": 10, "windows": windows}
    problem = four_customers(**fields, vehicles=[shift], allow_unservable=True)
    native = native_model(problem)
    assert compare(native, ([[1, 2]], [0])).is_legal


@pytest.mark.parametrize("slack", ["length_tolerance", "time_tolerance"])
def test_slack_stays_inside_that_of_the_referee(four_customers: Build, slack: str) -> None:
    """What is over by 0.4 of the slack is accepted by both; by 1.2 of it by none."""
    plain = four_customers(windows=[[0, 12]] * 5, max_length=12.0, allow_unservable=True)
    for part, accepted in ((0.4, True), (1.2, False)):
        over = part * getattr(plain, slack)
        changes = {
            "length_tolerance": {"max_length": 12.0 - over},
            "time_tolerance": {"windows": [[0, 12 - over], *[[0, 12]] * 4]},
        }[slack]
        solution = compare(native_model(plain.replace(**changes)), ([[1, 2]], [0]))
        assert solution.is_legal == accepted


# ------------------------------------------------------------------------- every kind of problem


@pytest.mark.parametrize("name", VARIANTS)
def test_random_plans_of_every_variant(name: str) -> None:
    (problem,) = generate(name, 8, 1, seed=3)
    native = native_model(problem.as_expected())
    rng = np.random.default_rng(5)
    for _ in range(30):
        compare(native, random_plan(native.problem, rng))
    for method in ("savings", "insertion", "regret"):
        assert compare(native, native.model.construct(method, 1)).is_legal


@settings(max_examples=150)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_random_plans_of_random_problems(problem: Problem, seed: int) -> None:
    native = native_model(problem)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        compare(native, random_plan(problem, rng))


@pytest.mark.slow
@settings(max_examples=2000)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_random_plans_of_many_random_problems(problem: Problem, seed: int) -> None:
    test_random_plans_of_random_problems.hypothesis.inner_test(problem, seed)


@settings(max_examples=100)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_constructed_plans_keep_the_rules(problem: Problem, seed: int) -> None:
    native = native_model(problem)
    for method in ("savings", "insertion", "regret"):
        routes, types = native.model.construct(method, seed)
        solution = compare(native, (routes, types))
        # What is pinned may be impossible to finish, and little prize may be in reach.
        allowed = {"prize"} | ({"pin"} if any(t.pinned for t in problem.fleet) else set())
        assert set(faults(solution)) <= allowed
        assert (routes, types) == native.model.construct(method, seed)


@settings(max_examples=150)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_plans_survive_the_way_there_and_back(problem: Problem, seed: int) -> None:
    routes, types = random_plan(problem, np.random.default_rng(seed))
    native = native_model(problem)
    solution = native.solution(routes, types)
    again = native.solution(*native.start_of(solution))
    assert (again.routes, again.vehicles, again.cost) == (
        solution.routes,
        solution.vehicles,
        solution.cost,
    )


def test_every_feature_makes_a_problem() -> None:
    """The strategy really gives what it says: each feature shows in some problem."""
    shown: set[str] = set()
    for seed in range(40):
        for word in ("vehicles", "pairs", "no_depot"):
            problem = build({word, "pins", "windows", "kinds", "backhaul", "capacity"}, seed)
            shown |= set(problem.inferred_features.active)
            shown |= {"pins"} if any(terms.pinned for terms in problem.fleet) else set()
    assert {"capacity", "backhaul", "time_windows", "pickup_delivery", "pins"} <= shown

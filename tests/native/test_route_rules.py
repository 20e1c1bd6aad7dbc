"""Rules of whole routes: working time, breaks, trips, and times of day."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import check_moves, close, compare, faults, left_out
from best_routes import least_cost
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import build, random_plan, ruled_problems

from spacevrp.problems.problem import Problem
from spacevrp.search import native_model

SEEDS = st.integers(0, 10**6)
# Rules that bind together, each often enough to be broken by a search that forgets it.
FOCUS = (
    {"stops"},
    {"duration_cost", "windows", "service"},
    {"overtime", "windows", "service"},
    {"overtime", "duration_cost", "shifts", "ends", "whole"},
    {"latest_start", "duration_cost", "windows"},
    {"speed", "windows", "duration_cost", "durations", "matrix"},
    {"own_service", "service", "windows", "duration_cost"},
    {"breaks", "windows", "service"},
    {"breaks", "duration_cost", "whole", "shifts"},
    {"breaks", "overtime", "pairs", "windows"},
    {"reloads", "capacity"},
    {"reloads", "capacity", "windows", "service", "duration_cost"},
    {"reloads", "capacity", "depots", "lengths", "counts", "fixed"},
    {"reloads", "capacity", "release", "overtime"},
    {"reloads", "capacity", "backhaul", "separate"},
    {"reloads", "capacity", "backhaul", "backhaul_last", "windows"},
    {"reloads", "capacity", "pairs", "breaks"},
    {"reloads", "kinds", "gaps", "breaks", "duration_cost", "whole"},
    {"on_board", "capacity", "backhaul"},
    {"on_board", "capacity", "reloads", "release", "windows"},
    {"gaps", "windows", "service", "duration_cost"},
    {"gaps", "whole", "overtime"},
    {"release", "windows", "duration_cost"},
    {"setup", "windows", "duration_cost", "whole"},
    {"travel_times", "windows", "duration_cost"},
    {"travel_times", "gaps", "breaks", "speed", "overtime"},
    {"travel_times", "reloads", "capacity", "release", "setup"},
    {"maximise", "windows", "duration_cost", "reloads", "capacity"},
    {"optional", "prize", "duration_cost", "stops", "depots"},
)
named = pytest.mark.parametrize("rules", FOCUS, ids=lambda rules: "+".join(sorted(rules)))


def agrees(problem: Problem, seed: int) -> None:
    """Random plans, what is built, what is found, and the moves between them."""
    native = native_model(problem)
    model, rng = native.model, np.random.default_rng(seed)
    for _ in range(4):
        compare(native, random_plan(problem, rng))
    for method in ("savings", "regret", "insertion"):
        built = model.construct(method, seed)
        start = compare(native, built)
        assert set(faults(start)) <= {"prize", "pin"}, (problem, built, start.violations)
    found = model.search(*built, seed=seed, iterations=40)
    plan = (found.routes, found.types)
    end = compare(native, plan)
    assert set(faults(end)) <= {"prize", "pin"}, (problem, plan, end.violations)
    assert found.cost == close(problem, end.cost)
    assert len(left_out(end)) <= len(left_out(start))
    if len(left_out(end)) == len(left_out(start)) and "prize" not in faults(start):
        assert end.cost <= start.cost + 1e-9 * (1 + abs(start.cost))
    for one in (built, plan, (found.routes[1:], found.types[1:])):
        if not faults(native.solution(*one)):
            check_moves(native, one, seed, 15)
        slow = model.evaluate(*one, slow=True)
        assert slow["cost"] == close(problem, model.evaluate(*one)["cost"])
        assert slow["feasible"] == model.evaluate(*one)["feasible"]


@named
def test_where_rules_bind(rules: set[str]) -> None:
    for seed in range(3):
        agrees(build({"vehicles", *rules}, seed, 10), seed)


@settings(max_examples=40)
@given(problem=ruled_problems, seed=SEEDS)
def test_random_mixtures(problem: Problem, seed: int) -> None:
    agrees(problem, seed)


@pytest.mark.slow
@settings(max_examples=200)
@given(problem=ruled_problems, seed=SEEDS)
def test_many_random_mixtures(problem: Problem, seed: int) -> None:
    agrees(problem, seed)


@pytest.mark.parametrize("windows", [set(), {"windows", "service", "release"}])
@pytest.mark.parametrize("paid", [set(), {"duration_cost"}, {"overtime", "setup"}])
@pytest.mark.parametrize("depots", [set(), {"depots", "lengths"}])
def test_quick_trips_are_those_of_the_slow_twin(
    windows: set[str], paid: set[str], depots: set[str]
) -> None:
    """Long routes by sums of loads and by labels of every kind; distances need not be metric."""
    rules = {"vehicles", "reloads", "capacity", "matrix", *windows, *paid, *depots}
    legal = 0
    for seed in range(6):
        problem = build(rules, seed, 14)
        native, rng = native_model(problem), np.random.default_rng(seed)
        built = native.model.construct("insertion", seed)
        found = native.model.search(*built, seed=seed, iterations=100)
        for plan in (built, (found.routes, found.types), random_plan(problem, rng)):
            quick, slow = (native.model.evaluate(*plan, slow=way) for way in (False, True))
            assert quick["feasible"] == slow["feasible"]
            assert quick["cost"] == close(problem, slow["cost"])
            legal += quick["feasible"]
        assert found.cost == close(problem, native.solution(found.routes, found.types).cost)
    assert legal > 0


@named
def test_tiny_problems_are_solved(rules: set[str]) -> None:
    """With 4 customers the search finds the best of all plans."""
    if rules & {"pairs", "prize", "maximise"}:
        pytest.skip("plans are tried out customer by customer, and cost is what counts")
    problem = build({"vehicles", *rules}, 7, 4)
    native = native_model(problem)
    found = native.model.search(*native.model.construct("insertion", 0), seed=1, iterations=400)
    solution = native.solution(found.routes, found.types)
    missing, cost = least_cost(problem)
    assert len(left_out(solution)) == missing
    assert solution.cost == close(problem, cost)

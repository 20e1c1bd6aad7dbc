"""Rules of whole routes, relations and objectives: the search says what the referee says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agreement import check_moves, close, compare, faults, left_out
from enumeration import best_plan
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import build, random_plan, ruled_problems
from related_problems import BESIDE, RELATIONS, every_plan, relate, related, ridden, ride

from spacevrp.problems.problem import Problem
from spacevrp.search import Stop, improve, native_model
from spacevrp.search.improve import rank
from spacevrp.search.model import model_arguments, solution_of

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
    for seed in range(2):
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


@pytest.mark.parametrize(
    "rules",
    [
        {"capacity"},
        {"capacity", "matrix"},
        {"capacity", "matrix", "missing"},
        {"capacity", "matrix", "backhaul"},
        {"capacity", "matrix", "backhaul", "separate", "on_board"},
        {"capacity", "matrix", "depots", "windows"},
        {"capacity", "matrix", "windows", "service", "duration_cost"},
        {"kinds", "matrix"},
        {"kinds", "matrix", "gaps"},
    ],
    ids=lambda rules: "+".join(sorted(rules)),
)
def test_no_trip_is_cheaper_than_its_bound(rules: set[str]) -> None:
    """Every place that a bound passes over is evaluated, too, or the search ends with an error."""
    for seed in range(8):
        model = native_model(build({"vehicles", "reloads", *rules}, seed, 10)).model
        model.search(
            *model.construct("insertion", 0), seed=1, iterations=100, tuning={"check": 1.0}
        )


def test_a_search_with_long_trips_ends_by_its_count() -> None:
    """An iteration may count as several, the same ones every time."""
    model = native_model(build({"vehicles", "reloads", "capacity", "whole"}, 3, 40)).model
    start = model.construct("insertion", 0)
    one, again = (model.search(*start, seed=2, iterations=1500) for _ in range(2))
    assert one.iterations == again.iterations == 1500
    assert (one.routes, one.types, one.trace[-1][1:]) == (
        again.routes,
        again.types,
        again.trace[-1][1:],
    )


@named
def test_tiny_problems_are_solved(rules: set[str]) -> None:
    """With 4 customers the search finds the best of all plans."""
    if rules & {"pairs", "prize", "maximise"}:
        pytest.skip("plans are tried out customer by customer, and cost is what counts")
    problem = build({"vehicles", *rules}, 7, 4)
    native = native_model(problem)
    found = native.model.search(*native.model.construct("insertion", 0), seed=1, iterations=400)
    solution = native.solution(found.routes, found.types)
    best = best_plan(problem, partial=True)
    assert best is not None
    assert len(left_out(solution)) == len(left_out(best))
    assert solution.cost == close(problem, best.cost)


def check_plans(problem: Problem, seed: int) -> None:
    """Random plans are judged alike, moves are predicted, and what is found is accepted."""
    native = native_model(problem)
    rng = np.random.default_rng(seed)
    for _ in range(6):
        plan = random_plan(problem, rng)
        solution = compare(native, plan)
        told = native.model.evaluate(*plan)
        if "makespan" in told and not faults(solution):
            slack = 1e-9 * (1 + abs(told["makespan"])) + 2 * problem.time_tolerance
            assert told["makespan"] == pytest.approx(solution.terms["makespan"], abs=slack)
            assert told["balance"] == pytest.approx(solution.terms["balance"], abs=2 * slack)
    for method in ("insertion", "savings", "regret"):
        plan = native.model.construct(method, seed)
        built = native.solution(*plan)
        assert not faults(built), (problem, method, built.violations)
        found = native.model.search(*plan, seed=seed, iterations=60, tuning={"check": 1.0})
        after = native.solution(found.routes, found.types)
        context = (problem, method, plan, found.routes, after.violations)
        assert not faults(after), context
        assert near(problem, after, built), context
        check_moves(native, (found.routes, found.types), seed, 15)
    check_moves(native, (found.routes[1:], found.types[1:]), seed, 15) if not faults(
        native.solution(found.routes[1:], found.types[1:])
    ) else None


def near(problem: Problem, better: Any, worse: Any) -> bool:
    """Whether a plan is no worse than another, but for rounding errors."""
    for one, other in zip(rank(better), rank(worse), strict=True):
        slack = 1e-9 * (1 + abs(float(other)))
        if abs(float(one) - float(other)) > slack:
            return bool(one < other)
    return True


@settings(max_examples=60)
@given(problem=related, seed=st.integers(0, 10**6))
def test_random_problems(problem: Problem, seed: int) -> None:
    check_plans(problem, seed)


@settings(max_examples=40)
@given(problem=ridden, seed=st.integers(0, 10**6))
def test_rides_next_to_rules_of_routes(problem: Problem, seed: int) -> None:
    check_plans(problem, seed)


@pytest.mark.slow
@settings(max_examples=300)
@given(problem=related, seed=st.integers(0, 10**6))
def test_many_random_problems(problem: Problem, seed: int) -> None:
    check_plans(problem, seed)


@pytest.mark.parametrize("relation", [*RELATIONS, "mixture"])
def test_the_best_of_all_plans_is_found(relation: str) -> None:
    """Four customers: every plan there is, judged by the referee."""
    rng = np.random.default_rng(RELATIONS.index(relation) if relation in RELATIONS else 99)
    for seed in range(6):
        beside = rng.choice(["capacity", "windows", "service", "durations", "max_routes"], 2)
        wanted = {relation, *beside.tolist()}
        if relation == "mixture":
            wanted |= set(rng.choice(RELATIONS, 4, replace=False).tolist())
        if relation in ("max_ride", "lifo"):
            wanted.add("some_pairs")
        problem = relate(wanted, seed, 4)
        plans = (solution_of(problem, *plan) for plan in every_plan(problem))
        best = min((one for one in plans if one.is_legal), key=rank)
        (found,) = improve([problem], [None], stop=Stop(iterations=400), seed=seed)
        assert found.is_legal
        assert near(problem, found, best), (problem, rank(found), rank(best), best.routes)


@pytest.mark.parametrize(
    "rules",
    [{"gaps"}, {"breaks"}, {"reloads"}, {"travel_times"}, {"reloads", "breaks"}],
    ids=lambda rules: "+".join(sorted(rules)),
)
def test_rides_next_to_rules_of_routes_are_planned_best(rules: set[str]) -> None:
    """Four customers, every plan and every place to reload; the rides bind."""
    for seed in (21, 34):
        problem = ride({*rules, "whole", "windows", "duration_cost", "capacity"}, seed, 4)
        native = native_model(problem)
        found = native.model.search(*native.model.construct("insertion", 0), seed=1, iterations=400)
        solution = native.solution(found.routes, found.types)
        best, free = (
            best_plan(one, partial=True) for one in (problem, problem.replace(max_ride=None))
        )
        assert not faults(solution)
        assert len(left_out(solution)) == len(left_out(best))
        assert solution.cost == close(problem, best.cost)
        assert (len(left_out(free)), free.cost) != (len(left_out(best)), best.cost)


def test_hostile_relations_are_refused() -> None:
    """Whatever the table holds, an error says so; the process goes on."""
    from spacevrp import native

    assert native.core is not None
    problem = relate({"some_pairs", "max_ride", "groups", "order", "priority", "objective"}, 3, 7)
    sound = model_arguments(problem)
    rng = np.random.default_rng(0)
    odd = [None, "x", -1, 3, 1e300, [], [[]], [[-5]], [[10**6, 1]], [([0], True)], {}, [1.5] * 8]
    odd += [[float("nan")] * 8, [float("inf")] * 8, [([1, 1], True)], [("cost", -1.0)], ["speed"]]
    # Pairs bring what they deliver: it is not loaded at the depot.
    delivered = list(sound["relations"]["delivered"])
    delivered[problem.pairs[0][0]] = 2.0
    with pytest.raises(ValueError, match="delivered: expected 0 for customers of pairs"):
        native.core.Model(**{**sound, "relations": {**sound["relations"], "delivered": delivered}})
    refused = 0
    for _ in range(400):
        table = dict(sound["relations"])
        for key in rng.choice([*table, "lifo", "same_route", "delivered", "other"], 2):
            table[str(key)] = odd[int(rng.integers(len(odd)))]
        try:
            model = native.core.Model(**{**sound, "relations": table})
        except (ValueError, TypeError):
            refused += 1
            continue
        found = model.search(*model.construct("insertion", 1), seed=1, iterations=20)
        model.evaluate(found.routes, found.types)
    assert refused > 200


def test_limits_on_durations_beside_a_measured_objective() -> None:
    """No rule of whole routes is there to ask what the time costs."""
    has = {"vehicles", "max_durations", "shifts", "same_route", "priority", "objective"}
    for seed in (628058, 4, 5):
        check_plans(relate(has, seed, 9), seed)


def test_beside_covers_what_relations_meet() -> None:
    """A problem without relations tells the model nothing of them."""
    assert "relations" not in model_arguments(relate(BESIDE[:4], 1, 5))

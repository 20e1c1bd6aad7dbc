"""The stage that improves plans: never worse, the same on any number of threads, refereed."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from enumeration import best_plan
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import problems, random_plan

from spacevrp.generators import generate
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.problems.variants import VARIANTS
from spacevrp.problems.warning import RefusedWarning
from spacevrp.search import Improved, Stop, improve
from spacevrp.search.improve import rank
from spacevrp.search.model import Native, solution_of

Build = Callable[..., Problem]
SHORT = Stop(iterations=60)


def routes_of(plans: list[Solution]) -> list[Any]:
    return [(plan.routes, plan.vehicles, plan.cost) for plan in plans]


# ------------------------------------------------------------------------------------- by hand


# Each customer alone; nothing; customers left out; too heavy; one twice; one that ends elsewhere.
ALONE = [[0, node, 0] for node in (1, 2, 3, 4)]
STARTS: tuple[Any, ...] = (ALONE, None, [[0, 1, 2, 0]], [[0, 1, 2, 3, 4, 0]])
STARTS += ([[0, 1, 2, 0], [0, 2, 0]], [[0, 4, 0], [1, 2]])


@pytest.mark.parametrize("routes", STARTS)
def test_the_best_plan_of_four_customers(four_customers: Build, routes: Any) -> None:
    """0-1-2-0 and 0-3-4-0 cost 12 + 16, whatever the search begins with."""
    problem = four_customers(demand=[0, 6, 4, 3, 7], capacity=10)
    plan = None if routes is None else Solution.judged(problem, routes)
    (found,) = improve([problem], [plan], stop=SHORT)
    assert (found.cost, found.feasible) == (28, True)
    assert found.problem is problem
    for starts in (["savings"], "usual"):  # constructions alone find it, too
        (found,) = improve([problem], [plan], stop=Stop(iterations=0), starts=starts)
        assert found.cost == 28


@pytest.mark.parametrize("begins_empty", [True, False])
def test_a_route_that_no_customer_pays_for_alone(four_customers: Build, begins_empty: bool) -> None:
    """Ways to one alone are 6, 10, 8 and 16 long, but 0-1-2-3-0 is 14: with 4 left out, 19.5."""
    problem = four_customers(penalty=[0, 5.5, 5.5, 5.5, 5.5])
    empty = Solution.judged(problem, [])
    assert empty.cost == 22
    (found,) = (
        improve([problem], [empty], stop=Stop(iterations=1000))
        if begins_empty
        else improve([problem], [None], stop=Stop(iterations=1), starts=["insertion"])
    )
    assert found.cost == 19.5
    assert found.feasible


@pytest.mark.parametrize("begins_empty", [True, False])
def test_routes_that_only_many_penalties_pay_for(begins_empty: bool) -> None:
    """Ten streets of twelve houses, 10 away: nine of a street pay for a route, eight do not."""
    streets = np.arange(10) * math.tau / 10
    houses = [
        (10 * math.cos(way), 10 * math.sin(way) + 0.01 * i) for way in streets for i in range(12)
    ]
    problem = Problem.from_coordinates(
        [(0, 0), *houses], demand=[0] + [1] * 120, capacity=12, penalty=[0] + [2.5] * 120
    )
    plans = [Solution.judged(problem, []) if begins_empty else None]
    (found,) = improve([problem], plans, stop=Stop(iterations=10_000))
    assert len(found.routes) == 10
    assert sum(len(route) - 2 for route in found.routes) == 120


# The search weighs the terms; a weight that is too small shows where the later one is large.
ORDERS: tuple[tuple[str, ...], ...] = (("makespan", "vehicles"), ("vehicles", "makespan"))
ORDERS += (("balance", "makespan", "cost"), ("makespan", "vehicles", "balance"), ("makespan",))
ORDERS += (("makespan", "balance", "cost", "vehicles"), ("cost", "makespan"))


@pytest.mark.parametrize("first", ORDERS)
def test_terms_of_an_objective_in_their_order(first: tuple[str, ...]) -> None:
    for seed in range(20):
        matrix = np.random.default_rng(seed).integers(10, 60, (4, 4))
        np.fill_diagonal(matrix, 0)
        problem = Problem.from_matrix(matrix, objective=first)
        plans = (
            [(0, *part, 0) for part in np.split(order, cuts)]
            for order in permutations((1, 2, 3))
            for cuts in ([], [1], [2], [1, 2])
        )
        best = min(Solution.judged(problem, plan).objective for plan in plans)
        (found,) = improve([problem], [None], stop=Stop(iterations=2000))
        assert found.objective == pytest.approx(best), seed


# No road leads from 1 to the depot; the way home from 1 is too long.
@pytest.mark.parametrize(
    ("matrix", "limits"),
    [
        ([[0, 10, 10, 5], [math.inf, 0, 10, math.inf], [10, 50, 0, 5], [5, 12, 5, 0]], {}),
        ([[0, 10, 10], [50, 0, 10], [10, 50, 0]], {"max_duration": 40}),
    ],
)
def test_pinned_customers_who_need_another_behind_them(matrix: Any, limits: Any) -> None:
    problem = Problem.from_matrix(matrix, vehicles=[{"pinned": [1], **limits}])
    (found,) = improve([problem], [None], stop=SHORT)
    assert found.feasible
    best = best_plan(problem)
    assert best is not None
    assert found.cost == best.cost


def test_a_plan_that_knows_no_problem_is_judged(four_customers: Build) -> None:
    problem = four_customers()
    claimed = Solution(((0, 1, 2, 3, 4, 0),), cost=1.0)  # it costs 22
    (found,) = improve([problem], [claimed], stop=SHORT)
    assert found.cost == 20


# ------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "limits",
    [
        *({"seconds": -1.0}, {"seconds": math.nan}, {"seconds": math.inf}, {"seconds": "1"}),
        *({"seconds": True}, {"iterations": -1}, {"iterations": 1.5}, {"iterations": 2**62}),
        {"no_gain": True},
    ],
)
def test_limits_that_are_none(limits: dict[str, Any]) -> None:
    with pytest.raises(SpacevrpError, match=f"stop, {next(iter(limits))}: expected"):
        Stop(**limits)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plans": []}, "plans: expected one for each of 1 problems, received 0"),
        ({"stop": Stop()}, "stop: expected a limit"),
        ({"seed": -1}, "seed: expected"),
        ({"seed": 1.5}, "seed: expected"),
        ({"threads": 0}, "threads: expected"),
        ({"starts": ["magic"]}, "starts: expected"),
    ],
)
def test_bad_arguments(four_customers: Build, changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"problems": [four_customers()], "plans": [None], "stop": SHORT}
    with pytest.raises(SpacevrpError, match=message):
        improve(**given | changes)


def test_a_plan_that_the_referee_refuses_is_dropped(
    monkeypatch: pytest.MonkeyPatch, four_customers: Build
) -> None:
    """This must never happen; so a search is made up that does it."""
    problem = four_customers(demand=[0, 6, 4, 3, 7], capacity=10, name="monday")
    start = Solution.judged(problem, [[0, 1, 2, 0], [0, 3, 4, 0]])
    model = SimpleNamespace(
        search=lambda *_, **__: SimpleNamespace(routes=[[1, 2, 3, 4]], types=[0]),
        evaluate=lambda *_: {"feasible": True, "unserved": [], "cost": 20.0},
    )
    stage = sys.modules["spacevrp.search.improve"]
    monkeypatch.setattr(stage, "native_model", lambda one, _: Native(one, model))
    with pytest.warns(RefusedWarning, match=r"problem 0 \(monday\).*capacity"):
        (found,) = improve([problem], [start], stop=SHORT)
    assert found is start


# -------------------------------------------------------------------------- every kind of problem


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant(name: str) -> None:
    (problem,) = generate(name, 10, 1, seed=6)
    found = improve([problem], [None], stop=SHORT, seed=3)
    assert found[0].feasible
    again = improve([problem], list(found), stop=SHORT, seed=4)
    assert again[0].feasible
    known = problem.as_expected()
    assert foreseen(again) <= foreseen(improve([known], list(found), stop=Stop(iterations=0)))
    # Little is left to gain: the plan of one kind of start is near that of the other.
    better = improve([problem], [None], stop=Stop(iterations=600), seed=5)
    assert foreseen(better) <= foreseen(found) + 0.2 * abs(foreseen(found))


def foreseen(plans: Improved) -> float:
    """What the only plan was expected to cost."""
    return plans.expected.get(0, plans[0].cost)


@settings(max_examples=80)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_never_worse_than_the_start(problem: Problem, seed: int) -> None:
    start = solution_of(problem, *random_plan(problem, np.random.default_rng(seed)))
    (found,) = improve([problem], [start], stop=Stop(iterations=30), seed=seed)
    assert rank(found) <= rank(start)
    judged = Solution.judged(problem, found.routes, found.vehicles)
    assert (judged.cost, judged.violations) == (found.cost, found.violations)


# -------------------------------------------------------------------------------- the same again


def mixed(size: int) -> list[Problem]:
    names = ("CVRP", "ACVRPTW", "MDOCVRPBL", "PDCVRP", "TSP", "OP", "PCTSP", "SPCTSP")
    return [generate(name, size, 1, seed=8)[0] for name in names]


def test_the_same_seed_gives_the_same_plans_on_any_number_of_threads() -> None:
    instances = mixed(20)
    none = [None] * len(instances)
    plans = [
        routes_of(improve(instances, none, stop=Stop(iterations=150), seed=7, threads=threads))
        for threads in (1, 2, 4, 1)
    ]
    assert plans[0] == plans[1] == plans[2] == plans[3]


def test_a_problem_gets_the_same_plan_alone_and_among_others() -> None:
    instances = mixed(16)
    together = improve(instances, [None] * len(instances), stop=SHORT, seed=2)
    for problem, plan in zip(instances, together, strict=True):
        for threads in (1, 2, 4):
            (alone,) = improve([problem], [None], stop=SHORT, seed=2, threads=threads)
            assert routes_of([alone]) == routes_of([plan])

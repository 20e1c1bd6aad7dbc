"""The referee's costs, its reading of routes, and properties that hold for any plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import planned_problems

from spacevrp.problems.errors import SolutionError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Verdict, judge
from spacevrp.problems.solution import Solution

Build = Callable[..., Problem]

# Not symmetric: going back along a leg costs ten more.
ONE_WAY: dict[str, Any] = {
    "matrix": [
        [0, 1, 2, 3, 4],
        [11, 0, 5, 6, 7],
        [12, 15, 0, 8, 9],
        [13, 16, 18, 0, 10],
        [14, 17, 19, 20, 0],
    ]
}


def cost_of(problem: Problem, routes: list[list[int]]) -> float:
    verdict = judge(problem, routes)
    assert verdict.violations == ()
    assert verdict.feasible
    return verdict.cost


# ---------------------------------------------------------------------------------------- costs


LOADED = {"demand": [0, 6, 4, 3, 7], "capacity": 10}
PENALTIES = {"penalty": [0, 1, 2, 4, 8], "max_routes": 1}
PRIZES = {"prize": [9, 1, 2, 4, 8], "maximise_prize": True, "max_length": 16}
UNKNOWN = {**PENALTIES, "prize": [0, 1, 1, 1, 1], "revealed_prize": [0, 2, 0, 0, 0], "min_prize": 2}
SLOW = {"durations": [[100.0] * 5] * 5}


@pytest.mark.parametrize(
    ("features", "routes", "cost"),
    [
        pytest.param(LOADED, [[0, 1, 2, 0], [0, 4, 3, 0]], 12 + 16, id="closed"),
        pytest.param(LOADED | {"open_routes": True}, [[0, 1, 2], [0, 3, 4]], 7 + 8, id="open"),
        pytest.param({"depots": ()}, [[0, 1, 2, 4, 3]], 3 + 4 + 5 + 4 + 4, id="tour"),
        pytest.param({"depots": ()}, [[4, 3, 0, 1, 2]], 20, id="tour from elsewhere"),
        pytest.param({"depots": (0, 4)}, [[0, 1, 2, 0], [4, 3, 4]], 12 + 8, id="two depots"),
        pytest.param({"depots": 3}, [[3, 2, 1, 0, 3], [3, 4, 3]], 14 + 8, id="depot 3"),
        pytest.param(PENALTIES, [[0, 1, 0]], 6 + 2 + 4 + 8, id="skipped"),
        pytest.param(PENALTIES, [], 15, id="all skipped"),
        pytest.param(PENALTIES, [[0, 1, 2, 4, 3, 0]], 20, id="none skipped"),
        pytest.param(PRIZES, [[0, 4, 3, 0]], -12, id="orienteering"),
        pytest.param(UNKNOWN, [[0, 1, 0]], 6 + 14, id="unknown prizes do not count"),
        pytest.param(ONE_WAY, [[0, 1, 2, 3, 4, 0]], 1 + 5 + 8 + 10 + 14, id="there"),
        pytest.param(ONE_WAY, [[0, 4, 3, 2, 1, 0]], 4 + 20 + 18 + 15 + 11, id="back"),
        pytest.param(ONE_WAY | {"depots": ()}, [[0, 1, 2, 3, 4]], 38, id="one-way tour"),
        pytest.param(ONE_WAY | {"depots": ()}, [[4, 3, 2, 1, 0]], 68, id="the other way"),
        pytest.param(ONE_WAY | SLOW, [[0, 1, 2, 3, 4, 0]], 38, id="durations are no cost"),
    ],
)
def test_what_a_plan_costs(four_customers: Build, features: Any, routes: Any, cost: float) -> None:
    build = Problem.from_matrix if "matrix" in features else four_customers
    assert cost_of(build(**features), routes) == cost


def test_no_prize_is_not_minus_zero(four_customers: Build) -> None:
    assert str(cost_of(four_customers(**PRIZES), [])) == "0.0"


# --------------------------------------------------------------------------------- empty routes


@pytest.mark.parametrize("empty", [[], [0], [0, 0]])
@pytest.mark.parametrize("open_routes", [False, True])
def test_a_route_without_customers_is_ignored(four_customers, empty, open_routes):
    problem = four_customers(open_routes=open_routes, max_routes=1, windows=[[2, 90]] * 5)
    served = [0, 1, 2, 4, 3] if open_routes else [0, 1, 2, 4, 3, 0]
    assert cost_of(problem, [empty, served, empty]) == (16 if open_routes else 20)


# ------------------------------------------------------------------------ what cannot be judged


@pytest.mark.parametrize(
    ("routes", "message"),
    [
        ([[0, 1, 0], [0, 9, 0]], "route 2, position 2: expected a node from 0 to 4, received 9"),
        ([[0, -1, 0]], "route 1, position 2: expected a node from 0 to 4, received -1"),
        ([[0, 1.0, 0]], "route 1, position 2: expected a node from 0 to 4, received 1.0"),
        ([[0, 1.7, 0]], "route 1, position 2: expected a node from 0 to 4, received 1.7"),
        ([[0, "1", 0]], "route 1, position 2: expected a node from 0 to 4, received '1'"),
        ([[0, True, 0]], "route 1, position 2: expected a node from 0 to 4, received True"),
        ([[0, 1, None]], "route 1, position 3: expected a node from 0 to 4, received None"),
        (["012"], "route 1: expected a list of nodes, received '012'"),
        ([[0, 1, 0], 3], "route 2: expected a list of nodes, received 3"),
        ([{0, 1, 2}], "route 1: expected a list of nodes, received {0, 1, 2}"),
        (None, "routes: expected a list of routes, received None"),
    ],
)
def test_what_is_no_node_cannot_be_judged(four_customers: Build, routes: Any, message: str) -> None:
    for court in (judge, Solution.judged):  # neither rounds anything to a node
        with pytest.raises(SolutionError) as caught:
            court(four_customers(), routes)
        assert str(caught.value) == message


def test_arrays_and_tuples_are_routes_too(four_customers: Build) -> None:
    problem = four_customers()
    assert judge(problem, (np.array([0, 1, 2, 4, 3, 0]),)) == Verdict(20.0)
    assert judge(problem, np.array([[0, 1, 2, 0], [0, 3, 4, 0]])) == Verdict(28.0)
    assert judge(problem, (iter(route) for route in [[0, 1, 2, 4, 3, 0]])) == Verdict(20.0)


# ------------------------------------------------------------------------------------ properties


def codes(verdict: Verdict) -> list[tuple[str, int | None]]:
    return sorted((v.code, v.route or 0) for v in verdict.violations)


@settings(max_examples=60)
@given(planned_problems, st.randoms(use_true_random=False))
def test_new_numbers_for_the_nodes_keep_cost_and_violations(drawn, random):
    problem, routes = drawn
    before = judge(problem, routes)
    order = list(range(problem.size))
    random.shuffle(order)  # node order[i] is renamed to i
    new_name = {old: new for new, old in enumerate(order)}
    by_node = ("demand", "windows", "service", "penalty")
    renamed = Problem.from_matrix(
        problem.distances.matrix()[np.ix_(order, order)],
        durations=problem.durations.matrix()[np.ix_(order, order)],
        depots=[new_name[depot] for depot in problem.depots],
        **{name: getattr(problem, name)[order] for name in by_node},
        **{name: getattr(problem, name) for name in ("capacity", "max_length", "load_rule")},
        open_routes=problem.open_routes,
        allow_unservable=True,
    )
    after = judge(renamed, [[new_name[node] for node in route] for route in routes])
    assert after.cost == pytest.approx(before.cost, abs=1e-9)
    assert codes(after) == codes(before)
    assert {v.node for v in after.violations if v.code == "visit"} == {
        new_name[v.node] for v in before.violations if v.code == "visit" and v.node is not None
    }

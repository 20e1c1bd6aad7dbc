"""Canonical forms: which they are, and that no plan is lost on the way there, none is made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from random_problems import build

from spacevrp.problems.canonical import canonical, restore
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around, judge, judge_route
from spacevrp.problems.variants import VARIANTS

Build = Callable[..., Problem]
Routes = list[tuple[int, ...]]


def random_plan(problem: Problem, rng: np.random.Generator) -> Routes | None:
    """Customers, or pairs, in a random order, each behind the last if the rules allow it."""
    if not problem.depots:
        return [tuple(int(node) for node in rng.permutation(problem.size))]
    units = [list(pair) for pair in problem.pairs] or [[node] for node in problem.customers]
    rng.shuffle(units)
    made: list[tuple[list[int], int]] = []  # stops, and which of the fleet drives them
    for unit in units:
        if made and (problem.max_routes == 1 or rng.random() < 0.9):
            stops, number = made[-1]
            longer = [*stops, *unit]
            if problem.backhaul_last:
                longer.sort(key=lambda node: problem.demand[node] < 0)
            if _is_legal(problem, longer, number):
                made[-1] = (longer, number)
                continue
        able = [n for n in range(len(problem.fleet)) if _is_legal(problem, unit, n)]
        if not able:
            return None
        made.append((unit, int(rng.choice(able))))
    routes = [around(stops, problem.fleet[number]) for stops, number in made]
    return routes if judge(problem, routes).feasible else None


def _is_legal(problem: Problem, stops: Sequence[int], number: int) -> bool:
    terms = problem.fleet[number]
    return not judge_route(problem, 1, around(stops, terms), terms)[1]


def as_form(form: Problem, routes: Routes) -> Routes:
    """Routes of a problem as routes of its form, which may be a tour."""
    if form.depots:
        return routes
    return [(routes[0][0], *(node for route in routes for node in route[1:-1]))]


def compare(problem: Problem, rng: np.random.Generator, times: int) -> int:
    """Random plans of both, each as a plan of the other; how many there were."""
    form, found = canonical(problem), 0
    for _ in range(times):
        plan = random_plan(problem, rng)
        if plan is not None:
            found += 1
            here, there = judge(problem, plan), judge(form, as_form(form, plan))
            assert there.feasible, (plan, there.violations)
            assert there.cost <= here.cost + 1e-9
            again = judge(problem, restore(problem, as_form(form, plan)))
            assert again.feasible
            assert again.cost == pytest.approx(there.cost)
        plan = random_plan(form, rng)
        if plan is not None:
            found += 1
            there, here = judge(form, plan), judge(problem, restore(problem, plan))
            assert here.feasible, (plan, here.violations)
            assert here.cost == pytest.approx(there.cost)
    return found


# What users may have of, beside a matrix.
OWN = ("depots", "open", "windows", "length", "service", "capacity", "backhaul", "backhaul_last")
OWN += ("separate", "max_routes")


def test_problems_of_users() -> None:
    rng = np.random.default_rng(0)
    found = 0
    for seed in range(150):
        features = {one for one in OWN if rng.random() < 0.4}
        found += compare(build({"matrix", *features}, seed, 6), rng, 2)
    assert found > 100


def test_a_tour_passes_home_where_that_is_shorter() -> None:
    """From 1 to 2 it is 9 directly and 2 over the depot: two routes of 2 and 3."""
    matrix = [[0, 1, 1, 9], [1, 0, 9, 9], [1, 9, 0, 1], [1, 9, 9, 0]]
    rng = np.random.default_rng(0)
    problem = Problem.from_matrix(matrix)
    form = canonical(problem)
    assert form.variant_name == "ATSP"
    routes = restore(problem, [(1, 2, 3, 0)])
    assert routes == ((0, 1, 0), (0, 2, 3, 0))
    assert judge(problem, routes).cost == judge(form, [(1, 2, 3, 0)]).cost == 5
    assert compare(problem, rng, 5) == 10
    single = problem.replace(max_routes=1)
    assert restore(single, [(1, 2, 3, 0)]) == ((0, 1, 2, 3, 0),)
    two = problem.replace(max_routes=2)  # which no tour can count
    assert canonical(two).variant_name == "ACVRP"
    for limited in (single, two):
        assert compare(limited, rng, 5) > 0


# ------------------------------------------------------------------------------ which form it is

WINDOWS = [(0, 90), (2, 50), (0, 50), (9, 70), (0, 60)]


@pytest.mark.parametrize(
    ("features", "variant"),
    [
        ({}, "TSP"),
        ({"max_routes": 1}, "TSP"),
        ({"windows": WINDOWS}, "CVRPTW"),
        ({"max_length": 30}, "CVRPL"),
        ({"open_routes": True}, "OCVRP"),
        ({"depots": [0, 3]}, "MDCVRP"),
        ({"demand": [0, 3, -2, 4, -1], "backhaul_last": True}, "CVRPBP"),
        ({"demand": [0, 3, 2, 4, 1]}, "TSP"),  # nobody counts the load
    ],
)
def test_what_nothing_limits_becomes_a_named_variant(four_customers, features, variant):
    problem = four_customers(**features)
    form = canonical(problem)
    assert form.variant_name == variant
    assert form.variant_name in VARIANTS
    assert compare(problem, np.random.default_rng(0), 15) > 0


@pytest.mark.parametrize(
    "features",
    [
        {"demand": [0, 1, 1, 1, 1], "capacity": 3},
        {"variant": "CVRPTW", "windows": WINDOWS},
        {"depots": ()},
        {"pairs": [(1, 2), (3, 4)]},
        {"prize": [0, 1, 1, 1, 1], "maximise_prize": True, "max_length": 9},
        {"penalty": [0, 9, 9, 9, 9]},
        {"windows": WINDOWS, "max_routes": 1},
    ],
)
def test_a_canonical_problem_stays(four_customers: Build, features: dict[str, Any]) -> None:
    problem = four_customers(**features)
    assert canonical(problem) is problem
    routes = ((0, 1, 2, 0),)
    assert restore(problem, routes) == routes


def test_missing_roads_may_need_several_routes() -> None:
    """Two islands, each with a bridge to the depot only: no tour visits both."""
    matrix = [[0, 1, 1], [1, 0, None], [1, None, 0]]
    problem = Problem.from_matrix(matrix)
    assert canonical(problem).variant_name == "CVRP"
    alone = Problem.from_matrix([[0, 1, 1], [None, 0, 1], [1, None, 0]], max_routes=1)
    assert canonical(alone).variant_name == "ATSP"
    own = Problem.from_matrix(np.ones((3, 3)), durations=matrix, max_routes=1)
    assert canonical(own) is own

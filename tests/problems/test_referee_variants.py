"""Every one of the 110 variants: the plainest plan is accepted, and its faults are found."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS

SIZE = 6
SEED = 20


def plain_plan(problem: Problem) -> list[list[int]]:
    """A vehicle for each customer or pair; where there is only one vehicle, everything in order."""
    if not problem.depots:
        return [list(range(problem.size))]
    if problem.maximise_prize:
        groups = [[problem.customers[0]]]
    elif problem.max_routes == 1:
        groups = [list(problem.customers)]  # the pickups come before the deliveries
    elif problem.pairs:
        groups = [list(pair) for pair in problem.pairs]
    else:
        groups = [[node] for node in problem.customers]
    routes = []
    for group in groups:
        # The nearest depot, there and back.
        depot = min(
            problem.depots,
            key=lambda depot, group=group: float(
                problem.distances.between(depot, group[0])
                + problem.distances.between(group[-1], depot)
            ),
        )
        routes.append([depot, *group] if problem.open_routes else [depot, *group, depot])
    return routes


@pytest.fixture(params=VARIANTS, scope="module")
def problem(request: pytest.FixtureRequest) -> Problem:
    return generate(request.param, size=SIZE, count=1, seed=SEED)[0]


def test_the_plainest_plan_is_feasible_and_costs_its_legs(problem: Problem) -> None:
    routes = plain_plan(problem)
    verdict = judge(problem, routes)
    assert verdict.violations == ()
    matrix = problem.distances.matrix()
    if problem.maximise_prize:
        expected = -problem.prize[problem.customers[0]]
    else:
        closed = routes if problem.depots else [[*routes[0], routes[0][0]]]
        expected = sum(matrix[route[:-1], route[1:]].sum() for route in closed)
    assert verdict.cost == pytest.approx(expected, rel=1e-12)


def test_one_customer_less_is_noticed(problem: Problem) -> None:
    routes = plain_plan(problem)
    dropped = routes[0].pop(1)
    verdict = judge(problem, routes)
    found = {(violation.code, violation.node) for violation in verdict.violations}
    if problem.maximise_prize:
        assert not found
        assert verdict.cost == 0
    elif np.isfinite(problem.penalty[dropped]):
        assert found <= {("prize", None)}
        kept = judge(problem, plain_plan(problem))
        legs = sum(
            problem.distances.between(a, b) for a, b in zip(routes[0], routes[0][1:], strict=False)
        )
        assert verdict.cost == pytest.approx(legs + problem.penalty[dropped])
        assert verdict.cost != kept.cost
    else:
        assert ("visit", dropped) in found
        assert {code for code, _ in found} <= {"visit", "pair"}
        assert ("pair" in {code for code, _ in found}) == bool(problem.pairs)


def test_one_customer_twice_is_noticed(problem: Problem) -> None:
    routes = plain_plan(problem)
    routes[0].insert(1, routes[0][1])
    assert "visit" in {violation.code for violation in judge(problem, routes).violations}


def test_the_form_of_the_other_kind_of_route_is_noticed(problem: Problem) -> None:
    """A closed route that does not return, an open one that does, a tour that repeats its start."""
    routes = plain_plan(problem)
    if not problem.depots or problem.open_routes:
        routes[0].append(routes[0][0])
        expected = "shape"
    else:
        routes[0].pop()
        expected = "depot"
    assert [violation.code for violation in judge(problem, routes).violations] == [expected]

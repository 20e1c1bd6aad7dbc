"""A plan in no time: legal, whatever the problem, and complete where that is easy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spacevrp.generators import generate
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.problem import Problem
from spacevrp.solver.quick import quick_plan


def test_the_nearest_customer_next() -> None:
    """On a line: 1 at 1, 2 at -2, 3 at 3; two fit into a vehicle."""
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (-2, 0), (3, 0)], demand=[0, 1, 1, 1], capacity=2
    )
    plan = quick_plan(problem)
    assert plan.routes == ((0, 1, 3, 0), (0, 2, 0))
    assert plan.cost == 6 + 4


@pytest.mark.parametrize(
    "variant",
    ["TSP", "ATSP", "CVRP", "OCVRPTW", "AMDCVRPBPLTW", "OP", "PCTSP", "SPCTSP", "PDTSP", "OPDCVRP"],
)
def test_every_kind_of_problem_has_one(variant: str) -> None:
    (problem,) = generate(variant, 20, 1)
    plan = quick_plan(problem)
    assert plan.is_legal
    assert any(plan.routes)
    assert quick_plan(problem, Deadline(0.0)).is_legal


def test_a_fleet_that_is_too_small_serves_some(four_customers: Callable[..., Problem]) -> None:
    problem = four_customers(demand=[0, 2, 2, 2, 2], vehicles=[{"capacity": 4, "count": 1}])
    plan = quick_plan(problem)
    assert plan.partial
    assert sum(len(route) - 2 for route in plan.routes) == 2


def test_pinned_customers_come_first(four_customers: Callable[..., Problem]) -> None:
    vehicles = [{"pinned": [3], "capacity": 4}, {"capacity": 4}]
    plan = quick_plan(four_customers(demand=[0, 2, 2, 2, 2], vehicles=vehicles))
    assert plan.feasible
    assert any(route[1] == 3 for route in plan.routes)

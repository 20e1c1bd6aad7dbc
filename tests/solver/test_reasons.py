"""An instance without a plan: the error says which one, which customers, and why."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.generators import generate
from spacevrp.problems.errors import InfeasibleError
from spacevrp.problems.problem import Problem
from spacevrp.solver import NoPlanError, Solver

INF = np.inf


def test_a_fleet_that_is_too_small(solver: Solver) -> None:
    problem = generate("CVRP", 10)[0]
    demand = [0, *[3] * 10]
    small = Problem.from_coordinates(
        problem.distances.coordinates, demand=demand, capacity=6, max_routes=4, name="small"
    )
    with pytest.raises(InfeasibleError) as caught:
        solver.solve([problem, small, problem])
    assert str(caught.value) == (
        "instance 1: no complete plan found: 'small', 2 of 10 customers left out: the fleet is too "
        "small: deliveries amount to 30, 4 vehicles of capacity 6 carry 24"
    )
    assert isinstance(caught.value, NoPlanError)
    first, none, last = caught.value.solutions
    assert none is None
    assert first == last == solver.solve(problem)
    (partial,) = caught.value.partial.values()
    assert partial.partial
    assert [one.code for one in partial.unserved] == ["fleet", "fleet"]
    assert solver.solve([small], partial=True) == [partial]
    assert solver.solve(small, partial=True) == partial


def test_pickups_may_be_too_much_for_the_fleet(solver: Solver) -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (0, 1), (1, 0), (1, 1)], demand=[0, 1, -3, -3], capacity=4, max_routes=1
    )
    with pytest.raises(InfeasibleError, match="pickups amount to 6, 1 vehicle of capacity 4"):
        solver.solve(problem)


def test_customers_left_over_by_a_fleet_that_could_carry_all(solver: Solver) -> None:
    # Three loads of 2 fit two vehicles of 3 by volume, but only one fits each.
    problem = Problem.from_coordinates(
        [(0, 0), (0, 1), (1, 0), (1, 1)], demand=[0, 2, 2, 2], capacity=3, max_routes=2
    )
    expected = (
        r"1 of 3 customers left out: all 2 routes that are allowed are in use, and customer [123] "
        r"fits into none: in route [12], after .*, the load would be 4, a vehicle carries 3$"
    )
    with pytest.raises(InfeasibleError, match=expected):
        solver.solve(problem)


def test_many_failures_stay_one_short_message(solver: Solver) -> None:
    matrix = np.ones((12, 12))
    matrix[2:, 0] = INF
    problem = Problem.from_matrix(matrix, demand=[0, *[1] * 11], capacity=1)
    with pytest.raises(NoPlanError) as caught:
        solver.solve([problem] * 5)
    message = str(caught.value)
    assert "and so on for 5 more" in message
    assert message.endswith("and 2 more instances")
    assert list(caught.value.reasons) == [0, 1, 2, 3, 4]

"""Problems reach the model in a form that it knows, and plans come back in the user's own."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver


@pytest.fixture(scope="module")
def solver() -> Solver:
    return Solver(device="cpu")


def scattered(customers: int, **features: object) -> Problem:
    places = np.random.default_rng(4).random((customers + 1, 2))
    return Problem.from_coordinates(places, **features)  # type: ignore[arg-type]


def test_without_any_limit_one_route_is_enough(solver: Solver) -> None:
    problem = scattered(20)
    solution = solver.solve(problem)
    (route,) = solution.routes
    assert route[0] == route[-1] == 0
    assert sorted(route[1:-1]) == list(range(1, 21))
    # The same places as a tour without a depot: what is solved is that.
    tour = solver.solve(Problem(problem.distances))
    assert solution.cost == pytest.approx(tour.cost)


def test_a_capacity_that_cannot_bind_changes_nothing(solver: Solver) -> None:
    free = scattered(20, max_length=3.0)
    roomy = scattered(20, max_length=3.0, demand=[0.0] + [1.0] * 20, capacity=20.0)
    assert solver.solve(free).cost == pytest.approx(solver.solve(roomy).cost)


def test_when_the_day_begins_does_not_matter(solver: Solver) -> None:
    windows = np.array([[0.0, 4.0]] + [[0.1 * k, 0.1 * k + 1.5] for k in range(12)])
    demand = [0.0] + [1.0] * 12
    plans = [
        solver.solve(scattered(12, windows=windows + origin, demand=demand, capacity=4.0))
        for origin in (0.0, 1.7e9)  # a Unix timestamp
    ]
    assert plans[1].routes == plans[0].routes

"""Fleets for PyVRP: the best plan of its model is the best of all plans."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from enumeration import best_plan

from spacevrp.oracles import SolverOracle
from spacevrp.oracles.fleet import scale_fleet
from spacevrp.oracles.pyvrp import scale_for_pyvrp
from spacevrp.problems.problem import Problem

SECONDS = 60.0  # never reached: searches end by their own count
POINTS = [(0.0, 0.0), (50.0, 40.0), (40, 10), (10, 50), (55, 45), (-20, 30), (-30, -10), (60, 5)]
HOURS = [(0, 300), (5, 260), (0, 90), (60, 200), (20, 240), (0, 150), (90, 250), (0, 220)]


def problem_with(vehicles: list[dict[str, Any]], **more: Any) -> Problem:
    """Depots are 0 and 1, customers 2 to 7."""
    fields = {"demand": [0, 0, 4, 5, 6, 3, 5, 4], "depots": (0, 1)} | more
    return Problem.from_coordinates(POINTS, vehicles=vehicles, **fields)


TWO = [
    {"start": 0, "capacity": 14, "fixed_cost": 30},
    {"start": 1, "capacity": 9, "fixed_cost": 12},
]
CASES: dict[str, Problem] = {
    "two sizes": problem_with(TWO),
    "few of each": problem_with([TWO[0] | {"count": 2}, TWO[1] | {"count": 1}]),
    "from one depot to the other": problem_with([TWO[0] | {"end": 1}, TWO[1]]),
    "some end with their last customer": problem_with([TWO[0] | {"open_route": True}, TWO[1]]),
    "who may serve whom": problem_with(
        [TWO[0] | {"forbidden": [2, 5]}, TWO[1] | {"allowed": [2, 4, 5, 6]}]
    ),
    "lengths of their own": problem_with([TWO[0] | {"max_length": 170.5}, TWO[1]]),
    "shifts": problem_with(
        [TWO[0] | {"window": (40, 190)}, TWO[1] | {"window": (None, 170.25)}],
        windows=HOURS,
        service=[0, 0, *[5] * 6],
    ),
    "unit costs": problem_with(
        [TWO[0] | {"unit_distance_cost": 2}, TWO[1] | {"unit_distance_cost": 1.75}],
        penalty=[0, 0, 30, math.inf, 90, 10, math.inf, 60],
    ),
    "durations of their own": problem_with(
        [TWO[0] | {"max_duration": 120}, TWO[1] | {"max_duration": 100.5}],
        windows=HOURS,
        service=[0, 0, *[5] * 6],
    ),
    "durations alone": problem_with([TWO[0] | {"max_duration": 150}, TWO[1]]),
    "shifts alone": problem_with([TWO[0] | {"window": (10, 150)}, TWO[1]]),
    "a depot that opens late for those who come back": problem_with(
        [TWO[0] | {"end": 1, "window": (0, 190)}, TWO[0] | {"fixed_cost": 60}],
        windows=[(0, 300), (180, 300), *HOURS[2:]],
    ),
    "two kinds of load": problem_with(
        [TWO[0] | {"capacity": (14, 4)}, TWO[1] | {"capacity": (9, math.inf)}],
        demand=[(0, 0), (0, 0), (4, 1), (5, 2), (6, 1), (3, 2), (5, 3), (4, 1)],
    ),
    "pickups and deliveries": problem_with(TWO, demand=[0, 0, 4, -5, 6, 3, -5, 4]),
    "penalties": problem_with(TWO, penalty=[0, 0, 10, math.inf, 45, 5, math.inf, 30]),
    "pairs": problem_with(TWO, demand=[0, 0, -4, 4, -6, 6, -5, 5], pairs=[(2, 3), (4, 5), (6, 7)]),
    "one kind of vehicle, two kinds of load": Problem.from_coordinates(
        POINTS[1:],
        demand=[(0, 0), (4, 1), (5, 2), (6, 1), (3, 2), (5, 3), (4, 1)],
        capacity=(14, 5),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_best_plan_is_found(name: str, make_tiny_oracle: Callable[[str], SolverOracle]) -> None:
    problem = CASES[name]
    best = best_plan(problem)
    oracle = make_tiny_oracle("pyvrp")
    assert oracle.supports(problem) is None
    result = oracle.solve(problem, SECONDS)
    assert result.solution.cost == pytest.approx(best.cost, rel=1e-6)
    # From the best plan on it finds nothing better, and counts the same.
    again = oracle.solve(problem, SECONDS, start=best.routes)
    assert again.solution.cost == pytest.approx(best.cost, rel=1e-6)
    assert again.claimed == pytest.approx(best.cost, rel=1e-5)


def test_types_in_whole_numbers() -> None:
    problem = problem_with(
        [
            TWO[0] | {"window": (40, 190), "max_length": 170},
            TWO[1] | {"end": 0, "window": (500, 600)},
            TWO[1] | {"open_route": True, "count": 3},
        ],
        windows=[(0, 300)] * 8,
    )
    whole = scale_for_pyvrp(problem)
    fleet = scale_fleet(problem, whole)
    assert whole.times is not None
    assert [one.number for one in fleet.types] == [0, 1, 2]
    first, second, third = fleet.types
    assert first.capacities == (14,)
    assert first.fixed_cost == pytest.approx(30 * whole.cost_scale)
    assert first.opening == pytest.approx(40 * whole.times.scale)
    assert first.max_length is not None
    assert first.max_length / whole.length_scale == pytest.approx(170, abs=1e-3)
    assert (second.start, second.end) == (1, 0)
    assert (third.end, third.count, third.opening, third.max_length) == (None, 3, None, None)
    assert np.array_equal(fleet.loads[0], problem.demand)

"""OR-Tools: the data dictionaries of its examples, and its guides at or under what they print."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import ortools_guides as guides
import pytest
from ortools_guides import TIMED

from spacevrp import native
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

MATRIX = [[0, 2, 9, 4], [1, 0, 6, 3], [7, 3, 0, 5], [4, 4, 4, 0]]
DATA: dict[str, Any] = {"distance_matrix": MATRIX, "num_vehicles": 2, "depot": 0}


def test_a_capacitated_problem() -> None:
    problem = Problem.from_ortools(
        {**DATA, "demands": [0, 1, 2, 4], "vehicle_capacities": [5, 5], "depot": 3}
        | {"demands": [3, 1, 2, 0]}
    )
    assert problem.depots == (3,)
    assert problem.capacity == 5
    assert problem.max_routes == 2
    assert problem.demand.tolist() == [3, 1, 2, 0]
    assert problem.distances.between(0, 2) == 9
    assert problem.variant_name == "ACVRP"


def test_times_and_distances() -> None:
    windows = [(2, 50), (7, 12), (10, 15), (16, 18)]
    problem = Problem.from_ortools({**DATA, "time_matrix": MATRIX, "time_windows": windows})
    assert problem.durations.between(1, 2) == 6
    # The depot's window is when vehicles leave.
    assert problem.windows.tolist() == [[2, math.inf], [7, 12], [10, 15], [16, 18]]
    alone = Problem.from_ortools({"time_matrix": np.array(MATRIX), "num_vehicles": 4})
    assert alone.distances.between(1, 2) == 6
    assert alone.depots == (0,)
    served = Problem.from_ortools({**DATA, "service_time": 3})
    assert served.service.tolist() == [0, 3, 3, 3]
    each = Problem.from_ortools({**DATA, "service_times": [0, 1, 2, 3]})
    assert each.service.tolist() == [0, 1, 2, 3]


def test_what_gets_on_board_is_what_leaves_the_customer() -> None:
    """In OR-Tools the pickup has the positive demand."""
    data = {
        "distance_matrix": np.ones((5, 5)),
        "num_vehicles": 1,
        "depot": 0,
        "pickups_deliveries": [[1, 3], [2, 4]],
        "demands": [0, 2, 3, -2, -3],
        "vehicle_capacities": [5],
    }
    problem = Problem.from_ortools(data)
    assert problem.pairs == ((1, 3), (2, 4))
    assert problem.demand.tolist() == [0, -2, -3, 2, 3]
    assert not any(math.copysign(1, zero) < 0 for zero in problem.demand[[0]])


def test_places_and_ends() -> None:
    problem = Problem.from_ortools(
        {"locations": [(0, 0), (3, 4)], "num_vehicles": 1, "starts": [1], "ends": [1]}
    )
    assert problem.distances.between(0, 1) == 5
    assert problem.depots == (1,)


def test_vehicles_that_differ_are_types() -> None:
    problem = Problem.from_ortools(
        {**DATA, "num_vehicles": 4, "demands": [0, 1, 2, 4], "vehicle_capacities": [5, 9, 5, 9]}
        | {"starts": [0, 0, 0, 3], "ends": [0, 3, 0, 3], "depot": None, "demands": [0, 1, 2, 0]}
    )
    assert problem.depots == (0, 3)
    assert problem.max_routes is None
    assert [(t.name, t.count, t.start, t.end, t.capacities) for t in problem.fleet] == [
        ("0, 2", 2, 0, 0, (5,)),
        ("1", 1, 0, 3, (9,)),
        ("3", 1, 3, 3, (9,)),
    ]
    mixed = Problem.from_ortools({**DATA, "vehicle_capacities": [5, 6], "demands": [0, 1, 2, 6]})
    assert [(t.count, t.start, t.end) for t in mixed.fleet] == [(1, 0, 0), (1, 0, 0)]
    apart = Problem.from_ortools({**DATA, "starts": [0, 0], "ends": [1, 1], "depot": None})
    assert [(t.count, t.start, t.end) for t in apart.fleet] == [(2, 0, 1)]


@pytest.mark.parametrize(
    ("change", "error", "part"),
    [
        ({"vehicle_capacities": [5]}, ProblemError, "2, one for each vehicle, received 1"),
        ({"vehicle_capacities": []}, ProblemError, "one for each vehicle"),
        ({"starts": [0, 1], "ends": [0], "depot": None}, ProblemError, "ends: expected 2 nodes"),
        ({"vehicle_capacities": [5, 6], "depot": [0, 1]}, ProblemError, "starts and ends of"),
        ({"starts": [0, 0], "depot": None}, ProblemError, "starts and ends"),
        ({"starts": [0, 0], "ends": [0, 0]}, ProblemError, "either depot or starts and ends"),
        ({"demands": [0, 1, -2, 1]}, UnsupportedError, "demands, node 2: expected demands of at"),
        ({"demands": "many"}, ProblemError, "demands: expected a number"),
        ({"distance_matrix": None}, ProblemError, "distance_matrix, time_matrix or locations"),
        ({"distance_matrix": [[0, 1]]}, ProblemError, "matrix: expected a square matrix"),
        ({"num_vehicles": 1.5}, ProblemError, "num_vehicles: expected a whole number"),
        ({"time_windows": 5}, ProblemError, "time_windows: expected a list"),
        ({"time_windows": [5, 6, 7, 8]}, ProblemError, "time_windows: expected a list"),
        ({"time_windows": [(0, 9)]}, ProblemError, r"windows: expected shape \(4, 2\)"),
        ({"time_windows": [(9, 5)] + [(0, 99)] * 3}, ProblemError, "windows, node 0: expected an"),
        ({"pickups_deliveries": [[1, 2, 3]]}, ProblemError, "pickup, delivery"),
        ({"service_time": "long"}, ProblemError, "service_time: expected a list"),
        ({"service_time": [[1, 2], [3]]}, ProblemError, "service, node 1: expected numbers"),
        ({"depot_capacity": 2}, UnsupportedError, "the key 'depot_capacity' is not known here"),
        ({"vehicle_load_time": 5}, UnsupportedError, "the key 'vehicle_load_time' is not known"),
        ({"depot": "hub"}, ProblemError, "depots: expected"),
    ],
)
def test_refused(change: dict[str, Any], error: Any, part: str) -> None:
    with pytest.raises(error, match=part):
        Problem.from_ortools({**DATA, **change})


# The answer that OR-Tools' page on time windows prints.
PUBLISHED = [[0, 9, 14, 16, 0], [0, 7, 1, 4, 3, 0], [0, 12, 13, 15, 11, 0], [0, 5, 8, 6, 2, 10, 0]]


def test_the_official_example_with_time_windows() -> None:
    """Its depot has the window (0, 5), and its vehicles are back at 18, 24, 20 and 20."""
    problem = Problem.from_ortools(TIMED, time_unit="min")
    published = Solution.judged(problem, PUBLISHED)
    assert published.feasible
    assert published.cost == 71
    assert [route.stops[-1].reached for route in published.plan.routes] == [18, 24, 20, 20]
    # Whoever begins with customer 3 still waits for him until 16.
    late = Solution.judged(problem, [[0, 3, 1, 0]])
    assert "route 1 arrives at customer 1 at 19" in late.violations[0].message


def test_the_horizon_that_examples_put_into_code_is_a_shift() -> None:
    for end, feasible in ((30, True), (24, True), (23, False)):
        problem = Problem.from_ortools(TIMED, vehicles=[{"count": 4, "window": (0, end)}])
        assert Solution.judged(problem, PUBLISHED).feasible is feasible


def test_answers_name_vehicles_as_the_dictionary_counts_them() -> None:
    mixed = Problem.from_ortools(
        {**DATA, "num_vehicles": 3, "vehicle_capacities": [5, 9, 5], "demands": [0, 5, 5, 9]}
    )
    assert mixed.vehicle_ids == {"0, 2": (0, 2), "1": (1,)}
    routes = [[0, 1, 0], [0, 3, 0], [0, 2, 0]]
    answer = Solution.judged(mixed, routes, ["0, 2", "1", "0, 2"]).to_vroom()
    assert [route["vehicle"] for route in answer["routes"]] == [0, 1, 2]


# ----------------------------------------------------------------------------------- ortools guides


@pytest.mark.skipif(not native.available(), reason=native.MISSING)
@pytest.mark.parametrize("name", guides.GUIDES)
def test_a_guide_costs_no_more_than_it_prints(name: str) -> None:
    from spacevrp.solver import Solver

    data, fields, printed = guides.GUIDES[name]
    problem = Problem.from_ortools(data, **fields)
    plan = Solver(device="cpu").solve(problem, seed=1)
    assert plan.feasible
    value = plan.cost if problem.objective.is_cost else plan.objective[0]
    assert value <= printed

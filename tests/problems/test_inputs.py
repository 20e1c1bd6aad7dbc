"""One problem or several, from whatever the caller has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem, as_problems

Build = Callable[..., Problem]
SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]
MATRIX = [[0, 2, 9], [1, 0, 6], [7, 3, 0]]


@pytest.mark.parametrize(("data", "variant"), [
    ({"coordinates": SQUARE, "demand": [0, 1, 1, 1], "capacity": 2}, "CVRP"),
    ({"coordinates": SQUARE, "depots": None}, "TSP"),
    ({"coordinates": SQUARE, "metric": "manhattan", "depots": ()}, "TSP"),
    ({"matrix": MATRIX, "durations": MATRIX, "demand": [0, 1, 1], "capacity": 2}, "ACVRP"),
    ({"lonlat": SQUARE, "speed_kmh": 30, "demand": [0, 1, 1, 1], "capacity": 2}, "CVRP"),
    ({"distance_matrix": MATRIX, "num_vehicles": 1}, "depot+asymmetric"),
    ({"durations": MATRIX, "code": "Ok"}, "several_routes+asymmetric"),
    ({"vehicles": [{"id": 1, "start_index": 0, "end_index": 0, "capacity": [9]},
                   {"id": 2, "start_index": 0, "end_index": 0, "capacity": [9]}],
      "jobs": [{"id": 1, "location_index": 2, "delivery": [3]}], "matrix": MATRIX}, "ACVRP"),
])  # fmt: skip
def test_data_tell_what_they_are(data: dict[str, Any], variant: str) -> None:
    problems, single = as_problems(data)
    assert single
    (problem,) = problems
    assert set(variant.split("+")) <= set(problem.variant_name.split("+"))


def test_a_ragged_list_of_anything() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0, 1], "y": [0, 1]})
    first = Problem.from_coordinates(SQUARE)
    problems, single = as_problems([first, {"matrix": MATRIX}, frame])
    assert not single
    assert problems[0] is first
    assert [problem.size for problem in problems] == [4, 3, 2]
    assert as_problems([]) == ([], False)
    assert as_problems(first) == ([first], True)
    assert as_problems(frame)[1]


@pytest.mark.parametrize(("given", "part"), [
    ("a.vrp", "expected a Problem or several, received 'a.vrp'; see spacevrp.read"),
    (5, "problem: expected a Problem or several, received 5"),
    ([5], "problem, number 0: expected a Problem or several, received 5"),
    ([{"matrix": [[0, -1], [1, 0]]}], "problem, number 0: matrix, node 0: expected distances"),
    ([{"vehicles": [], "jobs": []}], "problem, number 0: vehicles: expected at least one"),
    ({}, "received an empty table"),
    ({"kilometres": 5}, "received a table with the keys 'kilometres'"),
    ({"coordinates": SQUARE, "matrix": MATRIX}, "received coordinates and matrix"),
    ({"coordinates": SQUARE, "demands": [0]},
     "known arguments (the nearest is 'demand'), received 'demands'"),
    ({"coordinates": SQUARE, 5: 6}, "names of fields as keys"),
    ({"matrix": MATRIX, "speed_kmh": 6}, "received 'speed_kmh'"),
    ({"matrix": MATRIX, "distances": MATRIX}, "received 'distances'"),
])  # fmt: skip
def test_refused(given: Any, part: str) -> None:
    with pytest.raises(SpacevrpError) as caught:
        as_problems(given)
    assert part in str(caught.value)


def test_columns_by_name_are_as_good_as_a_frame() -> None:
    """What is one value for the whole problem may stand alone."""
    (problem,), alone = as_problems(
        {"X": [0, 3, 3], "y": [0, 0, 4], "demand": [0, 2, 3], "capacity": 5, "time_unit": "min"}
    )
    assert alone
    assert problem.distances.between(0, 2) == 5
    assert (problem.capacity, problem.time_unit, problem.depots) == (5, "min", (0,))
    (placed,), _ = as_problems({"lng": [13, 13.1], "latitude": [52, 52], "speed_kmh": 30})
    assert placed.geographic
    with pytest.raises(SpacevrpError, match="demand: expected a column of values, received 5"):
        as_problems({"x": [0, 1], "y": [0, 1], "demand": 5})

"""One problem or several, from whatever the caller has; and the form the model knows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from spacevrp.problems.canonical import canonical, restore
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem, as_problems
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS

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
    ({"vehicles": [{"id": 1, "start_index": 0, "end_index": 0, "capacity": [9]}] * 2,
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


# ---------------------------------------------------------------------------------- canonical form

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
    """Every plan of the canonical form is a plan of the problem, at the same cost."""
    problem = four_customers(**features)
    form = canonical(problem)
    assert form.variant_name == variant
    assert form.variant_name in VARIANTS
    rng = np.random.default_rng(0)
    orders = list(permutations(form.customers))
    compared = 0
    for index in rng.permutation(len(orders))[:30]:
        order = orders[index]
        for cut in range(1, len(order)) if form.depots else [len(order)]:
            routes = _routes(form, [order[:cut], order[cut:]])
            verdict = judge(form, routes)
            again = judge(problem, restore(problem, routes))
            assert again.cost == pytest.approx(verdict.cost)
            # What is forbidden in one is forbidden in the other.
            assert again.feasible == verdict.feasible
            compared += verdict.feasible
    assert compared > 0


def _routes(problem: Problem, parts: list[Any]) -> Any:
    if not problem.depots:
        return (tuple(parts[0]),)
    depot = problem.depots[0]
    end = () if problem.open_routes else (depot,)
    return tuple((depot, *part, *end) for part in parts if part)


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

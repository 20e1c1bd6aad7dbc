"""What the compiled model is told: numbers by hand, and lists of candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spacevrp import native
from spacevrp.generators import generate
from spacevrp.problems.distances import Metric
from spacevrp.problems.errors import SpacevrpError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.search import Stop, improve, native_model
from spacevrp.search import model as search_model
from spacevrp.search.model import model_arguments

Build = Callable[..., Problem]


def test_the_compiled_module_is_there() -> None:
    """Without it the tests of the search would be worth nothing."""
    assert native.available(), native.MISSING


def test_without_it_there_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, four_customers: Build
) -> None:
    monkeypatch.setattr(native, "core", None)
    problem = four_customers()
    for call in (native_model, lambda one: improve([one], [None], stop=STOP)):
        with pytest.raises(UnsupportedError) as error:
            call(problem)
        assert str(error.value) == native.MISSING


def test_limits_get_half_of_the_slack(four_customers: Build) -> None:
    problem = four_customers(
        demand=[0, 6, 4, 3, 7],
        vehicles=[{"capacity": 10, "max_length": 30.0, "window": (2, 40), "fixed_cost": 7.0}],
    )
    told = model_arguments(problem)
    assert told["capacity"].tolist() == [[10 + 0.5 * problem.load_slack(10.0)]]
    assert told["max_length"].tolist() == [30 + 0.5 * problem.length_tolerance]
    assert told["back_by"].tolist() == [40 + 0.5 * problem.time_tolerance]
    assert told["time_slack"] == 0.5 * problem.time_tolerance
    assert told["leaves_from"].tolist() == [2]
    assert told["fixed_cost"].tolist() == [7]
    assert told["timed"]


def test_times_count_only_where_they_can_bind(four_customers: Build) -> None:
    assert not model_arguments(four_customers(service=[0, 1, 1, 1, 1]))["timed"]
    never = [[0, np.inf]] * 5
    assert not model_arguments(four_customers(windows=never))["timed"]
    assert model_arguments(four_customers(windows=[*never[:4], [0, 50]]))["timed"]
    # The depot closes, but open routes do not come back.
    closes = [[0, 50], *never[:4]]
    assert model_arguments(four_customers(windows=closes))["timed"]
    assert not model_arguments(four_customers(windows=closes, open_routes=True))["timed"]


def test_an_arc_that_has_no_duration_does_not_exist() -> None:
    lengths = np.array([[0, 1, 2], [1, 0, np.inf], [2, 3, 0.0]])
    times = np.array([[0, 5, 5], [np.inf, 0, 5], [5, 5, 0.0]])
    fields: dict[str, Any] = {"allow_unservable": True, "durations": times}
    told = model_arguments(Problem.from_matrix(lengths, **fields))
    assert told["durations"] is None  # nothing can be late
    assert np.isinf(told["distances"]).tolist() == [[False] * 3, [True, False, True], [False] * 3]
    timed = model_arguments(Problem.from_matrix(lengths, windows=[[0, 50]] * 3, **fields))
    assert np.isinf(timed["durations"]).tolist() == np.isinf(told["distances"]).tolist()


def test_large_problems_keep_their_coordinates(
    monkeypatch: pytest.MonkeyPatch, four_customers: Build
) -> None:
    problem = four_customers(metric=Metric("manhattan", "up"))
    assert model_arguments(problem)["distances"] is not None
    monkeypatch.setattr(search_model, "MATRIX_NODES", 4)
    told = model_arguments(problem)
    assert told["distances"] is None
    assert (told["geometry"], told["rounding"]) == ("manhattan", "up")
    plan = ([[1, 2], [4, 3]], [0, 0])
    assert native_model(problem).model.evaluate(*plan)["cost"] == 3 + 4 + 7 + 8 + 4 + 4


def test_of_unknown_prizes_the_search_knows_what_is_expected() -> None:
    (problem,) = generate("SPCTSP", 6, 1, seed=1)
    told, expected = model_arguments(problem), model_arguments(problem.as_expected())
    assert told.keys() == expected.keys()
    for name, value in told.items():
        np.testing.assert_array_equal(value, expected[name])
    assert native_model(problem).problem.revealed_prize is None


# ---------------------------------------------------------------------------------------- plans


def test_a_tour_of_one_node() -> None:
    problem = Problem.from_coordinates([(1.0, 1.0)], depots=())
    native_one = native_model(problem)
    solution = native_one.solution([], [])
    assert solution.feasible
    assert native_one.start_of(solution) == ([], [])
    assert native_one.model.construct("insertion", 0) == ([], [])


# Neighbours that the search keeps of each customer where there is a matrix.
WIDTH = 100
WIDTH_OF_POINTS = 40  # and where there are coordinates alone
STOP = Stop(iterations=1500)


def nearest(problem: Problem, width: int) -> NDArray[np.int32]:
    """The slow twin: (N, width), by distance, then by number."""
    lengths = problem.distances.matrix()
    lists = np.full((problem.size, width), -1, dtype=np.int32)
    for node in problem.customers:
        others = [other for other in problem.customers if other != node]
        others.sort(key=lambda other: (lengths[node, other], other))
        lists[node] = others[:width]
    return lists


def problem_of(size: int) -> Problem:
    (problem,) = generate("CVRP", size, 1, seed=2)
    return problem


def test_the_nearest_as_candidates_change_nothing() -> None:
    problem = problem_of(300)
    (usual,) = improve([problem], [None], stop=STOP, seed=4)
    (given,) = improve([problem], [None], stop=STOP, seed=4, candidates=[nearest(problem, WIDTH)])
    assert given.routes == usual.routes


def test_places_that_cannot_be_better_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside its own lists the search skips places by a bound; beside given ones it tries all."""
    monkeypatch.setattr(search_model, "MATRIX_NODES", 100)
    problem = problem_of(300)
    usual, slow = native_model(problem), native_model(problem, nearest(problem, WIDTH_OF_POINTS))
    start = usual.model.construct("savings", 1)
    plans = [
        one.model.search(*start, seed=3, iterations=3000, tuning={"blink": 0.0})
        for one in (usual, slow)
    ]
    assert plans[0].routes == plans[1].routes
    assert plans[0].cost < usual.model.evaluate(*start)["cost"]


def test_other_candidates_are_used_and_keep_the_rules() -> None:
    problem = problem_of(300)
    (usual,) = improve([problem], [None], stop=STOP, seed=4)
    rng = np.random.default_rng(1)
    lists = rng.choice(problem.customers, (problem.size, 8)).astype(np.int32)
    lists[:, 6:] = -1
    (given,) = improve([problem], [None], stop=STOP, seed=4, candidates=[lists])
    assert given.feasible
    assert given.routes != usual.routes
    # Each problem has its own.
    both = improve([problem] * 2, [None] * 2, stop=STOP, seed=4, candidates=[None, lists])
    assert [plan.routes for plan in both] == [usual.routes, given.routes]


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (
            np.ones((5, 2), dtype=np.int32),
            r"number 0: .* 21 nodes, \(N, C\), received shape \(5, 2\)",
        ),
        (np.ones((21, 0), dtype=np.int32), r"received shape \(21, 0\)"),
        (np.ones((21, 2)), "whole numbers, received float64"),
        (np.zeros((21, 2), dtype=np.int32), "customers, or -1 behind the last, received 0"),
        (np.full((21, 2), 21, dtype=np.int32), "received 21"),
        (np.full((21, 2), -2, dtype=np.int32), "received -2"),
    ],
)
def test_wrong_candidates_are_errors(lists: NDArray[np.int32], message: str) -> None:
    with pytest.raises(SpacevrpError, match=message):
        improve([problem_of(20)], [None], stop=STOP, candidates=[lists])


def test_candidates_for_each_problem() -> None:
    with pytest.raises(SpacevrpError, match="one for each of 1 problems, received 2"):
        improve([problem_of(20)], [None], stop=STOP, candidates=[None, None])

"""Lists of candidates in place of the nearest neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from spacevrp.generators import generate
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.search import Stop, improve, native_model
from spacevrp.search import model as search_model

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

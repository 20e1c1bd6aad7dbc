"""Routes out of action sequences, by hand."""

from __future__ import annotations

import pytest

from spacevrp.decode import routes_of
from spacevrp.problems.problem import Problem


@pytest.mark.parametrize(
    ("features", "moves", "routes"),
    [
        ({}, [0, 2, 1, 0, 4, 3, 0, 0, 0], [[0, 2, 1, 0], [0, 4, 3, 0]]),
        ({"open_routes": True}, [0, 2, 1, 0, 4, 3, 0], [[0, 2, 1], [0, 4, 3]]),
        ({"depots": ()}, [3, 3, 0, 1, 4, 2, 2, 2], [[3, 0, 1, 4, 2]]),
        ({}, [0, 0, 0], []),
    ],
    ids=["closed", "open", "tour", "nothing served"],
)
def test_routes_of_four_customers(four_customers, features, moves, routes):
    assert routes_of(four_customers(**features), moves) == routes


def test_switches_between_depots_are_no_routes():
    problem = Problem.from_coordinates([(float(x), 0.0) for x in range(5)], depots=(0, 1))
    moves = [0, 2, 0, 1, 3, 4, 1, 1]
    assert routes_of(problem, moves) == [[0, 2, 0], [1, 3, 4, 1]]
    assert routes_of(problem.replace(open_routes=True), moves) == [[0, 2], [1, 3, 4]]


def test_routes_are_in_the_users_numbering():
    # Depots are nodes 3 and 1, in this order; customers 0, 2, 4 follow as positions 2, 3, 4.
    problem = Problem.from_coordinates([(float(x), 0.0) for x in range(5)], depots=(3, 1))
    assert routes_of(problem, [1, 4, 1, 0, 2, 3, 0]) == [[1, 4, 1], [3, 0, 2, 3]]

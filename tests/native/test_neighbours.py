"""Whom the compiled search looks at next to a customer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp import Problem
from spacevrp.search import native_model


def lists_of(problem: Problem) -> list[list[int]]:
    model = native_model(problem).model
    return [model.neighbours(int(node)) for node in problem.customers]


def nearest_first(measure: np.ndarray) -> list[list[int]]:
    """The others by a measure between customers, ties by number; customer 1 is in row 0."""
    others = range(len(measure))
    return [
        [node + 1 for node in sorted(others, key=lambda one: (row[one], one)) if node != here]
        for here, row in enumerate(measure)
    ]


def test_one_who_is_near_to_all_does_not_stand_first_everywhere() -> None:
    """Customer 3 is entered and left for 1 by anyone; 1 and 2 belong to each other."""
    matrix = np.full((5, 5), 9.0)
    matrix[3, :] = matrix[:, 3] = 1.0
    matrix[1, 2] = 2.0
    matrix[4, 2] = 8.0
    np.fill_diagonal(matrix, 0.0)
    # Entering takes 1 (by 3), 2 the same, 3 takes 1, and 4 takes 1; leaving takes nothing more.
    # Beyond that 1 -> 2 costs 1, 4 -> 2 costs 7, and all arcs of 3 cost nothing.
    problem = Problem.from_matrix(matrix, demand=[0, 1, 1, 1, 1], capacity=9)
    assert lists_of(problem) == [[3, 2, 4], [3, 1, 4], [1, 2, 4], [3, 2, 1]]
    # If it takes more to enter and to leave 3, its arcs of the same length are farther than 1 -> 2.
    matrix[3, :] = matrix[:, 3] = 3.0
    matrix[3, 3] = 0.0
    problem = Problem.from_matrix(matrix, demand=[0, 1, 1, 1, 1], capacity=9)
    assert lists_of(problem)[0][0] == 2


@given(st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_reduced_distances(customers: int, seed: int) -> None:
    """By the shorter arc of the matrix, less the least of each column and then of each row."""
    draw = np.random.default_rng(seed)
    matrix = draw.integers(1, 60, (customers + 1, customers + 1)).astype(float)
    np.fill_diagonal(matrix, 0.0)
    problem = Problem.from_matrix(matrix, demand=[0] + [1] * customers, capacity=customers)
    inner = matrix[1:, 1:].copy()
    np.fill_diagonal(inner, np.inf)
    if not np.array_equal(matrix, matrix.T):
        inner -= inner.min(axis=0)
        inner -= inner.min(axis=1)[:, None]
    assert lists_of(problem) == nearest_first(np.minimum(inner, inner.T))


def test_symmetric_distances_are_as_they_are() -> None:
    places = [(0, 0), (1, 0), (5, 0), (2, 0), (9, 9)]
    problem = Problem.from_coordinates(places, demand=[0, 1, 1, 1, 1], capacity=9)
    assert lists_of(problem) == [[3, 2, 4], [3, 1, 4], [1, 2, 4], [2, 3, 1]]


def test_a_node_that_there_is_not() -> None:
    model = native_model(Problem.from_matrix(np.ones((3, 3)) - np.eye(3))).model
    for node in (-1, 3):
        with pytest.raises(ValueError, match=f"expected a node below 3, received {node}"):
            model.neighbours(node)

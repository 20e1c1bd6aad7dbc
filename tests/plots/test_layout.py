"""Where nodes are drawn when there are no coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.plots.layout import positions, scaled_positions
from spacevrp.problems.problem import Problem


def distances_between(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


def test_coordinates_stay_where_they_are() -> None:
    problem = Problem.from_coordinates([(5, 7), (1, 2)])
    assert positions(problem).tolist() == [[5, 7], [1, 2]]


def test_planar_distances_are_reproduced() -> None:
    points = np.random.default_rng(0).uniform(size=(12, 2))
    matrix = distances_between(points)
    assert distances_between(scaled_positions(matrix)) == pytest.approx(matrix, abs=1e-9)


def test_both_directions_count_alike() -> None:
    points = np.random.default_rng(1).uniform(size=(8, 2))
    matrix = distances_between(points)
    upper = np.triu(np.full((8, 8), 0.05), k=1)
    skewed = np.clip(matrix + upper - upper.T, 0, None)
    problem = Problem.from_matrix(skewed)
    assert positions(problem) == pytest.approx(scaled_positions((skewed + skewed.T) / 2))


def test_a_missing_direction_takes_the_other_one() -> None:
    points = np.random.default_rng(2).uniform(size=(6, 2))
    matrix = distances_between(points)
    one_way = matrix.copy()
    one_way[2, 4] = np.inf
    assert scaled_positions(one_way) == pytest.approx(scaled_positions(matrix))
    both_ways = one_way.copy()
    both_ways[4, 2] = np.inf
    assert np.isfinite(scaled_positions(both_ways)).all()


@pytest.mark.parametrize("matrix", [np.zeros((1, 1)), np.zeros((3, 3)), [[0, 2], [2, 0]]])
def test_degenerate_matrices(matrix: object) -> None:
    array = np.array(matrix, dtype=float)
    assert distances_between(scaled_positions(array)) == pytest.approx(array)

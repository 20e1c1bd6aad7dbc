"""Whole matrices and batches are computed at once, and equal the slow way bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spacevrp.generators import generate
from spacevrp.problems import distances as distances_module
from spacevrp.problems.distances import GEOMETRIES, ROUNDINGS, Distances, Metric
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_a_matrix_equals_its_rows_bit_for_bit(geometry: str, rounding: str) -> None:
    rng = np.random.default_rng(5)
    for size in (1, 2, 9, 60):
        points = rng.uniform(-80, 80, (size, 2))
        points[size // 2] = points[0]  # two nodes in one place
        distances = Distances(coordinates=points, metric=Metric(geometry, rounding))
        matrix = distances.matrix()
        assert matrix.dtype == np.float64
        rows = np.stack([distances.from_node(node) for node in range(size)])
        assert matrix.tobytes() == rows.tobytes()
        assert all(
            matrix[a, b] == pytest.approx(distances.between(a, b), rel=1e-12)
            for a, b in rng.integers(size, size=(5, 2)).tolist()
        )


@pytest.mark.parametrize("entries", [1, 25, 26, 60, 10_000])
def test_blocks_of_any_size_give_the_same_matrix(monkeypatch, entries):
    points = np.random.default_rng(1).random((25, 2))
    whole = Distances(coordinates=points).matrix()
    monkeypatch.setattr(distances_module, "_BLOCK_ENTRIES", entries)
    assert Distances(coordinates=points).matrix().tobytes() == whole.tobytes()


def slow_square(problem: Problem, width: int) -> np.ndarray:
    """Distances in units, entry by entry, depots first."""
    order = [*problem.depots, *problem.customers]
    square = np.zeros((width, width))
    for row, origin in enumerate(order):
        for column, target in enumerate(order):
            square[row, column] = problem.distances.between(origin, target) / problem.unit
    return square


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_batch_equals_its_entries(dtype: torch.dtype) -> None:
    far = Problem.from_coordinates(np.random.default_rng(3).uniform(0, 900, (6, 2)), depots=(4, 2))
    matrix = np.random.default_rng(4).uniform(1, 50, (5, 5))
    matrix[1, 3] = np.inf
    problems = [*generate("CVRP", 8, 2), *generate("ACVRP", 5), far, Problem.from_matrix(matrix)]
    batch = stack(problems, 11, dtype)
    for number, problem in enumerate(problems):
        expected = torch.from_numpy(slow_square(problem, 11)).to(dtype)
        assert torch.equal(batch.distance[number], expected), problem
    assert batch.duration is batch.distance
    assert batch.unit.dtype == torch.float64

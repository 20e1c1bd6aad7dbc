"""Lengths from coordinates are those of the matrix, whoever asks and however."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.problems.distances import GEOMETRIES, ROUNDINGS, Metric
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack
from spacevrp.tensors.lengths import (
    PlaneLengths,
    between,
    columns_of,
    from_first,
    rows_of,
    tiles_of,
    to_first,
)


def instance(metric: Metric, size: int = 9, seed: int = 0, spread: float = 80.0) -> Problem:
    points = np.random.default_rng(seed).uniform(-spread, spread, (size, 2))
    return Problem.from_coordinates(points, metric=metric, depots=(4, 2))


def both(*problems: Problem, dtype: torch.dtype = torch.float64):
    """The distances as a matrix, and from coordinates."""
    matrix = stack(problems, dtype=dtype).distance
    plane = stack(problems, dtype=dtype, on_the_fly=True).distance
    assert isinstance(plane, PlaneLengths)
    return matrix, plane


METRICS = [Metric(geometry, rounding) for geometry in GEOMETRIES for rounding in ROUNDINGS]


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: f"{m.geometry}-{m.rounding}")
def test_every_metric_is_that_of_the_problem(metric: Metric) -> None:
    matrix, plane = both(instance(metric), instance(metric, seed=1))
    nodes = torch.arange(9).expand(2, -1)
    assert torch.allclose(rows_of(plane, nodes), matrix, rtol=1e-12, atol=1e-12)
    tiles = tiles_of(plane, 1)
    assert torch.allclose(tiles(slice(0, 9), slice(0, 9)), matrix[1], rtol=1e-12, atol=1e-12)
    # A rectangle across the diagonal, and one beside it.
    assert torch.allclose(tiles(slice(2, 6), slice(4, 9)), matrix[1, 2:6, 4:9], rtol=1e-12)
    assert torch.allclose(tiles(slice(0, 2), slice(5, 7)), matrix[1, :2, 5:7], rtol=1e-12)


@pytest.mark.parametrize("planar", [False, True])
def test_who_is_asked_for(planar: bool) -> None:
    matrix, plane = both(instance(Metric()))
    lengths = plane if planar else matrix
    origin, target = torch.tensor([[3, 0]]), torch.tensor([[1, 1]])
    assert torch.allclose(between(lengths, origin, target), matrix[0, [3, 0], [1, 1]])
    options = torch.tensor([[[1, 5, 3], [2, 2, 0]]])
    expected = torch.stack([matrix[0, 3, [1, 5, 3]], matrix[0, 0, [2, 2, 0]]])
    assert torch.allclose(between(lengths, origin.unsqueeze(-1), options)[0], expected)
    assert torch.allclose(columns_of(lengths, origin)[0], matrix[0][:, [3, 0]].T)
    assert torch.allclose(from_first(lengths, 2), matrix[:, :2])
    assert torch.allclose(to_first(lengths, 2), matrix[:, :, :2].transpose(1, 2))


def test_directions_of_a_matrix() -> None:
    matrix = torch.tensor([[[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]]])
    assert columns_of(matrix, torch.tensor([[1]])).tolist() == [[[1.0, 0.0, 6.0]]]
    assert to_first(matrix, 1).tolist() == [[[0.0, 3.0, 5.0]]]
    assert from_first(matrix, 1).tolist() == [[[0.0, 1.0, 2.0]]]
    assert tiles_of(matrix, 0)(slice(1, 3), slice(0, 1)).tolist() == [[3.0], [5.0]]


@given(
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)), min_size=2, max_size=6),
    st.sampled_from(("nearest", "up", "down")),
)
def test_rounded_lengths_are_right_to_the_last_unit_in_float32(points, rounding) -> None:
    # In float32 the root of k^2 + k is k + 1/2 for large k, and would be rounded the wrong way.
    problem = Problem.from_coordinates(
        [*points, (0, 0), (9899, 9901)], metric=Metric("euclidean", rounding)
    )
    matrix, plane = both(problem, dtype=torch.float32)
    nodes = torch.arange(problem.size).unsqueeze(0)
    assert torch.equal(rows_of(plane, nodes), matrix)


def test_a_batch_of_them_moves_like_one_of_tensors() -> None:
    problems = [instance(Metric(), seed=seed) for seed in range(3)]
    dense, lazy = stack(problems), stack(problems, on_the_fly=True)
    assert lazy.duration is lazy.distance
    assert (lazy.size, lazy.num_nodes, lazy.device) == (dense.size, dense.num_nodes, dense.device)
    nodes = torch.tensor([[1, 4]])
    for change in (
        lambda batch: batch[torch.tensor([2])],
        lambda batch: batch.repeat_interleave(2)[5:],
        lambda batch: batch.to("cpu")[2:3],
    ):
        one, other = change(dense), change(lazy)
        assert other.duration is other.distance
        assert torch.equal(rows_of(other.distance, nodes), rows_of(one.distance, nodes))
    assert rows_of(lazy.double().distance[:1], nodes).dtype == torch.float64
    assert lazy.distance.new_zeros((2,)).dtype == torch.float32


def test_only_coordinates_of_one_metric_go_without_a_matrix() -> None:
    one, other = instance(Metric()), instance(Metric("manhattan"))
    by_matrix = Problem.from_matrix(one.distances.matrix())
    for problems in ([one, other], [one, by_matrix], [by_matrix]):
        assert isinstance(stack(problems, on_the_fly=True).distance, torch.Tensor)
    timed = one.replace(durations=2 * one.distances.matrix())
    batch = stack([timed], on_the_fly=True)
    assert isinstance(batch.distance, PlaneLengths)
    twice = 2 * stack([one]).distance * one.unit
    assert torch.allclose(batch.duration, twice / timed.unit_of_time)


def test_coordinates_far_from_the_origin_lose_nothing() -> None:
    points = np.random.default_rng(2).uniform(0, 1, (6, 2))
    near = Problem.from_coordinates(points, depots=())
    far = Problem.from_coordinates(points + 1e6, depots=())
    tiles = [tiles_of(stack([p], on_the_fly=True).distance, 0) for p in (near, far)]
    whole = slice(0, 6)
    assert torch.allclose(tiles[1](whole, whole), tiles[0](whole, whole), atol=1e-6)

"""Instances as padded tensors: order, units, lengths by matrix and on the fly; workers."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.problems import distances as distances_module
from spacevrp.problems.distances import GEOMETRIES, ROUNDINGS, Distances, Metric
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
from spacevrp.tensors.workers import Workers


def test_depots_come_first_then_customers_then_padding():
    points = [(float(x), 0.0) for x in range(5)]
    demand = [1.0, 0.0, 3.0, 0.0, 5.0]
    problem = Problem.from_coordinates(points, depots=(3, 1), demand=demand, capacity=9.0)
    batch = stack([problem], 7, dtype=torch.float64)
    assert batch.node_of.tolist() == [[3, 1, 0, 2, 4, -1, -1]]
    assert batch.is_depot.tolist() == [[True, True, *[False] * 5]]
    assert batch.is_node.tolist() == [[True] * 5 + [False] * 2]
    assert batch.demand.tolist() == [[0, 0, 1, 3, 5, 0, 0]]
    assert batch.distance[0, 0].tolist() == [0, 2, 3, 1, 1, 0, 0]
    assert (batch.distance[0, 5:] == 0).all()


def test_a_matrix_is_reordered_in_both_directions():
    matrix = np.arange(9.0).reshape(3, 3)
    batch = stack([Problem.from_matrix(matrix, depots=(2,))], dtype=torch.float64)
    assert batch.distance[0].tolist() == [[0, 6, 7], [2, 0, 1], [5, 3, 0]]


def test_lengths_and_times_are_in_units_and_goods_are_not():
    points = [(0.0, 0.0), (300.0, 400.0)]
    problem = Problem.from_coordinates(
        points,
        demand=[0, 7],
        capacity=9.0,
        windows=[(0, 2000), (100, 900)],
        service=[0, 50],
        max_length=1100.0,
        penalty=[0, 80.0],
        prize=[0, 3.0],
        min_prize=2.0,
    )
    unit = problem.unit
    assert unit == pytest.approx(110.0)  # the length limit is the largest that can bind
    batch = stack([problem], dtype=torch.float64)
    assert float(batch.unit) == unit
    assert float(batch.distance[0, 0, 1]) == pytest.approx(500 / unit)
    assert batch.closing[0].tolist() == pytest.approx([2000 / unit, 900 / unit])
    assert float(batch.opening[0, 1]) == pytest.approx(100 / unit)
    assert float(batch.service[0, 1]) == pytest.approx(50 / unit)
    assert float(batch.max_length) == pytest.approx(1100 / unit)
    assert float(batch.penalty[0, 1]) == pytest.approx(80 / unit)
    assert (float(batch.demand[0, 1]), float(batch.capacity)) == (7.0, 9.0)
    assert (float(batch.prize[0, 1]), float(batch.min_prize)) == (3.0, 2.0)


def test_no_more_prize_is_demanded_than_there_is(four_customers):
    problem = four_customers(prize=[0, 1, 1, 1, 1], penalty=[0, 1, 1, 1, 1], min_prize=9.0)
    assert float(stack([problem]).min_prize) == 4.0
    revealed = problem.replace(revealed_prize=[0, 1, 0, 0, 1.5])
    assert float(stack([revealed]).min_prize) == 2.5
    assert stack([revealed]).prize[0].tolist() == [0, 1, 1, 1, 1]
    assert stack([revealed]).revealed_prize[0].tolist() == [0, 1, 0, 0, 1.5]


def test_selecting_repeating_and_converting(four_customers):
    problems = [four_customers(capacity=float(c), demand=[0, 1, 1, 1, 1]) for c in (5, 6, 7)]
    batch = stack(problems)
    assert batch[1:].capacity.tolist() == [6, 7]
    assert batch[torch.tensor([2, 0])].capacity.tolist() == [7, 5]
    assert batch.repeat_interleave(2).capacity.tolist() == [5, 5, 6, 6, 7, 7]
    double = batch.double()
    assert double.distance.dtype == torch.float64
    assert double.is_node.dtype == torch.bool
    assert double.load_rule.dtype == torch.int64
    assert double.duration is double.distance
    changed = batch.replace(capacity=torch.ones(3))
    assert changed.capacity.tolist() == [1, 1, 1]
    assert batch.capacity.tolist() == [5, 6, 7]
    assert batch.to("cpu").unit.dtype == torch.float64


def test_bad_batches_are_refused(four_customers):
    with pytest.raises(ValueError, match="at least one problem"):
        stack([])
    with pytest.raises(ValueError, match="num_nodes >= 5, received 4"):
        stack([four_customers()], 4)


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


@pytest.mark.parametrize("number", [1, 3])
def test_results_come_in_order(number: int) -> None:
    before = torch.get_num_threads()
    with Workers(number) as workers:
        assert list(workers.map(lambda piece: piece**2, range(20))) == [i**2 for i in range(20)]
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("number", [1, 2])
def test_workers_work_in_the_mode_of_whoever_asks(number: int) -> None:
    parameter = torch.ones(1, requires_grad=True)

    def work(_: int) -> tuple[bool, bool]:
        return (2 * parameter).requires_grad, torch.is_inference_mode_enabled()

    with Workers(number) as workers:
        assert set(workers.map(work, range(4))) == {(True, False)}
        with torch.no_grad():
            assert set(workers.map(work, range(4))) == {(False, False)}
        with torch.inference_mode():
            assert set(workers.map(work, range(4))) == {(False, True)}


def test_several_workers_are_several_threads_with_a_core_each() -> None:
    meeting = threading.Barrier(2, timeout=30)

    def work(_: int) -> int:
        meeting.wait()  # passes only if two are here at once
        return torch.get_num_threads()

    with Workers(2) as workers:
        assert list(workers.map(work, range(2))) == [1, 1]


def test_an_error_of_a_worker_reaches_whoever_asks() -> None:
    def work(piece: int) -> int:
        if piece == 2:
            raise ValueError("piece 2")
        return piece

    with Workers(2) as workers, pytest.raises(ValueError, match="piece 2"):
        list(workers.map(work, range(4)))

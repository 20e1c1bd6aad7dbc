"""Instances as padded tensors: order, units, neutral values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack


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

"""Lists of neighbours: the nearest customers, the nearest first."""

from __future__ import annotations

import pytest
import torch

from spacevrp.decode.neighbourhood import neighbourhood
from spacevrp.generators import generate
from spacevrp.model import streaming
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack


def test_by_hand() -> None:
    # A depot and four customers on a line; the depot is on nobody's list.
    problem = Problem.from_coordinates([(0, 0), (1, 0), (3, 0), (6, 0), (10, 0)])
    near = neighbourhood(stack([problem], dtype=torch.float64), 3)
    assert near.node[0].tolist() == [[1, 2, 3], [2, 3, 4], [1, 3, 4], [2, 4, 1], [3, 2, 1]]
    assert (near.distance[0, 3] * problem.unit).tolist() == pytest.approx([3, 4, 5])
    nodes, distance = near.around(torch.tensor([[3, 0]]))
    assert nodes.tolist() == [[[2, 4, 1], [1, 2, 3]]]
    assert (distance[0, 1] * problem.unit).tolist() == pytest.approx([1, 3, 6])


@pytest.mark.parametrize("planar", [False, True])
def test_rows_at_a_time_make_no_difference(monkeypatch, planar: bool) -> None:
    monkeypatch.setitem(streaming._ENTRIES, "cpu", 100)
    problems = generate("CVRP", 30, 2)
    batch = stack(problems, 33, on_the_fly=planar)
    near = neighbourhood(batch, 7)
    for row, problem in enumerate(problems):
        matrix = problem.distances.matrix()
        for node in range(problem.size):
            others = [other for other in problem.customers if other != node]
            expected = sorted(others, key=lambda other: matrix[node, other])[:7]
            assert near.node[row, node].tolist() == expected


def test_a_partner_is_on_the_list_however_far() -> None:
    # Ever further apart, so that there are no ties.
    points = [(0, 0), *[(float(x * x), 1.0) for x in range(1, 11)]]
    pairs = [(node, node + 5) for node in range(1, 6)]
    problem = Problem.from_coordinates(points, pairs=pairs, max_routes=1)
    near = neighbourhood(stack([problem]), 2)
    assert near.node[0, 1].tolist() == [2, 6]  # 6 in the place of 3
    assert near.node[0, 9].tolist() == [8, 4]  # the pickup of 9, in the place of 10
    plain = neighbourhood(stack([problem.replace(pairs=())]), 2)
    assert plain.node[0, 1].tolist() == [2, 3]

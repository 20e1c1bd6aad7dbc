"""The ways home that the look-ahead believes in."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spacevrp.env import Environment
from spacevrp.env.returns import return_paths
from spacevrp.env.starts import can_start
from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack

INF = np.inf


def test_shortest_ways_pass_customers_but_no_depot() -> None:
    # 0 and 1 are depots. From customer 2 home to 0: over depot 1 it would take 2, over 3 it takes
    # 6. From 3 to 2 there is no arc, and every path would pass a depot.
    matrix = [[0, 9, 1, 9], [1, 0, 1, 9], [INF, 1, 0, 4], [2, INF, INF, 0]]
    batch = stack([Problem.from_matrix(matrix, depots=(0, 1))], 6)
    home = return_paths(batch, direct=False)
    assert home.duration is home.distance
    expected = torch.tensor(matrix, dtype=torch.float32)
    expected[2, 0] = 6
    expected[0, 3], expected[1, 3] = 5, 5  # over customer 2
    expected[0, 1], expected[1, 0] = 2, 1  # over customer 2; direct
    assert torch.equal(home.distance[0, :4, :4], expected)


def test_an_arc_without_a_duration_is_none() -> None:
    distances = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    durations = [[0, 1, 1], [INF, 0, 1], [1, 1, 0]]
    problem = Problem.from_matrix(distances, durations=durations)
    home = return_paths(stack([problem]), direct=False)
    assert home.distance[0, 1, 0] == 2
    assert home.duration[0, 1, 0] == 2


def test_shortest_ways_change_nothing_where_arcs_are_shortest() -> None:
    batch = stack(generate("ACVRPTW", 8, 2), dtype=torch.float64)
    there, here = (Environment(batch, 1, direct_return=direct) for direct in (False, True))
    assert torch.allclose(there.home.distance, here.home.distance)
    assert torch.equal(can_start(there), can_start(here))


@pytest.mark.parametrize("direct", [True, False])
def test_a_customer_whose_way_home_leads_over_another(direct: bool) -> None:
    matrix = [[0, 1, 1], [INF, 0, 1], [1, 1, 0]]
    environment = Environment(stack([Problem.from_matrix(matrix)]), 1, direct_return=direct)
    assert can_start(environment)[0].tolist() == [False, not direct, True]
    state = environment.begin(torch.tensor([[1]]))
    assert bool(state.stuck) is direct
    # From customer 1 on to customer 2, but not home.
    assert environment.mask(state)[0, 0].tolist() == [False, direct, not direct]


def test_going_home_keeps_the_limits_when_the_look_ahead_was_hopeful() -> None:
    # Straight home from customer 1 takes 9, over customer 2 it takes 2.
    matrix = [[0, 1, 9], [9, 0, 1], [1, 9, 0]]
    limited = Problem.from_matrix(matrix, max_length=3)
    closing = Problem.from_matrix(matrix, windows=[(0, 3), (0, INF), (0, INF)])
    unlimited = Problem.from_matrix(matrix)
    environment = Environment(stack([limited, closing, unlimited]), 1, direct_return=False)
    state = environment.begin(torch.tensor([[1], [1], [1]]))
    assert environment.mask(state)[:, 0, 0].tolist() == [False, False, True]


def test_a_depot_without_a_duration_to_a_customer_does_not_serve_it() -> None:
    # Depot 0 is nearer to customer 2, but nobody knows how long the way takes.
    distances = [[0, 1, 1], [1, 0, 5], [1, 5, 0]]
    durations = [[0, 1, INF], [1, 0, 5], [INF, 5, 0]]
    problem = Problem.from_matrix(distances, durations=durations, depots=(0, 1))
    environment = Environment(stack([problem]), 2)
    assert environment.first_depots(torch.tensor([[2]])).tolist() == [[1]]
    assert not bool(environment.begin(torch.tensor([[2]])).stuck)

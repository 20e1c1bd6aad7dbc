"""Start nodes: every customer that can come first, in turn."""

from __future__ import annotations

import pytest
import torch

from spacevrp.env import Environment, start_nodes
from spacevrp.tensors import stack


def starts(count, *problems):
    return start_nodes(Environment(stack(list(problems))), count).tolist()


def test_all_customers_in_turn_and_again(four_customers):
    assert starts(6, four_customers()) == [[1, 2, 3, 4, 1, 2]]


def test_without_a_depot_every_node(four_customers):
    assert starts(5, four_customers(depots=())) == [[0, 1, 2, 3, 4]]


def test_only_pickups_of_pairs(four_customers):
    assert starts(3, four_customers(pairs=((1, 3), (4, 2)))) == [[1, 4, 1]]


def test_only_linehauls_under_the_rule_paper(four_customers):
    mixed = {"demand": [0, -1, 2, -1, 2], "capacity": 4.0}
    assert starts(3, four_customers(**mixed, load_rule="paper")) == [[2, 4, 2]]
    assert starts(4, four_customers(**mixed, load_rule="single")) == [[1, 2, 3, 4]]
    only_backhauls = {"demand": [0, -1, -2, -1, -2], "capacity": 4.0}
    assert starts(4, four_customers(**only_backhauls, load_rule="paper")) == [[1, 2, 3, 4]]


def test_only_customers_within_the_limit(four_customers):
    # There and back: 6, 10, 8, 16.
    orienteering = four_customers(prize=[0, 1, 1, 1, 1], max_length=9.0, maximise_prize=True)
    assert starts(4, orienteering) == [[1, 3, 1, 3]]


def test_only_customers_whose_window_is_still_open(four_customers):
    windows = [(1, 99), (0, 3), (0, 99), (0, 99), (0, 99)]
    # Customer 1 is 3 away from a depot that opens at 1, so it must be optional here.
    problem = four_customers(windows=windows, penalty=[0, 1, 1, 1, 1])
    assert starts(4, problem) == [[2, 3, 4, 2]]


def test_in_a_mixed_batch_each_instance_has_its_own(four_customers):
    paired = four_customers(pairs=((1, 3), (4, 2)))
    tour = four_customers(depots=())
    assert starts(3, paired, tour) == [[1, 4, 1], [0, 1, 2]]


def test_an_instance_nobody_can_start_is_told(four_customers):
    hopeless = four_customers(prize=[0, 1, 1, 1, 1], max_length=5.0, maximise_prize=True)
    environment = Environment(stack([hopeless, four_customers()]))
    nodes = start_nodes(environment, 2)
    assert nodes.tolist() == [[1, 1], [1, 2]]
    state = environment.begin(nodes)
    assert state.stuck.tolist() == [[True, True], [False, False]]
    assert state.done.tolist() == [[True, True], [False, False]]
    assert torch.isinf(environment.cost(state)[0]).all()


@pytest.mark.parametrize("start", [3, 0])
def test_a_start_that_no_rule_allows_is_told(four_customers, drive, start):
    van = drive(four_customers(pairs=((1, 3), (2, 4))), start)  # a delivery, the depot
    assert van.number("stuck") == 1.0
    assert van.number("done") == 1.0

"""Start nodes: every customer that can come first, in turn."""

from __future__ import annotations

import pytest
import torch

from spacevrp.env import Environment, start_nodes
from spacevrp.tensors import stack

MIXED = {"demand": [0, -1, 2, -1, 2], "capacity": 4.0}
BACKHAULS = {"demand": [0, -1, -2, -1, -2], "capacity": 4.0}


def starts(count, *problems):
    return start_nodes(Environment(stack(list(problems))), count).tolist()


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({}, [1, 2, 3, 4, 1, 2]),  # all in turn, and again
        ({"depots": ()}, [0, 1, 2, 3, 4]),
        ({"pairs": ((1, 3), (4, 2))}, [1, 4, 1]),  # pickups
        ({**MIXED, "load_rule": "paper"}, [2, 4, 2]),  # linehauls
        ({**MIXED, "load_rule": "single"}, [1, 2, 3, 4]),
        ({**BACKHAULS, "load_rule": "paper"}, [1, 2, 3, 4]),
        # There and back it is 6, 10, 8 and 16.
        ({"prize": [0, 1, 1, 1, 1], "max_length": 9.0, "maximise_prize": True}, [1, 3, 1, 3]),
        # Customer 1 is 3 away from a depot that opens at 1, so it must be optional here.
        ({"windows": [(1, 99), (0, 3), *[(0, 99)] * 3], "penalty": [0, 1, 1, 1, 1]}, [2, 3, 4, 2]),
    ],
)
def test_who_can_come_first_in_turn(four_customers, features, expected):
    assert starts(len(expected), four_customers(**features)) == [expected]


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

"""What decoding of large instances is told, near neighbours, random numbers, and routes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from spacevrp.decode import routes_of
from spacevrp.decode.adjustment import Adjustment
from spacevrp.decode.first import likeliest_first
from spacevrp.decode.neighbourhood import neighbourhood
from spacevrp.decode.pruned import Pruning, pruned_rollout
from spacevrp.decode.random_numbers import random_keys, uniform
from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment
from spacevrp.env.starts import can_start
from spacevrp.generators import generate
from spacevrp.inference.keys import LIKELIEST, numbered_keys
from spacevrp.model import streaming
from spacevrp.model.decoder import logits
from spacevrp.model.streaming import survey
from spacevrp.problems.problem import Problem
from spacevrp.tensors import Batch, stack

from .conftest import distance_tables, small_tables

LINE = [(0, 0), (1, 0), (2, 0), (3, 0)]


def yes(batch: Batch) -> torch.Tensor:
    return torch.ones(batch.size, dtype=torch.bool)


def batch_of(*problems: Problem) -> Batch:
    return stack(list(problems), dtype=torch.float64)


def test_at_a_depot_distances_count_as_if_there_were_a_hundred_customers() -> None:
    batch = batch_of(*generate("CVRP", 255, 1), *generate("CVRP", 60, 1))
    adjustment = Adjustment.of(batch, yes(batch))
    factor = math.log2(101) / 8  # 256 nodes are 8 doublings; 61 are fewer than the network knows
    assert adjustment.depot_weight.tolist() == pytest.approx([factor, 1.0])
    values = torch.tensor([[[3.0, -2.0], [3.0, -2.0]]], dtype=torch.float64).expand(2, -1, -1)
    counted = adjustment.zscore(values, torch.tensor([[True, False]]).expand(2, -1))
    assert counted[0].flatten().tolist() == pytest.approx([3 * factor, -2 * factor, 3.0, -2.0])
    assert torch.equal(counted[1], values[1])


def test_the_bonus_is_the_share_of_a_vehicle_beyond_its_half() -> None:
    mixed = Problem.from_coordinates(LINE, demand=[0, 15, -12, 10], capacity=20, load_rule="single")
    without = Problem.from_coordinates(LINE)
    batch = batch_of(mixed, without)
    adjustment = Adjustment.of(batch, yes(batch), priority=8.0)
    assert adjustment.bonus[0].tolist() == pytest.approx([0.0, 6.0, 4.8, 0.0])
    assert adjustment.bonus[1].eq(0).all()
    scores = torch.zeros(2, 2, 4, dtype=torch.float64)
    scores[0, 0, 1] = -torch.inf  # what is not allowed stays so
    added = adjustment.scores(scores, torch.tensor([[True, False], [True, True]]))
    assert added[0, 0].tolist() == pytest.approx([0.0, -torch.inf, 4.8, 0.0])
    assert added[0, 1].eq(0).all()
    assert added[1].eq(0).all()


def test_distances_make_up_for_some_of_how_near_neighbours_come() -> None:
    batch = batch_of(*generate("CVRP", 255, 1), *generate("CVRP", 60, 1))
    # At 256 nodes neighbours are nearer by sqrt(256 / 101), and log2 N is 8 instead of 6.66.
    missing = 16 / math.sqrt(101) * math.log2(101) / 8
    weights = Adjustment.of(batch, yes(batch)).nearness(1, 3, powers=(0.5, 1.0, 0.0))
    assert weights[0].tolist() == pytest.approx([missing, 1.0, math.sqrt(missing)])
    assert weights[1].eq(1).all()


# ------------------------------------------------------------------------------------ in a rollout


def by_distance(
    problem: Problem, start: int, adjust=None, nearness: float | None = None, pull: float = 0.0
) -> list[int]:
    """The moves of a plan that distances decide, and a pull towards the last node."""
    environment, tables = distance_tables(problem, pull)
    if nearness is not None:
        tables = replace(tables, nearness=torch.tensor([[nearness]], dtype=torch.float64))
    batch, others = environment.batch, problem.size - 1
    adjustment = None if adjust is None else adjust(batch)
    pruning = Pruning(neighbourhood(batch, others), others, adjustment=adjustment)
    result = pruned_rollout(environment, tables, torch.tensor([[start]]), pruning)
    return result.sequence[0, 0].tolist()


def deviation(problem: Problem) -> float:
    scale = survey(stack([problem], dtype=torch.float64)).scale
    return float(scale.deviation) * problem.unit


def test_a_route_begins_with_the_customer_of_the_largest_share() -> None:
    places = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (6.0, 0.0)]
    problem = Problem.from_coordinates(places, demand=[0, 4, 3, 4], capacity=4)
    assert by_distance(problem, 1)[:6] == [0, 1, 0, 2, 0, 3]  # next door first
    # 3 is 5 further than 2, in deviations, and takes a quarter of a vehicle more.
    even = 4 * 5.0 / deviation(problem)

    def adjust(factor: float):
        return lambda batch: Adjustment.of(batch, yes(batch), priority=factor * even)

    assert by_distance(problem, 1, adjust(0.99))[:6] == [0, 1, 0, 2, 0, 3]
    assert by_distance(problem, 1, adjust(1.01))[:6] == [0, 1, 0, 3, 0, 2]


def test_distances_weigh_more_on_the_way_and_not_at_the_depot() -> None:
    # The score of 3 is higher by half the pull, that of 2 by 3 in deviations for its distance.
    places = [(0.0, 9.0), (0.0, 0.0), (1.0, 0.0), (4.0, 0.0)]
    problem = Problem.from_coordinates(places, demand=[0, 1, 1, 1], capacity=9)
    pull = 2 * 1.5 * 3.0 / deviation(problem)
    assert by_distance(problem, 1, pull=pull)[:4] == [0, 1, 3, 2]
    assert by_distance(problem, 1, pull=pull, nearness=1.4)[:4] == [0, 1, 3, 2]
    assert by_distance(problem, 1, pull=pull, nearness=1.6)[:4] == [0, 1, 2, 3]
    # With one customer a route all routes begin at the depot, and the pull decides.
    alone = Problem.from_coordinates(places, demand=[0, 1, 1, 1], capacity=1)
    assert by_distance(alone, 1, pull=99.0, nearness=50.0)[:6] == [0, 1, 0, 3, 0, 2]


def test_by_hand() -> None:
    # A depot and four customers on a line; the depot is on no list.
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


CPU = torch.device("cpu")

# ---------------------------------------------------------------------------------------- numbers


def mixed(word: int) -> int:
    """The same with whole numbers of Python, which know no overflow."""
    word = ((word ^ (word >> 16)) * 0x7FEB352D) % 2**32
    word = ((word ^ (word >> 15)) * 0x846CA68B) % 2**32
    return word ^ (word >> 16)


def test_numbers_are_those_of_whole_numbers_without_overflow():
    keys = random_keys((50,), CPU, torch.Generator().manual_seed(0))
    for step in (0, 1, 7, 202, 100_000):
        words = [mixed((key + step * 0x9E3779B9) % 2**32) for key in keys.tolist()]
        assert uniform(keys, step).tolist() == [(word >> 8) / 2**24 for word in words]


def test_without_a_key_nothing_is_drawn():
    assert uniform(torch.tensor([LIKELIEST, 5]), 3).tolist()[0] == -1
    assert uniform(torch.tensor([LIKELIEST, 5]), 3)[1] >= 0


def test_keys_follow_from_the_numbers_of_augmentation_and_trajectory():
    many = numbered_keys(3, range(2, 6), 40)
    assert many.shape == (4, 40)
    assert np.array_equal(numbered_keys(3, range(4, 5), 7), many[2:3, :7])
    assert np.unique(many).size == 160
    assert not np.array_equal(numbered_keys(4, range(2, 6), 40), many)
    assert numbered_keys(3, range(2, 6), 0).shape == (4, 0)


# ---------------------------------------------------------------------------------- who comes first


def tables_for(problems: list[Problem]):
    batch = stack(problems, dtype=torch.float64)
    return Environment(batch), small_tables(batch, noise=0.3, pivots=2, clipping=50.0)


def test_the_likeliest_first_customer_is_the_decoders_own_choice():
    environment, tables = tables_for(generate("CVRPTW", 12, 3))
    order = likeliest_first(environment, tables)
    state = environment.standing(torch.zeros((3, 1), dtype=torch.int64))
    signals = problem_signals(environment.batch, state, tables.num_signals)
    allowed = environment.mask(state)
    depot = torch.zeros((3, 1), dtype=torch.int64)
    scores = logits(tables, depot, depot, signals, allowed)[:, 0]  # (B, N)
    for row in range(3):
        ready = allowed[row, 0].sum()
        assert order[row, :ready].tolist() == scores[row].argsort(descending=True)[:ready].tolist()
        assert sorted(order[row].tolist()) == list(range(13))


def test_who_cannot_come_first_comes_last():
    # Deliveries wait for their pickups; under the rule `paper` backhauls for the linehauls.
    backhauls = Problem.from_coordinates(
        [(0, 0), (0, 1), (1, 0), (1, 1)], demand=[0, 1, -2, 3], capacity=4, load_rule="paper"
    )
    environment, tables = tables_for([*generate("PDTSP", 8), *generate("PDTSP", 8), backhauls])
    order = likeliest_first(environment, tables)
    ready = can_start(environment)
    for row in range(3):
        number = int(ready[row].sum())
        assert 0 < number < 8
        assert set(order[row, :number].tolist()) == set(ready[row].nonzero().flatten().tolist())


def test_each_customer_is_asked_for_at_the_depot_that_serves_it_best():
    environment, tables = tables_for(generate("MDCVRP", 9, 2))
    order = likeliest_first(environment, tables)
    batch, depots = environment.batch, environment.num_depots
    chances = torch.full((2, batch.num_nodes), -torch.inf, dtype=torch.float64)
    for depot in range(depots):
        there = torch.full((2, 1), depot)
        state = environment.standing(there)
        signals = problem_signals(batch, state, tables.num_signals)
        scores = logits(tables, there, there, signals, environment.customer_moves(state))
        own = environment.first_depots(torch.arange(batch.num_nodes).expand(2, -1)) == depot
        own[:, :depots] = False
        chances = torch.where(own, scores[:, 0].log_softmax(dim=-1), chances)
    customers = batch.num_nodes - depots
    expected = chances.argsort(dim=1, descending=True)[:, :customers]
    assert torch.equal(order[:, :customers], expected)


def test_without_a_depot_starts_are_spread():
    environment, tables = tables_for(generate("TSP", 40))
    order = likeliest_first(environment, tables)[0]
    assert sorted(order.tolist()) == list(range(40))
    some = order[:10].sort().values
    gaps = (some.roll(-1) - some) % 40
    assert gaps.max() <= 6  # 4 on average


@pytest.mark.parametrize(
    ("features", "moves", "routes"),
    [
        ({}, [0, 2, 1, 0, 4, 3, 0, 0, 0], [[0, 2, 1, 0], [0, 4, 3, 0]]),
        ({"open_routes": True}, [0, 2, 1, 0, 4, 3, 0], [[0, 2, 1], [0, 4, 3]]),
        ({"depots": ()}, [3, 3, 0, 1, 4, 2, 2, 2], [[3, 0, 1, 4, 2]]),
        ({}, [0, 0, 0], []),
    ],
    ids=["closed", "open", "tour", "nothing served"],
)
def test_routes_of_four_customers(four_customers, features, moves, routes):
    assert routes_of(four_customers(**features), moves) == routes


def test_switches_between_depots_are_no_routes():
    problem = Problem.from_coordinates([(float(x), 0.0) for x in range(5)], depots=(0, 1))
    moves = [0, 2, 0, 1, 3, 4, 1, 1]
    assert routes_of(problem, moves) == [[0, 2, 0], [1, 3, 4, 1]]
    assert routes_of(problem.replace(open_routes=True), moves) == [[0, 2], [1, 3, 4]]


def test_routes_are_in_the_users_numbering():
    # Depots are nodes 3 and 1, in this order; customers 0, 2, 4 follow as positions 2, 3, 4.
    problem = Problem.from_coordinates([(float(x), 0.0) for x in range(5)], depots=(3, 1))
    assert routes_of(problem, [1, 4, 1, 0, 2, 3, 0]) == [[1, 4, 1], [3, 0, 2, 3]]

"""What the decoder is told of large instances: numbers by hand, and where they have no say."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from spacevrp.decode.adjustment import Adjustment
from spacevrp.decode.neighbourhood import neighbourhood
from spacevrp.decode.pruned import Pruning, pruned_rollout
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.generators import generate
from spacevrp.model.candidates import NodeTables
from spacevrp.model.streaming import survey
from spacevrp.problems.problem import Problem
from spacevrp.tensors import Batch, stack

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
    batch = stack([problem], dtype=torch.float64, on_the_fly=True)
    flat = torch.zeros(1, 1, problem.size, 2, dtype=torch.float64)
    embedding = flat.clone()
    embedding[..., -1, 0] = pull * math.sqrt(2)
    values, one = torch.ones_like(flat), torch.ones(1, dtype=torch.float64)
    # sigmoid(0) * 1 is the context: half of the pull reaches the score.
    keyed = torch.cat([values, values], dim=-1)
    state = torch.zeros(1, 1, 2, dtype=torch.float64)
    tables = NodeTables(embedding, keyed, flat, flat, state, one, one, survey(batch).scale, 50.0)
    if nearness is not None:
        tables = replace(tables, nearness=torch.tensor([[nearness]], dtype=torch.float64))
    near = neighbourhood(batch, problem.size - 1)
    adjustment = None if adjust is None else adjust(batch)
    pruning = Pruning(near, problem.size - 1, adjustment=adjustment)
    result = pruned_rollout(CandidateEnvironment(batch), tables, torch.tensor([[start]]), pruning)
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

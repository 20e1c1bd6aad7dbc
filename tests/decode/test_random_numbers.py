"""Random numbers from keys, and which customers come first."""

from __future__ import annotations

import torch

from spacevrp.decode.first import likeliest_first
from spacevrp.decode.random_numbers import LIKELIEST, numbered_keys, random_keys, uniform
from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment
from spacevrp.env.starts import can_start
from spacevrp.generators.testsets import generate
from spacevrp.model import ModelConfig, SpaceModel, augmentation_seeds
from spacevrp.model.decoder import logits
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack

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
    assert torch.equal(numbered_keys(3, range(4, 5), 7), many[2:3, :7])
    assert many.unique().numel() == 160
    assert not torch.equal(numbered_keys(4, range(2, 6), 40), many)
    assert numbered_keys(3, range(2, 6), 0).shape == (4, 0)


# ---------------------------------------------------------------------------------- who comes first


def tables_for(problems: list[Problem]):
    torch.manual_seed(0)
    batch = stack(problems, dtype=torch.float64)
    config = ModelConfig(width=16, layers=1, feedforward=16, pivots=2, rank=2, heads=1)
    model = SpaceModel(config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        tables = model(batch, augmentation_seeds(batch, config, 1, 0)[:, 0])
    return Environment(batch), tables


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

"""Facts of possible moves by hand, and weights that learn of them later."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from spacevrp import Problem
from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment
from spacevrp.generators import generate
from spacevrp.model import ModelConfig, SpaceModel, random_seeds
from spacevrp.model.decoder import logits
from spacevrp.model.moves import move_facts
from spacevrp.tensors import stack
from spacevrp.train.config import TrainConfig
from spacevrp.train.state import TrainState

SMALL = ModelConfig(width=16, layers=1, feedforward=16, rank=2, heads=1, signals=4)


def test_facts_by_hand() -> None:
    """On a line: depot at 0, customers at 1, 2 and 4; the vehicle has served the first."""
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (2, 0), (4, 0)],
        demand=[0, 2, 3, 4],
        capacity=10,
        windows=[(0, 20), (0, 20), (5, 8), (0, 9)],
        service=[0, 1, 1, 1],
        max_length=16.0,
    )
    batch = stack([problem], dtype=torch.float64)
    state = Environment(batch).begin(torch.tensor([[1]]))
    zero = torch.tensor([[0]])
    far = torch.tensor([[[-1.0, 0.0, 1.0, 9.0]]], dtype=torch.float64)
    facts = move_facts(batch, zero, state.current, problem_signals(batch, state, 7), far)
    waiting, slack, room, length, away = facts[0, 0].T.tolist()
    # Ready to leave at 2, arriving at the others at 3, 3 and 5; the day has 20.
    assert waiting[2:] == pytest.approx([2 / 20, 0.0])
    assert slack[2:] == pytest.approx([5 / 20, 4 / 20])
    assert room[2:] == pytest.approx([0.5, 0.4])
    assert length[2:] == pytest.approx([12 / 16, 8 / 16])
    assert away == [-1.0, 0.0, 1.0, 3.0]


def test_weights_that_learn_of_them_later_begin_as_they_were() -> None:
    torch.manual_seed(0)
    before = SpaceModel(SMALL)
    wider = replace(SMALL, signals=7, constraint_aware=True, problem_bits=True)
    config = TrainConfig(model=wider, precision="float32")
    after = TrainState(config, torch.device("cpu"), dict(before.state_dict())).model
    batch = stack([generate(name, 8, 1, 2)[0] for name in ("CVRPBPLTW", "AOP", "PDCVRP")])
    environment = Environment(batch)
    state = environment.begin(torch.full((3, 1), 1))
    seeds = random_seeds(batch, SMALL)
    found = []
    for model in (before, after):
        tables = model(batch, seeds)
        signals = problem_signals(batch, state, tables.num_signals)
        allowed = environment.mask(state)
        found.append(logits(tables, state.origin, state.current, signals, allowed))
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=1e-6)
    # The facts are learned from at once.
    found[1].exp().max().backward()
    assert float(after.moves.query.grad.abs().max()) > 0  # type: ignore[union-attr]

"""Bundled weights plan as the paper's formulas do, from the first move to the last.

The network is the slow twin. What is legal is the environment's; the look-ahead over depots is
written here once more.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from spacevrp.decode import rollout
from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment, start_nodes
from spacevrp.generators.testsets import generate
from spacevrp.model import augmentation_seeds
from spacevrp.model.decoder import logits
from spacevrp.model.weights import load_weights
from spacevrp.tensors import stack

STARTS = 2
PROJECTIONS = ("query_first", "query_last", "key", "value", "state")


@pytest.fixture(scope="module")
def model():
    return load_weights("space-100-v12")[0].double()


class ByHand:
    """Greedy plans of one problem by the slow twin."""

    def __init__(self, twin, model, problem, environment, tables, seeds):
        self.twin, self.problem, self.environment = twin, problem, environment
        self.tables = tables
        self.weights = {name: value.numpy() for name, value in model.state_dict().items()}
        self.embedding = twin.encode(problem, self.weights, seeds, model.config.pivots)

    def scores(self, state, legal):
        told = problem_signals(self.environment.batch, state, self.tables.num_signals)
        first, current = int(state.origin), int(state.current)
        allowed, signals = legal[0, 0].tolist(), told[0, 0].tolist()
        found = self.twin.decode(
            self.problem, self.weights, self.embedding, first, current, signals, allowed, 50.0
        )
        fast = logits(self.tables, state.origin, state.current, told, legal)[0, 0]
        assert fast[list(found)].tolist() == pytest.approx(list(found.values()), abs=1e-8)
        return found

    def moves(self, start):
        state = self.environment.begin(torch.tensor([[start]]))
        taken = []
        while not state.done.all():
            for move in self.next_moves(state):
                state = self.environment.step(state, torch.tensor([[move]]))
                taken.append(move)
        return taken, float(self.environment.cost(state))

    def next_moves(self, state):
        depots = list(self.problem.depots)
        if len(depots) > 1 and int(state.current) in depots:
            return self.from_a_depot(state, depots)
        scores = self.scores(state, self.environment.mask(state))
        return [max(scores, key=scores.get)]

    def from_a_depot(self, state, depots):
        """The customer that some depot is surest of, after a move to that depot."""
        found = []
        for depot in depots:
            there = torch.tensor([[depot]])
            standing = replace(state, current=there, origin=there)  # depots open at 0
            legal = self.environment.customer_moves(standing)
            if legal.any():
                scores = self.scores(standing, legal)
                most = max(scores.values())
                total = math.log(sum(math.exp(score - most) for score in scores.values()))
                found.append((most - (total + most), -depot, max(scores, key=scores.get)))
        _, depot, customer = max(found)
        return [customer] if -depot == int(state.current) else [-depot, customer]


@pytest.mark.parametrize(
    ("name", "size"), [("CVRP", 6), ("ACVRPBTW", 6), ("PDTSP", 6), ("AMDCVRPLTW", 6)]
)
def test_greedy_plans(slow_twin, model, monkeypatch, name, size):
    problem = generate(name, size, 1, 11)[0]
    batch = stack([problem], dtype=torch.float64)
    environment = Environment(batch)
    seeds = augmentation_seeds(batch, model.config, 1, 3)[:, 0]
    starts = start_nodes(environment, STARTS)
    with torch.no_grad():
        tables = model(batch, seeds)
        found = rollout(environment, tables, starts)
    by_hand = ByHand(slow_twin, model, problem, environment, tables, seeds[0].tolist())
    assert abs(by_hand.embedding - tables.embedding[0].numpy()).max() < 1e-9
    attributes = np.array(problem.features.attributes)
    # The same for every move.
    known = {name: slow_twin.adapted(by_hand.weights, name, attributes) for name in PROJECTIONS}
    monkeypatch.setattr(slow_twin, "adapted", lambda _, name, __: known[name])
    for place, start in enumerate(starts[0].tolist()):
        moves, cost = by_hand.moves(start)
        assert found.sequence[0, place, 2 : 2 + len(moves)].tolist() == moves
        assert float(found.cost[0, place]) == pytest.approx(cost)

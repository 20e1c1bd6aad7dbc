"""Rollouts of all variants, made once for each size in one mixed batch.

The checks are then parametrised by the table of variants, so that a failure names its variant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
import torch
from torch import Tensor

from spacevrp.decode import Rollout, rollout, routes_of
from spacevrp.decode.random_numbers import random_keys
from spacevrp.env import Environment, State, start_nodes
from spacevrp.generators.testsets import generate
from spacevrp.model import ModelConfig, SpaceModel, augmentation_seeds
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import Batch, stack

INSTANCES = {10: 2, 50: 1}  # of each variant, by size
STARTS = 3
SEED = 20
SMALL = ModelConfig(width=32, layers=2, feedforward=64, rank=4, heads=2)


@dataclass(frozen=True)
class Snapshot:
    """One moment of random rollouts: the state and the moves that its mask allows."""

    state: State
    allowed: Tensor  # (B, P, N) bool


@dataclass(frozen=True)
class Walk:
    """Finished random rollouts."""

    sequence: Tensor  # (B, P, T) int64
    state: State
    cost: Tensor  # (B, P)
    snapshots: tuple[Snapshot, ...]


def walk_randomly(environment: Environment, starts: Tensor, seed: int, every: int) -> Walk:
    """Moves drawn uniformly from the mask; every so many steps the moment is kept."""
    generator = torch.Generator().manual_seed(seed)
    state = environment.begin(starts)
    origin = environment.origins(starts)
    sequence = [origin, starts]
    snapshots = []
    for step in range(environment.max_steps):
        if bool(state.done.all()):
            break
        allowed = environment.mask(state)
        if step % every == every // 2:
            snapshots.append(Snapshot(state, allowed))
        noise = torch.rand(allowed.shape, generator=generator).masked_fill(~allowed, -1.0)
        action = noise.argmax(dim=-1)
        sequence.append(action)
        state = environment.step(state, action)
    return Walk(torch.stack(sequence, dim=2), state, environment.cost(state), tuple(snapshots))


class BriefEnvironment(Environment):
    """Stops early: enough to compare many rollouts move by move."""

    max_steps = 5


class World:
    """All variants at one size: a mixed batch, and lazily every kind of rollout of it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.problems: list[Problem] = []
        self.rows: dict[str, list[int]] = {}
        for name in VARIANTS:
            first = len(self.problems)
            self.problems += generate(name, size, INSTANCES[size], SEED)
            self.rows[name] = list(range(first, len(self.problems)))
        torch.manual_seed(size)
        self.model = SpaceModel(SMALL).eval()
        # Adapters start silent; here every attribute shall matter.
        for name, parameter in self.model.named_parameters():
            if name.endswith("magnitude"):
                torch.nn.init.normal_(parameter, std=0.3)
        # At its start the compatibility saturates the clipping, and float32 sees ties everywhere.
        with torch.no_grad():
            self.model.bias.bias_out[-1] = 0.15
        self.double_model = SpaceModel(SMALL).double().eval()
        self.double_model.load_state_dict(self.model.state_dict())

    @cached_property
    def batch(self) -> Batch:
        return stack(self.problems)

    @cached_property
    def double_batch(self) -> Batch:
        return stack(self.problems, dtype=torch.float64)

    @cached_property
    def random(self) -> Walk:
        environment = Environment(self.double_batch)
        starts = start_nodes(environment, STARTS)
        return walk_randomly(environment, starts, self.size, every=max(self.size // 4, 3))

    def roll(
        self, batch: Batch, starts: int = STARTS, sample: bool = False, brief: bool = False
    ) -> Rollout:
        """A rollout of the small model, in the precision of the batch."""
        double = batch.distance.dtype == torch.float64
        model = self.double_model if double else self.model
        environment = BriefEnvironment(batch) if brief else Environment(batch)
        with torch.no_grad():
            tables = model(batch, augmentation_seeds(batch, SMALL, 1, SEED)[:, 0])
        nodes = start_nodes(environment, starts)
        generator = torch.Generator().manual_seed(3)
        keys = random_keys(nodes.shape, nodes.device, generator) if sample else None
        return rollout(environment, tables, nodes, keys=keys)

    @cached_property
    def greedy(self) -> Rollout:
        return self.roll(self.batch)

    @cached_property
    def sampled(self) -> Rollout:
        return self.roll(self.batch, sample=True)

    @cached_property
    def double_greedy(self) -> Rollout:
        return self.roll(self.double_batch, starts=2)

    @cached_property
    def padded_greedy(self) -> Rollout:
        padded = stack(self.problems, self.batch.num_nodes + 7, dtype=torch.float64)
        return self.roll(padded, starts=2)

    def plans(self, row: int, sequence: Tensor) -> list[list[list[int]]]:
        """The routes of every start of one instance."""
        return [routes_of(self.problems[row], moves.tolist()) for moves in sequence[row]]


def strained(problem: Problem, rule: str) -> Problem:
    """Every other customer a backhaul and little room, so that the load rule often binds."""
    signs = np.where(np.arange(problem.size) % 2 == 0, 1.0, -1.0)
    demand = np.abs(problem.demand) * signs
    return problem.replace(load_rule=rule, demand=demand, capacity=12.0)


class RuleWorld:
    """All variants with backhauls, strained, under one load rule, at one size."""

    def __init__(self, world: World, rule: str) -> None:
        self.rows: dict[str, list[int]] = {}
        self.problems: list[Problem] = []
        for name, rows in world.rows.items():
            if VARIANTS[name].features.backhaul:
                first = len(self.problems)
                self.problems += [strained(world.problems[row], rule) for row in rows]
                self.rows[name] = list(range(first, len(self.problems)))
        batch = stack(self.problems, dtype=torch.float64)
        environment = Environment(batch)
        self.random = walk_randomly(environment, start_nodes(environment, 2), seed=1, every=10_000)
        self.greedy = world.roll(batch, starts=2)


_WORLDS: dict[int, World] = {}
_RULE_WORLDS: dict[tuple[int, str], RuleWorld] = {}


@pytest.fixture(
    scope="session",
    params=[10, pytest.param(50, marks=pytest.mark.slow)],
    ids=lambda size: f"n{size}",
)
def world(request: pytest.FixtureRequest) -> World:
    size = request.param
    if size not in _WORLDS:
        _WORLDS[size] = World(size)
    return _WORLDS[size]


@pytest.fixture(scope="session", params=("single", "paper", "separate"))
def rule(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def rule_world(world: World, rule: str) -> RuleWorld:
    key = (world.size, rule)
    if key not in _RULE_WORLDS:
        _RULE_WORLDS[key] = RuleWorld(world, rule)
    return _RULE_WORLDS[key]

"""Compiled rollouts from candidate lists against their slow twin, for all variants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from spacevrp import native
from spacevrp.decode.adjustment import Adjustment
from spacevrp.decode.native_pruned import MOST_NODES, native_pruned_rollout, supports
from spacevrp.decode.neighbourhood import Neighbourhood, neighbourhood
from spacevrp.decode.pruned import Pruning, pruned_rollout
from spacevrp.decode.rollout import Rollout
from spacevrp.decode.running import Running
from spacevrp.env import start_nodes
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.generators.testsets import generate
from spacevrp.model import ModelConfig, SpaceModel, augmentation_seeds
from spacevrp.model.blocks import encode_in_blocks
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import stack

from .conftest import refuse_wrong_arrays

pytestmark = pytest.mark.skipif(native.network is None, reason=native.NETWORK_MISSING)

AUGMENTATIONS, STARTS = 2, 3
CONFIG = ModelConfig(
    width=20,
    layers=1,
    feedforward=16,
    pivots=4,
    rank=2,
    heads=1,
    signals=7,
    constraint_aware=True,
    problem_bits=True,
)


class World:
    """Instances, a network and candidate lists."""

    def __init__(self, problems: list[Problem], listed: int, *, on_the_fly: bool = False) -> None:
        torch.manual_seed(0)
        model = SpaceModel(CONFIG)
        with torch.no_grad():
            model.bias.bias_out[-1] = 0.15
            for parameter in model.parameters():
                parameter.add_(0.05 * torch.randn_like(parameter))
        self.batch = stack(problems, on_the_fly=on_the_fly)
        seeds = augmentation_seeds(self.batch, CONFIG, AUGMENTATIONS, 1)
        self.tables = encode_in_blocks(model, self.batch, seeds)
        self.near: Neighbourhood = neighbourhood(self.batch, listed)
        self.environment = CandidateEnvironment(self.batch)
        starts = start_nodes(self.environment, STARTS)
        self.starts = starts.repeat(1, AUGMENTATIONS)

    def both(self, **options: Any) -> tuple[Rollout, Rollout]:
        """By single steps, and in one call."""
        given = (self.tables, self.starts, Pruning(self.near, **options))
        slow = pruned_rollout(CandidateEnvironment(self.batch), *given)
        return slow, native_pruned_rollout(self.environment, *given)


def same(expected: Rollout, found: Rollout) -> Tensor:
    """Which plans (B, V P) are the same move by move; these cost the same."""
    longest = max(expected.sequence.shape[2], found.sequence.shape[2])

    def padded(sequence: Tensor) -> Tensor:
        rest = sequence[..., -1:].expand(-1, -1, longest - sequence.shape[2])
        return torch.cat([sequence, rest], dim=2).long()

    equal = (padded(expected.sequence) == padded(found.sequence)).all(dim=-1)
    torch.testing.assert_close(found.cost[equal], expected.cost[equal], rtol=1e-5, atol=1e-5)
    return equal


@pytest.fixture(scope="module")
def everything() -> World:
    """All variants in one batch, where lists are shorter than the customers are many."""
    return World([generate(name, 16, 1, 20)[0] for name in VARIANTS], 8)


@pytest.mark.parametrize(("choices", "readout"), [(3, 5), (2, None)])
def test_plans_of_all_variants_are_those_of_the_slow_twin(everything, choices, readout):
    found = same(*everything.both(choices=choices, readout=readout))
    # Ties apart, which are rare.
    assert float(found.double().mean()) > 0.97


def test_what_is_adjusted_counts() -> None:
    world = World(generate("CVRP", 30, 2, 6), 20)
    large = torch.tensor([True, False])
    adjustment = Adjustment.of(world.batch, large)
    adjustment = replace(
        adjustment,
        depot_weight=torch.tensor([0.5, 1.0]),
        bonus=torch.linspace(0.0, 1.0, world.batch.num_nodes).expand(2, -1).contiguous(),
    )
    plain, _ = world.both(choices=5)
    world.tables = replace(world.tables, nearness=torch.tensor([[1.0, 3.0], [2.0, 1.0]]))
    expected, found = world.both(choices=5, adjustment=adjustment)
    assert bool(same(expected, found).double().mean() > 0.9)
    assert not torch.equal(expected.cost, plain.cost)


@pytest.mark.parametrize("name", ["CVRP", "MDCVRPTW", "OP"])
def test_distances_may_follow_from_coordinates(name: str) -> None:
    world = World(generate(name, 20, 2, 7), 12, on_the_fly=True)
    assert not isinstance(world.batch.distance, Tensor)
    assert bool(same(*world.both(choices=4, readout=9)).double().mean() > 0.9)


@pytest.mark.parametrize("instructions", ["plain", "avx2", "avx512"])
def test_threads_and_instructions_make_no_difference(everything: World, instructions: str) -> None:
    if instructions not in native.network.instruction_sets():
        pytest.skip(f"this processor has no {instructions}")
    pruning = Pruning(everything.near, choices=3, readout=6)
    given = (everything.environment, everything.tables, everything.starts, pruning)
    alone, together = (
        native_pruned_rollout(*given, Running(threads=threads, instructions=instructions))
        for threads in (1, 4)
    )
    assert torch.equal(alone.sequence, together.sequence)
    assert torch.equal(alone.cost, together.cost)
    widest = native_pruned_rollout(*given)
    assert float(same(widest, alone).double().mean()) > 0.97


def test_coordinates_of_many_nodes_are_left_to_the_slow_twin() -> None:
    few = stack(generate("CVRP", 10), on_the_fly=True)
    assert supports(few)
    many = stack(generate("CVRP", 10), num_nodes=MOST_NODES + 1, on_the_fly=True)
    assert not supports(many)


def test_wrong_lists_are_named(everything: World, arguments_of) -> None:
    real = native.network.rollout
    given = (everything.environment, everything.tables, everything.starts)
    taken = arguments_of(native_pruned_rollout, *given, Pruning(everything.near, choices=3))
    refuse_wrong_arrays(
        taken,
        "lists",
        lambda _, value: (
            [np.full_like(value, wrong) for wrong in (-1, 10**6)]
            if value.dtype != np.float32
            else []
        ),
    )
    for wrong_limits in ((0, 3), (4, 3), (3, 9)):
        with pytest.raises(ValueError, match="limits: expected"):
            real(**taken | {"lists": taken["lists"] | {"limits": np.array(wrong_limits)}})
    for more in ({"zscore": taken["distance"]}, {"lists": None}, {"keys": taken["starts"]}):
        with pytest.raises(ValueError, match="expected"):
            real(**taken | more)
    with pytest.raises(ValueError, match="views: expected"):
        real(**taken | {"views": 3})

"""Compiled rollouts of fleets against their slow twin."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from random_fleets import random_fleet
from torch import Tensor

from spacevrp import native
from spacevrp.decode.fleet import Draws, fleet_rollout
from spacevrp.decode.native_fleet import native_fleet_rollout
from spacevrp.decode.random_numbers import random_keys, uniform
from spacevrp.decode.rollout import Rollout
from spacevrp.decode.signal import problem_signals
from spacevrp.env.environment import at_node
from spacevrp.env.fleet import FleetEnvironment, Preferences
from spacevrp.model import DecoderTables
from spacevrp.model.decoder import logits
from spacevrp.tensors.fleet import stack_fleets

from .conftest import refuse_wrong_arrays, small_tables

pytestmark = pytest.mark.skipif(native.network is None, reason=native.NETWORK_MISSING)

TRAJECTORIES = 7
CLOSE = 1e-4


def prepare(
    seeds: range, *, direct: bool = True
) -> tuple[FleetEnvironment, DecoderTables, Tensor, Preferences]:
    problems = [problem for seed in seeds if (problem := random_fleet(seed)) is not None]
    batch, fleet = stack_fleets(problems)
    tables = small_tables(batch, noise=0.0, width=16, signals=7, constraint_aware=True)
    environment = FleetEnvironment(batch, fleet, direct_return=direct)
    generator = torch.Generator().manual_seed(1)
    shape = (batch.size, TRAJECTORIES)
    wanted = Preferences(
        torch.rand((*shape, 4, fleet.num_types), generator=generator),
        *(torch.rand(shape, generator=generator) < 0.5 for _ in range(3)),
    )
    starts = 2 + torch.arange(TRAJECTORIES).expand(shape) % (batch.num_nodes - 2)
    return environment, tables, starts.contiguous(), wanted


def check_choices(
    prepared: tuple[FleetEnvironment, DecoderTables, Tensor, Preferences],
    found: Rollout,
    keys: Tensor | None,
    temperature: float,
) -> None:
    """Make every move again by the slow twin, which finds each of them as good as any."""
    environment, tables, starts, wanted = prepared
    batch, state = environment.batch, environment.begin(wanted)
    assert torch.equal(found.sequence[..., 0], state.trip.current)
    wished = torch.ones_like(starts, dtype=torch.bool)
    for time in range(found.sequence.shape[2] - 1):
        action = torch.where(state.done, state.trip.current, found.sequence[..., time + 1])
        allowed = environment.mask(state, wanted)
        signals = problem_signals(batch, state.trip, tables.num_signals)
        scores = logits(tables, state.trip.origin, state.trip.current, signals, allowed)
        scores = scores.double() / temperature
        drawn = torch.full_like(state.paid, -1.0) if keys is None else uniform(keys, time)
        chosen = at_node(scores, action)
        chance = scores.softmax(dim=-1)
        end, share = at_node(chance.cumsum(dim=-1), action), at_node(chance, action)
        outside = torch.maximum(end - share - drawn, drawn - end)
        missed = torch.where(drawn < 0, scores.amax(dim=-1) - chosen, outside)
        free = wished & ~environment.on_pins(state)
        forced = free & at_node(allowed, starts)
        wished = wished & ~free
        assert bool(at_node(allowed, action).all())
        assert torch.equal(action[forced & ~state.done], starts[forced & ~state.done])
        assert float(torch.where(forced | state.done, 0.0, missed).max()) < CLOSE
        state = environment.step(state, action, wanted)
    assert bool(state.done.all())
    torch.testing.assert_close(found.cost, environment.cost(state), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_choices_and_costs_are_those_of_the_slow_twin(temperature: float, direct: bool) -> None:
    prepared = prepare(range(40), direct=direct)
    assert prepared[0].batch.size > 20
    found = native_fleet_rollout(*prepared)
    assert bool(torch.isfinite(found.cost).any())
    check_choices(prepared, found, None, 1.0)
    keys = random_keys(tuple(prepared[2].shape), torch.device("cpu"))
    found = native_fleet_rollout(*prepared, Draws(keys, temperature))
    check_choices(prepared, found, keys, temperature)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 1100, 100))
def test_choices_of_many_fleets(first: int) -> None:
    prepared = prepare(range(first, first + 100))
    check_choices(prepared, native_fleet_rollout(*prepared), None, 1.0)


def test_most_rollouts_are_the_same_move_by_move() -> None:
    prepared = prepare(range(40, 60))
    expected = fleet_rollout(*prepared)
    found = native_fleet_rollout(*prepared)
    length = min(expected.sequence.shape[2], found.sequence.shape[2])
    same = (found.sequence[..., :length] == expected.sequence[..., :length]).all(dim=-1)
    # Ties apart, which are rare.
    assert float(same.double().mean()) > 0.9
    torch.testing.assert_close(found.cost[same], expected.cost[same])


def test_wrong_fleets_are_named(arguments_of) -> None:
    real = native.network.rollout
    taken = arguments_of(native_fleet_rollout, *prepare(range(6)))
    refuse_wrong_arrays(
        taken,
        "fleet",
        lambda name, value: (
            [np.full_like(value, wrong) for wrong in (-7, 10**9)]
            if name in ("depot", "pinned")
            else []
        ),
    )
    with pytest.raises(ValueError, match="origins: expected"):
        real(**taken | {"origins": taken["starts"]})
    with pytest.raises(ValueError, match="origins: expected"):
        real(**taken | {"fleet": None})

"""Whole rollouts of fleets in one call of the compiled network, on a CPU."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from spacevrp.decode.fleet import Draws
from spacevrp.decode.native_rollout import call_arguments, floats, instance_arrays
from spacevrp.decode.rollout import Rollout
from spacevrp.decode.running import USUAL, Running
from spacevrp.env.fleet import FleetEnvironment, Preferences
from spacevrp.model.decoder import DecoderTables
from spacevrp.native import network
from spacevrp.tensors.fleet import rule_codes

_NUMBERS = (
    *("capacity", "load_tolerance", "fixed_cost", "max_length", "leaves_from", "back_by"),
    *("loads", "penalty", "seen_capacity"),
)
_INTEGERS = ("depot", "count", "pinned", "max_routes")
_FLAGS = ("is_open", "may_serve")


def native_fleet_rollout(
    environment: FleetEnvironment,
    tables: DecoderTables,
    starts: Tensor,
    preferences: Preferences,
    draws: Draws | None = None,
    running: Running = USUAL,
) -> Rollout:
    """What ``fleet_rollout`` does, step by step, in one call; see there and ``native_rollout``."""
    fleet = environment.fleet
    batch = replace(environment.batch, load_rule=rule_codes(environment.batch))
    depots = int(batch.is_depot.sum(dim=1).max())
    vehicles = {
        **{name: floats(getattr(fleet, name)) for name in _NUMBERS},
        **{name: getattr(fleet, name).numpy() for name in _INTEGERS},
        **{name: getattr(fleet, name).numpy() for name in _FLAGS},
        "vehicle": floats(preferences.vehicle),
        "nearest": preferences.nearest.numpy(),
        "stays_out": preferences.stays_out.numpy(),
        "owed_first": preferences.owed_first.numpy(),
    }
    action, steps, cost, first = network.rollout(
        **instance_arrays(batch, tables, environment.home, depots),
        starts=starts.numpy(),
        keys=None if draws is None else draws.keys.numpy(),
        temperature=None
        if draws is None
        else torch.full((starts.shape[1],), draws.temperature).numpy(),
        max_steps=environment.max_steps,
        fleet=vehicles,
        **call_arguments(running),
    )
    moves = torch.cat([torch.from_numpy(first).unsqueeze(-1), torch.from_numpy(action).long()], -1)
    taken = torch.from_numpy(steps).long().unsqueeze(-1)  # (B, P, 1)
    length = int(taken.max()) + 1 if taken.numel() else 1
    moves = moves[..., :length]
    # A finished solution rests where it is.
    rest = moves.gather(2, taken).expand_as(moves)
    return Rollout(torch.where(torch.arange(length) > taken, rest, moves), torch.from_numpy(cost))

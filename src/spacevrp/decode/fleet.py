"""Rollouts of fleets by single steps, on any device."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spacevrp.decode.random_numbers import uniform
from spacevrp.decode.rollout import Rollout, choose
from spacevrp.decode.running import USUAL, Running
from spacevrp.decode.signal import problem_signals
from spacevrp.env.environment import at_node
from spacevrp.env.fleet import FleetEnvironment, Preferences
from spacevrp.model.decoder import DecoderTables, logits

# Asking the device whether all solutions are finished makes it wait: ask only every so often.
_STEPS_BETWEEN_QUESTIONS = 8


class Draws(NamedTuple):
    """How moves are drawn; without it, the likeliest are taken."""

    keys: Tensor  # (B, P) of the random numbers
    temperature: float = 1.0


@torch.no_grad()
def fleet_rollout(
    environment: FleetEnvironment,
    tables: DecoderTables,
    starts: Tensor,
    preferences: Preferences,
    draws: Draws | None = None,
    running: Running = USUAL,
) -> Rollout:
    """Complete a solution for each start node (B, P), greedily or by draws.

    The start is the first customer that is chosen freely, after those that are pinned. Where the
    first vehicle cannot serve it, the model chooses.
    """
    batch = environment.batch
    state = environment.begin(preferences)
    moves = [state.trip.current]
    wished = torch.ones_like(starts, dtype=torch.bool)  # (B, P) the start is still to be visited
    for step in range(environment.max_steps):
        if step % _STEPS_BETWEEN_QUESTIONS == 0 and bool(state.done.all()):
            break
        if running.look is not None:
            running.look()
        allowed = environment.mask(state, preferences)
        signals = problem_signals(batch, state.trip, tables.num_signals)
        scores = logits(tables, state.trip.origin, state.trip.current, signals, allowed)
        if draws is None:
            action = choose(scores)
        else:
            action = choose(scores / draws.temperature, uniform(draws.keys, step))
        free = wished & ~environment.on_pins(state)
        action = torch.where(free & at_node(allowed, starts), starts, action)
        wished = wished & ~free
        state = environment.step(state, action, preferences)
        moves.append(action)
    cost = torch.where(state.done, environment.cost(state), torch.inf)
    return Rollout(torch.stack(moves, dim=-1), cost)

"""Rollouts by single steps: the reference path, on any device and for any size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from spacevrp.decode.random_numbers import uniform
from spacevrp.decode.signal import problem_signals
from spacevrp.decode.trace import Trace
from spacevrp.env import Environment, State
from spacevrp.env.environment import only
from spacevrp.env.rules import at
from spacevrp.model.decoder import DecoderTables, logits

# Asking the device whether all solutions are finished makes it wait: ask only every so often.
_STEPS_BETWEEN_QUESTIONS = 8
# A number above 0, below which some share must begin.
_LEAST_DRAWN = 1e-7


@dataclass(frozen=True)
class Rollout:
    """Finished solutions."""

    sequence: Tensor  # (B, P, T) int64; origin, start, then every move
    cost: Tensor  # (B, P) in units of distance; inf where stuck
    trace: Trace | None = None  # where asked for


@dataclass(frozen=True)
class Move:
    """One step of all partial solutions: what was decided on what grounds, and what came of it."""

    action: Tensor  # (B, P) int64
    signals: Tensor  # (B, P, S)
    allowed: Tensor  # (B, P, N) bool
    state: State
    likeliest: Tensor | None = None  # (B, P) chance of the likeliest move, where asked for


def advance(
    environment: Environment,
    tables: DecoderTables,
    state: State,
    *,
    drawn: Tensor | None = None,
    temperature: Tensor | None = None,
    dtype: torch.dtype | None = None,
    record: bool = False,
) -> Move:
    """Choose a legal move for every partial solution, and make it.

    Moves are the likeliest, or drawn with numbers (B, P) from 0 up to 1 where these are given, at a
    temperature (P,). It neither waits for the device nor changes a shape, so it can be compiled as
    a whole.
    """
    allowed = environment.mask(state)
    signals = problem_signals(environment.batch, state, tables.num_signals)
    scores = logits(tables, state.origin, state.current, signals, allowed, dtype)
    if temperature is not None:
        scores = scores / temperature.unsqueeze(-1)
    action = choose(scores, drawn)
    likeliest = scores.softmax(dim=-1).amax(dim=-1) if record else None
    if environment.num_depots > 1:
        ahead = look_ahead(environment, tables, state, action, drawn=drawn, dtype=dtype)
        action = ahead.action
        if likeliest is not None:
            allowed = torch.where(ahead.decides.unsqueeze(-1), ahead.allowed, allowed)
            likeliest = torch.where(ahead.decides, ahead.likeliest, likeliest)
    return Move(action, signals, allowed, environment.step(state, action), likeliest)


@torch.no_grad()
def rollout(
    environment: Environment,
    tables: DecoderTables,
    starts: Tensor,
    *,
    keys: Tensor | None = None,
    moves: int | None = None,
    one_step: Callable[..., Move] = advance,
) -> Rollout:
    """Complete a solution from each start node (B, P), greedily or by sampling.

    Parameters
    ----------
    keys
        (B, P) of the numbers (see ``random_numbers``) with which moves are drawn; where there are
        none, or below 0, the likeliest are taken.
    moves
        Take exactly so many moves and never ask the device whether all solutions are finished, so
        that a CUDA graph can hold the rollout; those that need more count as stuck.
    one_step
        ``advance``, or the same compiled, or with more of its arguments given; where it records,
        what a replay needs is kept.
    """
    batch = environment.batch
    limit = environment.max_steps if moves is None else moves
    state = environment.begin(starts)
    sequence = starts.new_zeros((*starts.shape, limit + 2))
    origin = torch.where(batch.has_depot.unsqueeze(1), environment.first_depots(starts), starts)
    sequence[..., 0], sequence[..., 1] = origin, starts
    kept: list[tuple[Tensor, ...]] = []
    taken = 0
    for step in range(limit):
        asks = moves is None and step % _STEPS_BETWEEN_QUESTIONS == 0
        if asks and bool(state.done.all()):
            break
        drawn = None if keys is None else uniform(keys, step)
        move = one_step(environment, tables, state, drawn=drawn)
        if move.likeliest is not None:
            legal = move.allowed.to(torch.int8)
            depot = state.origin.int()
            kept.append(
                (move.action.int(), move.signals, legal, move.likeliest, ~state.done, depot)
            )
        state = move.state
        taken = step + 1
        sequence[..., taken + 1] = move.action
    cost = torch.where(state.done, environment.cost(state), torch.inf)
    trace = None
    if kept:
        action, signals, allowed, likeliest, active, depot = (
            torch.stack(column, dim=1) for column in zip(*kept, strict=True)
        )
        steps = active.sum(dim=1).to(torch.int32)
        trace = Trace(starts, origin, action, steps, cost, signals, allowed, likeliest)
        if environment.num_depots > 1:
            trace = replace(trace, depot=depot, num_depots=environment.num_depots)
    return Rollout(sequence[..., : taken + 2], cost, trace)


def choose(scores: Tensor, drawn: Tensor | None = None) -> Tensor:
    """The likeliest node (B, P), or the one in whose share of all chances a drawn number falls.

    Numbers below 0 ask for the likeliest, too.
    """
    likeliest = scores.argmax(dim=-1)
    if drawn is None:
        return likeliest
    chance = scores.softmax(dim=-1)
    total = chance.cumsum(dim=-1)
    level = drawn.to(total.dtype).clamp(min=_LEAST_DRAWN) * total[..., -1]
    # The last legal node whose share begins below the level, whatever the rounding.
    before = (chance > 0) & (total - chance < level.unsqueeze(-1))
    nodes = torch.arange(scores.shape[-1], device=scores.device)
    found = torch.where(before, nodes, 0).amax(dim=-1)
    return torch.where(drawn < 0, likeliest, found)


class Ahead(NamedTuple):
    """What looking ahead comes to."""

    action: Tensor  # (B, P) int64; the plain choice where it has no say
    decides: Tensor  # (B, P) bool; where it has one
    allowed: Tensor  # (B, P, N) bool; what was chosen from there: one node before a switch
    likeliest: Tensor  # (B, P) chance of the likeliest of these


def look_ahead(
    environment: Environment,
    tables: DecoderTables,
    state: State,
    action: Tensor,
    *,
    drawn: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> Ahead:
    """At a depot, compare all depots before the next route and move to the most confident one.

    For each depot the decoder is asked as if the vehicle stood there; the depot with the highest
    probability of any single customer wins. If that is the present one, its customer is served,
    otherwise the move is the (free) switch. That follows from what was asked and is never drawn.
    """
    batch = environment.batch
    chooses = batch.is_depot.sum(dim=1, keepdim=True) > 1  # beside others in a mixed batch
    at_depot = at(batch.is_depot, state.current) & ~state.done & ~state.switched & (state.left > 0)
    at_depot = at_depot & chooses
    best_chance = torch.full_like(state.length, -torch.inf)
    best_move = action
    best_legal = only(action, batch.num_nodes)
    best_chosen = torch.zeros_like(at_depot)  # by a choice, not by a switch
    for depot in range(environment.num_depots):
        there = torch.full_like(state.current, depot)
        standing = replace(state, current=there, origin=there, clock=at(batch.opening, there))
        customers = environment.customer_moves(standing)
        exists = at(batch.is_depot, there) & customers.any(dim=-1)
        # Where nothing can be served, any row will do: it never wins.
        legal = torch.where(exists.unsqueeze(-1), customers, torch.ones_like(customers))
        signals = problem_signals(batch, standing, tables.num_signals)
        scores = logits(tables, there, there, signals, legal, dtype)
        chance = scores.amax(dim=-1) - scores.logsumexp(dim=-1)
        move = choose(scores, drawn)
        stays = state.current == there
        move = torch.where(stays, move, there)
        legal = torch.where(stays.unsqueeze(-1), legal, only(there, batch.num_nodes))
        better = exists & (chance > best_chance)
        best_chance = torch.where(better, chance, best_chance)
        best_move = torch.where(better, move, best_move)
        best_legal = torch.where(better.unsqueeze(-1), legal, best_legal)
        best_chosen = torch.where(better, stays, best_chosen)
    decides = at_depot & torch.isfinite(best_chance)
    likeliest = torch.where(best_chosen, best_chance.exp(), 1.0)
    return Ahead(torch.where(decides, best_move, action), decides, best_legal, likeliest)

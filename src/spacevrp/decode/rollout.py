"""Rollouts by single steps: the reference path, on any device and for any size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from spacevrp.decode.depot_choices import ChoiceRecord, log_odds
from spacevrp.decode.deviation import Deviations, Turn, choose_other
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
    ahead: Ahead | None = None  # of depots that were drawn, where asked for


class Drawn(NamedTuple):
    """Numbers from 0 up to 1 that decide; where there are none, the likeliest is taken."""

    moves: Tensor | None = None  # (B, P)
    temperature: Tensor | None = None  # (P,) of the moves
    depots: Tensor | None = None  # (B, P)
    depot_temperature: float = 1.0
    turn: Turn | None = None  # of trajectories that leave a plan


LIKELIEST = Drawn()


def advance(
    environment: Environment,
    tables: DecoderTables,
    state: State,
    drawn: Drawn = LIKELIEST,
    *,
    dtype: torch.dtype | None = None,
    record: bool = False,
) -> Move:
    """Choose a legal move for every partial solution, and make it.

    It neither waits for the device nor changes a shape, so it can be compiled as a whole.
    """
    allowed = environment.mask(state)
    signals = problem_signals(environment.batch, state, tables.num_signals)
    scores = logits(tables, state.origin, state.current, signals, allowed, dtype)
    if drawn.temperature is not None:
        scores = scores / drawn.temperature.unsqueeze(-1)
    action = choose(scores, drawn.moves, drawn.turn)
    likeliest = scores.softmax(dim=-1).amax(dim=-1) if record else None
    kept = None
    if environment.num_depots > 1:
        ahead = look_ahead(environment, tables, state, action, drawn, dtype)
        action = ahead.action
        if likeliest is not None:
            allowed = torch.where(ahead.decides.unsqueeze(-1), ahead.allowed, allowed)
            likeliest = torch.where(ahead.decides, ahead.likeliest, likeliest)
            kept = ahead if drawn.depots is not None else None
    if drawn.turn is not None:
        action = torch.where(drawn.turn.early & ~state.done, drawn.turn.planned, action)
    return Move(action, signals, allowed, environment.step(state, action), likeliest, kept)


@torch.no_grad()
def rollout(
    environment: Environment,
    tables: DecoderTables,
    starts: Tensor,
    *,
    keys: Tensor | None = None,
    moves: int | None = None,
    depot_temperature: float = 0.0,
    deviations: Deviations | None = None,
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
    depot_temperature
        Above 0, trajectories that have a key draw their depots, too (see ``look_ahead``).
    deviations
        Plans that are followed first (see ``deviation``).
    one_step
        ``advance``, or the same compiled, or with more of its arguments given; where it records,
        what a replay needs is kept.
    """
    limit = environment.max_steps if moves is None else moves
    state = environment.begin(starts)
    sequence = starts.new_zeros((*starts.shape, limit + 2))
    origin = environment.origins(starts)
    sequence[..., 0], sequence[..., 1] = origin, starts
    kept: list[tuple[Tensor, ...]] = []
    choices = ChoiceRecord(depot_temperature)
    draws_depots = depot_temperature > 0 and environment.num_depots > 1
    taken = 0
    deviates = torch.full_like(starts, deviations is None, dtype=torch.bool)
    for step in range(limit):
        asks = moves is None and step % _STEPS_BETWEEN_QUESTIONS == 0
        if asks and bool(state.done.all()):
            break
        drawn = LIKELIEST
        if keys is not None:
            drawn = Drawn(uniform(keys, step))
            if draws_depots:
                of_depots = uniform(keys, -1 - step)
                drawn = drawn._replace(depots=of_depots, depot_temperature=depot_temperature)
        if deviations is not None:
            drawn = drawn._replace(turn=deviations.at(step))
        move = one_step(environment, tables, state, drawn)
        if drawn.turn is not None:
            other = (move.action != drawn.turn.planned) & ~_switches(environment, state, move)
            deviates |= drawn.turn.now & ~state.done & other
        if move.ahead is not None:
            ahead = move.ahead
            choices.add(step, ahead.decides, ahead.chosen, ahead.grounds)
        if move.likeliest is not None:
            legal = move.allowed.to(torch.int8)
            depot = state.origin.int()
            kept.append(
                (move.action.int(), move.signals, legal, move.likeliest, ~state.done, depot)
            )
        state = move.state
        taken = step + 1
        sequence[..., taken + 1] = move.action
    cost = torch.where(state.done & deviates, environment.cost(state), torch.inf)
    trace = None
    if kept:
        action, signals, allowed, likeliest, active, depot = (
            torch.stack(column, dim=1) for column in zip(*kept, strict=True)
        )
        steps = active.sum(dim=1).to(torch.int32)
        trace = Trace(starts, origin, action, steps, cost, signals, allowed, likeliest)
        if environment.num_depots > 1:
            trace = replace(
                trace, depot=depot, num_depots=environment.num_depots, choices=choices.whole()
            )
    return Rollout(sequence[..., : taken + 2], cost, trace)


def _switches(environment: Environment, state: State, move: Move) -> Tensor:
    """Which moves lead from one depot to another, (B, P) bool."""
    is_depot = environment.batch.is_depot
    return at(is_depot, state.current) & at(is_depot, move.action) & (move.action != state.current)


def choose(scores: Tensor, drawn: Tensor | None = None, turn: Turn | None = None) -> Tensor:
    """The likeliest node (B, P), or the one in whose share of all chances a drawn number falls.

    Numbers below 0 ask for the likeliest, too. At its turn, the one of the rank.
    """
    if turn is not None:
        return torch.where(turn.now, choose_other(scores, turn), choose(scores, drawn))
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
    chosen: Tensor  # (B, P) int64; the depot
    # What is recorded of depots that are drawn: the odds of the likeliest customer (-inf where
    # there is none), that customer, signals and legal moves
    grounds: tuple[Tensor, ...] = ()  # (B, K, P), (B, K, P) int32, (B, K, P, S), (B, K, P, N) int8


def look_ahead(
    environment: Environment,
    tables: DecoderTables,
    state: State,
    action: Tensor,
    drawn: Drawn = LIKELIEST,
    dtype: torch.dtype | None = None,
) -> Ahead:
    """At a depot, compare all depots before the next route and move to the most confident one.

    For each depot the decoder is asked as if the vehicle stood there; the depot with the highest
    probability of any single customer wins, or one is drawn by the odds of that customer (see
    ``depot_choices``), where there are numbers for it. If that is the present one, its customer is
    served, otherwise the move is the (free) switch.
    """
    batch = environment.batch
    chooses = batch.is_depot.sum(dim=1, keepdim=True) > 1  # beside others in a mixed batch
    at_depot = at(batch.is_depot, state.current) & ~state.done & ~state.switched & (state.left > 0)
    at_depot = at_depot & chooses
    own_move = action
    own_legal = only(action, batch.num_nodes)
    confidences: list[Tensor] = []
    grounds: list[tuple[Tensor, ...]] = []
    for depot in range(environment.num_depots):
        there = torch.full_like(state.current, depot)
        standing = replace(state, current=there, origin=there, clock=at(batch.opening, there))
        customers = environment.customer_moves(standing)
        exists = at(batch.is_depot, there) & customers.any(dim=-1)
        # Where nothing can be served, any row will do: it is never chosen.
        legal = torch.where(exists.unsqueeze(-1), customers, torch.ones_like(customers))
        signals = problem_signals(batch, standing, tables.num_signals)
        scores = logits(tables, there, there, signals, legal, dtype)
        customer = scores.argmax(dim=-1)
        chance = (scores.amax(dim=-1) - scores.logsumexp(dim=-1)).detach()
        confidences.append(chance.masked_fill(~exists, -torch.inf))
        if drawn.depots is not None:
            odds = log_odds(scores, customer).masked_fill(~exists, -torch.inf)
            grounds.append((odds, customer.int(), signals, legal.to(torch.int8)))
        stays = state.current == there
        own_move = torch.where(stays, choose(scores.detach(), drawn.moves, drawn.turn), own_move)
        own_legal = torch.where(stays.unsqueeze(-1), legal, own_legal)
    confidence = torch.stack(confidences, dim=2)  # (B, P, K)
    recorded = tuple(torch.stack(column, dim=1) for column in zip(*grounds, strict=True))
    decides = at_depot & torch.isfinite(confidence).any(dim=2)
    chosen = confidence.argmax(dim=2)
    # The chance of the customer from here, and 1 of a move to another depot.
    here = only(state.current, environment.num_depots)  # (B, P, K)
    single = torch.where(here, confidence.exp(), 1.0)
    if drawn.depots is None:
        likeliest = single.gather(2, chosen.unsqueeze(-1)).squeeze(-1)
    else:
        # Where there is nothing to decide, all are alike: no chances follow from -inf alone.
        scores = recorded[0].detach().transpose(1, 2) / drawn.depot_temperature
        scores = torch.where(decides.unsqueeze(-1), scores, 0.0)
        chosen = torch.where(drawn.depots < 0, chosen, choose(scores, drawn.depots))
        likeliest = (scores.softmax(dim=-1) * single).amax(dim=-1)
    stays = chosen == state.current
    switch = only(chosen, batch.num_nodes)
    return Ahead(
        action=torch.where(decides, torch.where(stays, own_move, chosen), action),
        decides=decides,
        allowed=torch.where(stays.unsqueeze(-1), own_legal, switch),
        likeliest=likeliest,
        chosen=chosen,
        grounds=recorded,
    )

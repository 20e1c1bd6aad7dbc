"""Rollouts by single steps: the reference path, on any device and for any size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from spacevrp.decode.signal import problem_signals
from spacevrp.decode.trace import Trace
from spacevrp.env import Environment, State
from spacevrp.env.rules import at
from spacevrp.model.decoder import DecoderTables, logits

# Asking the device whether all solutions are finished makes it wait: ask only every so often.
_STEPS_BETWEEN_QUESTIONS = 8


@dataclass(frozen=True)
class Rollout:
    """Finished solutions."""

    sequence: Tensor  # (B, P, T) int64; origin, start, then every move
    cost: Tensor  # (B, P) in units of distance; inf where stuck
    trace: Trace | None = None  # where asked for; instances with at most one depot only


@dataclass(frozen=True)
class Move:
    """One step of all partial solutions: what was decided on what grounds, and what came of it."""

    action: Tensor  # (B, P) int64
    signals: Tensor  # (B, P, S)
    allowed: Tensor  # (B, P, N) bool
    state: State
    likeliest: Tensor | None = None  # (B, P) chance of the likeliest move, where asked for


class Advance(Protocol):
    """A function such as ``advance``."""

    def __call__(
        self,
        environment: Environment,
        tables: DecoderTables,
        state: State,
        *,
        sample: bool,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
        record: bool = False,
    ) -> Move:
        """One step."""


def advance(
    environment: Environment,
    tables: DecoderTables,
    state: State,
    *,
    sample: bool,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
    record: bool = False,
) -> Move:
    """Choose a legal move for every partial solution, and make it.

    It neither waits for the device nor changes a shape, so it can be compiled as a whole.
    """
    allowed = environment.mask(state)
    signals = problem_signals(environment.batch, state, tables.num_signals)
    scores = logits(tables, state.origin, state.current, signals, allowed, dtype)
    if temperature != 1.0:
        scores = scores / temperature
    action = choose(scores, sample=sample, generator=generator)
    if environment.num_depots > 1:
        action = look_ahead(
            environment, tables, state, action, sample=sample, generator=generator, dtype=dtype
        )
    likeliest = scores.softmax(dim=-1).amax(dim=-1) if record else None
    return Move(action, signals, allowed, environment.step(state, action), likeliest)


@torch.no_grad()
def rollout(
    environment: Environment,
    tables: DecoderTables,
    starts: Tensor,
    *,
    sample: bool = False,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
    record: bool = False,
    moves: int | None = None,
    one_step: Advance = advance,
) -> Rollout:
    """Complete a solution from each start node (B, P), greedily or by sampling.

    Parameters
    ----------
    sample
        Draw moves instead of taking the likeliest.
    temperature
        The higher, the more equal the chances of all legal moves; 1 for those the model states.
    generator
        Random numbers for sampling.
    dtype
        Type of the decoder's matrix products.
    record
        Keep what a replay needs.
    moves
        Take exactly so many moves and never ask the device whether all solutions are finished, so
        that a CUDA graph can hold the rollout; those that need more count as stuck.
    one_step
        ``advance``, or the same compiled.
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
        move = one_step(
            environment,
            tables,
            state,
            sample=sample,
            temperature=temperature,
            generator=generator,
            dtype=dtype,
            record=record,
        )
        if move.likeliest is not None:
            legal = move.allowed.to(torch.int8)
            kept.append((move.action.int(), move.signals, legal, move.likeliest, ~state.done))
        state = move.state
        taken = step + 1
        sequence[..., taken + 1] = move.action
    cost = torch.where(state.done, environment.cost(state), torch.inf)
    trace = None
    if record:
        if environment.num_depots > 1:
            raise ValueError("expected at most one depot where decisions are recorded")
        action, signals, allowed, likeliest, active = (
            torch.stack(column, dim=1) for column in zip(*kept, strict=True)
        )
        steps = active.sum(dim=1).to(torch.int32)
        trace = Trace(starts, origin, action, steps, cost, signals, allowed, likeliest)
    return Rollout(sequence[..., : taken + 2], cost, trace)


def choose(scores: Tensor, *, sample: bool, generator: torch.Generator | None = None) -> Tensor:
    """The likeliest node, or a draw in proportion to the probabilities (Gumbel's trick), (B, P)."""
    if sample:
        uniform = torch.rand(
            scores.shape, generator=generator, device=scores.device, dtype=scores.dtype
        )
        # Kept away from 0 and 1: the double logarithm must stay finite.
        noise = -torch.log(-torch.log(uniform.clamp(1e-10, 1.0 - 1e-7)))
        scores = scores + noise
    return scores.argmax(dim=-1)


def look_ahead(
    environment: Environment,
    tables: DecoderTables,
    state: State,
    action: Tensor,
    *,
    sample: bool,
    generator: torch.Generator | None,
    dtype: torch.dtype | None,
) -> Tensor:
    """At a depot, compare all depots before the next route and move to the most confident one.

    For each depot the decoder is asked as if the vehicle stood there; the depot with the highest
    probability of any single customer wins. If that is the present one, its customer is served,
    otherwise the move is the (free) switch.
    """
    batch = environment.batch
    chooses = batch.is_depot.sum(dim=1, keepdim=True) > 1  # beside others in a mixed batch
    at_depot = at(batch.is_depot, state.current) & ~state.done & ~state.switched & (state.left > 0)
    at_depot = at_depot & chooses
    best_chance = torch.full_like(state.length, -torch.inf)
    best_move = action
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
        move = choose(scores, sample=sample, generator=generator)
        move = torch.where(state.current == there, move, there)
        better = exists & (chance > best_chance)
        best_chance = torch.where(better, chance, best_chance)
        best_move = torch.where(better, move, best_move)
    return torch.where(at_depot & torch.isfinite(best_chance), best_move, action)

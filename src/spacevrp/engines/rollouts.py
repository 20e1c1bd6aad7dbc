"""Rollouts on tensors by what decodes them fastest: a kernel, the compiled network, or steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec

import torch
from torch import Tensor

from spacevrp.decode import rollout
from spacevrp.decode.deviation import Deviations
from spacevrp.decode.fused import FusedOptions, fused_rollout
from spacevrp.decode.launch import supports
from spacevrp.decode.native_rollout import native_rollout
from spacevrp.decode.native_rollout import supports as supports_native
from spacevrp.decode.rollout import Drawn, Move, Rollout, advance
from spacevrp.decode.running import Running
from spacevrp.decode.trace import Trace
from spacevrp.env import Environment, State
from spacevrp.inference.beam import OTHERS
from spacevrp.inference.settings import Settings
from spacevrp.model import DecoderTables
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.warning import warn


@dataclass(frozen=True)
class Moves:
    """Finished rollouts, their sequences (B, P, T) on demand."""

    cost: Tensor  # (B, P)
    take: Callable[[Tensor], Tensor]  # (B, k) positions among P -> (B, k, T)

    @classmethod
    def of(cls, done: Rollout) -> Moves:
        """All of a rollout's."""

        def take(order: Tensor) -> Tensor:
            index = order.unsqueeze(-1).expand(-1, -1, done.sequence.shape[2])
            return done.sequence.gather(1, index).long()

        return cls(done.cost, take)


@dataclass(frozen=True)
class Drawing:
    """How the moves of P trajectories of each instance are chosen."""

    keys: Tensor | None = None  # (B, P) of the random numbers; None for the likeliest moves
    temperature: Tensor | None = None  # (P,)
    deviations: Deviations | None = None  # plans that are followed first


# Completes a plan from each start (B, P).
Decode = Callable[[Environment, DecoderTables, Tensor, Drawing], Moves]


def decoder_of(
    environment: Environment, problems: Sequence[Problem], settings: Settings, width: int
) -> Decode:
    """What completes plans of these instances on their device, by a network of that width."""
    if uses_kernel(environment, width):
        return partial(_roll_out_fused, missing_arcs=_misses_arcs(problems))
    if settings.compiled and supports_native(environment.batch):
        return partial(_roll_out_native, deadline=settings.deadline)
    return partial(_roll_out, deadline=settings.deadline)


def uses_kernel(environment: Environment, width: int) -> bool:
    """Whether the rollouts run in one launch: on a GPU with Triton that they fit."""
    if not environment.home.direct:
        return False  # the kernel looks at direct arcs alone
    on_gpu = environment.batch.device.type == "cuda"
    return on_gpu and _has_triton() and supports(environment, width)


@cache
def _has_triton() -> bool:
    if find_spec("triton") is not None:
        return True
    warn("Triton is not installed: plans are decoded step by step, which is slower", RuntimeWarning)
    return False


def _roll_out(
    environment: Environment,
    tables: DecoderTables,
    starts: Tensor,
    drawing: Drawing,
    *,
    deadline: Deadline,
) -> Moves:
    """Move by move."""

    def step(environment: Environment, tables: DecoderTables, state: State, drawn: Drawn) -> Move:
        deadline.check()
        return advance(environment, tables, state, drawn._replace(temperature=drawing.temperature))

    done = rollout(
        environment,
        tables,
        starts,
        keys=drawing.keys,
        deviations=drawing.deviations,
        one_step=step,
    )
    return Moves.of(done)


def _roll_out_fused(
    environment: Environment,
    tables: DecoderTables,
    starts: Tensor,
    drawing: Drawing,
    *,
    missing_arcs: bool,
) -> Moves:
    """In one launch. It is always at 1: who looks for hard ones has no direct ways."""
    options = FusedOptions(missing_arcs=missing_arcs, deviations=drawing.deviations, ranks=OTHERS)
    trace = fused_rollout(environment, tables, starts, drawing.keys, options)
    return Moves(trace.cost, lambda order: choose(trace, order).sequences())


def _roll_out_native(
    environment: Environment,
    tables: DecoderTables,
    starts: Tensor,
    drawing: Drawing,
    *,
    deadline: Deadline,
) -> Moves:
    """In one call, on a CPU."""
    trace = native_rollout(
        environment,
        tables,
        starts,
        drawing.keys,
        temperature=drawing.temperature,
        deviations=drawing.deviations,
        running=Running(look=deadline.check),
    )
    return Moves(trace.cost, lambda order: choose(trace, order).sequences())


def choose(trace: Trace, order: Tensor) -> Trace:
    """Some of the rollouts: those at positions ``order`` (B, k)."""
    along = order.unsqueeze(1).expand(-1, trace.action.shape[1], -1)  # (B, T, k)
    return Trace(
        trace.starts.gather(1, order),
        trace.origin.gather(1, order),
        trace.action.gather(2, along),
        trace.steps.gather(1, order),
        trace.cost.gather(1, order),
    )


def rested(sequence: Tensor, length: int) -> Tensor:
    """Sequences (B, P, T) of plans that rest where they stopped, up to this length."""
    rest = sequence[..., -1:].expand(-1, -1, length - sequence.shape[2])
    return torch.cat([sequence, rest], dim=2)


def _misses_arcs(problems: Sequence[Problem]) -> bool:
    return any(
        problem.distances.has_missing_arcs or problem.durations.has_missing_arcs
        for problem in problems
    )

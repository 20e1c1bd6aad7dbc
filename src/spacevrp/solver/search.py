"""The search proper: every view of every instance from every start node, in one block at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spacevrp.decode import Rollout, rollout
from spacevrp.env import Environment, start_nodes
from spacevrp.env.starts import can_start
from spacevrp.model import DecoderTables, SpaceModel, view_seeds
from spacevrp.problems.problem import Problem
from spacevrp.solver.memory import Cut
from spacevrp.tensors import Batch, stack

# Beside the best plan, some of the next best: the referee has the last word.
_CANDIDATES = 16


@dataclass(frozen=True)
class Settings:
    """How hard to search."""

    views: int  # pivot sets an instance
    starts: int | None  # start nodes a view; None for all that can start
    samples: int  # further rounds from every start that draw their moves
    seed: int

    @property
    def rounds(self) -> int:
        """Rollouts from every start of every view: a greedy one, then the sampled ones."""
        return 1 + self.samples


@dataclass(frozen=True)
class Candidate:
    """A finished (or stuck) rollout."""

    cost: float  # in units of distance; inf where it is stuck
    rank: tuple[int, int, int]  # view, round, number of the start: settles ties
    sequence: np.ndarray  # (T,) positions in the batch


def search_block(
    model: SpaceModel,
    problems: Sequence[Problem],
    settings: Settings,
    cut: Cut,
    device: torch.device,
    report: Callable[[int], None],
) -> list[list[Candidate]]:
    """Candidates of each instance, best first.

    Parameters
    ----------
    report
        Called with the number of rollouts whenever some are finished.
    """
    batch = stack(problems).to(device)
    seeds = view_seeds(batch, model.config, settings.views, settings.seed)  # (I, V, M)
    found: list[list[Candidate]] = [[] for _ in problems]
    for first_view in range(0, settings.views, cut.views):
        some = seeds[:, first_view : first_view + cut.views]  # (I, v, M)
        views = some.shape[1]
        repeated = batch.repeat_interleave(views) if views > 1 else batch
        environment = Environment(repeated)
        tables = _encode(model, repeated, some.flatten(0, 1))
        starts = choose_starts(environment, settings.starts)  # (I v, P)
        for number in range(settings.rounds):
            for first_start in range(0, starts.shape[1], cut.starts):
                piece = starts[:, first_start : first_start + cut.starts]
                place = (first_view, number, first_start)
                generator = _generator(device, settings.seed, place) if number > 0 else None
                done = _roll_out(environment, tables, piece, generator)
                kept = max(2, _CANDIDATES // settings.views)
                for item, candidates in enumerate(_best(repeated, done, kept, place, views)):
                    found[item // views] += candidates
                report(piece.numel())
    return [sorted(some, key=lambda one: (one.cost, one.rank)) for some in found]


def choose_starts(environment: Environment, limit: int | None) -> Tensor:
    """Start nodes, (B, P): all that can start, or ``limit`` of them spread evenly.

    P is the number that the instance with the most of them needs; the others repeat theirs.
    """
    number = can_start(environment).sum(dim=1, keepdim=True).clamp(min=1)  # (B, 1)
    most = int(number.max())
    every = start_nodes(environment, most)  # (B, most)
    if limit is None or limit >= most:
        return every
    turn = torch.arange(limit, device=every.device).unsqueeze(0)  # (1, limit)
    return every.gather(1, turn * number // limit)


def _encode(model: SpaceModel, batch: Batch, seeds: Tensor) -> DecoderTables:
    # Tensor cores want bfloat16; a CPU is as fast in float32.
    dtype = torch.bfloat16 if batch.device.type == "cuda" else torch.float32
    with torch.inference_mode():
        tables: DecoderTables = model(batch, seeds, dtype)
    return tables


def _roll_out(
    environment: Environment,
    tables: DecoderTables,
    starts: Tensor,
    generator: torch.Generator | None,
) -> Rollout:
    """Complete a plan from each start (B, P): greedily, or drawn where there is a generator."""
    with torch.inference_mode():
        return rollout(
            environment, tables, starts, sample=generator is not None, generator=generator
        )


def _generator(device: torch.device, seed: int, place: tuple[int, int, int]) -> torch.Generator:
    """Random numbers of their own for every piece of work."""
    state = np.random.SeedSequence([seed, *place]).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state >> np.uint64(1)))


def _best(
    batch: Batch, done: Rollout, kept: int, place: tuple[int, int, int], views: int
) -> list[list[Candidate]]:
    """The cheapest rollouts of each item; where all are stuck, those that served the most."""
    cost, sequence = done.cost, done.sequence  # (B, P), (B, P, T)
    key = torch.where(torch.isfinite(cost).any(dim=1, keepdim=True), cost, -torch.inf)
    if bool(torch.isneginf(key).any()):
        visited = torch.zeros(*cost.shape, batch.num_nodes, dtype=torch.bool, device=cost.device)
        visited = visited.scatter(2, sequence, torch.ones_like(sequence, dtype=torch.bool))
        key = torch.where(torch.isneginf(key), -visited.sum(dim=2).to(cost.dtype), key)
    # Stable: of equal costs the first start wins, whatever the device.
    order = key.sort(dim=1, stable=True).indices[:, :kept]  # (B, k)
    cost = cost.gather(1, order).cpu()
    index = order.unsqueeze(-1).expand(-1, -1, sequence.shape[2])
    moves = sequence.gather(1, index).to(torch.int32).cpu().numpy()  # (B, k, T)
    first_view, number, first_start = place
    return [
        [
            Candidate(
                value, (first_view + item % views, number, first_start + start), moves[item, i]
            )
            for i, (value, start) in enumerate(zip(costs, starts, strict=True))
        ]
        for item, (costs, starts) in enumerate(
            zip(cost.tolist(), order.cpu().tolist(), strict=True)
        )
    ]

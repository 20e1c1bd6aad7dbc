"""Rollouts of every augmentation of every instance from every start node, block by block.

Costs and moves stay on the device while the block is worked on: of all its rollouts only the few
best of each instance come back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from spacevrp.decode.deviation import Deviations
from spacevrp.decode.first import likeliest_first
from spacevrp.decode.rollout import Rollout
from spacevrp.engines.beam import Beam, best_rollouts, joined, search_beam
from spacevrp.engines.memory import Cut
from spacevrp.engines.rollout_plan import RolloutPlan
from spacevrp.engines.rollouts import Drawing, Moves, decoder_of, rested
from spacevrp.env import Environment, start_nodes
from spacevrp.env.starts import can_start
from spacevrp.inference.construct import Candidate
from spacevrp.inference.settings import Seconds, Settings
from spacevrp.model import DecoderTables, SpaceModel, augmentation_seeds
from spacevrp.problems.deadline import NEVER, Deadline, TimeIsUp
from spacevrp.problems.problem import Problem
from spacevrp.tensors import Batch, stack

# Beside the best plan, some of the next best: the referee has the last word.
_CANDIDATES = 16


@dataclass(frozen=True)
class Prepared:
    """Problems as tensors, not yet on the device."""

    problems: Sequence[Problem]
    batch: Batch
    expected: Batch | None  # with the prizes that are expected, where visits reveal them
    seconds: float

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> Prepared:
        """From the problems."""
        began = time.perf_counter()
        batch = stack(problems)
        expected = stack_expected(problems)
        return cls(problems, batch, expected, time.perf_counter() - began)

    def to(self, device: torch.device) -> Prepared:
        """The same on the device."""
        batch = self.batch.to(device)
        expected = None if self.expected is None else self.expected.to(device)
        return replace(self, batch=batch, expected=expected)


def search_block(
    model: SpaceModel,
    prepared: Prepared,
    settings: Settings,
    cut: Cut,
    report: Callable[[int], None],
    seconds: Seconds,
) -> list[list[Candidate]]:
    """Candidates of each instance, best first; those of the augmentations that were in time.

    Where prizes are revealed by the visits, a rollout is what a policy does about the real ones,
    and its cost here is what the same policy would pay for the expected ones: a choice by the real
    costs would know the prizes beforehand. What that would choose comes last, marked as hindsight.
    ``report`` is told the number of rollouts whenever some are finished, and what the block takes
    is added to ``seconds``.

    Raises
    ------
    TimeIsUp
        When the deadline is over before there are any.
    """
    began, device = time.perf_counter(), next(model.parameters()).device
    with torch.inference_mode():
        best = _search(model, prepared.to(device), settings, cut, report)
        found = best.candidates()  # waits for the device
    seconds.preparing += prepared.seconds
    seconds.searching += time.perf_counter() - began
    return found


def _search(
    model: SpaceModel,
    prepared: Prepared,
    settings: Settings,
    cut: Cut,
    report: Callable[[int], None],
) -> Foreseen:
    problems, batch, expected = prepared.problems, prepared.batch, prepared.expected
    num_depots = max(len(problem.depots) for problem in problems)
    environment = Environment(batch, num_depots, direct_return=settings.direct_return)
    plan = RolloutPlan.of(environment, settings)
    degrees = torch.tensor([settings.temperature(number) for number in range(1 + plan.draws)])
    temperature = degrees.to(batch.device)[plan.rounds]  # (R,)
    seeds = seeds_of_augmentations(model, batch, problems, settings)  # (I, V, M)
    decode = decoder_of(environment, problems, settings, model.config.width)
    # What a policy would pay for the expected prizes says nothing of its plan for the real ones.
    beams = 0 if expected is not None else settings.beam_width
    best = Foreseen(batch, environment.max_steps + 2, known=expected is None)

    def with_augmentations(batch: Batch, augmentations: int) -> Environment:
        repeated = batch.repeat_interleave(augmentations) if augmentations > 1 else batch
        return Environment(repeated, num_depots, direct_return=settings.direct_return)

    def search_augmentations(first_augmentation: int) -> None:
        some = seeds[:, first_augmentation : first_augmentation + cut.augmentations]  # (I, v, M)
        augmentations = some.shape[1]
        there = environment if augmentations == 1 else with_augmentations(batch, augmentations)
        planned = None if expected is None else with_augmentations(expected, augmentations)
        numbers = settings.numbered(first_augmentation, augmentations)
        tables = encode(model, there.batch, some.flatten(0, 1), settings, numbers)
        nodes = likeliest_first(there, tables)  # (I v, N)
        begin = nodes.gather(1, plan.start.repeat_interleave(augmentations, dim=0))  # (I v, R)
        keys = plan.keys(settings.seed, numbers)
        augmentation = torch.arange(
            first_augmentation, first_augmentation + augmentations, device=batch.device
        )
        rank = augmentation[:, None] * (begin.shape[1] + beams)  # (v, 1)
        kept: list[Beam] = []
        for first in range(0, begin.shape[1], cut.starts):
            piece = slice(first, first + cut.starts)
            drawing = Drawing(None if keys is None else keys[:, piece], temperature[piece])
            turn = (tables, begin[:, piece], drawing)
            done = decode(there, *turn)
            cost = done.cost if planned is None else decode(planned, *turn).cost
            order = torch.arange(done.cost.shape[1], device=batch.device) + first
            best.add(done, cost, rank + order)
            report(done.cost.numel())
            if beams:
                kept.append(best_rollouts(done, beams))
        if kept:

            def complete(starts: Tensor, leaves: Deviations) -> Moves:
                settings.deadline.check()
                report(starts.numel())
                return decode(there, tables, starts, Drawing(deviations=leaves))

            beam = search_beam(joined(kept, beams), complete, there.max_steps)
            found = Moves.of(Rollout(beam.sequence, beam.cost))
            order = torch.arange(found.cost.shape[1], device=batch.device) + begin.shape[1]
            best.add(found, found.cost, rank + order)

    one_by_one(search_augmentations, best, settings, cut.augmentations)
    return best


def one_by_one(
    search: Callable[[int], None], best: Foreseen, settings: Settings, at_once: int
) -> None:
    """Search some augmentations after the other, by the number of the first, until the time is up.

    Raises
    ------
    TimeIsUp
        When that is so before there are any candidates.
    """
    for first_augmentation in range(0, settings.augmentations, at_once):
        try:
            settings.deadline.check()
            search(first_augmentation)
        except TimeIsUp:
            if best.is_empty:
                raise
            break


def stack_expected(problems: Sequence[Problem], *, on_the_fly: bool = False) -> Batch | None:
    """The batch with the prizes that are expected; None where nothing is unknown."""
    if not any(problem.has_unknown_prizes for problem in problems):
        return None
    return stack([problem.as_expected() for problem in problems], on_the_fly=on_the_fly)


def seeds_of_augmentations(
    model: SpaceModel, batch: Batch, problems: Sequence[Problem], settings: Settings
) -> Tensor:
    """Pivot seeds of every augmentation, (I, V, M); they depend on numbers of nodes and depots."""
    kinds = [(len(problem.depots), problem.size) for problem in problems]
    row_of = {kind: row for row, kind in enumerate(dict.fromkeys(kinds))}
    examples = torch.tensor([kinds.index(kind) for kind in row_of], device=batch.device)
    rows = numbered_seeds(model, batch[examples], settings)
    return rows[torch.tensor([row_of[kind] for kind in kinds], device=batch.device)]


def numbered_seeds(model: SpaceModel, batch: Batch, settings: Settings) -> Tensor:
    """Pivot seeds of the augmentations that are looked through, (B, V, M)."""
    last = settings.first_augmentation + settings.augmentations
    return augmentation_seeds(batch, model.config, last, settings.seed)[
        :, settings.first_augmentation :
    ]


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


def encode(
    model: SpaceModel, batch: Batch, seeds: Tensor, settings: Settings, augmentations: range
) -> DecoderTables:
    """The tables of the decoder for every augmentation, those of an instance in a row."""
    # Tensor cores want bfloat16; a CPU is as fast in float32.
    dtype = torch.bfloat16 if batch.device.type == "cuda" else torch.float32
    with looking_between_layers(model, settings.deadline):
        tables: DecoderTables = model(batch, seeds, dtype)
    return model.apply_heads(tables, batch, augmentations, settings.heads)


@contextmanager
def looking_between_layers(model: SpaceModel, deadline: Deadline) -> Iterator[None]:
    """Have the encoder look at the deadline before each layer, where there is one."""
    if deadline is NEVER:
        yield
        return
    handles = [
        layer.register_forward_pre_hook(lambda *_: deadline.check())
        for layer in model.encoder.layers
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


# ------------------------------------------------------------------------------------------- best


class Best:
    """The best rollouts of each instance so far, on the device.

    Cheaper is better; among the stuck, to have served more; then the first in rank. As ranks differ
    it makes no difference how the rollouts were cut into pieces, nor in which order these come.
    """

    def __init__(self, batch: Batch, length: int) -> None:
        self._nodes, self._length = batch.num_nodes, length
        shape = (batch.size, 0)
        self._cost = batch.distance.new_empty(shape)  # (I, k)
        self._served = torch.empty(shape, dtype=torch.int64, device=batch.device)  # (I, k)
        self._rank = torch.empty(shape, dtype=torch.int64, device=batch.device)  # (I, k)
        self._moves = torch.empty((*shape, length), dtype=torch.int32, device=batch.device)

    @property
    def is_empty(self) -> bool:
        """Whether there are none yet."""
        return not self._cost.shape[1]

    def add(self, done: Moves, rank: Tensor) -> None:
        """Rollouts of some augmentations (I v, P) with their ranks (v, P), which grow along P."""
        augmentations = rank.shape[0]
        rank = rank.repeat(done.cost.shape[0] // augmentations, 1)  # (I v, P)
        kept = min(_CANDIDATES, rank.shape[1])
        key = torch.where(torch.isfinite(done.cost), 0.0, 1.0)
        if bool(key.amin(dim=1).any()):  # somewhere all are stuck: now it matters who served more
            everything = torch.arange(rank.shape[1], device=rank.device).expand_as(rank)
            served = self._count(done.take(everything))
        else:
            served = torch.zeros_like(rank)
        order = _best_first(done.cost, served, rank)[:, :kept]
        items = self._cost.shape[0]

        def merged(old: Tensor, new: Tensor) -> Tensor:
            return torch.cat([old, new.gather(1, order).reshape(items, -1)], dim=1)

        cost, served = merged(self._cost, done.cost), merged(self._served, served)
        rank = merged(self._rank, rank)
        final = _best_first(cost, served, rank)[:, :_CANDIDATES]
        self._cost, self._served = cost.gather(1, final), served.gather(1, final)
        self._rank = rank.gather(1, final)
        moves = rested(done.take(order).to(torch.int32), self._length)  # (I v, kept, T)
        moves = moves.view(items, -1, self._length)
        index = final.unsqueeze(-1).expand(-1, -1, self._length)
        self._moves = torch.cat([self._moves, moves], dim=1).gather(1, index)

    def _count(self, moves: Tensor) -> Tensor:
        """Distinct nodes of sequences (B, P, T), (B, P)."""
        visited = torch.zeros(
            (*moves.shape[:2], self._nodes), dtype=torch.bool, device=moves.device
        )
        return visited.scatter(2, moves, True).sum(dim=2)

    def candidates(self) -> list[list[Candidate]]:
        """All that is left, best first, on the host."""
        costs, ranks = self._cost.tolist(), self._rank.tolist()
        moves = self._moves.cpu().numpy()
        return [
            [Candidate(*one) for one in zip(*columns, strict=True)]
            for columns in zip(costs, ranks, moves, strict=True)
        ]


class Foreseen:
    """The best rollouts by what is known beforehand, and beside them the best in hindsight."""

    def __init__(self, batch: Batch, length: int, *, known: bool) -> None:
        self._chosen = Best(batch, length)
        self._afterwards = None if known else Best(batch, length)

    @property
    def is_empty(self) -> bool:
        """Whether there are none yet."""
        return self._chosen.is_empty

    def add(self, done: Moves, expected: Tensor, rank: Tensor) -> None:
        """Rollouts, and what each of the policies would have paid for the expected prizes."""
        if self._afterwards is None:
            self._chosen.add(done, rank)
            return
        self._afterwards.add(done, rank)
        cost = torch.where(torch.isfinite(done.cost), expected, torch.inf)
        self._chosen.add(replace(done, cost=cost), rank)

    def candidates(self) -> list[list[Candidate]]:
        """Those chosen, best first, and then those in hindsight, on the host."""
        chosen = self._chosen.candidates()
        if self._afterwards is None:
            return chosen
        afterwards = self._afterwards.candidates()
        return [
            [*some, *(replace(one, hindsight=True) for one in others)]
            for some, others in zip(chosen, afterwards, strict=True)
        ]


def _best_first(cost: Tensor, served: Tensor, rank: Tensor) -> Tensor:
    """Positions (B, P) sorted by cost, then (where it is infinite) by most served, then by rank."""
    order = rank.argsort(dim=1, stable=True)
    served = torch.where(torch.isfinite(cost), 0, served).gather(1, order)
    order = order.gather(1, served.argsort(dim=1, stable=True, descending=True))
    return order.gather(1, cost.gather(1, order).argsort(dim=1, stable=True))

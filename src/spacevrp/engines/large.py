"""The search of large instances: blocked encoding, pruned decoding, on all cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from spacevrp.decode.adjustment import Adjustment
from spacevrp.decode.native_pruned import native_pruned_rollout
from spacevrp.decode.native_pruned import supports as supports_native
from spacevrp.decode.neighbourhood import neighbourhood
from spacevrp.decode.pruned import Drawing, Pruning, Walk, pruned_rollout
from spacevrp.decode.pruned_graph import walk_for
from spacevrp.decode.rollout import Rollout
from spacevrp.decode.running import Running
from spacevrp.engines.memory import Cut
from spacevrp.engines.pruning import Search
from spacevrp.engines.rollouts import Moves, rested
from spacevrp.engines.search import (
    Foreseen,
    choose_starts,
    one_by_one,
    seeds_of_augmentations,
    stack_expected,
)
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.inference.construct import Candidate
from spacevrp.inference.keys import random_state
from spacevrp.inference.large import is_adjusted
from spacevrp.inference.settings import Seconds, Settings
from spacevrp.model import SpaceModel
from spacevrp.model.blocks import Blocks, encode_in_blocks
from spacevrp.model.candidates import NodeTables
from spacevrp.model.streaming import survey
from spacevrp.problems.problem import Problem
from spacevrp.tensors import Batch, stack
from spacevrp.tensors.workers import Workers, workers_for

# With fewer trajectories a worker would mostly wait for Python.
_FEWEST_OF_A_WORKER = 64


@dataclass(frozen=True)
class Watch:
    """Whom to tell how far the work is."""

    plans: Callable[[float], None]  # plans made since the last time, fractions included
    stage: Callable[[str], None]  # what is being done
    seconds: Seconds = field(default_factory=Seconds)  # what the work takes is added here


def search_large(
    model: SpaceModel,
    problems: Sequence[Problem],
    settings: Settings,
    search: Search,
    cut: Cut,
    watch: Watch,
) -> list[list[Candidate]]:
    """Candidates of each instance, best first.

    When the deadline is over these are of the starts that were in time; where there are none,
    ``TimeIsUp`` is raised.
    """
    began, device = time.perf_counter(), next(model.parameters()).device
    batch = stack(problems, on_the_fly=True)
    expected = stack_expected(problems, on_the_fly=True)
    prepared = time.perf_counter()
    with torch.inference_mode():
        work = _Large(model, problems, settings, search, cut, watch)
        found = work.run(batch.to(device), None if expected is None else expected.to(device))
    watch.seconds.preparing += prepared - began
    watch.seconds.searching += time.perf_counter() - prepared
    return found


@dataclass
class _Large:
    """One block of instances."""

    model: SpaceModel
    problems: Sequence[Problem]
    settings: Settings
    search: Search
    cut: Cut
    watch: Watch

    def run(self, batch: Batch, expected: Batch | None) -> list[list[Candidate]]:
        """All augmentations from all starts; ``expected`` as in :func:`stack_expected`."""
        settings = self.settings
        self.watch.stage("looking around")
        num_depots = max(len(p.depots) for p in self.problems)
        environment = CandidateEnvironment(batch, num_depots)
        planned = None if expected is None else CandidateEnvironment(expected, num_depots)
        starts = choose_starts(environment, self.search.starts)  # (I, P)
        seeds = seeds_of_augmentations(self.model, batch, self.problems, settings)  # (I, V, M)
        near = neighbourhood(batch, self.search.listed)
        known = survey(batch)
        adjusted = torch.tensor(
            [settings.pruned and is_adjusted(problem) for problem in self.problems]
        )
        adjustment = Adjustment.of(batch, adjusted.to(batch.device))
        pruning = Pruning(near, self.search.choices, self.search.readout, adjustment=adjustment)
        best = Foreseen(batch, environment.max_steps + 2, known=expected is None)

        def search_augmentations(first_augmentation: int) -> None:
            some = seeds[:, first_augmentation : first_augmentation + self.cut.augmentations]
            tables = encode_in_blocks(
                self.model,
                batch,
                some,
                blocks=Blocks.on(batch.device, product_dtype(batch.device)),
                known=known,
                report=self._stages("encoding"),
            )
            numbers = settings.numbered(first_augmentation, some.shape[1])
            nearness = adjustment.nearness(numbers.start, len(numbers))
            tables = replace(tables, nearness=nearness)
            tables = tables.with_heads(self.model, batch, numbers, settings.heads)
            self.watch.stage("decoding")
            for number in range(settings.rounds):
                for first in range(0, starts.shape[1], self.cut.starts):
                    piece = starts[:, first : first + self.cut.starts]
                    place = (first_augmentation, number, first)
                    turn = (tables, piece, pruning, place)
                    done = self._roll_out(environment, *turn)
                    cost = done.cost if planned is None else self._roll_out(planned, *turn).cost
                    best.add(done, cost, self._ranks(place, some.shape[1], piece, starts.shape[1]))

        one_by_one(search_augmentations, best, settings, self.cut.augmentations)
        return best.candidates()

    def _stages(self, name: str) -> Callable[[float], None]:
        """Tells the stage with its share."""
        done = 0.0

        def report(share: float) -> None:
            nonlocal done
            self.settings.deadline.check()
            done += share
            self.watch.stage(f"{name} {done:.0%}")

        report(0.0)
        return report

    def _roll_out(
        self,
        environment: CandidateEnvironment,
        tables: NodeTables,
        starts: Tensor,
        pruning: Pruning,
        place: tuple[int, int, int],
    ) -> Moves:
        """Complete a plan from each start (I, P) of every augmentation, all workers at once."""
        size, count = starts.shape
        plans = size * count * tables.augmentations
        workers = min(workers_for(starts.device), -(-plans // _FEWEST_OF_A_WORKER), count)
        drawn, check = place[1] > 0, self.settings.deadline.check
        if self.settings.compiled and not drawn and supports_native(environment.batch):
            running = Running(check, lambda share: self.watch.plans(share * plans), workers)
            begin = starts.repeat(1, tables.augmentations)
            done = native_pruned_rollout(environment, tables, begin, pruning, running)
            return _joined([done], tables.augmentations)
        shares = starts.chunk(workers, dim=1)

        def work(number: int) -> Rollout:
            some = shares[number].repeat(1, tables.augmentations)
            running = Running(check, lambda share: self.watch.plans(share * some.numel()))
            own, kind = pruning, walk_for(some.device)
            if drawn:
                state = random_state(self.settings.seed, (*place, number))
                generator = torch.Generator(some.device).manual_seed(state)
                drawing = Drawing(generator, self.settings.temperature(place[1]))
                own, kind = replace(pruning, drawing=drawing), Walk
            return pruned_rollout(environment, tables, some, own, running, kind)

        with Workers(len(shares)) as pool:
            parts = list(pool.map(work, range(len(shares))))
        return _joined(parts, tables.augmentations)

    def _ranks(
        self, place: tuple[int, int, int], augmentations: int, piece: Tensor, starts: int
    ) -> Tensor:
        """The rank (1, V P) of every plan: by augmentation, then round, then start."""
        first_augmentation, number, first_start = place
        augmentation = torch.arange(
            first_augmentation, first_augmentation + augmentations, device=piece.device
        )
        order = torch.arange(piece.shape[1], device=piece.device) + first_start
        turn = (augmentation * self.settings.rounds + number)[:, None] * starts
        return (turn + order).view(1, -1)


def _joined(parts: list[Rollout], augmentations: int) -> Moves:
    """The plans of all workers, (I, V P): the starts of each augmentation in a row, in order."""
    longest = max(part.sequence.shape[2] for part in parts)

    def by_augmentation(each: list[Tensor]) -> Tensor:
        joined = torch.cat([one.unflatten(1, (augmentations, -1)) for one in each], dim=2)
        return joined.flatten(1, 2)

    sequence = by_augmentation([rested(part.sequence, longest) for part in parts])
    return Moves.of(Rollout(sequence, by_augmentation([part.cost for part in parts])))


def product_dtype(device: torch.device) -> torch.dtype:
    """The type of the encoder's matrix products: bfloat16 wherever there are units for it.

    On a CPU those are AMX tiles, where a product takes a third to a sixth of the time; without
    them bfloat16 is no faster than float32.
    """
    if device.type == "cuda" or torch.cpu.get_capabilities().get("amx_bf16", False):
        return torch.bfloat16
    return torch.float32

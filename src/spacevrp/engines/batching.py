"""Searching a group of instances in blocks that fit the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch

from spacevrp.engines.base import Account
from spacevrp.engines.fleet import search_fleets
from spacevrp.engines.grouping import count_beams, count_rollouts, note_left_out
from spacevrp.engines.large import Watch, search_large
from spacevrp.engines.memory import Cut, Footprint, available, cut, default_budget, too_large
from spacevrp.engines.progress import Progress
from spacevrp.engines.pruning import (
    CPU_BUDGET,
    cut_large,
    footprint_of,
    search_of,
    too_large_at_all,
)
from spacevrp.engines.search import Prepared, search_block
from spacevrp.inference.construct import Candidate
from spacevrp.inference.settings import Settings
from spacevrp.model import SpaceModel
from spacevrp.problems.canonical import needs_fleet_rules
from spacevrp.problems.deadline import NEVER
from spacevrp.problems.problem import Problem
from spacevrp.tensors.workers import workers_for

# Instances of a block where there is a deadline: when it is over, the block has no plans yet. (A
# GPU makes those of thousands in a moment.)
_TIMED_INSTANCES = 16


class Coming:
    """Problems of a group as tensors, block by block; the next while the device has the last."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = problems
        self._next: tuple[tuple[int, int], Future[Prepared]] | None = None
        self._thread = ThreadPoolExecutor(1, "spacevrp-prepare")  # begins with the first task

    def begin(self, position: int, most: int) -> None:
        """Prepare a block ahead, if there is one."""
        if position < len(self.problems):
            future = self._thread.submit(self._prepare, position, most)
            self._next = (position, most), future

    def take(self, position: int, most: int) -> Prepared:
        """A block; one that was prepared with other bounds is of no use."""
        held, self._next = self._next, None
        if held is not None and held[0] == (position, most):
            return held[1].result()
        return self._prepare(position, most)

    def _prepare(self, position: int, most: int) -> Prepared:
        return Prepared.of(self.problems[position : position + most])


@dataclass
class Batcher:
    """Where instances are searched, and the account of it."""

    model: SpaceModel
    device: torch.device
    account: Account

    def search(
        self,
        several: Sequence[Problem],
        settings: Settings,
        progress: Progress,
    ) -> Iterator[list[Candidate]]:
        """The candidates of each, in order, block by block; smaller ones if memory ends.

        They belong to one group.
        """
        if search_of(several[0], settings, self.device) is not None:
            yield from self._search_large(several, settings, progress)
            return
        size = max(problem.size for problem in several)
        own_durations = any(problem.durations is not problem.distances for problem in several)
        width = self.model.config.width
        footprint = Footprint.of(size, width, own_durations=own_durations)
        rollouts = count_rollouts(several, settings, self.device)
        beams = count_beams(several, settings, self.device)
        budget = self.account.batch_memory or default_budget(self.device)
        if footprint.block(1, 1) > max(budget, available(self.device)):
            raise too_large(size, width, self.device, available(self.device))
        coming = Coming(several)
        position = 0
        while position < len(several):
            sizes = cut(
                footprint, augmentations=settings.augmentations, starts=rollouts, budget=budget
            )
            most = sizes.instances
            if settings.deadline is not NEVER and self.device.type == "cpu":
                most = min(most, _TIMED_INSTANCES)
            block = several[position : position + most]
            progress.begin(len(block) * settings.augmentations * (rollouts + beams))
            found = self._guarded(
                self._search_block, coming, position, most, settings, sizes, progress.advance
            )
            if found is None:
                if sizes.smallest:
                    raise too_large(size, width, self.device, budget)
                progress.take_back()
                budget = _next_budget(footprint, settings.augmentations, rollouts, budget)
                continue
            progress.end()
            yield from found
            position += len(block)

    def _search_block(
        self,
        coming: Coming,
        position: int,
        most: int,
        settings: Settings,
        sizes: Cut,
        report: Callable[[int], None],
    ) -> list[list[Candidate]]:
        block = coming.problems[position : position + most]
        model, seconds = self.model, self.account.seconds
        if needs_fleet_rules(block[0]):
            return search_fleets(model, block, settings, sizes, report, seconds)
        prepared = coming.take(position, most)
        if self.device.type == "cuda":  # a CPU has enough to do with this one
            coming.begin(position + most, most)
        return search_block(model, prepared, settings, sizes, report, seconds)

    def _search_large(
        self, several: Sequence[Problem], settings: Settings, progress: Progress
    ) -> Iterator[list[Candidate]]:
        """The same for large instances."""
        search = search_of(several[0], settings, self.device)
        assert search is not None  # those of a group are large together
        note_left_out(several, settings, search, self.account.notes)
        width, workers = self.model.config.width, workers_for(self.device)
        footprint = footprint_of(several, width, search, self.device, workers)
        budget = self.account.batch_memory or default_budget(self.device, CPU_BUDGET)
        if footprint.block(1, 1, 1) > max(budget, available(self.device)):
            raise too_large_at_all(several, width, search, self.device, workers)
        watch = Watch(progress.advance, progress.stage, self.account.seconds)
        position = 0
        while position < len(several):
            wanted = Cut(len(several) - position, settings.augmentations, search.starts)
            sizes = cut_large(footprint, wanted, budget, self.device.type)
            block = several[position : position + sizes.instances]
            progress.begin(len(block) * settings.augmentations * settings.rounds * search.starts)
            found = self._guarded(search_large, self.model, block, settings, search, sizes, watch)
            if found is None:
                if sizes.smallest:
                    raise too_large_at_all(several, width, search, self.device, workers)
                progress.take_back()
                while cut_large(footprint, wanted, budget, self.device.type) == sizes:
                    budget //= 2
                continue
            progress.end()
            yield from found
            position += len(block)

    def _guarded(
        self, search: Callable[..., list[list[Candidate]]], *arguments: object
    ) -> list[list[Candidate]] | None:
        """The candidates of a block, or None where memory ran out."""
        try:
            return search(*arguments)
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
        # Only here, with the error and all that it held on to gone.
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        return None


def _next_budget(footprint: Footprint, augmentations: int, starts: int, budget: int) -> int:
    """Halved until the blocks become smaller."""
    before = cut(footprint, augmentations=augmentations, starts=starts, budget=budget)
    while cut(footprint, augmentations=augmentations, starts=starts, budget=budget) == before:
        budget //= 2
    return budget


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    # What torch's allocator for the CPU says.
    return "not enough memory" in str(error) or "can't allocate memory" in str(error)

"""Searching a group of instances in blocks that fit the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import torch

from spacevrp.inference.construct import Candidate
from spacevrp.model import SpaceModel
from spacevrp.problems.deadline import NEVER, TimeIsUp
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.familiar import needs_fleet_rules
from spacevrp.problems.problem import Problem
from spacevrp.solver.fleet import search_fleets
from spacevrp.solver.grouping import starts_expected
from spacevrp.solver.large import Watch, search_large
from spacevrp.solver.memory import (
    GIB,
    Cut,
    Footprint,
    available,
    cut,
    default_budget,
    largest_size,
)
from spacevrp.solver.plans import (
    LargeCut,
    LargeFootprint,
    Search,
    choose_search,
    count_matrices,
    cut_large,
    describe,
    large_budget,
    largest_large_size,
)
from spacevrp.solver.progress import Progress
from spacevrp.solver.search import Seconds, Settings, search_block
from spacevrp.tensors.workers import workers_for

# Instances of a block where there is a deadline: when it is over, the block has no plans yet. (A
# GPU makes those of thousands in a moment.)
_TIMED_INSTANCES = 16


@dataclass
class Blocks:
    """Where instances are searched, and how much memory a block may take.

    What it takes is added to the seconds, and what was left out for the size is noted.
    """

    model: SpaceModel
    device: torch.device
    batch_memory: int | None
    seconds: Seconds
    notes: list[str] = field(default_factory=list)

    def wide(self, problem: Problem, settings: Settings) -> Search | None:
        """How far a large instance is searched; None for one that is not large."""
        starts, choices = settings.starts, settings.choices
        if not settings.pruned:
            starts = choices = len(problem.customers)
        return choose_search(problem, starts, choices, self.device)

    def rollouts(self, several: Sequence[Problem], settings: Settings) -> int:
        """Of a view of the instance with most start nodes, about."""
        large = self.wide(several[0], settings)
        starts = starts_expected(several, settings.starts if large is None else large.starts)
        if large is not None or needs_fleet_rules(several[0]):
            return starts * settings.rounds
        return settings.wanted.rollouts(starts)

    def search(
        self,
        several: Sequence[Problem],
        shown: Sequence[Problem | None],
        settings: Settings,
        progress: Progress,
    ) -> Iterator[list[Candidate]]:
        """The candidates of each, in order, block by block; smaller ones if memory ends.

        They belong to one group. ``shown`` is what the network sees in their place, where that is
        something else.
        """
        if self.wide(several[0], settings) is not None:
            yield from self._search_large(several, settings, progress)
            return
        size = max(problem.size for problem in several)
        own_durations = any(problem.durations is not problem.distances for problem in several)
        width = self.model.config.width
        footprint = Footprint.of(size, width, own_durations=own_durations)
        rollouts = self.rollouts(several, settings)
        budget = self.batch_memory or default_budget(self.device)
        if footprint.block(1, 1) > max(budget, available(self.device)):
            raise self._too_large(size, available(self.device))
        position = 0
        while position < len(several):
            sizes = cut(footprint, views=settings.views, starts=rollouts, budget=budget)
            most = sizes.instances
            if settings.deadline is not NEVER and self.device.type == "cpu":
                most = min(most, _TIMED_INSTANCES)
            block = several[position : position + most]
            progress.begin(len(block) * settings.views * rollouts)
            seen = shown[position : position + len(block)]
            found = self._guarded(
                self._search_block, block, seen, settings, sizes, progress.advance
            )
            if found is None:
                if sizes.smallest:
                    raise self._too_large(size, budget)
                progress.take_back()
                budget = _next_budget(footprint, settings.views, rollouts, budget)
                continue
            progress.end()
            yield from found
            position += len(block)

    def _search_block(
        self,
        block: Sequence[Problem],
        seen: Sequence[Problem | None],
        settings: Settings,
        sizes: Cut,
        report: Callable[[int], None],
    ) -> list[list[Candidate]]:
        model, device, seconds = self.model, self.device, self.seconds
        if needs_fleet_rules(block[0]):
            return search_fleets(model, block, settings, sizes, device, report, seconds)
        shown = None
        if any(seen):
            shown = [one or problem for one, problem in zip(seen, block, strict=True)]
        return search_block(model, block, settings, sizes, device, report, seconds, shown)

    def _search_large(
        self, several: Sequence[Problem], settings: Settings, progress: Progress
    ) -> Iterator[list[Candidate]]:
        """The same for large instances."""
        search = self.wide(several[0], settings)
        assert search is not None  # those of a group are large together
        self._note(several, settings, search)
        footprint = self._large_footprint(several, search)
        budget = self.batch_memory or large_budget(self.device)
        if footprint.block(1, 1, 1) > max(budget, available(self.device)):
            raise self._too_large_at_all(several, search)
        watch = Watch(progress.advance, progress.stage)
        position = 0
        while position < len(several):
            wanted = LargeCut(len(several) - position, settings.views, search.starts)
            sizes = cut_large(footprint, wanted, budget, self.device.type)
            block = several[position : position + sizes.instances]
            progress.begin(len(block) * settings.views * settings.rounds * search.starts)
            found = self._guarded(
                search_large,
                self.model,
                block,
                settings,
                search,
                sizes,
                self.device,
                watch,
                self.seconds,
            )
            if found is None:
                if sizes.smallest:
                    raise self._too_large_at_all(several, search)
                progress.take_back()
                while cut_large(footprint, wanted, budget, self.device.type) == sizes:
                    budget //= 2
                continue
            progress.end()
            yield from found
            position += len(block)

    def _note(self, several: Sequence[Problem], settings: Settings, search: Search) -> None:
        """Say what is left out, where it was not the user's choice."""
        if not settings.pruned or (settings.starts is not None and settings.choices is not None):
            return
        for problem in several:
            text = describe(search, problem)
            if text not in self.notes:  # the second attempt looks no further
                self.notes.append(text)

    def _large_footprint(self, several: Sequence[Problem], search: Search) -> LargeFootprint:
        return LargeFootprint.of(
            max(problem.size for problem in several),
            self.model.config.width,
            search,
            matrices=count_matrices(several),
            device=self.device.type,
            workers=workers_for(self.device),
        )

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

    def _too_large(self, size: int, budget: int) -> SpacevrpError:
        width = self.model.config.width
        need = Footprint.of(size, width).block(1, 1)
        return SpacevrpError(
            f"out of memory on {self.device}: one view of an instance with {size} nodes needs "
            f"about {need / GIB:.2g} GiB, there are {budget / GIB:.2g}; up to "
            f"{largest_size(width, budget)} nodes would fit"
        )

    def _too_large_at_all(self, several: Sequence[Problem], search: Search) -> SpacevrpError:
        """What does not fit, and what would."""
        need, there = self._large_footprint(several, search).block(1, 1, 1), available(self.device)
        size, width = max(problem.size for problem in several), self.model.config.width
        matrices = count_matrices(several)
        held = f", {matrices} of them matrices of its own" if matrices > 1 else ""
        if matrices == 1:
            held = ", most of it for its matrix (coordinates need none)"
        advice = f"up to {largest_large_size(width, search, matrices, self.device)} nodes would fit"
        if self.device.type == "cuda" and need <= available(torch.device("cpu")):
            advice += ", and --device cpu has room for this one"
        return SpacevrpError(
            f"out of memory on {self.device}: one view of an instance with {size} nodes from one "
            f"start needs about {need / GIB:.2g} GiB{held}, there are {there / GIB:.2g}; {advice}"
        )


def in_time(found: Iterable[list[Candidate]]) -> Iterable[list[Candidate]]:
    """Those that are there before the time is up."""
    with suppress(TimeIsUp):
        yield from found


def _next_budget(footprint: Footprint, views: int, starts: int, budget: int) -> int:
    """Halved until the blocks become smaller."""
    before = cut(footprint, views=views, starts=starts, budget=budget)
    while cut(footprint, views=views, starts=starts, budget=budget) == before:
        budget //= 2
    return budget


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    # What torch's allocator for the CPU says.
    return "not enough memory" in str(error) or "can't allocate memory" in str(error)

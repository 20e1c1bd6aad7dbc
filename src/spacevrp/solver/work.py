"""One call: grouped by size and kind, cut into blocks that fit, searched, and settled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

import numpy as np
import torch

from spacevrp.model import SpaceModel
from spacevrp.problems.districts import districts
from spacevrp.problems.errors import ProblemError, SpacevrpError
from spacevrp.problems.familiar import needs_fleet_rules
from spacevrp.problems.problem import Problem
from spacevrp.problems.readings import Reading, other_readings, plain_reading
from spacevrp.problems.solution import Solution
from spacevrp.solver.fleet import search_fleets
from spacevrp.solver.grouping import group, starts_expected
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
from spacevrp.solver.optional import everybody_served, may_collect, pays_to_serve, weighed
from spacevrp.solver.partial import (
    MOST_TRIALS,
    best_partial,
    better_of,
    brought_back,
    exchange,
    without,
)
from spacevrp.solver.plans import (
    LargeCut,
    LargeFootprint,
    Search,
    choose_search,
    count_matrices,
    cut_large,
    describe,
    is_large,
    large_budget,
    largest_large_size,
)
from spacevrp.solver.polish import polish, shakes_of
from spacevrp.solver.progress import Progress
from spacevrp.solver.reasons import fleet_too_small, tell
from spacevrp.solver.search import Candidate, Seconds, Settings, search_block
from spacevrp.solver.settling import settle
from spacevrp.tensors.workers import workers_for

ShowProgress = bool | Literal["always"]

# Rounds of the second attempt that draw their moves, where the first came to dead ends only.
_SECOND_SAMPLES, _SECOND_SAMPLES_LARGE = 32, 8
# Exchanges tried for better partial plans: of all instances, and of each at the least.
_ALL_TRIALS, _FEWEST_TRIALS = 200_000, 1_000


@dataclass
class Work:
    """One call: the problems, where they are solved, and how much memory a block may take.

    The model sees the readings, by default one of each problem; the referee judges the problems.
    """

    model: SpaceModel
    device: torch.device
    problems: list[Problem]
    batch_memory: int | None
    seconds: Seconds = field(default_factory=Seconds)
    refused: int = 0
    notes: list[str] = field(default_factory=list)
    partial: dict[int, Solution] = field(default_factory=dict)  # where there is no complete plan
    readings: list[Reading] = field(default_factory=list)
    _stuck: dict[int, list[Candidate]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.readings = self.readings or [plain_reading(problem) for problem in self.problems]
        self.forms = [reading.problem for reading in self.readings]

    def run(
        self, settings: Settings, show: ShowProgress
    ) -> tuple[list[Solution | None], dict[int, str]]:
        """The solutions in the order of the problems, and the reasons where there is none."""
        solutions: list[Solution | None] = [None] * len(self.problems)
        reasons: dict[int, str] = {}
        others = self._other_readings()
        # Other readings are mostly better than the problem as it is, which is left with one view;
        # prize collecting the model has learned.
        looked_at = sorted({n for n, _ in others if not may_collect(self.problems[n])})
        rest = sorted(set(range(len(self.problems))).difference(looked_at))
        for some, views in ((rest, settings.views), (looked_at, 1)):
            if not some:
                continue
            for number, solution, reason in self._pass(some, replace(settings, views=views), show):
                solutions[number] = solution
                if solution is None:
                    reasons[number] = reason
        # Some customers get home over others only, and some fleets are so small that chance is
        # of help.
        hard = [number for number in reasons if not fleet_too_small(self.problems[number])]
        if not settings.persist:
            hard = []
        for number, solution, _ in self._second_pass(hard, settings, show):
            if solution is not None:
                solutions[number] = solution
                del reasons[number]
        self._read_otherwise(others, solutions, reasons, settings, show)
        self._plan_districts(solutions, reasons, settings, show)
        self._settle_for_less(reasons, settings, show)
        if settings.improve:
            self._polish(solutions, settings.seed, show)
        for number, plan in list(self.partial.items()):
            if plan.feasible:  # somebody made room for those who were left out
                solutions[number] = self.partial.pop(number)
                del reasons[number]
        return solutions, self._explained(reasons) if settings.persist else reasons

    def _settle_for_less(
        self, reasons: dict[int, str], settings: Settings, show: ShowProgress
    ) -> None:
        """The best partial plans; some turn out to be complete."""
        if not reasons:
            return
        trials = max(_FEWEST_TRIALS, min(MOST_TRIALS, _ALL_TRIALS // len(reasons)))
        if not settings.persist:
            trials = 0
        began = time.perf_counter()
        with Progress(len(reasons), show) as progress:
            progress.stage("partial plans")
            for number in reasons:
                # The sort is stable: of two that served as many, the better one stays first.
                candidates = sorted(self._stuck[number], key=lambda c: -len(np.unique(c.sequence)))
                self.partial[number] = best_partial(
                    self.problems[number], candidates, self.forms[number], trials
                )
                progress.advance(1)
        self.seconds.judging += time.perf_counter() - began
        if settings.persist:
            self._solve_the_rest(settings, show, trials)

    def _other_readings(self) -> list[tuple[int, Reading]]:
        """(number of an instance, another way to plan it)."""
        began = time.perf_counter()
        others = []
        for number, problem in enumerate(self.problems):
            others += [
                (number, reading)
                for reading in other_readings(problem)
                # Large instances the network sees as they are.
                if reading.shown is None or not is_large(reading.problem, None)
            ]
            if may_collect(problem) and pays_to_serve(problem):
                others.append((number, everybody_served(problem)))
        self.seconds.preparing += time.perf_counter() - began
        return others

    def _read_otherwise(
        self,
        others: Sequence[tuple[int, Reading]],
        solutions: list[Solution | None],
        reasons: dict[int, str],
        settings: Settings,
        show: ShowProgress,
    ) -> None:
        """Plans from other readings where these are better; visits weighed."""

        def finished(number: int, plan: Solution) -> Solution:
            problem = self.problems[number]
            return weighed(problem, plan) if settings.improve and may_collect(problem) else plan

        began = time.perf_counter()
        for number, plan in enumerate(solutions):
            if plan is not None:
                solutions[number] = finished(number, plan)
        self.seconds.judging += time.perf_counter() - began
        if not others:
            return
        problems = [self.problems[number] for number, _ in others]
        readings = [reading for _, reading in others]
        work = Work(
            self.model, self.device, problems, self.batch_memory, self.seconds, readings=readings
        )
        for position, new, _ in work._pass(range(len(others)), settings, show):
            if new is None:
                continue
            began = time.perf_counter()
            number = others[position][0]
            _keep_the_better(number, finished(number, new), solutions, reasons)
            self.seconds.judging += time.perf_counter() - began
        self.refused += work.refused

    def _plan_districts(
        self,
        solutions: list[Solution | None],
        reasons: dict[int, str],
        settings: Settings,
        show: ShowProgress,
    ) -> None:
        """Plans made for each depot alone where these are better."""
        began = time.perf_counter()
        found = [(number, districts(problem)) for number, problem in enumerate(self.problems)]
        split = [(number, one) for number, one in found if one is not None]
        self.seconds.preparing += time.perf_counter() - began
        if not split:
            return
        parts = [part for _, one in split for part in one.problems]
        work = Work(self.model, self.device, parts, self.batch_memory, self.seconds)
        plans = iter(work.run(replace(settings, improve=False, persist=False), show)[0])
        began = time.perf_counter()
        for number, one in split:
            own = [plan.routes for plan in islice(plans, len(one.problems)) if plan is not None]
            if len(own) < len(one.problems):
                continue
            whole = Solution.judged(self.problems[number], one.together(own))
            if whole.feasible:
                _keep_the_better(number, whole, solutions, reasons)
        self.seconds.judging += time.perf_counter() - began
        self.refused += work.refused

    def _polish(self, solutions: list[Solution | None], seed: int, show: ShowProgress) -> None:
        """Finish the plans of small problems and of fleets, complete or not."""
        shakes = {n: shakes_of(problem) for n, problem in enumerate(self.problems)}
        chosen = {number: count for number, count in shakes.items() if count is not None}
        if not chosen:
            return
        began = time.perf_counter()
        with Progress(len(chosen), show) as progress:
            progress.stage("polishing")
            for number, count in chosen.items():
                plan = solutions[number]
                if plan is None:
                    self.partial[number] = polish(self.partial[number], count, seed)
                else:
                    solutions[number] = polish(plan, count, seed)
                progress.advance(1)
        self.seconds.judging += time.perf_counter() - began

    def _explained(self, reasons: dict[int, str]) -> dict[int, str]:
        """The reasons, with who is left out of the best partial plans and why."""
        began = time.perf_counter()
        told = {number: tell(self.partial[number], reason) for number, reason in reasons.items()}
        self.seconds.judging += time.perf_counter() - began
        return told

    def _solve_the_rest(self, settings: Settings, show: ShowProgress, trials: int) -> None:
        """Without those who are left out the others have a complete plan; maybe a better one.

        Dead ends say little of costs, and the model knows complete plans best.
        """
        rests = {}
        for number, partial in self.partial.items():
            left = [v.node for v in partial.violations if v.code == "visit" and v.node is not None]
            if left and partial.routes:
                # An instance may be legal by a hair with tolerances that its rest does not have.
                with suppress(ProblemError):
                    rests[number] = without(self.problems[number], left)
        if not rests:
            return
        numbers = list(rests)
        problems = [rest for rest, _ in rests.values()]
        work = Work(self.model, self.device, problems, self.batch_memory, self.seconds)
        for position, solution, _ in work._pass(range(len(problems)), settings, show):
            if solution is not None:
                began = time.perf_counter()
                number = numbers[position]
                again = brought_back(self.problems[number], solution, rests[number][1])
                if better_of(self.partial[number], again) is again:
                    self.partial[number] = exchange(again, trials)
                self.seconds.judging += time.perf_counter() - began
        self.refused += work.refused

    def _second_pass(
        self, hard: Sequence[int], settings: Settings, show: ShowProgress
    ) -> Iterable[tuple[int, Solution | None, str]]:
        """The second attempt: one view, as other moves come from the draws."""
        for large, rounds in ((False, _SECOND_SAMPLES), (True, _SECOND_SAMPLES_LARGE)):
            some = [n for n in hard if is_large(self.forms[n], settings.choices) == large]
            harder = replace(
                settings, views=1, samples=max(settings.samples, rounds), direct_return=False
            )
            if some:
                yield from self._pass(some, harder, show)

    def _pass(
        self, chosen: Sequence[int], settings: Settings, show: ShowProgress
    ) -> Iterable[tuple[int, Solution | None, str]]:
        """(number of an instance, its solution, why it has none) for the chosen instances."""
        groups = group(
            self.forms, chosen, settings.views, lambda problem: self._chosen(problem, settings)
        )
        total = sum(
            len(numbers)
            * views
            * settings.rounds
            * self._starts([self.forms[i] for i in numbers], settings)
            for views, numbers in groups
        )
        with Progress(total, show) as progress:
            for views, numbers in groups:
                here = replace(settings, views=views)
                large = self._chosen(self.forms[numbers[0]], settings)
                search = self._search if large is None else self._search_large
                for number, candidates in search(numbers, here, progress):
                    problem = self.problems[number]
                    began = time.perf_counter()
                    solution, reason, refused = settle(problem, candidates, self.readings[number])
                    self.seconds.judging += time.perf_counter() - began
                    self.refused += refused
                    if solution is None:
                        self._stuck.setdefault(number, []).extend(candidates)
                    yield number, solution, reason

    def _chosen(self, problem: Problem, settings: Settings) -> Search | None:
        """How far a large instance is searched; None for one that is not large."""
        return choose_search(problem, settings.starts, settings.choices, self.device)

    def _starts(self, several: Sequence[Problem], settings: Settings) -> int:
        """Start nodes of the instance with most of them, about."""
        large = self._chosen(several[0], settings)
        return starts_expected(several, settings.starts if large is None else large.starts)

    def _search(
        self, numbers: Sequence[int], settings: Settings, progress: Progress
    ) -> Iterable[tuple[int, list[Candidate]]]:
        """(number of an instance, its candidates), block by block; smaller ones if memory ends."""
        several = [self.forms[number] for number in numbers]
        size = max(problem.size for problem in several)
        own_durations = any(problem.durations is not problem.distances for problem in several)
        width = self.model.config.width
        footprint = Footprint.of(size, width, own_durations=own_durations)
        starts = starts_expected(several, settings.starts)
        budget = self.batch_memory or default_budget(self.device)
        if footprint.block(1, 1) > max(budget, available(self.device)):
            raise self._too_large(size, available(self.device))
        position = 0
        while position < len(several):
            sizes = cut(footprint, views=settings.views, starts=starts, budget=budget)
            block = several[position : position + sizes.instances]
            progress.begin(len(block) * settings.views * settings.rounds * starts)
            seen = [self.readings[n].shown for n in numbers[position : position + len(block)]]
            found = self._guarded(
                self._search_block, block, seen, settings, sizes, progress.advance
            )
            if found is None:
                if sizes.smallest:
                    raise self._too_large(size, budget)
                progress.take_back()
                budget = _next_budget(footprint, settings.views, starts, budget)
                continue
            progress.end()
            yield from zip(numbers[position:], found, strict=False)
            position += len(block)

    def _search_block(
        self,
        block: list[Problem],
        seen: list[Problem | None],
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
        self, numbers: Sequence[int], settings: Settings, progress: Progress
    ) -> Iterable[tuple[int, list[Candidate]]]:
        """The same for large instances."""
        several = [self.forms[number] for number in numbers]
        search = self._chosen(several[0], settings)
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
            yield from zip(numbers[position:], found, strict=False)
            position += len(block)

    def _note(self, several: Sequence[Problem], settings: Settings, search: Search) -> None:
        """Say what is left out, where it was not the user's choice."""
        if settings.starts is not None and settings.choices is not None:
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


def _keep_the_better(
    number: int, plan: Solution, solutions: list[Solution | None], reasons: dict[int, str]
) -> None:
    """Put a plan in the place of the one that is there, if it costs less or there is none."""
    old = solutions[number]
    if old is None or plan.cost < old.cost:
        solutions[number] = plan
        reasons.pop(number, None)


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

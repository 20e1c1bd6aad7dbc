"""One call: planned by the network, as it is and read otherwise, then improved by the search."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

import numpy as np

from spacevrp import native
from spacevrp.inference.construct import Candidate
from spacevrp.problems.comparison import better_of
from spacevrp.problems.deadline import NEVER, TimeIsUp
from spacevrp.problems.districts import districts
from spacevrp.problems.explanation.ways import Ways, missing
from spacevrp.problems.problem import Problem
from spacevrp.problems.readings import Reading, other_readings, plain_reading
from spacevrp.problems.recourse import can_plan_ahead, expected_cost
from spacevrp.problems.solution import Solution
from spacevrp.search import Stop, improve
from spacevrp.search.improve import CONSTRUCTIONS
from spacevrp.solver.effort import can_search, usual_stop, without_network
from spacevrp.solver.engines import Account, Engine, in_time
from spacevrp.solver.grouping import count_rollouts, group, search_of
from spacevrp.solver.partial import best_partial
from spacevrp.solver.plans import is_large
from spacevrp.solver.progress import Progress
from spacevrp.solver.reasons import fleet_too_small, tell
from spacevrp.solver.regions import VIEWS, divide, is_divisible, is_exhausted, put_together
from spacevrp.solver.settings import Seconds, Settings
from spacevrp.solver.settling import settle, settle_all

ShowProgress = bool | Literal["always"]

# Rounds of the second attempt that draw their moves, where the first came to dead ends only.
_SECOND_SAMPLES, _SECOND_SAMPLES_LARGE = 32, 8
# Instances that are searched in one go, for each thread; between them the bar moves.
_TOGETHER = 16
# Instances whose plans are judged at a time.
_JUDGED_TOGETHER = 256


@dataclass
class Work:
    """One call: the problems, where they are solved, and how much memory a block may take.

    The model sees the readings, by default one of each problem; the referee judges the problems.
    """

    engine: Engine
    problems: list[Problem]
    batch_memory: int | None
    seconds: Seconds = field(default_factory=Seconds)
    refused: int = 0
    notes: list[str] = field(default_factory=list)
    partial: dict[int, Solution] = field(default_factory=dict)  # where there is no complete plan
    readings: list[Reading] = field(default_factory=list)
    # Where prizes are revealed by the visits: what the plan was expected to cost when it was
    # chosen, and what the best one would have cost in hindsight.
    expected: dict[int, float] = field(default_factory=dict)
    hindsight: dict[int, float] = field(default_factory=dict)
    # Told every better plan: whose it is, the plan, and what was expected of it where that differs.
    found: Callable[[int, Solution, float | None], object] | None = None
    starts: dict[int, Solution] = field(default_factory=dict)  # plans to begin with
    _stuck: dict[int, list[Candidate]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.readings = self.readings or [plain_reading(problem) for problem in self.problems]
        self.forms = [reading.problem for reading in self.readings]

    def run(
        self, settings: Settings, show: ShowProgress
    ) -> tuple[list[Solution | None], dict[int, str]]:
        """The solutions in the order of the problems, and the reasons where there is none.

        When the deadline of the settings is over, what is still to come is left out: there is a
        plan for every problem all the same, an empty one at the worst.
        """
        solutions: list[Solution | None] = [None] * len(self.problems)
        reasons: dict[int, str] = {}
        planned = self._planned(settings)
        others = self._other_readings(planned, settings)
        # Other readings are mostly better than the problem as it is, which is left with one view.
        looked_at = sorted({number for number, reading in others if reading.in_place})
        rest = sorted(set(planned).difference(looked_at))
        for some, views in (*self._by_views(rest, settings), (looked_at, 1)):
            if not some:
                continue
            for number, solution, reason in self._pass(some, replace(settings, views=views), show):
                solutions[number] = solution
                if solution is None:
                    reasons[number] = reason
        for number in range(len(self.problems)):
            if solutions[number] is None:  # some were not reached in time
                reasons.setdefault(number, "")
        for number, plan in self.starts.items():
            expected = expected_cost(self.problems[number], plan)
            self._keep_the_better(number, plan, solutions, reasons, expected)
        self._tell(solutions)
        hard = [n for n in planned if n in reasons and self._needs_chance(n, settings)]
        for number, solution, _ in self._second_pass(hard, settings, show):
            if solution is not None:
                solutions[number] = solution
                del reasons[number]
        self._read_otherwise(others, solutions, reasons, settings, show)
        self._plan_districts(planned, solutions, reasons, settings, show)
        self._tell(solutions)
        self.plan_anew(solutions, settings, show)
        self._settle_for_less(reasons, settings)
        self._tell(solutions)
        if settings.improve:
            self._search(solutions, reasons, settings, show)
        self._tell(solutions)
        return solutions, self._explained(reasons, settings) if settings.explain else reasons

    def _planned(self, settings: Settings) -> list[int]:
        """Whom the network plans: all but those who are so many that it does not pay."""
        planned = []
        for number, problem in enumerate(self.problems):
            if len(problem.customers) <= settings.most_customers or not can_search(problem):
                planned.append(number)
            else:
                self.notes.append(without_network(problem))
        return planned

    def _needs_chance(self, number: int, settings: Settings) -> bool:
        """Whether to look for a complete plan by draws.

        Some fleets are so small that chance is of help, and some customers get home over others
        only. The search is better at the first, and cannot begin with the second.
        """
        problem = self.problems[number]
        if not settings.persist or settings.deadline.over or fleet_too_small(problem):
            return False
        if not (settings.improve and can_search(problem)):
            return True
        alone = Ways(problem, ())
        return any(
            not any(way.fits for way in alone.own_routes(stops)) for stops in missing(problem, ())
        )

    def _tell(self, solutions: Sequence[Solution | None]) -> None:
        """Tell of all plans there are, where that is wanted."""
        if self.found is None:
            return
        for number in range(len(self.problems)):
            plan = solutions[number] or self.partial.get(number)
            if plan is not None:
                self.found(number, plan, self.expected.get(number))

    def _by_views(
        self, numbers: Sequence[int], settings: Settings
    ) -> Iterable[tuple[list[int], int]]:
        """(instances, their number of views)."""
        others = settings.asymmetric_views
        if others is None:
            return [(list(numbers), settings.views)]
        asymmetric = [n for n in numbers if self.problems[n].features.asymmetric]
        symmetric = sorted(set(numbers).difference(asymmetric))
        return [(symmetric, settings.views), (asymmetric, others)]

    def _beside(self, problems: list[Problem], readings: Sequence[Reading] = ()) -> Work:
        """Work on other problems for the sake of these, in the same place and time."""
        memory, readings = self.batch_memory, list(readings)
        return Work(self.engine, problems, memory, self.seconds, readings=readings)

    def _settle_for_less(self, reasons: dict[int, str], settings: Settings) -> None:
        """What is legal of the rollouts where none is complete."""
        began = time.perf_counter()
        for number in reasons:
            # The sort is stable: of two that served as many, the better one stays first.
            stuck = self._stuck.get(number, []) if not settings.deadline.over else []
            candidates = sorted(stuck, key=lambda c: -len(np.unique(c.sequence)))
            self.partial[number] = best_partial(
                self.problems[number], candidates, self.forms[number], settings.deadline
            )
        self.seconds.judging += time.perf_counter() - began

    def _other_readings(
        self, planned: Sequence[int], settings: Settings
    ) -> list[tuple[int, Reading]]:
        """(number of an instance, another way to plan it)."""
        if not settings.reductions:
            return []
        began = time.perf_counter()
        others = []
        for number in planned:
            others += [
                (number, reading)
                for reading in other_readings(self.problems[number])
                # Large instances the network sees as they are.
                if reading.shown is None or not is_large(reading.problem, settings.choices)
            ]
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
        """Plans from other readings where these are better."""
        if not others or settings.deadline.over:
            return
        problems = [self.problems[number] for number, _ in others]
        readings = [reading for _, reading in others]
        work = self._beside(problems, readings)
        for position, new, _ in work._pass(range(len(others)), settings, show):
            if new is not None:
                self._keep_the_better(others[position][0], new, solutions, reasons)
        self.refused += work.refused

    def _plan_districts(
        self,
        planned: Sequence[int],
        solutions: list[Solution | None],
        reasons: dict[int, str],
        settings: Settings,
        show: ShowProgress,
    ) -> None:
        """Plans made for each depot alone where these are better."""
        if not settings.reductions or settings.deadline.over:
            return
        began = time.perf_counter()
        found = [(number, districts(self.problems[number])) for number in planned]
        split = [(number, one) for number, one in found if one is not None]
        self.seconds.preparing += time.perf_counter() - began
        if not split:
            return
        parts = [part for _, one in split for part in one.problems]
        work = self._beside(parts)
        alone = replace(settings, improve=False, persist=False, explain=False)
        plans = iter(work.run(alone, show)[0])
        began = time.perf_counter()
        for number, one in split:
            own = [plan.routes for plan in islice(plans, len(one.problems)) if plan is not None]
            if len(own) < len(one.problems):
                continue
            whole = Solution.judged(self.problems[number], one.together(own))
            if whole.feasible:
                self._keep_the_better(number, whole, solutions, reasons)
        self.seconds.judging += time.perf_counter() - began
        self.refused += work.refused

    def plan_anew(
        self,
        solutions: list[Solution | None],
        settings: Settings,
        show: ShowProgress,
        first: int = 0,
    ) -> None:
        """Rounds over the regions of plans, each until there is little to gain."""
        costs = {
            number: [plan.cost]
            for number, plan in enumerate(solutions)
            if plan is not None and is_divisible(self.problems[number])
        }
        if not costs or not settings.replan:
            return
        with Progress(settings.replan * len(costs), show) as progress:
            progress.stage("regions")
            for round_ in range(first, first + settings.replan):
                if settings.deadline.over:
                    break
                self._one_round(solutions, costs, round_, settings)
                progress.advance(len(costs))
                self._tell(solutions)
                for number, so_far in list(costs.items()):
                    if is_exhausted(so_far):
                        del costs[number]
                if not costs:
                    break

    def _one_round(
        self,
        solutions: list[Solution | None],
        costs: dict[int, list[float]],
        round_: int,
        settings: Settings,
    ) -> None:
        """All regions of the plans whose costs are followed, at once."""
        began = time.perf_counter()
        plans = {number: plan for number in costs if (plan := solutions[number]) is not None}
        split = {
            number: divide(self.problems[number], plan, round_, settings.seed)
            for number, plan in plans.items()
        }
        parts = [region.problem for regions in split.values() for region in regions]
        self.seconds.preparing += time.perf_counter() - began
        work = self._beside(parts)
        alone = Settings(
            views=VIEWS,
            starts=None,
            samples=None,
            seed=settings.seed,
            persist=False,
            explain=False,
            improve=False,
            lean=settings.lean,
            first_view=VIEWS * round_,  # what one could not plan better, another may
            deadline=settings.deadline,
        )
        new = iter(work.run(alone, False)[0])
        began = time.perf_counter()
        for number, regions in split.items():
            found = list(islice(new, len(regions)))
            whole = put_together(self.problems[number], plans[number], regions, found)
            solutions[number] = whole
            costs[number].append(whole.cost)
        self.seconds.judging += time.perf_counter() - began
        self.refused += work.refused

    def _search(
        self,
        solutions: list[Solution | None],
        reasons: dict[int, str],
        settings: Settings,
        show: ShowProgress,
    ) -> None:
        """Improve all plans by the compiled search, which also makes those that there are not."""
        if not native.available() and any(map(can_plan_ahead, self.problems)):
            self.notes.append(native.MISSING)
        alike: dict[Stop, list[int]] = {}
        for number, problem in enumerate(self.problems):
            if can_search(problem):
                alike.setdefault(usual_stop(problem), []).append(number)
        if not alike:
            return
        began = time.perf_counter()
        with Progress(sum(map(len, alike.values())), show) as progress:
            progress.stage("search")
            for stop, numbers in alike.items():
                rest = iter(numbers)
                while some := list(islice(rest, _TOGETHER * settings.threads)):
                    self._search_some(some, stop, solutions, reasons, settings)
                    progress.advance(len(some))
        self.seconds.improving += time.perf_counter() - began

    def _search_some(
        self,
        numbers: Sequence[int],
        stop: Stop,
        solutions: list[Solution | None],
        reasons: dict[int, str],
        settings: Settings,
    ) -> None:
        """The same for some instances, side by side."""
        deadline = settings.deadline
        if deadline.over:
            return

        def keep(number: int, plan: Solution, expected: float | None) -> None:
            if plan.feasible:
                self._keep_the_better(number, plan, solutions, reasons, expected)
            elif solutions[number] is None:
                self.partial[number] = better_of(self.partial[number], plan)

        def told(place: int, plan: Solution, expected: float | None) -> None:
            keep(numbers[place], plan, expected)
            if self.found is not None:
                self.found(numbers[place], plan, expected)
            deadline.check()

        with suppress(TimeIsUp):  # the call was stopped: what was told is kept
            found = improve(
                [self.problems[number] for number in numbers],
                [self._start(number, solutions) for number in numbers],
                stop=stop,
                seed=settings.seed,
                threads=settings.threads,
                found=None if self.found is None else told,
                starts=CONSTRUCTIONS,  # what they take is little, and some are better
                deadline=None if deadline is NEVER else deadline,  # Ctrl-C interrupts it
            )
            for place, (number, plan) in enumerate(zip(numbers, found, strict=True)):
                keep(number, plan, found.expected.get(place))
            if found.interrupted and deadline is NEVER:
                raise KeyboardInterrupt

    def _start(self, number: int, solutions: Sequence[Solution | None]) -> Solution | None:
        """The plan that a search begins with: a partial one only where it serves anybody."""
        if self.problems[number].has_unknown_prizes:  # the network has reacted to the real ones
            return self.starts.get(number)
        plan = solutions[number] or self.partial[number]
        return plan if plan.routes or plan.feasible else None

    def _explained(self, reasons: dict[int, str], settings: Settings) -> dict[int, str]:
        """The reasons, with who is left out of the best partial plans and why."""
        began = time.perf_counter()
        told = {
            number: tell(self.partial[number], reason, settings.deadline)
            for number, reason in reasons.items()
        }
        self.seconds.judging += time.perf_counter() - began
        return told

    def _second_pass(
        self, hard: Sequence[int], settings: Settings, show: ShowProgress
    ) -> Iterable[tuple[int, Solution | None, str]]:
        """The second attempt: one view, as other moves come from the draws."""
        for large, rounds in ((False, _SECOND_SAMPLES), (True, _SECOND_SAMPLES_LARGE)):
            some = [n for n in hard if is_large(self.forms[n], settings.choices) == large]
            harder = replace(
                settings, views=1, samples=max(settings.rounds - 1, rounds), direct_return=False
            )
            lacking = {n: why for n in some if (why := self.engine.lacks(self.forms[n], harder))}
            self.notes += [f"not looked for: {why}" for why in lacking.values()]
            if able := [n for n in some if n not in lacking]:
                yield from self._pass(able, harder, show)

    def _pass(
        self, chosen: Sequence[int], settings: Settings, show: ShowProgress
    ) -> Iterable[tuple[int, Solution | None, str]]:
        """(number of an instance, its solution, why it has none) for the chosen instances."""
        device, account = self.engine.device, Account(self.batch_memory, self.seconds, self.notes)
        groups = group(
            self.forms, chosen, settings.views, lambda form: search_of(form, settings, device)
        )
        total = sum(
            len(numbers)
            * views
            * count_rollouts([self.forms[n] for n in numbers], settings, device)
            for views, numbers in groups
        )
        with Progress(total, show) as progress:
            for views, numbers in groups:
                here = replace(settings, views=views)
                forms = [self.forms[number] for number in numbers]
                shown = [self.readings[number].shown for number in numbers]
                found = in_time(self.engine.search(forms, shown, here, progress, account))
                pairs = zip(numbers, found, strict=False)
                while some := list(islice(pairs, _JUDGED_TOGETHER)):
                    yield from self._settle(some)

    def _settle(
        self, found: Sequence[tuple[int, list[Candidate]]]
    ) -> Iterable[tuple[int, Solution | None, str]]:
        """The same for instances whose candidates are there."""
        began = time.perf_counter()
        cases = [
            (self.problems[n], self._without_hindsight(n, some), self.readings[n])
            for n, some in found
        ]
        settled = settle_all(cases)
        self.seconds.judging += time.perf_counter() - began
        for (number, _), case, outcome in zip(found, cases, settled, strict=True):
            (problem, candidates, _), (solution, reason, refused) = case, outcome
            if solution is not None and problem.has_unknown_prizes:
                # Candidates are settled in their order: so many came before this one.
                self.expected[number] = candidates[refused].cost * problem.unit
            self.refused += refused
            if solution is None:
                self._stuck.setdefault(number, []).extend(candidates)
            yield number, solution, reason

    def _without_hindsight(self, number: int, candidates: list[Candidate]) -> list[Candidate]:
        """Those to choose from; what the best of the others costs is noted."""
        others = [candidate for candidate in candidates if candidate.hindsight]
        if others:
            best = settle(self.problems[number], others, self.readings[number])[0]
            if best is not None:
                self.hindsight[number] = min(best.cost, self.hindsight.get(number, np.inf))
        return [candidate for candidate in candidates if not candidate.hindsight]

    def _keep_the_better(
        self,
        number: int,
        plan: Solution,
        solutions: list[Solution | None],
        reasons: dict[int, str],
        expected: float | None = None,
    ) -> None:
        """Put a plan in the place of the one that is there, if it costs less or there is none.

        Where prizes are revealed by the visits, plans without recourse cost what they are expected
        to; the others are held to what was ``expected`` of them.
        """
        if number in self.hindsight:
            self.hindsight[number] = min(plan.cost, self.hindsight[number])
        old, cost = solutions[number], plan.cost if expected is None else expected
        if old is None or cost < self.expected.get(number, old.cost):
            solutions[number] = plan
            self.expected.pop(number, None)
            if expected is not None:
                self.expected[number] = expected
            self.partial.pop(number, None)
            reasons.pop(number, None)

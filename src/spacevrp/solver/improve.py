"""The third stage: the compiled search improves the plans, or makes those that there are not."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from spacevrp.engines.progress import Progress, ShowProgress
from spacevrp.problems.deadline import NEVER, Deadline, TimeIsUp
from spacevrp.problems.solution import Solution
from spacevrp.search import Given, Stop, improve
from spacevrp.solver.effort import usual_stop
from spacevrp.solver.params import SolveParams
from spacevrp.solver.pool import Pool

# Instances that are searched in one go, for each thread; between them the bar moves.
_TOGETHER = 16


@dataclass
class Improve:
    """The stage: whose plans are improved, and with what."""

    pool: Pool
    starts: dict[int, Solution]  # the caller's own plans
    params: SolveParams
    threads: int
    show: ShowProgress = False

    def construct(self, numbers: Sequence[int], deadline: Deadline) -> None:
        """Plans of the search's own, which take a moment."""
        self._search(numbers, Stop(iterations=0), deadline)

    def run(self, numbers: Sequence[int], deadline: Deadline) -> None:
        """Until the deadline, in equal parts; without a time by iterations for each problem."""
        if deadline.seconds < NEVER.seconds:
            self._search(numbers, Stop(), deadline)
            return
        iterations, alike = self.params.iterations, dict[Stop, list[int]]()
        for number in numbers:
            stop = Stop(iterations=iterations)
            if iterations is None:
                stop = usual_stop(self.pool.problems[number])
            alike.setdefault(stop, []).append(number)
        with Progress(len(numbers), self.show) as progress:
            progress.stage("search")
            for stop, some in alike.items():
                rest = iter(some)
                while several := list(islice(rest, _TOGETHER * self.threads)):
                    self._search(several, stop, deadline, constructions="usual")
                    progress.advance(len(several))

    def _search(
        self,
        numbers: Sequence[int],
        stop: Stop,
        deadline: Deadline,
        constructions: Literal["usual"] | None = None,
    ) -> None:
        if not numbers or deadline.over:
            return
        pool, timed = self.pool, stop.is_empty or deadline.seconds < NEVER.seconds

        def found(place: int, plan: Solution, expected: float | None) -> None:
            pool.offer(numbers[place], plan, expected)
            deadline.check()

        with suppress(TimeIsUp):  # the call was stopped: what was offered is kept
            plans = improve(
                [pool.problems[number] for number in numbers],
                [self._begin(number) for number in numbers],
                stop=stop,
                seed=self.params.seed,
                threads=self.threads,
                found=found if timed or pool.hears else None,
                starts=constructions,
                deadline=None if deadline is NEVER else deadline,  # Ctrl-C interrupts it
            )
            for place, (number, plan) in enumerate(zip(numbers, plans, strict=True)):
                pool.offer(number, plan, plans.expected.get(place))
            if plans.interrupted and deadline is NEVER:
                raise KeyboardInterrupt

    def _begin(self, number: int) -> Given:
        """The plans that a search begins with: partial ones only where they serve a customer.

        Where visits reveal prizes the network's plans have reacted to them, and no search may begin
        there; what was expected of the plans decides.
        """
        if self.pool.problems[number].has_unknown_prizes:
            return self.starts.get(number)
        plan = self.pool.of(number)
        if plan is None or not (plan.routes or plan.feasible):
            return None
        return [plan, *self.pool.others(number)]

"""Rounds of the model: a quick plan first, then what a call without a time does, then more views.

Every further round looks through views of its own, so that nothing is searched twice. Between
rounds the best plans are planned anew, region by region, as long as that helps. How long a round
will take is told from those before: k times as many plans as one of them had take at most k times
as long, as some of the time goes into what all plans share. So no round is begun that is not
expected to end in time; one that takes longer all the same is cut short by the deadline.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spacevrp.anytime.plans import BestPlans
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Attempt, Seconds, Solver
from spacevrp.solver.plans import choose_search, is_large
from spacevrp.solver.quick import quick_plan
from spacevrp.solver.regions import ROUNDS, is_divisible, is_exhausted

# Start nodes of the first round: up to 200 customers about as fast as one and much better, beyond
# no longer as fast.
FIRST_STARTS, FIRST_STARTS_LARGE = 8, 1
# Of the time, for the first round at the most; then plans are made without the network.
FIRST_SHARE = 0.5
# When so much of it is spent, instances that have no plan yet go without one.
_QUICK_SHARE = 0.9
# A large instance is left to those if there are fewer seconds than this for each pair of nodes: the
# network looks at all of them, and a single layer cannot be interrupted.
_SECONDS_A_PAIR = 1e-6
# Views in all before moves are drawn at random: the larger of the paper's two numbers.
MOST_VIEWS = 128
# Views of a call without a time.
USUAL_VIEWS = 8
# What a call without a time takes, about, in times of the first round: so much, and so much more
# for each customer (3 to 10 times with 20, 7 to 16 with 100, 10 to 40 with 200).
_USUAL_TIMES, _USUAL_TIMES_A_CUSTOMER = 3.0, 1 / 6
# Any other round may be so many times as large as the one before.
_GROWTH = 4
# Draws for each greedy plan, once there are enough views.
_DRAWS = 7
_SHORTEST = 1e-6  # seconds, where a clock did not move
# Planning regions anew is begun if there are so many times as many seconds as the first plan took,
# and goes on if there are so many times as many as it has taken at the most.
_FIRST_ANEW, _NEXT_ANEW = 6.0, 1.5


@dataclass(frozen=True)
class Options:
    """What the user says of the search; the time decides the rest."""

    starts: int | None = None  # of a view, at most
    candidates: int | None = None
    seed: int = 0
    batch_memory: int | None = None
    improve: bool = True


@dataclass(frozen=True)
class Round:
    """How much is searched."""

    views: int
    starts: int  # of each view
    draws: int = 0  # for each of them beside the greedy plan

    @property
    def plans(self) -> int:
        """Of one problem."""
        return self.views * self.starts * (1 + self.draws)


class Rounds:
    """Rounds over some problems, within a time. What they find goes to the best plans.

    Without ``persist`` partial plans are made at once, and other solvers search from there.
    """

    def __init__(
        self,
        solver: Solver,
        problems: Sequence[Problem],
        deadline: Deadline,
        options: Options,
        plans: BestPlans,
        persist: bool = True,
    ) -> None:
        self._solver, self._problems, self._deadline = solver, problems, deadline
        self._options, self._plans, self._persist = options, plans, persist
        self.reasons: dict[int, str] = {}
        self.done: list[Round] = []
        self.refused = 0
        self.seconds = Seconds()
        self.notes: list[str] = []
        self._took: list[float] = []  # seconds of each round
        self._shares = [1.0]  # of the costs that are left, each time regions were planned anew
        self._anew = 0.0  # seconds that it took, at the most

    def first(self) -> None:
        """One view from a few starts, of all problems; a plan without the network if need be."""
        everything = range(len(self._problems))
        share = self._deadline.until(FIRST_SHARE * self._deadline.seconds)
        numbers = [n for n in everything if self._seconds_needed(n) <= share.left]
        if numbers:
            candidates = self._options.candidates
            large = any(is_large(self._problems[number], candidates) for number in numbers)
            few = FIRST_STARTS_LARGE if large else FIRST_STARTS
            first = Round(1, min(few, self._most_starts(numbers)))
            self._search(numbers, first, share)
        late = set(everything) if share.over else set(everything).difference(numbers)
        left = [number for number in sorted(late) if self._is_without(number)]
        quick = self._deadline.until(_QUICK_SHARE * self._deadline.seconds)
        for number in everything:
            if self._plans.complete[number] is None and not quick.over:
                self._plans.offer(number, quick_plan(self._problems[number], quick))
        if left:
            what = "" if len(everything) == 1 else f" {len(left)} of {len(everything)} instances:"
            self.notes.append(
                f"the time was too short for the model's first plan of{what or ' the instance:'} "
                "it begins with the nearest customer next"
            )

    def _seconds_needed(self, number: int) -> float:
        problem = self._problems[number]
        large = is_large(problem, self._options.candidates)
        return _SECONDS_A_PAIR * problem.size**2 if large else 0.0

    def _is_without(self, number: int) -> bool:
        """Whether there is no plan, or none that serves anybody."""
        plan = self._plans.of(number)
        return plan is None or (not plan.feasible and not any(plan.routes))

    def usual_seconds(self, numbers: Sequence[int]) -> float:
        """What a call without a time would take for some problems, about."""
        if not self._took or not numbers:
            return math.inf
        most = max(len(self._problems[number].customers) for number in numbers)
        times = _USUAL_TIMES + _USUAL_TIMES_A_CUSTOMER * most
        return times * self._took[0] * len(numbers) / len(self._problems)

    def usual(
        self, numbers: Sequence[int], deadline: Deadline, begin: Mapping[int, Solution]
    ) -> None:
        """What a call without a time does, all of it that is in time.

        ``begin`` has plans of the caller's own, which it may improve instead of the model's.
        """
        if not numbers or deadline.over:
            return
        options = self._options
        self._note(
            numbers,
            functools.partial(
                self._solver.attempt,
                augment=USUAL_VIEWS,
                starts=options.starts,
                candidates=options.candidates,
                sample=None,
                seed=options.seed,
                batch_memory=options.batch_memory,
                improve=options.improve,
                replan=ROUNDS,
                deadline=deadline,
                begin={place: begin[n] for place, n in enumerate(numbers) if n in begin},
                explain=False,
            ),
        )
        self.done.append(Round(USUAL_VIEWS, self._most_starts(numbers)))
        self._took.append(math.inf)  # its finishing says nothing of other rounds

    def go_on(self, numbers: Sequence[int], until: float) -> None:
        """Further rounds over some problems until so many seconds are spent."""
        deadline = self._deadline.until(until)
        while numbers and self.done and not deadline.over:
            if self._plan_anew(numbers, deadline):
                continue
            plans = self._affordable(deadline.left, _GROWTH)
            views = MOST_VIEWS - self._views
            starts = self._most_starts(numbers)
            if plans < min(self.done[0].plans, starts):
                return  # no fewer than at first
            self._search(numbers, plan_round(plans, starts, views), deadline)

    def _plan_anew(self, numbers: Sequence[int], deadline: Deadline) -> bool:
        """One round over the regions of all plans; False where there is no time or no use."""
        plans = {
            number: plan
            for number in numbers
            if (plan := self._plans.complete[number]) is not None
            and is_divisible(self._problems[number])
        }
        times = len(self._shares) - 1
        needed = _NEXT_ANEW * self._anew if times else _FIRST_ANEW * self._took[0]
        if not plans or is_exhausted(self._shares) or needed > deadline.left:
            return False
        began = self._deadline.spent
        attempt = self._solver.plan_anew(
            [self._problems[number] for number in plans],
            list(plans.values()),
            first=times,
            seed=self._options.seed,
            batch_memory=self._options.batch_memory,
            deadline=deadline,
        )
        before = sum(plan.cost for plan in plans.values())
        for number, found in zip(plans, attempt.best, strict=True):
            self._plans.offer(number, found)
        after = sum(plan.cost for plan in attempt.best)
        self._shares.append(self._shares[-1] * after / before)
        self._anew = max(self._anew, self._deadline.spent - began)
        self.refused += attempt.refused
        self.seconds += attempt.seconds
        return True

    def _affordable(self, left: float, growth: float = math.inf) -> int:
        """Plans of each problem that can be made in so many seconds."""
        known = zip(self.done, self._took, strict=True)
        return max(
            (
                math.floor(done.plans * min(growth, left / took))
                for done, took in known
                if took <= left
            ),
            default=0,
        )

    def _search(self, numbers: Sequence[int], round_: Round, deadline: Deadline) -> None:
        began = self._deadline.spent
        # Whole views are searched as they are without a time.
        usual = not round_.draws and round_.starts == self._most_starts(numbers)
        self._note(
            numbers,
            functools.partial(
                self._solver.attempt,
                augment=round_.views,
                starts=self._options.starts if usual else round_.starts,
                candidates=self._options.candidates,
                sample=None if usual else round_.draws,
                seed=self._seed(),
                first_view=self._views,  # views lean by their numbers
                batch_memory=self._options.batch_memory,
                persist=self._persist and bool(self.done),
                improve=self._options.improve,
                rebuild=False,  # the solvers that follow do that, and better
                replan=0,
                deadline=deadline,
                explain=False,
            ),
        )
        self._took.append(max(self._deadline.spent - began, _SHORTEST))
        self.done.append(round_)

    def _note(self, numbers: Sequence[int], attempt_with: functools.partial[Attempt]) -> None:
        """Some problems solved, plans noted as they come."""

        def found(place: int, plan: Solution, expected: float | None) -> None:
            self._plans.offer(numbers[place], plan, expected)

        attempt = attempt_with([self._problems[number] for number in numbers], found=found)
        for place, (number, solution) in enumerate(zip(numbers, attempt.solutions, strict=True)):
            if solution is not None:
                self._plans.offer(number, solution, attempt.expected.get(place))
                continue
            plan = attempt.partial[place]
            self._plans.offer(number, plan)
            if self._plans.of(number) is plan:
                self.reasons[number] = attempt.reasons[place]
        self.refused += attempt.refused
        self.seconds += attempt.seconds

    @property
    def _views(self) -> int:
        """So far; those of a call without a time are the first."""
        return sum(done.views for done in self.done)

    def _seed(self) -> int:
        """The user's own, and then others that follow from it: other views, other draws."""
        if not self.done:
            return self._options.seed
        sequence = np.random.SeedSequence([self._options.seed, len(self.done)])
        return int(sequence.generate_state(1)[0])

    def _most_starts(self, numbers: Sequence[int]) -> int:
        """Of a view of the problem with most of them."""
        return max(self._starts_of(self._problems[number]) for number in numbers)

    def _starts_of(self, problem: Problem) -> int:
        own = len(problem.pairs) or len(problem.customers)
        starts, candidates = self._options.starts, self._options.candidates
        large = choose_search(problem, starts, candidates, self._solver.device)
        if large is not None:
            own = min(own, large.starts)
        return max(1, own if starts is None else min(own, starts))


def plan_round(plans: int, starts: int, views: int) -> Round:
    """A round of at most so many plans a problem.

    Parameters
    ----------
    starts
        Of a full view.
    views
        So many more before moves are drawn at random.
    """
    if plans < starts:
        return Round(1, plans)
    whole = plans // starts
    if views > 0:
        return Round(min(whole, views), starts)
    draws = min(_DRAWS, whole - 1)
    return Round(whole // (1 + draws), starts, draws)

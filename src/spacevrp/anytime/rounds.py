"""Rounds of the network: a quick plan first, then more views.

Every further round looks through views of its own, so that nothing is searched twice. Where no
solver follows, the best plans are planned anew between rounds, region by region, as long as that
helps. How long a round will take is told from those before: k times as many plans as one of them
had take at most k times as long, as some of the time goes into what all plans share. So no round is
begun that is not expected to end in time; one that takes longer all the same is cut short by the
deadline.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spacevrp.anytime.plans import BestPlans
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Seconds, Solver
from spacevrp.solver.effort import BY_DESIGN
from spacevrp.solver.plans import choose_search, is_large
from spacevrp.solver.regions import is_divisible, is_exhausted

# Start nodes of the first round: up to 200 customers about as fast as one and much better, beyond
# no longer as fast.
FIRST_STARTS, FIRST_STARTS_LARGE = 8, 1
# A large instance goes without the network if there are fewer seconds than this for each pair of
# nodes: it looks at all of them, and a single layer cannot be interrupted.
_SECONDS_A_PAIR = 1e-6
# Views in all before moves are drawn at random: the larger of the paper's two numbers.
MOST_VIEWS = 128
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
        self._planned: set[int] = set()  # those of which the network has a plan

    def first(self, numbers: Sequence[int], seconds: float) -> None:
        """One view from a few starts of some problems, until so many seconds are spent."""
        until = self._deadline.until(seconds)
        able = [number for number in numbers if self._seconds_needed(number) <= until.left]
        if able:
            candidates = self._options.candidates
            large = any(is_large(self._problems[number], candidates) for number in able)
            few = FIRST_STARTS_LARGE if large else FIRST_STARTS
            self._search(able, Round(1, min(few, self._most_starts(able))), until)
        late = numbers if until.over else set(numbers).difference(able)
        left = [number for number in late if number not in self._planned]
        if left:
            total = len(self._problems)
            of = "the instance" if total == 1 else f"{len(left)} of {total} instances"
            short = f"the time was too short for the network's first plan of {of}"
            if all(_serves(self._plans.of(number)) for number in left):
                short = f"{BY_DESIGN}: {short}"
            self.notes.append(short)

    def _seconds_needed(self, number: int) -> float:
        problem = self._problems[number]
        large = is_large(problem, self._options.candidates)
        return _SECONDS_A_PAIR * problem.size**2 if large else 0.0

    def go_on(self, numbers: Sequence[int], until: float, views: int | None = None) -> None:
        """Further rounds over some problems until so many seconds are spent.

        No more than so many ``views`` in all, where a solver follows; None for as many as there is
        time for, and more.
        """
        deadline = self._deadline.until(until)
        while numbers and self.done and not deadline.over:
            if views is None and self._plan_anew(numbers, deadline):
                continue
            plans = self._affordable(deadline.left, _GROWTH)
            left = (MOST_VIEWS if views is None else views) - self._views
            if views is not None and left <= 0:
                return
            starts = self._most_starts(numbers)
            if plans < min(self.done[0].plans, starts):
                return  # no fewer than at first
            self._search(numbers, plan_round(plans, starts, left), deadline)

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

        def found(place: int, plan: Solution, expected: float | None) -> None:
            if _serves(plan):
                self._planned.add(numbers[place])
            self._plans.offer(numbers[place], plan, expected)

        attempt = self._solver.attempt(
            [self._problems[number] for number in numbers],
            augment=round_.views,
            starts=self._options.starts if usual else round_.starts,
            candidates=self._options.candidates,
            sample=None if usual else round_.draws,
            seed=self._seed(),
            first_view=self._views,  # views lean by their numbers
            batch_memory=self._options.batch_memory,
            persist=self._persist and bool(self.done),
            improve=False,
            replan=0,
            deadline=deadline,
            explain=False,
            found=found,
        )
        for place, (number, solution) in enumerate(zip(numbers, attempt.solutions, strict=True)):
            if solution is None:
                found(place, attempt.partial[place], None)
                if self._plans.of(number) is attempt.partial[place]:
                    self.reasons[number] = attempt.reasons[place]
            else:
                found(place, solution, attempt.expected.get(place))
        self.refused += attempt.refused
        self.seconds += attempt.seconds
        self._took.append(max(self._deadline.spent - began, _SHORTEST))
        self.done.append(round_)

    @property
    def _views(self) -> int:
        """So far."""
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


def _serves(plan: Solution | None) -> bool:
    """Whether there is a plan that is complete, or serves a part of the customers."""
    return plan is not None and (plan.feasible or any(plan.routes))


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

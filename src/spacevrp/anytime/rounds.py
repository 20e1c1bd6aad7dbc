"""Rounds of the model: a quick plan first, then more and more views, then random draws.

Every round looks through views of its own, so that nothing is searched twice; but one searches what
a call without a time does, as soon as there is time for it. Between rounds the best plans are
planned anew, region by region, as long as that helps. How long a round will take is told from
those before: k times as many plans as one of them had take at most k times as long, as some of the
time goes into what all plans share. So no round is begun that could not end in time, as long as the
machine is as fast as it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spacevrp.anytime.budget import Budget
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Attempt, Seconds, Solver
from spacevrp.solver.partial import better_of
from spacevrp.solver.plans import choose_search, is_large
from spacevrp.solver.regions import ROUNDS, is_divisible, is_exhausted

# Start nodes of the first round: up to 200 customers about as fast as one and much better, beyond
# no longer as fast.
FIRST_STARTS, FIRST_STARTS_LARGE = 8, 1
# Views in all before moves are drawn at random: the larger of the paper's two numbers.
MOST_VIEWS = 128
# Views of a call without a time: its plans are found with one, too, as soon as there is enough.
USUAL_VIEWS = 8
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
    """Rounds over some problems, within a budget. Holds the best plans so far.

    Without ``persist`` partial plans are made at once, and somebody else searches on from them.
    """

    def __init__(
        self,
        solver: Solver,
        problems: Sequence[Problem],
        budget: Budget,
        options: Options,
        persist: bool = True,
    ) -> None:
        self._solver, self._problems, self._budget = solver, problems, budget
        self._options, self._persist = options, persist
        self.best: list[Solution | None] = [None] * len(problems)
        self.partial: dict[int, Solution] = {}  # where there is no complete plan
        self.reasons: dict[int, str] = {}
        self.done: list[Round] = []
        self.refused = 0
        self.seconds = Seconds()
        self._expected: dict[int, float] = {}  # differs from costs where visits reveal prizes
        self._took: list[float] = []  # seconds of each round
        self._shares = [1.0]  # of the costs that are left, each time regions were planned anew
        self._anew = 0.0  # seconds that it took, at the most

    def first(self) -> Attempt:
        """One view from a few starts, of all problems."""
        numbers = range(len(self._problems))
        candidates = self._options.candidates
        large = any(is_large(problem, candidates) for problem in self._problems)
        few = FIRST_STARTS_LARGE if large else FIRST_STARTS
        return self._search(numbers, Round(1, min(few, self._most_starts(numbers))))

    def go_on(self, numbers: Sequence[int], until: float) -> None:
        """Further rounds over some problems until so many seconds of the budget are spent."""
        while numbers:
            if self._plan_anew(numbers, until - self._budget.spent):
                continue
            usual = self._usual_round(numbers)
            left = until - self._budget.spent - ROUNDS * _NEXT_ANEW * self._anew
            if usual is not None and self._affordable(left) >= usual.plans:
                self._search(numbers, usual, self._options.seed, ROUNDS)
                continue
            plans = self._affordable(until - self._budget.spent, _GROWTH)
            views = MOST_VIEWS - self._views
            starts = self._most_starts(numbers)
            if plans < min(self.done[0].plans, starts):
                return  # no fewer than at first
            self._search(numbers, plan_round(plans, starts, views))

    def _plan_anew(self, numbers: Sequence[int], left: float) -> bool:
        """One round over the regions of all plans; False where there is no time or no use."""
        plans = {
            number: plan
            for number in numbers
            if (plan := self.best[number]) is not None and is_divisible(self._problems[number])
        }
        times = len(self._shares) - 1
        needed = _NEXT_ANEW * self._anew if times else _FIRST_ANEW * self._took[0]
        if not plans or is_exhausted(self._shares) or needed > left:
            return False
        began = self._budget.spent
        attempt = self._solver.plan_anew(
            [self._problems[number] for number in plans],
            list(plans.values()),
            first=times,
            seed=self._options.seed,
            batch_memory=self._options.batch_memory,
        )
        before = sum(plan.cost for plan in plans.values())
        for number, found in zip(plans, attempt.best, strict=True):
            self.note(number, found)
        after = sum(plan.cost for plan in attempt.best)
        self._shares.append(self._shares[-1] * after / before)
        self._anew = max(self._anew, self._budget.spent - began)
        self.refused += attempt.refused
        self.seconds += attempt.seconds
        return True

    def _usual_round(self, numbers: Sequence[int]) -> Round | None:
        """What a call without a time searches; None where that has been done."""
        usual = Round(USUAL_VIEWS, self._most_starts(numbers))
        return None if any(done.plans >= usual.plans for done in self.done) else usual

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

    def _search(
        self, numbers: Sequence[int], round_: Round, seed: int | None = None, replan: int = 0
    ) -> Attempt:
        began = self._budget.spent
        # Whole views are searched as they are without a time.
        usual = not round_.draws and round_.starts == self._most_starts(numbers)
        attempt = self._solver.attempt(
            [self._problems[number] for number in numbers],
            augment=round_.views,
            starts=self._options.starts if usual else round_.starts,
            candidates=self._options.candidates,
            sample=None if usual else round_.draws,
            seed=self._seed() if seed is None else seed,
            # Views lean by their numbers; those of a call without a time are the first.
            first_view=self._views if seed is None else 0,
            batch_memory=self._options.batch_memory,
            persist=self._persist,
            improve=self._options.improve,
            rebuild=False,  # whoever searches on does that, and better
            replan=replan,
        )
        for place, (number, found) in enumerate(zip(numbers, attempt.solutions, strict=True)):
            if found is None:
                self._note_partial(number, attempt.partial[place], attempt.reasons[place])
            else:
                self.note(number, found, attempt.expected.get(place))
        self._took.append(max(self._budget.spent - began, _SHORTEST))
        self.done.append(round_)
        self.refused += attempt.refused
        self.seconds += attempt.seconds
        return attempt

    def note(self, number: int, found: Solution, expected: float | None = None) -> None:
        """A complete plan: from now on, if it is the best by what was ``expected`` of it."""
        held = self.best[number]
        cost = found.cost if expected is None else expected
        if held is None or cost < self._expected.get(number, held.cost):
            self.best[number] = found
            self._expected[number] = cost
        self.partial.pop(number, None)
        self.reasons.pop(number, None)

    def _note_partial(self, number: int, found: Solution, reason: str) -> None:
        """One that leaves somebody out counts where there is no complete one."""
        if self.best[number] is not None:
            return
        held = self.partial.get(number)
        if held is None or better_of(held, found) is found:
            self.partial[number], self.reasons[number] = found, reason

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

"""The best plan of each problem so far: every stage offers plans, and the best ones stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from spacevrp.formats import read_starts
from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.errors import SolutionError, SpacevrpError
from spacevrp.problems.problem import Problem, is_one
from spacevrp.problems.recourse import expected_cost
from spacevrp.problems.solution import Solution, better_of, worth

Callback = Callable[[Solution], object]

# Plans of a problem beside the best that are kept for a long search to begin with.
OTHERS = 7
# Of a time, for the reasons why customers are left out, at the most; and seconds for each, and for
# the first ones, which load what finds them and may be of a fleet with many rules.
_REASONS_SHARE, _REASON, _FIRST_REASONS = 0.15, 0.05, 0.3


class Pool:
    """The best plan of each problem: fewest customers left out first, then cheapest.

    Parameters
    ----------
    deadline
        Interrupted when the callback raises ``StopIteration``.
    callback
        Told every new best plan. Its other exceptions are the caller's own.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        deadline: Deadline,
        callback: Callback | None = None,
    ) -> None:
        self.problems = problems
        self._deadline, self._callback = deadline, callback
        self._best: dict[int, Solution] = {}
        self._others: dict[int, list[Solution]] = {}
        # Where visits reveal prizes: what was expected of the plan when it was chosen, and what
        # the best one would have cost in hindsight.
        self.expected: dict[int, float] = {}
        self.hindsight: dict[int, float] = {}

    @property
    def any(self) -> bool:
        """Whether there is a plan that serves a customer."""
        return any(self.serves(number) for number in self._best)

    @property
    def hears(self) -> bool:
        """Whether plans found during a search are wanted, too."""
        return self._callback is not None

    @property
    def seconds(self) -> float:
        """The time of the call."""
        return self._deadline.seconds

    @property
    def working(self) -> Deadline:
        """The deadline of all but the reasons for customers who are left out."""
        deadline = self._deadline
        if deadline.seconds == NEVER.seconds:
            return deadline
        left_out = sum(
            violation.code == "visit"
            for plan in self._best.values()
            for violation in plan.violations
        )
        needed = max(_REASON * left_out, _FIRST_REASONS) if left_out else 0.0
        reasons = min(_REASONS_SHARE * deadline.seconds, needed)
        return deadline.until(deadline.seconds - reasons)

    def of(self, number: int) -> Solution | None:
        """The best plan of a problem, complete or not."""
        return self._best.get(number)

    def serves(self, number: int) -> bool:
        """Whether there is a plan that is complete, or serves some customers."""
        plan = self._best.get(number)
        return plan is not None and (plan.feasible or any(plan.routes))

    def complete(self, number: int) -> bool:
        """Whether the best plan of a problem serves all that it must."""
        plan = self._best.get(number)
        return plan is not None and plan.feasible

    def cost(self, numbers: Iterable[int]) -> float | None:
        """Mean cost of the complete plans; None where there is none."""
        plans = [self._best[number] for number in numbers if self.complete(number)]
        return sum(plan.cost for plan in plans) / len(plans) if plans else None

    def offer(self, number: int, plan: Solution, expected: float | None = None) -> bool:
        """Keep a plan if it is the best so far, and say whether it is.

        Where visits reveal prizes, plans are compared by what was ``expected`` of them.
        """
        if plan.feasible and number in self.hindsight:
            self.hindsight[number] = min(plan.cost, self.hindsight[number])
        if not plan.is_legal or not self._is_better(number, plan, expected):
            return False
        self.expected.pop(number, None)
        if expected is not None:
            self.expected[number] = expected
        self._best[number] = plan
        if self._callback is not None:
            try:
                self._callback(plan)
            except StopIteration:
                self._deadline.interrupt()
        return True

    def keep(self, number: int, plans: Iterable[Solution]) -> None:
        """Keep plans beside the best of a problem, the cheapest of those that differ in cost."""
        several = {plan.cost: plan for plan in self._others.get(number, ())}
        several |= {plan.cost: plan for plan in plans if plan.feasible}
        self._others[number] = [several[cost] for cost in sorted(several)[: OTHERS + 1]]

    def others(self, number: int) -> list[Solution]:
        """Plans beside the best of a problem, the cheapest first."""
        best = self._best.get(number)
        differ = [
            plan for plan in self._others.get(number, ()) if best is None or plan.cost != best.cost
        ]
        return differ[:OTHERS]

    def _is_better(self, number: int, plan: Solution, expected: float | None) -> bool:
        held = self._best.get(number)
        if held is None:
            return True
        if held.feasible and plan.feasible and not self.problems[number].objective.is_cost:
            return worth(plan) < worth(held)
        if held.feasible and plan.feasible:
            cost = plan.cost if expected is None else expected
            return cost < self.expected.get(number, held.cost)
        return better_of(held, plan) is plan

    def begin(self, starts: dict[int, Solution]) -> None:
        """Offer the caller's own plans."""
        for number, plan in starts.items():
            self.offer(number, plan, expected_cost(self.problems[number], plan))

    def finish(self) -> list[Solution]:
        """One plan a problem, the empty one where there is no other."""
        return [
            self._best.get(number) or Solution.judged(problem, ())
            for number, problem in enumerate(self.problems)
        ]


def as_starts(given: Any, problem: Any, problems: Sequence[Problem]) -> dict[int, Solution]:
    """Plans to begin with, by the number of their problem; a path stands for the plans of a file.

    Raises
    ------
    SpacevrpError
        Not one plan for each problem.
    SolutionError
        A plan that cannot be judged, or that breaks a rule.
    """
    if given is None:
        return {}
    if isinstance(given, str | Path):
        plans: list[Any] = list(read_starts(given, problems))
    else:
        plans = [given] if is_one(problem) else list(given)
    if len(plans) != len(problems):
        raise SpacevrpError(
            f"start: expected one plan for each of {len(problems)} problems, received {len(plans)}"
        )
    starts = {}
    for number, (one, plan) in enumerate(zip(problems, plans, strict=True)):
        if plan is None:
            continue  # of this problem there is none
        where = "start" if is_one(problem) else f"start, number {number}"
        if isinstance(given, str | Path):
            where = f"{given}, instance {number}" if len(problems) > 1 else str(given)
        try:
            judged = Solution.judged(one, plan.routes if isinstance(plan, Solution) else plan)
        except (SolutionError, TypeError) as error:
            raise SolutionError(f"{where}: {error}") from None
        # Where customers may be left out, so may they be here.
        if not judged.feasible and not (one.allow_unservable and judged.is_legal):
            message = judged.violations[0].message
            raise SolutionError(
                f"{where}: expected a feasible plan, received one in which {message}"
            )
        starts[number] = judged
    return starts

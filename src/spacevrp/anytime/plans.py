"""The best plans so far, and who is told of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spacevrp.problems.comparison import better_of
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import SolutionError, SpacevrpError
from spacevrp.problems.inputs import is_one
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

Callback = Callable[[Solution], object]


class BestPlans:
    """The best plan of each problem so far: fewest customers left out first, then cheapest.

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
        self._deadline, self._callback = deadline, callback
        self.complete: list[Solution | None] = [None] * len(problems)
        self.partial: dict[int, Solution] = {}  # where there is no complete plan
        self._expected: dict[int, float] = {}  # where it differs from what the complete plan costs

    @property
    def any(self) -> bool:
        """Whether there is a plan that serves anybody."""
        served = (any(plan.routes) for plan in self.partial.values())
        return any(plan is not None for plan in self.complete) or any(served)

    @property
    def hears(self) -> bool:
        """Whether plans found in the middle of a search are wanted, too."""
        return self._callback is not None

    def of(self, number: int) -> Solution | None:
        """The best plan of a problem, complete or not."""
        return self.complete[number] or self.partial.get(number)

    def offer(self, number: int, plan: Solution, expected: float | None = None) -> bool:
        """Keep a plan if it is the best so far, and say whether it is.

        Where visits reveal prizes, plans are compared by what was ``expected`` of them.
        """
        if not plan.is_legal or not self._is_better(number, plan, expected):
            return False
        self._expected.pop(number, None)
        if expected is not None:
            self._expected[number] = expected
        if plan.feasible:
            self.complete[number] = plan
            self.partial.pop(number, None)
        else:
            self.partial[number] = plan
        if self._callback is not None:
            try:
                self._callback(plan)
            except StopIteration:
                self._deadline.interrupt()
        return True

    def _is_better(self, number: int, plan: Solution, expected: float | None) -> bool:
        held = self.of(number)
        if held is None:
            return True
        if held.feasible and plan.feasible:
            cost = plan.cost if expected is None else expected
            return cost < self._expected.get(number, held.cost)
        return better_of(held, plan) is plan


def as_starts(given: Any, problem: Any, problems: Sequence[Problem]) -> dict[int, Solution]:
    """Plans to begin with, by the number of their problem.

    Raises
    ------
    SpacevrpError
        Not one plan for each problem.
    SolutionError
        A plan that cannot be judged, or that breaks a rule.
    """
    if given is None:
        return {}
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
        try:
            judged = Solution.judged(one, plan.routes if isinstance(plan, Solution) else plan)
        except (SolutionError, TypeError) as error:
            raise SolutionError(f"{where}: {error}") from None
        if not judged.feasible:
            message = judged.violations[0].message
            raise SolutionError(
                f"{where}: expected a feasible plan, received one in which {message}"
            )
        starts[number] = judged
    return starts

"""Who searches on from a plan: classical solvers, and the package's own local search."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from spacevrp.oracles import OracleResult, SolverOracle, improvers
from spacevrp.oracles.base import Plan
from spacevrp.oracles.scaling import Routes
from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.errors import InfeasibleError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.partial import better_of
from spacevrp.solver.polish import can_polish, search_of

# Who makes more of the time than the model does.
STRONG = ("pyvrp",)
# Seconds of the first run of the local search; each later one takes twice as long.
_FIRST_RUN = 1.0


class LocalSearch(SolverOracle):
    """The local search in which the referee judges every route: for every constraint there is.

    It searches on from a plan, complete or not, and makes none of its own. Orienteering that
    nothing but the length limits, and pairs that need but room and length, have searches that know
    of nothing else.
    """

    name: ClassVar[str] = "local search"
    package: ClassVar[str] = "spacevrp"
    module: ClassVar[str] = "spacevrp"
    seconds_a_pair: ClassVar[float] = 1e-7

    def version(self) -> str:
        """Of this package; empty where it runs without having been installed."""
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return ""

    def supports(self, problem: Problem) -> str | None:
        """None, or why it cannot search."""
        if can_polish(problem):
            return None
        if problem.revealed_prize is not None:
            return "prizes that show only on the visit"
        return f"{problem.size} nodes"

    def solve(
        self,
        problem: Problem,
        seconds: float,
        seed: int = 0,
        start: Sequence[Sequence[int]] | None = None,
    ) -> OracleResult:
        """The plan to start from, improved until the time is up."""
        if start is None:
            raise InfeasibleError(f"{self.name} needs a plan to start from")
        self.check(problem)
        deadline = Deadline(seconds) if self.deadline is NEVER else self.deadline
        deadline = deadline.until(deadline.spent + seconds)
        began = deadline.spent
        found = self.refined(Solution.judged(problem, start), deadline, seed)
        spent = deadline.spent - began
        return OracleResult(found, self.name, self.version(), spent, found.cost)

    def refined(
        self,
        plan: Solution,
        deadline: Deadline,
        seed: int = 0,
        better: Callable[[Solution], object] | None = None,
    ) -> Solution:
        """A legal plan improved until the time is up; customers may be left out.

        One run follows the other, each from the best plan on and twice as long as the one before.
        A run cools down over its own length, whatever the deadline is, so that more time only adds
        to what less time finds. ``better`` is told better plans.
        """
        seconds, number = _FIRST_RUN, 0
        while not deadline.over:
            began = deadline.spent
            progress = partial(_share_of_run, deadline, began, seconds)
            found = search_of(plan)(
                plan, progress, seed + number, self.watch, deadline=deadline, found=better
            )
            plan = better_of(plan, found)
            if deadline.spent - began < seconds and not deadline.over:
                break  # there is nothing left to search for
            seconds, number = 2 * seconds, number + 1
        return plan

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        raise NotImplementedError  # ``solve`` does all of it


def _share_of_run(deadline: Deadline, began: float, seconds: float, done: int) -> float:
    """Part of a run that is over, which began so long after the deadline was made."""
    return (deadline.spent - began) / seconds


def engines_for(problem: Problem) -> list[SolverOracle]:
    """Who may search on from a plan of the problem, the strongest first.

    PyVRP, then OR-Tools, where they are installed and model the problem exactly; then the local
    search. Nobody where prizes show only on the visit.
    """
    own = LocalSearch()
    return [*improvers(problem), *([own] if own.supports(problem) is None else [])]

"""Who searches on from a plan: the package's own compiled search, or classical solvers."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from typing import ClassVar

from spacevrp import native
from spacevrp.oracles import OracleResult, SolverOracle, improvers
from spacevrp.oracles.base import Plan
from spacevrp.oracles.scaling import Routes
from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.recourse import can_plan_ahead
from spacevrp.problems.solution import Solution
from spacevrp.search import Stop, improve


class CompiledSearch(SolverOracle):
    """The compiled search, which knows all that a problem can say."""

    name: ClassVar[str] = "search"
    package: ClassVar[str] = "spacevrp"
    module: ClassVar[str] = "spacevrp"

    def version(self) -> str:
        """Of this package; empty where it runs without having been installed."""
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return ""

    def supports(self, problem: Problem) -> str | None:
        """None, or why it cannot search."""
        if not can_plan_ahead(problem):
            return "prizes that show only on the visit, where rules limit the visits"
        return None if native.available() else native.MISSING

    def solve(
        self,
        problem: Problem,
        seconds: float,
        seed: int = 0,
        start: Sequence[Sequence[int]] | None = None,
    ) -> OracleResult:
        """The plan to start from, or one of its own, improved until the time is up."""
        self.check(problem)
        deadline = Deadline(seconds) if self.deadline is NEVER else self.deadline
        began = deadline.spent

        def tell(_: int, plan: Solution, expected: float | None) -> None:
            if self.watch is not None:
                self.watch(plan.cost if expected is None else expected)
            if self.found is not None and expected is None:  # else the last plan is the choice
                self.found(plan.routes)

        plans = improve(
            [problem],
            [None if start is None else Solution.judged(problem, start)],
            stop=Stop(),
            seed=seed,
            found=tell,
            deadline=deadline.until(began + seconds),
        )
        spent = deadline.spent - began
        (found,), expected = plans, plans.expected.get(0)
        claimed = found.cost if expected is None else expected
        note = "" if expected is None else f"planned with expected prizes at {expected:.10g}"
        return OracleResult(found, self.name, self.version(), spent, claimed, note)

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        raise NotImplementedError  # ``solve`` does all of it


def engines_for(problem: Problem) -> list[SolverOracle]:
    """Who may search on from a plan of the problem, the first choice first.

    The compiled search. Where it is not installed, PyVRP, then OR-Tools, where they are and model
    the problem exactly. These two not where prizes show only on the visit, and nobody where rules
    limit the visits as well.
    """
    own = CompiledSearch()
    return [own] if own.supports(problem) is None else list(improvers(problem))

"""Who searches on from a plan: classical solvers, and the package's own local search."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Sequence
from typing import ClassVar

from spacevrp.oracles import OracleResult, SolverOracle, improvers
from spacevrp.oracles.base import Plan
from spacevrp.oracles.scaling import Routes
from spacevrp.problems.errors import InfeasibleError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.polish import can_polish, search_of

# Who makes more of the time than the model does.
STRONG = ("pyvrp",)


class LocalSearch(SolverOracle):
    """The local search in which the referee judges every route: for every constraint there is.

    It searches on from a plan, complete or not, and makes none of its own. Orienteering that
    nothing but the length limits, and pairs that need but room and length, have searches that know
    of nothing else.
    """

    name: ClassVar[str] = "local search"
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
        began = time.perf_counter()
        found = self.refined(Solution.judged(problem, start), seconds, seed)
        spent = time.perf_counter() - began
        return OracleResult(found, self.name, self.version(), spent, found.cost)

    def refined(self, plan: Solution, seconds: float, seed: int = 0) -> Solution:
        """A legal plan improved until the time is up; customers may be left out."""
        end = time.perf_counter() + seconds

        def progress(shakes: int) -> float:
            return 1.0 - (end - time.perf_counter()) / seconds

        return search_of(plan)(plan, progress, seed, self.watch)

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        raise NotImplementedError  # ``solve`` does all of it


def engines_for(problem: Problem) -> list[SolverOracle]:
    """Who may search on from a plan of the problem, the strongest first.

    PyVRP, then OR-Tools, where they are installed and model the problem exactly; then the local
    search. Nobody where prizes show only on the visit.
    """
    own = LocalSearch()
    return [*improvers(problem), *([own] if own.supports(problem) is None else [])]

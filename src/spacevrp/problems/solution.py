"""A solution: routes with the referee's verdict on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation, as_routes, judge

Route = tuple[int, ...]


@dataclass(frozen=True)
class Solution:
    """Routes and what the referee says of them.

    A route lists nodes in the user's numbering, its depot first, and last when it is closed. The
    TSP has one route, every node once, the first not repeated.
    """

    routes: tuple[Route, ...]
    cost: float
    violations: tuple[Violation, ...] = ()

    @classmethod
    def judged(cls, problem: Problem, routes: Iterable[Iterable[int]]) -> Solution:
        """The routes with their verdict, from the original data in float64.

        Raises
        ------
        SolutionError
            For an entry that is not the number of a node: nothing is rounded to one.
        """
        settled = as_routes(problem, routes)
        verdict = judge(problem, settled)
        return cls(settled, verdict.cost, verdict.violations)

    @property
    def feasible(self) -> bool:
        """Whether every constraint holds."""
        return not self.violations

    def __str__(self) -> str:
        state = "feasible" if self.feasible else f"{len(self.violations)} violations"
        count = "1 route" if len(self.routes) == 1 else f"{len(self.routes)} routes"
        lines = [f"cost {self.cost:g}, {count}, {state}"]
        lines += [
            f"  route {number}: {' -> '.join(map(str, route))}"
            for number, route in enumerate(self.routes, start=1)
        ]
        lines += [f"  {violation.message}" for violation in self.violations]
        return "\n".join(lines)

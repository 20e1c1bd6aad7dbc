"""A clock that only moves when somebody works, a solver that says what it is asked, an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
import torch

from spacevrp.oracles import OracleResult, SolverOracle
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Attempt, Seconds


@dataclass
class Clock:
    """Time that stands still but for work."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def alone(problem: Problem) -> Solution:
    """A route for each customer."""
    return Solution.judged(problem, [(0, node, 0) for node in problem.customers])


@dataclass
class FakeSolver:
    """Serves each customer alone, and takes ``latency + rate x plans`` seconds for it.

    When the time is up there is no plan.
    """

    clock: Clock
    latency: float = 0.0
    rate: float = 0.0
    threads: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    calls: list[dict[str, Any]] = field(default_factory=list)
    unsolvable: Sequence[int] = ()

    @property
    def engine(self) -> FakeSolver:
        """Who has the threads."""
        return self

    def attempt(self, problem: list[Problem], **asked: Any) -> Attempt:
        self.calls.append({"problems": len(problem), **asked})
        starts = asked["starts"] or max(len(one.customers) for one in problem)
        plans = asked["augment"] * starts * (1 + (asked["sample"] or 0))
        needed = self.latency + self.rate * plans
        left = asked["deadline"].left
        self.clock.now += min(needed, max(left, 0.0) + 1e-9)
        unsolvable = self.unsolvable if needed <= left else range(len(problem))
        reasons = {number: "a wall stands there" for number in unsolvable}
        partial = {number: Solution.judged(problem[number], ()) for number in unsolvable}
        found = [None if n in reasons else alone(one) for n, one in enumerate(problem)]
        return Attempt(found, reasons, Seconds(0.0, 1.0, 0.0), partial=partial)


class FakeEngine(SolverOracle):
    """Hands over what it is told to, and notes what it was asked."""

    name: ClassVar[str] = "engine"
    package: ClassVar[str] = "numpy"
    module: ClassVar[str] = "numpy"

    def __init__(self, found: Any, clock: Clock | None = None) -> None:
        self._found, self._clock = found, clock
        self.asked: list[tuple[float, int, Any]] = []

    def supports(self, problem: Problem) -> str | None:
        return None

    def solve(self, problem: Problem, seconds: float, seed: int = 0, start: Any = None) -> Any:
        self.asked.append((seconds, seed, start))
        if self._clock is not None:
            self._clock.now += seconds
        if isinstance(self._found, Exception):
            raise self._found
        found = self._found if isinstance(self._found, Solution) else None
        solution = found or Solution.judged(problem, self._found)
        if self.watch is not None:
            self.watch(solution.cost)
        return OracleResult(solution, self.name, "1.0", seconds, solution.cost)

    def _search(self, problem: Any, seconds: float, seed: int, start: Any) -> Any:
        raise NotImplementedError


@pytest.fixture
def clock() -> Clock:
    return Clock()

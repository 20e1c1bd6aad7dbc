"""Ways to a plan that ``spacevrp bench search`` compares: the compiled search and others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import InfeasibleError, SpacevrpError, UnsupportedError
from spacevrp.problems.explanation import is_missing_visit
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from spacevrp.solver import Solver

OURS = "spacevrp"
# Beyond, the matrices of other solvers take more memory than usual machines have.
_RIVALS_LARGEST = 7001  # nodes
_MOMENT = 1e-3  # seconds


@dataclass(frozen=True, eq=False)
class Item:
    """An instance, what other solvers are given in its place, and what is known of it."""

    problem: Problem
    given: Problem | None = None  # None: the same
    back: Callable[[Solution], Solution] = field(default=lambda found: found)
    start: Solution | None = None  # a stored first plan
    known: float | None = None  # the best known cost


@dataclass(frozen=True)
class Found:
    """What a way came to; no solution where there is no plan that keeps the rules."""

    solution: Solution | None
    seconds: float
    iterations: int | None = None
    note: str = ""

    @property
    def unserved(self) -> int | None:
        """Compulsory customers without a visit, or prize that is missing."""
        if self.solution is None:
            return None
        missing = (is_missing_visit(one) or one.code == "prize" for one in self.solution.violations)
        return sum(missing)


class Way(Protocol):
    """How plans are made."""

    @property
    def ours(self) -> bool:
        """Whether it is the search that is measured."""

    def version(self) -> str:
        """Of the program."""

    def require(self) -> None:
        """Raise unless it is installed."""

    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot take the problem; None where it can."""

    def solve(self, items: Sequence[Item], seconds: float | None) -> list[Found]:
        """A plan for each, one after the other, with so many seconds for each."""


# -------------------------------------------------------------------------------------------- ours


class Network:
    """First plans of the network, each made once; what that took is counted every time."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self._made: dict[int, tuple[Problem, Solution, float]] = {}

    def forget(self) -> None:
        """Make room for other instances."""
        self._made.clear()

    def plan(self, problem: Problem) -> tuple[Solution, float]:
        """The plan and its seconds."""
        if id(problem) not in self._made:
            began = time.perf_counter()
            (plan,) = self.solver.attempt([problem], protocol="network").best
            # The problem is kept, too, so that no other one gets its number.
            self._made[id(problem)] = problem, plan, time.perf_counter() - began
        return self._made[id(problem)][1:]


@dataclass(frozen=True)
class Search:
    """The compiled search from one start, or from the best constructed one.

    ``whole``: the seconds are for everything from the call on, and not for the search alone.
    """

    start: str  # best, savings, insertion or network
    network: Network
    whole: bool = True
    threads: int = 1
    seed: int = 0
    ours: bool = True

    def version(self) -> str:
        """Of this package."""
        from spacevrp.train.versions import versions

        return str(versions()[OURS])

    def require(self) -> None:
        """Raise without the compiled module."""
        from spacevrp import native

        if not native.available():
            raise UnsupportedError(native.MISSING)

    def refuses(self, problem: Problem) -> str | None:
        """Where only visits reveal the prizes, it needs the network's plan."""
        if problem.has_unknown_prizes and self.start != "network":
            return "prizes that only a visit reveals"
        return None

    def solve(self, items: Sequence[Item], seconds: float | None) -> list[Found]:
        """One after the other."""
        return [self._solve(item, seconds or _MOMENT) for item in items]

    def _solve(self, item: Item, seconds: float) -> Found:
        from spacevrp.search import Stop, improve

        plan, spent = item.start if self.start == "network" else None, 0.0
        if self.start == "network" and plan is None:
            plan, spent = self.network.plan(item.problem)
        limits: dict[str, Any] = {"stop": Stop(seconds=seconds)}
        if self.whole:
            limits = {"stop": Stop(), "deadline": Deadline(max(seconds - spent, _MOMENT))}
        began = time.perf_counter()
        improved = improve(
            [item.problem],
            [plan],
            starts=(self.start,) if self.start in ("savings", "insertion") else None,
            seed=self.seed,
            threads=self.threads,
            **limits,
        )
        took = spent + time.perf_counter() - began
        runs = [run for run in improved.runs if run is not None]
        done = sum(run.iterations for run in runs) if runs else None
        return Found(improved[0] if improved[0].is_legal else None, took, done)


@dataclass(frozen=True)
class Solve:
    """The program as it is, without a limit of time; all instances in one call."""

    network: Network
    ours: bool = True

    version = Search.version

    def require(self) -> None:
        """It works without the compiled module."""

    def refuses(self, problem: Problem) -> str | None:
        """Nothing."""
        return None

    def solve(self, items: Sequence[Item], seconds: float | None) -> list[Found]:
        """Together; each takes its part of the time."""
        began = time.perf_counter()
        best = self.network.solver.attempt([item.problem for item in items]).best
        took = (time.perf_counter() - began) / len(items)
        return [Found(one if one.is_legal else None, took) for one in best]


# ------------------------------------------------------------------------------------------ theirs


@dataclass(frozen=True)
class Rival:
    """A classical solver with its best settings, from nothing or from the stored first plan."""

    solver: str
    warm: bool = False
    seed: int = 0
    ours: bool = False

    def version(self) -> str:
        """Of the installed package."""
        from spacevrp.oracles import make_oracle

        return make_oracle(self.solver).version()

    def require(self) -> None:
        """Raise unless the package is installed."""
        from spacevrp.oracles import make_oracle

        make_oracle(self.solver).require()

    def refuses(self, problem: Problem) -> str | None:
        """What the solver cannot model exactly, or that the problem is too large for it."""
        from spacevrp.oracles import make_oracle

        if problem.size > _RIVALS_LARGEST:
            return f"{problem.size} nodes: more memory than there is"
        return make_oracle(self.solver).supports(problem)

    def solve(self, items: Sequence[Item], seconds: float | None) -> list[Found]:
        """One after the other."""
        return [self._solve(item, seconds or _MOMENT) for item in items]

    def _solve(self, item: Item, seconds: float) -> Found:
        from spacevrp.oracles import make_oracle

        given = item.problem if item.given is None else item.given
        start = item.start.routes if self.warm and item.start is not None else None
        began = time.perf_counter()
        try:
            result = make_oracle(self.solver).solve(given, seconds, self.seed, start)
        except InfeasibleError:  # no plan in time is a result
            return Found(None, time.perf_counter() - began)
        except SpacevrpError as error:
            return Found(None, time.perf_counter() - began, note=str(error))
        found = item.back(result.solution)
        return Found(found if found.is_legal else None, time.perf_counter() - began)


def make_ways(network: Network, *, whole: bool, threads: int, seed: int) -> dict[str, Way]:
    """All ways by their names in tables."""
    ways: dict[str, Way] = {}
    for start, name in (
        ("best", f"{OURS} search"),
        ("network", f"{OURS} network + search"),
        ("savings", f"{OURS} savings + search"),
        ("insertion", f"{OURS} insertion + search"),
    ):
        ways[name] = Search(start, network, whole, threads, seed)
    ways[f"{OURS} solve"] = Solve(network)
    for solver in ("pyvrp", "ortools", "vroom"):
        ways[solver] = Rival(solver, seed=seed)
    ways["pyvrp from the first plan"] = Rival("pyvrp", warm=True, seed=seed)
    return ways

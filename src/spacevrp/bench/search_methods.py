"""Ways to a plan that ``spacevrp bench search`` compares: the compiled search and others."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import InfeasibleError, SpacevrpError, UnsupportedError
from spacevrp.problems.explanation import is_missing_visit
from spacevrp.problems.problem import Problem
from spacevrp.problems.recourse import can_plan_ahead
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from spacevrp.solver import Solver

OURS = "spacevrp"
SEARCH, SOLVE, FROM_NETWORK, FROM_SAVINGS, FROM_INSERTION = (
    f"{OURS} {how}"
    for how in ("search", "solve", "network + search", "savings + search", "insertion + search")
)
# A loaded ``Solver`` with a time, as its users call it.
TIMED = OURS
PYVRP_AFTER_NETWORK = "pyvrp from the first plan"
# Beyond, the matrices of other solvers take more memory than usual machines have.
_RIVALS_LARGEST = 7001  # nodes
_MOMENT = 1e-3  # seconds
# Left out where they are not installed: their licence is not for everybody.
_MAY_BE_MISSING = ("lkh",)


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
    note: str = ""  # why there is none, where it is not for want of time

    @property
    def unserved(self) -> int | None:
        """Compulsory customers without a visit, or prize that is missing."""
        if self.solution is None:
            return None
        missing = (is_missing_visit(one) or one.code == "prize" for one in self.solution.violations)
        return sum(missing)


@dataclass(frozen=True)
class Method:
    """How plans are made.

    Attributes
    ----------
    require
        Raises unless it is installed.
    refuses
        Why it cannot take a problem; None where it can.
    solve
        A plan for each instance with so many seconds for each, None for as long as it takes.
    """

    name: str
    ours: bool
    version: Callable[[], str]
    require: Callable[[], None]
    refuses: Callable[[Problem], str | None]
    solve: Callable[[Sequence[Item], float | None], list[Found]]


def make_methods(
    network: Network, *, whole: bool, threads: int, seed: int, stored: bool = False
) -> dict[str, Method]:
    """All ways by name.

    ``whole``: the seconds are for everything from the call on, and not for the search alone;
    ``stored``: nothing is solved, so that nothing need be installed.
    """
    how: dict[str, Any] = {"whole": whole, "threads": threads, "seed": seed}
    methods = [
        Method(SEARCH, True, _own_version, _require, _unknown, partial(_search, None, None, **how)),
        Method(
            FROM_NETWORK,
            True,
            _own_version,
            _require,
            _revealing,
            partial(_search, network, (), **how),
        ),
        Method(SOLVE, True, _own_version, lambda: None, _none, network.solve),
        Method(TIMED, True, _own_version, _require, _none, partial(network.solve_in, seed=seed)),
    ]
    for method, name in (("savings", FROM_SAVINGS), ("insertion", FROM_INSERTION)):
        solve = partial(_search, None, (method,), **how)
        methods.append(Method(name, True, _own_version, _require, _unknown, solve))
    methods += [
        _rival(name, name, False, seed, stored) for name in ("pyvrp", "ortools", "vroom", "lkh")
    ]
    methods.append(_rival(PYVRP_AFTER_NETWORK, "pyvrp", True, seed, stored))
    return {method.name: method for method in methods}


# -------------------------------------------------------------------------------------------- ours


class Network:
    """First plans of the network, each made once; what that took is counted every time."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self._made: WeakKeyDictionary[Item, tuple[Solution, float]] = WeakKeyDictionary()

    def plan(self, item: Item) -> tuple[Solution, float]:
        """The plan and its seconds; a stored one took none."""
        if item.start is not None:
            return item.start, 0.0
        if item not in self._made:
            began = time.perf_counter()
            (plan,) = self.solver.run([item.problem], protocol="network").results
            self._made[item] = plan, time.perf_counter() - began
        return self._made[item]

    def solve(self, items: Sequence[Item], seconds: float | None) -> list[Found]:
        """The program as it is, all instances in one call; each takes its part of the time."""
        began = time.perf_counter()
        best = self.solver.run([item.problem for item in items]).results
        took = (time.perf_counter() - began) / len(items)
        return [Found(one if one.is_legal else None, took) for one in best]

    def solve_in(self, items: Sequence[Item], seconds: float | None, *, seed: int) -> list[Found]:
        """The program with a time, one instance after the other."""
        found = []
        for item in items:
            began = time.perf_counter()
            (plan,) = self.solver.run(item.problem, time=seconds or _MOMENT, seed=seed).results
            took = time.perf_counter() - began
            found.append(Found(plan if plan.is_legal else None, took))
        return found


def _own_version() -> str:
    from spacevrp.train.versions import versions

    return str(versions()[OURS])


def compiled_digest() -> str | None:
    """Tells one build of the search from another; None where there is none."""
    from spacevrp import native

    path = None if native.core is None else native.core.__file__
    return None if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _require() -> None:
    from spacevrp import native

    if not native.available():
        raise UnsupportedError(native.MISSING)


def _none(problem: Problem) -> str | None:
    return None


def _unknown(problem: Problem) -> str | None:
    """No plan can be made before the first visit."""
    if can_plan_ahead(problem):
        return None
    return "prizes that only a visit reveals, where rules limit the visits"


def _revealing(problem: Problem) -> str | None:
    """The network's plans have reacted to the real prizes: no search may begin there."""
    return "prizes that only a visit reveals" if problem.has_unknown_prizes else None


def _search(
    network: Network | None,
    starts: Sequence[str] | None,
    items: Sequence[Item],
    seconds: float | None,
    *,
    whole: bool,
    threads: int,
    seed: int,
) -> list[Found]:
    """The compiled search, one instance after the other."""
    from spacevrp.search import Stop, improve

    found: list[Found] = []
    for item in items:
        plan, spent = (None, 0.0) if network is None else network.plan(item)
        limits: dict[str, Any] = {"stop": Stop(seconds=seconds)}
        if whole:
            left = (seconds or 0.0) - spent
            if left <= 0.0:  # as for the others, then
                return [Found(None, spent, note="the network takes longer")] * len(items)
            limits = {"stop": Stop(), "deadline": Deadline(left)}
        began = time.perf_counter()
        improved = improve(
            [item.problem], [plan], starts=starts, seed=seed, threads=threads, **limits
        )
        took = spent + time.perf_counter() - began
        done = [run.iterations for run in improved.runs if run is not None]
        legal = improved[0] if improved[0].is_legal else None
        found.append(Found(legal, took, sum(done) if done else None))
    return found


# ------------------------------------------------------------------------------------------ theirs


def _rival(name: str, solver: str, warm: bool, seed: int, stored: bool) -> Method:
    """A classical solver with its best settings, from nothing or from the stored first plan."""
    from spacevrp.oracles import make_oracle

    oracle = make_oracle(solver)

    def refuses(problem: Problem) -> str | None:
        if not (stored or oracle.is_installed()) and solver in _MAY_BE_MISSING:
            return f"it is not installed (the extra {oracle.extra})"
        if problem.size > _RIVALS_LARGEST:
            return f"{problem.size} nodes take more memory than there is"
        return oracle.supports(problem)

    def solve(item: Item, seconds: float) -> Found:
        start = item.start.routes if warm and item.start is not None else None
        began = time.perf_counter()
        try:
            result = oracle.solve(item.given or item.problem, seconds, seed, start)
        except InfeasibleError:  # no plan in time is a result
            return Found(None, time.perf_counter() - began)
        except SpacevrpError as error:
            return Found(None, time.perf_counter() - began, note=str(error))
        plan = item.back(result.solution)
        return Found(plan if plan.is_legal else None, time.perf_counter() - began)

    def solve_each(items: Sequence[Item], seconds: float | None) -> list[Found]:
        return [solve(item, seconds or _MOMENT) for item in items]

    return Method(name, False, oracle.version, oracle.require, refuses, solve_each)

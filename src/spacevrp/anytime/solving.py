"""Solving within a time: the model first, then a classical solver from the model's plan on."""

from __future__ import annotations

import math
import time as clocks
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

from spacevrp.anytime.budget import Budget, Clock, as_seconds
from spacevrp.anytime.improving import Improvement, improve
from spacevrp.anytime.progress import TimeBar
from spacevrp.anytime.rounds import Options, Round, Rounds
from spacevrp.oracles import SolverOracle, improvers
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.inputs import as_problems, is_one
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Attempt, NoPlanError, Solver
from spacevrp.solver import solve as solve_at_once
from spacevrp.solver.solver import AnyProblem
from spacevrp.solver.work import ShowProgress

if TYPE_CHECKING:
    import torch

    from spacevrp.model import SpaceModel

# Of the time, for the model where a classical solver follows: more of it does not help the latter
# (docs/how-to/anytime.md has the measurement).
MODEL_SHARE = 0.1
# A classical solver builds matrices of size N x N first; with less time than this it only overruns.
_SECONDS_A_PAIR = 4e-7
# Beyond so much more than was given, it is said.
_TOLERANCE, _MOMENT = 0.05, 0.05


@dataclass(frozen=True)
class TimedAttempt(Attempt):
    """What came of a call with a time.

    Attributes
    ----------
    given, spent
        Seconds that were asked for, and that it took in truth.
    rounds
        What the model searched.
    improvements
        One entry an instance: what a classical solver made of the model's plan; None where nobody
        searched on from there.
    """

    given: float = 0.0
    spent: float = 0.0
    rounds: tuple[Round, ...] = ()
    improvements: tuple[Improvement | None, ...] = ()


def solve_for(
    problem: AnyProblem | Iterable[AnyProblem],
    time: float | str,
    *,
    solver: Solver | None = None,
    improve: bool = True,
    starts: int | None = None,
    candidates: int | None = None,
    seed: int = 0,
    progress: ShowProgress = False,
    batch_memory: int | None = None,
    clock: Clock = clocks.perf_counter,
) -> TimedAttempt:
    """Solve one problem or many within a time, with an account of it.

    The clock starts when the weights and the classical solvers are loaded. One view of all problems
    comes first, whatever it takes: there is a plan, or it is said why not. Where an installed
    solver models a problem exactly (see :func:`improve`), more views follow for a tenth of the
    time, and the solver searches on from the best plan; otherwise the model goes on to the end,
    with up to 128 views and then random draws. Several problems share the time in equal parts. The
    arguments that are not told here are those of :meth:`spacevrp.Solver.solve`.

    Parameters
    ----------
    time
        Seconds as a number, or such as ``"5s"`` or ``"2m"``; for all problems together.
    solver
        With the model; None to load the default.
    improve
        Whether classical solvers may search on.
    clock
        Tells the time in seconds.
    """
    seconds = as_seconds(time)
    problems, _ = as_problems(problem)
    model = Solver() if solver is None else solver
    engines = load_engines(problems) if improve else [[] for _ in problems]
    budget = Budget(seconds, clock)
    options = Options(starts, candidates, seed, batch_memory)
    with TimeBar(budget, progress) as bar:
        work = _Timed(problems, engines, budget, Rounds(model, problems, budget, options), bar)
        return work.run(seed)


def load_engines(problems: Sequence[Problem]) -> list[list[SolverOracle]]:
    """Who may search on from a plan of each problem, imported: that takes time of its own."""
    engines = [improvers(problem) for problem in problems]
    for engine in {one.name: one for several in engines for one in several}.values():
        engine.load()
    return engines


@dataclass
class _Timed:
    """One call: problems, who may improve each of them, and the time."""

    problems: Sequence[Problem]
    engines: Sequence[Sequence[SolverOracle]]
    budget: Budget
    rounds: Rounds
    bar: TimeBar

    def run(self, seed: int) -> TimedAttempt:
        """All of it."""
        self.bar.stage("first plan")
        first = self.rounds.first() if self.problems else _nothing()
        took = self.budget.spent
        best = self.rounds.best
        found = [number for number, plan in enumerate(best) if plan is not None]
        helped = [number for number in found if self.engines[number]]
        alone = [number for number in found if not self.engines[number]]
        self._search(found, MODEL_SHARE if helped else 1.0)
        if helped and alone:  # to each its part of what is left
            until = self.budget.spent + self.budget.left * len(alone) / len(found)
            self._search(alone, until / self.budget.seconds)
        improvements: list[Improvement | None] = [None] * len(self.problems)
        for turn, number in enumerate(helped):
            improvements[number] = self._improve(number, len(helped) - turn, seed)
        solutions = [
            plan if better is None else better.solution
            for plan, better in zip(best, improvements, strict=True)
        ]
        spent = self.budget.spent
        return TimedAttempt(
            solutions,
            first.reasons,
            self.rounds.seconds,
            self.rounds.refused,
            self._notes(took, spent),
            first.partial,
            given=self.budget.seconds,
            spent=spent,
            rounds=tuple(self.rounds.done),
            improvements=tuple(improvements),
        )

    def _search(self, numbers: Sequence[int], share: float) -> None:
        self.bar.stage("more views")
        self._show_mean()
        self.rounds.go_on(numbers, share * self.budget.seconds)
        self._show_mean()

    def _show_mean(self) -> None:
        costs = [plan.cost for plan in self.rounds.best if plan is not None]
        if costs:
            self.bar.cost(math.fsum(costs) / len(costs))

    def _improve(self, number: int, shared_by: int, seed: int) -> Improvement | None:
        """An equal part of what is left, for one of those whose turn is still to come."""
        problem, start = self.problems[number], self.rounds.best[number]
        assert start is not None
        part = self.budget.left / shared_by
        if part <= _SECONDS_A_PAIR * problem.size**2:
            return None
        label = "" if len(self.problems) == 1 else f" instance {number}"
        self.bar.stage(f"improving{label}")
        self.bar.cost(start.cost)
        return improve(
            problem,
            start,
            part,
            seed=seed,
            engines=self.engines[number],
            watch=self.bar.cost if self.bar.visible else None,
            clock=self.budget.clock,
        )

    def _notes(self, first: float, spent: float) -> tuple[str, ...]:
        """What the time was too short for."""
        given = self.budget.seconds
        if spent <= (1 + _TOLERANCE) * given + _MOMENT:
            return ()
        if first > given:
            return (f"the first plan took {first:.2f} s, more than the {given:g} s given",)
        return (f"{spent:.2f} s were spent, {given:g} s given",)


def _nothing() -> Attempt:
    from spacevrp.solver import Seconds

    return Attempt([], {}, Seconds())


# -------------------------------------------------------------------------------- the public face


@overload
def solve(
    problem: AnyProblem,
    augment: int | None = ...,
    device: str | torch.device = ...,
    *,
    time: float | str | None = ...,
    improve: bool = ...,
    starts: int | None = ...,
    candidates: int | None = ...,
    sample: int | None = ...,
    seed: int = ...,
    weights: str | Path | SpaceModel | None = ...,
    progress: ShowProgress = ...,
    batch_memory: int | None = ...,
    partial: bool = ...,
) -> Solution: ...


@overload
def solve(
    problem: Iterable[AnyProblem],
    augment: int | None = ...,
    device: str | torch.device = ...,
    *,
    time: float | str | None = ...,
    improve: bool = ...,
    starts: int | None = ...,
    candidates: int | None = ...,
    sample: int | None = ...,
    seed: int = ...,
    weights: str | Path | SpaceModel | None = ...,
    progress: ShowProgress = ...,
    batch_memory: int | None = ...,
    partial: bool = ...,
) -> list[Solution]: ...


def solve(
    problem: AnyProblem | Iterable[AnyProblem],
    augment: int | None = None,
    device: str | torch.device = "auto",
    *,
    time: float | str | None = None,
    improve: bool = True,
    starts: int | None = None,
    candidates: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    weights: str | Path | SpaceModel | None = None,
    progress: ShowProgress = False,
    batch_memory: int | None = None,
    partial: bool = False,
) -> Solution | list[Solution]:
    """Solve one problem or many: with so many views, or within a time.

    The arguments that are not told here are those of :class:`Solver` and :meth:`Solver.solve`.
    Weights are loaded anew at each call; keep a :class:`Solver` to load them once.

    Parameters
    ----------
    augment
        Views of each instance; None for 8. Not with ``time``, which decides it.
    time
        Spend so long, seconds or such as ``"5s"`` or ``"2m"``, on all problems together: a quick
        plan, more views, and then PyVRP or OR-Tools from the best plan on where they are installed
        and model the problem exactly, or else views and random draws. What is too short for the
        first plan is a warning. See :func:`spacevrp.anytime.solve_for`, which gives an account.
    improve
        With ``time``, whether classical solvers may search on.
    sample
        Further rounds that draw their moves; None for 0. Not with ``time``, which decides it.
    """
    if time is None:
        return solve_at_once(
            problem,
            8 if augment is None else augment,
            device,
            starts=starts,
            candidates=candidates,
            sample=0 if sample is None else sample,
            seed=seed,
            weights=weights,
            progress=progress,
            batch_memory=batch_memory,
            partial=partial,
        )
    refuse_with_time(augment=augment, sample=sample)
    seconds = as_seconds(time)  # before the weights are loaded
    attempt = solve_for(
        problem,
        seconds,
        solver=Solver(weights, device),
        improve=improve,
        starts=starts,
        candidates=candidates,
        seed=seed,
        progress=progress,
        batch_memory=batch_memory,
    )
    for note in attempt.notes:
        warnings.warn(note, RuntimeWarning, stacklevel=2)
    if attempt.reasons and not partial:
        raise NoPlanError(attempt.reasons, attempt.solutions, attempt.partial)
    return attempt.best[0] if is_one(problem) else attempt.best


def refuse_with_time(**given: int | None) -> None:
    """Raise for what a time decides, and was said all the same."""
    for name, value in given.items():
        if value is not None:
            raise SpacevrpError(f"{name}: expected none with a time, which decides it")

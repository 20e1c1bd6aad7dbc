"""Solving within a time: the model first, then a classical solver from the model's plan on."""

from __future__ import annotations

import math
import time as clocks
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

from spacevrp.anytime.budget import Budget, Clock, as_seconds
from spacevrp.anytime.engines import STRONG, engines_for
from spacevrp.anytime.improving import Improvement, improve
from spacevrp.anytime.progress import TimeBar
from spacevrp.anytime.rounds import Options, Round, Rounds
from spacevrp.anytime.serving import serve_more
from spacevrp.oracles import SolverOracle
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.inputs import as_problems, is_one
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.problems.warning import warn
from spacevrp.solver import Attempt, NoPlanError, Solver
from spacevrp.solver import solve as solve_at_once
from spacevrp.solver.reasons import tell
from spacevrp.solver.solver import AnyProblem
from spacevrp.solver.work import ShowProgress

if TYPE_CHECKING:
    import torch

    from spacevrp.model import SpaceModel

# Of the time, for the model where a classical solver follows: more of it does not help the latter
# (docs/how-to/anytime.md has the measurement).
MODEL_SHARE = 0.1
# The same where PyVRP does not, but OR-Tools or the local search.
MODEL_SHARE_ALONE = 0.6
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
        One entry an instance: what a solver made of the model's complete plan; None where nobody
        searched on from there, and where the model had left somebody out.
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
    comes first, whatever it takes: there is a plan, and maybe somebody is left out. More views
    follow for a tenth of the time where PyVRP is installed and models a problem exactly, for six
    tenths otherwise. Then PyVRP, OR-Tools or the local search goes on from the best plan (see
    :func:`improve`): to serve more where somebody is left out, else to cost less. Where none of
    them can, and without ``improve``, the model goes on to the end, with up to 128 views and then
    random draws. Several problems share the time in equal parts. The arguments that are not told
    here are those of :meth:`spacevrp.Solver.solve`.

    Parameters
    ----------
    time
        Seconds as a number, or such as ``"5s"`` or ``"2m"``; for all problems together.
    solver
        With the model; None to load the default.
    improve
        Whether classical solvers and the local search may go on from the model's plans.
    clock
        Tells the time in seconds.
    """
    seconds = as_seconds(time)
    problems, _ = as_problems(problem)
    model = Solver() if solver is None else solver
    engines = load_engines(problems) if improve else [[] for _ in problems]
    budget = Budget(seconds, clock)
    options = Options(starts, candidates, seed, batch_memory, improve)
    with TimeBar(budget, progress) as bar:
        persist = not all(engines)  # somebody else does, if anybody can
        rounds = Rounds(model, problems, budget, options, persist)
        return _Timed(problems, engines, budget, rounds, bar).run(seed)


def load_engines(problems: Sequence[Problem]) -> list[list[SolverOracle]]:
    """Who may search on from a plan of each problem, imported: that takes time of its own."""
    engines = [engines_for(problem) for problem in problems]
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
        if self.problems:
            self.rounds.first()
        took = self.budget.spent
        everybody = list(range(len(self.problems)))
        helped = [number for number in everybody if self.engines[number]]
        alone = [number for number in everybody if not self.engines[number]]
        self._search(everybody, self._share(helped))
        if helped and alone:  # to each its part of what is left
            until = self.budget.spent + self.budget.left * len(alone) / len(everybody)
            self._search(alone, until / self.budget.seconds)
        improvements: list[Improvement | None] = [None] * len(self.problems)
        for turn, number in enumerate(helped):
            improvements[number] = self._improve(number, len(helped) - turn, seed)
        rounds = self.rounds
        reasons = {n: rounds.reasons[n] or tell(plan) for n, plan in sorted(rounds.partial.items())}
        spent = self.budget.spent
        return TimedAttempt(
            list(rounds.best),
            reasons,
            rounds.seconds,
            rounds.refused,
            self._notes(took, spent),
            rounds.partial,
            given=self.budget.seconds,
            spent=spent,
            rounds=tuple(rounds.done),
            improvements=tuple(improvements),
        )

    def _share(self, helped: Sequence[int]) -> float:
        """Of the time, for the model alone."""
        if not helped:
            return 1.0
        strong = any(self.engines[number][0].name in STRONG for number in helped)
        return MODEL_SHARE if strong else MODEL_SHARE_ALONE

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
        part = self.budget.left / shared_by
        if part <= _SECONDS_A_PAIR * problem.size**2:
            return None
        label = "" if len(self.problems) == 1 else f" instance {number}"
        if start is None:
            self.bar.stage(f"serving more{label}")
            self._serve_more(number, self.budget.spent + part, seed)
            return None
        self.bar.stage(f"improving{label}")
        self.bar.cost(start.cost)
        improvement = improve(
            problem,
            start,
            part,
            seed=seed,
            engines=self.engines[number],
            watch=self.bar.cost if self.bar.visible else None,
            clock=self.budget.clock,
        )
        self.rounds.note(number, improvement.solution)
        return improvement

    def _serve_more(self, number: int, until: float, seed: int) -> None:
        """Better plans for a problem that has no complete one yet."""
        before = self.rounds.partial[number]
        found = serve_more(before, self.budget, until, self.engines[number], seed)
        if found.feasible:
            self.rounds.note(number, found)
        elif found is not before:
            self.rounds.partial[number], self.rounds.reasons[number] = found, ""

    def _notes(self, first: float, spent: float) -> tuple[str, ...]:
        """What the time was too short for."""
        given = self.budget.seconds
        if spent <= (1 + _TOLERANCE) * given + _MOMENT:
            return ()
        if first > given:
            return (f"the first plan took {first:.2f} s, more than the {given:g} s given",)
        return (f"{spent:.2f} s were spent, {given:g} s given",)


# -------------------------------------------------------------------------------- the public face


@overload
def solve(
    problem: AnyProblem,
    augment: int | None = ...,
    device: str | torch.device = ...,
    *,
    time: float | str | None = ...,
    improve: bool | None = ...,
    starts: int | None = ...,
    candidates: int | None = ...,
    sample: int | None = ...,
    replan: int | None = ...,
    seed: int = ...,
    weights: str | Path | SpaceModel | None = ...,
    progress: ShowProgress = ...,
    batch_memory: int | None = ...,
    partial: bool = ...,
    protocol: str | None = ...,
    threads: int | None = ...,
) -> Solution: ...


@overload
def solve(
    problem: Iterable[AnyProblem],
    augment: int | None = ...,
    device: str | torch.device = ...,
    *,
    time: float | str | None = ...,
    improve: bool | None = ...,
    starts: int | None = ...,
    candidates: int | None = ...,
    sample: int | None = ...,
    replan: int | None = ...,
    seed: int = ...,
    weights: str | Path | SpaceModel | None = ...,
    progress: ShowProgress = ...,
    batch_memory: int | None = ...,
    partial: bool = ...,
    protocol: str | None = ...,
    threads: int | None = ...,
) -> list[Solution]: ...


def solve(
    problem: AnyProblem | Iterable[AnyProblem],
    augment: int | None = None,
    device: str | torch.device = "auto",
    *,
    time: float | str | None = None,
    improve: bool | None = None,
    starts: int | None = None,
    candidates: int | None = None,
    sample: int | None = None,
    replan: int | None = None,
    seed: int = 0,
    weights: str | Path | SpaceModel | None = None,
    progress: ShowProgress = False,
    batch_memory: int | None = None,
    partial: bool = False,
    protocol: str | None = None,
    threads: int | None = 1,
) -> Solution | list[Solution]:
    """Solve one problem or many: with so many views, or within a time.

    The arguments that are not told here are those of :class:`Solver` and :meth:`Solver.solve`.
    Weights are loaded anew at each call; keep a :class:`Solver` to load them once.

    Parameters
    ----------
    augment
        Views of each instance; None for what the protocol has, mostly 8. Not with ``time``, which
        decides it.
    time
        Spend so long, seconds or such as ``"5s"`` or ``"2m"``, on all problems together: a quick
        plan, more views, and then PyVRP or OR-Tools from the best plan on where they are installed
        and model the problem exactly, or else a local search. What is too short for the first plan
        is a warning. See :func:`spacevrp.anytime.solve_for`, which gives an account.
    improve
        Whether anybody but the model may search: with ``time`` as told there, without it as in
        :meth:`Solver.solve`.
    sample
        Further rounds that draw their moves; None as in :meth:`Solver.solve`. Not with ``time``,
        which decides it.
    replan
        Times at most that plans are planned anew, region by region; None for 16. Not with ``time``,
        which decides it.
    protocol
        ``"paper"``, ``"network"`` or ``"default"``, as in :meth:`Solver.solve`. Not with ``time``.
    """
    if time is None:
        return solve_at_once(
            problem,
            augment,
            device,
            starts=starts,
            candidates=candidates,
            sample=sample,
            seed=seed,
            weights=weights,
            progress=progress,
            batch_memory=batch_memory,
            partial=partial,
            improve=improve,
            replan=replan,
            protocol=protocol,
            threads=threads,
        )
    refuse_with_time(augment=augment, sample=sample, replan=replan, protocol=protocol)
    seconds = as_seconds(time)  # before the weights are loaded
    attempt = solve_for(
        problem,
        seconds,
        solver=Solver(weights, device, threads=threads),
        improve=improve is not False,
        starts=starts,
        candidates=candidates,
        seed=seed,
        progress=progress,
        batch_memory=batch_memory,
    )
    for note in attempt.notes:
        warn(note, RuntimeWarning)
    if attempt.reasons and not partial:
        raise NoPlanError(attempt.reasons, attempt.solutions, attempt.partial)
    return attempt.best[0] if is_one(problem) else attempt.best


def refuse_with_time(**given: int | str | None) -> None:
    """Raise for what a time decides, and was said all the same."""
    for name, value in given.items():
        if value is not None:
            raise SpacevrpError(f"{name}: expected none with a time, which decides it")

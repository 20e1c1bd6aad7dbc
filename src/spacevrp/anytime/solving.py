"""Solving within a time: what a call without one does, then other solvers from its plan on."""

from __future__ import annotations

import functools
import math
import time as clocks
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spacevrp.anytime.budget import as_seconds
from spacevrp.anytime.engines import STRONG, engines_for
from spacevrp.anytime.improving import Improvement, improve_until
from spacevrp.anytime.plans import BestPlans, Callback, as_starts, stopping_on_interrupt
from spacevrp.anytime.progress import TimeBar
from spacevrp.anytime.rounds import Options, Round, Rounds
from spacevrp.anytime.serving import serve_more
from spacevrp.oracles import SolverOracle
from spacevrp.problems.deadline import Clock, Deadline
from spacevrp.problems.inputs import as_problems
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Attempt, Solver
from spacevrp.solver.quick import quick_plan
from spacevrp.solver.reasons import tell
from spacevrp.solver.solver import AnyProblem
from spacevrp.solver.work import ShowProgress

# Of the time, for the model where there is not enough for all of a call without a time and PyVRP
# takes over: more of it does not help the latter (docs/how-to/anytime.md has the measurement).
MODEL_SHARE = 0.1
# The same where customers are left out of the first plan.
_USUAL_SHARE = 0.5
# Of the time, for the reasons why customers are left out, at the most; and seconds for each.
_REASONS_SHARE, _REASON = 0.15, 0.05
# Nodes up to which the better plans of a search are noted as they come, and not only in the end.
_OFTEN_JUDGED = 200
# Beyond so much more than was given, it is said.
_TOLERANCE, _MOMENT = 0.05, 0.2


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
    callback: Callback | None = None,
    start: Any = None,
    explain: bool = False,
    clock: Clock = clocks.perf_counter,
) -> TimedAttempt:
    """Solve one problem or many within a time, with an account of it.

    The clock starts when the weights and the classical solvers are loaded, and the time is a limit:
    every stage looks at it, and what cannot be interrupted is not begun unless it is expected to
    fit. A quick plan of all problems comes first. Then all that a call without a time does, in the
    same order, with the same seed; then PyVRP, OR-Tools or the local search from the best plan on
    (see :func:`improve`): to serve more where customers are left out, else to cost less. Where none
    of them can, and without ``improve``, more views follow, up to 128 and then random draws. Where
    PyVRP models a problem and the time is too short for a call without one, PyVRP takes its place.
    Several problems share the time in equal parts. The arguments that are not told here are those
    of :meth:`spacevrp.Solver.solve`.

    Parameters
    ----------
    time
        Seconds as a number, or such as ``"5s"`` or ``"2m"``; for all problems together.
    solver
        With the model; None to load the default.
    improve
        Whether classical solvers and the local search may go on from the model's plans.
    explain
        Find the reasons for all customers who are left out within the time, too, as far as it goes.
        Otherwise this is done when they are asked for.
    clock
        Tells the time in seconds.

    Raises
    ------
    KeyboardInterrupt
        If it comes before there is any plan. Later it ends the time: the best plans so far are
        returned.
    """
    seconds = as_seconds(time)
    problems, _ = as_problems(problem)
    given = as_starts(start, problem, problems)
    model = Solver() if solver is None else solver
    engines = load_engines(problems) if improve else [[] for _ in problems]
    deadline = Deadline(seconds, clock)
    options = Options(starts, candidates, seed, batch_memory, improve)
    plans = BestPlans(problems, deadline, callback)
    persist = not all(engines)  # others do, if any can
    rounds = Rounds(model, problems, deadline, options, plans, persist)
    with TimeBar(deadline, progress) as bar, stopping_on_interrupt(deadline, plans):
        timed = _Timed(problems, engines, deadline, rounds, plans, bar, given)
        try:
            timed.run(seed)
        except KeyboardInterrupt:
            if not plans.any:
                raise
            deadline.interrupt()
        return timed.attempt(explain)


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
    deadline: Deadline
    rounds: Rounds
    plans: BestPlans
    bar: TimeBar
    given: Mapping[int, Solution]
    improvements: dict[int, Improvement] = field(default_factory=dict)

    def run(self, seed: int) -> None:
        """All of it, until the time is up."""
        for number, plan in self.given.items():
            self.plans.offer(number, plan)
        self.bar.stage("first plan")
        if self.problems:
            self.rounds.first()
        everything = list(range(len(self.problems)))
        helped = [number for number in everything if self.engines[number]]
        alone = [number for number in everything if not self.engines[number]]
        short = self._short(helped)
        hurried = [number for number in short if self.plans.complete[number] is not None]
        # To each its part of the time; half of it where a strong solver is still to serve more.
        parts = {n: _USUAL_SHARE if n in short else 1.0 for n in everything if n not in hurried}
        self._usual(list(parts), sum(parts.values()) / max(len(everything), 1))
        self._search(hurried, MODEL_SHARE * self.deadline.seconds)
        if alone:  # to each its part of what is left
            left = self._working.left * len(alone) / len(everything)
            self._search(alone, self.deadline.spent + left)
        for turn, number in enumerate(helped):
            self._improve(number, len(helped) - turn, seed)

    @property
    def _working(self) -> Deadline:
        """The deadline of all but the reasons for those who are left out."""
        left = sum(_left_out(plan) for plan in self.plans.partial.values())
        seconds = self.deadline.seconds
        return self.deadline.until(seconds - min(_REASONS_SHARE * seconds, _REASON * left))

    def _short(self, helped: Sequence[int]) -> list[int]:
        """Problems of strong solvers, if there is no time for all of a call without a time."""
        strong = [number for number in helped if self.engines[number][0].name in STRONG]
        fits = self.rounds.usual_seconds(strong) <= self.deadline.left
        return [] if fits else strong

    def _usual(self, numbers: Sequence[int], share: float) -> None:
        self.bar.stage("model and local search")
        self._show_mean()
        until = self.deadline.until(self.deadline.spent + share * self._working.left)
        self.rounds.usual(numbers, until, self.given)
        self._show_mean()

    def _search(self, numbers: Sequence[int], until: float) -> None:
        if numbers:
            self.bar.stage("more views")
            self.rounds.go_on(numbers, until)
            self._show_mean()

    def _show_mean(self) -> None:
        costs = [plan.cost for plan in self.plans.complete if plan is not None]
        if costs:
            self.bar.cost(math.fsum(costs) / len(costs))

    def _improve(self, number: int, shared_by: int, seed: int) -> None:
        """An equal part of what is left, for one of those whose turn is still to come."""
        working = self._working
        if working.over:
            return
        part = working.until(working.spent + working.left / shared_by)
        start, offer = self.plans.complete[number], None
        # The referee takes its time to judge each of many large plans.
        if self.plans.hears or self.problems[number].size <= _OFTEN_JUDGED:
            offer = functools.partial(self.plans.offer, number)
        label = "" if len(self.problems) == 1 else f" instance {number}"
        if start is None:
            self.bar.stage(f"serving more{label}")
            found = serve_more(self.plans.partial[number], part, self.engines[number], seed, offer)
            self.plans.offer(number, found)
            return
        self.bar.stage(f"improving{label}")
        self.bar.cost(start.cost)
        self.improvements[number] = improve_until(
            start,
            part,
            self.engines[number],
            seed=seed,
            watch=self.bar.cost if self.bar.visible else None,
            better=offer,
        )
        self.plans.offer(number, self.improvements[number].solution)

    def attempt(self, explain: bool) -> TimedAttempt:
        """What came of it, with a plan for every problem and the reasons for partial ones."""
        plans, rounds, deadline = self.plans, self.rounds, self.deadline
        for number, problem in enumerate(self.problems):
            if plans.of(number) is None:  # the call was interrupted
                plans.partial[number] = quick_plan(problem, deadline)
        reasons = {}
        for number, plan in sorted(plans.partial.items()):
            named = plan.explain_until(deadline).unserved if explain else None
            reasons[number] = tell(plan, rounds.reasons.get(number, ""), deadline, named)
        spent = deadline.spent
        return TimedAttempt(
            list(plans.complete),
            reasons,
            rounds.seconds,
            rounds.refused,
            (*rounds.notes, *self._notes(spent)),
            plans.partial,
            given=deadline.seconds,
            spent=spent,
            rounds=tuple(rounds.done),
            improvements=tuple(map(self.improvements.get, range(len(self.problems)))),
        )

    def _notes(self, spent: float) -> tuple[str, ...]:
        """Whether the call was interrupted, or took longer than it should have."""
        given = self.deadline.seconds
        if self.deadline.interrupted:
            return (f"interrupted after {spent:.2f} s of {given:g} s: the best plans so far",)
        if spent <= given + max(_TOLERANCE * given, _MOMENT):
            return ()
        return (f"{spent:.2f} s were spent, {given:g} s given",)


def _left_out(plan: Solution) -> int:
    return sum(violation.code == "visit" for violation in plan.violations)

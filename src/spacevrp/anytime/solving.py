"""Solving within a time: the network, then the search from its plans on."""

from __future__ import annotations

import functools
import math
import time as clocks
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from spacevrp import native
from spacevrp.anytime.budget import as_seconds
from spacevrp.anytime.engines import CompiledSearch, engines_for
from spacevrp.anytime.improving import Improvement, improve_until
from spacevrp.anytime.plans import BestPlans, Callback, as_starts
from spacevrp.anytime.progress import TimeBar
from spacevrp.anytime.rounds import Options, Round, Rounds
from spacevrp.anytime.serving import serve_more
from spacevrp.oracles import SolverOracle
from spacevrp.problems.deadline import Clock, Deadline, TimeIsUp, stopping_on_interrupt
from spacevrp.problems.inputs import as_problems
from spacevrp.problems.problem import Problem
from spacevrp.problems.recourse import expected_cost
from spacevrp.problems.solution import Solution
from spacevrp.search import Stop
from spacevrp.search import improve as search
from spacevrp.solver import Attempt, Solver
from spacevrp.solver.effort import MOST_FOR_NETWORK, VIEWS, without_network
from spacevrp.solver.reasons import tell
from spacevrp.solver.solver import AnyProblem
from spacevrp.solver.work import ShowProgress

# Of the time, for the network at the most, where a search follows.
NETWORK_SHARE = 0.25
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
        What the network searched.
    improvements
        One entry an instance: what a solver made of its first complete plan; None where none
        searched on from there, and where the first plan had left customers out.
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

    The clock starts when the weights and the solvers are loaded, and the time is a limit: every
    stage looks at it, and what cannot be interrupted is not begun unless it is expected to fit. A
    plan that the search constructs in no time comes first, then the network's plans from a few
    start nodes, and from more views as long as a quarter of the time is not over; beyond 1,000
    customers none. The rest is for the search, from the best plan on (see :func:`improve`): to
    serve more where customers are left out, else to cost less. Where it was not compiled, PyVRP or
    OR-Tools take its place; where none of them can, and without ``improve``, more views follow, up
    to 128 and then random draws. Several problems share the time in equal parts. The arguments that
    are not told here are those of :meth:`spacevrp.Solver.solve`.

    Parameters
    ----------
    time
        Seconds as a number, or such as ``"5s"`` or ``"2m"``; for all problems together.
    solver
        With the model; None to load the default.
    improve
        Whether the search or classical solvers may go on from the network's plans.
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
    options = Options(starts, candidates, seed, batch_memory)
    plans = BestPlans(problems, deadline, callback)
    persist = not all(engines)  # others do, if any can
    rounds = Rounds(model, problems, deadline, options, plans, persist)
    with TimeBar(deadline, progress) as bar, stopping_on_interrupt(deadline, lambda: plans.any):
        threads = model.engine.threads
        timed = _Timed(problems, engines, deadline, rounds, plans, bar, given, seed, threads)
        if improve and not native.available():
            rounds.notes.append(native.MISSING)
        try:
            timed.run(options)
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
    seed: int
    threads: int
    improvements: dict[int, Improvement] = field(default_factory=dict)

    def run(self, options: Options) -> None:
        """All of it, until the time is up."""
        for number, plan in self.given.items():
            self.plans.offer(number, plan, expected_cost(self.problems[number], plan))
        everything = range(len(self.problems))
        searched = [n for n in everything if _is_searched(self.engines[n])]
        helped = [n for n in everything if self.engines[n]]
        alone = [n for n in everything if not self.engines[n]]
        self.bar.stage("first plan")
        self._search(searched, Stop(iterations=0), self.deadline)
        seconds = NETWORK_SHARE * self.deadline.seconds if helped else self.deadline.seconds
        planned = self._planned(searched, options)
        if planned:
            self.rounds.first(planned, seconds)
        self._show_mean()
        self._more_views([n for n in helped if n in planned], seconds, VIEWS)
        if alone:  # to each its part of what is left
            left = self._working.left * len(alone) / len(everything)
            self._more_views(alone, self.deadline.spent + left)
        others = [n for n in helped if n not in searched]
        working = self._working
        part = working.left * len(searched) / max(len(helped), 1)
        self._improve_by_search(searched, working.until(working.spent + part))
        for turn, number in enumerate(others):
            self._improve(number, len(others) - turn)

    def _planned(self, searched: Sequence[int], options: Options) -> list[int]:
        """Whom the network plans: all but those who are so many that it does not pay."""
        if options.starts is not None or options.candidates is not None:
            return list(range(len(self.problems)))
        large = [n for n in searched if len(self.problems[n].customers) > MOST_FOR_NETWORK]
        self.rounds.notes += [without_network(self.problems[number]) for number in large]
        return [number for number in range(len(self.problems)) if number not in large]

    @property
    def _working(self) -> Deadline:
        """The deadline of all but the reasons for those who are left out."""
        left = sum(_left_out(plan) for plan in self.plans.partial.values())
        seconds = self.deadline.seconds
        return self.deadline.until(seconds - min(_REASONS_SHARE * seconds, _REASON * left))

    def _more_views(self, numbers: Sequence[int], until: float, most: int | None = None) -> None:
        if numbers:
            self.bar.stage("more views")
            self.rounds.go_on(numbers, until, most)
            self._show_mean()

    def _search(self, numbers: Sequence[int], stop: Stop, deadline: Deadline) -> None:
        """The compiled search from the best plans on, or from its own.

        Where visits reveal prizes the network's plans have reacted to them, and no search may begin
        there; what was expected of the plans decides.
        """
        if not numbers or deadline.over:
            return

        def found(place: int, plan: Solution, expected: float | None) -> None:
            if self.plans.offer(numbers[place], plan, expected):
                self.bar.cost(plan.cost)
            deadline.check()

        began = self.deadline.spent
        with suppress(TimeIsUp):
            plans = search(
                [self.problems[number] for number in numbers],
                [self._begin(number) for number in numbers],
                stop=stop,
                seed=self.seed,
                threads=self.threads,
                found=found,
                deadline=deadline,
            )
            for place, (number, plan) in enumerate(zip(numbers, plans, strict=True)):
                self.plans.offer(number, plan, plans.expected.get(place))
        self.rounds.seconds.improving += self.deadline.spent - began

    def _begin(self, number: int) -> Solution | None:
        """The plan that a search begins with."""
        unknown = self.problems[number].has_unknown_prizes
        return self.given.get(number) if unknown else self.plans.of(number)

    def _improve_by_search(self, numbers: Sequence[int], deadline: Deadline) -> None:
        """The same for all of the deadline, with an account of it."""
        self.bar.stage("search")
        starts = {number: self.plans.complete[number] for number in numbers}
        began = self.deadline.spent
        self._search(numbers, Stop(), deadline)
        spent, own = self.deadline.spent - began, CompiledSearch()
        for number, start in starts.items():
            found = self.plans.complete[number]
            if start is not None and found is not None:
                self.improvements[number] = Improvement(
                    found, start, own.name, own.version(), spent
                )

    def _show_mean(self) -> None:
        costs = [plan.cost for plan in self.plans.complete if plan is not None]
        if costs:
            self.bar.cost(math.fsum(costs) / len(costs))

    def _improve(self, number: int, shared_by: int) -> None:
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
            found = serve_more(
                self.plans.partial[number], part, self.engines[number], self.seed, offer
            )
            self.plans.offer(number, found)
            return
        self.bar.stage(f"improving{label}")
        self.bar.cost(start.cost)
        self.improvements[number] = improve_until(
            start,
            part,
            self.engines[number],
            seed=self.seed,
            watch=self.bar.cost if self.bar.visible else None,
            better=offer,
        )
        self.plans.offer(number, self.improvements[number].solution)

    def attempt(self, explain: bool) -> TimedAttempt:
        """What came of it, with a plan for every problem and the reasons for partial ones."""
        plans, rounds, deadline = self.plans, self.rounds, self.deadline
        for number, problem in enumerate(self.problems):
            if plans.of(number) is None:  # the call was interrupted
                plans.partial[number] = Solution.judged(problem, ())
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


def _is_searched(engines: Sequence[SolverOracle]) -> bool:
    """Whether the compiled search goes on from the plans."""
    return bool(engines) and isinstance(engines[0], CompiledSearch)


def _left_out(plan: Solution) -> int:
    return sum(violation.code == "visit" for violation in plan.violations)

"""The stage that improves plans with the compiled search; the referee judges what comes of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spacevrp import native
from spacevrp.problems.conversion import show
from spacevrp.problems.deadline import Deadline, stopping_on_interrupt
from spacevrp.problems.errors import SpacevrpError, UnsupportedError
from spacevrp.problems.judging import judge_all, with_vehicles
from spacevrp.problems.problem import Problem
from spacevrp.problems.recourse import can_plan_ahead, carry_out
from spacevrp.problems.solution import Solution, lack
from spacevrp.problems.warning import RefusedWarning, warn
from spacevrp.search.model import Native, Plan, native_model, solution_of, solutions_of

# How plans can be constructed; the last takes least time.
CONSTRUCTIONS = ("savings", "regret", "insertion")
# Those that suit a problem.
USUAL = "usual"
# Customers up to which insertion by regret takes milliseconds.
_MOST_FOR_REGRET = 300
# Told of every better plan: the number of the problem, the plan, and what was expected of it where
# only visits reveal prizes.
Found = Callable[[int, Solution, float | None], object]
# What there is of a problem: a plan, several, or none.
Given = Solution | Sequence[Solution] | None

# Entries of matrices that are held at a time, so that many large problems do not fill the memory.
_ENTRIES = 2**26
# Of the time of a search, at most so much is spent on judging plans for the caller's callback.
_JUDGING = 0.1


@dataclass(frozen=True)
class Stop:
    """When the search for one problem ends: at whichever limit comes first.

    Parameters
    ----------
    seconds
        Of search for each problem; the construction of a first plan does not count.
    iterations
        Rounds of ruin and recreate. The same number and seed give the same plan on every machine
        and with any number of threads, if no time ends the search first.
    no_gain
        Rounds without a better plan.
    """

    seconds: float | None = None
    iterations: int | None = None
    no_gain: int | None = None

    def __post_init__(self) -> None:
        if self.seconds is not None:
            is_number = isinstance(self.seconds, int | float) and not isinstance(self.seconds, bool)
            if not is_number or not 0.0 <= self.seconds < math.inf:
                expected = "seconds of at least 0, or None"
                raise SpacevrpError(
                    f"stop, seconds: expected {expected}, received {show(self.seconds)}"
                )
        for name in ("iterations", "no_gain"):
            value = getattr(self, name)
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and (not is_whole or not 0 <= value < 2**62):
                expected = "a whole number of at least 0, or None"
                raise SpacevrpError(f"stop, {name}: expected {expected}, received {show(value)}")

    @property
    def is_empty(self) -> bool:
        """Whether nothing ends the search."""
        return self.seconds is None and self.iterations is None and self.no_gain is None


class Improved(list[Solution]):
    """The plans, one for each problem.

    Attributes
    ----------
    interrupted
        Whether Ctrl-C or the deadline's owner ended the search before its time.
    runs
        What the search says of each problem (``iterations``, ``seconds``, ``trace``); None where
        it did not run.
    expected
        Number of the problem -> what its plan was expected to cost when it was chosen, where only
        visits reveal prizes.
    """

    interrupted: bool = False
    runs: tuple[Any, ...] = ()
    expected: Mapping[int, float] = MappingProxyType({})


def improve(
    problems: Sequence[Problem],
    plans: Sequence[Given],
    *,
    stop: Stop,
    seed: int = 0,
    threads: int = 1,
    found: Found | None = None,
    starts: Sequence[str] | Literal["usual"] | None = None,
    deadline: Deadline | None = None,
    candidates: Sequence[NDArray[np.int32] | None] | None = None,
) -> Improved:
    """Improve a plan for each problem, or construct one and improve it.

    A plan never becomes worse in the referee's eyes: first fewer compulsory customers without a
    visit, then less cost. The same seed is used for every problem, so a problem gets the same plan
    alone and among others.

    Where only visits reveal prizes, plans are made and compared as if every visit yielded what is
    expected of it, and a plan never becomes worse in that sense. Of a given plan that would collect
    too little then, the cost includes further visits. The best plan meets the real prizes in the
    end: where they fall short, it is prolonged without looking at those to come (see
    ``problems.recourse``), so it may cost more than was expected, and more than the given plan. A
    given plan must not depend on the real prizes. Where a rule may forbid further visits (vehicles
    that differ, capacities, windows, lengths), plans are kept as they are.

    Parameters
    ----------
    problems, plans
        As many of both; None where a plan is to be constructed. A plan may break rules: the routes
        that do are taken apart. Of several plans for a problem the best is the one to improve, and
        a long search begins with the others, too.
    stop
        When the search for each problem ends. May be empty where the deadline ends.
    seed
        Of all random choices.
    threads
        Over problems; a single problem is divided among them.
    found
        Told the number of a problem, a plan, and what was expected of it where only visits reveal
        prizes (else None), whenever there is a better one. An exception in it ends the search and
        is raised.
    starts
        Constructions to begin with as well, where they are better than the plan: some of
        ``savings``, ``regret`` and ``insertion``, or ``"usual"`` for those that suit the problem.
        By default the usual ones where there is no plan, and none otherwise.
    deadline
        For all of it. The problems share what is left of it equally. Ctrl-C interrupts it: the best
        plans so far are returned.
    candidates
        For each problem None, or the customers (N, C) that each node is tried next to, best first,
        in place of the nearest ones; -1 ends a list.

    Raises
    ------
    UnsupportedError
        Without the compiled module.
    SpacevrpError
        Not one plan for each problem, or an argument out of range.
    """
    if native.core is None:
        raise UnsupportedError(native.MISSING)
    until = Deadline() if deadline is None else deadline
    lists = [None] * len(problems) if candidates is None else list(candidates)
    stage = _Stage(problems, stop, seed, threads, found, starts, until, lists)
    stage.check(plans)
    with stopping_on_interrupt(until):
        stage.take(plans)
        for numbers in _portions(problems, threads, until):
            stage.run(numbers)
        return stage.improved()


def _check_candidates(
    problems: Sequence[Problem], candidates: Sequence[NDArray[np.int32] | None]
) -> None:
    if len(candidates) != len(problems):
        raise SpacevrpError(
            f"candidates: expected one for each of {len(problems)} problems, "
            f"received {len(candidates)}"
        )
    for number, (problem, given) in enumerate(zip(problems, candidates, strict=True)):
        if given is None:
            continue
        lists, where = np.asarray(given), f"candidates, number {number}"
        if lists.ndim != 2 or lists.shape[0] != problem.size or lists.shape[1] < 1:
            expected = f"a list for each of {problem.size} nodes, (N, C)"
            raise SpacevrpError(f"{where}: expected {expected}, received shape {lists.shape}")
        if not np.issubdtype(lists.dtype, np.integer):
            raise SpacevrpError(f"{where}: expected whole numbers, received {lists.dtype}")
        wrong = ~np.isin(lists, [-1, *problem.customers])
        if wrong.any():
            expected = "customers, or -1 behind the last"
            raise SpacevrpError(f"{where}: expected {expected}, received {lists[wrong][0]}")


def _refereed(problems: Sequence[Problem], plans: Sequence[Solution]) -> list[Solution]:
    """The plans with the referee's verdicts, one for each of these very problems."""
    refereed = list(plans)
    foreign = [n for n, plan in enumerate(plans) if plan.problem is not problems[n]]
    judged = judge_all(
        [problems[number] for number in foreign],
        [with_vehicles(plans[number].routes, plans[number].vehicles) for number in foreign],
    )
    for number, plan in zip(foreign, judged, strict=True):
        refereed[number] = plan
    return refereed


def _portions(problems: Sequence[Problem], threads: int, deadline: Deadline) -> Iterator[list[int]]:
    """Numbers of problems to work on together: those that fit into memory, or one a thread.

    With a deadline each portion gets its part of what is left, and what one does not use is left
    for the next.
    """
    most = threads if deadline.seconds < math.inf else len(problems)
    portion: list[int] = []
    held = 0
    for number, problem in enumerate(problems):
        entries = problem.size**2
        if portion and (held + entries > _ENTRIES or len(portion) >= most):
            yield portion
            portion, held = [], 0
        portion.append(number)
        held += entries
    if portion:
        yield portion


def usual_starts(problem: Problem) -> Sequence[str]:
    """By regret only where it is quick and better than other insertion: where rules bind."""
    features = problem.features
    binding = features.time_windows or features.pickup_delivery or bool(problem.vehicles)
    if binding and len(problem.customers) <= _MOST_FOR_REGRET:
        return CONSTRUCTIONS
    return [method for method in CONSTRUCTIONS if method != "regret"]


def rank(plan: Solution) -> tuple[float, ...]:
    """What makes a plan better: no broken rule, then little left undone, then less cost."""
    return not plan.is_legal, *lack(plan)


@dataclass
class _Stage:
    """One call: what was asked for, and the best plan of each problem so far."""

    problems: Sequence[Problem]
    stop: Stop
    seed: int
    threads: int
    found: Found | None
    starts: Sequence[str] | Literal["usual"] | None
    deadline: Deadline
    candidates: Sequence[NDArray[np.int32] | None]
    best: dict[int, Solution] = field(default_factory=dict)
    others: dict[int, list[Solution]] = field(default_factory=dict)
    # The best as planned, where visits reveal prizes.
    expected: dict[int, Solution] = field(default_factory=dict)
    runs: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._left = len(self.problems)

    def check(self, plans: Sequence[Given]) -> None:
        """Raise for plans that do not belong to the problems, and for what is out of range."""
        problems = self.problems
        if len(plans) != len(problems):
            raise SpacevrpError(
                f"plans: expected one for each of {len(problems)} problems, received {len(plans)}"
            )
        for number, (problem, plan) in enumerate(zip(problems, plans, strict=True)):
            if plan is None and not can_plan_ahead(problem):
                expected = "a plan where only visits reveal the prizes, and rules limit these"
                raise SpacevrpError(f"plans, number {number}: expected {expected}, received None")
        if self.stop.is_empty and self.deadline.seconds == math.inf:
            raise SpacevrpError(
                "stop: expected a limit on seconds, iterations or no_gain, received none"
            )
        for name, value, least in (("seed", self.seed, 0), ("threads", self.threads, 1)):
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            if not is_whole or not least <= value < 2**63:
                expected = f"a whole number of at least {least}"
                raise SpacevrpError(f"{name}: expected {expected}, received {show(value)}")
        for method in () if self.starts is None or self.starts == USUAL else self.starts:
            if method not in CONSTRUCTIONS:
                raise SpacevrpError(
                    f"starts: expected some of {CONSTRUCTIONS}, received {show(method)}"
                )
        _check_candidates(problems, self.candidates)

    def take(self, plans: Sequence[Given]) -> None:
        """The plans that there are: the best of each problem, and its others."""
        flat = [
            (number, plan)
            for number, given in enumerate(plans)
            for plan in ([given] if isinstance(given, Solution) else given or ())
        ]
        of_problems = [self.problems[number] for number, _ in flat]
        judged = _refereed(of_problems, [plan for _, plan in flat])
        for (number, _), plan in zip(flat, judged, strict=True):
            self.others.setdefault(number, []).append(plan)
        for number, several in self.others.items():
            best = min(range(len(several)), key=lambda place: rank(several[place]))
            self.best[number] = several.pop(best)

    def run(self, numbers: Sequence[int]) -> None:
        """Search for these problems, one or several at the same time."""
        until = self._until(len(numbers))
        wanted = [number for number in numbers if can_plan_ahead(self.problems[number])]
        models = [native_model(self.problems[n], self.candidates[n]) for n in wanted]
        for number, one in zip(wanted, models, strict=True):
            self._expect(number, one.problem)
        begins = [self._begin(number, one) for number, one in zip(wanted, models, strict=True)]
        others = [
            [one.start_of(plan) for plan in self.others.get(number, ())]
            for number, one in zip(wanted, models, strict=True)
        ]
        limits = self._limits(until)
        if limits["seconds"] == 0.0 or not wanted:  # no time, but what was constructed is a plan
            self._keep_all(wanted, models, begins)
            return
        if len(wanted) == 1:
            listen = self._listener(wanted[0], models[0])
            runs = [
                models[0].model.search(
                    *begins[0],
                    seed=self.seed,
                    threads=self.threads,
                    callback=listen,
                    others=others[0],
                    **limits,
                )
            ]
        else:
            assert native.core is not None  # looked at when the call began
            runs = native.core.search_many(
                [one.model for one in models],
                begins,
                seeds=[self.seed] * len(models),
                threads=self.threads,
                callback=self._listeners(wanted, models),
                others=others,
                **limits,
            )
        self.runs.update(zip(wanted, runs, strict=True))
        self._keep_all(wanted, models, [(run.routes, run.types) for run in runs])

    def _until(self, problems: int) -> Deadline:
        """The part of the deadline for so many problems of those that are left."""
        rounds = math.ceil(self._left / max(problems, 1))
        self._left -= problems
        if self.deadline.left == math.inf:
            return self.deadline
        return self.deadline.until(self.deadline.spent + self.deadline.left / rounds)

    def _limits(self, until: Deadline) -> dict[str, Any]:
        """When the compiled search ends; -1 where there is no such limit."""
        stop = self.stop
        seconds = min(math.inf if stop.seconds is None else stop.seconds, max(until.left, 0.0))
        return {
            "seconds": -1.0 if seconds == math.inf else seconds,
            "iterations": -1 if stop.iterations is None else stop.iterations,
            "no_gain": -1 if stop.no_gain is None else stop.no_gain,
            "should_stop": lambda: self.deadline.over,
        }

    def _begin(self, number: int, one: Native) -> Plan:
        """The best of the plan that was given and those that are constructed."""
        given = self._held(number)
        begins = [] if given is None else [one.start_of(given)]
        methods = self.starts
        if methods == USUAL or (methods is None and given is None):
            methods = usual_starts(one.problem)
        methods = methods or ()
        if self.deadline.over and not begins:
            methods = methods[-1:] or CONSTRUCTIONS[-1:]  # a plan there must be
        begins += [one.model.construct(method, self.seed) for method in methods]
        if len(begins) == 1:
            return begins[0]

        def worth(plan: Plan) -> tuple[bool, int, float]:
            told = one.model.evaluate(*plan)
            return not told["feasible"], len(told["unserved"]), told["cost"]

        return min(begins, key=worth, default=([], []))

    def _listener(self, number: int, one: Native) -> Callable[..., None] | None:
        """Judges the plans that a search finds on its way and tells the caller of better ones."""
        if self.found is None:
            return None
        clock = time.perf_counter
        free_from = clock()

        def listen(routes: list[list[int]], types: list[int], cost: float) -> None:
            nonlocal free_from
            began = clock()
            if began < free_from:
                return  # judging a large plan takes time, which the search needs
            self._offer(number, one.solution(routes, types))
            free_from = clock() + (clock() - began) / _JUDGING

        return listen

    def _listeners(
        self, numbers: Sequence[int], models: Sequence[Native]
    ) -> Callable[..., None] | None:
        """The same for several problems, each told by its place."""
        if self.found is None:
            return None
        several = [self._listener(n, one) for n, one in zip(numbers, models, strict=True)]

        def listen(place: int, routes: list[list[int]], types: list[int], cost: float) -> None:
            listener = several[place]
            assert listener is not None  # there is someone to tell
            listener(routes, types, cost)

        return listen

    def _keep_all(
        self, numbers: Sequence[int], models: Sequence[Native], plans: Sequence[Plan]
    ) -> None:
        """Take plans over where the referee finds them better than those there are."""
        judged = solutions_of(models, plans)
        for number, one, plan, solution in zip(numbers, models, plans, judged, strict=True):
            if not solution.is_legal and one.model.evaluate(*plan)["feasible"]:
                name = one.problem.name or one.problem.variant_name
                warn(
                    f"problem {number} ({name}): the search returned a plan that the referee "
                    f"refuses, and it was dropped: {solution.violations[0].message}. Please report "
                    "this.",
                    RefusedWarning,
                )
            self._offer(number, solution)

    def _offer(self, number: int, plan: Solution) -> None:
        """Keep a plan, made with the prizes that are expected, if it is better in that sense."""
        held, problem = self._held(number), self.problems[number]
        if plan.is_legal and (held is None or rank(plan) < rank(held)):
            if problem.has_unknown_prizes:
                self.expected[number] = plan
            self.best[number] = carry_out(problem, plan) if problem.has_unknown_prizes else plan
            if self.found is not None:
                expected = plan.cost if problem.has_unknown_prizes else None
                self.found(number, self.best[number], expected)

    def _expect(self, number: int, known: Problem) -> None:
        """What is expected of a given plan, where only visits reveal prizes."""
        problem, given = self.problems[number], self.best.get(number)
        if given is not None and problem.has_unknown_prizes:
            self.expected[number] = carry_out(known, given)
            if not given.feasible:
                self.best[number] = carry_out(problem, given)

    def _held(self, number: int) -> Solution | None:
        """The best plan so far as it was planned."""
        return self.expected.get(number, self.best.get(number))

    def improved(self) -> Improved:
        """The best plans; one that serves no customer where there is no other."""
        plans = Improved()
        for number, problem in enumerate(self.problems):
            plans.append(self.best.get(number) or solution_of(problem, [], []))
        plans.expected = {number: plan.cost for number, plan in self.expected.items()}
        plans.interrupted = self.deadline.interrupted
        plans.runs = tuple(map(self.runs.get, range(len(self.problems))))
        return plans

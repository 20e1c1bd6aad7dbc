"""Problems in, plans out: reduce, construct, improve, judge.

:meth:`Solver.run` is the recipe. The network constructs plans of the problems, in the form that it
knows (``reduce``); the compiled search improves them; the referee has judged every plan that is
returned. Each stage offers its plans to one pool, so that a call can end at any time with the best
so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from spacevrp import native
from spacevrp.engines.choosing import EngineName, choose_engine
from spacevrp.engines.progress import ShowProgress
from spacevrp.inference.weights import DEFAULT_WEIGHTS
from spacevrp.problems.conversion import as_whole
from spacevrp.problems.deadline import NEVER, Deadline, stopping_on_interrupt
from spacevrp.problems.errors import SpacevrpError, UnsupportedError
from spacevrp.problems.problem import Problem, as_problems, is_one
from spacevrp.problems.recourse import can_plan_ahead
from spacevrp.problems.relations import unlearned
from spacevrp.problems.solution import Solution
from spacevrp.problems.warning import warn
from spacevrp.solver.budget import as_deadline
from spacevrp.solver.construct import Construct
from spacevrp.solver.effort import (
    BY_DESIGN,
    MOST_ITERATIONS,
    can_search,
    needs_no_network,
    pays_network,
    unlearned_by_network,
    without_network,
)
from spacevrp.solver.improve import Improve
from spacevrp.solver.params import SolveParams
from spacevrp.solver.pool import Callback, Pool, as_starts
from spacevrp.solver.protocol import Protocol, protocol_named
from spacevrp.solver.reasons import tell
from spacevrp.solver.result import NoPlanError, Outcome, Result, Stage
from spacevrp.solver.timebar import TimeBar

if TYPE_CHECKING:
    import torch

    from spacevrp.engines.base import Engine
    from spacevrp.engines.devices import Device
    from spacevrp.model import SpaceModel

# What Problem.from_data takes: another program's keys here, and data frames, which have no type.
AnyProblem = Problem | Mapping[str, Any]
# Told the name of a stage.
Entered = Callable[[str], object]
# Beyond so much more than was given, it is said.
_TOLERANCE, _MOMENT = 0.05, 0.2


class Solver:
    """A network on a device, loaded once and ready for any number of problems.

    Parameters
    ----------
    weights
        Name of bundled weights, path of a ``.safetensors`` file, or a model (which moves to the
        device); None for ``space-110-v3``, and with the protocol ``paper`` for the ones that were
        trained on the paper's twelve problems alone, ``space-100-v12``.
    device
        ``auto`` (a GPU where there is one and torch is installed), ``cpu`` or ``cuda``.
    threads
        Threads of a CPU that the network and the search use here, whatever libraries are set to
        otherwise. With one, a solver may be made before a fork, and other programs hardly slow it
        down (see ``docs/how-to/processes-and-threads.md``). None for one a core, or for as many as
        torch is set to.
    engine
        Who runs the network: ``native``, the compiled network on a CPU, which needs no torch;
        ``torch``, on a GPU or a CPU; ``auto`` takes torch on a GPU, for a model of torch, for the
        folder of a training run, and where the compiled network is not installed. Both make the
        same plans but for ties. What the compiled network does not do, torch does where it is
        installed: samples beyond 200 customers, and plans of more than 4,096 nodes.
    """

    def __init__(
        self,
        weights: str | Path | SpaceModel | None = None,
        device: str | torch.device = "auto",
        *,
        threads: int | None = 1,
        engine: EngineName = "auto",
    ) -> None:
        if threads is not None:
            expected = "a whole number of at least 1"
            threads = as_whole("threads", threads, expected)
            if threads < 1:
                raise SpacevrpError(f"threads: expected {expected}, received {threads}")
        self.threads = threads
        self.engine: Engine = choose_engine(weights, device, threads, engine)
        self._asked = (weights, device, engine)
        self._others: dict[str, Engine] = {}  # by the weights of other protocols

    @property
    def device(self) -> Device:
        """Where the network works."""
        return self.engine.device

    @property
    def model(self) -> SpaceModel:
        """The model of torch, where torch runs the network."""
        found: SpaceModel | None = getattr(self.engine, "model", None)
        if found is None:
            raise AttributeError("expected a solver with engine='torch': this one has no model")
        return found

    @overload
    def solve(
        self, problem: AnyProblem, params: SolveParams | None = ..., **options: Any
    ) -> Result: ...

    @overload
    def solve(
        self, problem: Iterable[AnyProblem], params: SolveParams | None = ..., **options: Any
    ) -> list[Result]: ...

    def solve(
        self,
        problem: AnyProblem | Iterable[AnyProblem],
        params: SolveParams | None = None,
        *,
        partial: bool = False,
        **options: Any,
    ) -> Result | list[Result]:
        """Solve one problem, or many of any variants and sizes; a batch in, a batch out.

        Parameters
        ----------
        problem
            One problem, or several. The order is kept. A :class:`Problem`, or what
            :meth:`Problem.from_data` takes: a data frame, or a table of keys of another program.
        params
            How they are solved. Single fields of :class:`SolveParams` can be given by name instead,
            or beside it, as in ``solve(problem, seed=1, search=False)``.
        partial
            Where an instance gets no complete plan, return the best partial one instead of raising:
            its ``unserved`` says which customers are left out, why, and what would let them in.
        options
            ``time``, ``start``, ``callback`` and ``progress`` as in :meth:`run`, and fields of
            :class:`SolveParams`.

        Raises
        ------
        InfeasibleError
            If an instance gets no complete plan: which customers are left out, and why. (It is a
            :class:`NoPlanError`, which carries the partial plans, and the solutions of the other
            instances.) Not with ``partial``.
        SolutionError
            If ``start`` breaks a rule, or is no plan of the problem.
        """
        outcome = self.run(problem, params, **options)
        timed = options.get("time") is not None
        for note in outcome.notes:  # others say what large instances do without, as they should
            if note == native.MISSING or (timed and BY_DESIGN not in note):
                warn(note, RuntimeWarning)
        if outcome.reasons and not partial:
            raise NoPlanError(outcome.reasons, outcome.solutions, outcome.partial)
        return outcome.results[0] if is_one(problem) else outcome.results

    def run(
        self,
        problem: AnyProblem | Iterable[AnyProblem],
        params: SolveParams | None = None,
        *,
        time: float | str | Deadline | None = None,
        start: Any = None,
        callback: Callback | None = None,
        progress: ShowProgress | Entered = False,
        explain: bool | None = None,
        **changes: Any,
    ) -> Outcome:
        """The same with an account of it, and no error where no plan is complete.

        Parameters
        ----------
        time
            Spend so long, seconds or such as ``"5s"`` or ``"2m"``, on all problems together. It is
            a limit: every stage looks at it, and what cannot be interrupted is not begun unless it
            is expected to fit. The network has a quarter of it at the most, the search the rest.
            Or a :class:`Deadline`, which another thread may interrupt, to end with the best plans
            so far.
        start
            A feasible plan to begin from, a :class:`Solution` or its routes; for several problems
            one each, None where there is none. Or the path of a file with the plans of all problems
            (.json, .csv or .sol). A problem with ``allow_unservable`` may have a partial one. The
            result is never worse.
        callback
            Called with every new best plan, judged by the referee. Raise ``StopIteration`` to stop
            with the best plans so far; other exceptions end the call.
        progress
            Show a bar where stderr is a terminal; ``"always"`` shows it anyway. A function is told
            the name of every stage that begins.
        explain
            Look for the reasons why customers are left out. None for yes, and with a time for the
            first few alone; the others are found when they are asked for.

        Raises
        ------
        KeyboardInterrupt
            If it comes before there is any plan. Later it ends the call: the best plans so far are
            returned, with a note.
        """
        params = (SolveParams() if params is None else params).changed(**changes)
        deadline = as_deadline(time)
        if deadline.seconds < NEVER.seconds:
            params.check_time()
        problems, _ = as_problems(problem)
        given = as_starts(start, problem, problems)
        engine = self._engine_for(protocol_named(params.protocol))
        call = Call(engine, problems, params, deadline, given, callback, progress)
        with engine.at_work(), call.bar, stopping_on_interrupt(deadline, lambda: call.pool.any):
            with call.interruptible():
                with call.stage("start"):
                    call.begin()
                planned = call.planned()
                with call.stage("construct"):
                    call.construct.run(planned)
                with call.stage("improve"):
                    call.search(call.searched, explain)
                stuck = call.stuck(planned)
                if stuck:
                    with call.stage("construct"):
                        call.construct.run(stuck)
                    with call.stage("improve"):
                        call.search(stuck, explain)
            return call.judge(explain)

    def first_plans(self, problem: AnyProblem, augmentations: int = 1) -> list[Solution]:
        """The network's plans that a long search for a problem begins with, the best first.

        ``solve`` looks at one augmentation before it searches. To compare searches from the same
        plans; :func:`spacevrp.search.improve` takes them. Empty where the network has no feasible
        one.
        """
        problems, _ = as_problems(problem)
        params = SolveParams(iterations=MOST_ITERATIONS, augmentations=augmentations)
        call = Call(self.engine, problems, params, NEVER, {}, None, False)
        with self.engine.at_work():
            call.construct.run([0])
        plan = call.pool.of(0)
        return [] if plan is None or not plan.feasible else [plan, *call.pool.others(0)]

    def _engine_for(self, protocol: Protocol) -> Engine:
        """With the weights of a protocol, where the caller named none."""
        weights, device, engine = self._asked
        if weights is not None or protocol.weights == DEFAULT_WEIGHTS:
            return self.engine
        if protocol.weights not in self._others:
            self._others[protocol.weights] = choose_engine(
                protocol.weights, device, self.threads, engine
            )
        return self._others[protocol.weights]


@dataclass
class Call:
    """What the stages of one call share: the pool of plans between them, and who is told."""

    engine: Engine
    problems: list[Problem]
    params: SolveParams
    deadline: Deadline
    given: dict[int, Solution]
    callback: Callback | None
    progress: ShowProgress | Entered
    stages: list[tuple[str, float, list[float | None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began = self.deadline.spent
        self.timed = self.deadline.seconds < NEVER.seconds
        show = False if callable(self.progress) else self.progress
        self.bar = TimeBar(self.deadline, show if self.timed else False)
        show = False if self.timed else show
        listens = self.callback is not None or self.bar.visible
        self.pool = Pool(self.problems, self.deadline, self._tell if listens else None)
        protocol = protocol_named(self.params.protocol)
        wanted = protocol.decide("search", self.params.search, True)
        everything = range(len(self.problems))
        self.searched = [n for n in everything if wanted and can_search(self.problems[n])]
        terms = [unlearned(problem) for problem in self.problems]
        self.unlearned = {n: term for n, term in enumerate(terms) if term is not None}
        for number, term in self.unlearned.items():
            if number not in self.searched:
                expected = "the search, as the network does not know it"
                raise UnsupportedError(
                    f"instance {number}, {term}: expected {expected}, received a call without it"
                )
        self.construct = Construct(
            *(self.engine, self.pool, self.params, protocol, self.deadline),
            frozenset(self.searched),
            show,
        )
        self.improve = Improve(self.pool, self.given, self.params, self.engine.threads, show)
        if wanted and not native.available() and any(map(can_plan_ahead, self.problems)):
            self.construct.notes.append(native.MISSING)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C ends the stages, and leaves the best plans so far."""
        try:
            yield
        except KeyboardInterrupt:
            if not self.pool.any:
                raise
            self.deadline.interrupt()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Tell that a stage begins; note what it took, and what the plans cost after it."""
        began = self.deadline.spent
        self.bar.stage(name)
        if callable(self.progress):
            self.progress(name)
        yield
        took, plans = self.deadline.spent - began, map(self.pool.of, range(len(self.problems)))
        costs = [plan.cost if plan is not None and plan.feasible else None for plan in plans]
        self.stages.append((name, took, costs))

    def begin(self) -> None:
        """The caller's plans; within a time also what the search constructs in a moment."""
        self.pool.begin(self.given)
        if self.timed:
            self.improve.construct(self.searched, self.deadline)

    def planned(self) -> list[int]:
        """The problems that the network plans: not those so small or large that it does not pay."""
        if self.params.network is False:
            return [n for n in range(len(self.problems)) if n not in set(self.searched)]
        self.construct.notes += [
            unlearned_by_network(self.problems[number], self.unlearned[number])
            for number in sorted(self.unlearned.keys() - self.better_alone(self.unlearned))
        ]
        known = [number for number in range(len(self.problems)) if number not in self.unlearned]
        if self.params.asks_for_network:
            return known
        searched = [number for number in self.searched if number not in self.unlearned]
        large = [n for n in searched if not pays_network(self.problems[n])]
        self.construct.notes += [without_network(self.problems[number]) for number in large]
        without = {*large, *self.better_alone(searched)}
        return [number for number in known if number not in without]

    def better_alone(self, numbers: Iterable[int]) -> set[int]:
        """Those of some problems that the search plans better alone, in the time that there is."""
        share = self.deadline.seconds / max(len(self.problems), 1)
        return {n for n in numbers if needs_no_network(self.problems[n], share)}

    def search(self, numbers: Sequence[int], explain: bool | None) -> None:
        """Search until the deadline, less the time for the reasons where they are wanted.

        If the search serves customers who were left out, it has the time for their reasons, too.
        """
        until = self.deadline if explain is False else self.pool.working
        self.improve.run(numbers, until)
        if until.seconds < self.pool.working.seconds:
            self.improve.run(numbers, self.pool.working)

    def stuck(self, planned: Sequence[int]) -> list[int]:
        """Problems without the network that the search cannot begin with, so that it has to."""
        if self.params.network is False or self.construct.is_late:
            return []
        without = self.better_alone(self.searched).difference(planned)
        return [
            number
            for number in sorted(without.difference(self.unlearned))
            if not self.pool.complete(number) and self.construct.needs_chance(number)
        ]

    def judge(self, explain: bool | None) -> Outcome:
        """The plans as the referee has judged them, and the reasons for partial ones."""
        plans, stage = self.pool.finish(), self.construct
        judging = self.deadline.spent
        reasons = {}
        for number, plan in enumerate(plans):
            if plan.feasible:
                continue
            reason = stage.reasons.get(number, "")
            if explain is False:
                reasons[number] = reason
                continue
            named = plan.explain_until(self.deadline).unserved if explain and self.timed else None
            reasons[number] = tell(plan, reason, self.deadline, named)
        costs = [plan.cost if plan.feasible else None for plan in plans]
        self.stages.append(("judge", self.deadline.spent - judging, costs))
        stage.seconds.judging += self.deadline.spent - judging
        improving = [took for name, took, _ in self.stages if name == "improve"]
        stage.seconds.improving = sum(improving)
        spent = self.deadline.spent - self.began
        notes = (*stage.notes, *self._late(spent))
        results = [
            Result.of(
                plan,
                stages=tuple(Stage(name, took, cost[number]) for name, took, cost in self.stages),
                notes=notes,
                expected=self.pool.expected.get(number),
                hindsight=self.pool.hindsight.get(number),
            )
            for number, plan in enumerate(plans)
        ]
        augmentations = sum(one.augmentations for one in stage.rounds)
        return Outcome(results, reasons, stage.seconds, stage.refused, notes, spent, augmentations)

    def _late(self, spent: float) -> tuple[str, ...]:
        """Whether the call was interrupted, or took longer than it should have."""
        given = self.deadline.seconds
        if self.deadline.interrupted:
            of = f" of {given:g} s" if self.timed else ""
            return (f"interrupted after {spent:.2f} s{of}: the best plans so far",)
        if not self.timed or spent <= given + max(_TOLERANCE * given, _MOMENT):
            return ()
        return (f"{spent:.2f} s were spent, {given:g} s given",)

    def _tell(self, plan: Solution) -> None:
        if self.bar.visible:
            self.bar.cost(self.pool.cost(range(len(self.problems))) or plan.cost)
        if self.callback is not None:
            self.callback(plan)


@overload
def solve(problem: AnyProblem, params: SolveParams | None = ..., **options: Any) -> Result: ...


@overload
def solve(
    problem: Iterable[AnyProblem], params: SolveParams | None = ..., **options: Any
) -> list[Result]: ...


def solve(
    problem: AnyProblem | Iterable[AnyProblem],
    params: SolveParams | None = None,
    *,
    device: str | torch.device = "auto",
    weights: str | Path | SpaceModel | None = None,
    threads: int | None = 1,
    **options: Any,
) -> Result | list[Result]:
    """Solve one problem or many.

    Parameters
    ----------
    device, weights, threads
        As of :class:`Solver`, which loads the weights once for many calls.
    params, options
        As of :meth:`Solver.solve`: ``time``, ``start``, ``callback``, ``progress``, ``partial``,
        and fields of :class:`SolveParams` by name.
    """
    as_deadline(options.get("time"))  # what is wrong with it shows before the weights are loaded
    return Solver(weights, device, threads=threads).solve(problem, params, **options)

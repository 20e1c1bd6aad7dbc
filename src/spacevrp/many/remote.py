"""Single calls on the actors of a Ray cluster, for programs such as servers."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Event as Flag
from threading import Lock, Thread
from typing import Any

from spacevrp.many.calls import Event
from spacevrp.many.engines import MOST_FAILED_STARTS, as_ready
from spacevrp.many.ray_engine import check_ray, connect, end_actor, first_line, needs_of
from spacevrp.many.worker import Ready, Worker, WorkerSettings
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.plan_text import count
from spacevrp.problems.problem import Problem, as_problems
from spacevrp.problems.solution import Solution
from spacevrp.solver import Outcome, SolveParams
from spacevrp.solver.budget import as_deadline
from spacevrp.solver.pool import Callback, as_starts
from spacevrp.solver.solver import Entered

# Seconds for a new actor to load the network, and for a call to end once it was asked to.
START, GRACE = 120.0, 30.0
# Seconds without an answer after which it is looked whether the call is to end.
_LOOK = 0.5
_PAUSE = 2.0  # seconds after an actor that did not start
# Actors that one call may lose: a problem that ends its actor would end all of them.
_MOST_LOST = 3


class ActorLost(Exception):
    """An actor has ended, or cannot be reached; says how."""


class WorkersLostError(SpacevrpError):
    """A call lost one actor after another, or there is none to be had."""


class RemoteSolver:
    """Has the method ``run`` of a :class:`Solver`, and lets actors of a cluster do the work.

    Threads may call it at the same time: each call has an actor for itself, and waits where all are
    busy. An actor that is lost is replaced as soon as the cluster has room; until then the calls go
    on with those that are left.

    Parameters
    ----------
    actors
        Where actors come from, and how they are asked.

    Raises
    ------
    SpacevrpError
        Not all of the actors could start.
    """

    def __init__(self, actors: RayActors) -> None:
        self._actors = actors
        self.workers = actors.workers
        self._all = [actors.start() for _ in range(self.workers)]
        self._idle: SimpleQueue[Any] = SimpleQueue()
        self._lock = Lock()
        self._missing = 0  # actors that were lost and have no successor yet
        self._why = ""  # the last one did not start
        self._closed = Flag()
        self._replacing: list[Thread] = []
        try:
            devices = [self._started(actor).device for actor in list(self._all)]
        except BaseException:
            self.close()
            raise
        self.device = devices[0]
        for actor in self._all:
            self._idle.put(actor)

    @property
    def ready(self) -> int:
        """Actors that can be asked, whether they are busy or not."""
        return self.workers - self._missing

    def _started(self, actor: Any) -> Ready:
        """What an actor says when it is ready; one that ends before is replaced a few times."""
        for failed in range(1, MOST_FAILED_STARTS + 1):
            try:
                return as_ready(self._ask(actor, "start"))
            except ActorLost as error:
                if failed == MOST_FAILED_STARTS:
                    raise SpacevrpError(f"workers: actors do not start: {error}") from None
                self._actors.end(actor)
                actor = self._follow_up(actor)
        raise AssertionError

    def run(
        self,
        problem: Any,
        params: SolveParams | None = None,
        *,
        time: float | str | Deadline | None = None,
        start: Any = None,
        callback: Callback | None = None,
        progress: Entered | None = None,
        explain: bool | None = None,
        **changes: Any,
    ) -> Outcome:
        """As :meth:`Solver.run`; callbacks are called here, with the problems of the caller.

        Where the actor ends, the call begins again on another, with the best plans so far and with
        its whole time.

        Raises
        ------
        WorkersLostError
            Several actors ended one after another, or one that was to stop; the callback has had
            the best plans so far.
        """
        problems, _ = as_problems(problem)
        deadline = as_deadline(time)
        params = (SolveParams() if params is None else params).changed(**changes)
        best: dict[int, Solution] = as_starts(start, problem, problems)

        def found(number: int, plan: Solution) -> None:
            if plan.feasible:
                best[number] = plan
            if callback is not None:
                callback(plan)

        lost = 0
        while True:
            plans = [best.get(number) for number in range(len(problems))]
            bare = [None if plan is None else replace(plan, problem=None) for plan in plans]
            sent = (problems, params, bare, deadline.seconds, explain)
            actor = self._begun(sent, deadline)
            try:
                outcome = self._follow(actor, problems, deadline, found, progress)
            except ActorLost as error:
                self._replace(actor)
                lost += 1
                if lost == _MOST_LOST or deadline.interrupted:
                    ended = count(lost, "actor")
                    raise WorkersLostError(f"workers: {ended} lost: {error}") from None
            except BaseException:
                self._idle.put(actor)
                raise
            else:
                self._idle.put(actor)
                return outcome

    def _begun(self, sent: tuple[Any, ...], deadline: Deadline) -> Any:
        """An actor that has begun a call.

        Idle ones may have been lost since their last call: that is not the fault of this one.
        """
        lost, why = 0, ""
        while lost < self.workers + _MOST_LOST and not (lost and deadline.interrupted):
            actor = self._next(deadline)
            try:
                self._ask(actor, "begin", *sent, deadline=deadline)
            except ActorLost as error:
                self._replace(actor)
                lost, why = lost + 1, str(error)
            except BaseException:
                self._idle.put(actor)
                raise
            else:
                return actor
        raise WorkersLostError(f"workers: {count(lost, 'actor')} lost: {why}")

    def _next(self, deadline: Deadline) -> Any:
        """An actor that is idle; patience ends where there is none left, or at an interruption."""
        asked = clocks.monotonic()
        while True:
            with suppress(Empty):
                return self._idle.get(timeout=_LOOK)
            waited = clocks.monotonic() - asked
            if self._missing and (deadline.interrupted or (not self.ready and waited > START)):
                why = self._why or "the cluster may have no room"
                raise WorkersLostError(f"workers: none of {self.workers} is left: {why}")

    def _follow(
        self,
        actor: Any,
        problems: list[Problem],
        deadline: Deadline,
        found: Callable[[int, Solution], None],
        entered: Entered | None,
    ) -> Outcome:
        """One attempt on one actor: hear what it says until it ends."""
        stop = False
        while True:
            stop = stop or deadline.interrupted
            events: list[Event] = self._ask(actor, "hear", stop, deadline=deadline)
            for event in events:
                if isinstance(event, Exception):
                    raise event
                if isinstance(event, Outcome):
                    pairs = zip(event.results, problems, strict=True)
                    return replace(event, results=[replace(a, problem=b) for a, b in pairs])
                if isinstance(event, str):
                    if entered is not None:
                        entered(event)
                    continue
                number, plan = event
                try:
                    found(number, replace(plan, problem=problems[number]))
                except StopIteration:
                    stop = True
                except BaseException:
                    with suppress(ActorLost, SpacevrpError):
                        self._ask(actor, "hear", True)
                    raise

    def _ask(
        self,
        actor: Any,
        method: str,
        *given: Any,
        deadline: Deadline | None = None,
    ) -> Any:
        """An answer; patience ends after a while, and soon after an interruption."""
        asked = clocks.monotonic()
        interrupted: list[float] = []

        def ended() -> bool:
            now = clocks.monotonic()
            if deadline is not None and deadline.interrupted and not interrupted:
                interrupted.append(now)
            return now - asked > START or (bool(interrupted) and now - interrupted[0] > GRACE)

        return self._actors.ask(actor, method, *given, ended=ended)

    def _follow_up(self, actor: Any) -> Any:
        """A new actor in the place of one that has ended."""
        new = self._actors.start()
        self._all[self._all.index(actor)] = new
        return new

    def _replace(self, actor: Any) -> None:
        """Have another actor sooner or later; the caller does not wait for it."""
        self._actors.end(actor)
        with self._lock:
            self._missing += 1

        def work(actor: Any = actor) -> None:
            while not self._closed.is_set():
                try:
                    actor = self._follow_up(actor)
                    as_ready(self._actors.ask(actor, "start", ended=self._closed.is_set))
                except (ActorLost, SpacevrpError) as error:
                    self._why = str(error)
                    self._actors.end(actor)
                    self._closed.wait(_PAUSE)
                    continue
                with self._lock:
                    self._missing -= 1
                self._idle.put(actor)
                return

        thread = Thread(target=work, name="new actor", daemon=True)
        self._replacing = [one for one in self._replacing if one.is_alive()] + [thread]
        thread.start()

    def close(self) -> None:
        """End the actors."""
        self._closed.set()
        for thread in self._replacing:
            thread.join(GRACE)
        for actor in self._all:
            self._actors.end(actor)
        self._actors.close()


class RayActors:
    """Actors of a Ray cluster, which is joined, or else started on this machine.

    Parameters
    ----------
    address
        ``ray`` or ``ray://HOST:PORT``, as of :func:`spacevrp.solve_many`.
    workers
        Actors. None for as many as the cluster has room for.
    weights, device
        Of each actor, as of :class:`Solver`; each has one thread.
    """

    def __init__(
        self,
        address: str = "ray",
        *,
        workers: int | None = None,
        weights: str | None = None,
        device: str = "auto",
    ) -> None:
        check_ray()
        import ray

        self._ray = ray
        self._began = connect(address, workers or 1)
        settings = WorkerSettings(SolveParams(), weights=weights, device=device)
        needs, room = needs_of(settings)
        # No restarts: an actor that ends is replaced by its caller, who knows what it was at.
        # Two calls at once: one that works still answers.
        fixed = {"max_restarts": 0, "max_task_retries": 0, "max_concurrency": 2}
        actor: Any = ray.remote(**fixed, **needs)(Worker)
        self._make: Callable[[], Any] = lambda: actor.remote(settings)
        self.workers = workers or max(1, room)
        # A core worker that has lost its cluster exits, whatever thread it is asked on.
        self._errors = (ray.exceptions.RayError, ConnectionError, SystemExit)

    def start(self) -> Any:
        """A new actor, which may take a while to answer; ActorLost where the cluster is gone."""
        self._check_joined()
        try:
            return self._make()
        except self._errors as error:
            raise ActorLost(first_line(error)) from None

    def ask(self, actor: Any, method: str, *given: Any, ended: Callable[[], bool]) -> Any:
        """What a method of :class:`~spacevrp.many.worker.Worker` answers.

        Raises
        ------
        ActorLost
            The actor has ended, or there was no answer when ``ended`` said so.
        """
        try:
            self._check_joined()
            answer = getattr(actor, method).remote(*given)
            while not self._ray.wait([answer], timeout=_LOOK)[0]:
                if ended():
                    raise ActorLost("it does not answer; the cluster may have no room")
                self._check_joined()
            return self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:
            raise SpacevrpError(f"workers: an actor failed: {first_line(error)}") from None
        except self._errors as error:
            raise ActorLost(first_line(error)) from None

    def _check_joined(self) -> None:
        """Ray would start a cluster of this machine alone, unasked, where there is none."""
        if not self._ray.is_initialized():
            raise ActorLost("the cluster is gone")

    def end(self, actor: Any) -> None:
        """End an actor, whatever it is at."""
        with suppress(SystemExit):
            end_actor(actor)

    def close(self) -> None:
        """Leave the cluster."""
        if self._began:
            self._ray.shutdown()

"""A job: a problem, how far it is, the best plan so far, and who wants to hear of it."""

from __future__ import annotations

import secrets
import threading
import time as clocks
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from spacevrp.problems.deadline import Deadline
from spacevrp.problems.explanation import is_missing_visit
from spacevrp.problems.plan_documents import plain, plan_document
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.serve.store import Row
from spacevrp.solver import SolveParams

FINISHED = ("done", "stopped", "failed")
# Events that are kept of a job; of more, the latest stands for those before it.
_MOST_EVENTS = 2_000
# Seconds for the reasons why customers are left out: while it runs, and in the end.
_REASONS_NOW, _REASONS_AT_LAST = 0.2, 5.0


@dataclass(eq=False)
class Job:
    """One problem on its way.

    Attributes
    ----------
    row
        What is stored of it; ``state`` is queued, running, done, stopped or failed.
    problem
        None where it is read again from the store when its turn comes.
    stored
        Whether it is in the store; an answer that a client waits for is not.
    deadline
        Of the call that solves it; interrupting it ends the call.
    stopping
        Whether a client has stopped it.
    shares_call
        Whether other problems are solved in the same call.
    """

    row: Row
    problem: Problem | None = None
    params: SolveParams = field(default_factory=SolveParams)
    time: float | None = None
    start: Solution | None = None
    stored: bool = True
    deadline: Deadline | None = None
    stopping: bool = False
    shares_call: bool = False
    best: Solution | None = None
    started: float | None = None  # seconds of the monotonic clock
    arrived: float = field(default_factory=clocks.monotonic)
    saved: float = 0.0
    dirty: bool = False  # what is in the store is older
    saving: threading.Lock = field(default_factory=threading.Lock)  # one writer at a time
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _listeners: list[Callable[[], object]] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Its name."""
        return self.row.id

    @property
    def customers(self) -> int:
        """Of its problem, also while that is only stored."""
        return int(self.row.about.get("customers", 0))

    @property
    def weight(self) -> int:
        """Bytes that its matrices take while it waits, about."""
        return 0 if self.problem is None else 16 * self.problem.size**2

    @property
    def state(self) -> str:
        """Queued, running, done, stopped or failed."""
        return self.row.state

    @property
    def finished(self) -> bool:
        """Whether nothing more will come."""
        return self.row.state in FINISHED

    @property
    def events(self) -> list[dict[str, Any]]:
        """What has happened, each with its number."""
        with self._lock:
            return list(self.row.about.get("events", ()))

    def listen(self, listener: Callable[[], object]) -> None:
        """Have a function called after every event, from any thread."""
        with self._lock:
            self._listeners.append(listener)

    def forget(self, listener: Callable[[], object]) -> None:
        """No longer call it."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def begin(self) -> None:
        """A worker has it."""
        with self._lock:
            self.started = clocks.monotonic()
            self.row.state = "running"
            self._tell("state", state="running")

    def enter(self, stage: str) -> None:
        """A stage of the solver begins."""
        with self._lock:
            if self.finished or self.row.about.get("stage") == stage:
                return
            self.row.about["stage"] = stage
            self._tell("stage")

    def offer(self, plan: Solution) -> None:
        """A better plan."""
        with self._lock:
            if self.finished:
                return
            self.best, self.dirty = plan, True
            self.row.about |= {"cost": _finite(plan.cost), "feasible": plan.feasible}
            left = sum(one.code == "visit" for one in plan.violations)
            self._tell("plan", cost=_finite(plan.cost), feasible=plan.feasible, unserved=left)

    def finish(
        self, state: str, plan: Solution | None = None, notes: tuple[str, ...] = (), **more: Any
    ) -> bool:
        """The end of it, unless it has ended before; ``more`` is told of it besides."""
        document = None
        if plan is not None and self.stored:
            explain_briefly(plan)
            document = plan.to_dict()
        with self._lock:
            if self.finished:
                return False
            row = self.row
            row.finished = clocks.time()
            row.about |= plain({"notes": list(notes), "seconds": self.seconds, **more})
            if plan is not None:
                self.best, row.plan = plan, document
                row.best = routes_document(plan) if self.stored else None
                row.about |= {"cost": _finite(plan.cost), "feasible": plan.feasible}
            row.state, self.dirty = state, True
            self._tell(state, cost=row.about.get("cost"), feasible=row.about.get("feasible"))
            return True

    @property
    def seconds(self) -> float:
        """Spent on it by a worker."""
        return 0.0 if self.started is None else round(clocks.monotonic() - self.started, 6)

    def _tell(self, event: str, **data: Any) -> None:
        events: list[dict[str, Any]] = self.row.about.setdefault("events", [])
        number = events[-1]["number"] + 1 if events else 1
        stage = self.row.about.get("stage")
        told = {"number": number, "event": event, "seconds": self.seconds, "stage": stage, **data}
        if len(events) >= _MOST_EVENTS:
            events.pop()
        events.append(told)
        self.wake()

    def wake(self) -> None:
        """Call those who listen."""
        with self._lock:
            for listener in list(self._listeners):
                with suppress(RuntimeError):  # its event loop has ended
                    listener()

    def snapshot(self) -> Row:
        """What is to be stored of it."""
        with self._lock:
            row, best = self.row, self.best
            if row.plan is None and best is not None and best.feasible:
                row.best = routes_document(best)
            self.saved, self.dirty = clocks.monotonic(), False
            return replace(row, about={**row.about, "events": list(row.about.get("events", ()))})

    def now(self) -> tuple[Row, dict[str, Any] | None]:
        """The row, and the document of the best plan so far."""
        with self._lock:
            row, best = self.row, self.best
        if row.plan is not None or best is None:
            return row, row.plan
        if best.feasible:
            return row, plan_document(best.plan, best.violations) | {"unserved": []}
        shown = Solution(best.routes, best.cost, best.violations, best.problem, best.vehicles)
        explain_briefly(shown, _REASONS_NOW)
        return row, shown.to_dict()


def explain_briefly(plan: Solution, seconds: float = _REASONS_AT_LAST) -> None:
    """Look for the reasons why customers are left out, for so long at the most."""
    if any(is_missing_visit(violation) for violation in plan.violations):
        plan.explain_until(Deadline(seconds))


def new_id() -> str:
    """A name that cannot be guessed."""
    return secrets.token_hex(16)


def routes_document(plan: Solution) -> dict[str, Any]:
    """The routes of a plan, and who drives them, as plain values."""
    vehicles = None if plan.vehicles is None else [int(one) for one in plan.vehicles]
    return {"routes": [[int(n) for n in route] for route in plan.routes], "vehicles": vehicles}


def _finite(cost: float) -> float | None:
    return float(cost) if abs(cost) < float("inf") else None

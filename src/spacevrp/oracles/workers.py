"""Processes that solve one instance after another, and give back each result at once."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from spacevrp.oracles.base import OracleResult
from spacevrp.oracles.choice import make_oracle
from spacevrp.problems.errors import InfeasibleError, SpacevrpError
from spacevrp.problems.problem import Problem


@dataclass(frozen=True)
class Failure:
    """An instance without a plan, and why."""

    message: str


T = TypeVar("T")

# An error other than "no plan found" is an outcome too: the caller decides what it is worth.
Outcome = OracleResult | Failure | SpacevrpError


@dataclass(frozen=True)
class Task:
    """An instance to be solved, and how."""

    index: int
    key: str  # names the instance by its content, and how it is to be solved
    problem: Problem
    solver: str
    seconds: float
    seed: int
    start: Sequence[Sequence[int]] | None = None


def run_tasks(
    tasks: Iterable[Task], jobs: int = 1, until: float | None = None
) -> Iterator[tuple[Task, Outcome]]:
    """Solve the tasks and yield each as it is done, in no particular order.

    Parameters
    ----------
    tasks
        Drawn one by one as a process becomes free, so they may be made on the way.
    jobs
        Processes. With 1 everything happens in this one.
    until
        A time of ``time.monotonic()``: what could not be done by then is not begun.

    A caller that stops listening, or is interrupted, ends the processes with what they are at.
    """
    limited = tasks if until is None else _in_time(tasks, until)
    if jobs == 1:
        for task in limited:
            yield task, _work(task)
    else:
        for task, outcome in run_in_processes(iter(limited), jobs, _work):
            yield (
                task,
                Failure(f"{task.solver} {outcome.message} on {task.problem.name}")
                if (isinstance(outcome, Ended))
                else outcome,
            )


def _in_time(tasks: Iterable[Task], until: float) -> Iterator[Task]:
    for task in tasks:
        if time.monotonic() + task.seconds > until:
            return
        yield task


def _work(task: Task) -> Outcome:
    try:
        oracle = make_oracle(task.solver)
        return oracle.solve(task.problem, task.seconds, task.seed, task.start)
    except InfeasibleError as error:
        return Failure(str(error))
    except SpacevrpError as error:
        return error


@dataclass(frozen=True)
class Ended:
    """A process that ended, or was ended, before its task was done."""

    message: str


def run_in_processes(
    tasks: Iterator[T],
    jobs: int,
    work: Callable[[T], Any],
    patience: Callable[[T], float] = lambda task: inf,
) -> Iterator[tuple[T, Any]]:
    """Each task with what ``work`` makes of it, in no particular order.

    Some solvers end the process where others raise an error, and some never end: one task is lost
    to that, and no more. ``patience`` says after how many seconds a process is ended.
    """
    busy: dict[Connection, tuple[_Worker, T, float]] = {}
    idle: list[_Worker] = []
    try:
        while True:
            while len(busy) < jobs and (task := next(tasks, None)) is not None:
                worker = idle.pop() if idle else _Worker(work)
                worker.connection.send(task)
                busy[worker.connection] = worker, task, time.monotonic() + patience(task)
            if not busy:
                return
            first = min(end for _, _, end in busy.values())
            left = None if first == inf else max(first - time.monotonic(), 0.0)
            for connection in wait(list(busy), left):
                assert isinstance(connection, Connection)
                worker, task, _ = busy.pop(connection)
                outcome = worker.receive()
                if not isinstance(outcome, Ended):
                    idle.append(worker)
                yield task, outcome
            now = time.monotonic()
            for connection in [one for one, (_, _, end) in busy.items() if end <= now]:
                worker, task, _ = busy.pop(connection)
                worker.end()
                yield task, Ended(f"did not end within {patience(task):.0f} s")
    finally:
        for worker in idle:
            worker.end(patience=1.0)
        for worker, _, _ in busy.values():
            worker.end()


class _Worker:
    """A process that waits for tasks at one end of a pipe."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        # A fresh interpreter: a copy of this one may hold threads of another library.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self._process.start()
        theirs.close()  # so that the pipe breaks where the process does

    def receive(self) -> Any:
        """What became of the task."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self.end()
            return Ended("ended its process")

    def end(self, patience: float = 0.0) -> None:
        """End the process, whatever it is at; one that waits for tasks ends by itself."""
        self.connection.close()
        self._process.join(patience)
        self._process.kill()
        self._process.join()


def _serve(connection: Any, work: Callable[[Any], Any]) -> None:
    # Ctrl-C reaches all processes of a terminal; the one that asks decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(work(task))

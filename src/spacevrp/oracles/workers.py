"""Processes that solve one instance after another, and give back each result at once."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from spacevrp.oracles.base import OracleResult
from spacevrp.oracles.choice import make_oracle
from spacevrp.problems.errors import InfeasibleError, SpacevrpError
from spacevrp.problems.problem import Problem


@dataclass(frozen=True)
class Failure:
    """An instance without a plan, and why."""

    message: str


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
        yield from _run_in_processes(iter(limited), jobs)


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


def _run_in_processes(tasks: Iterator[Task], jobs: int) -> Iterator[tuple[Task, Outcome]]:
    busy: dict[Connection, tuple[_Worker, Task]] = {}
    idle: list[_Worker] = []
    try:
        while True:
            while len(busy) < jobs and (task := next(tasks, None)) is not None:
                worker = idle.pop() if idle else _Worker()
                worker.connection.send(task)
                busy[worker.connection] = worker, task
            if not busy:
                return
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                worker, task = busy.pop(connection)
                outcome = worker.receive()
                if outcome is None:
                    # Some solvers end the process where others raise an error; one instance is
                    # lost to that, and no more.
                    yield task, Failure(f"{task.solver} ended its process on {task.problem.name}")
                    continue
                idle.append(worker)
                yield task, outcome
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            worker.end()


class _Worker:
    """A process that waits for tasks at one end of a pipe."""

    def __init__(self) -> None:
        # A fresh interpreter: a copy of this one may hold threads of another library.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()  # so that the pipe breaks where the process does

    def receive(self) -> Outcome | None:
        """What became of the task; None where the process ended instead."""
        try:
            outcome: Outcome = self.connection.recv()
        except (EOFError, OSError):
            self.end()
            return None
        return outcome

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.connection.close()
        self._process.terminate()
        self._process.join()


def _serve(connection: Any) -> None:
    # Ctrl-C reaches all processes of a terminal; the one that asks decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(_work(task))

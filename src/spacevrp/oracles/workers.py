"""Processes that solve one instance after another, and give back each result at once."""

from __future__ import annotations

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
from spacevrp.processes import AnsweringProcess, ProcessEnded


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
            if isinstance(outcome, Ended):
                outcome = Failure(f"{task.solver} {outcome.message} on {task.problem.name}")
            yield task, outcome


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
    busy: dict[Connection, tuple[AnsweringProcess, T, float]] = {}
    idle: list[AnsweringProcess] = []
    try:
        while True:
            while len(busy) < jobs and (task := next(tasks, None)) is not None:
                worker = idle.pop() if idle else AnsweringProcess(_answer_by, work)
                worker.send(task)
                busy[worker.connection] = worker, task, time.monotonic() + patience(task)
            if not busy:
                return
            first = min(end for _, _, end in busy.values())
            left = None if first == inf else max(first - time.monotonic(), 0.0)
            for connection in wait(list(busy), left):
                assert isinstance(connection, Connection)
                worker, task, _ = busy.pop(connection)
                try:
                    outcome: Any = worker.receive()
                    idle.append(worker)
                except ProcessEnded:
                    outcome = Ended("ended its process")
                yield task, outcome
            now = time.monotonic()
            for connection in [one for one, (_, _, end) in busy.items() if end <= now]:
                worker, task, _ = busy.pop(connection)
                worker.end()
                yield task, Ended(f"did not end within {patience(task):.0f} s")
    finally:
        for worker in [*idle, *(worker for worker, _, _ in busy.values())]:
            worker.end()


def _answer_by(work: Callable[[T], Any]) -> Callable[[T], Any]:
    return work

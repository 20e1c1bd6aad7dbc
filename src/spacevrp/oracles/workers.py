"""Processes that solve one instance after another, and give back each result at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from spacevrp.oracles.base import OracleResult
from spacevrp.oracles.choice import make_oracle
from spacevrp.problems.errors import InfeasibleError, SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.processes import AnsweringProcess, ProcessEnded


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
    busy: dict[Connection, tuple[AnsweringProcess, Task]] = {}
    idle: list[AnsweringProcess] = []
    try:
        while True:
            while len(busy) < jobs and (task := next(tasks, None)) is not None:
                worker = idle.pop() if idle else AnsweringProcess(_make_answer)
                worker.send(task)
                busy[worker.connection] = worker, task
            if not busy:
                return
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                worker, task = busy.pop(connection)
                try:
                    outcome: Outcome = worker.receive()
                except ProcessEnded:
                    # Some solvers end the process where others raise an error; one instance is
                    # lost to that, and no more.
                    yield task, Failure(f"{task.solver} ended its process on {task.problem.name}")
                    continue
                idle.append(worker)
                yield task, outcome
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            worker.end()


def _make_answer() -> Callable[[Task], Outcome]:
    return _work

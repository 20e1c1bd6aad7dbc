"""Many instances over many processes, resumable: what is recorded is not computed again.

Processes solve one instance after another, and give back each result at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, TypeVar

from tqdm import tqdm

from spacevrp.oracles.base import OracleResult
from spacevrp.oracles.choice import AUTO, choose_oracle, make_oracle
from spacevrp.problems.digests import problem_digest
from spacevrp.problems.errors import InfeasibleError, SolutionError, SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.processes import AnsweringProcess, ProcessEnded
from spacevrp.writing import append_line, read_lines


@dataclass(frozen=True)
class Failure:
    """An instance without a plan, and why."""

    message: str


T = TypeVar("T")


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


def _work(task: Task) -> OracleResult | Failure | SpacevrpError:
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

    Tasks are drawn one by one as a process becomes free. A caller that stops listening, or is
    interrupted, ends the processes with what they are at.

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


Plans = Sequence[Sequence[Sequence[int]] | None]


def solve_many(
    problems: Sequence[Problem],
    solver: str = AUTO,
    seconds: float = 10.0,
    *,
    jobs: int = 1,
    seed: int = 0,
    starts: Plans | None = None,
    record: Path | None = None,
    progress: bool | Literal["always"] = False,
) -> list[OracleResult | Failure]:
    """Solve many instances, each with one process and the same time.

    Parameters
    ----------
    solver
        Name of an oracle, or ``auto`` for the strongest exact one of each instance.
    seconds
        Time for each instance.
    jobs
        Processes. With 1 everything happens in this one.
    starts
        A plan to start from for each instance, or None for those without.
    record
        A file of lines, one an instance: results are appended as they come, and instances whose
        line is there for the same solver, time, seed and start are not solved again.
    progress
        Whether to show a bar on a terminal; ``always``: wherever stderr goes.

    Raises
    ------
    UnsupportedError, MissingSolverError
        Before any work, for the first instance whose solver cannot take it or is not installed.
    OracleDisagreement
        A solver and the referee disagree; what was found before stays in the record.
    """
    if starts is not None and len(starts) != len(problems):
        raise SolutionError(f"starts: expected {len(problems)} plans, received {len(starts)}")
    tasks = []
    for index, problem in enumerate(problems):
        name = choose_oracle(problem, solver).name
        start = None if starts is None else starts[index]
        key = task_key(problem, name, seconds, seed, start)
        tasks.append(Task(index, key, problem, name, seconds, seed, start))
    known = {} if record is None else read_record(record)
    results: dict[int, OracleResult | Failure] = {
        task.index: from_line(task.problem, known[task.key]) for task in tasks if task.key in known
    }
    left = (task for task in tasks if task.index not in results)
    here = ((task, _work(task)) for task in left)
    done = here if jobs == 1 else run_in_processes(left, jobs, _work)
    # None: tqdm itself looks whether stderr is a terminal.
    disable = {True: None, "always": False}.get(progress, True)
    with tqdm(total=len(tasks), initial=len(results), unit=" instances", disable=disable) as bar:
        for task, outcome in done:
            if isinstance(outcome, SpacevrpError):
                raise outcome
            if isinstance(outcome, Ended):
                outcome = Failure(f"{task.solver} {outcome.message} on {task.problem.name}")
            if isinstance(outcome, OracleResult) and record is not None:
                append_line(record, as_line(task.key, task.problem, seconds, outcome))
            results[task.index] = outcome
            bar.update()
    return [results[index] for index in range(len(tasks))]


# ------------------------------------------------------------------------------------ the record


def read_record(path: Path) -> dict[str, dict[str, Any]]:
    """The lines of a record by their key; none where there is no such file.

    The last line may be cut off by an interruption and is then left out.
    """
    return dict(read_lines(path, lambda line: (line["key"], line), "a result of an oracle"))


def as_line(key: str, problem: Problem, seconds: float, result: OracleResult) -> dict[str, Any]:
    """What a record says of a result for which a solver was given so many seconds."""
    return {
        "key": key,
        "name": problem.name,
        "variant": problem.variant_name,
        "cost": result.solution.cost,
        "claimed": result.claimed,
        "solver": result.solver,
        "version": result.version,
        "seconds": result.seconds,
        "budget": seconds,
        "note": result.note,
        "routes": result.solution.routes,
    }


def from_line(problem: Problem, line: dict[str, Any]) -> OracleResult:
    """The result that a line of a record stands for, judged again."""
    # Judged again: a file is not the referee.
    solution = Solution.judged(problem, line["routes"])
    if not solution.feasible:
        raise SolutionError(
            f"the recorded plan for instance {problem.name or line['key']} is not feasible: "
            f"{solution.violations[0].message}"
        )
    return OracleResult(
        solution, line["solver"], line["version"], line["seconds"], line["claimed"], line["note"]
    )


def task_key(
    problem: Problem, solver: str, seconds: float, seed: int, start: Sequence[Sequence[int]] | None
) -> str:
    """Names an instance by its content, and how it is to be solved."""
    plan = () if start is None else ([list(route) for route in start],)
    return f"{problem_digest(problem, *plan)}-{solver}-{seconds:g}s-{seed}"

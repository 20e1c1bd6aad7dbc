"""Many instances over many processes, resumable: what is recorded is not computed again."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tqdm import tqdm

from spacevrp.oracles.base import OracleResult
from spacevrp.oracles.choice import AUTO, choose_oracle, make_oracle
from spacevrp.problems.errors import FormatError, InfeasibleError, SolutionError, SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

Plans = Sequence[Sequence[Sequence[int]] | None]


@dataclass(frozen=True)
class Failure:
    """An instance without a plan, and why."""

    message: str


@dataclass(frozen=True)
class _Task:
    index: int
    key: str
    problem: Problem
    solver: str
    seconds: float
    seed: int
    start: Sequence[Sequence[int]] | None


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
        key = _key(problem, name, seconds, seed, start)
        tasks.append(_Task(index, key, problem, name, seconds, seed, start))
    known = {} if record is None else read_record(record)
    results: dict[int, OracleResult | Failure] = {
        task.index: _from_line(task.problem, known[task.key]) for task in tasks if task.key in known
    }
    left = [task for task in tasks if task.index not in results]
    # None: tqdm itself looks whether stderr is a terminal.
    disable = {True: None, "always": False}.get(progress, True)
    with tqdm(total=len(tasks), initial=len(results), unit=" instances", disable=disable) as bar:
        for task, outcome in _run(left, jobs):
            if isinstance(outcome, OracleResult) and record is not None:
                _append(record, _as_line(task, outcome))
            results[task.index] = outcome
            bar.update()
    return [results[index] for index in range(len(tasks))]


def _run(tasks: list[_Task], jobs: int) -> Iterator[tuple[_Task, OracleResult | Failure]]:
    if jobs == 1:
        for task in tasks:
            yield task, _work(task)
        return
    # A fresh interpreter for each: a copy of this one may hold threads of another library.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, max(len(tasks), 1)), mp_context=context) as executor:
        futures = {executor.submit(_work, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise SpacevrpError(
                "a solver ended its process; what was found before is recorded"
            ) from None
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _work(task: _Task) -> OracleResult | Failure:
    try:
        oracle = make_oracle(task.solver)
        return oracle.solve(task.problem, task.seconds, task.seed, task.start)
    except InfeasibleError as error:
        return Failure(str(error))


# ------------------------------------------------------------------------------------ the record


def read_record(path: Path) -> dict[str, dict[str, Any]]:
    """The lines of a record by their key; none where there is no such file.

    The last line may be cut off by an interruption and is then left out.
    """
    if not path.exists():
        return {}
    lines: dict[str, dict[str, Any]] = {}
    texts = path.read_bytes().splitlines()
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
            lines[line["key"]] = line
        except (ValueError, TypeError, KeyError):
            if number < len(texts):
                raise FormatError(
                    f"{path}: line {number}: expected a result of an oracle; delete the file to "
                    f"start afresh"
                ) from None
    return lines


def _append(path: Path, line: dict[str, Any]) -> None:
    data = json.dumps(line).encode() + b"\n"
    with path.open("ab+") as stream:
        # Without this, what follows a line that was cut off would be lost with it.
        if stream.tell():
            stream.seek(-1, 2)
            if stream.read(1) != b"\n":
                _drop_last_line(stream)
        stream.write(data)


def _drop_last_line(stream: Any) -> None:
    stream.seek(0)
    whole = stream.read()
    stream.truncate(whole.rfind(b"\n") + 1)
    stream.seek(0, 2)


def _as_line(task: _Task, result: OracleResult) -> dict[str, Any]:
    return {
        "key": task.key,
        "name": task.problem.name,
        "variant": task.problem.variant_name,
        "cost": result.solution.cost,
        "claimed": result.claimed,
        "solver": result.solver,
        "version": result.version,
        "seconds": result.seconds,
        "note": result.note,
        "routes": result.solution.routes,
    }


def _from_line(problem: Problem, line: dict[str, Any]) -> OracleResult:
    # Judged again: a file is not the referee.
    solution = Solution.judged(problem, line["routes"])
    if not solution.feasible:
        raise SolutionError(
            f"the recorded plan for instance {problem.name or line['key']} is not feasible: "
            f"{solution.violations[0].message}"
        )
    return OracleResult(
        solution,
        line["solver"],
        line["version"],
        line["seconds"],
        line["claimed"],
        line["note"],
    )


def _key(
    problem: Problem,
    solver: str,
    seconds: float,
    seed: int,
    start: Sequence[Sequence[int]] | None,
) -> str:
    """Names an instance by its content, and how it is to be solved."""
    digest = hashlib.sha256()
    held = [problem.distances]
    if problem.durations is not problem.distances:
        held.append(problem.durations)
    for distances in held:
        metric = distances.metric if distances.coordinates is not None else None
        content = distances.matrix() if metric is None else distances.coordinates
        digest.update(repr(metric).encode() + np.ascontiguousarray(content).tobytes())
    for values in (
        problem.demand,
        problem.windows,
        problem.service,
        problem.prize,
        problem.penalty,
        problem.revealed_prize,
    ):
        digest.update(b"-" if values is None else values.tobytes())
    rest = (
        problem.depots,
        problem.capacity,
        problem.load_rule,
        problem.max_length,
        problem.open_routes,
        problem.backhaul_last,
        problem.min_prize,
        problem.maximise_prize,
        problem.pairs,
        problem.max_routes,
        None if start is None else [list(route) for route in start],
    )
    digest.update(repr(rest).encode())
    return f"{digest.hexdigest()[:32]}-{solver}-{seconds:g}s-{seed}"

"""Processes that solve: what is begun, what a crash costs, and that nobody is left behind."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from spacevrp.generators import generate
from spacevrp.oracles import Failure, OracleResult, SolverOracle
from spacevrp.oracles.pool import Task, run_tasks, task_key
from spacevrp.problems.errors import UnsupportedError

SECONDS = 5.0
pytestmark = pytest.mark.slow  # processes of their own


class Deadly:
    """Whoever reads it from a pipe ends, as under a solver that ends the process."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)


@pytest.fixture
def tasks(make_tiny_oracle: Callable[[str], SolverOracle]) -> list[Task]:
    """Four tours for VROOM, which ends by itself."""
    make_tiny_oracle("vroom")
    return [
        Task(number, task_key(problem, "vroom", SECONDS, 0, None), problem, "vroom", SECONDS, 0)
        for number, problem in enumerate(generate("TSP", 6, 4))
    ]


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_is_done_once(tasks: list[Task], jobs: int) -> None:
    done = [(task.index, outcome) for task, outcome in run_tasks(iter(tasks), jobs)]
    assert sorted(index for index, _ in done) == [0, 1, 2, 3]
    for _, outcome in done:
        assert isinstance(outcome, OracleResult)
        assert outcome.solution.feasible


def test_a_crash_costs_one_instance(tasks: list[Task]) -> None:
    tasks[1] = replace(tasks[1], seed=Deadly())  # type: ignore[arg-type]
    done = {task.index: outcome for task, outcome in run_tasks(tasks, 2)}
    crash = done.pop(1)
    assert isinstance(crash, Failure)
    assert crash.message == "vroom ended its process on TSP-n6-s1-i1"
    assert sorted(done) == [0, 2, 3]
    assert all(isinstance(outcome, OracleResult) for outcome in done.values())


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_refusal_is_an_outcome(tasks: list[Task], jobs: int) -> None:
    (problem,) = generate("PCTSP", 6, 1)
    tasks[0] = replace(tasks[0], problem=problem)
    done = {task.index: outcome for task, outcome in run_tasks(tasks[:2], jobs)}
    assert isinstance(done[0], UnsupportedError)
    assert "vroom cannot model" in str(done[0])
    assert isinstance(done[1], OracleResult)


def test_tasks_are_drawn_as_they_are_needed_and_nobody_is_left_behind(tasks: list[Task]) -> None:
    drawn: list[int] = []

    def draw() -> Iterator[Task]:
        for task in tasks:
            drawn.append(task.index)
            yield task

    results = run_tasks(draw(), 2)
    next(results)
    assert drawn == [0, 1]
    results.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []

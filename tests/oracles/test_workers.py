"""Processes that work: what is begun, what a crash costs, and that none is left behind."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from patient import PatientOracle

from spacevrp.oracles.pool import Ended, run_in_processes

pytestmark = pytest.mark.slow  # processes of their own


class Deadly:
    """Whoever reads it from a pipe ends, as under a solver that ends the process."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)


def test_a_crash_costs_one_task() -> None:
    done = list(run_in_processes(iter([-1, Deadly(), -2, -3]), 2, abs))
    results = {task: outcome for task, outcome in done if not isinstance(task, Deadly)}
    assert results == {-1: 1, -2: 2, -3: 3}
    (crash,) = (outcome for task, outcome in done if isinstance(task, Deadly))
    assert crash == Ended("ended its process")


def test_what_does_not_end_is_ended_and_the_others_are_not() -> None:
    patience = {0.0: math.inf, 30.0: 5.0, 0.01: math.inf}
    done = dict(run_in_processes(iter(patience), 2, time.sleep, patience.__getitem__))
    assert done == {0.0: None, 0.01: None, 30.0: Ended("did not end within 5 s")}


def test_tasks_are_drawn_as_they_are_needed_and_none_is_left_behind() -> None:
    drawn: list[int] = []

    def draw() -> Iterator[int]:
        for task in range(4):
            drawn.append(task)
            yield task

    results = run_in_processes(draw(), 2, abs)
    next(results)
    assert drawn == [0, 1]
    results.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_a_solver_that_never_ends_is_ended() -> None:
    endless: Any = SimpleNamespace(name="endless", solve=time.sleep)
    with pytest.raises(AssertionError, match="an answer of endless within 2 s"):
        PatientOracle(endless, patience=2.0).solve(1e6)
    assert multiprocessing.active_children() == []

"""How a search ends: by iterations, time, no gain, a deadline, a callback or Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from spacevrp.generators import generate
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.search import Native, Stop, improve, native_model

stage = sys.modules["spacevrp.search.improve"]

# Seconds: as good as never. A test that waits for it fails by its length.
_AGES = 600.0


def days(count: int = 1, size: int = 60) -> list[Problem]:
    return generate("CVRPTW", size, count, seed=5)


def test_by_iterations() -> None:
    plans = improve(days(2), [None, None], stop=Stop(iterations=40))
    assert [run.iterations for run in plans.runs] == [40, 40]
    assert not plans.interrupted
    none = improve(days(), [None], stop=Stop(iterations=0))
    assert none[0].feasible


def test_by_iterations_without_a_gain() -> None:
    (run,) = improve(days(1, 6), [None], stop=Stop(no_gain=50)).runs
    last = max(iterations for _, iterations, *_ in run.trace)
    assert run.iterations == last + 50


def test_by_time() -> None:
    (run,) = improve(days(), [None], stop=Stop(seconds=0.05)).runs
    assert run.seconds >= 0.05


def test_no_time_at_all_gives_the_start() -> None:
    (problem,) = days()
    plans = improve([problem], [None], stop=Stop(seconds=0.0))
    assert plans.runs == (None,)
    assert plans[0].feasible
    again = improve([problem], [plans[0]], stop=Stop(seconds=0.0))
    assert again[0] is plans[0]


class Ticking:
    """A clock that goes on by one second whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_a_deadline_ends_the_search() -> None:
    deadline = Deadline(30.0, Ticking())
    plans = improve(days(3), [None] * 3, stop=Stop(), deadline=deadline)
    assert all(plan.feasible for plan in plans)
    assert deadline.over
    assert not plans.interrupted


def test_a_deadline_that_is_over_leaves_the_plans() -> None:
    problems = days(2)
    begun = improve(problems, [None, None], stop=Stop(iterations=5))
    deadline = Deadline(0.0)
    plans = improve(problems, [begun[0], None], stop=Stop(iterations=10**9), deadline=deadline)
    assert plans[0] is begun[0]
    assert plans[1].is_legal


def test_the_problems_share_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each search is told its part of what is left; this clock stands still, so all of it."""
    told: list[float] = []

    def search(routes: Any, types: Any, *, seconds: float, **_: Any) -> Any:
        told.append(seconds)
        return SimpleNamespace(routes=routes, types=types)

    def without_search(problem: Problem, candidates: None) -> Native:
        one = native_model(problem, candidates)
        evaluate, construct = one.model.evaluate, one.model.construct
        model = SimpleNamespace(search=search, evaluate=evaluate, construct=construct)
        return Native(problem, model)

    monkeypatch.setattr(stage, "native_model", without_search)
    deadline = Deadline(90.0, lambda: 0.0)
    plans = improve(days(3, 8), [None] * 3, stop=Stop(), deadline=deadline)
    assert told == [30.0, 45.0, 90.0]
    assert all(plan.feasible for plan in plans)
    improve(days(1, 8), [None], stop=Stop(seconds=5.0), deadline=deadline)
    assert told[-1] == 5.0


# ------------------------------------------------------------------------------------ the callback


def heard(problems: list[Problem], threads: int) -> dict[int, list[Solution]]:
    told: dict[int, list[Solution]] = {number: [] for number in range(len(problems))}
    plans = improve(
        problems,
        [None] * len(problems),
        stop=Stop(iterations=300),
        threads=threads,
        found=lambda number, plan, _: told[number].append(plan),
    )
    for number, plan in enumerate(plans):
        assert told[number][-1] is plan
    return told


@pytest.mark.parametrize(("count", "threads"), [(1, 1), (1, 2), (3, 1), (3, 2)])
def test_every_better_plan_is_told(count: int, threads: int) -> None:
    for plans in heard(days(count, 30), threads).values():
        assert all(plan.feasible for plan in plans)
        costs = [plan.cost for plan in plans]
        assert costs == sorted(costs, reverse=True)
        assert len(set(costs)) == len(costs)


class CallerError(Exception):
    pass


@pytest.mark.parametrize(("count", "threads"), [(1, 1), (3, 1), (3, 2)])
def test_an_exception_of_the_callback_ends_the_search(count: int, threads: int) -> None:
    def raises(number: int, plan: Solution, expected: float | None) -> None:
        raise CallerError("enough")

    with pytest.raises(CallerError, match="enough"):
        improve(
            days(count), [None] * count, stop=Stop(seconds=_AGES), threads=threads, found=raises
        )


@pytest.mark.parametrize(("count", "threads"), [(1, 1), (3, 1), (3, 2)])
def test_the_callback_may_interrupt_the_deadline(count: int, threads: int) -> None:
    deadline = Deadline()
    plans = improve(
        days(count),
        [None] * count,
        stop=Stop(seconds=_AGES),
        threads=threads,
        found=lambda *_: deadline.interrupt(),
        deadline=deadline,
    )
    assert plans.interrupted
    assert all(plan.is_legal for plan in plans)


def test_a_search_in_another_thread() -> None:
    done: list[Solution] = []
    thread = threading.Thread(
        target=lambda: done.extend(improve(days(), [None], stop=Stop(iterations=20)))
    )
    thread.start()
    thread.join()
    assert done[0].feasible


# ------------------------------------------------------------------------------------------- Ctrl-C


@pytest.fixture
def ctrl_c(usual_interrupt: None) -> Iterator[Callable[[float], threading.Timer]]:
    """Sends this process the signal after a while, under Python's own handler."""
    timers: list[threading.Timer] = []

    def send(seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timers.append(timer)
        timer.start()
        return timer

    yield send
    for timer in timers:
        timer.cancel()
        timer.join()


@pytest.mark.parametrize(("count", "threads"), [(1, 1), (3, 1), (3, 2)])
def test_ctrl_c_returns_the_best_plans(
    ctrl_c: Callable[[float], threading.Timer], count: int, threads: int
) -> None:
    ctrl_c(0.15)
    plans = improve(days(count), [None] * count, stop=Stop(seconds=_AGES), threads=threads)
    assert plans.interrupted
    assert all(plan.is_legal for plan in plans)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_heard_while_other_threads_work(
    ctrl_c: Callable[[float], threading.Timer],
) -> None:
    """The first problem has nothing to search, and the main thread only waits for the others."""
    alone = Problem.from_coordinates([(0.0, 0.0)], depots=())
    ctrl_c(0.15)
    plans = improve([alone, *days(2)], [None] * 3, stop=Stop(seconds=_AGES), threads=3)
    assert plans.interrupted
    assert all(plan.is_legal for plan in plans)


@pytest.mark.parametrize("how", ["Ctrl-C", "a handler of its own", "another thread"])
def test_the_deadline_of_the_caller_is_interrupted(
    ctrl_c: Callable[[float], threading.Timer], how: str
) -> None:
    """As ``solve`` with a time does it, the handler may do that itself, and raise nothing."""
    deadline = Deadline()
    if how == "a handler of its own":
        signal.signal(signal.SIGINT, lambda *_: deadline.interrupt())
    if how == "another thread":
        threading.Timer(0.1, deadline.interrupt).start()
    else:
        ctrl_c(0.1)
    plans = improve(days(), [None], stop=Stop(seconds=_AGES), deadline=deadline)
    assert plans.interrupted
    assert deadline.interrupted
    assert plans[0].feasible


def test_the_compiled_search_raises_what_a_handler_raises(
    ctrl_c: Callable[[float], threading.Timer],
) -> None:
    (problem,) = days()
    model = native_model(problem).model
    ctrl_c(0.1)
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        model.search(*model.construct("insertion", 0), seconds=_AGES)
    assert time.perf_counter() - began < _AGES / 2

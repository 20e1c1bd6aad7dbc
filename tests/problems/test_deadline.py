"""A deadline, its parts, and an interruption."""

from __future__ import annotations

import math

import pytest

from spacevrp.problems.deadline import NEVER, Deadline, TimeIsUp


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_runs_from_where_it_was_made() -> None:
    clock = Clock()
    deadline = Deadline(3.0, clock)
    clock.now += 2.0
    assert (deadline.spent, deadline.left, deadline.over) == (2.0, 1.0, False)
    deadline.check()
    clock.now += 1.0
    assert (deadline.spent, deadline.left, deadline.over) == (3.0, 0.0, True)
    with pytest.raises(TimeIsUp):
        deadline.check()


def test_a_part_ends_before_the_whole_and_never_after_it() -> None:
    clock = Clock()
    whole = Deadline(3.0, clock)
    early, late = whole.until(1.0), whole.until(9.0)
    clock.now += 1.5
    assert (early.over, late.over, whole.over) == (True, False, False)
    assert (early.left, late.left) == (-0.5, 1.5)
    clock.now += 1.5
    assert late.over


def test_an_interruption_ends_all_parts() -> None:
    whole = Deadline(3.0, Clock())
    part = whole.until(1.0)
    part.interrupt()
    assert (whole.interrupted, whole.over, whole.left, part.left) == (True, True, 0.0, 0.0)
    assert whole.until(2.0).over


def test_without_a_limit_it_is_over_when_it_is_interrupted() -> None:
    assert (NEVER.left, NEVER.over) == (math.inf, False)
    endless = Deadline()
    endless.interrupt()
    assert endless.over
    assert not NEVER.over

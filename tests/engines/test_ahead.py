"""What is made ahead by a thread: the same, in order, and nothing more than was allowed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from spacevrp.engines.ahead import ahead
from spacevrp.engines.batching import Coming
from spacevrp.generators import generate


def test_items_come_in_order_and_an_error_after_those_before_it() -> None:
    def source() -> Iterator[int]:
        yield from range(5)
        raise ValueError("no sixth")

    items = ahead(source(), 2)
    assert [next(items) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="no sixth"):
        next(items)
    assert list(ahead(iter(range(100)), 3)) == list(range(100))
    assert list(ahead(iter(()), 1)) == []


def test_no_more_is_made_than_was_allowed() -> None:
    made, enough = [], threading.Event()

    def source() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            if len(made) == 4:  # one was taken, two wait, and one has no place yet
                enough.set()
            yield number

    items = ahead(source(), 2)
    assert next(items) == 0
    assert enough.wait(60)
    items.close()  # type: ignore[attr-defined]  # a generator; its thread has ended afterwards
    assert made == [0, 1, 2, 3]


def test_the_source_works_in_a_thread_within_the_given_context() -> None:
    seen = []

    @contextmanager
    def here() -> Iterator[None]:
        seen.append(("enter", threading.current_thread().name))
        yield
        seen.append(("leave", threading.current_thread().name))

    assert list(ahead(iter((1, 2)), 1, here())) == [1, 2]
    assert seen == [("enter", "spacevrp-ahead"), ("leave", "spacevrp-ahead")]


def test_a_block_prepared_ahead_is_the_block_that_is_taken() -> None:
    problems = generate("CVRP", 6, 5)
    coming = Coming(problems)
    assert coming.take(0, 2).problems == problems[:2]
    coming.begin(2, 2)
    assert coming.take(2, 2).problems == problems[2:4]
    coming.begin(4, 2)  # the memory ended: smaller blocks
    first, second = coming.take(2, 1), coming.take(4, 2)
    assert (first.problems, second.problems) == (problems[2:3], problems[4:])
    assert second.batch.distance.shape[0] == 1
    coming.begin(5, 2)  # there is none
    assert coming.take(3, 2).problems == problems[3:]

"""A GPU does not wait for the host: its next block begins while plans of the last are judged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")

# Seconds after which a full queue looks whether anything is still wanted.
_LOOK = 0.05


def ahead(
    source: Iterator[T], most: int, within: AbstractContextManager[object] | None = None
) -> Iterator[T]:
    """The same items in the same order; a thread asks for up to ``most`` that are not yet wanted.

    An exception of the source comes after the items before it. ``within`` is entered in the
    thread, for what is set for each thread, such as the current GPU.
    """
    waiting: Queue[tuple[T | None, BaseException | None]] = Queue(most)
    unwanted = Event()

    def put(item: T | None, error: BaseException | None) -> bool:
        while not unwanted.is_set():
            try:
                waiting.put((item, error), timeout=_LOOK)
            except Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            with within or nullcontext():
                for item in source:
                    if not put(item, None):
                        return
            put(None, StopIteration())
        except BaseException as error:  # raised again where the items are taken
            put(None, error)

    thread = Thread(target=work, name="spacevrp-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error = waiting.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]  # None only beside an error
    finally:
        unwanted.set()
        thread.join()

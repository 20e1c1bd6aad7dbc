"""How many threads torch uses for our own work; the caller's setting stays as it is.

More than one makes torch start a pool of OpenMP threads. Such a pool does not outlive a fork: the
child waits for threads that it does not have. Nor is it quick where other programs are running,
since every operation waits for the slowest thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class _Callers:
    """The Python threads that are at work, and what torch was set to before the first came."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.own = threading.local()  # of each thread: whether it is at work
        self.inside = 0
        self.before = self.during = 1

    def enter(self, number: int) -> int:
        """Note a caller; returns the number of threads to go back to."""
        with self.lock:
            present = torch.get_num_threads()
            if not self.inside:
                self.before, self.during = present, number
            self.inside += 1
            # A thread that torch sees for the first time is told the number of the others at work.
            return self.before if present == self.during else present

    def leave(self) -> None:
        """One caller less."""
        with self.lock:
            self.inside -= 1


_callers = _Callers()


def _forget() -> None:
    """Other threads, and the locks they hold, stay behind in the parent."""
    global _callers
    at_work = getattr(_callers.own, "at_work", False)
    before, during = _callers.before, _callers.during
    _callers = _Callers()
    if at_work:  # forked during a call of ours
        _callers.own.at_work = True
        _callers.inside, _callers.before, _callers.during = 1, before, during


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def own_threads(number: int | None) -> Iterator[None]:
    """Let torch use so many threads for what this thread does; None for as many as it is set to.

    The caller's own setting is there again afterwards.
    """
    if number is None or getattr(_callers.own, "at_work", False):
        yield
        return
    before = _callers.enter(number)
    _callers.own.at_work = True
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _callers.own.at_work = False
        _callers.leave()

"""One deadline for a whole call: every stage looks at it, and stops when it is over."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Clock = Callable[[], float]


class TimeIsUp(Exception):
    """Raised by :meth:`Deadline.check`, by work that has no result until it is finished."""


class Deadline:
    """So many seconds from now on, or until it is interrupted.

    Parameters
    ----------
    seconds
        By default there is no limit.
    clock
        Tells the time in seconds.
    """

    def __init__(self, seconds: float = math.inf, clock: Clock = time.perf_counter) -> None:
        self.seconds, self.clock = seconds, clock
        self._began = clock()
        self._stop = threading.Event()  # shared by a deadline and its parts

    @property
    def spent(self) -> float:
        """Seconds since it was made."""
        return self.clock() - self._began

    @property
    def left(self) -> float:
        """Seconds left, below 0 where there was too little; nothing after an interruption."""
        if self._stop.is_set():
            return 0.0
        return self.seconds - self.spent if self.seconds < math.inf else math.inf

    @property
    def over(self) -> bool:
        """Whether the time is up, or the call was interrupted."""
        return self.left <= 0.0

    @property
    def interrupted(self) -> bool:
        """Whether the call was stopped before its time."""
        return self._stop.is_set()

    def interrupt(self) -> None:
        """The time is up now, for all parts of the deadline."""
        self._stop.set()

    def check(self) -> None:
        """Raise :class:`TimeIsUp` if it is over."""
        if self.over:
            raise TimeIsUp

    def until(self, spent: float) -> Deadline:
        """An earlier one: over when so many seconds are spent, and whenever this one is."""
        part = object.__new__(Deadline)
        part.seconds, part.clock = min(self.seconds, spent), self.clock
        part._began, part._stop = self._began, self._stop
        return part


# For calls without a limit.
NEVER = Deadline()


@contextmanager
def stopping_on_interrupt(
    deadline: Deadline, has_result: Callable[[], bool] = lambda: True
) -> Iterator[None]:
    """Have Ctrl-C interrupt the deadline instead of the call; a second one ends the call.

    So does the first as long as there is no result to return. In the main thread only, where
    signals arrive, and where there is no other handler.
    """
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if deadline.interrupted or not has_result():
            raise KeyboardInterrupt
        deadline.interrupt()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

"""Signals that ask a run to stop."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """Remembers the first request to stop; a second one acts at once, as if this were not here.

    Attributes
    ----------
    received
        Number of the signal; 0 while there was none.
    """

    def __init__(self) -> None:
        self.received = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        # Only the main thread may set handlers; elsewhere signals do what they always do.
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

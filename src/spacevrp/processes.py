"""Processes that answer one message after another; where one ends, one message is lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from threading import RLock, Thread
from typing import Any

from tqdm import tqdm

Answer = Callable[[Any], Any]


class ProcessEnded(Exception):
    """A process that ended instead of answering; says how."""


class AnsweringProcess:
    """A process that waits for messages at one end of a pipe.

    Parameters
    ----------
    make, arguments
        ``make(*arguments)`` is called in the process and gives the function that answers.
    """

    def __init__(self, make: Callable[..., Answer], *arguments: Any) -> None:
        # A fresh interpreter: a copy of this one may hold threads of another library.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, arguments), daemon=True)
        self._process.start()
        theirs.close()  # so that the pipe breaks where the process does

    def send(self, message: Any) -> None:
        """Ask; one that has ended says so when it is asked for the answer."""
        with suppress(OSError):
            self.connection.send(message)

    def receive(self) -> Any:
        """The answer to the last message.

        Raises
        ------
        ProcessEnded
            Where there will be none.
        """
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self.end()
            raise ProcessEnded(_how(self._process.exitcode)) from None

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.connection.close()
        self._process.terminate()
        self._process.join()


def _how(code: int | None) -> str:
    if code is None or code >= 0:
        return f"it ended with exit code {code}"
    return f"it was ended by {signal.Signals(-code).name}"


def _serve(connection: Connection, make: Callable[..., Answer], arguments: tuple[Any, ...]) -> None:
    # Ctrl-C reaches all processes of a terminal; the one that asks decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    # The lock of progress bars is one for all processes, and one that is ended leaves it behind.
    tqdm.set_lock(RLock())
    answer = make(*arguments)
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(answer(message))


def _end_with_parent() -> None:
    """A parent that was killed can end no process; its pipe would break only after the work."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)

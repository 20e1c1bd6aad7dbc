"""Threads that share a piece of work on the CPU, each with one core of its own.

Operations on small tensors are too short to be split among cores one by one: the threads of each
would wait for each other most of the time, the more so where other programs are running. Whole
pieces of work are long enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class Workers:
    """Runs pieces of work, at the same time where there is more than one worker."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._threads = torch.get_num_threads()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Workers:
        if self._number == 1:
            torch.set_num_threads(1)  # the caller is the worker
        else:
            self._pool = ThreadPoolExecutor(
                self._number, initializer=torch.set_num_threads, initargs=(1,)
            )
        return self

    def map(self, work: Callable[[Piece], Result], pieces: Iterable[Piece]) -> Iterator[Result]:
        """The results, in the order of the pieces."""
        if self._pool is None:
            yield from map(work, pieces)
            return
        inference, gradients = torch.is_inference_mode_enabled(), torch.is_grad_enabled()

        def in_this_mode(piece: Piece) -> Result:
            # Modes belong to threads.
            with torch.inference_mode(inference), torch.set_grad_enabled(gradients):
                return work(piece)

        yield from self._pool.map(in_this_mode, pieces)

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        # What a worker sets holds for the libraries as a whole.
        torch.set_num_threads(self._threads)


def workers_for(device: torch.device) -> int:
    """As many as torch may use cores; a GPU is kept busy by one."""
    return torch.get_num_threads() if device.type == "cpu" else 1

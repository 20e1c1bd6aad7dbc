"""The network by torch: on a GPU, or on a CPU as the slow twin of the compiled network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread
from typing import ClassVar, TypeVar

import torch

from spacevrp.engines.base import Account
from spacevrp.engines.batching import Batcher
from spacevrp.engines.devices import choose_device
from spacevrp.engines.progress import Progress
from spacevrp.inference.construct import Candidate
from spacevrp.inference.settings import Settings
from spacevrp.model import SpaceModel
from spacevrp.model.weights import DEFAULT_WEIGHTS, load_weights
from spacevrp.problems.problem import Problem
from spacevrp.tensors.threads import own_threads

T = TypeVar("T")

# Instances whose candidates may wait for the referee while a GPU goes on.
_AHEAD = 1024
# Seconds after which a full queue looks whether anything is still wanted.
_LOOK = 0.05


@dataclass(frozen=True)
class TorchEngine:
    """A model on a device; ``wanted`` threads, None for as many as torch is set to."""

    model: SpaceModel
    device: torch.device
    wanted: int | None
    name: ClassVar[str] = "torch"

    @classmethod
    def load(
        cls, weights: str | Path | SpaceModel | None, device: str | torch.device, wanted: int | None
    ) -> TorchEngine:
        """From weights, or with a model, which moves to the device."""
        chosen = choose_device(device)
        with own_threads(wanted):
            if isinstance(weights, SpaceModel):
                model = weights
            else:
                model, _ = load_weights(DEFAULT_WEIGHTS if weights is None else weights)
            return cls(model.to(chosen), chosen, wanted)

    @property
    def threads(self) -> int:
        """Of a CPU that it uses."""
        return self.wanted or torch.get_num_threads()

    def at_work(self) -> AbstractContextManager[None]:
        """During a call: torch uses the threads of this engine."""
        return own_threads(self.wanted)

    def lacks(self, problem: Problem, settings: Settings) -> str | None:
        """Nothing: it plans everything."""
        del problem, settings
        return None

    def search(
        self,
        several: Sequence[Problem],
        settings: Settings,
        progress: Progress,
        account: Account,
    ) -> Iterator[list[Candidate]]:
        """The candidates of each, block by block."""
        found = Batcher(self.model, self.device, account).search(several, settings, progress)
        if self.device.type != "cuda":
            return found
        return ahead(found, _AHEAD, torch.cuda.device(self.device))


def ahead(
    source: Iterator[T], most: int, within: AbstractContextManager[object] | None = None
) -> Iterator[T]:
    """The same items in the same order; a thread asks for up to ``most`` that are not yet wanted.

    So a GPU does not wait for the host: its next block begins while plans of the last are judged.
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

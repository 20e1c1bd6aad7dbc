"""The network by the compiled module, on a CPU, without torch.

Instances are worked on one after the other, so that there are no blocks to be cut. What it does not
do, samples of large instances and matrices of very large ones, torch does where it is installed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from spacevrp import native
from spacevrp.engines.base import Account, Engine
from spacevrp.engines.devices import Cpu, cores, has_torch
from spacevrp.engines.grouping import count_beams, count_rollouts, note_left_out
from spacevrp.engines.memory import Footprint, available, too_large
from spacevrp.engines.progress import Progress
from spacevrp.engines.pruning import Search, footprint_of, search_of, too_large_at_all
from spacevrp.inference.construct import Candidate, construct
from spacevrp.inference.large import MOST_NODES
from spacevrp.inference.network import load_network
from spacevrp.inference.settings import Settings
from spacevrp.problems.errors import TORCH_MISSING, SpacevrpError, UnsupportedError
from spacevrp.problems.problem import Problem


class NativeEngine:
    """The network of some weights; ``wanted`` threads, None for one a core."""

    name = "native"

    def __init__(self, weights: str | Path, wanted: int | None = 1) -> None:
        if native.network is None:
            raise SpacevrpError(native.NETWORK_MISSING)
        self._weights, self._wanted = weights, wanted
        self._network, _ = load_network(weights)
        self.device = Cpu()

    @property
    def threads(self) -> int:
        """Of a CPU that it uses."""
        return self._wanted or _usual_threads()

    def at_work(self) -> AbstractContextManager[None]:
        """During a call: the encoder sets the threads of its products itself."""
        return nullcontext()

    def lacks(self, problem: Problem, settings: Settings) -> str | None:
        """Why it has no plans of a problem with these settings; None where it has."""
        reason = None if has_torch() else self._why_torch(problem, settings)
        return None if reason is None else f"{reason}: {TORCH_MISSING}"

    def search(
        self,
        several: Sequence[Problem],
        settings: Settings,
        progress: Progress,
        account: Account,
    ) -> Iterator[list[Candidate]]:
        """The candidates of each, one after the other.

        Raises
        ------
        UnsupportedError
            Where torch is needed and not installed.
        """
        large = search_of(several[0], settings, self.device)
        if large is not None:
            note_left_out(several, settings, large, account.notes)
        for problem in several:
            lacking = self.lacks(problem, settings)
            if lacking is not None:
                raise UnsupportedError(lacking)
            if self._why_torch(problem, settings) is not None:
                with self._twin.at_work():
                    yield from self._twin.search([problem], settings, progress, account)
                continue
            large = search_of(problem, settings, self.device)
            need, error = self._needs(problem, large)
            if need > available(self.device):
                raise error()
            rollouts = count_rollouts([problem], settings, self.device)
            rollouts += count_beams([problem], settings, self.device)
            progress.begin(settings.augmentations * rollouts)
            own = replace(settings, threads=self.threads)
            if large is not None:
                own = replace(own, starts=large.starts, choices=large.choices)
            began = time.perf_counter()
            try:
                found = construct(self._network, problem, own, report=progress.advance)
            except MemoryError:
                raise error() from None
            account.seconds.searching += time.perf_counter() - began
            progress.end()
            yield found

    def _needs(
        self, problem: Problem, large: Search | None
    ) -> tuple[int, Callable[[], SpacevrpError]]:
        """Bytes of one augmentation from one start, as torch counts, and the error if too many."""
        width, device = self._network.config.width, self.device
        if large is None:
            need = Footprint.of(problem.size, width).block(1, 1)
            return need, lambda: too_large(problem.size, width, device, available(device))
        of = ([problem], width, large, device, self.threads)
        return footprint_of(*of).block(1, 1, 1), lambda: too_large_at_all(*of)

    def _why_torch(self, problem: Problem, settings: Settings) -> str | None:
        """What the compiled network cannot do; None where it can."""
        if search_of(problem, settings, self.device) is None:
            return None
        if settings.samples:
            return f"samples of an instance with {len(problem.customers)} customers"
        lengths = (problem.distances, problem.durations)
        if problem.size > MOST_NODES and any(one.coordinates is not None for one in lengths):
            return f"the network's plans of an instance with {problem.size} nodes"
        return None

    @cached_property
    def _twin(self) -> Engine:
        from spacevrp.engines.torch_engine import TorchEngine

        return TorchEngine.load(self._weights, "cpu", self._wanted)


def _usual_threads() -> int:
    """As many as this process may use; fewer where OMP_NUM_THREADS says so, as libraries do."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) else cores()

"""The network by torch: on a GPU, or on a CPU as the slow twin of the compiled network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch

from spacevrp.engines.ahead import ahead
from spacevrp.engines.base import Account
from spacevrp.engines.batching import Batcher
from spacevrp.engines.devices import choose_device
from spacevrp.engines.progress import Progress
from spacevrp.engines.settings import Settings
from spacevrp.inference.construct import Candidate
from spacevrp.model import SpaceModel
from spacevrp.model.weights import DEFAULT_WEIGHTS, load_weights
from spacevrp.problems.problem import Problem
from spacevrp.tensors.threads import own_threads

# Instances whose candidates may wait for the referee while a GPU goes on.
_AHEAD = 1024


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
        batcher = Batcher(
            self.model, self.device, account.batch_memory, account.seconds, account.notes
        )
        found = batcher.search(several, settings, progress)
        if self.device.type != "cuda":
            return found
        return ahead(found, _AHEAD, torch.cuda.device(self.device))

"""A small random model: what it proposes is poor, but every rule applies to it all the same."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.solver import Solver


@pytest.fixture(scope="session")
def model() -> SpaceModel:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SpaceModel(
            ModelConfig(width=16, layers=2, feedforward=32, pivots=4, rank=2, heads=2)
        )


@pytest.fixture(scope="session")
def solver(model: SpaceModel) -> Solver:
    return Solver(model, "cpu")


@pytest.fixture(scope="module")
def network_alone() -> Iterator[None]:
    """The plans of the model, whatever the size: no search follows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spacevrp.solver.work.can_search", lambda problem: False)
        yield


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of all tensors alive that were made under it."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        self.now = self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                key = storage._cdata
                if key not in self.sizes:
                    self.sizes[key] = storage.nbytes()
                    self.now += storage.nbytes()
                    self.peak = max(self.peak, self.now)
                    weakref.finalize(storage, self._forget, key)
        return result

    def _forget(self, key: int) -> None:
        self.now -= self.sizes.pop(key, 0)


@pytest.fixture(scope="session")
def live_bytes() -> type[LiveBytes]:
    return LiveBytes

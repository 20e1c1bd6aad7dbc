"""A small random model, a clock that only moves with work, and an engine that moves it.

What the model proposes is poor, but every rule applies to it all the same.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from spacevrp.engines.devices import Cpu
from spacevrp.inference.construct import Candidate
from spacevrp.inference.settings import Settings
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.problems.deadline import TimeIsUp
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
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
        patch.setattr("spacevrp.solver.solver.can_search", lambda problem: False)
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


@dataclass
class Clock:
    """Time that stands still but for work."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def alone(problem: Problem) -> Solution:
    """A route for each customer."""
    return Solution.judged(problem, [(0, node, 0) for node in problem.customers])


@dataclass
class FakeEngine:
    """Serves each customer alone, and takes ``latency + rate x rollouts`` seconds a problem.

    When the time is up there is no plan.
    """

    clock: Clock
    latency: float = 0.0
    rate: float = 0.0
    threads: int = 1
    name: str = "fake"
    stuck: bool = False
    device: Cpu = field(default_factory=Cpu)
    calls: list[Settings] = field(default_factory=list)

    def at_work(self) -> Any:
        return nullcontext()

    def lacks(self, problem: Problem, settings: Settings) -> str | None:
        return None

    def search(
        self, several: Sequence[Problem], settings: Settings, *_: Any
    ) -> Iterator[list[Candidate]]:
        self.calls.append(settings)
        for problem in several:
            starts = settings.starts or len(problem.customers)
            rollouts = settings.augmentations * starts * (1 + (settings.samples or 0))
            needed, left = self.latency + self.rate * rollouts, settings.deadline.left
            self.clock.now += min(needed, max(left, 0.0) + 1e-9)
            if needed > left:
                raise TimeIsUp
            moves = np.array([node for one in problem.customers for node in (0, one)] + [0])
            cost = np.inf if self.stuck else alone(problem).cost
            yield [Candidate(cost, 0, moves[:3] if self.stuck else moves)]


@pytest.fixture
def fake(clock: Clock) -> FakeEngine:
    return FakeEngine(clock, latency=0.1, rate=0.001)


@pytest.fixture
def solver_of() -> Any:
    """A solver with another engine."""

    def make(engine: Any) -> Solver:
        solver = object.__new__(Solver)
        solver.threads, solver.engine = 1, engine
        solver._asked, solver._others = ("fake", "cpu", "auto"), {}
        return solver

    return make


@pytest.fixture(autouse=True)
def network_at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """The problems here are small, and the network plans them all the same."""
    monkeypatch.setattr("spacevrp.solver.effort.LEAST_FOR_NETWORK", 0)

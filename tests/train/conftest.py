"""Runs small enough for a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from spacevrp.model import ModelConfig
from spacevrp.train.config import TrainConfig
from spacevrp.train.state import TrainState
from spacevrp.train.step import TrainStep

TINY_MODEL = ModelConfig(width=16, layers=1, feedforward=32, pivots=4, rank=2, heads=2)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small tensors gain nothing from threads, and lose where other tests run beside them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def tiny() -> Callable[..., TrainConfig]:
    """A run of a few milliseconds a step, with changes."""

    def build(**changes: Any) -> TrainConfig:
        values = {
            "size": 6,
            "batch": 12,
            "precision": "float32",
            "steps": 20,
            "warmup": 3,
            "log_steps": 5,
            "model": TINY_MODEL,
        }
        return TrainConfig(**(values | changes))

    return build


@pytest.fixture
def new_step() -> Callable[[TrainConfig], TrainStep]:
    """The step of a run whose weights have left their starting point, where much is zero."""

    def build(config: TrainConfig) -> TrainStep:
        state = TrainState(config, torch.device("cpu"))
        with torch.no_grad():
            for parameter in state.model.parameters():
                noise = torch.randn_like(parameter)
                parameter.add_(0.3 * parameter.abs().mean().clamp(min=0.1) * noise)
        return TrainStep(state.model, state.optimizer, state.average, config)

    return build

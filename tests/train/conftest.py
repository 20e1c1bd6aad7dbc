"""Runs small enough for a CPU."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from spacevrp.model import ModelConfig
from spacevrp.train.config import TrainConfig
from spacevrp.train.loop import Outcome, _Loop, train
from spacevrp.train.naive import naive_accumulate
from spacevrp.train.state import TrainState
from spacevrp.train.step import TrainStep
from spacevrp.train.work import Shards

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


def take_gradients(step: TrainStep) -> dict[str, Tensor]:
    """The gradients there are by name, cleared afterwards."""
    found = {}
    for name, parameter in step.model.named_parameters():
        if parameter.grad is not None:
            found[name] = parameter.grad.clone()
            parameter.grad.zero_()
    return found


@pytest.fixture
def both_gradients(
    new_step: Callable[[TrainConfig], TrainStep],
) -> Callable[[TrainConfig], tuple[dict[str, Tensor], Tensor]]:
    """The gradients by autograd through the rollout, and costs; those replayed are the same."""

    def compare(config: TrainConfig) -> tuple[dict[str, Tensor], Tensor]:
        step, shards = new_step(config), Shards(config, torch.device("cpu"))
        torch.manual_seed(5)
        batch = shards.samplers[0].draw(None)
        random_state = torch.get_rng_state()
        step.accumulate(batch, shards.problems[0], shards.trajectories)
        replayed = take_gradients(step)
        torch.set_rng_state(random_state)
        cost = naive_accumulate(step, batch, shards.problems[0], shards.trajectories)
        naive = take_gradients(step)
        assert replayed.keys() == naive.keys()
        for name, expected in naive.items():
            assert expected.dtype == torch.float64
            assert torch.allclose(replayed[name], expected, rtol=1e-8, atol=1e-8), name
        return naive, cost

    return compare


def quiet(config: TrainConfig, folder: Path, **options: Any) -> Outcome:
    return train(config, folder, device="cpu", progress=False, **options)


def stop_at(monkeypatch: pytest.MonkeyPatch, step: int, number: int = signal.SIGTERM) -> None:
    """A signal in the middle of a step, counted from 1."""
    take = _Loop._take_step

    def acting(loop: _Loop, at: int) -> None:
        if at == step - 1:
            signal.raise_signal(number)
        take(loop, at)

    monkeypatch.setattr(_Loop, "_take_step", acting)

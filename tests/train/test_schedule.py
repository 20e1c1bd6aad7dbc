"""How the learning rates change, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spacevrp.train.config import PRESETS, TrainConfig
from spacevrp.train.schedule import rate_factor

Build = Callable[..., TrainConfig]


def test_the_warm_up_is_a_straight_line(tiny: Build) -> None:
    config = tiny(warmup=4, steps=100)
    assert [rate_factor(config, step) for step in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]


def test_constant_then_decay(tiny: Build) -> None:
    config = tiny(schedule="constant-then-decay", warmup=0, steps=100, decay_share=0.2)
    found = [rate_factor(config, step) for step in (0, 50, 79, 80, 85, 90, 99, 100)]
    assert found == pytest.approx([1, 1, 1, 1, 0.75, 0.5, 0.05, 0])


def test_cosine(tiny: Build) -> None:
    config = tiny(schedule="cosine", warmup=0, steps=300)
    found = [rate_factor(config, step) for step in (0, 100, 150, 200, 300)]
    assert found == pytest.approx([1, 0.75, 0.5, 0.25, 0])


def test_the_papers_rate_falls_once_after_450_of_500_epochs() -> None:
    config = PRESETS["paper"]
    epoch = 2_000
    assert config.steps == 500 * epoch
    assert rate_factor(config, 0) == 1.0
    assert rate_factor(config, 450 * epoch - 1) == 1.0
    assert rate_factor(config, 450 * epoch) == pytest.approx(0.1)
    assert rate_factor(config, 500 * epoch - 1) == pytest.approx(0.1)


def test_no_decay_at_all(tiny: Build) -> None:
    config = tiny(schedule="constant-then-decay", warmup=0, steps=10, decay_share=0.0)
    assert [rate_factor(config, step) for step in range(10)] == [1.0] * 10

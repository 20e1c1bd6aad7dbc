"""How the learning rates change, by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spacevrp.train.config import PRESETS, TrainConfig
from spacevrp.train.schedule import rate_factor

Build = Callable[..., TrainConfig]


DECAY = "constant-then-decay"


@pytest.mark.parametrize(
    ("changes", "factors"),
    [
        ({"warmup": 4, "steps": 100}, {0: 0.25, 1: 0.5, 2: 0.75, 3: 1, 4: 1}),
        (
            {"schedule": DECAY, "warmup": 0, "steps": 100, "decay_share": 0.2},
            {0: 1, 79: 1, 80: 1, 85: 0.75, 90: 0.5, 99: 0.05, 100: 0},
        ),
        ({"schedule": "cosine", "warmup": 0, "steps": 300}, {0: 1, 100: 0.75, 150: 0.5, 300: 0}),
        ({"schedule": DECAY, "warmup": 0, "steps": 10, "decay_share": 0.0}, {0: 1, 9: 1}),
    ],
)
def test_factors_by_hand(tiny: Build, changes: dict[str, Any], factors: dict[int, float]) -> None:
    config = tiny(**changes)
    assert {step: rate_factor(config, step) for step in factors} == pytest.approx(factors)


def test_the_papers_rate_falls_once_after_450_of_500_epochs() -> None:
    config = PRESETS["paper"]
    epoch = 2_000
    assert config.steps == 500 * epoch
    assert rate_factor(config, 0) == 1.0
    assert rate_factor(config, 450 * epoch - 1) == 1.0
    assert rate_factor(config, 450 * epoch) == pytest.approx(0.1)
    assert rate_factor(config, 500 * epoch - 1) == pytest.approx(0.1)

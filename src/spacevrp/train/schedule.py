"""How the learning rates change over a run."""

from __future__ import annotations

import math

from spacevrp.train.config import TrainConfig


def rate_factor(config: TrainConfig, step: int) -> float:
    """What the rates are multiplied with at a step, counted from 0."""
    if step < config.warmup:
        return (step + 1) / config.warmup
    progress = min(step / config.steps, 1.0)
    if config.schedule == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * progress))
    begin = 1.0 - config.decay_share
    if progress < begin:
        return 1.0
    if config.schedule == "step":
        return config.decay_factor
    return max(0.0, (1.0 - progress) / config.decay_share) if config.decay_share else 0.0

"""Training: REINFORCE with a shared baseline, one readable loop, resumable to the bit."""

from spacevrp.train.config import PRESETS, TrainConfig

__all__ = ["PRESETS", "TrainConfig"]

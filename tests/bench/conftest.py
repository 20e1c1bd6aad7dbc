"""A tiny model for the tables, which are about how results are reported, not how good they are."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.model.weights import save_weights

TINY = ModelConfig(width=16, layers=1, feedforward=16, pivots=2, rank=2, heads=1)


@pytest.fixture(scope="session")
def tiny_model() -> SpaceModel:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SpaceModel(TINY)


@pytest.fixture(scope="session")
def tiny_weights(tiny_model: SpaceModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_weights(tmp_path_factory.mktemp("weights") / "tiny", tiny_model, {})

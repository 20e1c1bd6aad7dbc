"""A small random model: what it proposes is poor, but every rule applies to it all the same."""

from __future__ import annotations

import pytest
import torch

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

"""Small networks, instances of all kinds, and the slow twin."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.model.products import steady_products


@pytest.fixture(autouse=True)
def no_warning_of_bfloat16() -> Iterator[None]:
    """Some tests multiply in bfloat16 on any CPU; what they leave must not show in others."""
    with steady_products(torch.bfloat16, torch.device("cpu")):
        yield


@pytest.fixture(scope="session")
def slow_twin() -> ModuleType:
    """The module beside this file; tests cannot import their neighbours by name."""
    path = Path(__file__).with_name("slow_twin.py")
    spec = importlib.util.spec_from_file_location("slow_twin", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def awake(config: ModelConfig, seed: int = 0) -> SpaceModel:
    """A network in float64 whose parameters are all away from their neutral starts."""
    torch.manual_seed(seed)
    model = SpaceModel(config).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("magnitude"):
                parameter.normal_(std=0.3)
            elif "norm_" in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
            elif name.startswith("more_signals."):
                parameter.normal_(std=0.5)
            elif name == "bias.weight_out":
                parameter.normal_(std=0.1)
        # Within the range in which the clipping does not flatten everything.
        model.bias.bias_out[-1] = 0.2
    return model


@pytest.fixture(scope="session")
def make_model():
    """``make_model(**changes of a small configuration)``, awake, in float64."""

    def make(seed: int = 0, **changes: object) -> SpaceModel:
        small = {"width": 16, "layers": 2, "feedforward": 24, "pivots": 5, "rank": 3, "heads": 2}
        return awake(ModelConfig(**{**small, "signals": 4, **changes}), seed)

    return make

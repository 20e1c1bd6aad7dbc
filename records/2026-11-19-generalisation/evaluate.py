"""Costs of each arm under the paper's protocol with 8 augmentations, on a CPU.

python evaluate.py COUNT ARM ... in the folder that ``arms.py`` wrote to
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from safetensors.torch import load_file

import spacevrp.inference.encoder as encoder
from spacevrp.cli.main import main
from spacevrp.inference.config import ModelConfig
from spacevrp.model import SpaceModel
from spacevrp.model.weights import save_weights

plain = encoder.node_features


def by_largest(instance, scale, mean=None):
    """Demands over the largest of the instance instead of over the capacity."""
    found = plain(instance, scale, mean)
    if np.isfinite(instance.capacity):
        found[:, 0] = instance.demand / max(float(np.abs(instance.demand).max()), 1e-9)
    return found


for name in sys.argv[2:]:
    network = SpaceModel(ModelConfig(match_start=0.15, signals=4 if name == "signals" else 1))
    stored = load_file(f"{name}.safetensors")
    network.load_state_dict({key: value.float() for key, value in stored.items()}, strict=True)
    weights = save_weights(Path(f"{name}-weights"), network, {"steps": 0})
    encoder.node_features = by_largest if name == "demand" else plain
    for verb in ("seen", "unseen"):
        asked = ["--protocol", "paper", "--count", sys.argv[1], "--device", "cpu"]
        asked += ["--augment-symmetric", "8", "--augment-asymmetric", "8"]
        main(["bench", verb, *asked, "--weights", str(weights), "-o", f"{name}-{verb}"])

"""The SPACE model: pivots and node features in, decoder tables and logits out.

The model knows tensors and never the environment: to it a mask is a bool tensor.
"""

from spacevrp.inference.config import ModelConfig
from spacevrp.model.decoder import DecoderTables
from spacevrp.model.pivots import augmentation_seeds, random_seeds
from spacevrp.model.policy_heads import (
    HEAD_STRENGTH,
    LearnedHeads,
    Queries,
    apply_heads,
    head_shifts,
)
from spacevrp.model.space import SpaceModel

__all__ = [
    "HEAD_STRENGTH",
    "DecoderTables",
    "LearnedHeads",
    "ModelConfig",
    "Queries",
    "SpaceModel",
    "apply_heads",
    "augmentation_seeds",
    "head_shifts",
    "random_seeds",
]

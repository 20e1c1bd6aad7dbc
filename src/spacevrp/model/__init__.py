"""The SPACE model: pivots and node features in, decoder tables and logits out.

The model knows tensors and never the environment: to it a mask is a bool tensor.
"""

from spacevrp.inference.config import ModelConfig
from spacevrp.model.decoder import DecoderTables
from spacevrp.model.leanings import LEAN, LearnedLeanings, Queries, lean, leanings
from spacevrp.model.pivots import random_seeds, view_seeds
from spacevrp.model.space import SpaceModel

__all__ = [
    "LEAN",
    "DecoderTables",
    "LearnedLeanings",
    "ModelConfig",
    "Queries",
    "SpaceModel",
    "lean",
    "leanings",
    "random_seeds",
    "view_seeds",
]

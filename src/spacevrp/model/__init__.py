"""The SPACE model: pivots and node features in, decoder tables and logits out.

The model knows tensors and never the environment: to it a mask is a bool tensor.
"""

from spacevrp.inference.config import ModelConfig as ModelConfig
from spacevrp.model.decoder import DecoderTables as DecoderTables
from spacevrp.model.pivots import augmentation_seeds as augmentation_seeds
from spacevrp.model.pivots import random_seeds as random_seeds
from spacevrp.model.policy_heads import HEAD_STRENGTH as HEAD_STRENGTH
from spacevrp.model.space import SpaceModel as SpaceModel

"""Instances as padded tensors: the shapes that the environment and the model share."""

from spacevrp.tensors.batch import LOAD_RULE_CODES, PAIRED_LOAD, Batch, stack

__all__ = ["LOAD_RULE_CODES", "PAIRED_LOAD", "Batch", "stack"]

"""Instances as numpy arrays in the units of the network, without torch."""

from spacevrp.arrays.instance import Instance, prepare
from spacevrp.arrays.rows import LOAD_RULE_CODES, PAIRED_LOAD

__all__ = ["LOAD_RULE_CODES", "PAIRED_LOAD", "Instance", "prepare"]

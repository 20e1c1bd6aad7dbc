"""Instances as numpy arrays in the units of the network, without torch."""

from spacevrp.arrays.instance import Instance, prepare
from spacevrp.arrays.rows import LOAD_RULE_CODES, PAIRED_LOAD, View

__all__ = ["LOAD_RULE_CODES", "PAIRED_LOAD", "Instance", "View", "prepare"]

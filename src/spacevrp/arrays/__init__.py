"""Instances as numpy arrays in the units of the network, without padding and without torch."""

from spacevrp.arrays.instance import LOAD_RULE_CODES, PAIRED_LOAD, Instance, View, prepare

__all__ = ["LOAD_RULE_CODES", "PAIRED_LOAD", "Instance", "View", "prepare"]

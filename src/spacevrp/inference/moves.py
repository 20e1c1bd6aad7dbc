"""Facts of every possible next move: the twin of ``model/moves.py`` for vehicles at a depot."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spacevrp.arrays import LOAD_RULE_CODES, PAIRED_LOAD, Instance
from spacevrp.inference.features import horizon

Array = np.ndarray[Any, Any]

#: The way home counts in deviations of distances up to so many.
FARTHEST = 3.0
#: Windows that never close do so then, in units of time.
NEVER = 1e6


def facts_at_depots(instance: Instance, signals: Array, zscore: Array) -> Array:
    """Facts of going from each depot to all nodes, (K, N, 5) float32; signals (K, 7)."""
    one, depots = instance, instance.num_depots
    distance, duration = np.asarray(one.distance), np.asarray(one.duration)
    facts = np.zeros((depots, one.size, 5), dtype=np.float32)
    resource, time, credit, _, reach = (signals[:, [k]] for k in range(5))
    with np.errstate(invalid="ignore"):  # where no arc is
        if one.windowed:
            scale = np.float32(1.0) / horizon(one)
            closing = np.where(np.isfinite(one.closing), one.closing, np.float32(NEVER))
            arrival = time + duration[:depots] * scale
            facts[..., 0] = np.clip(one.opening * scale - arrival, 0.0, 1.0)
            facts[..., 1] = np.clip(closing * scale - arrival, 0.0, 1.0)
        if math.isfinite(one.capacity):
            goods = one.demand / np.float32(one.capacity)
            facts[..., 2] = np.clip(1.0 - _peak(one, 1.0 - resource, credit, goods), 0.0, 1.0)
        if math.isfinite(one.max_length):
            home = 0.0 if one.open_routes else distance[:, :depots].T
            length = reach - (distance[:depots] + home) / np.float32(one.max_length)
            facts[..., 3] = np.clip(length, 0.0, 1.0)
    facts[..., 4] = np.clip(zscore[:, :depots].T, -FARTHEST, FARTHEST)
    return facts


def _peak(instance: Instance, used: Array, credit: Array, goods: Array) -> Array:
    above = used + goods
    if instance.load_rule == PAIRED_LOAD:
        return np.asarray(used - goods)
    if instance.load_rule == LOAD_RULE_CODES["single"]:
        return np.asarray(np.maximum(above, 0.0) + np.maximum(credit - goods, 0.0))
    if instance.load_rule == LOAD_RULE_CODES["separate"]:
        gathered = credit + np.maximum(-goods, 0.0)
        return np.asarray(np.where(goods > 0, above, np.maximum(used, gathered)))
    return np.asarray(above)

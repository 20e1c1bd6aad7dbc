"""What the network sees of the nodes of an instance: six attributes and seven bits each.

The twin of ``model/features.py`` for one instance without padding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spacevrp.arrays import LOAD_RULE_CODES, Instance
from spacevrp.problems.distances import NO_MAP

Array = np.ndarray[Any, Any]

# Mean distance between two uniform points of the unit square.
MEAN_IN_UNIT_SQUARE = 0.5214


def node_features(instance: Instance, scale: float, mean: float | None = None) -> Array:
    """Attributes and type bits of all nodes, (N, 13) float32; (N, 21) with the mean distance.

    Demand, prize, penalty, earliest and latest start, service time; then depot, pickup, delivery,
    backhaul, linehaul, several routes, open routes. Demand is in vehicle loads and times are in
    horizons; ``scale`` is the unit of penalties (see :func:`natural_scale`).
    """
    features = np.zeros((instance.size, 13), dtype=np.float32)
    demand = instance.demand
    if math.isfinite(instance.capacity):
        features[:, 0] = demand / np.float32(instance.capacity)
    largest = float(instance.prize.max())
    whole = largest if instance.orienteering else instance.min_prize
    features[:, 1] = instance.prize / np.float32(whole if whole > 0 else 1.0)
    features[:, 2] = instance.penalty / np.float32(scale)
    if instance.windowed:
        span = horizon(instance)
        closing = np.where(np.isfinite(instance.closing), instance.closing, span)
        features[:, 3] = instance.opening / span
        features[:, 4] = closing / span
        features[:, 5] = instance.service / span
    features[: instance.num_depots, 6] = 1.0
    features[:, 7] = instance.is_pickup
    features[:, 8] = instance.is_delivery
    if not instance.paired:
        features[:, 9] = demand < 0
        features[:, 10] = demand > 0
    features[:, 11] = instance.several_routes
    features[:, 12] = instance.open_routes
    if mean is None:
        return features
    told = np.broadcast_to(problem_bits(instance, mean), (instance.size, 8))
    return np.concatenate([features, told], axis=1)


def problem_bits(instance: Instance, mean: float) -> Array:
    """What the ten attributes do not say of a problem, (8,); see ``model/features.py``."""
    one = instance
    same = one.duration is one.distance or (
        type(one.duration) is type(one.distance) and bool(np.all(one.duration == one.distance))
    )
    # Where durations differ from distances, times have a unit of their own.
    span = float(horizon(one)) if one.windowed and same else math.inf
    return np.array(
        [
            one.backhaul_last,
            one.num_depots > 1,
            one.orienteering,
            one.backhaul and one.load_rule == LOAD_RULE_CODES["separate"],
            one.backhaul and one.load_rule == LOAD_RULE_CODES["paper"],
            one.several_routes and one.max_routes < one.size - one.num_depots,
            min(mean / one.max_length, 1.0),
            min(mean / span, 1.0),
        ],
        dtype=np.float32,
    )


def horizon(instance: Instance) -> Any:
    """When the last depot closes, or the last customer where none does; float32."""
    closing = np.where(np.isfinite(instance.closing), instance.closing, np.float32(0.0))
    latest = closing[: instance.num_depots].max(initial=0.0)
    if not latest > 0:
        latest = closing.max()
    return latest if latest > 0 else np.float32(1.0)


def natural_scale(mean: float, total: float, change: float, nodes: int) -> float:
    """How many times longer distances are than in generated instances of that size.

    Exactly 1 where the mean length of an arc is within a factor of 2 of what these have. ``total``
    and ``change`` are the sums of all lengths and of all differences to the way back.
    """
    # Shortest paths in a complete graph with uniform lengths are about ln N / N long.
    closed_mean = math.log(max(nodes, 2)) / max(nodes, 2)
    expected = closed_mean if change > NO_MAP * total else MEAN_IN_UNIT_SQUARE
    scale = mean / expected
    return 1.0 if 0.5 <= scale <= 2.0 or mean <= 0 else scale

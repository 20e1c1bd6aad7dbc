"""Where the rollouts of an instance may begin, and the order in which start nodes are taken.

The twin of ``env/starts.py``, ``decode/first.py`` and parts of ``env/environment.py`` for one
instance. K is the number of depots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spacevrp.arrays import LOAD_RULE_CODES, PAIRED_LOAD, Instance
from spacevrp.arrays.limits import TOLERANCE
from spacevrp.inference.features import horizon
from spacevrp.inference.moves import facts_at_depots
from spacevrp.inference.tables import Tables

Array = np.ndarray[Any, Any]

_GOLDEN_RATIO = 0.6180339887498949
_FORGIVEN = np.float32(TOLERANCE)


@dataclass(frozen=True)
class Starts:
    """The first moves of an instance whose lengths are matrices.

    Parameters
    ----------
    direct
        Only customers with a direct way home are served. False looks ahead over the shortest paths
        home instead, for instances in which some customers have none but over other customers.
    """

    instance: Instance
    direct: bool = True

    @cached_property
    def home(self) -> tuple[Array, Array]:
        """Distances and durations from every node to each depot, (K, N) each."""
        instance = self.instance
        distance, duration = matrices_of(instance)
        if not self.direct:
            exists = np.isfinite(distance) & np.isfinite(duration)
            own = None if duration is distance else np.where(exists, duration, np.inf)
            distance = _shortest(np.where(exists, distance, np.inf), instance.num_depots)
            duration = distance if own is None else _shortest(own, instance.num_depots)
        depots = slice(0, instance.num_depots)
        there = np.ascontiguousarray(distance[:, depots].T)
        if duration is distance:
            return there, there
        return there, np.ascontiguousarray(duration[:, depots].T)

    @cached_property
    def servable(self) -> Array:
        """Customers that can come first in a route from each depot, (K, N) bool; loads aside."""
        one = self.instance
        distance, duration = matrices_of(one)
        depots = slice(0, one.num_depots)
        there, time_there = distance[depots], duration[depots]
        back, time_back = self.home
        arrival = one.opening[depots, None] + time_there
        home = np.maximum(arrival, one.opening) + one.service + time_back
        in_time = arrival <= one.closing + _FORGIVEN
        length, way = there, time_there
        if not one.open_routes:
            in_time &= home <= one.closing[depots, None] + _FORGIVEN
            length, way = there + back, time_there + time_back
        in_length = length <= np.float32(one.max_length) + _FORGIVEN
        # A window that never closes does not mind an infinite arrival.
        exists = np.isfinite(length) & np.isfinite(way)
        return np.asarray(in_time & in_length & exists & ~one.is_depot)

    @cached_property
    def ready(self) -> Array:
        """Customers that can be served first of all, (N,) bool."""
        one = self.instance
        feasible = ~one.is_depot & ~one.is_delivery
        if one.has_depot:
            feasible &= self.servable.any(axis=0)
        # Under the rule `paper` the first customer is a linehaul while there is one.
        if one.load_rule == LOAD_RULE_CODES["paper"] and one.backhaul:
            linehaul = feasible & (one.demand > 0)
            if linehaul.any():
                return np.asarray(linehaul)
        return np.asarray(feasible)

    @cached_property
    def first_depots(self) -> Array:
        """The depot that serves each customer most cheaply on its own, (N,) int64."""
        one = self.instance
        if one.num_depots < 2:
            return np.zeros(one.size, dtype=np.int64)
        distance, _ = matrices_of(one)
        cost = distance[: one.num_depots]
        if not one.open_routes:
            cost = cost + self.home[0]
        cost = np.where(self.servable, cost, np.float32(np.inf))
        # Depots on the same shortest cycle cost the same: rounding must not choose among them.
        cheapest = cost <= cost.min(axis=0) * np.float32(1.0 + TOLERANCE)
        return np.asarray(cheapest.argmax(axis=0))

    def origins(self, starts: Array) -> Array:
        """Where trajectories from these nodes begin: their depots; without depots, themselves."""
        return np.asarray(self.first_depots[starts] if self.instance.has_depot else starts)

    def likeliest_first(self, tables: Tables) -> Array:
        """All nodes (V, N), those that can be served first before all others, likeliest foremost.

        A tour without a depot visits every node whichever it starts at: there, however many come
        foremost are spread evenly over the nodes.
        """
        nodes = np.arange(self.instance.size)
        if self.instance.has_depot:
            chances = self._chances(tables)  # (V, K, N)
            chance = chances[:, self.first_depots, nodes]
        else:
            spread = -np.modf(nodes * _GOLDEN_RATIO)[0].astype(np.float32)
            chance = np.broadcast_to(spread, (tables.augmentations, len(nodes)))
        order = np.argsort(-chance, axis=1, kind="stable")
        later = np.argsort(~self.ready[order], axis=1, kind="stable")
        return np.take_along_axis(order, later, axis=1)

    def _chances(self, tables: Tables) -> Array:
        """Log chance of every customer to come first from each depot, (V, K, N)."""
        one = self.instance
        depots = np.arange(one.num_depots)
        used = self._used_at_depot()
        allowed = self.servable & ~one.is_delivery & self._load_fits(used)
        # Where nothing can be served, any row will do: no start has that depot for its own.
        allowed |= ~allowed.any(axis=1, keepdims=True)
        signals = self._signals(used)[:, : tables.num_signals]  # (K, S)
        assert tables.zscore is not None
        row = tables.zscore[depots]  # (K, N)
        query = tables.query_first[:, depots] + tables.query_last[:, depots]  # (V, K, d)
        query = query + signals @ tables.state_weight
        bias = np.where(allowed, -np.float32(tables.read_weight) * row, -np.inf)
        weight = np.exp(bias - bias.max(axis=1, keepdims=True)).astype(np.float32)
        sums = weight @ tables.keyed  # (V, K, 2d)
        width = query.shape[-1]
        with np.errstate(over="ignore"):
            context = sums[..., :width] / sums[..., width:] / (1.0 + np.exp(-query))
        match = context @ tables.embedding.transpose(0, 2, 1) / np.float32(math.sqrt(width))
        score = match - np.float32(tables.match_weight) * row
        if tables.move_first is not None:
            assert tables.move_last is not None
            weight = tables.move_first[:, depots] + tables.move_last[:, depots]  # (V, K, F)
            weight = weight + signals @ tables.move_state
            facts = facts_at_depots(one, signals, tables.zscore)  # (K, N, F)
            score = score + np.einsum("knf,vkf->vkn", facts, weight)
        score = np.tanh(score)
        logits = np.where(allowed, np.float32(tables.clipping) * score, -np.inf)
        logits = logits - logits.max(axis=-1, keepdims=True)
        return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))

    def _used_at_depot(self) -> float:
        """0, except under the rule `paper` where there are only backhauls: then it leaves empty."""
        one = self.instance
        linehauls = bool((one.demand[one.num_depots :] > 0).any())
        paper = one.load_rule == LOAD_RULE_CODES["paper"] and math.isfinite(one.capacity)
        return one.capacity if paper and not linehauls else 0.0

    def _load_fits(self, used: float) -> Array:
        """Customers whose demand fits a vehicle at its depot, (N,) bool; see ``env/load.py``."""
        one = self.instance
        limit = np.float32(one.capacity) + np.float32(one.load_tolerance)
        if one.load_rule == PAIRED_LOAD:
            return np.asarray(np.float32(used) - one.demand <= limit)
        above = np.float32(used) + one.demand
        fits = np.maximum(above, -one.demand) <= limit
        if one.load_rule == LOAD_RULE_CODES["paper"]:
            fits = (above <= limit) & (above >= -np.float32(one.load_tolerance))
        return np.asarray(fits)

    def _signals(self, used: float) -> Array:
        """What the decoder is told of a vehicle at each depot, (K, 7); see ``decode/signal.py``."""
        one = self.instance
        left = 0.0
        if math.isfinite(one.capacity):
            left = (one.capacity - used) / one.capacity
        elif one.orienteering:
            left = 1.0
        elif one.prize_collecting:
            left = one.min_prize / max(one.min_prize, 1e-6)
        signals = np.zeros((one.num_depots, 7), dtype=np.float32)
        signals[:, 0] = left
        if one.windowed:
            signals[:, 1] = one.opening[: one.num_depots] / horizon(one)
        signals[:, 3] = 1.0 if one.size > one.num_depots else 0.0
        signals[:, 4] = 1.0 if math.isfinite(one.max_length) else 0.0
        return signals


def matrices_of(instance: Instance) -> tuple[Array, Array]:
    """Distances and durations, (N, N) each; the same array where they do not differ."""
    distance, duration = instance.distance, instance.duration
    if not isinstance(distance, np.ndarray) or not isinstance(duration, np.ndarray):
        raise ValueError("expected an instance with a matrix of lengths, received coordinates")
    return distance, duration


def _shortest(lengths: Array, depots: int) -> Array:
    """Lengths of shortest paths over customers, (N, N): no route passes a depot on its way."""
    for node in range(depots, len(lengths)):
        np.minimum(lengths, lengths[:, node, None] + lengths[node], out=lengths)
    return lengths

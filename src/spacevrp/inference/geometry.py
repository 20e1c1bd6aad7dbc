"""What the network sees of distances: their scale, rows of them, and positions among pivots.

The twin of ``model/geometry.py``, ``model/streaming.py`` and ``model/pivots.py`` for one instance,
whose lengths are a matrix or follow from coordinates; of the latter no N x N matrix is ever held.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spacevrp.arrays import Instance
from spacevrp.arrays.plane import Plane
from spacevrp.inference.config import ModelConfig
from spacevrp.inference.features import natural_scale
from spacevrp.native import network

Array = np.ndarray[Any, Any]

# A free place among pivots, for the furthest node.
NO_SEED = -1
# Nodes on the same shortest cycle through a pivot are equally far from it. Gaps this close, in
# proportion, count as equal, so that the choice does not hang on rounding.
SAME_GAP = 1e-5
# Lengths are never divided by less: the root of the least normal number of float32.
_LEAST_DEVIATION = float(np.finfo(np.float32).tiny) ** 0.5
# Entries of a matrix that are looked at together.
_ENTRIES = 2**18


@dataclass(frozen=True)
class Scale:
    """How the distances of an instance are normalised."""

    mean: float
    deviation: float
    longest: float  # what a missing arc looks like
    penalty: float  # the unit of penalties (see features.natural_scale)


@dataclass(frozen=True)
class Geometry:
    """The distances of an instance as the network sees them."""

    lengths: Array | Plane  # (N, N) float32; no arc is missing: the longest take their place
    scale: Scale
    log_size: float  # log2 of the number of nodes

    @classmethod
    def of(cls, instance: Instance) -> Geometry:
        """Look at all distances of an instance."""
        lengths, size = instance.distance, instance.size
        if isinstance(lengths, Plane):
            scale = _survey_plane(lengths)
        else:
            lengths = np.ascontiguousarray(lengths, dtype=np.float32)
            found = network.survey(lengths)
            mean_arc = found["total"] / max(found["arcs"], 1.0)
            scale = Scale(
                found["mean"],
                found["deviation"],
                found["longest"],
                natural_scale(mean_arc, found["total"], found["change"], size),
            )
            if found["missing"]:
                # A missing arc looks like the longest one: the rules, not the network, forbid it.
                lengths = np.where(np.isfinite(lengths), lengths, np.float32(scale.longest))
        return cls(lengths, scale, math.log2(size))

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.lengths.shape[0]

    @cached_property
    def zscore(self) -> Array:
        """Normalised distances, (N, N) float32; not for lengths that follow from coordinates."""
        if isinstance(self.lengths, Plane):
            raise ValueError("expected a matrix of lengths, received coordinates")
        centred = self.lengths - np.float32(self.scale.mean)
        centred /= np.float32(self.scale.deviation)
        return centred

    def factor(self, alpha: float) -> float:
        """What a length is multiplied with in the exponent of a branch."""
        return alpha * self.log_size / self.scale.deviation

    def rows(self, nodes: Array) -> Array:
        """Lengths (P, N) from nodes (P,) to all."""
        if isinstance(self.lengths, Plane):
            return self.lengths.rows(nodes)
        return np.asarray(self.lengths[nodes])

    def columns(self, nodes: Array) -> Array:
        """Lengths (P, N) from all nodes to nodes (P,)."""
        if isinstance(self.lengths, Plane):
            return self.lengths.rows(nodes)
        return np.ascontiguousarray(self.lengths.T[nodes])


def _survey_plane(plane: Plane) -> Scale:
    """The scale of lengths that follow from coordinates, read in rows once."""
    # Sums in float64: there are a thousand million entries in a large instance.
    total, squares, longest = 0.0, 0.0, 0.0
    size = len(plane.points)
    for rows in row_slices(size):
        tile = plane.tile(rows).ravel()
        total += float(tile.sum(dtype=np.float64))
        squares += float(np.dot(wide := tile.astype(np.float64), wide))
        longest = max(longest, float(tile.max()))
    mean = total / (size * size)
    deviation = math.sqrt(max(squares / (size * size) - mean * mean, 0.0))
    mean_arc = total / max(size * (size - 1), 1)
    scale = natural_scale(mean_arc, total, 0.0, size)
    return Scale(mean, max(deviation, _LEAST_DEVIATION), longest, scale)


def row_slices(size: int) -> Iterator[slice]:
    """Rows of a matrix of that size, as many at a time as stay in the caches."""
    count = max(1, _ENTRIES // size)
    for first in range(0, size, count):
        yield slice(first, min(first + count, size))


# ------------------------------------------------------------------------------------- pivots


def seeds_of_augmentations(
    depots: int, nodes: int, config: ModelConfig, augmentations: int, seed: int
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Pivot seeds of each augmentation, (V, M), from the seed and the numbers of nodes.

    The first augmentations take one customer each, in the order of a random permutation; beyond the
    number of customers, augmentations take two distinct customers drawn at random. Free places have
    -1.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    customers = nodes - depots
    order = depots + generator.permutation(customers)
    rows = np.full((augmentations, config.pivots), NO_SEED, dtype=np.int64)
    for augmentation in range(augmentations):
        leading = list(range(depots)) if config.depot_seed else []
        room = 1  # for customers among the pivots, whatever the number of depots
        if config.pivot_choice == "random":
            first = depots if config.depot_seed else 0
            chosen = list(first + generator.permutation(nodes - first))
        elif augmentation < customers:
            chosen = [order[augmentation]]
        else:
            pair = generator.choice(customers, size=min(2, customers), replace=False)
            chosen = list(depots + pair)
            room = len(chosen)
        seeds = [*leading[: max(config.pivots - room, 0)], *chosen][: config.pivots]
        rows[augmentation, : len(seeds)] = seeds
    return rows


def furthest_pivots(geometry: Geometry, seeds: Array) -> Array:
    """Pivots (V, M) for seeds (V, M): the seeds, then greedily the node furthest from all so far.

    Of several equally far nodes the first is taken.
    """
    deviation = np.float32(geometry.scale.deviation)
    augmentations = np.arange(len(seeds))
    gap = np.full((len(seeds), geometry.size), np.inf, dtype=np.float32)
    pivots = seeds.copy()
    for place, column in enumerate(seeds.T):
        largest = gap.max(axis=1, keepdims=True)
        furthest = (gap >= largest * np.float32(1.0 - SAME_GAP)).argmax(axis=1)
        pivots[:, place] = pivot = np.where(column == NO_SEED, furthest, column)
        there, back = geometry.rows(pivot), geometry.columns(pivot)
        np.minimum(gap, np.float32(0.5) * (there + back) / deviation, out=gap)
        gap[augmentations, pivot] = -np.inf  # never the same pivot twice
    return pivots


def position(geometry: Geometry, seeds: Array, config: ModelConfig) -> Array:
    """Where the nodes are, seen from the pivots of each augmentation, (V, N, positions) float32."""
    if config.representation == "identifiers":
        return identifiers(seeds, geometry.size, config.position_width)
    pivots = furthest_pivots(geometry, seeds)
    augmentations, count = pivots.shape
    scale = geometry.scale

    def seen(lengths: Array) -> Array:
        zscore = (lengths - np.float32(scale.mean)) / np.float32(scale.deviation)
        return zscore.reshape(augmentations, count, -1).transpose(0, 2, 1)

    outgoing = seen(geometry.columns(pivots.ravel()))  # (V, N, M) node -> pivot
    incoming = seen(geometry.rows(pivots.ravel()))
    if config.representation == "averaged":
        return np.asarray(np.float32(0.5 / math.sqrt(count)) * (outgoing + incoming))
    both = np.stack([outgoing, incoming], axis=-1).reshape(augmentations, geometry.size, 2 * count)
    return np.asarray(both / np.float32(math.sqrt(2 * count)))


def identifiers(seeds: Array, nodes: int, width: int) -> Array:
    """Pseudo-random numbers in [0, 1) that tell nodes apart, (V, nodes, width) float32."""
    key = (seeds + 2.0) @ np.arange(1.0, seeds.shape[1] + 1.0)
    node, channel = np.arange(float(nodes)), np.arange(float(width))
    phase = key[:, None, None] * 12.9898 + node[:, None] * 78.233 + channel * 37.719
    return np.abs(np.modf(np.sin(phase) * 43758.5453)[0]).astype(np.float32)

"""The encoder on a CPU: large products by numpy's BLAS, what lies between them compiled.

The nodes of some augmentations of an instance are rows of one matrix, one augmentation after the
other. The exponentials of a layer depend on the distances and not on the pivots: all augmentations
of a matrix share them. Of large instances only some rows of these are there at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spacevrp.arrays import Instance
from spacevrp.arrays.plane import Plane
from spacevrp.inference.features import node_features
from spacevrp.inference.geometry import Geometry, position
from spacevrp.inference.heads import Heads
from spacevrp.inference.network import Layer, Network
from spacevrp.inference.tables import Tables, make_tables
from spacevrp.inference.threads import one_blas_thread
from spacevrp.inference.weights import BRANCHES
from spacevrp.native import network as kernels

Array = np.ndarray[Any, Any]

# Rows that are encoded together: enough to keep a product busy, few enough for the caches.
_ROWS = 512
# Entries of the N x N exponentials that are held at a time.
_TILE = 2**19
# Of the normalisation of channels.
_EPSILON = 1e-5


def encode(
    network: Network,
    instance: Instance,
    seeds: Array,
    *,
    heads: Heads | None = None,
    zscore: bool = True,
    look: Callable[[], None] | None = None,
) -> Tables:
    """The decoder's tables of an instance.

    Parameters
    ----------
    seeds
        The pivot seeds of its augmentations, (V, M); see ``seeds_of_augmentations``.
    heads
        Of the augmentations; None for the base policy in all.
    zscore
        Whether tables hold the N x N normalised distances, which follow from their scale, too.
    look
        Called before every layer; what it raises ends the call.
    """
    with one_blas_thread():
        geometry = Geometry.of(instance)
        together = max(1, _ROWS // instance.size)
        parts = [
            _Stack(network, instance, geometry, seeds[first : first + together]).run(look)
            for first in range(0, len(seeds), together)
        ]
        embedding = np.concatenate(parts)
        return make_tables(network, instance, geometry, embedding, heads, zscore=zscore)


class _Stack:
    """All layers on the rows of some augmentations, in room that they share."""

    def __init__(
        self, network: Network, instance: Instance, geometry: Geometry, seeds: Array
    ) -> None:
        self.network, self.instance, self.geometry = network, instance, geometry
        self.augmentations, self.width = len(seeds), network.config.width
        size, width = instance.size, self.width
        rows = len(seeds) * size
        self.segments = range(0, rows + 1, size)
        self.x = self._embed(seeds)
        self.qkv = np.empty((rows, 6 * width), dtype=np.float32)
        self.keyed = np.empty((rows, 4 * width), dtype=np.float32)
        self.sums = np.empty((rows, 4 * width), dtype=np.float32)
        self.joined = np.empty((rows, 2 * width), dtype=np.float32)
        self.added = np.empty((rows, width), dtype=np.float32)
        self.hidden = np.empty((rows, network.config.feedforward), dtype=np.float32)
        self.tile = np.empty(max(size, min(size * size, _TILE)), dtype=np.float32)

    def _embed(self, seeds: Array) -> Array:
        """Initial embeddings of the nodes, (V N, d)."""
        network, geometry = self.network, self.geometry
        mean = geometry.scale.mean if network.config.problem_bits else None
        features = node_features(self.instance, geometry.scale.penalty, mean)
        where = position(geometry, seeds, network.config) @ network.embed_position
        x = (where + features @ network.embed_features).reshape(-1, self.width)
        return np.ascontiguousarray(x, dtype=np.float32)

    def parted(self, table: Array) -> Array:
        """A table of the rows as (V, N, ...)."""
        return table.reshape(self.augmentations, self.instance.size, -1)

    def run(self, look: Callable[[], None] | None) -> Array:
        """Every layer in turn; returns the embeddings (V, N, d)."""
        alphas = self.network.alphas(self.instance.attributes)
        for number, layer in enumerate(self.network.layers):
            if look is not None:
                look()
            self._layer(layer, alphas[BRANCHES * number : BRANCHES * (number + 1)])
        return self.parted(self.x)

    def _layer(self, layer: Layer, alphas: Array) -> None:
        """One layer: x + attention, normalise, x + feed-forward, normalise."""
        x, width, segments = self.x, self.width, self.segments
        np.matmul(x, layer.distance_in, out=self.qkv)
        for branch in range(2):
            query, key, value = (
                self.qkv[:, (3 * branch + k) * width : (3 * branch + k + 1) * width]
                for k in range(3)
            )
            both = slice(2 * branch * width, 2 * (branch + 1) * width)
            kernels.keyed_values(key, value, segments, self.keyed[:, both])
        self._weigh(alphas)
        for branch in range(2):
            query = self.qkv[:, 3 * branch * width : (3 * branch + 1) * width]
            both = slice(2 * branch * width, 2 * (branch + 1) * width)
            own = slice(branch * width, (branch + 1) * width)
            kernels.gated_ratio(query, self.sums[:, both], self.joined[:, own])
        np.matmul(self.joined, layer.distance_out, out=self.added)
        if self.instance.paired:
            self.added += self._related(layer, float(alphas[2]))
        kernels.add_and_normalise(
            x, self.added, None, layer.mixed_scale, layer.mixed_shift, _EPSILON, segments
        )
        np.matmul(x, layer.feed_in, out=self.hidden)
        kernels.add_and_rectify(self.hidden, layer.feed_in_bias)
        np.matmul(self.hidden, layer.feed_out, out=self.added)
        kernels.add_and_normalise(
            *(x, self.added, layer.feed_out_bias, layer.feed_scale, layer.feed_shift),
            *(_EPSILON, segments),
        )

    def _weigh(self, alphas: Array) -> None:
        """Sums over distances out and over distances in, each arc with its exponential."""
        geometry, width = self.geometry, self.width
        keyed, sums = self.parted(self.keyed), self.parted(self.sums)  # (V, N, 4d)
        out, back = slice(0, 2 * width), slice(2 * width, 4 * width)
        factors = [geometry.factor(float(alpha)) for alpha in alphas[:2]]
        lengths, size = geometry.lengths, geometry.size
        step = max(1, self.tile.size // size)
        for first in range(0, size, step):
            rows = slice(first, min(first + step, size))
            count = rows.stop - rows.start
            tile = self.tile[: count * size]
            weight = tile.reshape(count, size)
            if isinstance(lengths, Plane):
                there = lengths.tile(rows)
                kernels.exponentials(there, factors[0], weight)
                np.matmul(weight, keyed[..., out], out=sums[:, rows, out])
                kernels.exponentials(there, factors[1], weight)
                np.matmul(weight, keyed[..., back], out=sums[:, rows, back])
                continue
            kernels.exponentials(lengths[rows], factors[0], weight)
            np.matmul(weight, keyed[..., out], out=sums[:, rows, out])
            weight = tile.reshape(size, count)
            kernels.exponentials(lengths[:, rows], factors[1], weight)
            np.matmul(weight.T, keyed[..., back], out=sums[:, rows, back])

    def _related(self, layer: Layer, alpha: float) -> Array:
        """What the branch that sees pairs adds to the rows."""
        width = self.width
        qkv = self.x @ layer.relation_in
        related = np.empty((len(qkv), width), dtype=np.float32)
        query, key, value = (qkv[:, k * width : (k + 1) * width] for k in range(3))
        kernels.relation(query, key, value, self.instance.partner, alpha, self.segments, related)
        return np.asarray(related @ layer.relation_out)

"""The encoder on a CPU: large products by numpy's BLAS, what lies between them compiled.

The nodes of all augmentations of all instances are rows of one matrix, one augmentation after the
other, so that instances of any sizes are encoded together and nothing is padded. The exponentials
of a layer depend on the distances and not on the pivots: all augmentations of an instance share
them. Of large instances only some rows of these are there at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spacevrp.arrays import Instance
from spacevrp.arrays.plane import Plane
from spacevrp.inference.features import node_features
from spacevrp.inference.geometry import Geometry, position
from spacevrp.inference.heads import Heads
from spacevrp.inference.network import Layer, Network
from spacevrp.inference.settings import Settings
from spacevrp.inference.tables import Tables, check_seeds, make_tables
from spacevrp.inference.threads import one_blas_thread
from spacevrp.inference.weights import BRANCHES
from spacevrp.native import NETWORK_MISSING
from spacevrp.native import network as kernels
from spacevrp.problems.errors import SpacevrpError

Array = np.ndarray[Any, Any]

# Rows that are encoded together: enough to keep a product busy, few enough for the caches.
_ROWS = 512
# Entries of the N x N exponentials that are held at a time.
_TILE = 2**19
# Of the normalisation of channels.
_EPSILON = 1e-5


def encode(
    network: Network,
    instances: Sequence[Instance],
    seeds: Sequence[Array],
    *,
    heads: Heads | None = None,
    zscore: bool = True,
    settings: Settings | None = None,
) -> list[Tables]:
    """The decoder's tables of every instance.

    Parameters
    ----------
    seeds
        Of each instance, the pivot seeds of its augmentations, (V, M); see
        ``seeds_of_augmentations``.
    heads
        Of the augmentations; None for the base policy in all.
    zscore
        Whether tables hold the N x N normalised distances, which follow from their scale, too.
    settings
        Of these the deadline, which is looked at before every layer.
    """
    if kernels is None:
        raise SpacevrpError(NETWORK_MISSING)
    check_seeds(instances, seeds, network.config.pivots)
    if heads is not None and any(len(rows) != len(heads.numbers) for rows in seeds):
        count = len(heads.numbers)
        raise ValueError(f"expected seeds of {count} augmentations, one for every policy head")
    settings = settings or Settings()
    with one_blas_thread():
        embedded = _embeddings(network, instances, seeds, settings.look)
        return [make_tables(network, *one, heads, zscore=zscore) for one in embedded]


def _embeddings(
    network: Network,
    instances: Sequence[Instance],
    seeds: Sequence[Array],
    look: Callable[[], None] | None,
) -> Iterator[tuple[Instance, Geometry, Array]]:
    """Each instance with its geometry and node embeddings (V, N, d), in turn."""
    width = network.config.width
    embeddings: dict[int, Array] = {}
    geometries: dict[int, Geometry] = {}
    for block in _blocks([instance.size for instance in instances], [len(s) for s in seeds]):
        parts = []
        begin = 0
        for number, augmentations in block:
            instance = instances[number]
            if number not in geometries:
                geometries[number] = Geometry.of(instance)
                shape = (len(seeds[number]), instance.size, width)
                embeddings[number] = np.empty(shape, dtype=np.float32)
            end = begin + len(augmentations) * instance.size
            parts.append(_Part(instance, geometries[number], slice(begin, end), augmentations))
            begin = end
        x = np.empty((begin, width), dtype=np.float32)
        for (number, augmentations), part in zip(block, parts, strict=True):
            x[part.rows] = _embed(
                network, part, seeds[number][augmentations.start : augmentations.stop]
            )
        _Stack(network, x, parts).run(look)
        for (number, augmentations), part in zip(block, parts, strict=True):
            shape = (len(augmentations), part.instance.size, width)
            embeddings[number][augmentations.start : augmentations.stop] = x[part.rows].reshape(
                shape
            )
            if augmentations.stop == len(seeds[number]):  # the last of its augmentations
                yield instances[number], geometries.pop(number), embeddings.pop(number)


def _blocks(
    sizes: Sequence[int], augmentations: Sequence[int]
) -> Iterator[list[tuple[int, range]]]:
    """Instances and some of their augmentations that are encoded together, in order."""
    block: list[tuple[int, range]] = []
    rows = 0
    for number, (size, count) in enumerate(zip(sizes, augmentations, strict=True)):
        first = 0
        while first < count:
            room = (_ROWS - rows) // size
            if room < 1 and block:
                yield block
                block, rows = [], 0
                continue
            some = range(first, min(first + max(room, 1), count))
            block.append((number, some))
            rows += len(some) * size
            first = some.stop
    if block:
        yield block


@dataclass(frozen=True)
class _Part:
    """Some augmentations of one instance among the rows of a block."""

    instance: Instance
    geometry: Geometry
    rows: slice
    augmentations: range

    def parted(self, table: Array) -> Array:
        """The rows of a table of the block, (V, N, ...)."""
        some = table[self.rows]
        return some.reshape(len(self.augmentations), self.instance.size, *some.shape[1:])


def _embed(network: Network, part: _Part, seeds: Array) -> Array:
    """Initial embeddings of the nodes of some augmentations, (V N, d)."""
    geometry = part.geometry
    mean = geometry.scale.mean if network.config.problem_bits else None
    features = node_features(part.instance, geometry.scale.penalty, mean) @ network.embed_features
    where = position(geometry, seeds, network.config) @ network.embed_position
    return np.asarray((where + features).reshape(-1, network.config.width))


class _Stack:
    """All layers on the rows of a block, in room that they share."""

    def __init__(self, network: Network, x: Array, parts: Sequence[_Part]) -> None:
        rows, width = x.shape
        self.network, self.x, self.parts, self.width = network, x, parts, width
        self.segments = [0]
        for part in parts:
            for _ in part.augmentations:
                self.segments.append(self.segments[-1] + part.instance.size)
        self.qkv = np.empty((rows, 6 * width), dtype=np.float32)
        self.keyed = np.empty((rows, 4 * width), dtype=np.float32)
        self.sums = np.empty((rows, 4 * width), dtype=np.float32)
        self.joined = np.empty((rows, 2 * width), dtype=np.float32)
        self.added = np.empty((rows, width), dtype=np.float32)
        self.hidden = np.empty((rows, network.config.feedforward), dtype=np.float32)
        largest = max(part.instance.size for part in parts)
        self.tile = np.empty(max(largest, min(largest * largest, _TILE)), dtype=np.float32)

    def run(self, look: Callable[[], None] | None) -> None:
        """Every layer in turn."""
        alphas = [self.network.alphas(part.instance.attributes) for part in self.parts]
        for number, layer in enumerate(self.network.layers):
            if look is not None:
                look()
            own = slice(BRANCHES * number, BRANCHES * (number + 1))
            self._layer(layer, [values[own] for values in alphas])

    def _layer(self, layer: Layer, alphas: Sequence[Array]) -> None:
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
        for part, three in zip(self.parts, alphas, strict=True):
            self._weigh(part, three)
        for branch in range(2):
            query = self.qkv[:, 3 * branch * width : (3 * branch + 1) * width]
            both = slice(2 * branch * width, 2 * (branch + 1) * width)
            own = slice(branch * width, (branch + 1) * width)
            kernels.gated_ratio(query, self.sums[:, both], self.joined[:, own])
        np.matmul(self.joined, layer.distance_out, out=self.added)
        for part, three in zip(self.parts, alphas, strict=True):
            if part.instance.paired:
                self.added[part.rows] += self._related(layer, part, float(three[2]))
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

    def _weigh(self, part: _Part, alphas: Array) -> None:
        """Sums over distances out and over distances in, each arc with its exponential."""
        geometry, width = part.geometry, self.width
        keyed, sums = part.parted(self.keyed), part.parted(self.sums)  # (V, N, 4d)
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

    def _related(self, layer: Layer, part: _Part, alpha: float) -> Array:
        """What the branch that sees pairs adds to the rows of a part."""
        width = self.width
        qkv = self.x[part.rows] @ layer.relation_in
        size = part.instance.size
        segments = range(0, len(qkv) + 1, size)
        related = np.empty((len(qkv), width), dtype=np.float32)
        query, key, value = (qkv[:, k * width : (k + 1) * width] for k in range(3))
        kernels.relation(query, key, value, part.instance.partner, alpha, segments, related)
        return np.asarray(related @ layer.relation_out)

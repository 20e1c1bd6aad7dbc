"""The tables that a rollout looks up at every move, of one instance and all its augmentations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spacevrp.arrays import Instance
from spacevrp.inference.geometry import Geometry, Scale
from spacevrp.inference.heads import Heads, apply_heads
from spacevrp.inference.network import Network
from spacevrp.native import network as kernels

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Tables:
    """What the decoder knows of V augmentations of an instance with N nodes; d channels, S signals.

    All arrays are float32 and contiguous. The twin of ``DecoderTables`` and ``NodeTables``, which
    hold the same numbers of several instances.
    """

    embedding: Array  # (V, N, d)
    keyed: Array  # (V, N, 2d) [exp(K) * V | exp(K)]
    query_first: Array  # (V, N, d) embedding through the projection of the first node
    query_last: Array  # (V, N, d) embedding through the projection of the last node
    state_weight: Array  # (S, d) what each signal adds to queries
    zscore: Array | None  # (N, N) normalised distances; None where only `scale` is asked for
    scale: Scale  # how distances are normalised: (length - mean) / deviation
    read_weight: float  # alpha of the readout times log2 N
    match_weight: float  # alpha of the compatibility times log2 N
    clipping: float  # logits lie between plus and minus this number
    move_first: Array | None = None  # (V, N, K) what facts of moves weigh; None for nothing
    move_last: Array | None = None  # (V, N, K)
    move_state: Array | None = None  # (S, K)

    @property
    def augmentations(self) -> int:
        """Number of augmentations."""
        return len(self.embedding)

    def one(self, place: int) -> Tables:
        """Those of the augmentation at this place alone."""
        names = ("embedding", "keyed", "query_first", "query_last", "move_first", "move_last")
        held = {name: getattr(self, name) for name in names}
        some: dict[str, Any] = {n: v[place : place + 1] for n, v in held.items() if v is not None}
        return replace(self, **some)

    @property
    def num_signals(self) -> int:
        """Numbers that the decoder is told of a partial solution."""
        return len(self.state_weight)


def make_tables(
    network: Network,
    instance: Instance,
    geometry: Geometry,
    embedding: Array,
    heads: Heads | None,
    *,
    zscore: bool,
) -> Tables:
    """The tables from the node embeddings (V, N, d), with a policy head for every augmentation."""
    augmentations, nodes, width = embedding.shape
    flat = embedding.reshape(-1, width)
    projections = network.projections(instance.attributes)
    segments = range(0, augmentations * nodes + 1, nodes)
    keyed = np.empty((augmentations * nodes, 2 * width), dtype=np.float32)
    kernels.keyed_values(flat @ projections.key, flat @ projections.value, segments, keyed)
    query_first = (flat @ projections.query_first).reshape(embedding.shape)
    query_last = (flat @ projections.query_last).reshape(embedding.shape)
    moves: dict[str, Array] = {}
    if network.config.constraint_aware:
        of_query, own = network.move_weights(instance.attributes)
        moves = {
            "move_first": query_first @ of_query + own,
            "move_last": query_last @ of_query,
            "move_state": projections.state_weight @ of_query,
        }
    if heads is not None:
        apply_heads(network, instance.attributes, embedding, query_first, query_last, heads)
    alphas = network.alphas(instance.attributes)
    on_the_fly = not isinstance(geometry.lengths, np.ndarray)
    return Tables(
        embedding=embedding,
        keyed=keyed.reshape(augmentations, nodes, 2 * width),
        query_first=query_first,
        query_last=query_last,
        state_weight=projections.state_weight,
        zscore=geometry.zscore if zscore and not on_the_fly else None,
        scale=geometry.scale,
        read_weight=float(alphas[-2]) * geometry.log_size,
        match_weight=float(alphas[-1]) * geometry.log_size,
        clipping=network.config.clipping,
        **moves,
    )

"""The SPACE network: from a batch and its pivots to the tables of the decoder.

What the paper leaves open and where we depart from it: ``docs/concepts/network.md``. Distances are
z-scored with BFR included, so the unit of distance is invisible; the relation branch is computed in
closed form; exponentials are shifted by their maxima.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from spacevrp.inference.config import ModelConfig
from spacevrp.inference.weights import BRANCHES, NUM_ATTRIBUTES, NUM_BITS, NUM_NODE_TYPES
from spacevrp.model.adapters import MoreSignals, projection
from spacevrp.model.attention import keyed_values
from spacevrp.model.bias import BiasNetworks
from spacevrp.model.decoder import DecoderTables
from spacevrp.model.encoder import Encoder, Relation
from spacevrp.model.features import node_attributes, node_types
from spacevrp.model.geometry import Geometry, normalise
from spacevrp.model.moves import MoveWeights
from spacevrp.model.pivots import frechet, furthest_pivots
from spacevrp.model.policy_heads import LearnedHeads, Queries, apply_heads
from spacevrp.tensors import Batch


class SpaceModel(nn.Module):
    """One network for all variants."""

    def __init__(self, config: ModelConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or ModelConfig()
        width = config.width
        self.embed_position = nn.Parameter(torch.empty(width, config.position_width))
        self.embed_attributes = nn.Parameter(torch.empty(width, NUM_ATTRIBUTES))
        self.embed_types = nn.Parameter(torch.empty(width, NUM_NODE_TYPES))
        for weight in (self.embed_position, self.embed_attributes, self.embed_types):
            nn.init.kaiming_uniform_(weight, a=math.sqrt(5))
        if config.problem_bits:
            wider = nn.functional.pad(self.embed_types.detach(), (0, NUM_BITS))
            self.embed_types = nn.Parameter(wider)
        self.encoder = Encoder(config)
        # One bias network a branch and layer, and two for the decoder.
        self.bias = BiasNetworks(BRANCHES * config.layers + 2, width)
        with torch.no_grad():
            self.bias.bias_out[-1] = config.match_start
        self.query_first = projection(config, width, width)
        self.query_last = projection(config, width, width)
        self.key = projection(config, width, width)
        self.value = projection(config, width, width)
        self.state = projection(config, 1, width)
        # Signals that the paper has not: they count for nothing until it is learned what for.
        self.more_signals = MoreSignals(config) if config.signals > 1 else None
        self.moves = MoveWeights(config) if config.constraint_aware else None
        self.policy_heads = (
            LearnedHeads(config.policy_heads, width) if config.policy_heads else None
        )

    @property
    def num_parameters(self) -> int:
        """Number of trainable numbers."""
        return sum(parameter.numel() for parameter in self.parameters())

    def embed(self, batch: Batch, geometry: Geometry, seeds: Tensor) -> Tensor:
        """Initial node embeddings (B, N, d)."""
        position = self._position(geometry, seeds)
        x = position @ self.embed_position.T
        x = x + node_attributes(batch) @ self.embed_attributes.T
        x = x + node_types(batch, geometry.mean if self.config.problem_bits else None) @ (
            self.embed_types.T
        )
        return x * batch.is_node.unsqueeze(-1).to(x.dtype)

    def _position(self, geometry: Geometry, seeds: Tensor) -> Tensor:
        zscore = geometry.zscore
        if self.config.representation == "identifiers":
            return identifiers(seeds, zscore.shape[1], self.config.position_width, zscore)
        pivots = furthest_pivots(geometry.spread, seeds, geometry.is_node)
        return frechet(zscore, pivots, averaged=self.config.representation == "averaged")

    def forward(
        self,
        batch: Batch,
        seeds: Tensor,
        dtype: torch.dtype | None = None,
        related_rows: Tensor | None = None,
    ) -> DecoderTables:
        """Encode a batch.

        Parameters
        ----------
        seeds
            (B, M) pivot seeds.
        dtype
            Type of the matrix products.
        related_rows
            Numbers of the instances that may have pairs. Looked up where not given, which waits
            for the device.
        """
        dtype = dtype or batch.distance.dtype
        if related_rows is None:
            related_rows = batch.paired.nonzero().squeeze(1)
        relation = Relation(related_rows, batch.partner[related_rows], batch.paired[related_rows])
        geometry = normalise(batch)
        alphas = self.bias(batch.attributes)  # (B, 3 layers + 2)
        x = self.embed(batch, geometry, seeds)
        x = self.encoder(x, geometry, relation, alphas[:, :-2], dtype)
        x = x * batch.is_node.unsqueeze(-1).to(x.dtype)
        lam = batch.attributes

        def project(module: nn.Module) -> Tensor:
            return x @ module(lam).transpose(1, 2)  # (B, N, d)

        query_first, query_last = project(self.query_first), project(self.query_last)
        state_weight = self.state_weight(lam)
        moves: dict[str, Any] = {}
        if self.moves is not None:
            found = self.moves(lam, query_first, query_last, state_weight)
            moves = {f"move_{name}": table for name, table in found._asdict().items()}
            moves["batch"] = batch
        return DecoderTables(
            embedding=x,
            keyed=keyed_values(project(self.key), project(self.value), batch.is_node),
            query_first=query_first,
            query_last=query_last,
            state_weight=state_weight,
            zscore=geometry.zscore,
            read_weight=alphas[:, -2] * geometry.log_size,
            match_weight=alphas[:, -1] * geometry.log_size,
            clipping=self.config.clipping,
            **moves,
        )

    def state_weight(self, attributes: Tensor) -> Tensor:
        """What each signal adds to queries, (B, S, d), for problem representations (B, 10)."""
        weight: Tensor = self.state(attributes)  # (B, d, 1)
        if self.more_signals is not None:
            weight = torch.cat([weight, self.more_signals(attributes)], dim=2)
        return weight.transpose(1, 2).contiguous()

    def apply_heads(
        self, tables: DecoderTables, batch: Batch, augmentations: range, strength: float
    ) -> DecoderTables:
        """The tables with the queries of the policy heads; those of an instance stand in a row."""

        def parted(table: Tensor) -> Tensor:
            return table.unflatten(0, (-1, len(augmentations)))

        queries = Queries(
            embedding=parted(tables.embedding),
            first=parted(tables.query_first),
            last=parted(tables.query_last),
            is_node=parted(batch.is_node),
            attributes=batch.attributes[:: len(augmentations)],
        )
        first, last = apply_heads(queries, augmentations, strength, self.policy_heads)
        return replace(tables, query_first=first.flatten(0, 1), query_last=last.flatten(0, 1))

    @torch.no_grad()
    def blind_share(self, attributes: Tensor) -> float:
        """Share of the encoder's distance branches that do not see distances (alpha is 0).

        Over all problems with the given representations (V, 10). They average over all nodes.
        """
        alphas = self.bias(attributes)[:, :-2].unflatten(1, (-1, BRANCHES))  # (V, layers, branches)
        return float((alphas[:, :, :-1] == 0).float().mean())


def identifiers(seeds: Tensor, nodes: int, width: int, like: Tensor) -> Tensor:
    """Pseudo-random numbers in [0, 1) that tell nodes apart, a different set for each seed row."""
    # A hash instead of a generator: the same seeds give the same identifiers on every device.
    key = (seeds.double() + 2.0) @ torch.arange(
        1, seeds.shape[1] + 1, dtype=torch.float64, device=seeds.device
    )
    node = torch.arange(nodes, dtype=torch.float64, device=seeds.device)
    channel = torch.arange(width, dtype=torch.float64, device=seeds.device)
    phase = key[:, None, None] * 12.9898 + node[:, None] * 78.233 + channel * 37.719
    return (torch.sin(phase) * 43758.5453).frac().abs().to(like.dtype)

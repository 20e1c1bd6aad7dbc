"""The encoder in blocks: what ``SpaceModel.forward`` computes, for instances of any size.

Of the N x N exponentials of a layer only a tile is there at a time, and distances come out of
coordinates where there are any, so memory grows like N. The exponentials depend on the problem and
not on the pivots, so all augmentations of an instance share them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.inference.weights import BRANCHES
from spacevrp.model.attention import gated_ratio, keyed_values, relation_attention
from spacevrp.model.candidates import NodeTables
from spacevrp.model.encoder import EncoderLayer, linear
from spacevrp.model.features import node_attributes, node_types
from spacevrp.model.pivots import joined, spread_out
from spacevrp.model.space import SpaceModel, identifiers
from spacevrp.model.streaming import Scale, Survey, survey
from spacevrp.tensors import Batch
from spacevrp.tensors.lengths import PlaneLengths, Tiles, columns_of, rows_of, tiles_of
from spacevrp.tensors.workers import Workers, workers_for


@dataclass(frozen=True)
class Blocks:
    """How the work is cut: rows and columns of a tile, and workers that share the rows."""

    rows: int
    columns: int
    workers: int = 1
    dtype: torch.dtype | None = None  # of the products; None for that of the distances

    @classmethod
    def on(cls, device: torch.device, dtype: torch.dtype | None = None) -> Blocks:
        """Tiles that stay in the cache of a core; on a GPU, as few launches as its memory likes."""
        if device.type == "cuda":
            return cls(2048, 32768, dtype=dtype)
        return cls(256, 1024, workers_for(device), dtype)


@torch.no_grad()
def encode_in_blocks(
    model: SpaceModel,
    batch: Batch,
    seeds: Tensor,
    *,
    blocks: Blocks | None = None,
    known: Survey | None = None,
    report: Callable[[float], None] | None = None,
) -> NodeTables:
    """Tables of the decoder for some augmentations of each instance, from pivot seeds (B, V, M).

    The work is cut into ``blocks``, by the device where None. ``known`` is what :func:`survey` says
    of the batch, where it has been asked already. ``report`` is told the share of every layer.
    """
    blocks = blocks or Blocks.on(batch.device)
    dtype = blocks.dtype or batch.distance.dtype
    known = known or survey(batch)
    alphas = model.bias(batch.attributes)  # (B, 3 layers + 2)
    flat = node_attributes(batch, known.penalty_scale) @ model.embed_attributes.T
    mean = known.scale.mean if model.config.problem_bits else None
    flat = flat + node_types(batch, mean) @ model.embed_types.T  # (B, N, d)
    size, augmentations = seeds.shape[:2]
    x = flat.new_zeros(size, augmentations, batch.num_nodes, model.config.width)
    each = 1.0 / (size * model.config.layers)
    with Workers(blocks.workers) as workers:
        for number, nodes in enumerate(batch.is_node.sum(dim=1).tolist()):
            one = batch[number : number + 1]
            scale = Scale(*(v[number : number + 1] for v in vars(known.scale).values()))
            begin = _position(model, one, seeds[number], nodes, scale) @ model.embed_position.T
            weighing = _Weighing(one, nodes, scale, blocks, dtype, workers)
            found = begin + flat[number, :nodes]  # (V, nodes, d)
            partner = one.partner[:, :nodes] if bool(one.paired) else None
            weights = alphas[number, :-2].tolist()
            for place, layer in enumerate(model.encoder.layers):
                assert isinstance(layer, EncoderLayer)
                three = weights[BRANCHES * place :][:BRANCHES]
                found = _layer(layer, found, three, partner, weighing)
                if report is not None:
                    report(each)
            x[number, :, :nodes] = found
    return NodeTables.of_embedding(model, batch, x, alphas, known.scale)


def _position(model: SpaceModel, one: Batch, seeds: Tensor, nodes: int, scale: Scale) -> Tensor:
    """Where the nodes are, seen from the pivots of each augmentation, (V, nodes, 2M)."""
    config = model.config
    if config.representation == "identifiers":
        return identifiers(seeds, nodes, config.position_width, scale.mean)
    averaged = config.representation == "averaged"

    def row_of(pivot: Tensor) -> Tensor:
        there = scale.known(rows_of(one.distance, pivot.unsqueeze(0)))
        back = scale.known(columns_of(one.distance, pivot.unsqueeze(0)))
        return (0.5 * (there + back) / scale.deviation)[0, :, :nodes]  # (V, nodes)

    augmentations = seeds.shape[0]
    gap = scale.mean.new_full((augmentations, nodes), torch.inf)
    pivots = spread_out(row_of, gap, seeds, torch.ones_like(gap, dtype=torch.bool))  # (V, M)
    flat = pivots.reshape(1, -1)
    outgoing = scale.zscore(columns_of(one.distance, flat))[0, :, :nodes]  # (V M, nodes)
    incoming = scale.zscore(rows_of(one.distance, flat))[0, :, :nodes]
    shape = (augmentations, -1, nodes)
    return joined(
        outgoing.view(shape).transpose(1, 2),
        incoming.view(shape).transpose(1, 2),
        averaged=averaged,
    )


def _layer(
    layer: EncoderLayer, x: Tensor, alphas: list[float], partner: Tensor | None, weighing: _Weighing
) -> Tensor:
    """One layer; see ``EncoderLayer.forward``."""
    dtype, width = weighing.dtype, x.shape[-1]
    real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    relation_weight = layer.qkv[6 * width :]
    queries, keyed = [], []
    for weight in layer.qkv[: 6 * width].split(3 * width):  # one branch after the other, for room
        query, key, value = linear(x, weight, None, dtype).to(x.dtype).chunk(3, dim=-1)
        queries.append(query.contiguous())
        keyed.append(weighing.side_by_side(keyed_values(key, value, real)))
        del query, key, value
    sums = weighing(keyed, alphas[:2], x.shape[0], x.dtype)
    del keyed
    branches = [gated_ratio(query, one) for query, one in zip(queries, sums, strict=True)]
    del queries, sums
    distance_out, relation_out = layer.out.split([2 * width, width], dim=1)
    mixed = linear(torch.cat(branches, dim=-1), distance_out, None, dtype).to(x.dtype)
    del branches
    if partner is not None:
        query, key, value = linear(x, relation_weight, None, dtype).to(x.dtype).chunk(3, dim=-1)
        weight = x.new_full((x.shape[0],), alphas[2])
        related = relation_attention(
            query, keyed_values(key, value, real), partner.expand(x.shape[0], -1), weight
        )
        mixed = mixed + linear(related, relation_out, None, dtype).to(x.dtype)
    x = layer.norm_mixed(x + mixed, real)
    hidden = linear(x, layer.feed_in.weight, layer.feed_in.bias, dtype).relu_()
    fed = linear(hidden, layer.feed_out.weight, layer.feed_out.bias, dtype).to(x.dtype)
    return layer.norm_feed(x + fed, real)


class _Weighing:
    """exp(-weight * distance) times keys and values, tile by tile."""

    def __init__(
        self,
        one: Batch,
        nodes: int,
        scale: Scale,
        blocks: Blocks,
        dtype: torch.dtype,
        workers: Workers,
    ) -> None:
        self.dtype = dtype
        self._nodes, self._blocks, self._workers = nodes, blocks, workers
        self._tiles: Tiles = tiles_of(one.distance, 0)
        self._symmetric = isinstance(one.distance, PlaneLengths)
        self._complete = self._symmetric or not bool(one.distance.amax().isinf())
        self._deviation, self._longest = float(scale.deviation), float(scale.longest)
        self._log_size = float(torch.log2(torch.tensor(float(nodes), dtype=torch.float64)))

    def side_by_side(self, keyed: Tensor) -> Tensor:
        """Keys and values (V, nodes, 2d) of all augmentations in one row, (nodes, V 2d).

        The exponentials are the same for each augmentation.
        """
        return keyed.transpose(0, 1).flatten(1).to(self.dtype)

    def __call__(
        self, wide: list[Tensor], alphas: list[float], augmentations: int, dtype: torch.dtype
    ) -> list[Tensor]:
        """Sums (V, nodes, 2d) over distances out and over distances in."""
        nodes = self._nodes
        sums = [torch.zeros_like(one, dtype=dtype) for one in wide]
        factors = [-alpha * self._log_size / self._deviation for alpha in alphas]
        live = [branch for branch in (0, 1) if factors[branch] != 0.0]
        for branch in {0, 1} - set(live):
            # A bias network that says 0: every node sees all alike.
            sums[branch] += wide[branch].sum(dim=0, dtype=dtype)

        def fill(rows: slice) -> None:
            for first in range(0, nodes, self._blocks.columns):
                columns = slice(first, min(first + self._blocks.columns, nodes))
                outgoing = None
                for branch in live:
                    if outgoing is None or not self._symmetric:
                        outgoing = self._known(rows, columns, incoming=branch == 1)
                    weight = torch.mul(outgoing, factors[branch]).exp_()
                    part = sums[branch][rows]
                    if self.dtype == part.dtype:
                        part.addmm_(weight, wide[branch][columns])
                    else:
                        part.add_(torch.mm(weight.to(self.dtype), wide[branch][columns]))

        if live:
            step = self._blocks.rows
            pieces = [slice(i, min(i + step, nodes)) for i in range(0, nodes, step)]
            for _ in self._workers.map(fill, pieces):
                pass
        return [one.unflatten(1, (augmentations, -1)).transpose(0, 1) for one in sums]

    def _known(self, rows: slice, columns: slice, *, incoming: bool) -> Tensor:
        """Distances from rows to columns, or the other way round, (rows, columns)."""
        turned = incoming and not self._symmetric
        lengths = self._tiles(columns, rows).T if turned else self._tiles(rows, columns)
        if self._complete:
            return lengths
        return torch.where(torch.isfinite(lengths), lengths, self._longest)

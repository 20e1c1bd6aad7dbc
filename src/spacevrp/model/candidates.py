"""The decoder asked of a few nodes: the same scores, at a cost that does not grow with N.

The readout averages over the options alone. Where the options are all legal moves, this is what
``decoder.logits`` computes; where they are the nearest of them, it is an approximation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from spacevrp.model.attention import gated_ratio, keyed_values
from spacevrp.model.moves import MoveTables, move_facts
from spacevrp.model.policy_heads import Queries, apply_heads
from spacevrp.model.streaming import Scale, aligned
from spacevrp.tensors import Batch
from spacevrp.tensors.lengths import between, columns_of

if TYPE_CHECKING:
    from spacevrp.model.space import SpaceModel


@dataclass(frozen=True)
class NodeTables:
    """All that a decoding step looks up, for V augmentations of each of B instances."""

    embedding: Tensor  # (B, V, N, d)
    keyed: Tensor  # (B, V, N, 2d) [exp(K) * V | exp(K)]
    query_first: Tensor  # (B, V, N, d)
    query_last: Tensor  # (B, V, N, d)
    state_weight: Tensor  # (B, S, d)
    read_weight: Tensor  # (B,)
    match_weight: Tensor  # (B,)
    scale: Scale
    clipping: float
    # (B, V) what distances weigh in the choice among some options, times ``match_weight``
    nearness: Tensor | None = None
    # What facts of possible moves weigh, where they do: (B, V, N, K), and (B, S, K) of signals
    moves: MoveTables | None = None
    batch: Batch | None = None  # that they follow from

    @property
    def augmentations(self) -> int:
        """Augmentations of each instance."""
        return self.embedding.shape[1]

    @property
    def num_signals(self) -> int:
        """Numbers that the decoder is told of a partial solution."""
        return self.state_weight.shape[1]

    @classmethod
    def of_embedding(
        cls, model: SpaceModel, batch: Batch, x: Tensor, alphas: Tensor, scale: Scale
    ) -> NodeTables:
        """From node embeddings (B, V, N, d) and the weights of the biases (B, 3 layers + 2)."""
        lam = batch.attributes
        log_size = torch.log2(batch.is_node.sum(dim=1).to(x.dtype))
        is_node = batch.is_node.repeat_interleave(x.shape[1], dim=0)  # (B V, N)

        def project(module: torch.nn.Module) -> Tensor:
            return x @ module(lam).transpose(1, 2).unsqueeze(1)

        keyed = keyed_values(
            project(model.key).flatten(0, 1), project(model.value).flatten(0, 1), is_node
        )
        query_first, query_last = project(model.query_first), project(model.query_last)
        state_weight = model.state_weight(lam)
        moves = None
        if model.moves is not None:
            moves = model.moves(lam, query_first, query_last, state_weight)
        return cls(
            embedding=x,
            keyed=keyed.view(*x.shape[:3], -1),
            query_first=query_first,
            query_last=query_last,
            state_weight=state_weight,
            read_weight=alphas[:, -2] * log_size,
            match_weight=alphas[:, -1] * log_size,
            scale=scale,
            clipping=model.config.clipping,
            moves=moves,
            batch=batch,
        )

    def with_heads(
        self, model: SpaceModel, batch: Batch, augmentations: range, strength: float
    ) -> NodeTables:
        """The tables with the queries of the policy heads of these numbers."""
        queries = Queries(
            embedding=self.embedding,
            first=self.query_first,
            last=self.query_last,
            is_node=batch.is_node.unsqueeze(1),
            attributes=batch.attributes,
        )
        first, last = apply_heads(queries, augmentations, strength, model.policy_heads)
        return replace(self, query_first=first, query_last=last)


class Options(NamedTuple):
    """Nodes to choose from; at least one is allowed, and none of these stands twice."""

    nodes: Tensor  # (B, P, C)
    zscore: Tensor  # (B, P, C) normalised distances from the current node
    allowed: Tensor  # (B, P, C) bool
    choices: int | None = None  # the first so many get a score, the others count in the readout


def option_scores(
    tables: NodeTables,
    augmentation: Tensor,
    first: Tensor,
    current: Tensor,
    signals: Tensor,
    options: Options,
) -> Tensor:
    """Scores (B, P, choices) of the options before clipping; -inf where one is not allowed.

    The larger the score, the likelier the move. (Clipped, near nodes of a large instance are all
    alike in float32.) ``augmentation``, ``first`` and ``current`` are (B, P), ``signals`` (B, P,
    S).
    """
    nodes, zscore, allowed, choices = options
    size, augmentations, count, width = tables.embedding.shape
    instance = torch.arange(size, device=nodes.device).unsqueeze(1)
    base = (
        instance * augmentations + augmentation
    ) * count  # (B, P) where the tables of that augmentation begin
    rows = base.unsqueeze(-1) + nodes  # (B, P, C)

    def look_up(table: Tensor, node: Tensor) -> Tensor:
        flat = table.view(-1, table.shape[-1]).index_select(0, (base + node).flatten())
        return flat.view(*node.shape, -1)

    query = look_up(tables.query_first, first) + look_up(tables.query_last, current)
    query = query + signals @ tables.state_weight  # (B, P, d)

    weight = _readout_weight(tables, zscore, allowed)
    keyed = tables.keyed.view(-1, 2 * width)
    sums = weighted_rows(keyed, rows.flatten(0, 1), weight.flatten(0, 1)).view(
        *augmentation.shape, -1
    )
    context = gated_ratio(query, sums)

    rows, zscore, allowed = rows[..., :choices], zscore[..., :choices], allowed[..., :choices]
    looked_up = tables.embedding.view(-1, width).index_select(0, rows.flatten())
    looked_up = looked_up.view(*rows.shape, width)
    match = torch.matmul(context.unsqueeze(-2), looked_up.transpose(-1, -2)).squeeze(-2)
    match_weight = tables.match_weight
    if tables.nearness is not None:
        match_weight = match_weight.unsqueeze(1) * tables.nearness.gather(1, augmentation)  # (B, P)
    score = _compatibility(match_weight, match, zscore, allowed, width)
    if tables.moves is None:
        return score
    assert tables.batch is not None
    weight = look_up(tables.moves.first, first) + look_up(tables.moves.last, current)
    weight = weight + signals @ tables.moves.state
    nodes = nodes[..., :choices]
    far = tables.scale.zscore(between(tables.batch.distance, nodes, first.unsqueeze(-1)))
    facts = move_facts(tables.batch, first, current, signals, far, nodes)
    return score + (facts @ weight.unsqueeze(-1)).squeeze(-1)


def node_scores(
    tables: NodeTables,
    first: Tensor,
    current: Tensor,
    signals: Tensor,
    zscore: Tensor,
    allowed: Tensor,
) -> Tensor:
    """The same where all nodes are options: scores (B, V, P, N), as ``decoder.logits`` has them.

    (``nearness`` has no say here: mostly it is asked where a route may begin.)

    All arguments are (B, V, P), (B, V, P, S) or (B, V, P, N), with as many partial solutions for
    every augmentation.
    """

    def look_up(table: Tensor, node: Tensor) -> Tensor:
        return table.gather(2, node.unsqueeze(-1).expand(*node.shape, table.shape[-1]))

    query = look_up(tables.query_first, first) + look_up(tables.query_last, current)
    query = query + signals @ tables.state_weight.unsqueeze(1)
    sums = torch.matmul(_readout_weight(tables, zscore, allowed), tables.keyed)
    context = gated_ratio(query, sums)
    match = torch.matmul(context, tables.embedding.transpose(-1, -2))
    width = tables.embedding.shape[-1]
    score = _compatibility(tables.match_weight, match, zscore, allowed, width)
    if tables.moves is None:
        return score
    assert tables.batch is not None
    weight = look_up(tables.moves.first, first) + look_up(tables.moves.last, current)
    weight = weight + signals @ tables.moves.state.unsqueeze(1)  # (B, V, P, K)
    far = tables.scale.zscore(columns_of(tables.batch.distance, first.flatten(1)))
    facts = move_facts(
        tables.batch, first.flatten(1), current.flatten(1), signals.flatten(1, 2), far
    )
    return score + (facts @ weight.flatten(1, 2).unsqueeze(-1)).squeeze(-1).view(score.shape)


def _readout_weight(tables: NodeTables, zscore: Tensor, allowed: Tensor) -> Tensor:
    bias = -aligned(tables.read_weight, zscore) * zscore
    bias = bias.masked_fill(~allowed, -torch.inf)
    return (bias - bias.amax(dim=-1, keepdim=True)).exp()


def _compatibility(
    weight: Tensor, match: Tensor, zscore: Tensor, allowed: Tensor, width: int
) -> Tensor:
    score = match / math.sqrt(width) - aligned(weight, zscore) * zscore
    return score.masked_fill(~allowed, -torch.inf)


def weighted_rows(table: Tensor, rows: Tensor, weight: Tensor) -> Tensor:
    """Sums (R, d) over rows (R, C) of a table (T, d), each times its weight (R, C)."""
    if table.device.type == "cpu":
        # Adds them up where they lie, without a copy of the rows.
        return F.embedding_bag(rows, table, mode="sum", per_sample_weights=weight)
    picked = table.index_select(0, rows.flatten()).view(*rows.shape, -1)
    return torch.bmm(weight.unsqueeze(1), picked).squeeze(1)

"""The decoder: tables computed once from the embeddings, then logits for every step."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from spacevrp.model.attention import gated_ratio
from spacevrp.model.moves import move_facts
from spacevrp.tensors import Batch
from spacevrp.tensors.lengths import columns_of


@dataclass(frozen=True)
class DecoderTables:
    """All that a decoding step looks up."""

    embedding: Tensor  # (B, N, d)
    keyed: Tensor  # (B, N, 2d) [exp(K) * V | exp(K)]
    query_first: Tensor  # (B, N, d) embedding through the projection of the first node
    query_last: Tensor  # (B, N, d) embedding through the projection of the last node
    state_weight: Tensor  # (B, S, d) what each signal adds to queries
    zscore: Tensor  # (B, N, N) normalised distances
    read_weight: Tensor  # (B,) alpha of the readout times log2 N
    match_weight: Tensor  # (B,) alpha of the compatibility times log2 N
    clipping: float
    # What facts of possible moves weigh, where they do, and the batch that they follow from.
    move_first: Tensor | None = None  # (B, N, K) weights by the first node
    move_last: Tensor | None = None  # (B, N, K) weights by the last node
    move_state: Tensor | None = None  # (B, S, K) what each signal adds to them
    batch: Batch | None = None

    @property
    def num_signals(self) -> int:
        """Numbers that the decoder is told of a partial solution."""
        return self.state_weight.shape[1]

    def map(self, change) -> DecoderTables:  # type: ignore[no-untyped-def]
        """Apply a function to every tensor."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return DecoderTables(
            **{k: change(v) if isinstance(v, Tensor) else v for k, v in values.items()}
        )


def logits(
    tables: DecoderTables,
    first: Tensor,
    current: Tensor,
    signals: Tensor,
    allowed: Tensor,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Logits (B, P, N) of the next node; -inf where it is not allowed.

    From the ``first`` node (or depot) of the route and the ``current`` one, (B, P), and ``signals``
    (B, P, S). The two matrix products are in ``dtype``, that of the tables where None.
    """
    dtype = dtype or tables.embedding.dtype
    width = tables.embedding.shape[-1]
    row = _rows(tables.zscore, current)  # (B, P, N)
    query = _rows(tables.query_first, first) + _rows(tables.query_last, current)
    query = query + signals @ tables.state_weight

    bias = (-tables.read_weight[:, None, None] * row).masked_fill(~allowed, -torch.inf)
    weight = (bias - bias.amax(dim=-1, keepdim=True)).exp()
    sums = weight.to(dtype) @ tables.keyed.to(dtype)  # (B, P, 2d)
    context = gated_ratio(query, sums.to(query.dtype))  # (B, P, d)

    match = context.to(dtype) @ tables.embedding.to(dtype).transpose(1, 2)  # (B, P, N)
    score = match.to(query.dtype) / math.sqrt(width) - tables.match_weight[:, None, None] * row
    if tables.move_first is not None:
        score = score + _counted_facts(tables, first, current, signals)
    return (tables.clipping * torch.tanh(score)).masked_fill(~allowed, -torch.inf)


def _rows(table: Tensor, nodes: Tensor) -> Tensor:
    return table.gather(1, nodes.unsqueeze(-1).expand(-1, -1, table.shape[-1]))


def _counted_facts(
    tables: DecoderTables, first: Tensor, current: Tensor, signals: Tensor
) -> Tensor:
    """What the facts of all moves add to their scores, (B, P, N)."""
    assert tables.move_first is not None
    assert tables.move_last is not None
    assert tables.move_state is not None
    assert tables.batch is not None
    weight = _rows(tables.move_first, first) + _rows(tables.move_last, current)
    weight = weight + signals @ tables.move_state  # (B, P, K)
    far = columns_of(tables.zscore, first)
    facts = move_facts(tables.batch, first, current, signals, far)
    return (facts.to(weight.dtype) @ weight.unsqueeze(-1)).squeeze(-1)

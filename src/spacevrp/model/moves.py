"""Facts of every possible next move, and how much they count in its logit.

The readout and the compatibility see where nodes are and what they ask for, but not what comes of
going there now: whether the vehicle would wait, how soon a window closes, what room is left. These
facts follow from the signals of the partial solution and the problem; they are of the order of 1,
bounded, and 0 wherever the problem has no such constraint. Their weights follow from the query:
with all weights 0 the network is as without them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from spacevrp.inference.config import MOVE_FACTS, ModelConfig
from spacevrp.inference.moves import FARTHEST, NEVER
from spacevrp.model.features import per_horizon
from spacevrp.problems.features import ATTRIBUTE_NAMES
from spacevrp.tensors import LOAD_RULE_CODES, PAIRED_LOAD, Batch
from spacevrp.tensors.lengths import between, columns_of, rows_of


class MoveTables(NamedTuple):
    """What facts weigh, by the same sum as queries: first node, last node, signals."""

    first: Tensor  # (B, N, K)
    last: Tensor  # (B, N, K)
    state: Tensor  # (B, S, K)


class MoveWeights(nn.Module):
    """Weights of the facts from queries, and from the problem representation; all begin at 0."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.zeros(MOVE_FACTS, config.width))
        self.base = nn.Parameter(torch.zeros(MOVE_FACTS))
        self.of_attributes = nn.Parameter(torch.zeros(len(ATTRIBUTE_NAMES), MOVE_FACTS))

    def forward(
        self, attributes: Tensor, query_first: Tensor, query_last: Tensor, state_weight: Tensor
    ) -> MoveTables:
        """For problem representations (B, 10) and the tables (B, ..., d) that queries sum."""
        of_query = self.query.T / math.sqrt(self.query.shape[1])  # (d, K)
        share = attributes / attributes.sum(dim=1, keepdim=True).clamp(min=1.0)
        own = self.base + share @ self.of_attributes  # (B, K)
        own = own.view(-1, *(1,) * (query_first.ndim - 2), MOVE_FACTS)
        return MoveTables(
            query_first @ of_query + own, query_last @ of_query, state_weight @ of_query
        )


def move_facts(
    batch: Batch,
    first: Tensor,
    current: Tensor,
    signals: Tensor,
    far: Tensor,
    nodes: Tensor | None = None,
) -> Tensor:
    """Five facts of going to all nodes, or to nodes (B, P, C), next, (B, P, C, 5).

    Waiting and slack, in horizons; room for goods afterwards, in vehicle loads; what is left of the
    length limit with the way home, as a share of it; the way home, in deviations of distances. From
    the depot ``first`` and the ``current`` node (B, P), the seven signals of ``decode/signal.py``,
    and normalised distances ``far`` (B, P, C) from the nodes to ``first``.
    """

    def of(values: Tensor) -> Tensor:
        if nodes is None:
            return values.unsqueeze(1)
        return values.gather(1, nodes.flatten(1)).view(nodes.shape)

    def there(lengths: Tensor) -> Tensor:
        if nodes is None:
            return rows_of(lengths, current)
        return between(lengths, current.unsqueeze(-1), nodes)

    resource, time, credit, _, reach, _, _ = signals.unsqueeze(-2).unbind(-1)  # (B, P, 1) each
    each = (-1, 1, 1)
    scale = per_horizon(batch).view(each)
    closing = torch.where(torch.isfinite(batch.closing), batch.closing, NEVER)
    arrival = time + there(batch.duration) * scale
    windowed = batch.windowed.view(each)
    waiting = torch.where(windowed, (of(batch.opening) * scale - arrival).clamp(0.0, 1.0), 0.0)
    slack = torch.where(windowed, (of(closing) * scale - arrival).clamp(0.0, 1.0), 0.0)

    limited = torch.isfinite(batch.capacity)
    capacity = torch.where(limited, batch.capacity, 1.0).unsqueeze(1)
    peak = peak_after(
        batch.load_rule.view(each), 1.0 - resource, credit, of(batch.demand / capacity)
    )
    room = torch.where(limited.view(each), (1.0 - peak).clamp(0.0, 1.0), 0.0)

    bounded = torch.isfinite(batch.max_length)
    limit = torch.where(bounded, batch.max_length, 1.0).view(each)
    if nodes is None:
        home = columns_of(batch.distance, first)
    else:
        home = between(batch.distance, nodes, first.unsqueeze(-1))
    home = torch.where((batch.open_routes | ~batch.has_depot).view(each), 0.0, home)
    length = reach - (there(batch.distance) + home) / limit
    length = torch.where(bounded.view(each), length.clamp(0.0, 1.0), 0.0)

    far = torch.where(batch.has_depot.view(each), far.clamp(-FARTHEST, FARTHEST), 0.0)
    return torch.stack(torch.broadcast_tensors(waiting, slack, room, length, far), dim=-1)


def peak_after(rule: Tensor, used: Tensor, credit: Tensor, goods: Tensor) -> Tensor:
    """The largest load of the route with these goods, in vehicle loads; see ``env/load.py``."""
    above = used + goods
    single = above.clamp(min=0) + (credit - goods).clamp(min=0)
    gathered = credit + (-goods).clamp(min=0)
    separate = torch.where(goods > 0, above, torch.maximum(used, gathered))
    peak = torch.where(rule == LOAD_RULE_CODES["single"], single, above)
    peak = torch.where(rule == LOAD_RULE_CODES["separate"], separate, peak)
    return torch.where(rule == PAIRED_LOAD, used - goods, peak)

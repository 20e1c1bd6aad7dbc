"""Views that lean: in each the same network wants something slightly different.

Views differ in their pivots, and a network that has learned well plans much alike whatever these
are: the best of eight such plans is little better than one. So every view but the first changes
the queries of the decoder in its own way, so that it prefers other plans, all of them about as
good; the best of these is better.

The first views lean as they have learned to, where the weights know how: each was trained to find
what the others miss. All views after those begin the round of learned leanings anew, and have a
vector added that is drawn once for the view; so have all views but the first where nothing was
learned.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from spacevrp.inference.heads import STRENGTH, drawn_shifts
from spacevrp.problems.features import ATTRIBUTE_NAMES

# How far views lean by default (see inference/heads.py).
LEAN = STRENGTH


def leanings(views: range, width: int, first: int = 1) -> Tensor:
    """What each view adds to queries, in their deviation, (V, d) float32; 0 before the first.

    A view of one number leans alike whatever the seed, which decides its pivots.
    """
    return torch.from_numpy(drawn_shifts(views, width, first))


class LearnedLeanings(nn.Module):
    """What some views have learned to want: projections and a vector of their own.

    At first the projections are zero and the vectors those that would be drawn, so that learning
    begins at views that lean already.

    Parameters
    ----------
    count
        Views that lean so: those numbered from 1 on.
    width
        Width of the queries.
    """

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.zeros(count, width, width))
        self.last = nn.Parameter(torch.zeros(count, width, width))
        self.shift = nn.Parameter(LEAN * leanings(range(1, count + 1), width))
        self.shift_of_attributes = nn.Parameter(torch.zeros(count, len(ATTRIBUTE_NAMES), width))

    @property
    def count(self) -> int:
        """Views that lean so."""
        return len(self.shift)

    def of(self, views: range, attributes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What those views add.

        To the projections of the first and the last node, (V, d, d) each, and to all queries, in
        their deviation, (I, V, d), for problem representations (I, 10).
        """
        numbers = torch.arange(views.start, views.stop, device=attributes.device)
        turn = numbers % (self.count + 1)  # 0, a row of zeros, for views that do not lean

        def chosen(table: Tensor) -> Tensor:
            return torch.cat([torch.zeros_like(table[:1]), table])[turn]

        share = attributes / attributes.sum(dim=1, keepdim=True).clamp(min=1.0)
        own = torch.einsum("ia,vad->ivd", share, chosen(self.shift_of_attributes))
        return chosen(self.first), chosen(self.last), chosen(self.shift) + own


@dataclass(frozen=True)
class Queries:
    """The queries of all nodes for V views of each of I instances, and what they come from."""

    embedding: Tensor  # (I, V, N, d)
    first: Tensor  # (I, V, N, d) as the first node of a route
    last: Tensor  # (I, V, N, d) as the last node so far
    is_node: Tensor  # (I, V or 1, N)
    attributes: Tensor  # (I, 10) representations of the problems


def lean(
    queries: Queries, views: range, how_far: float, learned: LearnedLeanings | None = None
) -> tuple[Tensor, Tensor]:
    """The queries of first and last nodes as the views of these numbers want them.

    How large vectors are is measured in the deviation of all numbers of the last nodes' queries,
    one for each view of each instance. Padding does not count.
    """
    first, last = queries.first, queries.last
    if not how_far or views == range(1):
        return first, last
    shift = torch.zeros_like(last[..., 0, :])  # (I, V, d)
    drawn_from = 1
    deviation = _deviation(last, queries.is_node)  # (I, V, 1, 1)
    if learned is not None:
        drawn_from = learned.count + 1
        part = how_far / LEAN
        to_first, to_last, own = learned.of(views, queries.attributes.to(last))
        first = first + part * (queries.embedding @ to_first.transpose(1, 2))
        last = last + part * (queries.embedding @ to_last.transpose(1, 2))
        shift = shift + part * own
    if views.stop > drawn_from:
        shift = shift + how_far * leanings(views, last.shape[-1], drawn_from).to(last)
    return first, last + deviation * shift.unsqueeze(-2)


def _deviation(query: Tensor, is_node: Tensor) -> Tensor:
    """Of all numbers of the real nodes' queries, (..., 1, 1)."""
    real = is_node.unsqueeze(-1).to(query.dtype)
    count = (real.sum(dim=(-2, -1), keepdim=True) * query.shape[-1]).clamp(min=1)
    mean = (query * real).sum(dim=(-2, -1), keepdim=True) / count
    return (((query - mean) * real).square().sum(dim=(-2, -1), keepdim=True) / count).sqrt()

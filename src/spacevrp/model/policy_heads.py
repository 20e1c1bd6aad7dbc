"""Policy heads: augmentations whose queries differ, so that each prefers other plans.

Augmentations that differ in their pivots alone yield much the same plans: the best of eight is
little better than one. So every augmentation but the first changes the queries of the decoder in
its own way, as the ensembles of policies of Poppy (Grinsztajn et al. 2023) and PolyNet (Hottung et
al. 2025) do. All these plans are about as good, and the best of them is better.

Head 0 is the base policy. The next heads are learned, where the weights hold any: each is trained
to find what the others miss. Further heads go through the learned ones in turn and add a random
vector that depends on the number of the head; so do all heads but the first where none is learned.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from spacevrp.inference.heads import STRENGTH, drawn_shifts
from spacevrp.problems.features import ATTRIBUTE_NAMES

# The default strength (see inference/heads.py).
HEAD_STRENGTH = STRENGTH


def head_shifts(heads: range, width: int, first: int = 1) -> Tensor:
    """What each head adds to queries, in their deviation, (V, d) float32; 0 before the first.

    The vector of a head depends on its number alone, not on the seed, which decides its pivots.
    """
    return torch.from_numpy(drawn_shifts(heads, width, first))


class LearnedHeads(nn.Module):
    """What the learned heads, those numbered from 1 on, add: projections and a vector each.

    The projections start at zero and the vectors at random ones, so that heads differ from the
    first step.
    """

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.zeros(count, width, width))
        self.last = nn.Parameter(torch.zeros(count, width, width))
        self.shift = nn.Parameter(HEAD_STRENGTH * head_shifts(range(1, count + 1), width))
        self.shift_of_attributes = nn.Parameter(torch.zeros(count, len(ATTRIBUTE_NAMES), width))

    @property
    def count(self) -> int:
        """Learned heads."""
        return len(self.shift)

    def of(self, heads: range, attributes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What those heads add.

        To the projections of the first and the last node, (V, d, d) each, and to all queries, in
        their deviation, (I, V, d), for problem representations (I, 10).
        """
        numbers = torch.arange(heads.start, heads.stop, device=attributes.device)
        turn = numbers % (self.count + 1)  # 0, a row of zeros, for the base policy

        def chosen(table: Tensor) -> Tensor:
            return torch.cat([torch.zeros_like(table[:1]), table])[turn]

        share = attributes / attributes.sum(dim=1, keepdim=True).clamp(min=1.0)
        own = torch.einsum("ia,vad->ivd", share, chosen(self.shift_of_attributes))
        return chosen(self.first), chosen(self.last), chosen(self.shift) + own


@dataclass(frozen=True)
class Queries:
    """The queries of all nodes for V augmentations of I instances, and what they come from."""

    embedding: Tensor  # (I, V, N, d)
    first: Tensor  # (I, V, N, d) as the first node of a route
    last: Tensor  # (I, V, N, d) as the last node so far
    is_node: Tensor  # (I, V or 1, N)
    attributes: Tensor  # (I, 10) representations of the problems


def apply_heads(
    queries: Queries, heads: range, strength: float, learned: LearnedHeads | None = None
) -> tuple[Tensor, Tensor]:
    """The queries of first and last nodes, changed by the heads of these numbers.

    How large vectors are is measured in the deviation of all numbers of the last nodes' queries,
    one for each augmentation of each instance. Padding does not count.
    """
    first, last = queries.first, queries.last
    if not strength or heads == range(1):
        return first, last
    shift = torch.zeros_like(last[..., 0, :])  # (I, V, d)
    drawn_from = 1
    deviation = _deviation(last, queries.is_node)  # (I, V, 1, 1)
    if learned is not None:
        drawn_from = learned.count + 1
        part = strength / HEAD_STRENGTH
        to_first, to_last, own = learned.of(heads, queries.attributes.to(last))
        first = first + part * (queries.embedding @ to_first.transpose(1, 2))
        last = last + part * (queries.embedding @ to_last.transpose(1, 2))
        shift = shift + part * own
    if heads.stop > drawn_from:
        shift = shift + strength * head_shifts(heads, last.shape[-1], drawn_from).to(last)
    return first, last + deviation * shift.unsqueeze(-2)


def _deviation(query: Tensor, is_node: Tensor) -> Tensor:
    """Of all numbers of the real nodes' queries, (..., 1, 1)."""
    real = is_node.unsqueeze(-1).to(query.dtype)
    count = (real.sum(dim=(-2, -1), keepdim=True) * query.shape[-1]).clamp(min=1)
    mean = (query * real).sum(dim=(-2, -1), keepdim=True) / count
    return (((query - mean) * real).square().sum(dim=(-2, -1), keepdim=True) / count).sqrt()

"""What the decoder is told of large instances so that they look like those it was trained with.

The network knows up to a hundred customers. Three things are adjusted beyond that, none of them a
rule: which moves are legal and what they cost stays as it is.

- The weight of a distance grows with log2 N. At a depot this makes every route begin at the nearest
  customers, which the network has not learnt: there, N counts as in training.
- On the way, neighbours come nearer like the root of N, which log2 N does not make up for. So
  distances weigh more in the choice among them: by a power of what is missing, which differs from
  augmentation to augmentation, as none is the best for all instances.
- Two customers who each need more than half a vehicle cannot share one. Left for later, they end
  up on routes of their own, with no customer near to fill the vehicle. So the score with which a
  route begins is higher for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.inference.large import HALF, NEARNESS, PRIORITY, TRAINED_NODES
from spacevrp.tensors import Batch


@dataclass(frozen=True)
class Adjustment:
    """What is seen otherwise than it is."""

    depot_weight: Tensor  # (B,) of distances at a depot, times their weight
    missing: Tensor  # (B,) at least 1; how much neighbours came nearer, over what log2 N grew by
    bonus: Tensor  # (B, N) added to scores at a depot

    @classmethod
    def of(cls, batch: Batch, large: Tensor, *, priority: float = PRIORITY) -> Adjustment:
        """For the instances that are ``large`` (B,); nothing changes for the others.

        Pickups that wait for their delivery do not count for the bonus: what they take up is soon
        free again.
        """
        nodes = batch.is_node.sum(dim=1).to(batch.distance.dtype)
        log_size = torch.log2(nodes)
        capped = log_size.clamp(max=math.log2(TRAINED_NODES)) / log_size
        missing = (nodes / TRAINED_NODES).sqrt().clamp(min=1.0) * capped
        demand = batch.demand.abs()
        loaded = large & torch.isfinite(batch.capacity) & ~batch.paired
        share = demand / torch.where(loaded, batch.capacity, torch.inf).unsqueeze(1)
        return cls(
            depot_weight=torch.where(large, capped, 1.0),
            missing=torch.where(large, missing, 1.0),
            bonus=priority * torch.where(share > HALF, share, 0.0),
        )

    def nearness(
        self, first_augmentation: int, augmentations: int, powers: Sequence[float] = NEARNESS
    ) -> Tensor:
        """What distances weigh in the choices of so many augmentations from that one on, (B, V)."""
        turn = [
            powers[augmentation % len(powers)]
            for augmentation in range(first_augmentation, first_augmentation + augmentations)
        ]
        return self.missing.unsqueeze(1) ** self.missing.new_tensor(turn)

    def zscore(self, values: Tensor, at_depot: Tensor) -> Tensor:
        """Normalised distances (B, P, N) as they count for those at a depot (B, P)."""
        weight = torch.where(at_depot, self.depot_weight.unsqueeze(1), 1.0)
        return values * weight.unsqueeze(-1)

    def scores(self, values: Tensor, at_depot: Tensor) -> Tensor:
        """Scores (B, P, N) with what those at a depot (B, P) add."""
        return values + torch.where(at_depot.unsqueeze(-1), self.bonus.unsqueeze(1), 0.0)

"""What the network sees of distances: free of units, finite, and padded with zeros."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.tensors import Batch


@dataclass(frozen=True)
class Geometry:
    """Normalised distances of a batch."""

    zscore: Tensor  # (B, N, N) distances, z-scored over all entries of the instance
    spread: Tensor  # (B, N, N) distances over their standard deviation; at least 0
    log_size: Tensor  # (B,) log2 of the number of nodes
    is_node: Tensor  # (B, N) bool
    mean: Tensor  # (B,) distance


def normalise(batch: Batch) -> Geometry:
    """Z-score the distances of each instance over its own nodes."""
    distance = batch.distance
    pair = batch.is_node.unsqueeze(1) & batch.is_node.unsqueeze(2)  # (B, N, N)
    # A missing arc looks like the longest one: the mask, not the network, forbids it.
    finite = torch.isfinite(distance)
    known = torch.where(finite & pair, distance, 0.0)
    longest = known.amax(dim=(1, 2), keepdim=True)
    known = torch.where(finite, known, longest) * pair
    count = batch.is_node.sum(dim=1).to(distance.dtype)  # (B,)
    entries = (count * count)[:, None, None]
    mean = known.sum(dim=(1, 2), keepdim=True) / entries
    centred = (known - mean) * pair
    variance = centred.square().sum(dim=(1, 2), keepdim=True) / entries
    deviation = variance.sqrt().clamp(min=torch.finfo(distance.dtype).tiny ** 0.5)
    return Geometry(
        zscore=centred / deviation,
        spread=known / deviation,
        log_size=torch.log2(count),
        is_node=batch.is_node,
        mean=mean.flatten(),
    )

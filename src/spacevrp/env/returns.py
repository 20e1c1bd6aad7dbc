"""The ways home of a batch: direct arcs, or the shortest paths over other nodes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.tensors import Batch


@dataclass(frozen=True)
class ReturnPaths:
    """What the look-ahead takes for the way from any node to any other."""

    distance: Tensor  # (B, N, N); inf where there is none
    duration: Tensor  # (B, N, N); the same tensor as `distance` where they do not differ
    direct: bool  # a vehicle that may go on can always go straight home


def return_paths(batch: Batch, *, direct: bool) -> ReturnPaths:
    """Direct arcs: a customer without one is out of reach. Otherwise the shortest paths.

    With shortest paths a customer may be served whose way home leads over others. They bound what
    the rest of the route will take from below, and do not know who is served already, so that a
    route may come to a dead end; with direct arcs none ever does.
    """
    if direct:
        return ReturnPaths(batch.distance, batch.duration, direct)
    exists = torch.isfinite(batch.distance) & torch.isfinite(batch.duration)
    distance = _shortest(torch.where(exists, batch.distance, torch.inf), batch)
    if batch.duration is batch.distance:
        return ReturnPaths(distance, distance, direct)
    duration = _shortest(torch.where(exists, batch.duration, torch.inf), batch)
    return ReturnPaths(distance, duration, direct)


def _shortest(lengths: Tensor, batch: Batch) -> Tensor:
    """Lengths of shortest paths over customers, (B, N, N): no route passes a depot on its way."""
    passable = (batch.is_node & ~batch.is_depot)[:, :, None, None]  # (B, N, 1, 1)
    shortest = lengths
    for node in range(batch.num_nodes):
        detour = shortest[:, :, node, None] + shortest[:, None, node]
        shortest = torch.where(passable[:, node], torch.minimum(shortest, detour), shortest)
    return shortest

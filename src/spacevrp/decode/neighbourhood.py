"""Who is near whom: lists made once, out of which every move takes its options."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.model.streaming import row_slices
from spacevrp.tensors import Batch
from spacevrp.tensors.lengths import Tiles, between, tiles_of


@dataclass(frozen=True)
class Neighbourhood:
    """The nearest customers of every node, the nearest first.

    Where an instance has too few, other nodes fill the lists.
    """

    node: Tensor  # (B, N, W) int32
    distance: Tensor  # (B, N, W) to each of them

    @property
    def width(self) -> int:
        """Customers in a list."""
        return self.node.shape[2]

    def around(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """The customers nearest to nodes (B, P) and their distances, (B, P, W) each."""
        size, count = self.node.shape[:2]
        instance = torch.arange(size, device=nodes.device).unsqueeze(1)
        row = (instance * count + nodes).flatten()
        near = self.node.flatten(0, 1).index_select(0, row).long()
        distance = self.distance.flatten(0, 1).index_select(0, row)
        return near.view(*nodes.shape, -1), distance.view(*nodes.shape, -1)


def neighbourhood(batch: Batch, width: int) -> Neighbourhood:
    """Lists of at most ``width`` customers; a customer's partner is always on its list."""
    customers = batch.is_node & ~batch.is_depot
    width = max(1, min(width, int(customers.sum(dim=1).max())))
    near = torch.stack(
        [
            _nearest(tiles_of(batch.distance, number), open_to, width)
            for number, open_to in enumerate(customers)
        ]
    )
    if bool(batch.paired.any()):
        partner = batch.partner.to(near.dtype).unsqueeze(-1)
        missing = ~(near == partner).any(dim=-1, keepdim=True) & batch.paired[:, None, None]
        # Depots are their own partners, and no vehicle goes there by this list.
        near[..., -1:] = torch.where(missing, partner, near[..., -1:])
    distance = torch.empty(near.shape, dtype=batch.distance.dtype, device=near.device)
    for rows in row_slices(near.shape[1], near.device, batch.size * width):
        origin = torch.arange(rows.start, rows.stop, device=near.device)
        origin = origin.expand(batch.size, -1).unsqueeze(-1)
        distance[:, rows] = between(batch.distance, origin, near[:, rows].long())
    return Neighbourhood(near, distance)


def _nearest(tiles: Tiles, open_to: Tensor, width: int) -> Tensor:
    """The nearest of the customers ``open_to`` (N,) from every node, (N, width) int32."""
    count = len(open_to)
    near = torch.empty((count, width), dtype=torch.int32, device=open_to.device)
    for rows in row_slices(count, open_to.device):
        distance = tiles(rows, slice(0, count)).masked_fill(~open_to, torch.inf)
        distance[:, rows].fill_diagonal_(torch.inf)  # not itself
        near[rows] = distance.topk(width, dim=1, largest=False).indices.int()
    return near

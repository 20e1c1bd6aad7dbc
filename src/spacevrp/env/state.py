"""What a partial solution is: everything the rules need to know, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.tensors import Batch


@dataclass(frozen=True)
class State:
    """P partial solutions of each of B instances."""

    current: Tensor  # (B, P) int64; the node the vehicle is at
    origin: Tensor  # (B, P) int64; depot of the running route; without depots, the first node
    visited: Tensor  # (B, P, N) bool; customers already served
    used: Tensor  # (B, P) capacity that no later delivery can use (see load.py)
    credit: Tensor  # (B, P) the second running number of the load rules
    clock: Tensor  # (B, P) time at which the vehicle is ready to leave
    length: Tensor  # (B, P) length of the running route
    collected: Tensor  # (B, P) prize collected, as revealed
    pending: Tensor  # (B, P) int64; pickups on board, not yet delivered
    backhauled: Tensor  # (B, P) bool; the running route has served a backhaul
    routes: Tensor  # (B, P) int64; routes begun
    left: Tensor  # (B, P) int64; customers not yet visited
    linehauls: Tensor  # (B, P) int64; customers with a delivery not yet visited
    owed: Tensor  # (B, P) int64; compulsory customers not yet visited
    switched: Tensor  # (B, P) bool; the last move changed depots
    done: Tensor  # (B, P) bool
    stuck: Tensor  # (B, P) bool; ended without a legal move, so the plan is incomplete
    travelled: Tensor  # (B, P) distance that counts towards the cost

    @classmethod
    def untouched(cls, batch: Batch, shape: torch.Size) -> State:
        """Partial solutions (B, P) in which nothing has happened yet, at the first node."""
        zero = batch.distance.new_zeros(shape)
        count = torch.zeros(shape, dtype=torch.int64, device=batch.device)
        no = torch.zeros(shape, dtype=torch.bool, device=batch.device)
        customers = batch.is_node & ~batch.is_depot
        return cls(
            **dict.fromkeys(("current", "origin", "pending", "routes"), count),
            **dict.fromkeys(("used", "credit", "clock", "length", "collected", "travelled"), zero),
            **dict.fromkeys(("backhauled", "switched", "done", "stuck"), no),
            visited=torch.zeros(*shape, batch.num_nodes, dtype=torch.bool, device=batch.device),
            left=customers.sum(dim=1, keepdim=True).expand(shape),
            linehauls=(customers & (batch.demand > 0)).sum(dim=1, keepdim=True).expand(shape),
            owed=batch.compulsory.sum(dim=1, keepdim=True).expand(shape),
        )

"""What the decoder is told of a partial solution, beside where its vehicle is."""

from __future__ import annotations

import torch
from torch import Tensor

from spacevrp.env import State
from spacevrp.model.features import per_horizon
from spacevrp.tensors import Batch


def problem_signals(batch: Batch, state: State, count: int) -> Tensor:
    """The first ``count`` of seven numbers, (B, P, count).

    What is left of the one resource that matters, which is all that the paper tells; the time, in
    horizons; the load collected on the way, in vehicle loads; the share of customers to come; what
    is left of the length limit; whether the route has taken goods on board; the share of pairs on
    board.
    """
    told = (
        *(resource_left, time, load_collected, customers_left),
        *(length_left, backhauling, pairs_on_board),
    )
    return torch.stack([signal(batch, state) for signal in told[:count]], dim=-1)


def resource_left(batch: Batch, state: State) -> Tensor:
    """What is left of the one resource that matters, (B, P).

    Deliverable load over capacity; for orienteering the remaining length over the limit; for prize
    collecting the prize still to collect over the prize required; 0 otherwise.
    """
    capacity = batch.capacity.unsqueeze(1)
    limited = torch.isfinite(capacity)
    load = (capacity - state.used) / torch.where(limited, capacity, 1.0)
    limit = batch.max_length.unsqueeze(1)
    reach = (limit - state.length) / limit
    required = batch.min_prize.unsqueeze(1)
    wanted = (required - state.collected).clamp(min=0) / required.clamp(min=1e-6)
    signal = torch.where(batch.prize_collecting.unsqueeze(1), wanted, torch.zeros_like(wanted))
    signal = torch.where(batch.orienteering.unsqueeze(1), reach, signal)
    return torch.where(limited, load, signal)


def time(batch: Batch, state: State) -> Tensor:
    """When the vehicle is ready to leave, in horizons, (B, P); 0 without time windows."""
    return state.clock * per_horizon(batch).unsqueeze(1)


def load_collected(batch: Batch, state: State) -> Tensor:
    """What no pickup to come can use, in vehicle loads, (B, P); 0 without a capacity.

    It matters where some customers hand goods over and others receive them.
    """
    capacity = batch.capacity.unsqueeze(1)
    limited = torch.isfinite(capacity)
    return torch.where(limited, state.credit / torch.where(limited, capacity, 1.0), 0.0)


def customers_left(batch: Batch, state: State) -> Tensor:
    """Share of the customers that are not yet visited, (B, P)."""
    customers = (batch.is_node & ~batch.is_depot).sum(dim=1, keepdim=True)
    return state.left.to(state.clock.dtype) / customers.clamp(min=1).to(state.clock.dtype)


def length_left(batch: Batch, state: State) -> Tensor:
    """What is left of the length limit, as a share, (B, P); 0 without a limit."""
    limit = batch.max_length.unsqueeze(1)
    bounded = torch.isfinite(limit)
    known = torch.where(bounded, limit, 1.0)
    return torch.where(bounded, (known - state.length) / known, 0.0)


def backhauling(batch: Batch, state: State) -> Tensor:
    """1 where the running route has served a backhaul or a pickup with goods, (B, P)."""
    return state.backhauled.to(state.clock.dtype)


def pairs_on_board(batch: Batch, state: State) -> Tensor:
    """Pickups whose delivery is still to come, over half of the customers, (B, P)."""
    customers = (batch.is_node & ~batch.is_depot).sum(dim=1, keepdim=True)
    pending = state.pending.to(state.clock.dtype)
    return 2.0 * pending / customers.clamp(min=1).to(state.clock.dtype)

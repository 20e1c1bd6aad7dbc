"""The scalar problem state that the decoder sees."""

from __future__ import annotations

import torch
from torch import Tensor

from spacevrp.env import State
from spacevrp.tensors import Batch


def problem_signal(batch: Batch, state: State) -> Tensor:
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

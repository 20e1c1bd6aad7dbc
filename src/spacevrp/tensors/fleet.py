"""Fleets as padded tensors, beside the batch that the model sees (see ``arrays/fleet.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spacevrp.arrays.fleet import fleet_row, fleet_view
from spacevrp.problems.problem import Problem
from spacevrp.tensors.batch import LOAD_RULE_CODES, Batch, stack


@dataclass(frozen=True)
class Fleet:
    """The types of vehicles of B instances, padded to K types, D kinds of load and Q pins."""

    depot: Tensor  # (B, K) int64; the position that stands for its start, and for its end
    is_open: Tensor  # (B, K) bool; the route ends at its last customer
    count: Tensor  # (B, K) int64; 0 on padding
    capacity: Tensor  # (B, K, D) inf where unlimited
    load_tolerance: Tensor  # (B, K, D)
    fixed_cost: Tensor  # (B, K) in units of distance
    max_length: Tensor  # (B, K)
    leaves_from: Tensor  # (B, K) the opening of the depot included
    back_by: Tensor  # (B, K) the closing of the depot included
    may_serve: Tensor  # (B, K, N) bool
    pinned: Tensor  # (B, K, Q) int64; positions of the first customers, -1 on padding
    loads: Tensor  # (B, N, D) signed demand of each kind
    penalty: Tensor  # (B, N) in units of distance; 0 on depots, padding and compulsory customers
    seen_capacity: Tensor  # (B, D) what the model takes for the capacity; inf where unlimited
    max_routes: Tensor  # (B,) int64

    @property
    def num_types(self) -> int:
        """Types after padding."""
        return self.depot.shape[1]

    @property
    def num_kinds(self) -> int:
        """Kinds of load after padding."""
        return self.loads.shape[2]

    def _map(self, change: Any) -> Fleet:
        return Fleet(**{f.name: change(getattr(self, f.name)) for f in fields(self)})

    def to(self, device: torch.device | str) -> Fleet:
        """The fleets on another device."""
        return self._map(lambda tensor: tensor.to(device))

    def repeat_interleave(self, times: int) -> Fleet:
        """Each instance ``times`` times in a row (for views)."""
        return self._map(lambda tensor: tensor.repeat_interleave(times, dim=0))


def stack_fleets(
    problems: Sequence[Problem], *, dtype: torch.dtype = torch.float32
) -> tuple[Batch, Fleet]:
    """What the model sees of the problems, and the fleets that the rules see."""
    views = [fleet_view(problem) for problem in problems]
    batch = stack(problems, dtype=dtype, views=views)
    types = max(len(problem.fleet) for problem in problems)
    kinds = max(problem.kinds_of_load for problem in problems)
    pins = max((len(terms.pinned) for p in problems for terms in p.fleet), default=0)
    rows = [fleet_row(problem, batch.num_nodes, types, kinds, max(pins, 1)) for problem in problems]
    tensors = {}
    for name in rows[0]:
        tensor = torch.from_numpy(np.array([row[name] for row in rows]))
        tensors[name] = tensor.to(dtype) if tensor.is_floating_point() else tensor
    return batch, Fleet(**tensors)


def rule_codes(batch: Batch) -> Tensor:
    """The load rules of a batch of fleets, (B,): leaving full is a habit of the training only."""
    paper = batch.load_rule == LOAD_RULE_CODES["paper"]
    return torch.where(paper, LOAD_RULE_CODES["single"], batch.load_rule)

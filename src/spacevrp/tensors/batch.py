"""A batch of instances as padded tensors, every flag and rule per instance, so variants mix.

Conventions
-----------
B instances, N nodes after padding, K depots after padding. Depots come first, then customers, then
padding. Lengths and times are divided by units of their own, so that they are of the order of 1 in
float32. Amounts of goods are whole numbers wherever they can be, so that their sums are exact. What
limits them is never looser than what the referee forgives (see arrays/limits.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import torch
from torch import Tensor

from spacevrp.arrays.limits import Array
from spacevrp.arrays.rows import (
    LOAD_RULE_CODES,
    PAIRED_LOAD,
    View,
    order_of,
    padded_rows,
    uniform_view,
    write_lengths,
)
from spacevrp.problems.problem import Problem
from spacevrp.tensors.lengths import PlaneLengths

__all__ = ["LOAD_RULE_CODES", "PAIRED_LOAD", "Batch", "View", "stack"]


@dataclass(frozen=True)
class Batch:
    """B instances padded to N nodes. Neutral values stand wherever a feature is absent."""

    distance: Tensor  # (B, N, N) float; inf where there is no arc; padding is 0 (see lengths.py)
    duration: Tensor  # (B, N, N) float; the same tensor as `distance` unless they differ
    unit: Tensor  # (B,) float64; the user's units in one unit of distance (times have their own)
    is_node: Tensor  # (B, N) bool; False on padding
    is_depot: Tensor  # (B, N) bool
    demand: Tensor  # (B, N) signed: what leaves the vehicle at the node
    capacity: Tensor  # (B,) inf where loads are unlimited
    load_tolerance: Tensor  # (B,)
    load_rule: Tensor  # (B,) int64 code, see LOAD_RULE_CODES and PAIRED_LOAD
    opening: Tensor  # (B, N)
    closing: Tensor  # (B, N) inf where a window never closes
    service: Tensor  # (B, N)
    max_length: Tensor  # (B,) inf where routes are unlimited
    prize: Tensor  # (B, N) what the model and the environment expect
    revealed_prize: Tensor  # (B, N) what a visit really yields; equals `prize` unless stochastic
    penalty: Tensor  # (B, N) in distance units; 0 on depots, padding and compulsory nodes
    compulsory: Tensor  # (B, N) bool; customers that must be visited
    min_prize: Tensor  # (B,) already at most the total prize
    partner: Tensor  # (B, N) int64; the other node of the pair, itself where there is none
    is_pickup: Tensor  # (B, N) bool; first of a pair
    is_delivery: Tensor  # (B, N) bool; second of a pair
    max_routes: Tensor  # (B,) int64; a number no solution reaches where the fleet is unlimited
    open_routes: Tensor  # (B,) bool
    backhaul_last: Tensor  # (B,) bool
    several_routes: Tensor  # (B,) bool
    has_depot: Tensor  # (B,) bool
    orienteering: Tensor  # (B,) bool
    prize_collecting: Tensor  # (B,) bool
    backhaul: Tensor  # (B,) bool
    paired: Tensor  # (B,) bool
    windowed: Tensor  # (B,) bool
    attributes: Tensor  # (B, 10) the multi-hot problem representation
    node_of: Tensor  # (B, N) int64; position in the batch -> the user's node, -1 on padding

    @property
    def size(self) -> int:
        """Number of instances."""
        return self.distance.shape[0]

    @property
    def num_nodes(self) -> int:
        """Number of nodes after padding."""
        return self.distance.shape[1]

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.distance.device

    @property
    def limited_fleet(self) -> Tensor:
        """Whether several routes are allowed, but not one for every customer, (B,) bool."""
        customers = (self.is_node & ~self.is_depot).sum(dim=1)
        return self.several_routes & (self.max_routes < customers)

    def _map(self, change: Any) -> Batch:
        changed = {f.name: change(getattr(self, f.name)) for f in fields(self)}
        if self.duration is self.distance:
            changed["duration"] = changed["distance"]  # keep sharing one tensor
        return Batch(**changed)

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device."""
        return self._map(lambda tensor: tensor.to(device))

    def __getitem__(self, index: slice | Tensor) -> Batch:
        """Some of the instances."""
        return self._map(lambda tensor: tensor[index])

    def repeat_interleave(self, times: int) -> Batch:
        """Each instance ``times`` times in a row (for augmentations)."""
        return self._map(lambda tensor: tensor.repeat_interleave(times, dim=0))

    def double(self) -> Batch:
        """The batch in float64, for slow twins and gradient checks."""
        return self._map(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def replace(self, **changes: Tensor) -> Batch:
        """A copy with some tensors exchanged."""
        return replace(self, **changes)


def stack(
    problems: Sequence[Problem],
    num_nodes: int | None = None,
    dtype: torch.dtype = torch.float32,
    *,
    on_the_fly: bool = False,
    views: Sequence[View] | None = None,
) -> Batch:
    """Pad instances of any variants and sizes into one batch on the CPU.

    Parameters
    ----------
    num_nodes
        Nodes after padding; as many as the largest instance has where None.
    dtype
        Type of all that is not exact.
    on_the_fly
        Build no matrix where coordinates of one metric tell all distances: a
        :class:`~spacevrp.tensors.lengths.PlaneLengths` takes its place. The lengths between
        padding mean nothing then.
    views
        What the tensors say of the vehicles, where that is not what the problems say: a caller that
        builds plans from them keeps to the real fleets (see :mod:`spacevrp.tensors.fleet`).
    """
    if not problems:
        raise ValueError("expected at least one problem, received none")
    if views is None:
        views = [uniform_view(problem) for problem in problems]
    orders = [order_of(problem, view.starts) for problem, view in zip(problems, views, strict=True)]
    width = max(map(len, orders))
    if num_nodes is not None:
        if num_nodes < width:
            raise ValueError(f"expected num_nodes >= {width}, received {num_nodes}")
        width = num_nodes
    rows = padded_rows(problems, views, orders, width)
    on_the_fly = on_the_fly and _share_a_metric(problems)

    def lengths(field: str) -> Tensor:
        if on_the_fly and field == "distances":
            return _plane(problems, field, width, dtype)
        return _squares(problems, views, orders, field, width, dtype)

    tensors: dict[str, Tensor] = {"distance": lengths("distances")}
    shared = all(problem.durations is problem.distances for problem in problems)
    tensors["duration"] = tensors["distance"] if shared else lengths("durations")
    for name, values in rows.items():
        tensor = torch.from_numpy(values)
        keeps_precision = name == "unit" or not tensor.is_floating_point()
        tensors[name] = tensor if keeps_precision else tensor.to(dtype)
    return Batch(**tensors)


def _squares(
    problems: Sequence[Problem],
    views: Sequence[View],
    orders: Sequence[Array],
    field: str,
    width: int,
    dtype: torch.dtype,
) -> Tensor:
    """Distances or durations in units, depots first, (B, width, width)."""
    # numpy knows no bfloat16.
    held_in = dtype if dtype in (torch.float32, torch.float64) else torch.float64
    blocks = torch.zeros((len(problems), width, width), dtype=held_in)
    for block, problem, view, order in zip(blocks.numpy(), problems, views, orders, strict=True):
        write_lengths(block[: len(order), : len(order)], problem, view, field, order)
    return blocks.to(dtype)


def _share_a_metric(problems: Sequence[Problem]) -> bool:
    """Whether coordinates of one metric tell the distances of all."""
    if any(problem.distances.coordinates is None for problem in problems):
        return False
    return len({problem.distances.metric for problem in problems}) == 1


def _plane(problems: Sequence[Problem], field: str, width: int, dtype: torch.dtype) -> Tensor:
    """What takes the place of the squares where coordinates are enough."""
    plane = PlaneLengths.of(
        [getattr(problem, field) for problem in problems],
        [order_of(problem, problem.depots) for problem in problems],
        [problem.unit for problem in problems],
        width,
        dtype,
    )
    # Typed as what it stands for: code that needs a whole matrix is never handed such a batch.
    return cast(Tensor, plane)

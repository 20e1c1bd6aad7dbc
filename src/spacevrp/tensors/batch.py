"""A batch of instances as padded tensors, every flag and rule per instance, so variants mix.

Conventions
-----------
B instances, N nodes after padding, K depots after padding. Depots come first, then customers, then
padding. Lengths and times are divided by units of their own, so that they are of the order of 1 in
float32. Amounts of goods are whole numbers wherever they can be, so that their sums are exact. What
limits them is never looser than what the referee forgives (see limits.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.tensors.lengths import PlaneLengths
from spacevrp.tensors.limits import as_amounts, as_limits

# How goods share the vehicle. Pairs have a rule of their own: nothing is on board at the start.
LOAD_RULE_CODES = {"single": 0, "paper": 1, "separate": 2}
PAIRED_LOAD = 3
# Rows of a matrix that are copied at a time.
_ROWS = 1024


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
        """Each instance ``times`` times in a row (for views)."""
        return self._map(lambda tensor: tensor.repeat_interleave(times, dim=0))

    def double(self) -> Batch:
        """The batch in float64, for slow twins and gradient checks."""
        return self._map(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def replace(self, **changes: Tensor) -> Batch:
        """A copy with some tensors exchanged."""
        return replace(self, **changes)


@dataclass(frozen=True)
class View:
    """What a batch says of the vehicles of an instance, in the user's units and numbering.

    Demand and capacity are in the steps of :mod:`spacevrp.tensors.limits`.
    """

    starts: tuple[int, ...]  # the nodes that depots of the batch are for whoever leaves,
    ends: tuple[int, ...]  # and for whoever comes back
    demand: np.ndarray[Any, Any]  # (N,)
    capacity: float
    load_tolerance: float
    windows: np.ndarray[Any, Any]  # (N, 2)
    max_length: float
    open_routes: bool
    max_routes: int | None
    capacitated: bool  # whether loads are said to be limited
    must_visit: tuple[int, ...] = ()  # customers who are compulsory whatever their penalty
    penalised: bool = True  # whether it says that customers may be left out, and at what price


def _uniform_view(problem: Problem) -> View:
    """The problem itself, whose vehicles are all alike and carry one kind of load."""
    if problem.has_own_fleet:
        raise UnsupportedError(
            f"a batch holds alike vehicles with one kind of load, received {problem.variant_name}"
        )
    goods = as_amounts(problem, 0, [problem.capacity])
    return View(
        problem.depots,
        problem.depots,
        goods.amounts,
        float(goods.capacities[0]),
        float(goods.tolerances[0]),
        problem.windows,
        problem.max_length,
        problem.open_routes,
        problem.max_routes,
        problem.features.capacity,
    )


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
        What the tensors say of the vehicles, where that is not what the problems say: whoever
        builds plans from them keeps to the real fleets (see :mod:`spacevrp.tensors.fleet`).
    """
    if not problems:
        raise ValueError("expected at least one problem, received none")
    if views is None:
        views = [_uniform_view(problem) for problem in problems]
    width = max(len(_order(p, view.starts)) for p, view in zip(problems, views, strict=True))
    if num_nodes is not None:
        if num_nodes < width:
            raise ValueError(f"expected num_nodes >= {width}, received {num_nodes}")
        width = num_nodes
    rows = [_as_row(problem, width, view) for problem, view in zip(problems, views, strict=True)]
    on_the_fly = on_the_fly and _share_a_metric(problems)

    def lengths(field: str) -> Tensor:
        if on_the_fly and field == "distances":
            return _plane(problems, field, width, dtype)
        return _squares(problems, views, field, width, dtype)

    tensors: dict[str, Tensor] = {"distance": lengths("distances")}
    shared = all(problem.durations is problem.distances for problem in problems)
    tensors["duration"] = tensors["distance"] if shared else lengths("durations")
    for name in rows[0]:
        tensor = torch.from_numpy(np.array([row[name] for row in rows]))
        keeps_precision = name == "unit" or not tensor.is_floating_point()
        tensors[name] = tensor if keeps_precision else tensor.to(dtype)
    return Batch(**tensors)


def _squares(
    problems: Sequence[Problem],
    views: Sequence[View],
    field: str,
    width: int,
    dtype: torch.dtype,
) -> Tensor:
    """Distances or durations in units, depots first, (B, width, width)."""
    # numpy knows no bfloat16.
    held_in = dtype if dtype in (torch.float32, torch.float64) else torch.float64
    blocks = torch.zeros((len(problems), width, width), dtype=held_in)
    for block, problem, view in zip(blocks.numpy(), problems, views, strict=True):
        matrix = getattr(problem, field).matrix()
        unit = problem.unit if field == "distances" else problem.unit_of_time
        order, targets = _order(problem, view.starts), _order(problem, view.ends)
        size = len(order)
        in_order = view.starts == problem.depots == view.ends and _in_order(order)
        # Divided in float64, rounded once; in rows, as a large instance has no room for a copy.
        for first in range(0, size, _ROWS):
            rows = slice(first, min(first + _ROWS, size))
            some = matrix[rows] if in_order else matrix[np.ix_(order[rows], targets)]
            block[rows, :size] = some / unit if unit != 1.0 else some
        if view.starts != view.ends:
            np.fill_diagonal(block, 0.0)  # from the start of a route to its own end
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
        [_order(problem, problem.depots) for problem in problems],
        [problem.unit for problem in problems],
        width,
        dtype,
    )
    # Typed as what it stands for: whoever needs a whole matrix is never handed such a batch.
    return cast(Tensor, plane)


def _order(problem: Problem, depots: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The user's nodes in the order of the batch, (size,), with these nodes for depots."""
    return np.array([*depots, *problem.customers], dtype=np.int64)


def _in_order(order: np.ndarray[Any, Any]) -> bool:
    """Whether the user's numbering has the depots first already."""
    return bool((order[1:] > order[:-1]).all())


def _as_row(problem: Problem, width: int, view: View) -> dict[str, Any]:
    """One instance as padded arrays, depots first; all but its squares."""
    order = _order(problem, view.starts)
    size = len(order)
    features = replace(
        problem.features,
        capacity=view.capacitated,
        prize_collecting=problem.features.prize_collecting and view.penalised,
    )
    position = np.empty(problem.size, dtype=np.int64)
    position[order] = np.arange(size)
    unit, unit_of_time = problem.unit, problem.unit_of_time

    def padded(values: np.ndarray[Any, Any], fill: float | bool = 0) -> np.ndarray[Any, Any]:
        row = np.full(width, fill, dtype=values.dtype)
        row[:size] = values[order]
        return row

    is_node = np.arange(width) < size
    is_depot = np.arange(width) < len(view.starts)
    closing = np.full(width, np.inf)
    closing[:size] = as_limits(
        view.windows[_order(problem, view.ends), 1] - problem.day_start,
        problem.time_tolerance,
        unit_of_time,
    )
    optional = padded(np.isfinite(problem.penalty))
    optional[position[list(view.must_visit)]] = False
    partner = np.arange(width)
    is_pickup, is_delivery = np.zeros(width, dtype=bool), np.zeros(width, dtype=bool)
    for pickup, delivery in problem.pairs:
        first, second = position[pickup], position[delivery]
        partner[first], partner[second] = second, first
        is_pickup[first], is_delivery[second] = True, True
    revealed = problem.prize if problem.revealed_prize is None else problem.revealed_prize
    customers = is_node & ~is_depot
    penalty = np.where(optional & customers, padded(problem.penalty) / unit, 0.0)
    if problem.maximise_prize or not view.penalised:
        penalty = np.zeros(width)
    node_of = np.full(width, -1, dtype=np.int64)
    node_of[:size] = order
    return {
        "unit": np.float64(unit),
        "is_node": is_node,
        "is_depot": is_depot,
        "demand": padded(view.demand),
        "capacity": np.float64(view.capacity),
        "load_tolerance": np.float64(view.load_tolerance),
        "load_rule": np.int64(PAIRED_LOAD if problem.pairs else LOAD_RULE_CODES[problem.load_rule]),
        # Counted from the first departure: float32 has no digits to spare for a date.
        "opening": padded(np.maximum(view.windows[:, 0] - problem.day_start, 0.0)) / unit_of_time,
        "closing": closing,
        "service": padded(problem.service) / unit_of_time,
        "max_length": as_limits(view.max_length, problem.length_tolerance, unit),
        "prize": padded(problem.prize),
        "revealed_prize": padded(revealed),
        "penalty": penalty,
        "compulsory": customers & ~optional,
        "min_prize": np.float64(
            min(problem.min_prize, float(revealed[list(problem.customers)].sum()))
        ),
        "partner": partner,
        "is_pickup": is_pickup,
        "is_delivery": is_delivery,
        "max_routes": np.int64(view.max_routes or size + 1),
        "open_routes": np.bool_(view.open_routes),
        "backhaul_last": np.bool_(problem.backhaul_last),
        "several_routes": np.bool_(view.max_routes != 1),
        "has_depot": np.bool_(bool(problem.depots)),
        "orienteering": np.bool_(problem.maximise_prize),
        "prize_collecting": np.bool_(features.prize_collecting),
        "backhaul": np.bool_(features.backhaul),
        "paired": np.bool_(bool(problem.pairs)),
        "windowed": np.bool_(features.time_windows),
        "attributes": np.array(features.attributes, dtype=np.float64),
        "node_of": node_of,
    }

"""A batch of instances as padded tensors, every flag and rule per instance, so variants mix.

Conventions
-----------
B instances, N nodes after padding, K depots after padding. Depots come first, then customers, then
padding. Lengths and times are divided by units of their own, so that they are of the order of 1 in
float32. Amounts of goods are whole numbers wherever they can be, so that their sums are exact. What
limits them is never looser than what the referee forgives (see limits.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.features import Features
from spacevrp.problems.problem import Problem
from spacevrp.tensors.lengths import PlaneLengths
from spacevrp.tensors.limits import TOLERANCE, Array, as_amounts, as_limits

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
    demand: Array  # (N,)
    capacity: float
    load_tolerance: float
    windows: Array  # (N, 2)
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
    orders = [_order(problem, view.starts) for problem, view in zip(problems, views, strict=True)]
    width = max(map(len, orders))
    if num_nodes is not None:
        if num_nodes < width:
            raise ValueError(f"expected num_nodes >= {width}, received {num_nodes}")
        width = num_nodes
    rows = _as_rows(problems, views, orders, width)
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
        matrix = getattr(problem, field).matrix()
        unit = problem.unit if field == "distances" else problem.unit_of_time
        targets = order if view.ends == view.starts else _order(problem, view.ends)
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


def _order(problem: Problem, depots: tuple[int, ...]) -> Array:
    """The user's nodes in the order of the batch, (size,), with these nodes for depots."""
    if depots == problem.depots == tuple(range(len(depots))):
        return np.arange(problem.size)
    return np.array([*depots, *problem.customers], dtype=np.int64)


def _in_order(order: Array) -> bool:
    """Whether the user's numbering has the depots first already."""
    return bool((order[1:] > order[:-1]).all())


def _as_rows(
    problems: Sequence[Problem], views: Sequence[View], orders: Sequence[Array], width: int
) -> dict[str, Array]:
    """The instances as padded arrays (B, ...), depots first; all but their squares."""
    both = list(zip(problems, views, strict=True))

    def gathered(values: Iterable[Array], fill: float = 0.0, by: Sequence[Array] = orders) -> Array:
        """What each instance has for its nodes, in the order of the batch, (B, N)."""
        rows = np.full((len(problems), width), fill)
        for row, one, order in zip(rows, values, by, strict=True):
            row[: len(order)] = one[order]
        return rows

    def each(values: Iterable[float]) -> Array:
        return np.array(list(values), dtype=np.float64)  # (B,)

    def flags(values: Iterable[bool]) -> Array:
        return np.array(list(values), dtype=bool)  # (B,)

    unit = each(p.unit for p in problems)
    day_start = each(p.day_start for p in problems)[:, None]  # (B, 1)
    unit_of_time = each(p.unit_of_time for p in problems)[:, None]  # (B, 1)
    place = np.arange(width)
    is_node = place < np.array([len(order) for order in orders])[:, None]  # (B, N)
    is_depot = place < np.array([len(view.starts) for view in views])[:, None]
    customers = is_node & ~is_depot
    node_of = np.full((len(problems), width), -1, dtype=np.int64)
    for row, order in zip(node_of, orders, strict=True):
        row[: len(order)] = order
    ends = [
        order if view.ends == view.starts else _order(problem, view.ends)
        for (problem, view), order in zip(both, orders, strict=True)
    ]
    closing = gathered((view.windows[:, 1] for view in views), np.inf, ends)
    # To find out a slack takes a while; what is not limited needs none.
    slack_of_time = each(
        p.time_tolerance if earliest < np.inf else 2.0 * TOLERANCE * p.unit_of_time
        for p, earliest in zip(problems, closing.min(axis=1), strict=True)
    )
    slack_of_length = each(
        p.length_tolerance if np.isfinite(view.max_length) else 2.0 * TOLERANCE * p.unit
        for p, view in both
    )
    opening = gathered(view.windows[:, 0] for view in views)
    penalty = gathered(p.penalty for p in problems)
    optional = np.isfinite(penalty) & is_node
    partner, is_pickup, is_delivery = _pairs(problems, orders, width)
    for row, (problem, view), order in zip(optional, both, orders, strict=True):
        if view.must_visit:
            row[_positions(problem, order)[list(view.must_visit)]] = False
    penalised = flags(view.penalised and not p.maximise_prize for p, view in both)[:, None]
    paid = optional & customers & penalised
    return {
        "unit": unit,
        "is_node": is_node,
        "is_depot": is_depot,
        "demand": gathered(view.demand for view in views),
        "capacity": each(view.capacity for view in views),
        "load_tolerance": each(view.load_tolerance for view in views),
        "load_rule": np.array(
            [PAIRED_LOAD if p.pairs else LOAD_RULE_CODES[p.load_rule] for p in problems],
            dtype=np.int64,
        ),
        # Counted from the first departure: float32 has no digits to spare for a date.
        "opening": np.where(is_node, np.maximum(opening - day_start, 0.0) / unit_of_time, 0.0),
        "closing": as_limits(closing - day_start, slack_of_time[:, None], unit_of_time),
        "service": gathered(p.service for p in problems) / unit_of_time,
        "max_length": as_limits([view.max_length for view in views], slack_of_length, unit),
        "prize": gathered(p.prize for p in problems),
        "revealed_prize": gathered(map(_revealed, problems)),
        "penalty": np.divide(penalty, unit[:, None], out=np.zeros_like(penalty), where=paid),
        "compulsory": customers & ~optional,
        "min_prize": each(map(_required_prize, problems)),
        "partner": partner,
        "is_pickup": is_pickup,
        "is_delivery": is_delivery,
        "max_routes": np.array(
            [view.max_routes or len(order) + 1 for view, order in zip(views, orders, strict=True)],
            dtype=np.int64,
        ),
        "open_routes": flags(view.open_routes for view in views),
        "backhaul_last": flags(p.backhaul_last for p in problems),
        "several_routes": flags(view.max_routes != 1 for view in views),
        "has_depot": flags(bool(p.depots) for p in problems),
        "orienteering": flags(p.maximise_prize for p in problems),
        "prize_collecting": flags(p.features.prize_collecting and v.penalised for p, v in both),
        "backhaul": flags(p.features.backhaul for p in problems),
        "paired": flags(bool(p.pairs) for p in problems),
        "windowed": flags(p.features.time_windows for p in problems),
        "attributes": np.array(
            [_attributes(p.features, view.capacitated, view.penalised) for p, view in both],
            dtype=np.float64,
        ),
        "node_of": node_of,
    }


def _positions(problem: Problem, order: Array) -> Array:
    """Where the user's nodes are in the batch, (N,)."""
    position = np.empty(problem.size, dtype=np.int64)
    position[order] = np.arange(len(order))
    return position


def _pairs(
    problems: Sequence[Problem], orders: Sequence[Array], width: int
) -> tuple[Array, Array, Array]:
    """The other node of the pair, and which nodes are pickups and deliveries, (B, N) each."""
    partner = np.tile(np.arange(width), (len(problems), 1))
    is_pickup, is_delivery = np.zeros((2, *partner.shape), dtype=bool)
    for row, (problem, order) in enumerate(zip(problems, orders, strict=True)):
        if problem.pairs:
            first, second = _positions(problem, order)[np.array(problem.pairs)].T
            partner[row, first], partner[row, second] = second, first
            is_pickup[row, first] = is_delivery[row, second] = True
    return partner, is_pickup, is_delivery


def _revealed(problem: Problem) -> Array:
    """What visits really yield."""
    return problem.prize if problem.revealed_prize is None else problem.revealed_prize


def _required_prize(problem: Problem) -> float:
    """As much as has to be collected, or all there is."""
    if problem.min_prize == 0.0:
        return 0.0
    return min(problem.min_prize, float(_revealed(problem)[list(problem.customers)].sum()))


@cache
def _attributes(features: Features, capacitated: bool, penalised: bool) -> tuple[int, ...]:
    """The bits of the features, as far as a view says that they are there."""
    collecting = features.prize_collecting and penalised
    return replace(features, capacity=capacitated, prize_collecting=collecting).attributes

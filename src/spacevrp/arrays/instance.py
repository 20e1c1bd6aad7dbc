"""One instance as arrays, in the units of the network: what rules and model see of a problem.

Conventions
-----------
N nodes: depots first, then customers. Lengths and times are divided by units of their own, so that
they are of the order of 1 in float32. Amounts of goods are whole numbers wherever they can be, so
that their sums are exact. What limits them is never looser than what the referee forgives (see
limits.py). Neutral values stand wherever a feature is absent.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from spacevrp.arrays.limits import Array, cast
from spacevrp.arrays.plane import Plane
from spacevrp.arrays.rows import (
    View,
    order_of,
    padded_rows,
    uniform_view,
    unit_of_lengths,
    write_lengths,
)
from spacevrp.problems.problem import Problem


@dataclass(frozen=True)
class Instance:
    """What the rules and the network are told of one problem."""

    distance: Array | Plane  # (N, N); inf where there is no arc
    duration: Array | Plane  # (N, N); the same object as `distance` unless they differ
    unit: float  # the user's units in one unit of distance (times have their own)
    num_depots: int  # the first nodes; the depots of the problem, or what a view takes for them
    demand: Array  # (N,) signed: what leaves the vehicle at the node
    capacity: float  # inf where loads are unlimited
    load_tolerance: float
    load_rule: int  # see LOAD_RULE_CODES and PAIRED_LOAD
    opening: Array  # (N,)
    closing: Array  # (N,) inf where a window never closes
    service: Array  # (N,)
    max_length: float  # inf where routes are unlimited
    prize: Array  # (N,) what the model and the environment expect
    revealed_prize: Array  # (N,) what a visit really yields; equals `prize` unless stochastic
    penalty: Array  # (N,) in distance units; 0 on depots and compulsory nodes
    compulsory: Array  # (N,) bool; customers that must be visited
    min_prize: float  # already at most the total prize
    partner: Array  # (N,) int64; the other node of the pair, itself where there is none
    is_pickup: Array  # (N,) bool; first of a pair
    is_delivery: Array  # (N,) bool; second of a pair
    max_routes: int  # a number no solution reaches where the fleet is unlimited
    open_routes: bool
    backhaul_last: bool
    several_routes: bool
    has_depot: bool
    orienteering: bool
    prize_collecting: bool
    backhaul: bool
    paired: bool
    windowed: bool
    attributes: Array  # (10,) the multi-hot problem representation
    node_of: Array  # (N,) int64; position here -> the user's node

    @property
    def size(self) -> int:
        """Number of nodes, depots included."""
        return len(self.demand)

    @property
    def is_depot(self) -> Array:
        """Which nodes are depots, (N,) bool."""
        return np.arange(self.size) < self.num_depots


# Fields with a number for every node.
_OF_NODES = (
    *("demand", "opening", "closing", "service", "prize", "revealed_prize", "penalty"),
    *("compulsory", "partner", "is_pickup", "is_delivery", "node_of"),
)
# All others but the lengths, and the attributes, which are a row of their own.
_OF_INSTANCE = tuple(
    field.name
    for field in fields(Instance)
    if field.name not in (*_OF_NODES, "distance", "duration", "num_depots", "attributes")
)


def prepare(problem: Problem, *, on_the_fly: bool = False, view: View | None = None) -> Instance:
    """The instance of a problem of any variant.

    ``on_the_fly`` builds no matrix where coordinates tell all distances: a
    :class:`~spacevrp.arrays.plane.Plane` takes its place. ``view`` is what the arrays say of the
    vehicles, where that is not what the problem says.
    """
    view = view or uniform_view(problem)
    order = order_of(problem, view.starts)
    rows = padded_rows([problem], [view], [order], len(order))
    plane = on_the_fly and view.starts == problem.depots == view.ends

    def lengths(field: str) -> Array | Plane:
        held = getattr(problem, field)
        if plane and held.coordinates is not None:
            return Plane.of(held, order, unit_of_lengths(problem, field))
        square = np.empty((len(order), len(order)), dtype=np.float32)
        write_lengths(square, problem, view, field, order)
        return square

    distance = duration = lengths("distances")
    if problem.durations is not problem.distances:
        duration = lengths("durations")
    values: dict[str, Any] = {name: rows[name][0].item() for name in _OF_INSTANCE}
    for name in (*_OF_NODES, "attributes"):
        row = rows[name][0]
        values[name] = cast(row, np.float32) if row.dtype == np.float64 else row
    return Instance(distance=distance, duration=duration, num_depots=len(view.starts), **values)

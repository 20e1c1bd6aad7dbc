"""One instance as arrays, in the units of the network: what rules and model see of a problem.

Conventions
-----------
N nodes: depots first, then customers. Lengths and times are divided by units of their own, so that
they are of the order of 1 in float32. Amounts of goods are whole numbers wherever they can be, so
that their sums are exact. What limits them is never looser than what the referee forgives (see
limits.py). Neutral values stand wherever a feature is absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from spacevrp.arrays.limits import as_amounts, as_limits
from spacevrp.arrays.plane import Plane
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem

Array = np.ndarray[Any, Any]

# How goods share the vehicle. Pairs have a rule of their own: nothing is on board at the start.
LOAD_RULE_CODES = {"single": 0, "paper": 1, "separate": 2}
PAIRED_LOAD = 3
# Rows of a matrix that are copied at a time.
_ROWS = 1024


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


#: Fields with a number for every node, and what padding has there.
NODE_FIELDS: dict[str, float | bool | int] = {
    "demand": 0.0,
    "opening": 0.0,
    "closing": np.inf,
    "service": 0.0,
    "prize": 0.0,
    "revealed_prize": 0.0,
    "penalty": 0.0,
    "compulsory": False,
    "is_pickup": False,
    "is_delivery": False,
    "node_of": -1,
}


@dataclass(frozen=True)
class View:
    """What an instance says of its vehicles, in the user's units and numbering.

    Demand and capacity are in the steps of :mod:`spacevrp.arrays.limits`.
    """

    starts: tuple[int, ...]  # the nodes that depots are for a vehicle that leaves,
    ends: tuple[int, ...]  # and for one that comes back
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


def uniform_view(problem: Problem) -> View:
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


def prepare(
    problems: Sequence[Problem],
    *,
    dtype: Any = np.float32,
    on_the_fly: bool = False,
    views: Sequence[View] | None = None,
) -> list[Instance]:
    """Instances of any variants and sizes.

    Parameters
    ----------
    dtype
        Type of all arrays that are not exact.
    on_the_fly
        Build no matrix where coordinates tell all distances: a
        :class:`~spacevrp.arrays.plane.Plane` takes its place.
    views
        What the arrays say of the vehicles, where that is not what the problems say.
    """
    if views is None:
        views = [uniform_view(problem) for problem in problems]
    made = []
    for problem, view in zip(problems, views, strict=True):
        order = order_of(problem, view.starts)
        values = describe(problem, view, order)
        for name, value in values.items():
            if isinstance(value, np.ndarray) and value.dtype == np.float64:
                values[name] = value.astype(dtype)
        plane = on_the_fly and view.starts == problem.depots == view.ends
        distance = _lengths(problem, view, "distances", order, dtype, plane=plane)
        duration = distance
        if problem.durations is not problem.distances:
            duration = _lengths(problem, view, "durations", order, dtype, plane=plane)
        made.append(Instance(distance=distance, duration=duration, **values))
    return made


def _lengths(
    problem: Problem, view: View, field: str, order: Array, dtype: Any, *, plane: bool
) -> Array | Plane:
    lengths = getattr(problem, field)
    if plane and lengths.coordinates is not None:
        return Plane.of(lengths, order, _unit(problem, field))
    square = np.empty((len(order), len(order)), dtype=dtype)
    write_lengths(square, problem, view, field, order)
    return square


def _unit(problem: Problem, field: str) -> float:
    return problem.unit if field == "distances" else problem.unit_of_time


def write_lengths(square: Array, problem: Problem, view: View, field: str, order: Array) -> None:
    """Fill a square (N, N) with distances or durations in units, the nodes in this order."""
    matrix = getattr(problem, field).matrix()
    unit = _unit(problem, field)
    targets = order if view.ends == view.starts else order_of(problem, view.ends)
    in_order = view.starts == problem.depots == view.ends and is_in_order(order)
    # Divided in float64, rounded once; in rows, as a large instance has no room for a copy.
    for first in range(0, len(order), _ROWS):
        rows = slice(first, min(first + _ROWS, len(order)))
        some = matrix[rows] if in_order else matrix[np.ix_(order[rows], targets)]
        if unit != 1.0:
            np.divide(some, unit, out=square[rows], casting="same_kind")
        else:
            square[rows] = some
    if view.starts != view.ends:
        np.fill_diagonal(square, 0.0)  # from the start of a route to its own end


def order_of(problem: Problem, depots: tuple[int, ...]) -> Array:
    """The user's nodes in the order of an instance, (N,), with these nodes for depots."""
    is_customer = np.ones(problem.size, dtype=bool)
    is_customer[list(problem.depots)] = False
    return np.concatenate([np.array(depots, dtype=np.int64), is_customer.nonzero()[0]])


def is_in_order(order: Array) -> bool:
    """Whether the user's numbering has the depots first already."""
    return bool((order[1:] > order[:-1]).all())


def describe(problem: Problem, view: View, order: Array) -> dict[str, Any]:
    """All but the lengths: float64 arrays and plain numbers, by the names of the fields."""
    size, depots = len(order), len(view.starts)
    features = problem.features
    if (features.capacity, True) != (view.capacitated, view.penalised):
        features = replace(
            features,
            capacity=view.capacitated,
            prize_collecting=features.prize_collecting and view.penalised,
        )
    unit, unit_of_time = problem.unit, problem.unit_of_time
    position = np.empty(problem.size, dtype=np.int64)
    position[order] = np.arange(size)
    ends = order if view.ends == view.starts else order_of(problem, view.ends)
    closing = as_limits(
        view.windows[ends, 1] - problem.day_start, problem.time_tolerance, unit_of_time
    )
    optional = np.isfinite(problem.penalty)[order]
    optional[position[list(view.must_visit)]] = False
    compulsory = ~optional
    compulsory[:depots] = False
    penalty = np.zeros(size)
    if view.penalised and not problem.maximise_prize and optional.any():
        optional[:depots] = False
        penalty[optional] = problem.penalty[order][optional] / unit
    partner = np.arange(size)
    is_pickup, is_delivery = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    if problem.pairs:
        pairs = position[np.array(problem.pairs)]  # (pairs, 2)
        first, second = pairs[:, 0], pairs[:, 1]
        partner[first], partner[second] = second, first
        is_pickup[first], is_delivery[second] = True, True
    prize = problem.prize[order]
    revealed = prize if problem.revealed_prize is None else problem.revealed_prize[order]
    # Counted from the first departure: float32 has no digits to spare for a date.
    opening = np.maximum(view.windows[order, 0] - problem.day_start, 0.0) / unit_of_time
    return {
        "unit": float(unit),
        "num_depots": depots,
        "demand": view.demand[order],
        "capacity": float(view.capacity),
        "load_tolerance": float(view.load_tolerance),
        "load_rule": PAIRED_LOAD if problem.pairs else LOAD_RULE_CODES[problem.load_rule],
        "opening": opening,
        "closing": closing,
        "service": problem.service[order] / unit_of_time,
        "max_length": float(as_limits(view.max_length, problem.length_tolerance, unit)),
        "prize": prize,
        "revealed_prize": revealed,
        "penalty": penalty,
        "compulsory": compulsory,
        "min_prize": min(problem.min_prize, float(revealed[depots:].sum())),
        "partner": partner,
        "is_pickup": is_pickup,
        "is_delivery": is_delivery,
        "max_routes": view.max_routes or size + 1,
        "open_routes": view.open_routes,
        "backhaul_last": problem.backhaul_last,
        "several_routes": view.max_routes != 1,
        "has_depot": bool(problem.depots),
        "orienteering": problem.maximise_prize,
        "prize_collecting": features.prize_collecting,
        "backhaul": features.backhaul,
        "paired": bool(problem.pairs),
        "windowed": features.time_windows,
        "attributes": np.array(features.attributes, dtype=np.float64),
        "node_of": order,
    }


#: Fields with one number or flag for the whole instance.
SCALAR_FIELDS = tuple(
    field.name
    for field in fields(Instance)
    if field.name not in NODE_FIELDS
    and field.name not in ("distance", "duration", "num_depots", "partner", "attributes")
)

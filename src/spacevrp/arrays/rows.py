"""Facts about instances as padded arrays in float64: one row an instance, in the network's units.

Depots come first, then customers, then padding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from spacevrp.arrays.limits import TOLERANCE, Array, as_amounts, as_limits
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.features import Features
from spacevrp.problems.problem import Problem

# How goods share the vehicle. Pairs have a rule of their own: nothing is on board at the start.
LOAD_RULE_CODES = {"single": 0, "paper": 1, "separate": 2}
PAIRED_LOAD = 3
# Rows of a matrix that are copied at a time.
_ROWS = 1024
# Float32 holds sums of many such prizes.
_LARGEST_PRIZE = 1e30
# In units of distance. Nobody skips a customer at this price, and its square is a float32, too.
_LARGEST_PENALTY = 1e12


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
    refuse_route_rules(problem)
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


def refuse_route_rules(problem: Problem) -> None:
    """Refuse a problem with rules that arrays have no place for: they would be lost."""
    if problem.has_route_rules:
        raise UnsupportedError(
            f"a batch has no place for {problem.route_rules[0]}, received {problem.variant_name}"
        )


def order_of(problem: Problem, depots: tuple[int, ...]) -> Array:
    """The user's nodes in the order of the batch, (size,), with these nodes for depots."""
    if depots == problem.depots == tuple(range(len(depots))):
        return np.arange(problem.size)
    return np.array([*depots, *problem.customers], dtype=np.int64)


def is_in_order(order: Array) -> bool:
    """Whether the user's numbering has the depots first already."""
    return bool((order[1:] > order[:-1]).all())


def padded_rows(
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
        order if view.ends == view.starts else order_of(problem, view.ends)
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
    prize_unit = each(map(_prize_unit, problems))
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
        "prize": gathered(p.prize for p in problems) / prize_unit[:, None],
        "revealed_prize": gathered(map(_revealed, problems)) / prize_unit[:, None],
        "penalty": np.minimum(
            np.divide(penalty, unit[:, None], out=np.zeros_like(penalty), where=paid),
            _LARGEST_PENALTY,
        ),
        "compulsory": customers & ~optional,
        "min_prize": each(map(_required_prize, problems)) / prize_unit,
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


def _prize_unit(problem: Problem) -> float:
    """What prizes are told in: 1, unless float32 could not hold their sum."""
    largest = float(max(problem.prize.max(), _revealed(problem).max()))
    return largest if largest > _LARGEST_PRIZE else 1.0


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


def write_lengths(square: Array, problem: Problem, view: View, field: str, order: Array) -> None:
    """Fill a square (N, N) with distances or durations in units, the nodes in this order."""
    matrix = getattr(problem, field).matrix()
    unit = unit_of_lengths(problem, field)
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


def unit_of_lengths(problem: Problem, field: str) -> float:
    """The user's units in one unit of distances or durations."""
    return problem.unit if field == "distances" else problem.unit_of_time

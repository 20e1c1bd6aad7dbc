"""Reproducible instances: (variant, size, seed, index) names the same one on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacevrp.generators import recipe
from spacevrp.generators.stream import Streams
from spacevrp.problems.distances import Array, Metric
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.features import Features
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import Variant, parse_variant

# Matrices of this many bytes together are closed at a time, so that they stay in the cache.
_CHUNK_BYTES = 2**20
_LARGEST_SEED = 2**64 - 1
_LARGEST_INDEX = 2**32 - 1

# Key of the arrays -> field of Problem.
_SAME_NAMES = ("demand", "capacity", "max_length", "service", "prize", "penalty", "min_prize")
_FIELDS = {name: name for name in (*_SAME_NAMES, "revealed_prize")} | {"tw": "windows"}


def generate(
    variant: str | Variant, size: int = 100, count: int = 1, seed: int = 1, first: int = 0
) -> list[Problem]:
    """Random instances ``first`` to ``first + count - 1`` of a variant.

    Parameters
    ----------
    variant
        One of the 110 names, or the variant itself.
    size
        Number of customers (nodes, for the TSP); at least 4, and even for pickups and deliveries.
    count, seed, first
        How many, of which series, from which number on. Instance number i of a series is the
        same, bit by bit, on every machine and whatever else is generated beside it.
    """
    resolved = _as_variant(variant)
    arrays = generate_arrays(resolved, size, count, seed, first)
    return [
        _as_problem(
            resolved, arrays, position, f"{resolved.name}-n{size}-s{seed}-i{first + position}"
        )
        for position in range(count)
    ]


def generate_arrays(
    variant: str | Variant, size: int = 100, count: int = 1, seed: int = 1, first: int = 0
) -> dict[str, NDArray[Any]]:
    """The same instances as stacked arrays, under the keys of an ``.npz`` batch."""
    resolved = _as_variant(variant)
    features = resolved.features
    recipe.check_size(features, size)
    check_series(count, seed, first)
    streams = Streams.for_instances(resolved.name, size, seed, range(first, first + count))
    arrays: dict[str, NDArray[Any]] = {
        "variant": np.array(resolved.name),
        "num_depots": np.array(recipe.num_depots(features), dtype=np.int64),
    }
    if features.asymmetric:
        arrays["matrix"] = _draw_matrices(streams, features, size)
    else:
        arrays["coords"] = _draw_coordinates(streams, features, size)
    if features.capacity:
        arrays["demand"] = _draw_demand(streams, features, size)
        arrays["capacity"] = np.full(count, recipe.capacity(features, size))
    if features.length_limit:
        arrays["max_length"] = np.full(count, recipe.max_length(features, size))
    if features.time_windows:
        out, back = _ways(arrays, recipe.num_depots(features))
        arrays["tw"] = _draw_windows(streams, features, out, back)
        arrays["service"] = _with_depots(features, np.full((count, size), recipe.SERVICE))
    if features.orienteering:
        out, _ = _ways(arrays, recipe.num_depots(features))
        arrays["prize"] = _with_depots(features, _prizes_by_distance(out))
    if features.prize_collecting:
        _draw_prizes(arrays, streams, features, size)
    return arrays


# -------------------------------------------------------------------------------------- distances


def _draw_coordinates(streams: Streams, features: Features, size: int) -> Array:
    """Points in the unit square, (B, N, 2), with every customer in reach where that matters."""
    nodes, depots = recipe.num_nodes(features, size), recipe.num_depots(features)
    points = streams.uniform(nodes, 2)
    limit = recipe.reach_limit(features, size)
    # With a depot and a customer in opposite corners, windows may be out of reach by a hair.
    while limit < np.inf and len(beyond := _beyond({"coords": points}, depots, limit)):
        points[beyond] = streams.only(beyond).uniform(nodes, 2)
    return points


def _draw_matrices(streams: Streams, features: Features, size: int) -> Array:
    """Closed random matrices, (B, N, N), with every customer in reach where that matters."""
    nodes = recipe.num_nodes(features, size)
    chunk = max(1, _CHUNK_BYTES // (4 * nodes * nodes))
    matrices = np.empty((len(streams), nodes, nodes))
    for start in range(0, len(streams), chunk):
        some = streams.only(range(start, min(start + chunk, len(streams))))
        # One correctly rounded division, so that k / 10^6 is the double nearest to it.
        matrices[start : start + chunk] = _draw_closed(some, features, size) / recipe.MATRIX_SCALE
    return matrices


def _draw_closed(streams: Streams, features: Features, size: int) -> NDArray[np.int32]:
    """Closed matrices of whole numbers, (B, N, N); drawn again while a customer is out of reach."""
    nodes, depots = recipe.num_nodes(features, size), recipe.num_depots(features)
    matrices = _close(streams.whole(0, recipe.MATRIX_SCALE, nodes, nodes))
    limit = recipe.reach_limit(features, size) * recipe.MATRIX_SCALE
    # At worst (4 customers, 3 depots, a length limit) one draw in fifty will do.
    while limit < np.inf and len(beyond := _beyond({"matrix": matrices}, depots, limit)):
        some = streams.only(beyond)
        matrices[beyond] = _close(some.whole(0, recipe.MATRIX_SCALE, nodes, nodes))
    return matrices


def _close(matrices: NDArray[np.int64]) -> NDArray[np.int32]:
    """Shortest paths between all nodes, (B, N, N): the fixed point of the min-plus square."""
    # Sums of two entries are below 2^31, and 32-bit integers are compared twice as fast.
    closed = matrices.astype(np.int32)
    nodes = closed.shape[1]
    closed[:, range(nodes), range(nodes)] = 0
    detour = np.empty_like(closed)
    for node in range(nodes):
        np.add(closed[:, :, node, None], closed[:, node, None, :], out=detour)
        np.minimum(closed, detour, out=closed)
    return closed


def _ways(arrays: dict[str, NDArray[Any]], depots: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The longest ways from any depot to each customer, and back to any, (B, n) each."""
    if "matrix" in arrays:
        matrices = arrays["matrix"]
        return matrices[:, :depots, depots:].max(axis=1), matrices[:, depots:, :depots].max(axis=2)
    points = arrays["coords"]
    between = Metric().measure(points[:, :depots, None], points[:, None, depots:])  # (B, depots, n)
    longest = between.max(axis=1)
    return longest, longest


def _beyond(arrays: dict[str, NDArray[Any]], depots: int, limit: float) -> list[int]:
    """The instances in which the way out to some customer and back is longer than the limit."""
    out, back = _ways(arrays, depots)
    longest = (out + back).max(axis=1)  # (B,)
    return [int(position) for position in np.flatnonzero(longest > limit)]


# -------------------------------------------------------------------------------- what nodes have


def _with_depots(features: Features, of_customers: Array) -> Array:
    """(B, n) -> (B, N), with zeros for the depots in front."""
    return np.pad(of_customers, ((0, 0), (recipe.num_depots(features), 0)))


def _draw_demand(streams: Streams, features: Features, size: int) -> Array:
    lowest, above = recipe.SMALLEST_DEMAND, recipe.LARGEST_DEMAND + 1
    if features.pickup_delivery:
        goods = streams.whole(lowest, above, size // 2)
        demand = np.concatenate([-goods, goods], axis=1)
    else:
        demand = streams.whole(lowest, above, size)
        if features.backhaul:
            chosen = streams.subset(recipe.num_backhauls(size), size)
            demand = np.where(chosen, -demand, demand)
    return _with_depots(features, demand.astype(np.float64))


def _draw_windows(streams: Streams, features: Features, out: Array, back: Array) -> Array:
    """(B, N, 2): around a centre at which the service can start in time, whatever the depot."""
    size, horizon = out.shape[1], recipe.horizon(features)
    narrowest, widest = recipe.half_width(features)
    latest = horizon - back - recipe.SERVICE
    centre = out + streams.uniform(size) * (latest - out)
    half = narrowest + streams.uniform(size) * (widest - narrowest)
    opening = np.maximum(centre - half, 0.0)
    closing = np.minimum(centre + half, horizon)
    windows = np.empty((len(out), recipe.num_nodes(features, size), 2))
    windows[:] = [0.0, horizon]
    windows[:, recipe.num_depots(features) :] = np.stack([opening, closing], axis=-1)
    return windows


def _prizes_by_distance(out: Array) -> Array:
    """(B, n): from 0.01 near the depot to 1 for the customer furthest from it."""
    share = out / out.max(axis=1, keepdims=True)
    return np.asarray((1.0 + np.floor(recipe.PRIZE_STEPS * share)) / (1.0 + recipe.PRIZE_STEPS))


def _draw_prizes(
    arrays: dict[str, NDArray[Any]], streams: Streams, features: Features, size: int
) -> None:
    prize = streams.uniform(size) * recipe.largest_prize(size)
    penalty = streams.uniform(size) * recipe.largest_penalty(size)
    arrays["prize"] = _with_depots(features, prize)
    arrays["penalty"] = _with_depots(features, penalty)
    arrays["min_prize"] = np.full(len(streams), recipe.MIN_PRIZE)
    if features.stochastic_prizes:
        revealed = streams.uniform(size) * (2.0 * prize)
        arrays["revealed_prize"] = _with_depots(features, revealed)


# ---------------------------------------------------------------------- from arrays to problems


def _as_problem(
    variant: Variant, arrays: dict[str, NDArray[Any]], position: int, name: str
) -> Problem:
    features = variant.features
    depots = recipe.num_depots(features)
    fields: dict[str, Any] = {
        field: arrays[key][position] for key, field in _FIELDS.items() if key in arrays
    }
    if features.pickup_delivery:
        half = (len(arrays["coords" if "coords" in arrays else "matrix"][position]) - depots) // 2
        fields["pairs"] = tuple((node, node + half) for node in range(depots, depots + half))
    fields |= {"depots": range(depots), "variant": variant.name, "name": name}
    if features.asymmetric:
        return Problem.from_matrix(arrays["matrix"][position], **fields)
    return Problem.from_coordinates(arrays["coords"][position], **fields)


def _as_variant(variant: str | Variant) -> Variant:
    return variant if isinstance(variant, Variant) else parse_variant(variant)


def check_series(count: int, seed: int, first: int) -> None:
    """Refuse numbers that name no instances."""
    _check_number("count", count, 1, _LARGEST_INDEX)
    _check_number("seed", seed, 0, _LARGEST_SEED)
    _check_number("first", first, 0, _LARGEST_INDEX - count)


def _check_number(field: str, value: int, lowest: int, highest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise ProblemError(
            field, expected=f"a whole number from {lowest} to {highest}", received=repr(value)
        )

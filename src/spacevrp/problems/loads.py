"""Kinds of load: demand and capacity of the first, and of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from spacevrp.problems.conversion import Array, as_array, as_number, per_node, plain_array, show
from spacevrp.problems.errors import ProblemError


def read_loads(
    size: int, demand: Any, more_demand: Any, capacity: Any, more_capacity: Any
) -> tuple[Array, Array | None, tuple[float, ...]]:
    """Demand of the first kind (N,), of the others (N, D - 1), and D capacities.

    All kinds may be given at once, or split already.
    """
    first, more = split_demand(demand, size)
    of_one_kind = first is demand  # or split already
    if of_one_kind:
        more = as_more_demand(more_demand, size)
    kinds = 1 if more is None else 1 + more.shape[1]
    if capacity is None or (kinds == 1 and of_one_kind):
        capacity = as_number("capacity", capacity)
    further = as_more_capacity(more_capacity)
    if further and dimensions(capacity) == 0:
        capacity = (as_number("capacity", capacity), *further)
    capacities = as_capacities(capacity, kinds)
    assert capacities is not None  # there is one
    return per_node("demand", first, size, 0.0), more, capacities


def as_capacities(value: Any, kinds_of_load: int) -> tuple[float, ...] | None:
    """One number a kind of load; None stays. A single infinity stands for all of them."""
    if value is None:
        return None
    if dimensions(value) == 0:
        number = as_number("capacity", value)
        if kinds_of_load > 1 and number != np.inf:
            raise ProblemError(
                "capacity", f"{kinds_of_load} numbers, one a kind of load", show(value)
            )
        return (number,) * kinds_of_load
    listed = as_array("capacity", plain_array(value), absent=np.inf)
    if listed.shape != (kinds_of_load,) or np.isnan(listed).any():
        expected = f"{kinds_of_load} numbers, one a kind of load"
        if kinds_of_load == 1:
            expected = "one number (the demand is of one kind)"
        raise ProblemError("capacity", expected, show(value))
    return tuple(listed.tolist())


def split_demand(demand: Any, size: int) -> tuple[Any, Array | None]:
    """Demand of the first kind as it was given, and of the other kinds (N, D - 1) if any."""
    if dimensions(demand) != 2:
        return demand, None
    array = as_array("demand", plain_array(demand))
    if array.shape[0] != size or array.shape[1] == 0:
        expected = f"{size} numbers, or {size} rows with one number a kind of load"
        raise ProblemError("demand", expected, f"shape {array.shape}")
    return array[:, 0], as_more_demand(array[:, 1:], size)


def dimensions(values: Any) -> int:
    """How deep lists are nested; -1 for what has no regular shape."""
    try:
        return np.ndim(plain_array(values))
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return -1


def as_more_capacity(values: Any) -> tuple[float, ...]:
    """Capacities for the kinds of load beyond the first."""
    if values is None:
        return ()
    array = as_array("more_capacity", plain_array(values), absent=np.inf)
    if array.ndim != 1:
        raise ProblemError("more_capacity", "a list of numbers", show(values))
    return tuple(array.tolist())


def as_more_demand(values: Any, size: int) -> Array | None:
    """Demand of the kinds of load beyond the first, frozen, (N, D - 1); None where there are none.

    Whole columns of nothing are kinds of load, too.
    """
    if values is None:
        return None
    array = as_array("more_demand", plain_array(values))
    if array.ndim != 2 or array.shape[0] != size:
        raise ProblemError("more_demand", f"shape ({size}, kinds)", f"shape {array.shape}")
    if array.shape[1] == 0:
        return None
    array.setflags(write=False)
    return array

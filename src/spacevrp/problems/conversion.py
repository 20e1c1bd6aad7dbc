"""User values into plain numbers and arrays, or a :class:`ProblemError` that names the culprit.

NumPy and Python convert too willingly for this purpose: ``float("5")``, ``float(True)`` and
``np.array(["1", "2"], dtype=float)`` all succeed, and a mistake in the data goes unnoticed.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from reprlib import Repr
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spacevrp.problems.errors import ProblemError

Array = NDArray[np.float64]

# Beyond this, squares and sums overflow; infinity alone means "none" or "no limit".
LARGEST = 1e100
_NOT_NUMBERS = (str, bytes, bytearray, bool, np.bool_, complex)
# What foreign array types and odd objects raise when they cannot be converted.
_REFUSALS = (TypeError, ValueError, OverflowError, RuntimeError)
_LONGEST_SHOWN = 80


class NodeNumber(int):
    """The number of a node, and never an id that happens to be a number.

    What a problem holds is of this type, so that taking it from one problem to another, or filling
    it in again, does not look for ids again.
    """


class _Short(Repr):
    """Abbreviated values; Python itself refuses to print a whole number of thousands of digits."""

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if abs(x) < LARGEST else "a huge whole number"

    repr_NodeNumber = repr_int  # Repr goes by the name of the type


_SHORT = _Short()
_SHORT.maxstring = _SHORT.maxother = 60


def show(value: object) -> str:
    """The value for a message: one line, and short even where the value is a whole file."""
    text = " ".join(_SHORT.repr(value).split())
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def plain_array(values: Any) -> Any:
    """The array that a column or a frame of pandas or polars holds; anything else as it is."""
    return values.to_numpy() if hasattr(values, "to_numpy") else values


def as_array(field: str, values: ArrayLike | None, *, absent: float | None = None) -> Array:
    """A fresh float64 array; None entries become ``absent`` where that is given."""
    array = _convert(field, values, absent)
    overflowing = np.isfinite(array) & (np.abs(array) >= LARGEST)
    if overflowing.any():
        index = tuple(np.argwhere(overflowing)[0])
        expected = f"numbers below {LARGEST:g}, or inf"
        received = str(array[index])
        raise ProblemError(field, expected, received, node=int(index[0]) if index else None)
    return array


def _convert(field: str, values: ArrayLike | None, absent: float | None) -> Array:
    if np.ma.is_masked(values):
        raise ProblemError(field, "numbers only", "masked entries")
    try:
        raw = np.asarray(values)
        if raw.dtype.kind in "iuf":
            return _as_float64(field, raw)
        entries = np.asarray(values, dtype=object)
    except _REFUSALS as error:
        node = _odd_row(values)
        received = " ".join(str(error).split()) if node is None else show(values[node])  # type: ignore[index]
        raise ProblemError(field, "numbers in a regular shape", received, node) from None
    # Text, None or objects somewhere: one by one, to name the node.
    array = np.empty(entries.shape, dtype=np.float64)
    for index, entry in np.ndenumerate(entries):
        if entry is None and absent is not None:
            array[index] = absent
        else:
            array[index] = _as_float(field, entry, node=index[0] if index else None)
    return array


def _odd_row(values: object) -> int | None:
    """The first row of lists that is not as long as the first; None where there is none."""
    rows = values if isinstance(values, list | tuple) else ()
    lengths = [len(row) if isinstance(row, list | tuple) else -1 for row in rows]
    return next((row for row, length in enumerate(lengths) if length != lengths[0]), None)


def _as_float64(field: str, raw: NDArray[Any]) -> Array:
    """A copy; a long double beyond float64 is refused, as infinity would mean something else."""
    if raw.dtype.itemsize <= np.dtype(np.float64).itemsize:
        return np.array(raw, dtype=np.float64)
    with np.errstate(over="ignore"):
        array = np.array(raw, dtype=np.float64)
    if not np.array_equal(np.isinf(raw), np.isinf(array)):
        raise ProblemError(field, f"numbers below {LARGEST:g}, or inf", "a larger long double")
    return array


def per_node(field: str, values: Any, size: int, neutral: float) -> Array:
    """One number a node, frozen, (size,); the neutral one everywhere where nothing is given."""
    array = np.full(size, neutral) if values is None else as_array(field, plain_array(values))
    if array.shape != (size,):
        raise ProblemError(field, f"{size} numbers, one a node", f"shape {array.shape}")
    refuse_nodes(field, array, np.isnan(array), "a number")
    array.setflags(write=False)
    return array


def as_windows(values: Any, size: int) -> Array:
    """An opening and a closing a node, frozen, (size, 2)."""
    never = np.tile([0.0, np.inf], (size, 1))
    array = never if values is None else as_array("windows", plain_array(values))
    if array.shape != (size, 2):
        raise ProblemError("windows", f"shape ({size}, 2)", f"shape {array.shape}")
    for end in array.T:
        refuse_nodes("windows", end, np.isnan(end), "a number")
    array.setflags(write=False)
    return array


def refuse_nodes(
    field: str, values: Array, bad: NDArray[np.bool_] | np.bool_, expected: str
) -> None:
    """Raise for the first node whose value, or row of values, is bad."""
    if bad.any():
        node = int(np.argmax(bad))
        raise ProblemError(field, expected, str(values[node].tolist()), node=node)


def as_number(field: str, value: object) -> float:
    """One number, infinity allowed."""
    number = _as_float(field, value)
    if np.isnan(number) or LARGEST <= abs(number) < np.inf:
        expected = f"a number below {LARGEST:g}, or inf"
        raise ProblemError(field, expected, str(number))
    return number


def _as_float(field: str, value: object, node: int | None = None) -> float:
    if not isinstance(value, _NOT_NUMBERS):
        try:
            if np.ndim(value) == 0:  # type: ignore[arg-type]
                number = float(value)  # type: ignore[arg-type]
                if not np.isinf(number) or value == number:  # else a number beyond all floats
                    return number
        except _REFUSALS:
            pass
    raise ProblemError(field, "a number", show(value), node=node)


def as_whole(field: str, value: object, expected: str = "whole node numbers") -> int:
    """One whole number, of Python's or NumPy's integer types."""
    if isinstance(value, NodeNumber):
        return value
    if not isinstance(value, bool):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except _REFUSALS:
            pass
    raise ProblemError(field, expected, show(value))


def as_flag(field: str, value: object) -> bool:
    """True or False; the text "no" is neither."""
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(field, "True or False", show(value))
    return bool(value)


def as_depots(depots: object) -> tuple[int, ...]:
    """Node numbers from one number, several, or None for none."""
    if depots is None:
        return ()
    if isinstance(depots, int | np.integer):
        return (as_whole("depots", depots),)
    listed = as_list("depots", depots, "node numbers")
    return tuple(as_whole("depots", depot) for depot in listed)


def as_pairs(pairs: object) -> tuple[tuple[int, int], ...]:
    """(pickup, delivery) node numbers, or None for none."""
    if pairs is None:
        return ()
    expected = "(pickup, delivery) node numbers"
    resolved = []
    for pair in as_list("pairs", pairs, expected):
        nodes = as_list("pairs", pair, expected)
        if len(nodes) != 2:
            raise ProblemError("pairs", expected, show(pair))
        pickup, delivery = nodes
        resolved.append((as_whole("pairs", pickup), as_whole("pairs", delivery)))
    return tuple(resolved)


def as_list(field: str, values: object, expected: str) -> list[object]:
    """The entries of a list, tuple or array; a text has none, and those of a table no order."""
    if not isinstance(values, str | bytes | Mapping):
        try:
            return list(values)  # type: ignore[call-overload, no-any-return]
        except _REFUSALS:
            pass
    raise ProblemError(field, expected, show(values))


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
    except _REFUSALS:
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

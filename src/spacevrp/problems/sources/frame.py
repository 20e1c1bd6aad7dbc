"""A table of stops, one row a node: a pandas or polars data frame, or columns by name."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from spacevrp.problems.clock import holds_moments, is_absent
from spacevrp.problems.conversion import as_array, as_number, as_whole, plain_array, show
from spacevrp.problems.errors import ProblemError, UnsupportedError

# What a column may be called, in lower case and with _ for spaces; the first name is the field's.
COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "name"),
    "x": ("x",),
    "y": ("y",),
    "lon": ("lon", "lng", "longitude"),
    "lat": ("lat", "latitude"),
    "depot": ("depot", "is_depot"),
    "demand": ("demand",),
    "delivery": ("delivery",),
    "pickup": ("pickup",),
    "open": ("open", "earliest", "ready_time", "tw_start"),
    "close": ("close", "latest", "due_date", "due_time", "tw_end"),
    "service": ("service", "service_time"),
    "prize": ("prize",),
    "penalty": ("penalty",),
    "pickup_id": ("pickup_id",),
    # One value for the whole problem, written in one row or in several.
    "capacity": ("capacity",),
    "max_length": ("max_length",),
    "max_routes": ("max_routes", "vehicles"),
    "min_prize": ("min_prize",),
    "speed_kmh": ("speed_kmh",),
}
_ONE_VALUE = ("capacity", "max_length", "min_prize", "speed_kmh", "max_routes")
# A warning names so many columns, and counts the others.
_MOST_NAMED = 10
_YES_NO = {"yes": True, "true": True, "no": False, "false": False}


class ColumnWarning(UserWarning):
    """Columns that mean nothing here and are left out, by name."""


def is_frame(value: object) -> bool:
    """Whether this is a data frame, of pandas or polars."""
    return hasattr(value, "columns") and (hasattr(value, "iloc") or hasattr(value, "to_dicts"))


def fields_from_frame(frame: Any, columns: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Fields of a problem from the columns of a table, one row a node.

    Parameters
    ----------
    frame
        A data frame, or a table of columns, each a list of the same length.
    columns
        Field (such as ``demand``) -> the name of its column, where it is not called like the field.
    """
    held = _columns(frame)
    chosen = _choose(held, columns)
    size = len(next(iter(held.values()), ()))
    if size == 0:
        raise ProblemError("frame", expected="at least one row", received="none")
    table = {field: [_plain(entry) for entry in held[name]] for field, name in chosen.items()}
    for field, entries in table.items():
        if len(entries) != size:
            raise ProblemError(field, expected=f"{size} rows", received=str(len(entries)))
    fields = _read_places(table)
    if "id" in table:
        fields["ids"] = table["id"]
    if "depot" in table:
        fields["depots"] = [n for n, entry in enumerate(table["depot"]) if _flag(n, entry)]
    fields |= _read_demand(table)
    if "open" in table or "close" in table:
        fields["windows"] = _read_windows(table, size)
    for field, absent in (("service", 0.0), ("prize", 0.0), ("penalty", math.inf)):
        if field in table:
            fields[field] = _filled(table[field], absent)
    if "pickup_id" in table:
        fields["pairs"] = _read_pairs(table)
    for field in _ONE_VALUE:
        if field in table:
            value = _only_value(field, table[field])
            if value is not None:
                fields[field] = value
    return fields


def _columns(frame: Any) -> dict[str, Any]:
    if not isinstance(frame, Mapping) and not is_frame(frame):
        expected = "a data frame, or columns by name"
        raise ProblemError("frame", expected=expected, received=show(frame))
    names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            raise ProblemError("frame", expected="columns with names", received=show(name))
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ProblemError("frame", expected="each column once", received=f"{show(twice)} twice")
    return {name: _as_list(name, frame[name]) for name in names}


def _as_list(name: str, column: Any) -> list[Any]:
    for method in ("tolist", "to_list"):
        if hasattr(column, method):
            column = getattr(column, method)()
            break
    if isinstance(column, str | bytes) or not isinstance(column, list | tuple):
        where = name if name.isprintable() else show(name)
        raise ProblemError(where, expected="a column of values", received=show(column))
    return list(column)


def _choose(held: Mapping[str, Any], columns: Mapping[str, str] | None) -> dict[str, str]:
    """Field -> the column that holds it; what is left out is said."""
    chosen: dict[str, str] = {}
    for field, name in (columns or {}).items():
        if field not in COLUMNS:
            nearest = get_close_matches(str(field), COLUMNS, n=1, cutoff=0.0)[0]
            raise ProblemError(
                "columns", expected=f"fields such as {nearest}", received=show(field)
            )
        if name not in held:
            raise ProblemError(field, expected=f"a column {show(name)}", received="none")
        chosen[field] = name
    taken = set(chosen.values())
    left_out: list[str] = []
    for name in held:
        if name in taken:
            continue
        settled = "_".join(name.strip().lower().split())
        meant = next((f for f, names in COLUMNS.items() if settled in names), None)
        if meant is None:
            left_out.append(name)
        elif meant not in chosen:
            chosen[meant] = name
        elif columns is not None and meant in columns:
            left_out.append(name)
        else:
            raise ProblemError(
                meant, expected="one column", received=f"{show(chosen[meant])} and {show(name)}"
            )
    if left_out:
        named = ", ".join(show(name) for name in left_out[:_MOST_NAMED])
        more = len(left_out) - _MOST_NAMED
        named += f" and {more} more" if more > 0 else ""
        warnings.warn(f"columns left out: {named}", ColumnWarning, stacklevel=4)
    return chosen


def _plain(entry: Any) -> Any:
    """An entry of the table; whatever says nothing is None."""
    if type(entry).__name__ == "NAType" or is_absent(entry):
        return None
    return entry


def _read_places(table: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Coordinates; none where the table has none, because a matrix is given beside it."""
    for key, across, along in (("lonlat", "lon", "lat"), ("coordinates", "x", "y")):
        if across in table or along in table:
            if across not in table or along not in table:
                missing = along if across in table else across
                raise ProblemError(missing, expected="a column of its own", received="none")
            pairs = zip(table[across], table[along], strict=True)
            return {key: [list(pair) for pair in pairs]}
    return {}


def _flag(node: int, entry: Any) -> bool:
    if entry is None:
        return False
    settled = _YES_NO.get(entry.strip().lower(), entry) if isinstance(entry, str) else entry
    if np.ndim(settled) == 0 and settled in (0, 1):  # False and True, too
        return bool(settled)
    raise ProblemError("depot", node=node, expected="yes, no, or nothing", received=show(entry))


def _read_demand(table: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Signed demand, or deliveries and pickups in columns of their own."""
    parted = [field for field in ("delivery", "pickup") if field in table]
    if "demand" in table:
        if parted:
            raise ProblemError("demand", expected="nothing beside delivery", received="a column")
        return {"demand": _filled(table["demand"], 0.0)}
    if not parted:
        return {}
    size = len(table[parted[0]])
    amounts = {
        field: [
            _amount(field, node, entry)
            for node, entry in enumerate(table.get(field, [None] * size))
        ]
        for field in ("delivery", "pickup")
    }
    demand = []
    for node, (given, taken) in enumerate(zip(amounts["delivery"], amounts["pickup"], strict=True)):
        if given and taken:
            raise UnsupportedError(
                f"delivery, node {node}: delivery and pickup in one visit are not modelled here yet"
            )
        demand.append(given - taken)
    return {"demand": demand}


def _amount(field: str, node: int, entry: Any) -> float:
    amount = 0.0 if entry is None else as_number(field, entry)
    if amount < 0:
        raise ProblemError(field, node=node, expected="at least 0", received=show(entry))
    return amount


def _read_windows(table: Mapping[str, list[Any]], size: int) -> list[list[Any]]:
    """Rows of opening and closing; where a row says nothing, there is no limit."""
    openings = table.get("open", [None] * size)
    closings = table.get("close", [None] * size)
    windows = [list(window) for window in zip(openings, closings, strict=True)]
    if holds_moments(windows):
        return windows
    return [
        [0.0 if opening is None else opening, math.inf if closing is None else closing]
        for opening, closing in windows
    ]


def _read_pairs(table: Mapping[str, list[Any]]) -> list[tuple[int, int]]:
    """The row of a delivery names the id of its pickup."""
    if "id" not in table:
        raise ProblemError("pickup_id", expected="a column id beside it", received="none")
    node_of: dict[Hashable, int] = {}
    for node, entry in enumerate(table["id"]):
        try:
            node_of[entry] = node
        except TypeError:
            raise ProblemError(
                "ids", node=node, expected="a text or a number", received=show(entry)
            ) from None
    pairs = []
    for node, entry in enumerate(table["pickup_id"]):
        if entry is None:
            continue
        if not isinstance(entry, Hashable) or entry not in node_of:
            raise ProblemError("pickup_id", node=node, expected="an id", received=show(entry))
        pairs.append((node_of[entry], node))
    return pairs


def _only_value(field: str, entries: list[Any]) -> float | int | None:
    """The one value a column holds, empty rows aside."""
    values = [as_number(field, entry) for entry in entries if entry is not None]
    for value in values:
        if value != values[0]:
            raise ProblemError(
                field, expected="one value for all", received=f"{values[0]:g}, {value:g}"
            )
    if not values:
        return None
    number = values[0]
    if field == "max_routes":  # a column with gaps holds floats
        expected = "a whole number"
        return as_whole(field, int(number) if number.is_integer() else number, expected)
    return number


def _filled(entries: list[Any], absent: float) -> list[Any]:
    return [absent if entry is None else entry for entry in entries]


# -------------------------------------------------------------------------- matrices with labels


def labelled_matrix(
    field: str, matrix: Any, ids: Sequence[Hashable] | None
) -> tuple[Any, Sequence[Hashable] | None]:
    """The numbers of a square data frame in the order of the ids, and its labels as ids.

    Rows that are just counted have no labels. A missing value, which a frame of numbers holds as
    NaN, is an arc that is not there. Anything but a pandas frame is left as it is.
    """
    if not (is_frame(matrix) and hasattr(matrix, "index")):
        return matrix, ids
    rows, across = list(matrix.index), list(matrix.columns)
    values = as_array(field, plain_array(matrix), absent=math.nan)
    values = np.where(np.isnan(values), np.inf, values)
    if rows == across == list(range(len(rows))) and rows != ids:
        return values, ids
    order = rows if ids is None else list(ids)
    for axis, labels in (("rows", rows), ("columns", across)):
        if len(set(labels)) < len(labels) or set(labels) != set(order):
            raise ProblemError(
                field,
                expected=f"{axis} labelled with the {len(order)} ids, each once",
                received=show(labels),
            )
    place = {label: number for number, label in enumerate(rows)}
    column = {label: number for number, label in enumerate(across)}
    picked = values[[place[label] for label in order]][:, [column[label] for label in order]]
    return picked, order

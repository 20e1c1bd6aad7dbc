"""A table of stops, one row a node: a pandas or polars data frame, or columns by name."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.clock import holds_moments
from spacevrp.problems.conversion import (
    NodeNumber,
    as_array,
    as_number,
    as_whole,
    plain_array,
    show,
)
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.sources.columns import (
    BY_KIND,
    ONE_VALUE,
    YES_NO,
    cell_of,
    choose,
    is_frame,
    kinds_of,
    read_columns,
    whole_cell,
)
from spacevrp.problems.sources.columns import COLUMNS as COLUMNS
from spacevrp.problems.sources.columns import ColumnWarning as ColumnWarning
from spacevrp.problems.sources.skills import Skills, skills_of

# What an empty cell means.
_EMPTY_CELL = {"service": 0.0, "setup": 0.0, "release": None, "prize": 0.0, "penalty": math.inf}


def fields_from_frame(
    frame: Any, columns: Mapping[str, str | Sequence[str]] | None = None
) -> dict[str, Any]:
    """Fields of a problem from the columns of a table; see ``Problem.from_frame``."""
    held = read_columns(frame)
    chosen = choose(held, columns)
    fields: dict[str, Any] = {"kinds": kinds_of(chosen)}  # for the vehicles, as skills are
    size = len(next(iter(held.values()), ()))
    if size == 0:
        raise ProblemError("frame", "at least one row", "none")

    def entries(field: str, name: str) -> list[Any]:
        column = [cell_of(entry) for entry in held[name]] if name else [None] * size
        if len(column) != size:
            raise ProblemError(field, f"{size} rows", str(len(column)))
        return column

    read = {field: [entries(field, name) for name in names] for field, names in chosen.items()}
    table = {field: several[0] for field, several in read.items()}
    fields |= _read_places(table)
    if "id" in table:
        fields["ids"] = table["id"]
    if "depot" in table:
        fields["depots"] = [
            NodeNumber(n) for n, entry in enumerate(table["depot"]) if _flag(n, entry)
        ]
    fields |= _read_loads({field: read[field] for field in BY_KIND if field in read}, size)
    if "open" in table or "close" in table:
        fields["windows"] = _read_windows(table, size)
    for field, absent in _EMPTY_CELL.items():
        if field in table:
            fields[field] = _filled(table[field], absent)
    if "priority" in table:
        fields["priority"] = [whole_cell(entry) for entry in _filled(table["priority"], 0)]
    if "pickup_id" in table:
        fields["pairs"] = _read_pairs(table)
    fields["skills"] = _read_skills(table.get("skills", ()))  # of which vehicles make something
    for field in ONE_VALUE:
        if field in table:
            value = _only_value(field, table[field])
            if value is not None:
                fields[field] = value
    return fields


def _read_places(table: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Coordinates; none where the table has none, because a matrix is given beside it."""
    for key, across, along in (("lonlat", "lon", "lat"), ("coordinates", "x", "y")):
        if across in table or along in table:
            if across not in table or along not in table:
                missing = along if across in table else across
                raise ProblemError(missing, "a column of its own", "none")
            pairs = zip(table[across], table[along], strict=True)
            return {key: [list(pair) for pair in pairs]}
    return {}


def _flag(node: int, entry: Any) -> bool:
    if entry is None:
        return False
    resolved = YES_NO.get(entry.strip().lower(), entry) if isinstance(entry, str) else entry
    if np.ndim(resolved) == 0 and resolved in (0, 1):  # False and True, too
        return bool(resolved)
    raise ProblemError("depot", "yes, no, or nothing", show(entry), node=node)


def _read_loads(columns: Mapping[str, list[list[Any]]], size: int) -> dict[str, Any]:
    """Signed demand, or deliveries and pickups in columns of their own; and the capacity."""
    fields: dict[str, Any] = {}
    parted = [field for field in ("delivery", "pickup") if field in columns]
    if "demand" in columns:
        fields["demand"] = _by_node([_filled(column, 0.0) for column in columns["demand"]])
    elif parted:
        fields |= _parted(columns, size)
    if "capacity" in columns:
        held = [_only_value("capacity", column) for column in columns["capacity"]]
        limits = [math.inf if value is None else value for value in held]
        if len(held) > 1:
            fields["capacity"] = limits
        elif held[0] is not None:
            fields["capacity"] = limits[0]
    return fields


def _by_node(columns: list[list[Any]]) -> list[Any]:
    """One entry a node: a number or, with several kinds of load, one for each."""
    return columns[0] if len(columns) == 1 else [list(row) for row in zip(*columns, strict=True)]


def _parted(columns: Mapping[str, list[list[Any]]], size: int) -> dict[str, Any]:
    """Deliveries less pickups, of each kind of load; apart at nodes that have both."""
    kinds = {len(columns[field]) for field in ("delivery", "pickup") if field in columns}
    if len(kinds) > 1:
        expected = f"{len(columns['delivery'])} columns, as of delivery"
        raise ProblemError("pickup", expected, str(len(columns["pickup"])))
    nothing: list[list[Any]] = [[None] * size] * kinds.pop()
    given, taken = (
        [
            [_amount(field, node, entry) for node, entry in enumerate(column)]
            for column in columns.get(field, nothing)
        ]
        for field in ("delivery", "pickup")
    )
    both = [
        any(column[node] for column in given) and any(column[node] for column in taken)
        for node in range(size)
    ]
    demand, pickup = [], []
    for out, back in zip(given, taken, strict=True):
        cells = list(zip(out, back, both, strict=True))
        demand.append([more if apart else more - less for more, less, apart in cells])
        pickup.append([less if apart else 0.0 for _, less, apart in cells])
    fields = {"demand": _by_node(demand)}
    return {**fields, "pickup": _by_node(pickup)} if any(both) else fields


def _amount(field: str, node: int, entry: Any) -> float:
    amount = 0.0 if entry is None else as_number(field, entry)
    if amount < 0:
        raise ProblemError(field, "at least 0", show(entry), node=node)
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


def _read_pairs(table: Mapping[str, list[Any]]) -> list[tuple[NodeNumber, NodeNumber]]:
    """The row of a delivery names the id of its pickup."""
    if "id" not in table:
        raise ProblemError("pickup_id", "a column id beside it", "none")
    node_of: dict[Hashable, int] = {}
    for node, entry in enumerate(table["id"]):
        try:
            node_of[entry] = node
        except TypeError:
            raise ProblemError("ids", "a text or a number", show(entry), node=node) from None
    pairs = []
    for node, entry in enumerate(table["pickup_id"]):
        if entry is None:
            continue
        if not isinstance(entry, Hashable) or entry not in node_of:
            raise ProblemError("pickup_id", "an id", show(entry), node=node)
        pairs.append((NodeNumber(node_of[entry]), NodeNumber(node)))
    return pairs


def _read_skills(entries: Sequence[Any]) -> list[Skills]:
    skills = []
    for node, entry in enumerate(entries):
        try:
            skills.append(skills_of(entry))
        except ProblemError as error:
            raise error.at("skills", node) from None
    return skills


def _only_value(field: str, entries: list[Any]) -> Any:
    """The one value a column holds, empty rows aside."""
    values: list[Any] = []
    for node, entry in enumerate(entries):
        if entry is None:
            continue
        try:
            values.append(entry if field == "time_unit" else as_number(field, entry))
            if field == "max_routes":
                values[-1] = as_whole(field, whole_cell(values[-1]), "a whole number")
            if values[-1] != values[0]:
                received = " and ".join(show(whole_cell(one)) for one in (values[0], values[-1]))
                raise ProblemError(field, "one value for all", received)
        except ProblemError as error:
            raise error.at(field, node) from None
    return values[0] if values else None


def _filled(entries: list[Any], absent: float | None) -> list[Any]:
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
                field, f"{axis} labelled with the {len(order)} ids, each once", show(labels)
            )
    place = {label: number for number, label in enumerate(rows)}
    column = {label: number for number, label in enumerate(across)}
    picked = values[[place[label] for label in order]][:, [column[label] for label in order]]
    return picked, order

"""A table of vehicles, one row a type: a data frame, or columns by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spacevrp.problems.conversion import show
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.fleet import KIND_OF, blame_vehicle
from spacevrp.problems.sources.columns import (
    YES_NO,
    cell_of,
    field_of,
    is_frame,
    normalised,
    read_columns,
    warn_of_columns,
    whole_cell,
    written_id,
)
from spacevrp.problems.sources.skills import skills_of

# What a column may be called, in lower case and with _ for spaces; the first name is the field's.
_OTHER_NAMES = {
    "name": ("id", "vehicle", "type"),
    "count": ("number", "available"),
    "start": ("depot",),
    "max_length": ("max_distance",),
    "open": ("earliest", "tw_start", "shift_start"),
    "close": ("latest", "tw_end", "shift_end"),
    "break": ("break_duration",),
    "break_open": ("break_start",),
    "break_close": ("break_end",),
    "reload_depots": ("reload_depot",),
}
# A column for each kind of load: capacity_kg.
_KIND = "capacity_"
# These have columns of their own instead, or none: they are of a single vehicle under way.
_NO_COLUMNS = ("window", "breaks", "service", "pinned", "on_board")
VEHICLE_COLUMNS = {
    field: (field, *_OTHER_NAMES.get(field, ()))
    for field in (*KIND_OF, "skills", "open", "close", "break", "break_open", "break_close")
    if field not in _NO_COLUMNS
}


def is_table(vehicles: object) -> bool:
    """Whether vehicles are given as a table, and not one by one."""
    if is_frame(vehicles):
        return True
    return isinstance(vehicles, Mapping) and any(
        isinstance(column, list) and KIND_OF.get(name) != "nodes"
        for name, column in vehicles.items()
    )


def vehicles_from_table(frame: Any, places: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The fields of a Vehicle for each row; an empty cell says nothing.

    Lists of nodes are texts with blanks or semicolons between their ids. Columns such as
    ``capacity_kg`` become a table kind of load -> capacity, for :func:`with_kinds_in_order`;
    ``skills`` are for :func:`~spacevrp.problems.sources.skills.without_unskilled`. ``places`` is
    where the rows stand in their file.
    """
    held = read_columns(frame)
    chosen: dict[str, str] = {}
    left_out = []
    for name in held:
        field = field_of(name, VEHICLE_COLUMNS)
        if field is None and normalised(name).startswith(_KIND):
            field = normalised(name)
        if field is None:
            left_out.append(name)
        elif field in chosen:
            received = f"{show(chosen[field])} and {show(name)}"
            raise ProblemError(f"vehicles, {field}", "one column", received)
        else:
            chosen[field] = name
    of_kinds = [name for field, name in chosen.items() if field.startswith(_KIND)]
    if of_kinds and "capacity" in chosen:
        received = f"{show(chosen['capacity'])} and {show(of_kinds[0])}"
        raise ProblemError("vehicles, capacity", "one column, or one a kind of load", received)
    warn_of_columns(left_out)
    size = len(next(iter(held.values()), ()))
    if size == 0:
        raise ProblemError("vehicles", "at least one row", "none")
    for name, column in held.items():
        if len(column) != size:
            raise ProblemError(f"vehicles, {show(name)}", f"{size} rows", str(len(column)))
    rows = []
    names: dict[str, int] = {}
    for number in range(size):
        cells = {field: cell_of(held[name][number]) for field, name in chosen.items()}
        try:
            rows.append(_vehicle(cells))
            called = rows[-1].get("name")
            if isinstance(called, str) and (first := names.setdefault(called, number)) != number:
                other = places[first] if places else f"type {first}"
                expected = f"a name of its own, {other} has the same"
                raise ProblemError("name", expected, show(called))
        except ProblemError as error:
            raise blame_vehicle(error, number) from None
    return rows


def with_kinds_in_order(vehicles: Any, kinds: Mapping[str, str] | None) -> Any:
    """The vehicles with their capacities in the order of the kinds of load.

    ``kinds`` has the column of the stops that each is in; where they have no names (None), the
    capacities stay in the order of their own columns.
    """
    if not isinstance(vehicles, list | tuple):
        return vehicles
    resolved = []
    for given in vehicles:
        held = given.get("capacity") if isinstance(given, Mapping) else None
        if isinstance(held, Mapping):
            if kinds is not None and set(held) != set(kinds):
                columns = ", ".join(map(show, kinds.values())) or "none"
                expected = f"a column for each load of the stops ({columns})"
                received = ", ".join(show(f"{_KIND}{kind}") for kind in held)
                raise ProblemError("vehicles, capacity", expected, received)
            given = {**given, "capacity": [held[kind] for kind in kinds or held]}
        resolved.append(given)
    return resolved


def _vehicle(cells: Mapping[str, Any]) -> dict[str, Any]:
    row = {field: value for field, value in cells.items() if value is not None}
    told: dict[str, Any] = {
        field: value
        for field, value in row.items()
        if field != "open" and not field.startswith(("break", "close", _KIND))
    }
    if any(field.startswith(_KIND) for field in row):
        told["capacity"] = {
            field.removeprefix(_KIND): math.inf if value is None else value
            for field, value in cells.items()
            if field.startswith(_KIND)
        }
    for field in told:
        kind = KIND_OF.get(field, field)
        if kind in _CONVERTERS:
            told[field] = _CONVERTERS[kind](told[field])
    if "open" in row or "close" in row:
        told["window"] = (row.get("open"), row.get("close"))
    pause = {name: row[name] for name in ("break", "break_open", "break_close") if name in row}
    if pause:
        if "break" not in pause:
            raise ProblemError("break", "a duration beside its window", "none")
        window = (pause.get("break_open"), pause.get("break_close"))
        told["breaks"] = [{"duration": pause["break"], "window": window}]
    return told


def _text(value: Any) -> Any:
    """A name; numbers are names, too."""
    value = whole_cell(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _node(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else whole_cell(value)


def _list(value: Any) -> Any:
    """Ids with blanks, commas or semicolons between them; whole numbers where they are numbers."""
    if not isinstance(value, str):
        return value if isinstance(value, list | tuple) else [_node(value)]
    texts = value.replace(";", " ").replace(",", " ").split()
    return [written_id(one) for one in texts]


def _flag(value: Any) -> Any:
    if isinstance(value, str):
        return YES_NO.get(value.strip().lower(), value)
    return bool(value) if isinstance(value, float) and value in (0.0, 1.0) else value


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    **{"text": _text, "whole": whole_cell, "node": _node, "nodes": _list, "flag": _flag},
    "skills": skills_of,
}

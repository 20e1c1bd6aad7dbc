"""A table of vehicles, one row a type: a data frame, or columns by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from spacevrp.problems.conversion import show
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.fleet import blame_vehicle
from spacevrp.problems.sources.columns import (
    ColumnWarning,
    cell_of,
    is_frame,
    normalised,
    read_columns,
)
from spacevrp.problems.warning import warn

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
_FIELDS = (
    *("name", "count", "capacity", "start", "end", "open_route", "fixed_cost"),
    *("unit_distance_cost", "unit_duration_cost", "max_length", "max_duration", "max_overtime"),
    *("overtime_cost", "max_stops", "speed_factor", "open", "close", "latest_start", "break"),
    *("break_open", "break_close", "allowed", "forbidden", "reload_depots", "max_reloads"),
)
VEHICLE_COLUMNS = {field: (field, *_OTHER_NAMES.get(field, ())) for field in _FIELDS}
_LISTS = ("allowed", "forbidden", "reload_depots")
_YES_NO = {"yes": True, "true": True, "no": False, "false": False, 1.0: True, 0.0: False}


def is_table(vehicles: object) -> bool:
    """Whether vehicles are given as a table, and not one by one."""
    if is_frame(vehicles):
        return True
    return isinstance(vehicles, Mapping) and any(
        isinstance(column, list) and name not in _LISTS for name, column in vehicles.items()
    )


def vehicles_from_table(frame: Any) -> list[dict[str, Any]]:
    """The fields of a Vehicle for each row; an empty cell says nothing.

    Lists of nodes are texts with blanks or semicolons between their ids. Columns such as
    ``capacity_kg`` are kinds of load, in the order in which they stand.
    """
    held = read_columns(frame)
    chosen: dict[str, list[str]] = {}
    left_out = []
    for name in held:
        resolved = normalised(name)
        field = next((one for one, names in VEHICLE_COLUMNS.items() if resolved in names), None)
        if field is None and resolved.startswith("capacity_"):
            field = "capacity"
        if field is None:
            left_out.append(name)
            continue
        if field in chosen and field != "capacity":
            received = f"{show(chosen[field][0])} and {show(name)}"
            raise ProblemError(f"vehicles, {field}", "one column", received)
        chosen.setdefault(field, []).append(name)
    if left_out:
        warn(f"columns left out: {', '.join(map(show, left_out[:10]))}", ColumnWarning)
    size = len(next(iter(held.values()), ()))
    if size == 0:
        raise ProblemError("vehicles", "at least one row", "none")
    for name, column in held.items():
        if len(column) != size:
            raise ProblemError(f"vehicles, {show(name)}", f"{size} rows", str(len(column)))
    rows = []
    for number in range(size):
        cells = {
            field: [cell_of(held[name][number]) for name in names]
            for field, names in chosen.items()
        }
        try:
            rows.append(_vehicle(cells))
        except ProblemError as error:
            raise blame_vehicle(error, number) from None
    return rows


def _vehicle(cells: Mapping[str, list[Any]]) -> dict[str, Any]:
    row = {field: values[0] for field, values in cells.items() if values[0] is not None}
    told: dict[str, Any] = {
        field: value for field, value in row.items() if not field.startswith(("break", "close"))
    }
    told.pop("open", None)
    if len(cells.get("capacity", ())) > 1:
        told["capacity"] = [math.inf if one is None else one for one in cells["capacity"]]
    for fields, convert in _CONVERTERS.items():
        for field in fields:
            if field in told:
                told[field] = convert(told[field])
    if "open_route" in told:
        flag = told["open_route"]
        flag = flag.strip().lower() if isinstance(flag, str) else flag
        told["open_route"] = _YES_NO.get(flag, flag) if isinstance(flag, str | float) else flag
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
    value = _whole(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _whole(value: Any) -> Any:
    """A column with gaps holds floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _node(value: Any) -> Any:
    value = value.strip() if isinstance(value, str) else value
    return _whole(value)


def _list(value: Any) -> Any:
    """Ids with blanks, commas or semicolons between them; whole numbers where they are numbers."""
    if not isinstance(value, str):
        return value if isinstance(value, list | tuple) else [_node(value)]
    texts = value.replace(";", " ").replace(",", " ").split()
    return [int(one) if one.isascii() and one.isdigit() and len(one) < 16 else one for one in texts]


_CONVERTERS: dict[tuple[str, ...], Callable[[Any], Any]] = {
    ("name",): _text,
    ("count", "max_stops", "max_reloads"): _whole,
    ("start", "end"): _node,
    _LISTS: _list,
}

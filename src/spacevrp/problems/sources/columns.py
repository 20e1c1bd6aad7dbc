"""Which column of a table is what: by its name, or by what the user says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.clock import is_absent
from spacevrp.problems.conversion import show
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.keywords import nearest
from spacevrp.problems.sources.entries import equal
from spacevrp.problems.warning import warn

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
    "setup": ("setup", "setup_time"),
    "release": ("release", "release_time"),
    "priority": ("priority",),
    "prize": ("prize",),
    "penalty": ("penalty",),
    "pickup_id": ("pickup_id",),
    "skills": ("skills",),
    # One value for the whole problem, written in one row or in several.
    "capacity": ("capacity",),
    "max_length": ("max_length",),
    "max_routes": ("max_routes", "vehicles"),
    "min_prize": ("min_prize",),
    "speed_kmh": ("speed_kmh",),
    "time_unit": ("time_unit",),
}
# Which they are; among columns by name, such a value may also stand alone.
ONE_VALUE = ("max_length", "max_routes", "min_prize", "speed_kmh", "time_unit")
# A column for each kind of load, where there are several.
BY_KIND = ("demand", "delivery", "pickup", "capacity")
# Of these a kind of load may be named behind the field: demand_kg, capacity_kg.
_KIND_IN_NAME = ("demand", "capacity")
_PLACES = (("lon", "lat"), ("x", "y"))
YES_NO = {"yes": True, "true": True, "1.0": True, "no": False, "false": False, "0.0": False}
# A warning names so many columns, and counts the others.
_MOST_NAMED = 10
_HINT = "; to use one: columns={FIELD: NAME}, or --column FIELD=NAME on the command line"


class ColumnWarning(UserWarning):
    """Columns that mean nothing here and are left out, by name."""


def written_id(text: str) -> int | str:
    """An id from text: a number where nothing of it is lost, as zeros in front and barcodes are."""
    exact = text.isascii() and text.isdigit() and len(text) < 16 and str(int(text)) == text
    return int(text) if exact else text


def is_frame(value: object) -> bool:
    """Whether this is a data frame, of pandas or polars."""
    return hasattr(value, "columns") and (hasattr(value, "iloc") or hasattr(value, "to_dicts"))


def has_places(table: Mapping[Any, Any]) -> bool:
    """Whether a table of keys has columns with places, and so is a table of stops."""
    meant = {field_of(name) for name in table if isinstance(name, str)}
    return any(meant.issuperset(pair) for pair in _PLACES)


def read_columns(frame: Any) -> dict[str, list[Any]]:
    """The columns by name; an index of pandas that is called like an id is one of them."""
    if not isinstance(frame, Mapping) and not is_frame(frame):
        expected = "a data frame, or columns by name"
        raise ProblemError("frame", expected, show(frame))
    names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            raise ProblemError("frame", "columns with names", show(name))
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ProblemError("frame", "each column once", f"{show(twice)} twice")
    # Among columns by name, the one value of the whole problem.
    alone = {
        name
        for name in (names if isinstance(frame, Mapping) else ())
        if field_of(name) in (*ONE_VALUE, "capacity")
        and isinstance(frame[name], str | int | float | np.generic)
    }
    held = {name: _as_list(name, frame[name]) for name in names if name not in alone}
    rest = [None] * (len(next(iter(held.values()), ())) - 1)
    held |= {name: [frame[name], *rest] for name in alone}
    index = None if isinstance(frame, Mapping) else getattr(frame, "index", None)
    label = getattr(index, "name", None)
    if isinstance(label, str) and field_of(label) == "id":
        rows = _as_list(label, index)
        if not equal(held.setdefault(label, rows), rows):
            received = f"{show(label)} twice, as a column and as the index, which differ"
            raise ProblemError("id", "one column", received)
    return held


def _as_list(name: str, column: Any) -> list[Any]:
    for method in ("tolist", "to_list"):
        if hasattr(column, method):
            column = getattr(column, method)()
            break
    if isinstance(column, str | bytes) or not isinstance(column, list | tuple):
        where = name if name.isprintable() else show(name)
        raise ProblemError(where, "a column of values", show(column))
    return list(column)


def normalised(name: str) -> str:
    """A name in lower case, with _ for spaces."""
    return "_".join(name.strip().lower().split())


def field_of(name: str, columns: Mapping[str, tuple[str, ...]] = COLUMNS) -> str | None:
    """The field that a column of this name holds."""
    resolved = normalised(name)
    return next((field for field, names in columns.items() if resolved in names), None)


def warn_of_columns(left_out: Sequence[str], hint: str = "") -> None:
    """Say which columns mean nothing here, where there are any."""
    if left_out:
        warn(f"columns left out: {_listed(left_out)}{hint}", ColumnWarning)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    named = ", ".join(show(name) for name in names[:_MOST_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def choose(
    held: Mapping[str, Any], columns: Mapping[str, str | Sequence[str]] | None
) -> dict[str, list[str]]:
    """Field -> the column that holds it, or one for each kind of load; what is left out is said."""
    said = _said(held, columns or {})
    chosen = {field: list(names) for field, names in said.items()}
    taken = {name for names in chosen.values() for name in names}
    kinds: dict[str, dict[str, str]] = {field: {} for field in _KIND_IN_NAME}
    left_out: list[str] = []
    for name in held:
        if name in taken:
            continue
        meant = field_of(name)
        field, _, kind = normalised(name).partition("_")
        if meant is None and field in _KIND_IN_NAME and kind:
            kinds[field][kind] = name
        elif meant is None or meant in said:
            left_out.append(name)
        elif meant not in chosen:
            chosen[meant] = [name]
        else:
            raise ProblemError(meant, "one column", f"{show(chosen[meant][0])} and {show(name)}")
    left_out += _add_kinds(chosen, kinds)
    left_out += _choose_places(chosen, said)
    warn_of_columns(left_out, _HINT)
    return chosen


def names_in(said: Any) -> list[Any]:
    """The names of columns that a user says of a field: one, or one for each kind of load."""
    return list(said) if isinstance(said, Sequence) and not isinstance(said, str) else [said]


def _said(
    held: Mapping[str, Any], columns: Mapping[str, str | Sequence[str]]
) -> dict[str, list[str]]:
    """The columns that the user names."""
    said = {}
    for field, names in columns.items():
        if field not in COLUMNS:
            raise ProblemError("columns", f"fields such as {nearest(field, COLUMNS)}", show(field))
        listed = names_in(names)
        if len(listed) != 1 and (field not in BY_KIND or not listed):
            raise ProblemError("columns", f"one column for {field}", show(listed))
        for name in listed:
            if not isinstance(name, str) or name not in held:
                raise ProblemError(
                    f"columns, {field}", f"a column {show(name)}", _listed(list(held))
                )
        said[field] = listed
    return said


def _add_kinds(chosen: dict[str, list[str]], kinds: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Add columns such as demand_kg and capacity_kg; the names of those that are left out."""
    demands, capacities = kinds["demand"], dict(kinds["capacity"])
    left_out: list[str] = []
    if "demand" in chosen:
        left_out += demands.values()  # demand_last_year, say
    elif demands:
        chosen["demand"] = list(demands.values())
    parted = chosen.get("delivery") or chosen.get("pickup")
    if parted and "demand" in chosen:
        received = _listed(chosen["demand"])
        raise ProblemError("demand", f"nothing beside {show(parted[0])}", received)
    named = list(kinds_of(chosen))
    if "capacity" in chosen or not set(capacities) & set(named):
        return [*left_out, *capacities.values()]
    chosen["capacity"] = [capacities.pop(kind, "") for kind in named]
    if capacities:
        kind, name = next(iter(capacities.items()))
        raise ProblemError("capacity", f"a column demand_{kind} beside it", show(name))
    return left_out


def kinds_of(chosen: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Kind of load, as the name of its column says it (kg, also of demand_kg) -> that column."""
    loads = chosen.get("demand") or chosen.get("delivery") or chosen.get("pickup") or ()
    return {normalised(name).removeprefix("demand_"): name for name in loads}


def _choose_places(chosen: dict[str, list[str]], said: Iterable[str]) -> list[str]:
    """Of degrees and a plane one counts: what the user names, else degrees; the others' names."""
    degrees, plane = _PLACES
    if not any(field in chosen for field in degrees) or not any(f in chosen for f in plane):
        return []
    wants_plane, wants_degrees = (any(f in said for f in pair) for pair in (plane, degrees))
    if wants_plane and wants_degrees:
        raise ProblemError("columns", "either x and y or lon and lat", "both")
    has_degrees = all(field in chosen for field in degrees)
    dropped = degrees if wants_plane or not (has_degrees or wants_degrees) else plane
    return [name for field in dropped for name in chosen.pop(field, [])]


def whole_cell(entry: Any) -> Any:
    """An entry, whole where it is a whole number: a column with gaps holds floats."""
    return int(entry) if isinstance(entry, float) and entry.is_integer() else entry


def cell_of(entry: Any) -> Any:
    """An entry of a table; whatever says nothing is None."""
    return None if type(entry).__name__ == "NAType" or is_absent(entry) else entry

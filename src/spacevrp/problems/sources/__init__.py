"""Problems as other programs state them: each module turns one kind of input into our fields.

A source returns keywords for ``Problem.from_coordinates``, ``from_lonlat`` or ``from_matrix`` (the
keys ``coordinates``, ``lonlat`` and ``matrix`` tell which). What our model of a problem cannot say
is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spacevrp.problems.conversion import show
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.keywords import refuse_not_modelled
from spacevrp.problems.sources.columns import has_places, is_frame
from spacevrp.problems.sources.frame import fields_from_frame
from spacevrp.problems.sources.ortools import ORTOOLS_KEYS, fields_from_ortools
from spacevrp.problems.sources.tables import fields_from_table, is_matrix_answer
from spacevrp.problems.sources.vroom import fields_from_vroom

_TABLES = ("durations", "distances")
_OWN = ("coordinates", "lonlat", "matrix")
# Kind -> its reader, which also takes the unit that durations are wanted in.
_READERS: dict[str, Callable[[Any, str], dict[str, Any]]] = {
    "vroom": lambda data, unit: fields_from_vroom(data, time_unit=unit),
    "ortools": lambda data, unit: fields_from_ortools(data),  # in the user's unit, whatever it is
    "table": lambda data, unit: fields_from_table(data, time_unit=unit),
    "columns": lambda data, unit: fields_from_frame(data),
}


def recognise(data: Mapping[str, Any]) -> str | None:
    """What a table of keys is: vroom, ortools, table, fields (our own names), columns, or None."""
    if "vehicles" in data and ("jobs" in data or "shipments" in data):
        return "vroom"
    if any(key in data for key in _OWN):
        return "fields"
    if any(key in data for key in ORTOOLS_KEYS):
        return "ortools"
    if is_matrix_answer(data) or any(key in data for key in _TABLES):
        return "table"
    return "columns" if has_places(data) else None


def fields_from_data(data: Any, time_unit: str = "s") -> dict[str, Any]:
    """Fields from whatever the data are: a table of keys, or a data frame.

    Durations that are known to be in seconds become those of the ``time_unit``.
    """
    if is_frame(data):
        return fields_from_frame(data)
    kind = recognise(data) if isinstance(data, Mapping) else None
    if kind == "fields":
        _check_own(data)
        return dict(data)
    if kind is None:
        raise ProblemError(
            "data",
            "coordinates, lonlat or a matrix; a data frame, or columns x and y; a VROOM "
            "problem; the data of an OR-Tools example; or the table of a routing engine",
            _describe(data),
        )
    return _READERS[kind](data, time_unit)


def _check_own(data: Mapping[str, Any]) -> None:
    if not all(isinstance(key, str) for key in data):
        raise ProblemError("data", "names of fields as keys", _describe(data))
    if "skills" in data:  # which are for tables
        refuse_not_modelled("data", "skills")
    given = [key for key in _OWN if key in data]
    if len(given) > 1:
        raise ProblemError("data", f"one of {_OWN}", " and ".join(given))


def _describe(data: object) -> str:
    if isinstance(data, Mapping):
        keys = ", ".join(show(key) for key in list(data)[:5])
        return f"a table with the keys {keys}" if keys else "an empty table"
    return f"a {type(data).__name__}"

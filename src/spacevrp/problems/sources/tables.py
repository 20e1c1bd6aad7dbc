"""Tables of travel times and distances as routing engines answer them.

OSRM's ``table``, openrouteservice's ``matrix``, Valhalla's ``sources_to_targets``, and Google's
Distance Matrix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from spacevrp.problems.clock import TIME_UNITS
from spacevrp.problems.conversion import as_array, show
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.sources.entries import equal, list_of, table_of
from spacevrp.problems.warning import IgnoredWarning, warn

# What a table is minimised by, and where each answer keeps it.
_MEASURES = ("distances", "durations")
_VALHALLA = {"distances": "distance", "durations": "time"}
# What else these answers have, which says nothing about the problem.
_BESIDE = (
    *("code", "message", "data_version", "waypoints", "sources", "destinations", "targets"),
    *("fallback_speed_cells", "metadata", "id", "units", "algorithm", "warnings"),
    *("shape_format", "locations", "status", "error"),
)
# Google's answer: measure -> where a cell keeps it, the first that is there.
_GOOGLE = {"distances": ("distance",), "durations": ("duration_in_traffic", "duration")}
_GOOGLE_BESIDE = ("rows", "origin_addresses", "destination_addresses", "status", "error_message")
_NO_ROAD = ("ZERO_RESULTS", "NOT_FOUND", "MAX_ROUTE_LENGTH_EXCEEDED")
# Two ends of the table lie at the same place, but for what a service cuts off the digits.
_SAME_PLACE = 1e-6


def fields_from_table(
    response: Mapping[str, Any], minimise: str | None = None, time_unit: str = "s"
) -> dict[str, Any]:
    """A matrix, durations and places from an answer, as it came; see ``Problem.from_table``.

    Distances keep their unit: metres, or Valhalla's kilometres or miles. All services answer in
    seconds, which become those of the ``time_unit``.
    """
    response = table_of("response", response)
    if minimise is not None and minimise not in _MEASURES:
        raise ProblemError("minimise", f"one of {_MEASURES}", show(minimise))
    _refuse_failure(response)
    known = (*_MEASURES, "sources_to_targets", *_BESIDE, *_GOOGLE_BESIDE)
    others = [key for key in response if key not in known]
    if others:
        named = ", ".join(map(show, others))
        text = f"response: no key of a routing engine's answer, left out: {named}"
        warn(f"{text} (give fields of the problem as keywords beside it)", IgnoredWarning)
    if "sources_to_targets" in response:
        tables, places = _read_valhalla(response)
    elif "rows" in response:
        tables, places = _read_google(response), None
    else:
        tables = {
            measure: response[measure] for measure in _MEASURES if response.get(measure) is not None
        }
        places = _read_places(response)
    if not tables:
        raise ProblemError("response", "durations or distances", "neither")
    chosen = minimise or next(iter(tables))
    if chosen not in tables:
        raise ProblemError("minimise", " or ".join(tables), chosen)
    read = {measure: _square(measure, tables[measure]) for measure in tables}
    if "durations" in read:
        read["durations"] = read["durations"] / TIME_UNITS[time_unit]
    fields: dict[str, Any] = {"matrix": read[chosen]}
    if chosen == "distances" and "durations" in read:
        fields["durations"] = read["durations"]
    if places is not None:
        fields |= {"places": places, "geographic": True}
    return fields


def is_matrix_answer(data: Mapping[str, Any]) -> bool:
    """Whether this is an answer of Valhalla or Google, whose tables have keys of their own."""
    return "sources_to_targets" in data or ("rows" in data and "origin_addresses" in data)


def _refuse_failure(response: Mapping[str, Any]) -> None:
    """An answer that says why there is none."""
    code = response.get("code")
    failed = code is not None and not equal(code, "Ok")
    status = response.get("status")
    if "rows" in response and status is not None and not equal(status, "OK"):
        failed, code = True, response.get("error_message", status)
    if failed or "error" in response:
        said = response.get("message", response.get("error", code))
        raise ProblemError("response", "a table", f"a failure: {show(said)}")


def _square(field: str, table: Any) -> Any:
    """The table, which must lead from every place to every place."""
    matrix = as_array(field, table, absent=math.inf)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        expected = "as many sources as destinations; ask the service for all of them"
        raise ProblemError(field, expected, f"shape {matrix.shape}")
    return matrix


def _read_places(response: Mapping[str, Any]) -> list[list[float]] | None:
    """Where the nodes lie, if the answer says so; its rows and columns must be the same places."""
    ends = {}
    for key in ("sources", "destinations"):
        listed = response.get(key)
        if listed is None:
            return None
        ends[key] = [_place(key, entry) for entry in list_of(key, listed)]
    sources, destinations = ends["sources"], ends["destinations"]
    if any(place is None for place in sources + destinations):
        return None
    if len(sources) != len(destinations):
        return None  # the shape of the table tells it better
    for node, (here, there) in enumerate(zip(sources, destinations, strict=True)):
        assert here is not None  # neither is, see above
        assert there is not None
        if max(abs(a - b) for a, b in zip(here, there, strict=True)) > _SAME_PLACE:
            raise ProblemError(
                "destinations", f"the place of source {node}, {here}", str(there), node=node
            )
    return sources  # type: ignore[return-value]


def _place(where: str, entry: Any) -> list[float] | None:
    """[longitude, latitude] of a waypoint, None where it was not found on the map."""
    if entry is None:
        return None
    location = table_of(where, entry).get("location")
    if location is None:
        return None
    pair = as_array(where, location)
    if pair.shape != (2,):
        raise ProblemError(where, "[longitude, latitude]", show(location))
    return [float(pair[0]), float(pair[1])]


# ---------------------------------------------------------------------------------- Valhalla


def _read_valhalla(response: Mapping[str, Any]) -> tuple[dict[str, Any], list[list[float]] | None]:
    """Its two layouts: rows of cells with time and distance, or two plain tables."""
    held = response["sources_to_targets"]
    if isinstance(held, Mapping):
        tables = {measure: held[measure] for measure in _MEASURES if held.get(measure) is not None}
    else:
        rows = [list_of("sources_to_targets", row) for row in list_of("sources_to_targets", held)]
        tables = {}
        for measure, key in _VALHALLA.items():
            table = [
                [_cell(row, column, cell, key) for column, cell in enumerate(cells)]
                for row, cells in enumerate(rows)
            ]
            if any(cell is not None for cells in table for cell in cells):
                tables[measure] = table
    return tables, _read_lat_lon(response)


def _cell(row: int, column: int, cell: Any, key: str) -> Any:
    where = f"sources_to_targets, row {row}, column {column}"
    cell = table_of(where, cell)
    for index, place in (("from_index", row), ("to_index", column)):
        if not equal(cell.get(index, place), place):
            raise ProblemError(where, f"{index} {place}", show(cell[index]))
    return cell.get(key)


def _read_lat_lon(response: Mapping[str, Any]) -> list[list[float]] | None:
    listed = response.get("sources")
    if listed is None:
        return None
    listed = list_of("sources", listed)
    if len(listed) == 1 and isinstance(listed[0], list | tuple):
        listed = listed[0]  # older versions wrap the places in one more list
    places = []
    for node, entry in enumerate(listed):
        entry = table_of("sources", entry)
        ends: Any = [entry.get("lon"), entry.get("lat")]
        pair = as_array("sources", ends, absent=math.nan)
        if not all(map(math.isfinite, pair)):
            raise ProblemError("sources", "lon and lat", show(entry), node=node)
        places.append([float(pair[0]), float(pair[1])])
    return places


# ------------------------------------------------------------------------------------------ Google


def _read_google(response: Mapping[str, Any]) -> dict[str, Any]:
    """Rows of elements, each with a status of its own; the time in traffic where it is there."""
    tables: dict[str, list[list[Any]]] = {measure: [] for measure in _GOOGLE}
    for number, row in enumerate(list_of("rows", response["rows"])):
        elements = list_of("elements", table_of("rows", row).get("elements"))
        cells = [_element(f"rows, {number}, {k}", one) for k, one in enumerate(elements)]
        for measure, of_measure in tables.items():
            of_measure.append([cell[measure] for cell in cells])
    return {
        measure: table
        for measure, table in tables.items()
        if any(cell is not None for row in table for cell in row)
    }


def _element(where: str, element: Any) -> dict[str, Any]:
    element = table_of(where, element)
    status = element.get("status", "OK")
    if status in _NO_ROAD if isinstance(status, str) else False:
        return dict.fromkeys(_GOOGLE)
    if not equal(status, "OK"):
        raise ProblemError(where, "a status OK", show(status))
    found: dict[str, Any] = {}
    for measure, keys in _GOOGLE.items():
        held = next((element[key] for key in keys if element.get(key) is not None), None)
        found[measure] = None if held is None else table_of(where, held).get("value")
    return found

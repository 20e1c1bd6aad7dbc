"""One instance as JSON: every field of a problem, each under its own name (docs/formats.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.building import build, measured, neutral_value, tabled
from spacevrp.formats.files import fail, shown, write_bytes
from spacevrp.formats.foreign import foreign_kind, read_foreign
from spacevrp.formats.instance_lonlat import lonlat_document
from spacevrp.formats.instance_relations import read_relations, relations_document
from spacevrp.formats.json_text import (
    as_json,
    list_at,
    named_nodes,
    parse_object,
    plain_value,
    refuse_odd,
    whole_at,
    write_value,
)
from spacevrp.problems.clock import Clock
from spacevrp.problems.constructors import FIRST_NODE, default_depots, warn_of_unit
from spacevrp.problems.distances import Distances, Metric
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.keywords import nearest
from spacevrp.problems.problem import Problem
from spacevrp.problems.relations import RELATIONS
from spacevrp.problems.variants import NEUTRAL_FLAGS, flags_of, parse_variant
from spacevrp.problems.vroom_names import as_vehicle_ids

FORMAT = "spacevrp-instance"
VERSION = 1

# Keys of the file are fields of Problem, which checks them as it checks those of Python's callers.
_FIELDS = (
    *("name", "variant", "depots", "demand", "capacity", "load_rule", "windows", "service"),
    *("max_length", "open_routes", "backhaul_last", "prize", "penalty", "min_prize"),
    *("revealed_prize", "maximise_prize", "pairs", "max_routes", "release", "setup"),
)
# What nodes and times are called, which is no part of the problem itself.
_LABELS = ("ids", "places", "geographic", "time_unit", "clock", "vehicle_ids")
_FLAGS = ("open_routes", "backhaul_last", "maximise_prize", "geographic", "open_route")
# Where null is no limit.
_LIMITS = ("capacity", "max_length", "max_duration", "penalty")
# What says where the nodes lie or how far they are apart; one of them is needed.
_WAYS = ("locations", "matrix", "coordinates", "lonlat")
_KEYS = (
    *("format", "version", *_WAYS, "speed_kmh", "durations", "metric"),
    *(*_FIELDS, "vehicles", "travel_times", *_LABELS, *RELATIONS),
)
_BY_NODE = (
    *("demand", "windows", "service", "prize", "penalty", "revealed_prize", "places"),
    *("release", "setup"),
)
# Lists in a list, at the most.
_DEEPEST = 3
# Fields of a vehicle that name nodes.
_NODES_OF_TYPE = (*("start", "end", "allowed", "forbidden", "pinned", "reload_depots", "on_board"),)
# No number of a node has more.
_MOST_DIGITS = 12
_BREAK_KEYS = ("duration", "window", "windows", "name")


# -------------------------------------------------------------------------- how values are read


def _read_value(path: Path, where: str, key: str, value: Any) -> Any:
    """What a problem takes for a value; null as infinity where it means no limit."""
    if key not in _FLAGS:
        by_node = key in _BY_NODE
        refuse_odd(path, where, value, _DEEPEST if by_node else _DEEPEST - 1, by_node=by_node)
    is_unsaid = value is None and key in _BY_NODE
    return _without_limit(value) if key in _LIMITS and not is_unsaid else value


def _without_limit(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_limit(entry) for entry in value]
    return math.inf if value is None else value


def _read_ids(path: Path, value: Any) -> Any:
    """Texts and whole numbers; a float would not be found again."""
    for node, entry in enumerate(value if isinstance(value, list) else ()):
        if not isinstance(entry, str):
            whole_at(path, f"ids, node {node}", entry)
    return value


def _read_clock(path: Path, value: Any) -> Clock | None:
    if value is None:
        return None
    table = _table_at(path, "clock", value, ("origin", "unit", "form"))
    origin = table.get("origin")
    try:
        if isinstance(origin, str):
            origin = datetime.fromisoformat(origin)
        return Clock(origin, **{key: table[key] for key in ("unit", "form") if key in table})  # type: ignore[arg-type]
    except (ProblemError, ValueError) as error:
        raise FormatError(f"{path}: clock: {shown(str(error))}") from None


def _read_metric(path: Path, where: str, value: Any) -> Metric:
    table = {"geometry": value} if isinstance(value, str) else value
    table = _table_at(path, where, table, ("geometry", "rounding"))
    try:
        return Metric(**table)
    except ProblemError as error:
        raise FormatError(f"{path}: {error}") from None


def _read_vehicles(path: Path, value: Any) -> list[Any] | None:
    """The types of vehicles; null for alike ones."""
    if value is None:
        return None
    return [
        {
            key: _read_of_type(path, f"vehicles, type {number}, {key}", key, held)
            for key, held in table.items()
        }
        if isinstance(table, dict)
        else table
        for number, table in enumerate(list_at(path, "vehicles", value))
    ]


def _read_of_type(path: Path, where: str, key: str, value: Any) -> Any:
    """A field of a type; its breaks are tables, and its service is one."""
    if key == "service" and isinstance(value, dict):
        for node, duration in value.items():
            refuse_odd(path, f"{where}, node {shown(node)}", duration, 0)
        # JSON's keys are texts, where nodes may be numbers.
        return [[_node_of_key(node), duration] for node, duration in value.items()]
    if key != "breaks" or value is None:
        return _read_value(path, where, key, value)
    breaks = []
    for number, one in enumerate(list_at(path, where, value), start=1):
        place = f"{where}, break {number}"
        table = _table_at(path, place, one, _BREAK_KEYS)
        for name, held in table.items():
            if name != "name":
                refuse_odd(path, f"{place}, {name}", held, _DEEPEST - 1)
        breaks.append(table)
    return breaks


def _node_of_key(key: str) -> int | str:
    """A node of a table: by its number where the key is one, else by its id."""
    return int(key) if key.isascii() and key.isdigit() and len(key) <= _MOST_DIGITS else key


def _read_travel_times(path: Path, value: Any) -> Any:
    """(moment, matrix) from tables with ``at`` and ``durations``."""
    if value is None:
        return ()
    times = []
    for number, one in enumerate(list_at(path, "travel_times", value)):
        where = f"travel_times, entry {number}"
        table = _table_at(path, where, one, ("at", "durations"))
        if set(table) != {"at", "durations"}:
            raise fail(path, where, "at and durations", as_json(sorted(table)))
        refuse_odd(path, f"{where}, at", table["at"], 0)
        matrix = list_at(path, f"{where}, durations", table["durations"])
        refuse_odd(path, f"{where}, durations", matrix, _DEEPEST, by_node=True)
        times.append((table["at"], matrix))
    return times


def _table_at(path: Path, where: str, value: Any, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        expected = f"{', '.join(known[:-1])} and {known[-1]}"
        raise fail(path, where, expected, as_json(value))
    _refuse_unknown(path, where, value, known)
    return value


def _refuse_unknown(path: Path, where: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            prefix = f"{where}, " if where else ""
            raise FormatError(
                f"{path}: {prefix}unknown key {shown(key)!r}; the nearest known one is "
                f"{nearest(key, known)!r}"
            )


# ---------------------------------------------------------------------------------------- reading


def read_json(
    path: str | Path,
    *,
    rounding: str | None = None,
    variant: str | None = None,
    time_unit: str | None = None,
) -> Problem:
    """The instance of a JSON file, ours or that of another program.

    ``time_unit`` is for the latter; ours says its own.
    """
    path = Path(path)
    return instance_of(
        path, parse_object(path), rounding=rounding, variant=variant, time_unit=time_unit
    )


def instance_of(
    path: Path,
    document: dict[str, Any],
    *,
    rounding: str | None = None,
    variant: str | None = None,
    time_unit: str | None = None,
) -> Problem:
    """The same of a document that is there already; ``path`` is what messages call it."""
    foreign = foreign_kind(document)
    if foreign is not None:
        return read_foreign(
            path, document, foreign, rounding=rounding, variant=variant, time_unit=time_unit
        )
    if time_unit is not None:
        raise UnsupportedError(
            f'{path}: time_unit {time_unit!r} applies to tables of stops; write "time_unit" into '
            f"the file"
        )
    if "instances" in document and not any(key in document for key in _WAYS):
        raise fail(path, "", "an instance", "a solution (it has 'instances')")
    _refuse_unknown(path, "", document, _KEYS)
    for key, only in (("format", FORMAT), ("version", VERSION)):
        held = document.get(key, only)
        if held != only or isinstance(held, bool):
            raise fail(path, key, repr(only), as_json(held))
    fields = {
        key: _read_value(path, key, key, document[key])
        for key in (*_FIELDS, *_LABELS)
        if key in document and key not in _READERS
    }
    fields |= {key: read(path, document[key]) for key, read in _READERS.items() if key in document}
    fields |= read_relations(path, document)
    make: Callable[..., Problem] = Problem
    if "lonlat" in document:
        make = Problem.from_lonlat
        fields |= _read_lonlat(path, document, rounding)
    else:
        fields["distances"] = _read_distances(path, "", document, rounding)
    if document.get("durations") is not None:
        held = document["durations"]
        nested = held if isinstance(held, dict) else {"matrix": held}
        _refuse_unknown(path, "durations", nested, ("locations", "matrix", "metric"))
        fields["durations"] = _read_distances(path, "durations", nested, None)
    fields.setdefault("name", path.stem)
    if "coordinates" in document:  # named and read as in Python, with node 0 as the depot
        fields.setdefault("depots", default_depots(FIRST_NODE, variant or fields.get("variant")))
    if make is Problem:  # which asks for nothing that its makers warn of
        warn_of_unit(fields)
    try:
        return build(path, fields, variant=variant, make=make)
    except FormatError as error:
        cause = error.__cause__
        lacks_depot = isinstance(cause, ProblemError) and "without a depot" in cause.expected
        if not lacks_depot or "depots" in document:
            raise
        raise FormatError(
            f'{error}; the file names no depot: write "depots": [0] for node 0'
        ) from cause


def _read_distances(
    path: Path, prefix: str, table: dict[str, Any], rounding: str | None
) -> Distances:
    def where(key: str) -> str:
        return f"{prefix}, {key}" if prefix else key

    def points(key: str) -> list[Any]:
        listed = list_at(path, where(key), table[key])
        refuse_odd(path, where(key), listed, _DEEPEST, by_node=True)
        return listed

    given = [key for key in _WAYS if key in table]
    if len(given) != 1:
        received = " and ".join(given) if given else "neither"
        raise fail(path, prefix, "either 'locations' or 'matrix'", received)
    if "speed_kmh" in table:
        raise fail(path, "speed_kmh", "nothing without lonlat", "a value")
    if "matrix" in table:
        if "metric" in table:
            raise fail(path, where("metric"), "nothing beside a matrix", "one")
        return tabled(path, points("matrix"), rounding, field=prefix or "matrix")
    metric = _read_metric(path, where("metric"), table["metric"]) if "metric" in table else Metric()
    return measured(path, points(given[0]), metric, rounding, field=where(given[0]))


def _read_lonlat(path: Path, document: dict[str, Any], rounding: str | None) -> dict[str, Any]:
    """Longitudes and latitudes, and the speed: what ``Problem.from_lonlat`` takes."""
    given = [key for key in (*_WAYS, "metric") if key in document]
    if given != ["lonlat"]:
        raise fail(path, "lonlat", "nothing beside it", " and ".join(given))
    if rounding is not None:
        raise UnsupportedError(
            f"{path}: rounding {rounding!r} does not apply to longitudes and latitudes"
        )
    given = [key for key in ("lonlat", "speed_kmh") if key in document]
    return {key: _read_value(path, key, key, document[key]) for key in given}


_READERS: dict[str, Callable[[Path, Any], Any]] = {
    "ids": _read_ids,
    "clock": _read_clock,
    "vehicle_ids": lambda path, value: value,
    "vehicles": _read_vehicles,
    "travel_times": _read_travel_times,
}


# ---------------------------------------------------------------------------------------- writing


def write_json(path: str | Path, problem: Problem) -> None:
    """Write one problem; reading the file gives an equal one."""
    document = instance_document(problem, Path(path))
    lines = [f"  {write_value(key)}: {write_value(value)}" for key, value in document.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    write_bytes(Path(path), text.encode("utf-8", errors="replace"))


def instance_document(
    problem: Problem, path: Path = Path("instance.json"), *, tables: bool = True
) -> dict[str, Any]:
    """The document of a problem, as plain values; ``path`` is what messages call it.

    Without ``tables``, those that follow from longitudes, latitudes and a speed are written so.
    """
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if problem.name:
        document["name"] = problem.name
    if problem.variant is not None:
        document["variant"] = problem.variant
    lonlat = None if tables else lonlat_document(problem)
    document |= _travel_document(problem) if lonlat is None else lonlat
    flags = NEUTRAL_FLAGS
    if problem.variant is not None:
        flags = flags_of(parse_variant(problem.variant).features)
    for key in _FIELDS:
        if key in ("name", "variant"):
            continue
        value = getattr(problem, key)
        absent = flags[key] if key in flags else neutral_value(problem, key)
        if value is None or absent is None:
            is_absent = value is absent
        else:
            is_absent = bool(np.array_equal(value, absent))
        if not is_absent:
            document[key] = plain_value(value)
    for key in ("depots", "pairs"):
        if key in document:
            document[key] = named_nodes(problem, getattr(problem, key))
    if problem.closed:
        document["windows"] = _windows_document(problem)
    if problem.kinds_of_load > 1:
        document["demand"] = plain_value(problem.loads)
        document["capacity"] = plain_value(problem.capacities)
    if problem.vehicles is not None:
        document["vehicles"] = [_vehicle_document(problem, one) for one in problem.vehicles]
    document |= relations_document(problem)
    labels = _labels_document(path, problem)
    if lonlat is not None:
        del labels["places"], labels["geographic"]
    return document | labels


def _windows_document(problem: Problem) -> list[Any]:
    """One window a node, or several where there are gaps."""
    windows = [[window] for window in problem.windows.tolist()]
    for node, begin, end in problem.closed:
        (opening, closing) = windows[node].pop()
        windows[node] += [[opening, begin], [end, closing]]
    plain: list[Any] = plain_value([one[0] if len(one) == 1 else one for one in windows])
    return plain


def _vehicle_document(problem: Problem, vehicle: Vehicle) -> dict[str, Any]:
    """What a type says of itself."""
    document: dict[str, Any] = {}
    for field in fields(Vehicle):
        value = getattr(vehicle, field.name)
        if value == field.default:
            continue
        if field.name == "capacity" and len(value) == 1:
            value = value[0]
        if field.name == "breaks":
            document["breaks"] = [
                {key: plain_value(getattr(one, key)) for key in ("duration", "windows")}
                | ({"name": one.name} if one.name else {})
                for one in value
            ]
            continue
        if field.name == "service":
            # A list of couples, as JSON has texts alone for keys.
            document["service"] = [
                [named_nodes(problem, n), plain_value(takes)] for n, takes in value
            ]
            continue
        is_node = field.name in _NODES_OF_TYPE
        document[field.name] = named_nodes(problem, value) if is_node else plain_value(value)
    return document


def _labels_document(path: Path, problem: Problem) -> dict[str, Any]:
    """What nodes and times are called, where anybody said so."""
    for node, one in enumerate(problem.ids or ()):
        if isinstance(one, bool) or not isinstance(one, str | int):
            held = "JSON holds texts and whole numbers"
            raise UnsupportedError(f"{path}: ids, node {node}: {held}, received {shown(one)}")
    labels = {
        "ids": None if problem.ids is None else list(problem.ids),
        "places": None if problem.places is None else plain_value(problem.places),
        "geographic": problem.geographic or None,
        "vehicle_ids": as_vehicle_ids(problem.vehicle_ids),
        "time_unit": None if problem.time_unit == "s" else problem.time_unit,
        "clock": None if problem.clock is None else _clock_document(problem.clock),
    }
    return {name: value for name, value in labels.items() if value is not None}


def _clock_document(clock: Clock) -> dict[str, Any]:
    dated = isinstance(clock.origin, datetime)
    origin = clock.origin.isoformat() if dated else plain_value(clock.origin)  # type: ignore[union-attr]
    return {"origin": origin, "unit": clock.unit, "form": clock.form}


def _travel_document(problem: Problem) -> dict[str, Any]:
    """How far nodes are apart, and how long it takes."""
    document = _distances_document(problem.distances)
    if problem.travel_times:
        document["travel_times"] = [
            {"at": plain_value(moment), "durations": plain_value(matrix)}
            for moment, matrix in problem.travel_times
        ]
    elif not problem.durations.same_as(problem.distances):
        durations = _distances_document(problem.durations)
        document["durations"] = durations.get("matrix", durations)
    return document


def _distances_document(distances: Distances) -> dict[str, Any]:
    if distances.coordinates is None:
        return {"matrix": plain_value(distances.matrix())}
    document: dict[str, Any] = {"locations": plain_value(distances.coordinates)}
    if distances.metric != Metric():
        metric = distances.metric
        document["metric"] = {"geometry": metric.geometry, "rounding": metric.rounding}
    return document

"""One instance as JSON: every field of a problem, each under its own name (docs/formats.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.building import (
    build,
    measured,
    neutral_value,
    same_distances,
    tabled,
)
from spacevrp.formats.files import fail, shown, write_bytes
from spacevrp.formats.foreign import foreign_kind, read_foreign
from spacevrp.formats.json_text import (
    as_json,
    flag_at,
    limit_at,
    list_at,
    number_at,
    parse_object,
    text_at,
    whole_at,
    write_value,
)
from spacevrp.formats.vehicles_json import (
    limits,
    node,
    nodes,
    read_vehicle_ids,
    read_vehicles,
    vehicle_document,
)
from spacevrp.problems.clock import Clock
from spacevrp.problems.constructors import FIRST_NODE, default_depots, warn_of_unit
from spacevrp.problems.distances import Distances, Metric
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError
from spacevrp.problems.implied import NEUTRAL_FLAGS, flags_of
from spacevrp.problems.labels import are_ids_numbers
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import parse_variant
from spacevrp.problems.vroom_names import as_vehicle_ids

FORMAT = "spacevrp-instance"
VERSION = 1

_Reader = Callable[[Path, str, Any], Any]


# ------------------------------------------------------------------------- how each field is read


def _id(path: Path, where: str, value: Any) -> str | int:
    if isinstance(value, str):
        return value
    return whole_at(path, where, value)


def _clock(path: Path, where: str, value: Any) -> Clock:
    if not isinstance(value, dict):
        raise fail(path, where, expected="origin, unit and form", received=as_json(value))
    _refuse_unknown(path, where, value, ("origin", "unit", "form"))
    origin = value.get("origin")
    try:
        if isinstance(origin, str):
            origin = datetime.fromisoformat(origin)
        return Clock(origin, **{key: value[key] for key in ("unit", "form") if key in value})  # type: ignore[arg-type]
    except (ProblemError, ValueError) as error:
        raise FormatError(f"{path}: {where}: {shown(str(error))}") from None


def _or_none(reader: _Reader) -> _Reader:
    return lambda path, where, value: None if value is None else reader(path, where, value)


def _per_node(entry: _Reader) -> _Reader:
    def read(path: Path, where: str, value: Any) -> list[Any]:
        return [
            entry(path, f"{where}, node {node}", item)
            for node, item in enumerate(list_at(path, where, value))
        ]

    return read


def _couple(first: _Reader, second: _Reader) -> _Reader:
    def read(path: Path, where: str, value: Any) -> tuple[Any, Any]:
        if not isinstance(value, list) or len(value) != 2:
            raise fail(path, where, expected="a list of two", received=as_json(value))
        return first(path, where, value[0]), second(path, where, value[1])

    return read


def _windows(path: Path, where: str, value: Any) -> Any:
    """Numbers and limits; or, where any of them is text, moments with null for no limit."""
    rows = [row for row in list_at(path, where, value) if isinstance(row, list)]
    if any(isinstance(end, str) for row in rows for end in row):
        moment = _or_none(text_at)
        return _per_node(_couple(moment, moment))(path, where, value)
    return _per_node(_couple(_or_none(number_at), limit_at))(path, where, value)


def _pair_list(path: Path, where: str, value: Any) -> list[tuple[int | str, int | str]]:
    couple = _couple(node, node)
    return [couple(path, where, pair) for pair in list_at(path, where, value)]


def _depots(path: Path, where: str, value: Any) -> list[int | str]:
    """Several nodes, or one that stands alone, as Python takes it, too."""
    return nodes(path, where, value if isinstance(value, list) else [value])


def _metric(path: Path, where: str, value: Any) -> Metric:
    if isinstance(value, str):  # the geometry alone
        value = {"geometry": value}
    if not isinstance(value, dict):
        raise fail(path, where, expected="geometry and rounding", received=as_json(value))
    _refuse_unknown(path, where, value, ("geometry", "rounding"))
    named = {key: text_at(path, f"{where}, {key}", name) for key, name in value.items()}
    try:
        return Metric(**named)
    except ProblemError as error:
        raise FormatError(f"{path}: {error}") from None


def _demand(path: Path, where: str, value: Any) -> Any:
    """A number a node or, where any of them is a list, one a kind of load."""
    if any(isinstance(row, list) for row in list_at(path, where, value)):
        rows = _per_node(_per_kind)(path, where, value)
        for node, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise fail(
                    path,
                    f"{where}, node {node}",
                    expected=f"{len(rows[0])} numbers as at node 0",
                    received=f"{len(row)}",
                )
        return rows
    return _per_node(number_at)(path, where, value)


def _per_kind(path: Path, where: str, value: Any) -> list[float]:
    return [number_at(path, where, amount) for amount in list_at(path, where, value)]


_locations = _per_node(_couple(number_at, number_at))
_matrix = _per_node(_per_node(limit_at))

# Key of the file (and field of Problem) -> how its value is read.
_FIELDS: dict[str, _Reader] = {
    "name": text_at,
    "variant": _or_none(text_at),
    "depots": _depots,
    "demand": _demand,
    "capacity": limits,
    "load_rule": text_at,
    "windows": _windows,
    "service": _per_node(number_at),
    "max_length": limit_at,
    "open_routes": flag_at,
    "backhaul_last": flag_at,
    "prize": _per_node(number_at),
    "penalty": _per_node(limit_at),
    "min_prize": number_at,
    "revealed_prize": _or_none(_per_node(number_at)),
    "maximise_prize": flag_at,
    "pairs": _pair_list,
    "max_routes": _or_none(whole_at),
}
# What nodes and times are called, which is no part of the problem itself.
_LABELS: dict[str, _Reader] = {
    "ids": _or_none(_per_node(_id)),
    "places": _or_none(_locations),
    "geographic": flag_at,
    "time_unit": text_at,
    "clock": _or_none(_clock),
    "vehicle_ids": read_vehicle_ids,
}
# What says where the nodes lie or how far they are apart; one of them is needed.
_WAYS = ("locations", "matrix", "coordinates", "lonlat")
_KEYS = (
    *("format", "version", *_WAYS, "speed_kmh", "durations", "metric"),
    *(*_FIELDS, "vehicles", *_LABELS),
)


def _refuse_unknown(path: Path, where: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            nearest = get_close_matches(key, known, n=1, cutoff=0.0)[0]
            prefix = f"{where}, " if where else ""
            raise FormatError(
                f"{path}: {prefix}unknown key {shown(key)!r}; the nearest known one is {nearest!r}"
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
    document = parse_object(path)
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
        raise fail(path, "", expected="an instance", received="a solution (it has 'instances')")
    _refuse_unknown(path, "", document, _KEYS)
    for key, only in (("format", FORMAT), ("version", VERSION)):
        held = document.get(key, only)
        if held != only or isinstance(held, bool):
            raise fail(path, key, expected=repr(only), received=as_json(held))
    fields = {
        key: reader(path, key, document[key])
        for key, reader in (_FIELDS | _LABELS).items()
        if key in document
    }
    if "vehicles" in document:
        fields["vehicles"] = read_vehicles(path, "vehicles", document["vehicles"])
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

    given = [key for key in _WAYS if key in table]
    if len(given) != 1:
        received = " and ".join(given) if given else "neither"
        raise fail(path, prefix, expected="either 'locations' or 'matrix'", received=received)
    if "speed_kmh" in table:
        raise fail(path, "speed_kmh", expected="nothing without lonlat", received="a value")
    if "matrix" in table:
        if "metric" in table:
            raise fail(path, where("metric"), expected="nothing beside a matrix", received="one")
        matrix = _matrix(path, where("matrix"), table["matrix"])
        return tabled(path, matrix, rounding, field=prefix or "matrix")
    metric = _metric(path, where("metric"), table["metric"]) if "metric" in table else Metric()
    points = _locations(path, where(given[0]), table[given[0]])
    return measured(path, np.array(points, dtype=np.float64), metric, rounding)


def _read_lonlat(path: Path, document: dict[str, Any], rounding: str | None) -> dict[str, Any]:
    """Longitudes and latitudes, and the speed: what ``Problem.from_lonlat`` takes."""
    given = [key for key in (*_WAYS, "metric") if key in document]
    if given != ["lonlat"]:
        raise fail(path, "lonlat", expected="nothing beside it", received=" and ".join(given))
    if rounding is not None:
        raise UnsupportedError(
            f"{path}: rounding {rounding!r} does not apply to longitudes and latitudes"
        )
    fields: dict[str, Any] = {"lonlat": _locations(path, "lonlat", document["lonlat"])}
    if document.get("speed_kmh") is not None:
        fields["speed_kmh"] = number_at(path, "speed_kmh", document["speed_kmh"])
    return fields


# ---------------------------------------------------------------------------------------- writing


def write_json(path: str | Path, problem: Problem) -> None:
    """Write one problem; reading the file gives an equal one."""
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if problem.name:
        document["name"] = problem.name
    if problem.variant is not None:
        document["variant"] = problem.variant
    document |= _distances_document(problem.distances)
    if not same_distances(problem.durations, problem.distances):
        durations = _distances_document(problem.durations)
        document["durations"] = durations.get("matrix", durations)
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
            document[key] = _plain(value)
    for key in ("depots", "pairs"):
        if key in document:
            document[key] = _named(problem, getattr(problem, key))
    if problem.kinds_of_load > 1:
        document["demand"] = _plain(problem.loads)
        document["capacity"] = _plain(problem.capacities)
    if problem.vehicles is not None:
        name_node = partial(_named, problem)
        document["vehicles"] = [
            {key: _plain(value) for key, value in vehicle_document(vehicle, name_node).items()}
            for vehicle in problem.vehicles
        ]
    document |= _labels_document(Path(path), problem)
    lines = [f"  {write_value(key)}: {write_value(value)}" for key, value in document.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    write_bytes(Path(path), text.encode("utf-8", errors="replace"))


def _named(problem: Problem, nodes: Any) -> Any:
    """Nodes as the file calls them: by their ids where a number would be taken for one."""
    if isinstance(nodes, tuple):
        return [_named(problem, one) for one in nodes]
    return problem.ids[nodes] if are_ids_numbers(problem.ids) else int(nodes)  # type: ignore[index]


def _labels_document(path: Path, problem: Problem) -> dict[str, Any]:
    """What nodes and times are called, where anybody said so."""
    document: dict[str, Any] = {}
    if problem.ids is not None:
        for node, one in enumerate(problem.ids):
            if isinstance(one, bool) or not isinstance(one, str | int):
                raise UnsupportedError(
                    f"{path}: ids, node {node}: JSON holds texts and whole numbers, received "
                    f"{shown(one)}"
                )
        document["ids"] = list(problem.ids)
    if problem.places is not None:
        document["places"] = _plain(problem.places)
    if problem.geographic:
        document["geographic"] = True
    vehicle_ids = as_vehicle_ids(problem.vehicle_ids)
    if vehicle_ids is not None:
        document["vehicle_ids"] = vehicle_ids
    if problem.time_unit != "s":
        document["time_unit"] = problem.time_unit
    if problem.clock is not None:
        clock = problem.clock
        origin = clock.origin
        document["clock"] = {
            "origin": origin.isoformat() if isinstance(origin, datetime) else _plain(origin),
            "unit": clock.unit,
            "form": clock.form,
        }
    return document


def _distances_document(distances: Distances) -> dict[str, Any]:
    if distances.coordinates is None:
        return {"matrix": _plain(distances.matrix())}
    document: dict[str, Any] = {"locations": _plain(distances.coordinates)}
    if distances.metric != Metric():
        metric = distances.metric
        document["metric"] = {"geometry": metric.geometry, "rounding": metric.rounding}
    return document


def _plain(value: Any) -> Any:
    """The value for JSON: infinity as null, whole numbers without a point, every float exactly."""
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        if math.isinf(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value

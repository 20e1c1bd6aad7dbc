"""One instance as JSON: every field of a problem, each under its own name (docs/formats.md).

:data:`FIELDS` says of each key what its value is made of; reading and writing follow from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.building import build, measured, neutral_value, tabled
from spacevrp.formats.files import fail, shown, write_bytes
from spacevrp.formats.foreign import foreign_kind, read_foreign
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
from spacevrp.problems.clock import TIME_UNITS, Clock, metres_per_unit
from spacevrp.problems.constructors import FIRST_NODE, default_depots, warn_of_unit
from spacevrp.problems.distances import Distances, Metric, great_circle
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError
from spacevrp.problems.fleet import KIND_OF, UNSAID, Break, Vehicle
from spacevrp.problems.keywords import nearest
from spacevrp.problems.objective import Objective
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import NEUTRAL_FLAGS, flags_of, parse_variant

FORMAT = "spacevrp-instance"
VERSION = 1


@dataclass(frozen=True)
class Field:
    """What the value of a key is made of; the problem itself checks it as it checks Python's.

    So many lists may lie in each other (-1 where nothing is looked at here), the outermost
    ``by_node`` with an entry for each node. ``null`` is what null stands for, in lists of a
    ``limit`` infinity. ``nodes`` are written by their ids where a number would be taken for one.
    """

    depth: int = 2
    by_node: bool = False
    limit: bool = False
    null: float | None = None
    nodes: bool = False

    def read(self, path: Path, where: str, value: Any) -> Any:
        """What a problem takes for a value."""
        if value is None:
            return self.null
        if self.depth >= 0:
            refuse_odd(path, where, value, self.depth, by_node=self.by_node)
        return _without_limit(value) if self.limit else value

    def write(self, problem: Problem, value: Any) -> Any:
        """The value as JSON has it."""
        return named_nodes(problem, value) if self.nodes else plain_value(value)


def _without_limit(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_limit(entry) for entry in value]
    return math.inf if value is None else value


_VALUE, _AS_IS, _NODES = Field(), Field(-1), Field(nodes=True)
_BY_NODE, _LIMIT = Field(3, by_node=True), Field(limit=True, null=math.inf)
_KINDS: dict[Field, str] = {
    _VALUE: "name variant load_rule min_prize max_routes pickup priority time_unit",
    _LIMIT: "capacity max_length",
    Field(limit=True): "max_ride",
    _BY_NODE: "demand windows service prize revealed_prize release setup places",
    Field(3, by_node=True, limit=True): "penalty",
    _NODES: "depots pairs same_route different_routes order",
    # Flags, and what has a reader and a writer of its own.
    _AS_IS: "open_routes backhaul_last maximise_prize lifo geographic "
    "vehicles travel_times groups objective ids vehicle_ids clock",
}
FIELDS = {key: field for field, keys in _KINDS.items() for key in keys.split()}
# The same of a type of vehicles, by what its fields are.
_BY_KIND = {"limit": _LIMIT, "node": _NODES, "nodes": _NODES, "flag": _AS_IS, "service": _BY_NODE}
_OF_TYPE = {key: _BY_KIND.get(kind, _VALUE) for key, kind in KIND_OF.items()}
# What says where the nodes lie or how far they are apart; one of them is needed.
_WAYS = ("locations", "matrix", "coordinates", "lonlat")
_KEYS = ("format", "version", *_WAYS, "speed_kmh", "durations", "metric", *FIELDS)
# No number of a node has more.
_MOST_DIGITS = 12
# Of a speed as it was written; what is beyond comes from dividing by it.
_SPEED_DIGITS = 12


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
    vehicles: list[dict[str, Any]] | None = None,
) -> Problem:
    """The same of a document that is there already; ``path`` is what messages call it.

    ``vehicles`` are for columns by name, whose loads and skills they refer to.
    """
    foreign = foreign_kind(document)
    if foreign is not None:
        if rounding is not None:
            held = "applies to coordinates, and the file holds a matrix"
            raise UnsupportedError(f"{path}: rounding {rounding!r} {held}")
        told: dict[str, Any] = {"time_unit": time_unit, "vehicles": vehicles}
        return read_foreign(path, foreign, document, variant, **told)
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
    given = {
        key: _READERS.get(key, field.read)(path, key, document[key])
        for key, field in FIELDS.items()
        if key in document
    }
    make: Callable[..., Problem] = Problem
    if "lonlat" in document:
        make = Problem.from_lonlat
        given |= _read_lonlat(path, document, rounding)
    else:
        given["distances"] = _read_distances(path, "", document, rounding)
    if document.get("durations") is not None:
        held = document["durations"]
        nested = held if isinstance(held, dict) else {"matrix": held}
        _refuse_unknown(path, "durations", nested, ("locations", "matrix", "metric"))
        given["durations"] = _read_distances(path, "durations", nested, None)
    given.setdefault("name", path.stem)
    if "coordinates" in document:  # named and read as in Python, with node 0 as the depot
        given.setdefault("depots", default_depots(FIRST_NODE, variant or given.get("variant")))
    if make is Problem:  # which asks for nothing that its makers warn of
        warn_of_unit(given)
    try:
        return build(path, given, variant=variant, make=make)
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

    def points(key: str) -> Any:
        return _BY_NODE.read(path, where(key), list_at(path, where(key), table[key]))

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


def _read_metric(path: Path, where: str, value: Any) -> Metric:
    table = {"geometry": value} if isinstance(value, str) else value
    try:
        return Metric(**_table_at(path, where, table, ("geometry", "rounding")))
    except ProblemError as error:
        raise FormatError(f"{path}: {error}") from None


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
    return {key: _VALUE.read(path, key, document[key]) for key in given}


def _read_ids(path: Path, where: str, value: Any) -> Any:
    """Texts and whole numbers; a float would not be found again."""
    for node, entry in enumerate(value if isinstance(value, list) else ()):
        if not isinstance(entry, str):
            whole_at(path, f"{where}, node {node}", entry)
    return value


def _read_clock(path: Path, where: str, value: Any) -> Clock | None:
    if value is None:
        return None
    table = {"origin": None} | _table_at(path, where, value, ("origin", "unit", "form"))
    try:
        if isinstance(table["origin"], str):
            table["origin"] = datetime.fromisoformat(table["origin"])
        return Clock(**table)
    except (ProblemError, ValueError) as error:
        raise FormatError(f"{path}: {where}: {shown(str(error))}") from None


def _read_vehicles(path: Path, where: str, value: Any) -> list[Any] | None:
    """The types of vehicles; null for alike ones."""
    if value is None:
        return None
    return [
        {
            key: _read_of_type(path, f"{where}, type {number}, {key}", key, held)
            for key, held in table.items()
        }
        if isinstance(table, dict)
        else table
        for number, table in enumerate(list_at(path, where, value))
    ]


def _read_of_type(path: Path, where: str, key: str, value: Any) -> Any:
    """A field of a type; its breaks are tables, and its service is one."""
    if key == "service" and isinstance(value, dict):
        for node, duration in value.items():
            refuse_odd(path, f"{where}, node {shown(node)}", duration, 0)
        # JSON's keys are texts, where nodes may be numbers.
        return [[_node_of_key(node), duration] for node, duration in value.items()]
    if key != "breaks" or value is None:
        return _OF_TYPE.get(key, _VALUE).read(path, where, value)
    known = tuple(one.name for one in fields(Break))
    breaks = []
    for number, one in enumerate(list_at(path, where, value), start=1):
        place = f"{where}, break {number}"
        breaks.append(_table_at(path, place, one, known))
        for name, held in breaks[-1].items():
            if name != "name":
                _VALUE.read(path, f"{place}, {name}", held)
    return breaks


def _node_of_key(key: str) -> int | str:
    """A node of a table: by its number where the key is one, else by its id."""
    return int(key) if key.isascii() and key.isdigit() and len(key) <= _MOST_DIGITS else key


def _read_travel_times(path: Path, where: str, value: Any) -> Any:
    """(moment, matrix) from tables with ``at`` and ``durations``."""
    times = []
    for number, one in enumerate(() if value is None else list_at(path, where, value)):
        place = f"{where}, entry {number}"
        table = _table_at(path, place, one, ("at", "durations"))
        if set(table) != {"at", "durations"}:
            raise fail(path, place, "at and durations", as_json(sorted(table)))
        refuse_odd(path, f"{place}, at", table["at"], 0)
        matrix = list_at(path, f"{place}, durations", table["durations"])
        times.append((table["at"], _BY_NODE.read(path, f"{place}, durations", matrix)))
    return times


def _read_groups(path: Path, where: str, value: Any) -> Any:
    for number, group in enumerate(() if value is None else list_at(path, where, value)):
        nodes = group.get("nodes", []) if isinstance(group, dict) else group
        refuse_odd(path, f"{where}, number {number}", nodes, depth=1)
    return value


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


_READERS: dict[str, Callable[[Path, str, Any], Any]] = {
    "ids": _read_ids,
    "clock": _read_clock,
    "vehicles": _read_vehicles,
    "travel_times": _read_travel_times,
    "groups": _read_groups,
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
    for node, one in enumerate(problem.ids or ()):
        if isinstance(one, bool) or not isinstance(one, str | int):
            held = "JSON holds texts and whole numbers"
            raise UnsupportedError(f"{path}: ids, node {node}: {held}, received {shown(one)}")
    lonlat = None if tables else lonlat_document(problem)
    travel = _travel_document(problem) if lonlat is None else lonlat
    flags = NEUTRAL_FLAGS
    if problem.variant is not None:
        flags = flags_of(parse_variant(problem.variant).features)
    of_all_kinds = {"demand": "loads", "capacity": "capacities"} if problem.more_capacity else {}
    told: dict[str, Any] = {}
    for key, field in FIELDS.items():
        value = getattr(problem, of_all_kinds.get(key, key))
        absent = flags[key] if key in flags else neutral_value(problem, key)
        if value is None or (absent is not None and np.array_equal(value, absent)):
            continue
        written = _WRITERS[key](problem) if key in _WRITERS else field.write(problem, value)
        if written is not None and written != []:
            told[key] = written
    if lonlat is not None:
        del told["places"], told["geographic"]
    head: dict[str, Any] = {key: told.pop(key) for key in ("name", "variant") if key in told}
    return {"format": FORMAT, "version": VERSION, **head, **travel, **told}


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
    for name, unsaid in UNSAID.items():
        value = getattr(vehicle, name)
        if value == unsaid:
            continue
        if name == "capacity" and len(value) == 1:
            value = value[0]
        if name == "breaks":
            document["breaks"] = [
                {key: plain_value(getattr(one, key)) for key in ("duration", "windows")}
                | ({"name": one.name} if one.name else {})
                for one in value
            ]
        elif name == "service":
            # A list of couples, as JSON has texts alone for keys.
            document["service"] = [
                [named_nodes(problem, n), plain_value(takes)] for n, takes in value
            ]
        else:
            document[name] = _OF_TYPE[name].write(problem, value)
    return document


def _objective_document(problem: Problem) -> dict[str, Any] | None:
    first, weights = problem.objective.first, problem.objective.weights
    plain = {term: plain_value(weight) for term, weight in weights}
    return None if problem.objective == Objective() else {"first": list(first), "weights": plain}


def _clock_document(problem: Problem) -> dict[str, Any]:
    clock = problem.clock
    assert clock is not None  # what is not there is not written
    dated = isinstance(clock.origin, datetime)
    origin = clock.origin.isoformat() if dated else plain_value(clock.origin)  # type: ignore[union-attr]
    return {"origin": origin, "unit": clock.unit, "form": clock.form}


# What is written in another form than it is held in; None where there is nothing to write.
_WRITERS: dict[str, Callable[[Problem], Any]] = {
    "windows": _windows_document,
    "vehicles": lambda p: [_vehicle_document(p, one) for one in p.vehicles or ()],
    "groups": lambda p: [
        {"nodes": named_nodes(p, one.nodes), "required": one.required} for one in p.groups
    ],
    "travel_times": lambda p: [
        {"at": plain_value(moment), "durations": plain_value(matrix)}
        for moment, matrix in p.travel_times
    ],
    "objective": _objective_document,
    "clock": _clock_document,
}


def _travel_document(problem: Problem) -> dict[str, Any]:
    """How far nodes are apart, and how long it takes."""
    document = _distances_document(problem.distances)
    if not problem.travel_times and not problem.durations.same_as(problem.distances):
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


def lonlat_document(problem: Problem) -> dict[str, Any] | None:
    """``lonlat`` and ``speed_kmh`` of a problem whose tables are exactly what follows from them.

    None for other problems: their tables say more.
    """
    if not problem.geographic or problem.places is None or problem.travel_times:
        return None
    metres = great_circle(problem.places)
    flies = problem.distances.coordinates is None
    if not flies or not np.array_equal(metres, problem.distances.matrix()):
        return None
    document: dict[str, Any] = {"lonlat": problem.places.tolist()}
    if problem.durations.same_as(problem.distances):
        return document
    durations = problem.durations.matrix()
    far = np.unravel_index(np.argmax(metres), metres.shape)
    if not durations[far] > 0:
        return None
    exact = metres[far] / durations[far] * 3.6 / TIME_UNITS[problem.time_unit]
    speed = float(f"{exact:.{_SPEED_DIGITS}g}")
    if not np.array_equal(metres / metres_per_unit(speed, problem.time_unit), durations):
        return None
    return document | {"speed_kmh": speed}

"""The types of vehicles of an instance in JSON: a list of tables (docs/formats.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from spacevrp.formats.files import fail, shown
from spacevrp.formats.json_text import as_json, list_at, number_at, whole_at
from spacevrp.problems.errors import FormatError
from spacevrp.problems.fleet import Vehicle

Reader = Callable[[Path, str, Any], Any]


def limits(path: Path, where: str, value: Any) -> Any:
    """A number, null for no limit, or a list of such, one a kind of load."""
    if isinstance(value, list):
        return [_limit(path, where, entry) for entry in value]
    return _limit(path, where, value)


def _limit(path: Path, where: str, value: Any) -> float:
    return math.inf if value is None else number_at(path, where, value)


def _text(path: Path, where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise fail(path, where, expected="a string", received=as_json(value))
    return value


def _flag(path: Path, where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise fail(path, where, expected="true or false", received=as_json(value))
    return value


def _count(path: Path, where: str, value: Any) -> int | None:
    return None if value is None else whole_at(path, where, value)


def _node(path: Path, where: str, value: Any) -> int | str:
    return value if isinstance(value, str) else whole_at(path, where, value)


def _nodes(path: Path, where: str, value: Any) -> list[int | str]:
    return [_node(path, where, node) for node in list_at(path, where, value)]


def _shift(path: Path, where: str, value: Any) -> list[Any]:
    ends = list_at(path, where, value)
    if len(ends) != 2:
        raise fail(path, where, expected="a list of two", received=as_json(value))
    return [
        end if end is None or isinstance(end, str) else number_at(path, where, end) for end in ends
    ]


_KEYS: dict[str, Reader] = {
    "name": _text,
    "count": _count,
    "capacity": limits,
    "start": _node,
    "end": _node,
    "open_route": _flag,
    "fixed_cost": number_at,
    "max_length": _limit,
    "window": _shift,
    "allowed": _nodes,
    "forbidden": _nodes,
    "pinned": _nodes,
}


def read_vehicles(path: Path, where: str, value: Any) -> list[dict[str, Any]] | None:
    """The types, each with the fields that its table holds; null for alike vehicles."""
    if value is None:
        return None
    types = []
    for number, table in enumerate(list_at(path, where, value)):
        place = f"{where}, type {number}"
        if not isinstance(table, dict):
            raise fail(path, place, expected="a table of keys", received=as_json(table))
        for key in table:
            if key not in _KEYS:
                nearest = get_close_matches(key, _KEYS, n=1, cutoff=0.0)[0]
                raise FormatError(
                    f"{path}: {place}, unknown key {shown(key)!r}; the nearest known one is "
                    f"{nearest!r}"
                )
        types.append({key: _KEYS[key](path, f"{place}, {key}", table[key]) for key in table})
    return types


def vehicle_document(vehicle: Vehicle) -> dict[str, Any]:
    """What a type says of itself; infinity is left for the writer to turn into null."""
    document: dict[str, Any] = {}
    for field in fields(Vehicle):
        value = getattr(vehicle, field.name)
        if value == field.default:
            continue
        if field.name == "capacity" and len(value) == 1:
            value = value[0]
        document[field.name] = value
    return document

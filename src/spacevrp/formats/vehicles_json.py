"""The types of vehicles of an instance in JSON: a list of tables (docs/formats.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from spacevrp.formats.files import fail, shown
from spacevrp.formats.json_text import (
    as_json,
    flag_at,
    limit_at,
    list_at,
    number_at,
    text_at,
    whole_at,
)
from spacevrp.problems.errors import FormatError
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.keywords import refuse_not_modelled

Reader = Callable[[Path, str, Any], Any]


def limits(path: Path, where: str, value: Any) -> Any:
    """A number, null for no limit, or a list of such, one a kind of load."""
    if isinstance(value, list):
        return [limit_at(path, where, entry) for entry in value]
    return limit_at(path, where, value)


def _count(path: Path, where: str, value: Any) -> int | None:
    return None if value is None else whole_at(path, where, value)


def node(path: Path, where: str, value: Any) -> int | str:
    """A node's number, or its id."""
    return value if isinstance(value, str) else whole_at(path, where, value)


def nodes(path: Path, where: str, value: Any) -> list[int | str]:
    """Numbers or ids of nodes."""
    return [node(path, where, entry) for entry in list_at(path, where, value)]


def read_vehicle_ids(path: Path, where: str, value: Any) -> dict[str, tuple[int | str, ...]] | None:
    """Name of a type -> what another program calls its vehicles."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise fail(path, where, "a table of lists", as_json(value))
    return {name: tuple(nodes(path, f"{where}, {shown(name)}", ids)) for name, ids in value.items()}


def _shift(path: Path, where: str, value: Any) -> list[Any]:
    ends = list_at(path, where, value)
    if len(ends) != 2:
        raise fail(path, where, "a list of two", as_json(value))
    return [
        end if end is None or isinstance(end, str) else number_at(path, where, end) for end in ends
    ]


_KEYS: dict[str, Reader] = {
    "name": text_at,
    "count": _count,
    "capacity": limits,
    "start": node,
    "end": node,
    "open_route": flag_at,
    "fixed_cost": number_at,
    "max_length": limit_at,
    "window": _shift,
    "allowed": nodes,
    "forbidden": nodes,
    "pinned": nodes,
}


def read_vehicles(path: Path, where: str, value: Any) -> list[dict[str, Any]] | None:
    """The types, each with the fields that its table holds; null for alike vehicles."""
    if value is None:
        return None
    types = []
    for number, table in enumerate(list_at(path, where, value)):
        place = f"{where}, type {number}"
        if not isinstance(table, dict):
            raise fail(path, place, "a table of keys", as_json(table))
        for key in table:
            if key not in _KEYS:
                refuse_not_modelled(f"{path}: {place}", key)
                nearest = get_close_matches(key, _KEYS, n=1, cutoff=0.0)[0]
                raise FormatError(
                    f"{path}: {place}, unknown key {shown(key)!r}; the nearest known one is "
                    f"{nearest!r}"
                )
        types.append({key: _KEYS[key](path, f"{place}, {key}", table[key]) for key in table})
    return types


def vehicle_document(vehicle: Vehicle, name_node: Callable[[int], Any]) -> dict[str, Any]:
    """What a type says of itself; infinity is left for the writer to turn into null.

    ``name_node`` says what a node is called in the file.
    """
    document: dict[str, Any] = {}
    for field in fields(Vehicle):
        value = getattr(vehicle, field.name)
        if value == field.default:
            continue
        if field.name == "capacity" and len(value) == 1:
            value = value[0]
        if _KEYS[field.name] is node:
            value = name_node(value)
        elif _KEYS[field.name] is nodes:
            value = [name_node(one) for one in value]
        document[field.name] = value
    return document

"""Vehicles that a file lists one by one, as a problem has them: alike, or in types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spacevrp.problems.fleet import Vehicle

# What a vehicle has of which a file says nothing.
_UNSAID = {"fixed_cost": 0.0, "unit_distance_cost": 1.0}
_LONGEST_NAME = 24


def fleet_fields(
    count: int | None, terms: Mapping[str, Any], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields of a Problem that say what its vehicles are; ``count`` is None for any number.

    ``terms`` has None, one value for all or a list with one for each by the field of a Vehicle;
    ``fields`` what is known of the problem: depots, demand, and windows where it has any. Where no
    window limits anything, a limit on the duration of a route is when its depot closes, or when the
    shift of its vehicle ends.
    """
    said = {
        term: value
        for term, value in terms.items()
        if value is not None and value != _UNSAID.get(term)
    }
    kinds = np.shape(fields["demand"])[1] if np.ndim(fields["demand"]) == 2 else 1
    if kinds > 1 and isinstance(said.get("capacity"), float):
        said["capacity"] = (said["capacity"],) * kinds
    if isinstance(lists := said.get("reload_depots"), list) and not any(lists):
        said.pop("reload_depots")
    if "reload_depots" not in said:
        said.pop("max_reloads", None)  # of none
    elif "max_reloads" in said:
        said["max_reloads"] = _whole(said["max_reloads"])
    closing = said.pop("max_duration", None) if "windows" not in fields else None
    differ = any(isinstance(value, list) for value in (*said.values(), closing))
    priced = any(term in said for term in ("fixed_cost", "unit_distance_cost", "max_duration"))
    if differ or priced or (closing is not None and fields.get("open_routes")):
        if isinstance(closing, list):
            said["window"] = [(0.0, limit) for limit in closing]
        elif closing is not None:
            said["window"] = (0.0, closing)
        return _types(count, said, fields["depots"])
    alike: dict[str, Any] = {"capacity": np.inf, **said, "max_routes": count}
    if closing is not None:
        size = len(fields["demand"])
        alike["windows"] = np.tile([0.0, np.inf], (size, 1))
        alike["windows"][list(fields["depots"])] = (0.0, closing)
    return alike


def _whole(value: Any) -> Any:
    """Numbers of times, as whole as they are."""
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if float(value).is_integer() else value


def _types(count: int | None, said: dict[str, Any], depots: tuple[int, ...]) -> dict[str, Any]:
    """Vehicles with the same terms are of one type; its name says which they are."""
    if len(depots) > 1:
        said.setdefault("start", depots[0])
    if not any(isinstance(value, list) for value in said.values()):
        return {"vehicles": [Vehicle(count=count, **said)]}
    total = max(len(value) for value in said.values() if isinstance(value, list))
    columns = [value if isinstance(value, list) else [value] * total for value in said.values()]
    types: dict[tuple[Any, ...], list[int]] = {}
    for number, row in enumerate(zip(*columns, strict=True), start=1):
        types.setdefault(row, []).append(number)
    ids = {_name(numbers): numbers for numbers in types.values()}
    vehicles = [
        Vehicle(name=name, count=len(numbers), **dict(zip(said, row, strict=True)))
        for (row, numbers), name in zip(types.items(), ids, strict=True)
    ]
    return {"vehicles": vehicles, "vehicle_ids": ids}


def _name(numbers: list[int]) -> str:
    """Such as ``1-4,7``; no two types have the same, as each begins with another number."""
    parts: list[str] = []
    first = last = numbers[0]
    for number in [*numbers[1:], 0]:
        if number != last + 1:
            parts.append(str(first) if first == last else f"{first}-{last}")
            first = number
        last = number
    text = ",".join(parts)
    return text if len(text) <= _LONGEST_NAME else f"{parts[0]},..."

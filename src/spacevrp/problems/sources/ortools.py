"""The data dictionary of OR-Tools' routing examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.conversion import (
    NodeNumber,
    as_array,
    as_depots,
    as_number,
    as_pairs,
    as_whole,
    show,
)
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.fleet import group_vehicles
from spacevrp.problems.labels import node_numbers
from spacevrp.problems.sources.entries import list_of, refuse_unknown, table_of

# Keys of which one at least tells such a dictionary from others.
ORTOOLS_KEYS = ("distance_matrix", "time_matrix", "num_vehicles", "vehicle_capacities")
_KNOWN = (
    *ORTOOLS_KEYS,
    *("locations", "depot", "starts", "ends", "demands", "vehicle_capacity"),
    *("time_windows", "service_time", "service_times", "pickups_deliveries"),
)


def fields_from_ortools(data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a problem from keys such as ``distance_matrix``, ``num_vehicles`` and ``depot``.

    What the examples put into code instead (a limit on distance, penalties of disjunctions) is
    given as keywords beside the dictionary.
    """
    data = table_of("data", data)
    refuse_unknown("data", data, _KNOWN)
    fields = _read_distances(data)
    fleet = data.get("num_vehicles")
    if fleet is not None:
        fleet = as_whole("num_vehicles", fleet, "a whole number")
    ends = _read_ends(data, fleet)
    capacities = _read_capacities(data, fleet)
    fields |= _read_vehicles(data, fleet, ends, capacities)
    if data.get("pickups_deliveries") is not None:
        key = "pickups_deliveries"
        pairs = as_pairs([list_of(key, pair) for pair in list_of(key, data[key])])
        fields["pairs"] = node_numbers(pairs)
    if data.get("demands") is not None:
        fields["demand"] = _read_demand(data, paired=bool(fields.get("pairs")))
    if data.get("time_windows") is not None:
        fields["windows"] = _read_windows(data, fields["depots"])
    for key in ("service_time", "service_times"):
        if data.get(key) is not None:
            fields["service"] = _read_service(key, data[key], fields)
    return fields


def _read_windows(data: Mapping[str, Any], depots: Sequence[int]) -> list[list[Any]]:
    """Windows; that of a depot, as in the examples, says when vehicles leave, not when they return.

    A vehicle that may leave until some moment may as well leave at the first and wait on the way:
    the end of that window forbids no plan.
    """
    windows = [
        list_of("time_windows", window) for window in list_of("time_windows", data["time_windows"])
    ]
    for depot in depots:
        if not 0 <= depot < len(windows) or len(windows[depot]) != 2:
            continue  # refused with the other fields
        opening, closing = (as_number("time_windows", end) for end in windows[depot])
        if opening > closing:
            raise ProblemError(
                "time_windows", "an end after the beginning", show(windows[depot]), node=int(depot)
            )
        windows[depot] = [opening, math.inf]
    return windows


def _read_distances(data: Mapping[str, Any]) -> dict[str, Any]:
    distance, time = data.get("distance_matrix"), data.get("time_matrix")
    if distance is not None:
        return {"matrix": distance} if time is None else {"matrix": distance, "durations": time}
    if time is not None:
        return {"matrix": time}
    if data.get("locations") is not None:
        return {"coordinates": data["locations"]}
    raise ProblemError("data", "distance_matrix, time_matrix or locations", "none of them")


def _read_ends(data: Mapping[str, Any], fleet: int | None) -> list[tuple[int, int]] | None:
    """(start, end) of each vehicle; None where there is one depot for all."""
    given = {key: data[key] for key in ("starts", "ends") if data.get(key) is not None}
    if not given:
        return None
    if data.get("depot") is not None:
        raise ProblemError("depot", "either depot or starts and ends", "both")
    if set(given) != {"starts", "ends"}:
        raise ProblemError("starts", "starts and ends", " ".join(given))
    nodes = {
        key: [as_whole(key, node) for node in list_of(key, listed)] for key, listed in given.items()
    }
    for key, listed in nodes.items():
        if not listed or len(listed) != (fleet or len(nodes["starts"])):
            expected = f"{fleet} nodes, " if fleet else ""
            received = f"{len(listed)} of them" if listed else "none"
            raise ProblemError(key, f"{expected}a node for each vehicle", received)
    return list(zip(nodes["starts"], nodes["ends"], strict=True))


def _read_vehicles(
    data: Mapping[str, Any],
    fleet: int | None,
    ends: list[tuple[int, int]] | None,
    capacities: list[float] | float | None,
) -> dict[str, Any]:
    """Depots and vehicles: alike ones as a number of routes, others as types."""
    alike: dict[str, Any] = {} if fleet is None else {"max_routes": fleet}
    if isinstance(capacities, float):
        alike["capacity"] = capacities
    elif capacities is not None:
        alike["capacity"] = capacities[0]
    one_place = ends is None or len({node for pair in ends for node in pair}) == 1
    mixed = isinstance(capacities, list) and any(c != capacities[0] for c in capacities)
    if one_place and not mixed:
        depots = as_depots(data.get("depot", 0)) if ends is None else (ends[0][0],)
        return {**alike, "depots": node_numbers(depots)}
    if ends is None:
        depots = as_depots(data.get("depot", 0))
        if len(depots) != 1:
            raise ProblemError("depot", "one, or starts and ends of vehicles", show(depots))
    else:
        depots = tuple(dict.fromkeys(node for pair in ends for node in pair))
    size = fleet or len(ends or ()) or len(capacities if isinstance(capacities, list) else ())
    places = ends or [(depots[0], depots[0])] * size
    rooms = capacities if isinstance(capacities, list) else [capacities] * size
    types = group_vehicles(
        {"start": NodeNumber(start), "end": NodeNumber(end), "capacity": room}
        for (start, end), room in zip(places, rooms, strict=True)
    )
    ids = {", ".join(map(str, numbers)): tuple(numbers) for _, numbers in types}  # as counted there
    vehicles = [
        {**one, "name": name, "count": len(numbers)}
        for (one, numbers), name in zip(types, ids, strict=True)
    ]
    return {"depots": node_numbers(depots), "vehicles": vehicles, "vehicle_ids": ids}


def _read_capacities(data: Mapping[str, Any], fleet: int | None) -> list[float] | float | None:
    """The capacity of each vehicle, one for all, or none."""
    if data.get("vehicle_capacities") is None:
        one = data.get("vehicle_capacity")
        return None if one is None else as_number("vehicle_capacity", one)
    listed = list_of("vehicle_capacities", data["vehicle_capacities"])
    if not listed or (fleet is not None and len(listed) != fleet):
        expected = "one for each vehicle" if fleet is None else f"{fleet}, one for each vehicle"
        raise ProblemError("vehicle_capacities", expected, f"{len(listed)} of them")
    return [as_number("vehicle_capacities", capacity) for capacity in listed]


def _read_demand(data: Mapping[str, Any], *, paired: bool) -> Any:
    """In OR-Tools a demand is what gets on board; ours is what leaves the vehicle."""
    demand = as_array("demands", data["demands"])
    if paired:
        return np.where(demand == 0.0, 0.0, -demand)
    if demand.ndim == 1 and (demand < 0).any():
        node = int(np.argmax(demand < 0))
        raise UnsupportedError(
            f"demands, node {node}: expected demands of at least 0 without pickups_deliveries, "
            f"received {demand[node]:g}"
        )
    return demand


def _read_service(key: str, value: Any, fields: Mapping[str, Any]) -> list[Any]:
    """One duration for all customers, or one a node."""
    if isinstance(value, list | tuple | np.ndarray | str | Mapping):
        return list_of(key, value)
    held = fields.get("matrix", fields.get("coordinates"))
    try:
        size = len(held)
    except TypeError:
        raise ProblemError(key, "a matrix or locations", show(held)) from None
    duration = as_number(key, value)
    return [0.0 if node in fields["depots"] else duration for node in range(size)]

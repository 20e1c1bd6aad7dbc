"""The data dictionary of OR-Tools' routing examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spacevrp.problems.conversion import as_array, as_depots, as_number, as_pairs, as_whole, show
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.sources.entries import all_alike, list_of, refuse_unknown, table_of

# Keys of which one at least tells such a dictionary from others.
ORTOOLS_KEYS = ("distance_matrix", "time_matrix", "num_vehicles", "vehicle_capacities")
_KNOWN = (
    *ORTOOLS_KEYS,
    "locations",
    "depot",
    "starts",
    "ends",
    "demands",
    "vehicle_capacity",
    "time_windows",
    "service_time",
    "service_times",
    "pickups_deliveries",
)


def fields_from_ortools(data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a problem from keys such as ``distance_matrix``, ``num_vehicles`` and ``depot``.

    What the examples put into code instead (a limit on distance, penalties of disjunctions) is
    given as keywords beside the dictionary.
    """
    data = table_of("data", data)
    refuse_unknown("data", data, _KNOWN)
    fields = _read_distances(data)
    fields["depots"] = _read_depots(data)
    fleet = _read_fleet(data)
    if fleet is not None:
        fields["max_routes"] = fleet
    if data.get("pickups_deliveries") is not None:
        pairs = as_pairs(
            [
                list_of("pickups_deliveries", p)
                for p in list_of("pickups_deliveries", data["pickups_deliveries"])
            ]
        )
        fields["pairs"] = pairs
    if data.get("demands") is not None:
        fields["demand"] = _read_demand(data, paired=bool(fields.get("pairs")))
    capacity = _read_capacity(data, fleet)
    if capacity is not None:
        fields["capacity"] = capacity
    if data.get("time_windows") is not None:
        windows = list_of("time_windows", data["time_windows"])
        fields["windows"] = [list_of("time_windows", window) for window in windows]
    for key in ("service_time", "service_times"):
        if data.get(key) is not None:
            fields["service"] = _read_service(key, data[key], fields)
    return fields


def _read_distances(data: Mapping[str, Any]) -> dict[str, Any]:
    distance, time = data.get("distance_matrix"), data.get("time_matrix")
    if distance is not None:
        return {"matrix": distance} if time is None else {"matrix": distance, "durations": time}
    if time is not None:
        return {"matrix": time}
    if data.get("locations") is not None:
        return {"coordinates": data["locations"]}
    raise ProblemError(
        "data", expected="distance_matrix, time_matrix or locations", received="none of them"
    )


def _read_depots(data: Mapping[str, Any]) -> tuple[int, ...]:
    ends = {key: data[key] for key in ("starts", "ends") if data.get(key) is not None}
    if not ends:
        return as_depots(data.get("depot", 0))
    if data.get("depot") is not None:
        raise ProblemError("depot", expected="either depot or starts and ends", received="both")
    if set(ends) != {"starts", "ends"}:
        raise ProblemError("starts", expected="starts and ends", received=" ".join(ends))
    nodes = [as_whole(key, node) for key, listed in ends.items() for node in list_of(key, listed)]
    if not nodes:
        raise ProblemError("starts", expected="a node for each vehicle", received="none")
    return (all_alike("starts and ends", nodes, "depot"),)


def _read_fleet(data: Mapping[str, Any]) -> int | None:
    number = data.get("num_vehicles")
    return None if number is None else as_whole("num_vehicles", number, "a whole number")


def _read_capacity(data: Mapping[str, Any], fleet: int | None) -> float | None:
    if data.get("vehicle_capacities") is None:
        one = data.get("vehicle_capacity")
        return None if one is None else as_number("vehicle_capacity", one)
    listed = list_of("vehicle_capacities", data["vehicle_capacities"])
    if not listed or (fleet is not None and len(listed) != fleet):
        raise ProblemError(
            "vehicle_capacities",
            expected="one for each vehicle" if fleet is None else f"{fleet}, one for each vehicle",
            received=f"{len(listed)} of them",
        )
    capacities = [as_number("vehicle_capacities", capacity) for capacity in listed]
    return float(all_alike("vehicle_capacities", capacities, "capacity"))


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
    if np.ndim(value) != 0 or isinstance(value, str | Mapping):
        return list_of(key, value)
    held = fields.get("matrix", fields.get("coordinates"))
    try:
        size = len(held)
    except TypeError:
        raise ProblemError(key, expected="a matrix or locations", received=show(held)) from None
    duration = as_number(key, value)
    return [0.0 if node in fields["depots"] else duration for node in range(size)]

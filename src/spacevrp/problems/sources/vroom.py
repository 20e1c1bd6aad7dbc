"""Problems in the JSON that VROOM reads, as far as all vehicles are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.clock import Clock
from spacevrp.problems.conversion import Array, as_array, as_number, as_whole, show
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.globe import great_circle
from spacevrp.problems.sources.entries import (
    all_alike,
    list_of,
    refuse_present,
    refuse_unknown,
    table_of,
)

_TOP = ("vehicles", "jobs", "shipments", "matrices", "matrix")
_TASK = ("id", "description", "location", "location_index", "service", "time_windows")
_TASK_REFUSED = ("setup", "setup_per_type", "service_per_type")
# Priorities say who is left out first; here nobody is.
_JOB = (*_TASK, *_TASK_REFUSED, "delivery", "pickup", "amount", "skills", "priority")
_SHIPMENT = ("pickup", "delivery", "amount", "skills", "priority")
_VEHICLE_REFUSED = ("breaks", "steps", "max_tasks")
# What must not differ from vehicle to vehicle, beside where they start and end.
_VEHICLE_ALIKE = (
    "profile",
    "capacity",
    "time_window",
    "speed_factor",
    "costs",
    "max_travel_time",
    "max_distance",
)
_VEHICLE = (
    *("id", "description", "type", "skills", "start", "start_index", "end", "end_index"),
    *_VEHICLE_ALIKE,
)
_NOT_MODELLED = "not modelled here yet"
_PER_HOUR = 3600.0


def fields_from_vroom(
    document: Mapping[str, Any], speed_kmh: float | None = None
) -> dict[str, Any]:
    """Fields of a problem; the cost is travel time, or what custom ``costs`` say.

    Parameters
    ----------
    document
        Jobs, shipments, vehicles and matrices. Times are numbers in any unit and with any origin.
    speed_kmh
        Where there is no matrix, and VROOM would ask a routing engine: travel as the crow flies at
        this speed.
    """
    document = table_of("document", document)
    refuse_unknown("document", document, _TOP)
    vehicles = [table_of("vehicles", v) for v in list_of("vehicles", document.get("vehicles"))]
    if not vehicles:
        raise ProblemError("vehicles", expected="at least one", received="none")
    tasks, pairs = _read_tasks(document)
    if not tasks:
        raise ProblemError("jobs", expected="at least one job or shipment", received="none")
    vehicle, is_open = _read_fleet(vehicles)
    _refuse_specialists(document, vehicles)
    stops = [_depot_task(vehicle), *tasks]
    fields = _read_travel(document, vehicle, stops, speed_kmh)
    fields |= {
        "depots": 0,
        "ids": _ids(stops),
        "max_routes": len(vehicles),
        "open_routes": is_open,
        "service": [stop["service"] for stop in stops],
        "load_rule": "separate",
    }
    if pairs:
        fields["pairs"] = pairs
    fields |= _read_loads(vehicle, stops)
    fields |= _read_windows(stops)
    return fields


# ---------------------------------------------------------------------------------------- vehicles


def _read_fleet(vehicles: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], bool]:
    """The one kind of vehicle there is, and whether routes are open."""
    for number, vehicle in enumerate(vehicles):
        where = f"vehicle {number}"
        refuse_present(where, vehicle, _VEHICLE_REFUSED, _NOT_MODELLED)
        refuse_unknown(where, vehicle, (*_VEHICLE, *_VEHICLE_REFUSED))
        costs = table_of(f"{where}, costs", vehicle.get("costs") or {})
        refuse_present(
            f"{where}, costs", costs, ("fixed", "per_km", "per_task_hour"), _NOT_MODELLED
        )
        if costs.get("per_hour", _PER_HOUR) != _PER_HOUR:
            raise UnsupportedError(f"{where}, costs, per_hour: {_NOT_MODELLED}")
    for key in (*_VEHICLE_ALIKE, "start", "start_index", "end", "end_index"):
        all_alike(f"vehicles, {key}", [vehicle.get(key) for vehicle in vehicles], key)
    first = vehicles[0]
    starts = first.get("start") is not None or first.get("start_index") is not None
    ends = first.get("end") is not None or first.get("end_index") is not None
    if not starts:
        raise UnsupportedError(f"vehicle 0, start: vehicles without one are {_NOT_MODELLED}")
    if ends and (
        first.get("start_index") != first.get("end_index")
        or (first.get("start_index") is None and first.get("start") != first.get("end"))
    ):
        raise UnsupportedError(f"vehicle 0, end: another place than start is {_NOT_MODELLED}")
    return first, not ends


def _refuse_specialists(document: Mapping[str, Any], vehicles: Sequence[Mapping[str, Any]]) -> None:
    """Skills mean nothing where every vehicle has all that any job asks for."""
    for kind in ("job", "shipment"):
        for number, task in enumerate(document.get(f"{kind}s") or []):
            where = f"{kind} {number}, skills"
            for skill in list_of(where, task.get("skills") or []):
                if any(skill not in list_of(where, v.get("skills") or []) for v in vehicles):
                    raise UnsupportedError(
                        f"{where}: jobs that not every vehicle can do are {_NOT_MODELLED}"
                    )


def _depot_task(vehicle: Mapping[str, Any]) -> dict[str, Any]:
    window = vehicle.get("time_window")
    return {
        "id": None,
        "where": "vehicle 0, start",
        "location": vehicle.get("start"),
        "index": vehicle.get("start_index"),
        "service": 0.0,
        "window": None if window is None else _window("vehicle 0, time_window", window),
        "demand": 0.0,
    }


# ------------------------------------------------------------------------------------------- tasks


def _read_tasks(
    document: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """Jobs, then the pickups and deliveries of shipments; numbered from 1, after the depot."""
    tasks = []
    for number, entry in enumerate(list_of("jobs", document.get("jobs") or [])):
        where = f"job {number}"
        job = table_of(where, entry)
        refuse_unknown(where, job, _JOB)
        delivered = _amount(f"{where}, delivery", job.get("delivery", job.get("amount")))
        collected = _amount(f"{where}, pickup", job.get("pickup"))
        if delivered and collected:
            raise UnsupportedError(f"{where}: delivery and pickup in one job are {_NOT_MODELLED}")
        tasks.append(_task(where, job, delivered - collected))
    pairs = []
    shipments = list_of("shipments", document.get("shipments") or [])
    if shipments and tasks:
        raise UnsupportedError(f"shipments: beside jobs they are {_NOT_MODELLED}")
    for number, entry in enumerate(shipments):
        where = f"shipment {number}"
        shipment = table_of(where, entry)
        refuse_unknown(where, shipment, _SHIPMENT)
        amount = _amount(f"{where}, amount", shipment.get("amount"))
        first = len(tasks) + 1
        for key, demand in (("pickup", -amount), ("delivery", amount)):
            step = table_of(f"{where}, {key}", shipment.get(key))
            refuse_unknown(f"{where}, {key}", step, (*_TASK, *_TASK_REFUSED))
            tasks.append(_task(f"{where}, {key}", step, demand))
        pairs.append((first, first + 1))
    return tasks, pairs


def _task(where: str, task: Mapping[str, Any], demand: float) -> dict[str, Any]:
    refuse_present(where, task, _TASK_REFUSED, _NOT_MODELLED)
    windows = list_of(f"{where}, time_windows", task.get("time_windows") or [])
    if len(windows) > 1:
        raise UnsupportedError(f"{where}, time_windows: more than one is {_NOT_MODELLED}")
    return {
        "id": as_whole(f"{where}, id", task.get("id"), "a whole number"),
        "where": where,
        "location": task.get("location"),
        "index": task.get("location_index"),
        "service": as_number(f"{where}, service", task.get("service") or 0.0),
        "window": _window(f"{where}, time_windows", windows[0]) if windows else None,
        "demand": demand,
    }


def _window(where: str, value: Any) -> Array:
    window = as_array(where, list_of(where, value))
    if window.shape != (2,):
        raise ProblemError(where, expected="[start, end]", received=show(value))
    return window


def _amount(where: str, value: Any) -> float:
    """One number; amounts of several kinds only where all but one are 0."""
    if value is None:
        return 0.0
    amounts = [as_number(where, amount) for amount in list_of(where, value)]
    if any(amount < 0 for amount in amounts):
        raise ProblemError(where, expected="amounts of at least 0", received=show(value))
    if len(amounts) > 1:
        raise UnsupportedError(f"{where}: amounts of several kinds are {_NOT_MODELLED}")
    return amounts[0] if amounts else 0.0


def _ids(stops: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The ids of the tasks, and for the depot one that no task has.

    The pickups and deliveries of shipments, like jobs, are numbered each on their own.
    """
    ids = [stop["id"] for stop in stops[1:]]
    if len(set(ids)) < len(ids):
        kinds = [stop["where"].rpartition(", ")[2] for stop in stops[1:]]
        ids = [
            f"{kind} {one}" if kind in ("pickup", "delivery") else one
            for kind, one in zip(kinds, ids, strict=True)
        ]
    return ["depot", *ids]


# ------------------------------------------------------------------------------- loads and windows


def _read_loads(vehicle: Mapping[str, Any], stops: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {"demand": [stop["demand"] for stop in stops]}
    if vehicle.get("capacity") is not None:
        capacity = _amount("vehicle 0, capacity", vehicle["capacity"])
        if capacity > 0:
            fields["capacity"] = capacity
        elif any(fields["demand"]):
            raise ProblemError("vehicle 0, capacity", expected="more than 0", received="0")
    return fields


def _read_windows(stops: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Windows counted from the earliest opening: absolute timestamps would cost digits."""
    given = [stop["window"] for stop in stops if stop["window"] is not None]
    if not given:
        return {}
    origin = min(float(window[0]) for window in given)
    rows = [[0.0, np.inf] if stop["window"] is None else stop["window"] - origin for stop in stops]
    fields: dict[str, Any] = {"windows": np.array(rows)}
    if origin != 0.0:
        fields["clock"] = Clock(origin, form="number")
    return fields


# ------------------------------------------------------------------------------------------ travel


def _read_travel(
    document: Mapping[str, Any],
    vehicle: Mapping[str, Any],
    stops: Sequence[Mapping[str, Any]],
    speed_kmh: float | None,
) -> dict[str, Any]:
    places = _read_places(stops)
    matrices = _read_matrices(document, vehicle)
    factor = as_number("vehicle 0, speed_factor", vehicle.get("speed_factor") or 1.0)
    if not 0 < factor < np.inf:
        raise ProblemError("vehicle 0, speed_factor", expected="more than 0", received=f"{factor}")
    if matrices is None:
        durations = _crow_flies(places, speed_kmh) / factor
        costs = None
    else:
        order = _indices(stops, len(matrices["durations"]))
        picked = {key: matrix[np.ix_(order, order)] for key, matrix in matrices.items()}
        durations = picked["durations"] / factor
        costs = picked.get("costs")
    fields: dict[str, Any] = {"matrix": durations}
    if costs is not None:
        fields = {"matrix": costs, "durations": durations}
    if places is not None:
        fields |= {"places": places, "geographic": True}
    fields |= _read_limits(vehicle, own_costs=costs is not None)
    return fields


def _read_places(stops: Sequence[Mapping[str, Any]]) -> list[list[float]] | None:
    places = []
    for stop in stops:
        if stop["location"] is None:
            return None
        pair = as_array(f"{stop['where']}, location", list_of(stop["where"], stop["location"]))
        if pair.shape != (2,):
            raise ProblemError(
                f"{stop['where']}, location",
                expected="[longitude, latitude]",
                received=show(stop["location"]),
            )
        places.append([float(pair[0]), float(pair[1])])
    return places


def _read_matrices(
    document: Mapping[str, Any], vehicle: Mapping[str, Any]
) -> dict[str, Array] | None:
    """The matrices of the vehicles' profile, None where a routing engine would be asked."""
    profile = vehicle.get("profile") or "car"
    tables: Mapping[str, Any]
    if document.get("matrix") is not None:  # before version 1.8
        tables, where = {"durations": document["matrix"]}, "matrix"
    elif document.get("matrices") is not None:
        profiles, where = table_of("matrices", document["matrices"]), f"matrices, {show(profile)}"
        if not isinstance(profile, str) or profile not in profiles:
            raise ProblemError("matrices", expected=f"profile {show(profile)}", received="none")
        tables = table_of(where, profiles[profile])
    else:
        return None
    refuse_unknown(where, tables, ("durations", "distances", "costs"))
    read = {
        key: as_array(f"{where}, {key}", table, absent=np.inf)
        for key, table in tables.items()
        if table is not None
    }
    if "durations" not in read:
        raise ProblemError(where, expected="durations", received="none")
    size = len(read["durations"]) if read["durations"].ndim else 0
    for key, matrix in read.items():
        if matrix.shape != (size, size) or not size:
            raise ProblemError(
                f"{where}, {key}", expected="a square matrix", received=f"shape {matrix.shape}"
            )
    return read


def _indices(stops: Sequence[Mapping[str, Any]], size: int) -> list[int]:
    rows = []
    for stop in stops:
        where = f"{stop['where']}, location_index"
        row = as_whole(where, stop["index"], f"a row of the matrix, 0 to {size - 1}")
        if not 0 <= row < size:
            raise ProblemError(where, expected=f"0 to {size - 1}", received=str(row))
        rows.append(row)
    return rows


def _crow_flies(places: list[list[float]] | None, speed_kmh: float | None) -> Array:
    if speed_kmh is None:
        raise ProblemError(
            "matrices",
            expected="durations between all places (VROOM would ask a routing engine for them), or "
            "speed_kmh to travel as the crow flies",
            received="neither",
        )
    speed = as_number("speed_kmh", speed_kmh)
    if not 0 < speed < np.inf:
        raise ProblemError("speed_kmh", expected="more than 0", received=str(speed))
    if places is None:
        raise ProblemError("location", expected="[longitude, latitude]", received="none")
    return great_circle(np.array(places)) / (speed / 3.6)


def _read_limits(vehicle: Mapping[str, Any], *, own_costs: bool) -> dict[str, Any]:
    """A limit on travel time is a limit on length where travel time is what is minimised."""
    if vehicle.get("max_distance") is not None:
        raise UnsupportedError(f"vehicle 0, max_distance: {_NOT_MODELLED}")
    limit = vehicle.get("max_travel_time")
    if limit is None:
        return {}
    if own_costs:
        raise UnsupportedError(f"vehicle 0, max_travel_time: beside costs {_NOT_MODELLED}")
    return {"max_length": as_number("vehicle 0, max_travel_time", limit)}

"""Problems in the JSON that VROOM reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.clock import TIME_UNITS, Clock
from spacevrp.problems.conversion import Array, NodeNumber, as_array, as_number, as_whole, show
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.globe import great_circle
from spacevrp.problems.labels import node_numbers
from spacevrp.problems.sources.entries import (
    list_of,
    plain_document,
    refuse_present,
    refuse_unknown,
    table_of,
)
from spacevrp.problems.sources.vroom_fleet import (
    NOT_MODELLED,
    as_amounts,
    as_row,
    as_window,
    check_vehicles,
    count_tasks,
    is_closed,
    is_uniform,
    read_capacity,
    read_id,
    read_limit,
    read_skills,
    read_types,
)
from spacevrp.problems.vroom_names import PAIR, name_task
from spacevrp.problems.warning import IgnoredWarning, warn

_TOP = ("vehicles", "jobs", "shipments", "matrices", "matrix")
_TASK = ("id", "description", "location", "location_index", "service", "time_windows")
_TASK_REFUSED = ("setup", "setup_per_type", "service_per_type")
_JOB = (*_TASK, *_TASK_REFUSED, "delivery", "pickup", "amount", "skills", "priority")
_HIGHEST_PRIORITY = 100
_SHIPMENT = ("pickup", "delivery", "amount", "skills", "priority")


def fields_from_vroom(
    document: Mapping[str, Any], speed_kmh: float | None = None, time_unit: str = "s"
) -> dict[str, Any]:
    """Fields of a problem; the cost is travel time, or what custom ``costs`` say.

    Parameters
    ----------
    document
        Jobs, shipments, vehicles and matrices. Times are in seconds, with any origin.
    speed_kmh
        Where there is no matrix, and VROOM would ask a routing engine: travel as the crow flies at
        this speed.
    time_unit
        What all times become, and the cost with them where it is travel time.
    """
    document = table_of("document", document)
    # Matrices are large, and arrays are welcome in them.
    document = {
        key: value if key in ("matrix", "matrices") else plain_document(value)
        for key, value in document.items()
    }
    refuse_unknown("document", document, _TOP)
    vehicles = [table_of("vehicles", v) for v in list_of("vehicles", document.get("vehicles"))]
    if not vehicles:
        raise ProblemError("vehicles", expected="at least one", received="none")
    tasks, pairs = _read_tasks(document)
    if not tasks:
        raise ProblemError("jobs", expected="at least one job or shipment", received="none")
    check_vehicles(vehicles)
    _warn_of_priorities(document)
    kinds = max(1, *(len(task["amounts"]) for task in tasks), *_kinds_of(vehicles))
    if is_uniform(vehicles, tasks):
        stops = [_depot_task(vehicles[0]), *tasks]
        travel = _read_travel(document, vehicles[0], stops, speed_kmh)
        limit = read_limit("vehicle 0", vehicles[0], own_costs="durations" in travel)
        fields = travel | _read_uniform(vehicles, stops, kinds, limit)
        fields |= {"demand": _demand(stops, kinds)}
        first = 1
        shifts: list[dict[str, Any]] = []
        vehicle_ids = {"": tuple(read_id(number, one) for number, one in enumerate(vehicles))}
    else:
        own_costs = _has_costs(document, vehicles[0])
        counts = count_tasks(vehicles, tasks, paired=bool(pairs))
        depots, shifts = read_types(vehicles, tasks, kinds=kinds, own_costs=own_costs)
        vehicle_ids = {one["name"]: tuple(one.pop("ids")) for one in shifts}
        stops, first = [*depots.stops, *tasks], len(depots.stops)
        fields = _read_travel(document, vehicles[0], stops, speed_kmh)
        fields |= {"depots": node_numbers(range(first)), "vehicles": shifts}
        fields |= {"demand": _demand(stops, kinds, counted=counts)}
    fields |= {
        "ids": _ids(stops, first),
        "vehicle_ids": vehicle_ids,
        "service": [stop["service"] for stop in stops],
        "load_rule": "separate",
    }
    if pairs:
        fields["pairs"] = node_numbers([(first + one, first + other) for one, other in pairs])
    fields |= _read_windows(stops, shifts)
    return _in_unit(fields, time_unit)


def _in_unit(fields: dict[str, Any], time_unit: str) -> dict[str, Any]:
    """Seconds in the unit of time that is wanted, wherever they are; custom costs are no times."""
    seconds = TIME_UNITS[time_unit]
    own_costs = "durations" in fields
    resolved = dict(fields)
    for key in ("durations" if own_costs else "matrix", "windows"):
        if key in resolved:
            resolved[key] = resolved[key] / seconds
    resolved["service"] = [one / seconds for one in resolved["service"]]
    if "max_length" in resolved:  # of travel times, see read_limit
        resolved["max_length"] /= seconds
    for vehicle in resolved.get("vehicles", []):
        if "window" in vehicle:
            vehicle["window"] = [end / seconds for end in vehicle["window"]]
        for key in ("max_length", "fixed_cost"):
            if key in vehicle and not own_costs:
                vehicle[key] /= seconds
    if "clock" in resolved:
        resolved["clock"] = Clock(resolved["clock"].origin / seconds, time_unit, "number")
    return resolved


# ---------------------------------------------------------------------------------------- vehicles


def _read_uniform(
    vehicles: Sequence[Mapping[str, Any]],
    stops: Sequence[Mapping[str, Any]],
    kinds: int,
    limit: float | None,
) -> dict[str, Any]:
    """The one kind of vehicle there is."""
    first = vehicles[0]
    fields: dict[str, Any] = {
        "depots": NodeNumber(0),
        "max_routes": len(vehicles),
        "open_routes": not is_closed(first),
    }
    capacity = []
    for kind, held in enumerate(read_capacity("vehicle 0", first, kinds)):
        if not held and any(any(stop["amounts"][kind : kind + 1]) for stop in stops):
            raise ProblemError("vehicle 0, capacity", expected="more than 0", received="0")
        capacity.append(held or np.inf)
    fields["capacity"] = capacity if kinds > 1 else capacity[0]
    if limit is not None:
        fields["max_length"] = limit
    return fields


def _kinds_of(vehicles: Sequence[Mapping[str, Any]]) -> list[int]:
    return [
        len(as_amounts(f"vehicle {number}, capacity", vehicle.get("capacity")))
        for number, vehicle in enumerate(vehicles)
    ]


def _demand(stops: Sequence[Mapping[str, Any]], kinds: int, *, counted: bool = False) -> Any:
    """What leaves the vehicle at each stop: a number, or one for each kind of load."""
    rows = []
    for stop in stops:
        amounts = stop["amounts"] or [0.0] * kinds
        if len(amounts) != kinds:
            raise ProblemError(
                stop["where"], expected=f"{kinds} amounts", received=f"{len(amounts)} of them"
            )
        row = list(amounts)
        if counted:  # each task is one
            sign = -1.0 if any(amount < 0 for amount in amounts) else 1.0
            row.append(0.0 if stop["id"] is None else sign)
        rows.append(row)
    return rows if kinds > 1 or counted else [row[0] for row in rows]


def _depot_task(vehicle: Mapping[str, Any]) -> dict[str, Any]:
    window = vehicle.get("time_window")
    return {
        "id": None,
        "where": "vehicle 0, start",
        "location": vehicle.get("start"),
        "index": vehicle.get("start_index"),
        "service": 0.0,
        "window": None if window is None else as_window("vehicle 0, time_window", window),
        "amounts": [],
        "skills": (),
    }


# ------------------------------------------------------------------------------------------- tasks


def _read_tasks(
    document: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """Jobs, then the pickups and deliveries of shipments, and which of them are pairs."""
    tasks = []
    for number, entry in enumerate(list_of("jobs", document.get("jobs") or [])):
        where = f"job {number}"
        job = table_of(where, entry)
        refuse_unknown(where, job, _JOB)
        if job.get("delivery") is not None and job.get("amount") is not None:
            raise ProblemError(f"{where}, amount", expected="none beside delivery", received="both")
        delivered = as_amounts(f"{where}, delivery", job.get("delivery", job.get("amount")))
        collected = as_amounts(f"{where}, pickup", job.get("pickup"))
        if any(delivered) and any(collected):
            raise UnsupportedError(f"{where}: delivery and pickup in one job are {NOT_MODELLED}")
        amounts = [-amount for amount in collected] if any(collected) else delivered
        tasks.append(_task(where, job, amounts, job.get("skills")))
    pairs = []
    shipments = list_of("shipments", document.get("shipments") or [])
    if shipments and tasks:
        raise UnsupportedError(f"shipments: beside jobs they are {NOT_MODELLED}")
    for number, entry in enumerate(shipments):
        where = f"shipment {number}"
        shipment = table_of(where, entry)
        refuse_unknown(where, shipment, _SHIPMENT)
        amounts = as_amounts(f"{where}, amount", shipment.get("amount"))
        first = len(tasks)
        for key, sign in (("pickup", -1.0), ("delivery", 1.0)):
            step = table_of(f"{where}, {key}", shipment.get(key))
            refuse_unknown(f"{where}, {key}", step, (*_TASK, *_TASK_REFUSED))
            signed = [sign * amount for amount in amounts]
            tasks.append(_task(f"{where}, {key}", step, signed, shipment.get("skills")))
        pairs.append((first, first + 1))
    return tasks, pairs


def _warn_of_priorities(document: Mapping[str, Any]) -> None:
    """Say that priorities do not count, where they would: alike ones change nothing."""
    given = {}
    for key, word in (("jobs", "job"), ("shipments", "shipment")):
        for number, entry in enumerate(document.get(key) or []):
            where = f"{word} {number}"
            given[where] = as_whole(
                f"{where}, priority", entry.get("priority") or 0, "a whole number from 0 to 100"
            )
            if not 0 <= given[where] <= _HIGHEST_PRIORITY:
                raise ProblemError(
                    f"{where}, priority",
                    expected=f"0 to {_HIGHEST_PRIORITY}",
                    received=str(given[where]),
                )
    high, low = max(given, key=given.__getitem__), min(given, key=given.__getitem__)
    if given[high] != given[low]:
        warn(
            f"{high}, priority: {given[high]} (and {given[low]} for {low}): priorities are "
            f"{NOT_MODELLED}; where not all can be served, they do not decide which are left out",
            IgnoredWarning,
        )


def _task(where: str, task: Mapping[str, Any], amounts: list[float], skills: Any) -> dict[str, Any]:
    refuse_present(where, task, _TASK_REFUSED, NOT_MODELLED)
    windows = list_of(f"{where}, time_windows", task.get("time_windows") or [])
    if len(windows) > 1:
        raise UnsupportedError(f"{where}, time_windows: more than one is {NOT_MODELLED}")
    return {
        "id": as_whole(f"{where}, id", task.get("id"), "a whole number"),
        "where": where,
        "location": task.get("location"),
        "index": task.get("location_index"),
        "service": as_number(f"{where}, service", task.get("service") or 0.0),
        "window": as_window(f"{where}, time_windows", windows[0]) if windows else None,
        "amounts": [amount if amount else 0.0 for amount in amounts],  # no minus before a zero
        "skills": read_skills(where, skills),
    }


def _ids(stops: Sequence[Mapping[str, Any]], depots: int) -> list[Any]:
    """The ids of the tasks, and for the depots such as no task has.

    The pickups and deliveries of shipments, like jobs, are numbered each on their own.
    """
    ids = [stop["id"] for stop in stops[depots:]]
    if len(set(ids)) < len(ids):
        kinds = [stop["where"].rpartition(", ")[2] for stop in stops[depots:]]
        ids = [
            name_task(kind, one) if kind in PAIR else one
            for kind, one in zip(kinds, ids, strict=True)
        ]
    if depots == 1:
        return ["depot", *ids]
    return [*(f"depot {number}" for number in range(depots)), *ids]


# ----------------------------------------------------------------------------------------- windows


def _read_windows(
    stops: Sequence[Mapping[str, Any]], types: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Windows counted from the earliest opening: absolute timestamps would cost digits.

    The shifts of the types are set back by as much, in place.
    """
    given = [stop["window"] for stop in stops if stop["window"] is not None]
    given += [one["window"] for one in types if "window" in one]
    if not given:
        return {}
    origin = min(float(window[0]) for window in given)
    rows = [[0.0, np.inf] if stop["window"] is None else stop["window"] - origin for stop in stops]
    fields: dict[str, Any] = {"windows": np.array(rows)}
    for one in types:
        if "window" in one:
            one["window"] = [float(end) - origin for end in one["window"]]
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
    return fields


def _has_costs(document: Mapping[str, Any], vehicle: Mapping[str, Any]) -> bool:
    """Whether the matrices say what travelling costs, beside how long it takes."""
    matrices = _read_matrices(document, vehicle)
    return matrices is not None and "costs" in matrices


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
    if document.get("matrix") is not None and document.get("matrices") is not None:
        raise ProblemError("matrix", expected="none beside matrices", received="both")
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
    return [as_row(f"{stop['where']}, location_index", stop["index"], size) for stop in stops]


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

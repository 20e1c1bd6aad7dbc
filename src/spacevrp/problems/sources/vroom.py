"""Problems in the JSON that VROOM reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from spacevrp.problems.clock import TIME_UNITS, Clock, metres_per_unit
from spacevrp.problems.conversion import Array, as_array, as_number, as_whole, show
from spacevrp.problems.distances import great_circle
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.fleet import as_alike
from spacevrp.problems.labels import node_numbers
from spacevrp.problems.sources.entries import (
    list_of,
    plain_document,
    refuse_unknown,
    table_of,
)
from spacevrp.problems.sources.vroom_fleet import (
    NOT_MODELLED,
    PER_HOUR,
    as_amounts,
    as_id,
    as_row,
    as_window,
    check_vehicles,
    costs_of,
    read_skills,
    read_types,
    speeds_of,
)
from spacevrp.problems.vroom_names import PAIR, name_task

_TOP = ("vehicles", "jobs", "shipments", "matrices", "matrix")
_TASK = (
    *("id", "description", "location", "location_index", "service", "time_windows"),
    *("setup", "service_per_type", "setup_per_type"),
)
# Names that VROOM's own documents have, and its answers do not.
_LABELS = ("shipment_id",)
_JOB = (*_TASK, *_LABELS, "delivery", "pickup", "amount", "skills", "priority")
_HIGHEST_PRIORITY = 100
_SHIPMENT = ("pickup", "delivery", "amount", "skills", "priority")


def fields_from_vroom(
    document: Mapping[str, Any], speed_kmh: float | None = None, time_unit: str = "s"
) -> dict[str, Any]:
    """Fields of a problem; the cost is travel time, or what custom ``costs`` say.

    See ``Problem.from_vroom``. All times become those of the ``time_unit``, and the cost with them
    where it is travel time.
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
        raise ProblemError("vehicles", "at least one", "none")
    tasks, pairs = _read_tasks(document)
    if not tasks:
        raise ProblemError("jobs", "at least one job or shipment", "none")
    check_vehicles(vehicles)
    held = [as_amounts(f"vehicle {k}, capacity", v.get("capacity")) for k, v in enumerate(vehicles)]
    kinds = max(1, *(len(task["amounts"]) for task in tasks), *map(len, held))
    for kind in range(kinds):
        is_asked = any(any(task["amounts"][kind : kind + 1]) for task in tasks)
        if is_asked and all(room[kind : kind + 1] == [0.0] for room in held):
            raise ProblemError("vehicle 0, capacity", "more than 0", "0")
    speeds = speeds_of(vehicles)
    alike = len(set(speeds)) == 1
    shared = speeds[0] if alike else 1.0  # the rest is a matter of types
    matrices = _read_matrices(document, vehicles[0])
    own_costs = matrices is not None and "costs" in matrices
    rates = _rates_of(vehicles, matrices, own_costs=own_costs)
    own_costs = own_costs or rates is None
    factors = [1.0 if alike else one for one in speeds]
    paid = rates or [1.0] * len(vehicles)
    if not own_costs:  # of two that drive the same road the faster pays for less time
        paid = [rate / factor for rate, factor in zip(paid, factors, strict=True)]
    depots, types, vehicle_ids = read_types(
        vehicles, tasks, kinds=kinds, own_costs=own_costs, factors=factors, rates=paid
    )
    stops, first = [*depots.stops, *tasks], len(depots.stops)
    fields = _read_travel(matrices, stops, speed_kmh, shared)
    fields["depots"] = node_numbers(range(first))
    if (plain := as_alike(types, first)) is None:
        fields["vehicles"] = types
    else:
        if "window" in plain:
            stops[0]["windows"] = [np.array(plain.pop("window"))]
        if kinds == 1:
            (plain["capacity"],) = plain["capacity"]
        fields |= plain
        types, vehicle_ids = [], {"": sum(vehicle_ids.values(), ())}
    fields |= _read_amounts(stops, kinds)
    if any(setup := [stop.get("setup", 0.0) for stop in stops]):
        fields["setup"] = setup
    fields |= _read_priorities(document, first)
    fields |= {
        "ids": _ids(stops, first),
        "vehicle_ids": vehicle_ids,
        "service": [stop["service"] for stop in stops],
        "load_rule": "separate",
    }
    if pairs:
        fields["pairs"] = node_numbers([(first + one, first + other) for one, other in pairs])
    fields |= _read_windows(stops, types)
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
    if "setup" in resolved:
        resolved["setup"] = [one / seconds for one in resolved["setup"]]
    if "closed" in resolved:
        resolved["closed"] = [
            (node, begin / seconds, end / seconds) for node, begin, end in resolved["closed"]
        ]
    if "max_length" in resolved:  # of travel times, see read_limit
        resolved["max_length"] /= seconds
    for vehicle in resolved.get("vehicles", []):
        if "window" in vehicle:
            vehicle["window"] = [end / seconds for end in vehicle["window"]]
        for key in ("max_length", "fixed_cost"):
            if key in vehicle and not own_costs:
                vehicle[key] /= seconds
        if "service" in vehicle:
            vehicle["service"] = [(node, one / seconds) for node, one in vehicle["service"]]
        for pause in vehicle.get("breaks", ()):
            pause["duration"] /= seconds
            pause["windows"] = [[end / seconds for end in one] for one in pause["windows"]]
    if "clock" in resolved:
        resolved["clock"] = Clock(resolved["clock"].origin / seconds, time_unit, "number")
    return resolved


def _read_amounts(stops: Sequence[Mapping[str, Any]], kinds: int) -> dict[str, Any]:
    """What leaves the vehicle at each stop, and what it takes along where both happen."""
    columns: dict[str, list[list[float]]] = {"amounts": [], "collected": []}
    for stop in stops:
        for key, rows in columns.items():
            amounts = stop.get(key) or [0.0] * kinds
            if len(amounts) != kinds:
                raise ProblemError(stop["where"], f"{kinds} amounts", f"{len(amounts)} of them")
            rows.append(list(amounts))
    demand, pickup = (rows if kinds > 1 else [row[0] for row in rows] for rows in columns.values())
    both = any(any(row) for row in columns["collected"])
    return {"demand": demand, "pickup": pickup} if both else {"demand": demand}


# ------------------------------------------------------------------------------------------- tasks


def _read_tasks(document: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """Jobs, then the pickups and deliveries of shipments, and which of them are pairs."""
    tasks = []
    for number, entry in enumerate(list_of("jobs", document.get("jobs") or [])):
        where = f"job {number}"
        job = table_of(where, entry)
        refuse_unknown(where, job, _JOB)
        if job.get("delivery") is not None and job.get("amount") is not None:
            raise ProblemError(f"{where}, amount", "none beside delivery", "both")
        delivered = as_amounts(f"{where}, delivery", job.get("delivery", job.get("amount")))
        collected = as_amounts(f"{where}, pickup", job.get("pickup"))
        both = any(delivered) and any(collected)
        if both and len(delivered) != len(collected):
            raise ProblemError(where, "as many amounts of pickup as of delivery", "others")
        amounts = delivered if both or not any(collected) else [-one for one in collected]
        task = _task(where, job, amounts, job.get("skills"))
        tasks.append({**task, "collected": collected if both else []})
    pairs = []
    shipments = list_of("shipments", document.get("shipments") or [])
    for number, entry in enumerate(shipments):
        where = f"shipment {number}"
        shipment = table_of(where, entry)
        refuse_unknown(where, shipment, _SHIPMENT)
        amounts = as_amounts(f"{where}, amount", shipment.get("amount"))
        first = len(tasks)
        for key, sign in (("pickup", -1.0), ("delivery", 1.0)):
            step = table_of(f"{where}, {key}", shipment.get(key))
            refuse_unknown(f"{where}, {key}", step, _TASK)
            signed = [sign * amount for amount in amounts]
            tasks.append(_task(f"{where}, {key}", step, signed, shipment.get("skills")))
        pairs.append((first, first + 1))
    return tasks, pairs


def _read_priorities(document: Mapping[str, Any], first: int) -> dict[str, Any]:
    """The priority of every node, both tasks of a shipment alike; alike ones change nothing."""
    given = []
    for key, word, tasks in (("jobs", "job", 1), ("shipments", "shipment", 2)):
        for number, entry in enumerate(document.get(key) or []):
            where = f"{word} {number}, priority"
            expected = f"a whole number from 0 to {_HIGHEST_PRIORITY}"
            priority = as_whole(where, entry.get("priority") or 0, expected)
            if not 0 <= priority <= _HIGHEST_PRIORITY:
                raise ProblemError(where, f"0 to {_HIGHEST_PRIORITY}", str(priority))
            given += [priority] * tasks
    return {"priority": [0] * first + given} if len(set(given)) > 1 else {}


def _task(where: str, task: Mapping[str, Any], amounts: list[float], skills: Any) -> dict[str, Any]:
    windows = [
        as_window(f"{where}, time_windows", one)
        for one in list_of(f"{where}, time_windows", task.get("time_windows") or [])
    ]
    setup = _duration(where, task, "setup")
    for kind, own in table_of(f"{where}, setup_per_type", task.get("setup_per_type") or {}).items():
        if own != setup:
            raise UnsupportedError(f"{where}, setup_per_type, {show(kind)}: {NOT_MODELLED}")
    per_type = table_of(f"{where}, service_per_type", task.get("service_per_type") or {})
    return {
        "id": as_id(f"{where}, id", task.get("id")),
        "where": where,
        "location": task.get("location"),
        "index": task.get("location_index"),
        "service": _duration(where, task, "service"),
        "service_per_type": {
            kind: as_number(f"{where}, service_per_type", one) for kind, one in per_type.items()
        },
        "setup": setup,
        "windows": windows,
        "amounts": [amount if amount else 0.0 for amount in amounts],  # no minus before a zero
        "collected": [],
        "skills": read_skills(where, skills),
    }


def _duration(where: str, task: Mapping[str, Any], key: str) -> float:
    return as_number(f"{where}, {key}", task.get(key) or 0.0)


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

    The shifts and breaks of the types are set back by as much, in place. Of several windows of a
    stop the gaps between them are closed.
    """
    pauses = [pause for one in types for pause in one.get("breaks", ())]
    given = [window for stop in stops for window in stop["windows"]]
    given += [one["window"] for one in types if "window" in one]
    given += [window for pause in pauses for window in pause["windows"]]
    opened = [float(window[0]) for window in given if np.isfinite(window[0])]
    if not given:
        return {}
    origin = min(opened, default=0.0)
    rows, closed = [], []
    for node, stop in enumerate(stops):
        windows = [window - origin for window in stop["windows"]] or [np.array([0.0, np.inf])]
        rows.append([windows[0][0], windows[-1][1]])
        for one, other in pairwise(windows):
            if other[0] < one[1]:
                received = show([window.tolist() for window in stop["windows"]])
                raise ProblemError(f"{stop['where']}, time_windows", "in order, apart", received)
            closed.append((node, float(one[1]), float(other[0])))
    fields: dict[str, Any] = {"windows": np.array(rows)}
    if closed:
        fields["closed"] = closed
    for one in types:
        if "window" in one:
            one["window"] = [float(end) - origin for end in one["window"]]
    for pause in pauses:
        pause["windows"] = [[end - origin for end in window] for window in pause["windows"]]
    if origin != 0.0:
        fields["clock"] = Clock(origin, form="number")
    return fields


# ------------------------------------------------------------------------------------------ travel


def _read_travel(
    matrices: dict[str, Array] | None,
    stops: Sequence[Mapping[str, Any]],
    speed_kmh: float | None,
    factor: float,
) -> dict[str, Any]:
    """What travelling costs and how long it takes; all drive so much faster than that."""
    places = _read_places(stops)
    if matrices is None:
        missing = [stop["where"] for stop in stops if stop["location"] is None]
        durations = _crow_flies(places, missing, speed_kmh) / factor
        costs = None
    else:
        size = len(matrices["durations"])
        order = [as_row(f"{one['where']}, location_index", one["index"], size) for one in stops]
        picked = {key: matrix[np.ix_(order, order)] for key, matrix in matrices.items()}
        durations = picked["durations"] / factor
        costs = picked.get("costs")
    fields: dict[str, Any] = {"matrix": durations}
    if costs is not None:
        fields = {"matrix": costs, "durations": durations}
    if places is not None:
        fields |= {"places": places, "geographic": True}
    return fields


def _read_places(stops: Sequence[Mapping[str, Any]]) -> list[list[float]] | None:
    places = []
    for stop in stops:
        if stop["location"] is None:
            return None
        where = f"{stop['where']}, location"
        pair = [as_number(where, degrees) for degrees in list_of(where, stop["location"])]
        if len(pair) != 2:
            raise ProblemError(where, "[longitude, latitude]", show(stop["location"]))
        places.append(pair)
    return places


def _read_matrices(
    document: Mapping[str, Any], vehicle: Mapping[str, Any]
) -> dict[str, Array] | None:
    """The matrices of the vehicles' profile, None where a routing engine would be asked."""
    if document.get("matrix") is not None and document.get("matrices") is not None:
        raise ProblemError("matrix", "none beside matrices", "both")
    profile = vehicle.get("profile") or "car"
    tables: Mapping[str, Any]
    if document.get("matrix") is not None:  # before version 1.8
        tables, where = {"durations": document["matrix"]}, "matrix"
    elif document.get("matrices") is not None:
        profiles, where = table_of("matrices", document["matrices"]), f"matrices, {show(profile)}"
        if not isinstance(profile, str) or profile not in profiles:
            raise ProblemError("matrices", f"profile {show(profile)}", "none")
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
        raise ProblemError(where, "durations", "none")
    size = len(read["durations"]) if read["durations"].ndim else 0
    for key, matrix in read.items():
        if matrix.shape != (size, size) or not size:
            raise ProblemError(f"{where}, {key}", "a square matrix", f"shape {matrix.shape}")
    return read


def _crow_flies(
    places: list[list[float]] | None, missing: Sequence[str], speed_kmh: float | None
) -> Array:
    if speed_kmh is None:
        raise ProblemError(
            "matrices",
            "durations between all places (VROOM would ask a routing engine for them), or "
            "speed_kmh to travel as the crow flies",
            "neither",
        )
    speed = metres_per_unit(speed_kmh, "s")
    if places is None:
        raise ProblemError(f"{missing[0]}, location", "[longitude, latitude]", "none")
    return great_circle(np.array(places)) / speed


def _rates_of(
    vehicles: Sequence[Mapping[str, Any]], matrices: dict[str, Array] | None, *, own_costs: bool
) -> list[float] | None:
    """What a second of travel costs, of each vehicle.

    None where kilometres cost, too: then the matrices have ``costs`` of both.
    """
    costs = costs_of(vehicles)
    per_km = any(kilometre for _, kilometre in costs)
    if own_costs and (per_km or any(hour != PER_HOUR for hour, _ in costs)):
        raise ProblemError("vehicles, costs", "no per_hour or per_km beside a matrix costs", "both")
    if not per_km:
        return [hour / PER_HOUR for hour, _ in costs]
    if len(set(costs)) > 1 or len(set(speeds_of(vehicles))) > 1:
        raise UnsupportedError(f"vehicles, costs, per_km: of vehicles that differ {NOT_MODELLED}")
    if matrices is None or "distances" not in matrices:
        raise ProblemError("matrices", "distances beside per_km", "none")
    (hour, kilometre), factor = costs[0], speeds_of(vehicles)[0]
    matrices["costs"] = (
        hour / PER_HOUR * matrices["durations"] / factor + kilometre / 1000 * matrices["distances"]
    )
    return None

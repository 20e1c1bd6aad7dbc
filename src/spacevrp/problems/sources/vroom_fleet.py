"""The vehicles of a VROOM problem: one kind of them, or a fleet of types."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spacevrp.problems.conversion import Array, NodeNumber, as_number, as_whole, show
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.fleet import group_vehicles
from spacevrp.problems.labels import node_numbers
from spacevrp.problems.sources.entries import (
    equal,
    list_of,
    refuse_unknown,
    table_of,
)
from spacevrp.problems.warning import IgnoredWarning, warn

NOT_MODELLED = "not modelled here yet"
_KNOWN = (
    *("id", "description", "type", "profile", "start", "start_index", "end", "end_index"),
    *("capacity", "time_window", "costs", "skills", "breaks", "steps", "speed_factor"),
    *("max_travel_time", "max_distance", "max_tasks"),
)
_BREAK = ("id", "time_windows", "service", "description", "max_load")
_COSTS = ("fixed", "per_hour", "per_km", "per_task_hour")
PER_HOUR = 3600.0


@dataclass(frozen=True)
class Depots:
    """Where vehicles start and end: each place once, as a stop with its name."""

    stops: list[dict[str, Any]] = field(default_factory=list)
    number_of: dict[Hashable, int] = field(default_factory=dict)

    def add(self, where: str, location: Any, index: Any) -> int:
        """The number of a depot there, a new one where there is none yet."""
        key = ("row", index) if index is not None else ("place", tuple(list_of(where, location)))
        try:
            number = self.number_of.setdefault(key, len(self.stops))
        except TypeError:
            raise ProblemError(where, "a place", show(location)) from None
        if number == len(self.stops):
            stop = {"id": None, "where": where, "location": location, "index": index}
            self.stops.append(stop | {"service": 0.0, "windows": [], "amounts": [], "skills": ()})
        return number


def check_vehicles(vehicles: Sequence[Mapping[str, Any]]) -> None:
    """Refuse what cannot be said of any vehicle here."""
    ids: dict[int, int] = {}
    for number, vehicle in enumerate(vehicles):
        where = f"vehicle {number}"
        refuse_unknown(where, vehicle, _KNOWN)
        named = read_id(number, vehicle)
        if (other := ids.setdefault(named, number)) != number:
            expected = f"an id of its own, vehicle {other} has the same"
            raise ProblemError(f"{where}, id", expected, str(named))
        costs = table_of(f"{where}, costs", vehicle.get("costs") or {})
        if costs.get("per_task_hour"):
            raise UnsupportedError(f"{where}, costs, per_task_hour: {NOT_MODELLED}")
        refuse_unknown(f"{where}, costs", costs, _COSTS)
        if vehicle.get("steps"):
            warn(
                f"{where}, steps: where VROOM's search begins, and not part of the problem; left "
                "out (give routes as start to solve)",
                IgnoredWarning,
            )
        if vehicle.get("start") is None and vehicle.get("start_index") is None:
            raise UnsupportedError(f"{where}, start: vehicles without one are {NOT_MODELLED}")
        if vehicle.get("max_distance") is not None:
            raise UnsupportedError(f"{where}, max_distance: {NOT_MODELLED}")
    # The matrix is the same for all vehicles; the rest makes types.
    first = vehicles[0].get("profile")
    for number, vehicle in enumerate(vehicles):
        if not equal(vehicle.get("profile"), first):
            raise UnsupportedError(
                f"vehicles, profile: expected the same profile everywhere, received {show(first)} "
                f"and, at number {number}, {show(vehicle.get('profile'))}"
            )


def costs_of(vehicles: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """What an hour and a kilometre cost, of each vehicle."""
    found = []
    for number, vehicle in enumerate(vehicles):
        held = vehicle.get("costs") or {}
        rates = []
        for key, usual in (("per_hour", PER_HOUR), ("per_km", 0.0)):
            rate = as_number(f"vehicle {number}, costs, {key}", held.get(key, usual))
            if not 0 <= rate < np.inf:
                raise ProblemError(f"vehicle {number}, costs, {key}", "at least 0", f"{rate}")
            rates.append(rate)
        found.append((rates[0], rates[1]))
    return found


def speeds_of(vehicles: Sequence[Mapping[str, Any]]) -> list[float]:
    """The speed factor of each vehicle."""
    factors = []
    for number, vehicle in enumerate(vehicles):
        where = f"vehicle {number}, speed_factor"
        factor = as_number(where, vehicle.get("speed_factor") or 1.0)
        if not 0 < factor < np.inf:
            raise ProblemError(where, "more than 0", f"{factor}")
        factors.append(factor)
    return factors


def is_closed(vehicle: Mapping[str, Any]) -> bool:
    """Whether a vehicle has to be anywhere at the end."""
    return vehicle.get("end") is not None or vehicle.get("end_index") is not None


def read_skills(where: str, value: Any) -> tuple[int | str, ...]:
    """The skills of a vehicle or those that a task asks for."""
    skills = list_of(f"{where}, skills", value or [])
    for skill in skills:
        if not isinstance(skill, int | str):
            expected = "whole numbers"
            raise ProblemError(f"{where}, skills", expected, show(skill))
    return tuple(skills)


def read_types(
    vehicles: Sequence[Mapping[str, Any]],
    tasks: Sequence[Mapping[str, Any]],
    *,
    kinds: int,
    own_costs: bool,
    factors: Sequence[float],
    rates: Sequence[float],
) -> tuple[Depots, list[dict[str, Any]], dict[str, tuple[int, ...]]]:
    """The depots, the types, and the ids of their vehicles by name.

    Vehicles that differ in their names only are one type. Nodes are numbered depots first, then
    tasks. Shifts are pairs of times as they stand. ``factors`` are those by which a vehicle is
    faster than the matrix says, ``rates`` what a unit of the matrix costs.
    """
    depots = Depots()
    ends = [
        {
            end: NodeNumber(
                depots.add(f"vehicle {k}, {end}", one.get(end), one.get(f"{end}_index"))
            )
            for end in (("start", "end") if is_closed(one) else ("start",))
        }
        for k, one in enumerate(vehicles)
    ]
    said = []
    for number, vehicle in enumerate(vehicles):
        where = f"vehicle {number}"
        one: dict[str, Any] = {**ends[number], "open_route": "end" not in ends[number]}
        one["capacity"] = read_capacity(where, vehicle, kinds)
        if vehicle.get("max_tasks") is not None:
            expected = "a whole number"
            one["max_stops"] = as_whole(f"{where}, max_tasks", vehicle["max_tasks"], expected)
        if factors[number] != 1.0:
            one["speed_factor"] = factors[number]
        if rates[number] != 1.0:
            one["unit_distance_cost"] = rates[number]
        fixed = (vehicle.get("costs") or {}).get("fixed")
        if fixed:
            one["fixed_cost"] = as_number(f"{where}, costs, fixed", fixed)
        limit = read_limit(where, vehicle, own_costs=own_costs)
        if limit is not None:
            one["max_length"] = limit * factors[number]
        if vehicle.get("time_window") is not None:
            one["window"] = as_window(f"{where}, time_window", vehicle["time_window"]).tolist()
        if pauses := _breaks(where, vehicle, one.get("window")):
            one["breaks"] = pauses
        own = [
            (NodeNumber(len(depots.stops) + k), task["service_per_type"][vehicle["type"]])
            for k, task in enumerate(tasks)
            if isinstance(vehicle.get("type"), str) and vehicle["type"] in task["service_per_type"]
        ]
        if own:
            one["service"] = own
        has, room = set(read_skills(where, vehicle.get("skills"))), one["capacity"]
        barred = [
            k
            for k, task in enumerate(tasks)
            if not has.issuperset(task["skills"]) or _needs_nothing_held(task, room)
        ]
        one["capacity"] = [held or np.inf for held in room]
        if barred:
            one["forbidden"] = node_numbers([len(depots.stops) + k for k in barred])
        said.append(one)
    types, ids = [], {}
    groups = group_vehicles(said)
    names = [
        ", ".join(dict.fromkeys(_called(number, vehicles[number]) for number in numbers))
        for _, numbers in groups
    ]
    for number, (name, (one, numbers)) in enumerate(zip(names, groups, strict=True)):
        # Types that are described alike get a number.
        name = f"{name} ({number})" if names.count(name) > 1 else name
        types.append({**one, "count": len(numbers), "name": name})
        ids[name] = tuple(read_id(k, vehicles[k]) for k in numbers)
    return depots, types, ids


def _called(number: int, vehicle: Mapping[str, Any]) -> str:
    return str(vehicle.get("description") or read_id(number, vehicle))


def read_id(number: int, vehicle: Mapping[str, Any]) -> int:
    """What the document calls a vehicle; its number there, where it does not say."""
    named = vehicle.get("id")
    return number if named is None else as_id(f"vehicle {number}, id", named)


def as_id(where: str, value: Any) -> int:
    """A whole number, also as text: one of VROOM's own examples has it so."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return as_whole(where, value, "a whole number")


def _needs_nothing_held(task: Mapping[str, Any], capacity: Sequence[float]) -> bool:
    """Whether a task has an amount of a kind that the vehicle has no room for at all."""
    amounts = (task["amounts"], task["collected"])
    return any(
        amount and not held
        for some in amounts
        for amount, held in zip(some, capacity, strict=False)
    )


def _breaks(
    where: str, vehicle: Mapping[str, Any], shift: Sequence[float] | None
) -> list[dict[str, Any]]:
    """The breaks of a driver, who takes them within the shift."""
    begin, end = (-np.inf, np.inf) if shift is None else shift
    pauses = []
    for number, entry in enumerate(list_of(f"{where}, breaks", vehicle.get("breaks") or [])):
        place = f"{where}, break {number}"
        pause = table_of(place, entry)
        refuse_unknown(place, pause, _BREAK)
        if pause.get("max_load"):
            raise UnsupportedError(f"{place}, max_load: {NOT_MODELLED}")
        named = as_id(f"{place}, id", pause.get("id"))
        duration = as_number(f"{place}, service", pause.get("service") or 0.0)
        windows = [
            as_window(f"{place}, time_windows", one)
            for one in list_of(f"{place}, time_windows", pause.get("time_windows") or [])
        ] or [np.array([-np.inf, np.inf])]
        within = [[max(one[0], begin), min(one[1], end - duration)] for one in windows]
        kept = [[float(first), float(last)] for first, last in within if first <= last]
        if not kept:
            raise ProblemError(f"{place}, time_windows", "one within the shift", "none")
        pauses.append({"duration": duration, "windows": kept, "name": str(named)})
    return sorted(pauses, key=lambda one: one["windows"][0][0])


def read_capacity(where: str, vehicle: Mapping[str, Any], kinds: int) -> list[float]:
    """What a vehicle holds of every kind of load; without a word about it, any amount."""
    if vehicle.get("capacity") is None:
        return [np.inf] * kinds
    held = as_amounts(f"{where}, capacity", vehicle["capacity"])
    if len(held) != kinds:
        raise ProblemError(f"{where}, capacity", f"{kinds} amounts", show(vehicle["capacity"]))
    return held


def as_amounts(where: str, value: Any) -> list[float]:
    """An amount of every kind."""
    if value is None:
        return []
    amounts = [as_number(where, amount) for amount in list_of(where, value)]
    if any(amount < 0 for amount in amounts):
        raise ProblemError(where, "amounts of at least 0", show(value))
    return amounts


def as_window(where: str, value: Any) -> Array:
    """A beginning and an end, (2,)."""
    window = np.array([as_number(where, moment) for moment in list_of(where, value)])
    if window.shape != (2,):
        raise ProblemError(where, "[start, end]", show(value))
    return window


def read_limit(where: str, vehicle: Mapping[str, Any], *, own_costs: bool) -> float | None:
    """A limit on travel time is a limit on length where travel time is what is minimised."""
    limit = vehicle.get("max_travel_time")
    if limit is None:
        return None
    if own_costs:
        raise UnsupportedError(f"{where}, max_travel_time: beside costs {NOT_MODELLED}")
    return as_number(f"{where}, max_travel_time", limit)


def as_row(where: str, index: Any, size: int) -> int:
    """A row of the matrix."""
    row = as_whole(where, index, f"a row of the matrix, 0 to {size - 1}")
    if not 0 <= row < size:
        raise ProblemError(where, f"0 to {size - 1}", str(row))
    return row

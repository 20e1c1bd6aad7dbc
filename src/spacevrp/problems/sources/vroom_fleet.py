"""The vehicles of a VROOM problem: one kind of them, or a fleet of types."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spacevrp.problems.conversion import Array, NodeNumber, as_array, as_number, as_whole, show
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.labels import node_numbers
from spacevrp.problems.sources.entries import (
    all_alike,
    list_of,
    refuse_present,
    refuse_unknown,
    table_of,
)

NOT_MODELLED = "not modelled here yet"
_REFUSED = ("breaks", "steps")
# Travel is the same for all vehicles; the rest makes types.
_ALIKE = ("profile", "speed_factor")
_PLACES = ("start", "start_index", "end", "end_index")
_TYPED = (
    *_PLACES,
    *("capacity", "time_window", "costs", "skills"),
    *("max_travel_time", "max_distance", "max_tasks"),
)
_KNOWN = ("id", "description", "type", *_ALIKE, *_TYPED)
_COSTS_REFUSED = ("per_km", "per_task_hour")
_PER_HOUR = 3600.0


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
            raise ProblemError(where, expected="a place", received=show(location)) from None
        if number == len(self.stops):
            self.stops.append(
                {
                    "id": None,
                    "where": where,
                    "location": location,
                    "index": index,
                    "service": 0.0,
                    "window": None,
                    "amounts": [],
                    "skills": (),
                }
            )
        return number


def check_vehicles(vehicles: Sequence[Mapping[str, Any]]) -> None:
    """Refuse what cannot be said of any vehicle here."""
    for number, vehicle in enumerate(vehicles):
        where = f"vehicle {number}"
        refuse_present(where, vehicle, _REFUSED, NOT_MODELLED)
        refuse_unknown(where, vehicle, (*_KNOWN, *_REFUSED))
        costs = table_of(f"{where}, costs", vehicle.get("costs") or {})
        refuse_present(f"{where}, costs", costs, _COSTS_REFUSED, NOT_MODELLED)
        refuse_unknown(f"{where}, costs", costs, ("fixed", "per_hour", *_COSTS_REFUSED))
        if costs.get("per_hour", _PER_HOUR) != _PER_HOUR:
            raise UnsupportedError(f"{where}, costs, per_hour: {NOT_MODELLED}")
        if vehicle.get("start") is None and vehicle.get("start_index") is None:
            raise UnsupportedError(f"{where}, start: vehicles without one are {NOT_MODELLED}")
        if vehicle.get("max_distance") is not None:
            raise UnsupportedError(f"{where}, max_distance: {NOT_MODELLED}")
    for key in _ALIKE:
        all_alike(f"vehicles, {key}", [vehicle.get(key) for vehicle in vehicles], key)


def is_uniform(vehicles: Sequence[Mapping[str, Any]], tasks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all vehicles are alike, end where they start or nowhere, and can do every job."""
    first = vehicles[0]
    said = (key for key in _TYPED if key != "skills")
    if any(vehicle.get(key) != first.get(key) for key in said for vehicle in vehicles):
        return False
    if any(vehicle.get("max_tasks") is not None for vehicle in vehicles):
        return False
    if (first.get("costs") or {}).get("fixed"):
        return False
    if is_closed(first) and _end(first) != _start(first):
        return False
    asked = {skill for task in tasks for skill in task["skills"]}
    return all(asked <= set(read_skills("vehicle", v.get("skills"))) for v in vehicles)


def _start(vehicle: Mapping[str, Any]) -> tuple[Any, Any]:
    index = vehicle.get("start_index")
    return (index, None) if index is not None else (None, vehicle.get("start"))


def _end(vehicle: Mapping[str, Any]) -> tuple[Any, Any]:
    index = vehicle.get("end_index")
    return (index, None) if index is not None else (None, vehicle.get("end"))


def is_closed(vehicle: Mapping[str, Any]) -> bool:
    """Whether a vehicle has to be anywhere at the end."""
    return vehicle.get("end") is not None or vehicle.get("end_index") is not None


def read_skills(where: str, value: Any) -> tuple[int | str, ...]:
    """The skills of a vehicle or those that a task asks for."""
    skills = list_of(f"{where}, skills", value or [])
    for skill in skills:
        if not isinstance(skill, int | str):
            expected = "whole numbers"
            raise ProblemError(f"{where}, skills", expected=expected, received=show(skill))
    return tuple(skills)


def read_types(
    vehicles: Sequence[Mapping[str, Any]],
    tasks: Sequence[Mapping[str, Any]],
    *,
    kinds: int,
    own_costs: bool,
) -> tuple[Depots, list[dict[str, Any]]]:
    """The depots, and the types: vehicles that differ in their names only are one type.

    Nodes are numbered depots first, then tasks. Shifts are pairs of times as they stand. Each type
    has the ``ids`` of its vehicles.
    """
    depots = Depots()
    described = []
    for number, vehicle in enumerate(vehicles):
        where = f"vehicle {number}"
        start = depots.add(f"{where}, start", vehicle.get("start"), vehicle.get("start_index"))
        end = None
        if is_closed(vehicle):
            end = depots.add(f"{where}, end", vehicle.get("end"), vehicle.get("end_index"))
        described.append((vehicle, start, end))
    counted = any(vehicle.get("max_tasks") is not None for vehicle in vehicles)
    types: dict[str, dict[str, Any]] = {}
    for number, (vehicle, start, end) in enumerate(described):
        where = f"vehicle {number}"
        one: dict[str, Any] = {"start": NodeNumber(start), "open_route": end is None}
        if end is not None:
            one["end"] = NodeNumber(end)
        one["capacity"] = read_capacity(where, vehicle, kinds)
        if counted:
            tasks_at_most = vehicle.get("max_tasks")
            one["capacity"].append(
                np.inf if tasks_at_most is None else as_number(f"{where}, max_tasks", tasks_at_most)
            )
        fixed = (vehicle.get("costs") or {}).get("fixed")
        if fixed:
            one["fixed_cost"] = as_number(f"{where}, costs, fixed", fixed)
        limit = read_limit(where, vehicle, own_costs=own_costs)
        if limit is not None:
            one["max_length"] = limit
        if vehicle.get("time_window") is not None:
            one["window"] = as_window(f"{where}, time_window", vehicle["time_window"]).tolist()
        has, room = set(read_skills(where, vehicle.get("skills"))), one["capacity"]
        barred = [
            k
            for k, task in enumerate(tasks)
            if not has.issuperset(task["skills"]) or _needs_nothing_held(task, room)
        ]
        one["capacity"] = [held or np.inf for held in room]
        if barred:
            one["forbidden"] = node_numbers([len(depots.stops) + k for k in barred])
        held = types.setdefault(repr(one), {**one, "count": 0, "name": [], "ids": []})
        held["count"] += 1
        held["ids"].append(read_id(number, vehicle))
        name = vehicle.get("description") or held["ids"][-1]
        held["name"].append(str(name))
    for one in types.values():
        one["name"] = ", ".join(dict.fromkeys(one["name"]))
    return depots, _with_own_names(list(types.values()))


def read_id(number: int, vehicle: Mapping[str, Any]) -> int:
    """What the document calls a vehicle; its number there, where it does not say."""
    named = vehicle.get("id")
    return number if named is None else as_whole(f"vehicle {number}, id", named, "a whole number")


def _needs_nothing_held(task: Mapping[str, Any], capacity: Sequence[float]) -> bool:
    """Whether a task has an amount of a kind that the vehicle has no room for at all."""
    return any(amount and not held for amount, held in zip(task["amounts"], capacity, strict=False))


def _with_own_names(types: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Types that are described alike get a number."""
    names = [one["name"] for one in types]
    for number, one in enumerate(types):
        if names.count(one["name"]) > 1:
            one["name"] = f"{one['name']} ({number})"
    return types


def count_tasks(
    vehicles: Sequence[Mapping[str, Any]], tasks: Sequence[Mapping[str, Any]], *, paired: bool
) -> bool:
    """Whether a vehicle limits the number of tasks, which is one more kind of load.

    It is exact where all tasks are deliveries, or all are pickups: otherwise goods that are handed
    over make room for others, and tasks do not.
    """
    if all(vehicle.get("max_tasks") is None for vehicle in vehicles):
        return False
    signs = {np.sign(amount) for task in tasks for amount in task["amounts"] if amount}
    if paired or len(signs) > 1:
        raise UnsupportedError(
            f"vehicle, max_tasks: beside both pickups and deliveries {NOT_MODELLED}"
        )
    return True


def read_capacity(where: str, vehicle: Mapping[str, Any], kinds: int) -> list[float]:
    """What a vehicle holds of every kind of load; without a word about it, any amount."""
    if vehicle.get("capacity") is None:
        return [np.inf] * kinds
    held = as_amounts(f"{where}, capacity", vehicle["capacity"])
    if len(held) != kinds:
        raise ProblemError(
            f"{where}, capacity", expected=f"{kinds} amounts", received=show(vehicle["capacity"])
        )
    return held


def as_amounts(where: str, value: Any) -> list[float]:
    """An amount of every kind."""
    if value is None:
        return []
    amounts = [as_number(where, amount) for amount in list_of(where, value)]
    if any(amount < 0 for amount in amounts):
        raise ProblemError(where, expected="amounts of at least 0", received=show(value))
    return amounts


def as_window(where: str, value: Any) -> Array:
    """A beginning and an end, (2,)."""
    window = as_array(where, list_of(where, value))
    if window.shape != (2,):
        raise ProblemError(where, expected="[start, end]", received=show(value))
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
        raise ProblemError(where, expected=f"0 to {size - 1}", received=str(row))
    return row

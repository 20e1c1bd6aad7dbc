"""The fleet: types of vehicles with limits of their own, and the breaks of their drivers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from spacevrp.problems.clock import as_durations
from spacevrp.problems.conversion import (
    Array,
    as_capacities,
    as_flag,
    as_number,
    as_whole,
    dimensions,
    plain_array,
    show,
)
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.keywords import refuse_keys, refuse_not_modelled
from spacevrp.problems.labels import as_nodes, resolve_nodes


@dataclass(frozen=True)
class Break:
    """A break, taken once: before the vehicle leaves, on its way, or after its route is over.

    Parameters
    ----------
    duration
        How long it takes: a number, or a timedelta.
    window
        When it begins: not before the first moment and not after the second. Given as the
        ``windows`` of the problem are; None for any time.
    windows
        Several windows instead, one of which it begins in. Within a problem all are here.
    name
        What plans and messages call it; by default its number, counted from 1.
    """

    duration: Any
    window: Any = None
    windows: Any = None
    name: str = ""


def as_breaks(breaks: Any, unit: str) -> tuple[Break, ...]:
    """The breaks in the order given, with every field converted but the moments."""
    if breaks is None:
        return ()
    if isinstance(breaks, Break | Mapping):
        breaks = [breaks]
    if isinstance(breaks, str | bytes) or not isinstance(breaks, Sequence):
        raise ProblemError("breaks", "a list of breaks", show(breaks))
    resolved = []
    for number, given in enumerate(breaks, start=1):
        try:
            resolved.append(_as_break(given, unit))
        except ProblemError as error:
            raise error.at(f"break {number}, {error.field}") from None
    return tuple(resolved)


def _as_break(given: Any, unit: str) -> Break:
    if isinstance(given, Mapping):
        refuse_keys(given, [field.name for field in fields(Break)])
        if "duration" not in given:
            raise ProblemError("duration", "a duration of at least 0", "none")
        given = Break(**given)
    if not isinstance(given, Break):
        raise ProblemError("type", "a Break or a table of keys", show(given))
    if not isinstance(given.name, str):
        raise ProblemError("name", "text", show(given.name))
    duration = as_number("duration", as_durations(given.duration, unit))
    if not 0 <= duration < np.inf:
        raise ProblemError("duration", "a duration of at least 0", str(duration))
    windows = plain_array(given.windows)
    if windows is None:
        windows = [(None, None) if given.window is None else plain_array(given.window)]
    elif given.window is not None:
        raise ProblemError("window", "either a window or several", "both")
    if dimensions(windows) < 1 or isinstance(windows, str | Mapping) or not len(windows):
        raise ProblemError("windows", "a list of windows", show(given.windows))
    for window in windows:
        if dimensions(window) != 1 or len(window) != 2:
            raise ProblemError("window", "two moments", show(window))
    return replace(given, duration=duration, window=None, windows=tuple(map(tuple, windows)))


def called_break(one: Break, number: int) -> str:
    """What to call a break in a message."""
    return f"break {number} ({one.name})" if one.name else f"break {number}"


# More vehicles than any tensor of whole numbers could count; None is the way to say "any number".
MOST_VEHICLES = 10**9
NEVER = (-np.inf, np.inf)


@dataclass(frozen=True)
class Vehicle:
    """A type of vehicle. What it does not say is as the problem says.

    Nodes are numbers or ids. Within a :class:`~spacevrp.problems.problem.Problem` they are numbers,
    and amounts and times are plain numbers.

    Parameters
    ----------
    name
        What plans call it, each type by another name; by default its number, counted from 0.
    count
        How many of them there are; None for as many as are needed.
    capacity
        Load it can carry: one number or, with several kinds of load, one for each.
    start
        The depot where it starts; may be left out where there is one depot only.
    end
        The depot where it ends; by default where it started.
    open_route
        Its route ends at the last customer.
    fixed_cost
        Paid once for each vehicle that leaves.
    unit_distance_cost
        What a unit of distance costs.
    max_length
        Limit on the length of its route.
    max_duration
        Limit on the time from leaving to the end of its route, service and waiting included. The
        vehicle leaves as late as its route allows.
    window
        Its shift: it leaves not before the first moment and is back not after the second. Given as
        the ``windows`` of the problem are, None for no limit.
    allowed
        The only customers whom it may serve.
    forbidden
        Customers whom it may not serve.
    pinned
        The first customers of its route, in this order: decided already. There is one such vehicle.
    max_stops
        At most so many customers on its route.
    latest_start
        It leaves not later. A moment, given as the ``window`` is; None for no limit.
    max_overtime
        So much may be added to ``max_duration``.
    overtime_cost
        What a unit of time beyond ``max_duration`` costs.
    unit_duration_cost
        What a unit of time from leaving to the end of the route costs.
    speed_factor
        Its travel times are the durations divided by it.
    service
        Node -> duration of service where that differs for this type; a reload depot's, too.
    breaks
        The breaks of the driver, in this order, each a :class:`~spacevrp.problems.fleet.Break` or
        a table of its fields.
    reload_depots
        Depots where it may unload and load on its way, and so begin a new trip.
    max_reloads
        How often it may do so; None for no limit.
    on_board
        It is under way and carries the goods of exactly these customers, whom no other may
        serve. There is one such vehicle. None: it loads at its depot.
    """

    name: str = ""
    count: int | None = None
    capacity: Any = None
    start: Any = None
    end: Any = None
    open_route: bool | None = None
    fixed_cost: float = 0.0
    unit_distance_cost: float = 1.0
    max_length: float | None = None
    max_duration: float | None = None
    window: Any = None
    allowed: Any = None
    forbidden: Any = ()
    pinned: Any = ()
    max_stops: int | None = None
    latest_start: Any = None
    max_overtime: float = 0.0
    overtime_cost: float = 0.0
    unit_duration_cost: float = 0.0
    speed_factor: float = 1.0
    service: Any = ()
    breaks: Any = ()
    reload_depots: Any = ()
    max_reloads: int | None = None
    on_board: Any = None


@dataclass(frozen=True)
class Terms:
    """What holds for a vehicle of one type, nothing left unsaid.

    Attributes
    ----------
    number
        Of the type, counted from 0.
    capacities
        One for each kind of load; inf where that is unlimited.
    start, end
        Depots; ``end`` is None where the route ends at its last customer.
    leaves_from, back_by, latest_start
        The shift; infinite where there is none.
    forbidden
        Customers whom it may not serve, those pinned to or on board of others included.
    service
        (node, duration) where service differs for this type; see :meth:`service_at`.

    The others are as those of a :class:`Vehicle`.
    """

    number: int
    name: str
    count: int | None
    capacities: tuple[float, ...]
    start: int
    end: int | None
    fixed_cost: float
    max_length: float
    leaves_from: float = -np.inf
    back_by: float = np.inf
    forbidden: frozenset[int] = frozenset()
    pinned: tuple[int, ...] = ()
    unit_distance_cost: float = 1.0
    max_duration: float = np.inf
    max_stops: int | None = None
    latest_start: float = np.inf
    max_overtime: float = 0.0
    overtime_cost: float = 0.0
    unit_duration_cost: float = 0.0
    speed_factor: float = 1.0
    service: tuple[tuple[int, float], ...] = ()
    breaks: tuple[Break, ...] = ()
    reload_depots: tuple[int, ...] = ()
    max_reloads: int | None = None
    on_board: tuple[int, ...] | None = None

    @property
    def may_reload(self) -> bool:
        """Whether a new trip may begin on the way."""
        return bool(self.reload_depots) and self.max_reloads != 0

    def service_at(self, general: Array) -> Array:
        """Service (N,) of this type, where ``general`` is that of the problem."""
        if not self.service:
            return general
        own = general.copy()
        for node, duration in self.service:
            own[node] = duration
        return own


# ------------------------------------------------------------------------------- from user's values

UNSAID = {field.name: field.default for field in fields(Vehicle)}
_KINDS = {
    **{"text": "name", "flag": "open_route", "node": "start end", "duration": "max_overtime"},
    **{"service": "service", "breaks": "breaks", "moments": "window latest_start"},
    "whole": "count max_stops max_reloads",
    "limit": "capacity max_length max_duration",
    "number": "fixed_cost unit_distance_cost overtime_cost unit_duration_cost speed_factor",
    "nodes": "allowed forbidden pinned reload_depots on_board",
}
# What the fields of a vehicle hold: how they are converted, read and written follows from it.
KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_MANY = f"a whole number from 1 to {MOST_VEHICLES}, or None"
# Field -> whether a value is within its bounds, and how these are told.
BOUNDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "count": (lambda count: 1 <= count <= MOST_VEHICLES, _MANY),
    **dict.fromkeys(("max_length", "max_duration"), (lambda limit: limit > 0, "more than 0")),
    **dict.fromkeys(
        ("fixed_cost", "unit_distance_cost", "max_overtime", "overtime_cost", "unit_duration_cost"),
        (lambda amount: 0 <= amount < np.inf, "a finite number of at least 0"),
    ),
    "speed_factor": (lambda factor: 0 < factor < np.inf, "a finite number above 0"),
    "max_stops": (lambda stops: stops >= 1, "a whole number of at least 1, or None"),
    "max_reloads": (lambda times: times >= 0, "a whole number of at least 0, or None"),
}
# What is called a rule of routes, in the words of variant names.
ROUTE_RULES = {
    **{"max_stops": "limited stops", "latest_start": "latest starts", "max_overtime": "overtime"},
    **{"unit_duration_cost": "costs of time", "speed_factor": "speeds"},
    **{"service": "service by type", "breaks": "breaks", "reload_depots": "reloads"},
    "on_board": "goods on board",
}


def as_vehicles(
    vehicles: Any, ids: Sequence[Hashable] | None, kinds_of_load: int, unit: str = "s"
) -> tuple[Vehicle, ...] | None:
    """The types with every field converted but the moments; None where no vehicles are given."""
    if vehicles is None:
        return None
    if isinstance(vehicles, Vehicle | Mapping):
        vehicles = [vehicles]
    if isinstance(vehicles, str | bytes) or not isinstance(vehicles, Sequence):
        raise ProblemError("vehicles", "a list of vehicles", show(vehicles))
    if not vehicles:
        raise ProblemError("vehicles", "at least one type", "none")
    resolved = []
    for number, given in enumerate(vehicles):
        try:
            resolved.append(_as_vehicle(given, ids, kinds_of_load, unit))
        except ProblemError as error:
            raise blame_vehicle(error, number, _name_of(given)) from None
    return tuple(resolved)


def blame_vehicle(error: ProblemError, number: int, name: str = "") -> ProblemError:
    """The same error, which also says of which type."""
    called = f" ({name})" if name else ""
    return error.at(f"vehicles, type {number}{called}, {error.field}", error.node)


def _name_of(given: object) -> str:
    name = given.get("name") if isinstance(given, Mapping) else getattr(given, "name", "")
    return name if isinstance(name, str) else ""


def _as_vehicle(
    given: Any, ids: Sequence[Hashable] | None, kinds_of_load: int, unit: str
) -> Vehicle:
    vehicle = given
    if isinstance(given, Mapping):
        for key in given:
            refuse_not_modelled("vehicles", key)
        refuse_keys(given, UNSAID)
        vehicle = Vehicle(**given)
    if not isinstance(vehicle, Vehicle):
        raise ProblemError("type", "a Vehicle or a table of keys", show(given))

    def text(field: str, value: Any) -> str:
        if not isinstance(value, str):
            raise ProblemError(field, "text", show(value))
        return value

    def node(field: str, value: Any) -> int:
        return as_whole(field, resolve_nodes(value, ids, field), "a node's number or id")

    def nodes(field: str, value: Any) -> tuple[int, ...]:
        return as_nodes(field, (value,) if isinstance(value, int | str) else value, ids)

    def whole(field: str, value: Any) -> int:
        return as_whole(field, value, "a whole number, or None")

    def duration(field: str, value: Any) -> float:
        return as_number(field, as_durations(value, unit))

    def limit(field: str, value: Any) -> Any:
        number = as_capacities(value, kinds_of_load) if field == "capacity" else None
        return as_number(field, value) if number is None else number

    converters: dict[str, Callable[[str, Any], Any]] = {
        **{"text": text, "whole": whole, "number": as_number, "limit": limit, "flag": as_flag},
        **{"node": node, "nodes": nodes, "duration": duration},
        "service": lambda _, value: _as_service(value, ids, unit),
        "breaks": lambda _, value: as_breaks(value, unit),
        "moments": lambda _, value: value,  # read when there is a clock
    }
    read: dict[str, Any] = {}
    for name, unsaid in UNSAID.items():  # so that the first of several faults is told
        value = getattr(vehicle, name)
        is_unsaid = value is None and unsaid is None
        read[name] = None if is_unsaid else converters[KIND_OF[name]](name, value)
    if read["count"] is None and (read["pinned"] or read["on_board"] is not None):
        read["count"] = 1
    return replace(vehicle, **read)


def _as_service(
    service: Any, ids: Sequence[Hashable] | None, unit: str
) -> tuple[tuple[int, float], ...]:
    """(node, duration) in the order of nodes, from a table, or from such couples."""
    if service is None:
        return ()
    couples = list(service.items()) if isinstance(service, Mapping) else service
    if not isinstance(couples, list | tuple):
        raise ProblemError("service", "a table node -> duration", show(service))
    resolved: dict[int, float] = {}
    for couple in couples:
        if not isinstance(couple, list | tuple) or len(couple) != 2:
            raise ProblemError("service", "a table node -> duration", show(service))
        node = as_whole("service", resolve_nodes(couple[0], ids, "service"))
        try:
            resolved[node] = as_number("service", as_durations(couple[1], unit))
        except ProblemError as error:
            raise error.at("service", node) from None
    return tuple(sorted(resolved.items()))


def group_vehicles(vehicles: Iterable[dict[str, Any]]) -> list[tuple[dict[str, Any], list[int]]]:
    """The types: what the vehicles of one say, and their numbers, counted from 0.

    Vehicles that say the same are of one type.
    """
    types: dict[str, tuple[dict[str, Any], list[int]]] = {}
    for number, said in enumerate(vehicles):
        types.setdefault(repr(said), (said, []))[1].append(number)
    return list(types.values())


def as_alike(types: Sequence[dict[str, Any]], depots: int) -> dict[str, Any] | None:
    """Fields of a problem whose vehicles are all alike, from the types that a source has read.

    None where there are several types or depots, or the one says more than every problem can. The
    ``window`` of its shift stays: it is when the depot is open.
    """
    if len(types) != 1 or depots != 1 or types[0].get("end", 0) != types[0].get("start", 0):
        return None
    own = {"capacity", "max_length", "window", "open_route", "start", "end", "count", "name"}
    if not own.issuperset(types[0]):
        return None
    renamed = {"open_route": "open_routes", "count": "max_routes"}
    left_out = ("start", "end", "name")
    return {renamed.get(k, k): value for k, value in types[0].items() if k not in left_out}


def ways_out(fleet: tuple[Terms, ...]) -> tuple[tuple[int, int], ...]:
    """The different (start, end) of routes, in the order of types; open ones end at the start."""
    return tuple(dict.fromkeys((t.start, t.start if t.end is None else t.end) for t in fleet))


def called(terms: Terms) -> str:
    """What to call a type in a message."""
    return f"type {terms.number} ({terms.name})" if terms.name else f"type {terms.number}"


def unlearned_terms(fleet: tuple[Terms, ...]) -> str | None:
    """What vehicles have that the search knows, but not the network and most solvers; or None."""
    if any(terms.unit_distance_cost != 1 for terms in fleet):
        return "unit_distance_cost"
    if any(terms.max_duration < np.inf for terms in fleet):
        return "max_duration"
    return None

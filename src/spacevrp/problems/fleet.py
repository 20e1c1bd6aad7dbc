"""The fleet: types of vehicles with limits of their own, and what each of them may do."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Protocol

import numpy as np

from spacevrp.problems.clock import Clock, holds_moments, read_numbers, read_windows
from spacevrp.problems.conversion import (
    Array,
    as_flag,
    as_number,
    as_whole,
    plain_array,
    show,
)
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.keywords import refuse_not_modelled
from spacevrp.problems.labels import resolve_nodes
from spacevrp.problems.loads import as_capacities, dimensions

# More vehicles than any tensor of whole numbers could count; None is the way to say "any number".
MOST_VEHICLES = 10**9
_NEVER = (-np.inf, np.inf)


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
    max_length
        Limit on the length of its route.
    window
        Its shift: it leaves not before the first moment and is back not after the second. Given as
        the ``windows`` of the problem are, None for no limit.
    allowed
        The only customers whom it may serve.
    forbidden
        Customers whom it may not serve.
    pinned
        The first customers of its route, in this order: decided already. There is one such vehicle.
    """

    name: str = ""
    count: int | None = None
    capacity: Any = None
    start: Any = None
    end: Any = None
    open_route: bool | None = None
    fixed_cost: float = 0.0
    max_length: float | None = None
    window: Any = None
    allowed: Any = None
    forbidden: Any = ()
    pinned: Any = ()


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
    leaves_from, back_by
        The shift; infinite where there is none.
    forbidden
        Customers whom it may not serve, those pinned to others included.
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


class Fielded(Protocol):
    """What a fleet needs to know of its ``Problem``, whose module imports this one."""

    @property
    def depots(self) -> tuple[int, ...]: ...

    @property
    def customers(self) -> tuple[int, ...]: ...

    @property
    def capacities(self) -> tuple[float, ...]: ...

    @property
    def max_length(self) -> float: ...

    @property
    def open_routes(self) -> bool: ...

    @property
    def vehicles(self) -> tuple[Vehicle, ...] | None: ...


# ------------------------------------------------------------------------------- from user's values


def as_vehicles(
    vehicles: Any, ids: Sequence[Hashable] | None, kinds_of_load: int
) -> tuple[Vehicle, ...] | None:
    """The types with every field converted but the shifts; None where no vehicles are given."""
    if vehicles is None:
        return None
    if isinstance(vehicles, Vehicle | Mapping):
        vehicles = [vehicles]
    if isinstance(vehicles, str | bytes) or not isinstance(vehicles, Sequence):
        raise ProblemError("vehicles", expected="a list of vehicles", received=show(vehicles))
    if not vehicles:
        raise ProblemError("vehicles", expected="at least one type", received="none")
    resolved = []
    for number, given in enumerate(vehicles):
        try:
            resolved.append(_as_vehicle(given, ids, kinds_of_load))
        except ProblemError as error:
            raise blame_vehicle(error, number, _name_of(given)) from None
    return tuple(resolved)


def blame_vehicle(error: ProblemError, number: int, name: str = "") -> ProblemError:
    """The same error, which also says of which type."""
    called = f" ({name})" if name else ""
    return ProblemError(
        f"vehicles, type {number}{called}, {error.field}",
        node=error.node,
        expected=error.expected,
        received=error.received,
    )


def _name_of(given: object) -> str:
    name = given.get("name") if isinstance(given, Mapping) else getattr(given, "name", "")
    return name if isinstance(name, str) else ""


def _as_vehicle(given: Any, ids: Sequence[Hashable] | None, kinds_of_load: int) -> Vehicle:
    vehicle = _from_table(given) if isinstance(given, Mapping) else given
    if not isinstance(vehicle, Vehicle):
        raise ProblemError("type", expected="a Vehicle or a table of keys", received=show(given))
    if not isinstance(vehicle.name, str):
        raise ProblemError("name", expected="text", received=show(vehicle.name))

    def node(field: str) -> int | None:
        value = resolve_nodes(getattr(vehicle, field), ids, field)
        return None if value is None else as_whole(field, value, "a node's number or id")

    def nodes(field: str) -> tuple[int, ...]:
        values = plain_array(getattr(vehicle, field))
        if isinstance(values, np.ndarray):
            values = values.tolist()
        if isinstance(values, set | frozenset):
            values = sorted(values, key=str)
        if isinstance(values, int | str):
            values = (values,)
        if not isinstance(values, Sequence):
            raise ProblemError(field, expected="numbers or ids of nodes", received=show(values))
        return tuple(
            as_whole(field, one, "numbers or ids of nodes")
            for one in resolve_nodes(list(values), ids, field)
        )

    count = vehicle.count
    if count is not None:
        count = as_whole("count", count, "a whole number, or None")
    limit = vehicle.max_length
    flag = vehicle.open_route
    return replace(
        vehicle,
        count=1 if count is None and len(nodes("pinned")) else count,
        capacity=as_capacities(vehicle.capacity, kinds_of_load),
        start=node("start"),
        end=node("end"),
        open_route=None if flag is None else as_flag("open_route", flag),
        fixed_cost=as_number("fixed_cost", vehicle.fixed_cost),
        max_length=None if limit is None else as_number("max_length", limit),
        allowed=None if vehicle.allowed is None else nodes("allowed"),
        forbidden=nodes("forbidden"),
        pinned=nodes("pinned"),
    )


def _from_table(table: Mapping[str, Any]) -> Vehicle:
    known = [field.name for field in fields(Vehicle)]
    for key in table:
        if key not in known:
            refuse_not_modelled("vehicles", key)
            nearest = get_close_matches(str(key), known, n=1, cutoff=0.0)[0]
            raise ProblemError(
                "keys", expected=f"known ones (the nearest is {nearest!r})", received=show(key)
            )
    return Vehicle(**table)


def as_shift(window: Any) -> tuple[float, float]:
    """The two ends of a shift; infinite where there is no limit."""
    ends = list(window) if dimensions(window) == 1 else []
    if len(ends) != 2:
        raise ProblemError("window", expected="two moments", received=show(window))
    try:
        ((first, last),) = read_numbers([ends])
    except ProblemError as error:  # text or a date that is no moment
        raise ProblemError("window", expected=error.expected, received=error.received) from None
    return as_number("window", first), as_number("window", last)


def read_shifts(
    vehicles: tuple[Vehicle, ...], unit: str, clock: Clock | None, *, numbers: bool
) -> tuple[tuple[Vehicle, ...], Clock | None]:
    """The types with their shifts as numbers, and the clock; ``numbers`` where windows are."""
    rows: Any = [(None, None) if v.window is None else plain_array(v.window) for v in vehicles]
    if holds_moments(rows):
        if numbers:
            raise ProblemError(
                "vehicles, window", expected="numbers, as in windows", received="moments"
            )
        rows, clock = read_windows(rows, unit, clock)
    resolved = []
    for number, (vehicle, row) in enumerate(zip(vehicles, rows, strict=True)):
        try:
            window = None if vehicle.window is None else as_shift(row)
        except ProblemError as error:
            raise blame_vehicle(error, number, vehicle.name) from None
        resolved.append(replace(vehicle, window=window))
    return tuple(resolved), clock


def shifts_of(vehicles: Sequence[Vehicle]) -> Array:
    """The ends of the shifts (K, 2); infinite where there is no limit."""
    return np.array([vehicle.window or _NEVER for vehicle in vehicles]).reshape(-1, 2)


# --------------------------------------------------------------------------------- what holds


def terms_of(problem: Fielded) -> tuple[Terms, ...]:
    """The types with all that holds for them; of a uniform fleet, one type for each depot."""
    if problem.vehicles is None:
        return tuple(
            Terms(
                number=number,
                name="",
                count=None,
                capacities=problem.capacities,
                start=depot,
                end=None if problem.open_routes else depot,
                fixed_cost=0.0,
                max_length=problem.max_length,
            )
            for number, depot in enumerate(problem.depots)
        )
    pinned_to = {
        customer: number
        for number, vehicle in enumerate(problem.vehicles)
        for customer in vehicle.pinned
    }
    return tuple(
        _terms(problem, number, vehicle, pinned_to)
        for number, vehicle in enumerate(problem.vehicles)
    )


def _terms(problem: Fielded, number: int, vehicle: Vehicle, pinned_to: Mapping[int, int]) -> Terms:
    start = problem.depots[0] if vehicle.start is None else vehicle.start
    is_open = vehicle.open_route
    if is_open is None:
        is_open = problem.open_routes and vehicle.end is None
    end = None if is_open else start if vehicle.end is None else vehicle.end
    forbidden = set(vehicle.forbidden)
    forbidden |= {customer for customer, owner in pinned_to.items() if owner != number}
    if vehicle.allowed is not None:
        forbidden |= set(problem.customers) - set(vehicle.allowed)
    leaves_from, back_by = vehicle.window or _NEVER
    return Terms(
        number=number,
        name=vehicle.name,
        count=vehicle.count,
        capacities=problem.capacities if vehicle.capacity is None else vehicle.capacity,
        start=start,
        end=end,
        fixed_cost=vehicle.fixed_cost,
        max_length=problem.max_length if vehicle.max_length is None else vehicle.max_length,
        leaves_from=leaves_from,
        back_by=back_by,
        forbidden=frozenset(forbidden),
        pinned=vehicle.pinned,
    )


def ways_out(fleet: tuple[Terms, ...]) -> tuple[tuple[int, int], ...]:
    """The different (start, end) of routes, in the order of types; open ones end at the start."""
    return tuple(dict.fromkeys((t.start, t.start if t.end is None else t.end) for t in fleet))


def most_vehicles(problem: Fielded) -> int | None:
    """Vehicles there are in all; None where some type is without limit."""
    total = 0
    for vehicle in problem.vehicles or ():
        if vehicle.count is None:
            return None
        total += vehicle.count
    return total if problem.vehicles else None


def called(terms: Terms) -> str:
    """What to call a type in a message."""
    return f"type {terms.number} ({terms.name})" if terms.name else f"type {terms.number}"

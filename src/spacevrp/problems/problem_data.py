"""The fields of an instance, and what follows from them without any tolerance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from spacevrp.problems.clock import Clock
from spacevrp.problems.conversion import Array
from spacevrp.problems.distances import Distances
from spacevrp.problems.features import Features
from spacevrp.problems.fleet import NEVER, ROUTE_RULES, UNSAID, Terms, Vehicle
from spacevrp.problems.leniency import allows_unservable
from spacevrp.problems.objective import Objective


@dataclass(frozen=True)
class Group:
    """Customers of whom one is served, and the others are not.

    Parameters
    ----------
    nodes
        The customers: numbers, or their ids.
    required
        Whether one of them must be served; otherwise at most one is.
    """

    nodes: Sequence[int]
    required: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class RelationData:
    """Relations of a :class:`~spacevrp.problems.problem.Problem`, which says what they mean."""

    pickup: Array | None = None
    max_ride: Array | None = None
    lifo: bool = False
    groups: tuple[Group, ...] = ()
    same_route: tuple[tuple[int, ...], ...] = ()
    different_routes: tuple[tuple[int, ...], ...] = ()
    order: tuple[tuple[int, int], ...] = ()
    priority: Array | None = None
    objective: Objective = field(default_factory=Objective)


LoadRule = Literal["paper", "single", "separate"]


@dataclass(frozen=True, eq=False)
class ProblemData(RelationData):
    """The fields of a :class:`~spacevrp.problems.problem.Problem`, which says what they mean."""

    distances: Distances
    durations: Distances = None  # type: ignore[assignment]  # filled in by __post_init__
    depots: tuple[int, ...] = ()
    demand: Array = None  # type: ignore[assignment]
    capacity: float = np.inf
    load_rule: LoadRule = None  # type: ignore[assignment]
    windows: Array = None  # type: ignore[assignment]
    service: Array = None  # type: ignore[assignment]
    max_length: float = np.inf
    open_routes: bool = None  # type: ignore[assignment]
    backhaul_last: bool = None  # type: ignore[assignment]
    prize: Array = None  # type: ignore[assignment]
    penalty: Array = None  # type: ignore[assignment]
    min_prize: float = 0.0
    revealed_prize: Array | None = None
    maximise_prize: bool = None  # type: ignore[assignment]
    pairs: tuple[tuple[int, int], ...] = ()
    max_routes: int | None = None
    variant: str | None = None
    name: str = field(default="", compare=False)
    vehicle_ids: Mapping[str, Sequence[int | str]] | None = field(default=None, kw_only=True)
    ids: tuple[Hashable, ...] | None = None
    places: Array | None = None
    geographic: bool = False
    time_unit: str = "s"
    clock: Clock | None = None
    vehicles: tuple[Vehicle, ...] | None = None
    more_demand: Array | None = None
    more_capacity: tuple[float, ...] = ()
    allow_unservable: bool = field(default_factory=allows_unservable, compare=False)
    closed: tuple[tuple[int, float, float], ...] = ()
    release: Array | None = None
    setup: Array | None = None
    travel_times: tuple[tuple[float, Array], ...] = ()

    @property
    def size(self) -> int:
        """Number of nodes, depots included."""
        return self.distances.size

    @cached_property
    def customers(self) -> tuple[int, ...]:
        """All nodes that are not depots, in the user's numbering."""
        depots = set(self.depots)
        return tuple(node for node in range(self.size) if node not in depots)

    @property
    def kinds_of_load(self) -> int:
        """D, the number of kinds of load."""
        return 1 if self.more_demand is None else 1 + self.more_demand.shape[1]

    @cached_property
    def loads(self) -> Array:
        """Demand of every kind, (N, D)."""
        first = self.demand[:, np.newaxis]
        loads = first if self.more_demand is None else np.hstack([first, self.more_demand])
        loads.setflags(write=False)
        return loads

    @cached_property
    def pickups(self) -> Array:
        """What is collected of every kind where something is delivered, (N, D)."""
        if self.pickup is None:
            return np.zeros_like(self.loads)
        return self.pickup.reshape(self.loads.shape)

    @property
    def real_prizes(self) -> Array:
        """What visits yield, (N,): as far as it is known, the real prizes."""
        return self.prize if self.revealed_prize is None else self.revealed_prize

    @property
    def capacities(self) -> tuple[float, ...]:
        """The capacity for every kind of load, unless a vehicle has its own."""
        return (self.capacity, *self.more_capacity)

    @property
    def has_own_fleet(self) -> bool:
        """Whether vehicles differ, or carry several kinds of load."""
        return self.vehicles is not None or self.more_demand is not None

    @cached_property
    def fleet(self) -> tuple[Terms, ...]:
        """What holds for each type of vehicle; of a uniform fleet, one type for each depot."""
        if self.vehicles is None:
            return tuple(self.uniform_terms(depot, k) for k, depot in enumerate(self.depots))
        owner = {
            node: number
            for number, one in enumerate(self.vehicles)
            for node in (*one.pinned, *(one.on_board or ()))
        }
        return tuple(
            self._terms(number, vehicle, {node for node in owner if owner[node] != number})
            for number, vehicle in enumerate(self.vehicles)
        )

    def uniform_terms(self, start: int, number: int = 0) -> Terms:
        """What holds for every vehicle that starts there, where all are alike."""
        end = None if self.open_routes else start
        return Terms(number, "", None, self.capacities, start, end, 0.0, self.max_length)

    def _terms(self, number: int, vehicle: Vehicle, kept_for_others: set[int]) -> Terms:
        start = self.depots[0] if vehicle.start is None else vehicle.start
        is_open = vehicle.open_route
        if is_open is None:
            is_open = self.open_routes and vehicle.end is None
        end = None if is_open else start if vehicle.end is None else vehicle.end
        forbidden = kept_for_others | set(vehicle.forbidden)
        if vehicle.allowed is not None:
            forbidden |= set(self.customers) - set(vehicle.allowed)
        leaves_from, back_by = vehicle.window or NEVER
        own: dict[str, Any] = {
            "number": number,
            "capacities": self.capacities if vehicle.capacity is None else vehicle.capacity,
            "start": start,
            "end": end,
            "max_length": self.max_length if vehicle.max_length is None else vehicle.max_length,
            "leaves_from": leaves_from,
            "back_by": back_by,
            "forbidden": frozenset(forbidden),
            "max_duration": np.inf if vehicle.max_duration is None else vehicle.max_duration,
            "latest_start": np.inf if vehicle.latest_start is None else vehicle.latest_start,
        }
        same = {
            one.name: getattr(vehicle, one.name) for one in fields(Terms) if one.name not in own
        }
        terms = Terms(**own, **same)
        if terms.on_board is not None and not terms.may_reload:
            absent = self.loaded_customers - set(terms.on_board)
            terms = replace(terms, forbidden=terms.forbidden | absent)
        return terms

    @cached_property
    def loaded_customers(self) -> frozenset[int]:
        """Customers whose goods come from a depot: a delivery that is not of a pair."""
        delivered = np.flatnonzero((self.loads > 0).any(axis=1)).tolist()
        return frozenset(delivered) - self.paired_customers

    @cached_property
    def paired_customers(self) -> frozenset[int]:
        """Customers who have a partner."""
        return frozenset(node for pair in self.pairs for node in pair)

    @cached_property
    def route_rules(self) -> tuple[str, ...]:
        """The rules of routes that are present, by the fields that say them; usually none."""
        found = [
            name
            for name in ("closed", "release", "setup", "travel_times")
            if getattr(self, name) is not None and len(getattr(self, name))
        ]
        found += [
            name
            for name in ROUTE_RULES
            if any(getattr(vehicle, name) != UNSAID[name] for vehicle in self.vehicles or ())
        ]
        return tuple(found)

    @property
    def has_route_rules(self) -> bool:
        """Whether the time of a route follows from its whole schedule, or it has several trips."""
        return bool(self.route_rules)

    @property
    def fleet_size(self) -> int | None:
        """At most this many routes, by ``max_routes`` and the vehicles; None for no limit."""
        counts = [vehicle.count for vehicle in self.vehicles or ()]
        known = [count for count in counts if count is not None]
        limits = [] if self.max_routes is None else [self.max_routes]
        if known and len(known) == len(counts):
            limits.append(sum(known))
        return min(limits, default=None)

    @cached_property
    def inferred_features(self) -> Features:
        """The constraint flags the data show."""
        customers = list(self.customers)
        limits = np.array([terms.capacities for terms in self.fleet] or [self.capacities])  # (K, D)
        demanded = (self.loads != 0).any(axis=0)  # (D,)
        if self.pickup is not None:
            demanded |= (self.pickups > 0).any(axis=0)
        capacitated = bool((np.isfinite(limits) & demanded).any())
        lengths = [terms.max_length for terms in self.fleet] or [self.max_length]
        shifts = [(terms.leaves_from, terms.back_by) for terms in self.fleet]
        paired = bool(self.pairs)
        chosen = {node for group in self.groups for node in group.nodes}
        judged = [node for node in customers if node not in chosen] if chosen else customers
        may_skip = bool(np.isfinite(self.penalty[judged]).any()) and not self.maximise_prize
        collects = bool((self.loads < 0).any()) or self.pickup is not None
        return Features(
            asymmetric=not (self.distances.is_symmetric and self.durations.is_symmetric),
            depot=bool(self.depots),
            multi_depot=len(self.depots) > 1,
            several_routes=self.fleet_size != 1,
            open_routes=self._ends_openly,
            capacity=capacitated,
            backhaul=capacitated and not paired and collects,
            backhaul_last=self.backhaul_last,
            length_limit=bool(np.isfinite(lengths).any()),
            time_windows=bool(
                np.isfinite(self.windows[:, 1]).any()
                or (self.windows[:, 0] > 0).any()
                or np.isfinite(shifts).any()
            ),
            orienteering=self.maximise_prize,
            prize_collecting=may_skip,
            stochastic_prizes=self.revealed_prize is not None,
            pickup_delivery=paired,
        )

    @property
    def _ends_openly(self) -> bool:
        """Whether no vehicle goes back to a depot."""
        if self.vehicles is None:
            return self.open_routes
        return all(terms.end is None for terms in self.fleet)

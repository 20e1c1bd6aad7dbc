"""One routing instance: frozen, validated once, neutral wherever a feature is absent."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from spacevrp.problems.clock import (
    TIME_UNITS,
    Clock,
    as_durations,
    check_unit,
    holds_moments,
    read_numbers,
    read_windows,
)
from spacevrp.problems.constructors import Constructors
from spacevrp.problems.conversion import (
    Array,
    as_depots,
    as_flag,
    as_number,
    as_pairs,
    as_whole,
    as_windows,
    per_node,
    plain_array,
    show,
)
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.features import Features
from spacevrp.problems.fleet import (
    Terms,
    Vehicle,
    as_vehicles,
    most_vehicles,
    read_shifts,
    shifts_of,
    terms_of,
)
from spacevrp.problems.implied import NEUTRAL_FLAGS, flags_of
from spacevrp.problems.keywords import refuse_unknown
from spacevrp.problems.labels import as_ids, as_places, resolve_nodes, with_id
from spacevrp.problems.leniency import allows_unservable
from spacevrp.problems.loads import read_loads
from spacevrp.problems.openings import fill_openings
from spacevrp.problems.scales import BASE_TOLERANCE, Scales
from spacevrp.problems.validation import validate
from spacevrp.problems.variants import describe_features, parse_variant
from spacevrp.problems.vroom_names import as_vehicle_ids

LoadRule = Literal["paper", "single", "separate"]
LOAD_RULES: tuple[str, ...] = get_args(LoadRule)

__all__ = ["BASE_TOLERANCE", "LOAD_RULES", "LoadRule", "Problem"]


@dataclass(frozen=True, eq=False)
class Problem(Constructors, Scales):
    """A routing instance in the user's own units and numbering.

    Build one with :meth:`from_coordinates`, :meth:`from_lonlat` or :meth:`from_matrix`, or from
    what another program wrote: :meth:`from_frame`, :meth:`from_ortools`, :meth:`from_table`,
    :meth:`from_vroom`; :meth:`from_data` finds out which. Absent features keep their neutral
    defaults: no demand, infinite capacity, windows that never close, no length limit.
    What a declared variant says goes without saying: ``variant="OCVRP"`` opens the routes,
    ``variant="OP"`` means one route and as much prize as possible. To contradict it is an error.

    Parameters
    ----------
    distances
        What travelling costs.
    durations
        How long travelling takes, for time windows; defaults to ``distances``.
    depots
        Nodes where routes start, or their ids. Empty for the TSP. Anywhere in the numbering.
    demand
        (N,) what leaves the vehicle at the node: positive for deliveries, negative for pickups.
        With several kinds of load (N, D): the first kind is then kept here, the others in
        ``more_demand``, and :attr:`loads` has them all.
    capacity
        Load a vehicle can carry; with several kinds of load D numbers, kept like the demand.
    load_rule
        How pickups and deliveries share the vehicle (see ``docs/concepts/load.md``): ``single`` by
        default where a variant is declared, and ``separate`` otherwise.
    windows
        (N, 2) earliest and latest start of service; a depot's window is when it is open. Numbers,
        or dates with a time (datetime, ISO text), or times of day (``"08:30"``), with None for no
        limit; these are kept as numbers after the ``clock``'s origin, and plans give them back.
        Without an opening, vehicles leave a depot as early as any customer needs.
    service
        (N,) duration of service: numbers, or timedeltas.
    max_length
        Limit on the length of each route.
    open_routes
        The leg back to the depot neither costs nor counts.
    backhaul_last
        In each route, deliveries come before pickups.
    prize
        (N,) collected on the visit.
    penalty
        (N,) paid for skipping the node; infinite where a visit is compulsory.
    min_prize
        At least this much prize must be collected, or every node visited.
    revealed_prize
        (N,) the real prizes of a stochastic problem, unknown before the visit.
    maximise_prize
        Collect as much prize as possible instead of travelling as little as possible.
    pairs
        (pickup, delivery) nodes, served in this order by the same vehicle.
    max_routes
        At most this many routes; None for no limit, or for the one route of a declared variant.
    variant
        The declared variant; None to infer it from the data.
    name
        A name for messages and files.
    ids
        N names of the nodes, each once; plans use them.
    places
        (N, 2) where nodes lie on a map, where that does not follow from the coordinates.
    geographic
        Places are longitude and latitude in degrees.
    time_unit
        What durations are in beside dates and timedeltas: ``s``, ``min`` or ``h``.
    clock
        How the numbers of windows are the user's moments; None where they are his numbers.
    vehicles
        The types of vehicles, each a :class:`~spacevrp.problems.fleet.Vehicle` or a table of its
        fields; None where all are alike and there are as many as are needed.
    more_demand, more_capacity
        (N, D - 1) demand and D - 1 capacities of the kinds of load beyond the first.
    allow_unservable
        Compulsory customers whom no vehicle can serve are allowed; plans leave them out, and say
        why. By default they are refused, as a slip in the data.
    """

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
    ids: tuple[Hashable, ...] | None = None
    places: Array | None = None
    geographic: bool = False
    time_unit: str = "s"
    clock: Clock | None = None
    vehicles: tuple[Vehicle, ...] | None = None
    more_demand: Array | None = None
    more_capacity: tuple[float, ...] = ()
    allow_unservable: bool = field(default_factory=allows_unservable, compare=False)

    def __post_init__(self) -> None:
        try:
            self._convert()
        except ProblemError as error:
            raise with_id(error, self.ids if isinstance(self.ids, tuple) else None) from None

    def _convert(self) -> None:
        """Convert, fill in and check every field."""
        if not isinstance(self.distances, Distances):
            raise ProblemError(
                "distances",
                expected="Distances; or use Problem.from_coordinates or Problem.from_matrix",
                received=show(self.distances),
            )
        size = self.distances.size

        def keep(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        check_unit(self.time_unit)
        if self.durations is None:
            keep("durations", self.distances)
        elif not isinstance(self.durations, Distances):
            travel = as_durations(plain_array(self.durations), self.time_unit)
            keep("durations", Distances(matrix=travel, field="durations"))
        keep("ids", as_ids(self.ids, size))
        keep("vehicle_ids", as_vehicle_ids(self.vehicle_ids))
        keep("geographic", as_flag("geographic", self.geographic))
        keep("places", as_places(self.places, size, geographic=self.geographic))
        if self.geographic and self.places is None:
            points = self.distances.coordinates
            if as_places(points, size, geographic=True, field="coordinates") is None:
                raise ProblemError("geographic", expected="places, too", received="a matrix alone")
        depots = resolve_nodes(self.depots, self.ids, "depots")
        keep("depots", as_depots(depots))
        implied = NEUTRAL_FLAGS
        if self.variant is not None:
            implied = flags_of(parse_variant(self.variant).features)
        for name, value in implied.items():
            if getattr(self, name) is None:
                keep(name, value)
        for name in ("open_routes", "backhaul_last", "maximise_prize", "allow_unservable"):
            keep(name, as_flag(name, getattr(self, name)))
        service = as_durations(plain_array(self.service), self.time_unit)
        keep("service", per_node("service", service, size, 0.0))
        demand, more_demand, capacities = read_loads(
            size, self.demand, self.more_demand, self.capacity, self.more_capacity
        )
        keep("demand", demand)
        keep("more_demand", more_demand)
        keep("capacity", capacities[0])
        keep("more_capacity", capacities[1:])
        keep("vehicles", as_vehicles(self.vehicles, self.ids, self.kinds_of_load))
        keep("prize", per_node("prize", self.prize, size, 0.0))
        skip_cost = 0.0 if self.maximise_prize else np.inf
        keep("penalty", per_node("penalty", self.penalty, size, skip_cost))
        if self.revealed_prize is not None:
            revealed = per_node("revealed_prize", self.revealed_prize, size, 0.0)
            keep("revealed_prize", revealed)
        self._set_windows()
        for name in ("max_length", "min_prize"):
            keep(name, as_number(name, getattr(self, name)))
        keep("pairs", as_pairs(resolve_nodes(self.pairs, self.ids, "pairs")))
        if self.max_routes is not None:
            keep("max_routes", as_whole("max_routes", self.max_routes, "a whole number or None"))
        elif not self.depots:
            keep("max_routes", 1)  # without a depot there is one closed tour
        if not isinstance(self.load_rule, str) or self.load_rule not in LOAD_RULES:
            raise ProblemError(
                "load_rule", expected=f"one of {LOAD_RULES}", received=show(self.load_rule)
            )
        if not isinstance(self.name, str):
            raise ProblemError("name", expected="text", received=show(self.name))
        validate(self)

    def _set_windows(self) -> None:
        """Moments as numbers after the clock's origin; numbers as they are."""
        if not isinstance(self.clock, Clock | None):
            raise ProblemError("clock", expected="a Clock or None", received=show(self.clock))
        windows = plain_array(self.windows)
        if holds_moments(windows):
            windows, clock = read_windows(windows, self.time_unit, self.clock)
            object.__setattr__(self, "clock", clock)
        else:
            windows = read_numbers(windows)
        if self.vehicles is not None:
            vehicles, clock_of_shifts = read_shifts(
                self.vehicles,
                self.time_unit,
                self.clock,
                numbers=windows is not None and self.clock is None,
            )
            object.__setattr__(self, "vehicles", vehicles)
            object.__setattr__(self, "clock", clock_of_shifts)
            if windows is None and clock_of_shifts is not None:
                windows = np.tile([-np.inf, np.inf], (self.size, 1))
        if self.clock is not None and self.clock.unit != self.time_unit:
            if self.time_unit != "s":
                raise ProblemError("time_unit", expected=self.clock.unit, received=self.time_unit)
            object.__setattr__(self, "time_unit", self.clock.unit)
        windows = as_windows(windows, self.size)
        if self.durations.size == self.size and all(0 <= d < self.size for d in self.depots):
            # Otherwise the checks that follow say what is wrong.
            windows = fill_openings(
                windows,
                shifts_of(self.vehicles or ()),
                self.depots,
                self.durations,
                self.service,
                day=24 * TIME_UNITS["h"] / TIME_UNITS[self.time_unit],
                midnight=None if self.clock is None else self.clock.midnight,
            )
            windows.setflags(write=False)
        object.__setattr__(self, "windows", windows)

    # ------------------------------------------------------------------ what follows from the data

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
        return terms_of(self)

    @property
    def fleet_size(self) -> int | None:
        """At most this many routes, by ``max_routes`` and the vehicles; None for no limit."""
        limits = [n for n in (self.max_routes, most_vehicles(self)) if n is not None]
        return min(limits, default=None)

    @cached_property
    def features(self) -> Features:
        """The constraint flags: those of the declared variant, or what the data show."""
        return parse_variant(self.variant).features if self.variant else self.inferred_features

    @cached_property
    def inferred_features(self) -> Features:
        """The constraint flags the data show."""
        customers = list(self.customers)
        limits = np.array([terms.capacities for terms in self.fleet] or [self.capacities])  # (K, D)
        demanded = (self.loads != 0).any(axis=0)  # (D,)
        capacitated = bool((np.isfinite(limits) & demanded).any())
        lengths = [terms.max_length for terms in self.fleet] or [self.max_length]
        shifts = [(terms.leaves_from, terms.back_by) for terms in self.fleet]
        paired = bool(self.pairs)
        may_skip = bool(np.isfinite(self.penalty[customers]).any()) and not self.maximise_prize
        return Features(
            asymmetric=not (self.distances.is_symmetric and self.durations.is_symmetric),
            depot=bool(self.depots),
            multi_depot=len(self.depots) > 1,
            several_routes=self.fleet_size != 1,
            open_routes=self._ends_openly,
            capacity=capacitated,
            backhaul=capacitated and not paired and bool((self.loads < 0).any()),
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

    @property
    def variant_name(self) -> str:
        """The declared or inferred variant, or the flags spelled out where there is no name.

        A fleet is added in brackets: there is no name for it.
        """
        name = self.variant or describe_features(self.features)
        parts = []
        if self.vehicles is not None:
            types = len(self.vehicles)
            parts.append("1 vehicle type" if types == 1 else f"{types} vehicle types")
        if self.kinds_of_load > 1:
            parts.append(f"{self.kinds_of_load} kinds of load")
        return f"{name} ({', '.join(parts)})" if parts else name

    @property
    def has_unknown_prizes(self) -> bool:
        """Whether how far a vehicle must go depends on prizes that only a visit reveals."""
        return self.revealed_prize is not None and self.min_prize > 0

    def as_expected(self) -> Problem:
        """The same where every visit yields the prize that is expected of it."""
        if self.revealed_prize is None:
            return self
        return self.replace(revealed_prize=None, variant=None)

    def replace(self, **changes: Any) -> Problem:
        """A copy with some fields changed, validated again."""
        refuse_unknown("replace", changes, (one.name for one in fields(self) if one.init))
        if "distances" in changes and self.durations is self.distances:
            changes.setdefault("durations", None)  # durations that followed go on following
        for name, more, none in (
            ("demand", "more_demand", None),
            ("capacity", "more_capacity", ()),
        ):
            if name in changes:
                changes.setdefault(more, none)  # all kinds of load are given again
        return replace(self, **changes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return all(
            _same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self) if f.compare
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        label = f" {self.name!r}" if self.name else ""
        return f"<Problem{label}: {self.variant_name}, {self.size} nodes, depots {self.depots}>"


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, Distances) and isinstance(right, Distances):
        if (left.coordinates is None) != (right.coordinates is None):
            return False
        if left.coordinates is not None and right.coordinates is not None:
            same_points = np.array_equal(left.coordinates, right.coordinates)
            return bool(same_points) and left.metric == right.metric
        return bool(np.array_equal(left.matrix(), right.matrix()))
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):  # one may be None
        return type(left) is type(right) and bool(np.array_equal(left, right))
    return bool(left == right)

"""One routing instance: frozen, validated once, neutral wherever a feature is absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np

from spacevrp.problems.clock import Clock, as_durations, check_unit
from spacevrp.problems.constructors import Constructors
from spacevrp.problems.conversion import (
    as_depots,
    as_flag,
    as_number,
    as_pairs,
    as_whole,
    as_windows,
    per_node,
    plain_array,
    read_loads,
    show,
)
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import ProblemError, SpacevrpError, UnsupportedError
from spacevrp.problems.features import Features
from spacevrp.problems.fleet import as_vehicles
from spacevrp.problems.keywords import refuse_unknown
from spacevrp.problems.labels import as_ids, as_places, resolve_nodes, with_id
from spacevrp.problems.moments import (
    Reading,
    fill_openings,
    read_all_windows,
    read_release,
    read_travel_times,
    read_vehicle_moments,
)
from spacevrp.problems.problem_data import LoadRule
from spacevrp.problems.relations import present_relations, read_relations
from spacevrp.problems.route_rules import RULE_WORDS, as_setup, least_durations
from spacevrp.problems.scales import BASE_TOLERANCE
from spacevrp.problems.sources.columns import is_frame
from spacevrp.problems.validation import validate
from spacevrp.problems.variants import NEUTRAL_FLAGS, describe_features, flags_of, parse_variant
from spacevrp.problems.vroom_names import as_vehicle_ids

LOAD_RULES: tuple[str, ...] = get_args(LoadRule)

__all__ = ["BASE_TOLERANCE", "LOAD_RULES", "LoadRule", "Problem"]


@dataclass(frozen=True, eq=False)
class Problem(Constructors):
    """A routing instance in the user's own units and numbering.

    Build one with :meth:`from_coordinates`, :meth:`from_lonlat` or :meth:`from_matrix`, or from
    what another program wrote; :meth:`from_data` finds out which. Absent features keep their
    neutral defaults: no demand, infinite capacity, windows that never close, no length limit.
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
        (N, 2) earliest and latest start of service; a depot's window is when it is open. Customers
        may have a list of windows instead, in order: here is then what they span, and the gaps are
        in ``closed``. Numbers, or dates with a time (datetime, ISO text), or times of day
        (``"08:30"``), with None for no limit; these are kept as numbers after the ``clock``'s
        origin, and plans give them back. Without an opening, vehicles leave a depot as early as any
        customer needs.
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
    pickup
        (N,) or (N, D) what is collected at a stop that ``demand`` delivers to.
    max_ride
        For each pair, or one for all: how long goods or people may be on board, from the end of
        service at the pickup to the start of service at the delivery.
    lifo
        What was loaded last is unloaded first.
    groups
        Sets of customers of whom one is served, each a
        :class:`~spacevrp.problems.problem_data.Group`, a table of its fields, or a list of nodes.
    same_route, different_routes
        Sets of customers: those of a set who are served share one route, or none shares a route.
    order
        (earlier, later) customers: where one route serves both, in this order.
    priority
        (N,) whole numbers from 0 to 100: where not all can be served, a plan that leaves out less
        of their sum is better.
    objective
        What is minimised, if not the cost: an :class:`~spacevrp.problems.objective.Objective`,
        terms in their order, or weights by term.
    vehicle_ids
        What the program that stated the problem calls its vehicles: name of the type -> ids of its
        vehicles, with an empty name where all are alike; None where that is unknown. Answers for
        such programs use them.
    closed
        (node, from, until) where customers have several windows: service does not begin between.
    release
        (N,) when the goods of a customer are at the depot, moments as in ``windows``: a trip that
        carries them leaves not earlier. None for always, of all or of a single one.
    setup
        (N,) duration added to the service unless the stop before is at the same place.
    travel_times
        ((moment, durations (N, N)), ...): how long travelling takes by the time of day; between two
        moments what lies between. ``durations`` are then the least of them.
    """

    def __post_init__(self) -> None:
        try:
            self._convert()
        except ProblemError as error:
            raise with_id(error, self.ids if isinstance(self.ids, tuple) else None) from None

    def _convert(self) -> None:
        """Convert, fill in and check every field."""
        if not isinstance(self.distances, Distances):
            expected = "Distances; or use Problem.from_coordinates or Problem.from_matrix"
            raise ProblemError("distances", expected, show(self.distances))
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
                raise ProblemError("geographic", "places, too", "a matrix alone")
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
        keep("setup", as_setup(self.setup, size, self.time_unit))
        demand, more_demand, capacities = read_loads(
            size, self.demand, self.more_demand, self.capacity, self.more_capacity
        )
        keep("demand", demand)
        keep("more_demand", more_demand)
        keep("capacity", capacities[0])
        keep("more_capacity", capacities[1:])
        keep("vehicles", as_vehicles(self.vehicles, self.ids, self.kinds_of_load, self.time_unit))
        skip_cost = 0.0 if self.maximise_prize else np.inf
        for name, neutral in (("prize", 0.0), ("penalty", skip_cost), ("revealed_prize", 0.0)):
            if name != "revealed_prize" or self.revealed_prize is not None:
                keep(name, per_node(name, getattr(self, name), size, neutral))
        self._set_times()
        for name in ("max_length", "min_prize"):
            keep(name, as_number(name, getattr(self, name)))
        keep("pairs", as_pairs(resolve_nodes(self.pairs, self.ids, "pairs")))
        for name, value in read_relations(self).items():
            keep(name, value)
        if self.max_routes is not None:
            keep("max_routes", as_whole("max_routes", self.max_routes, "a whole number or None"))
        elif not self.depots:
            keep("max_routes", 1)  # without a depot there is one closed tour
        if not isinstance(self.load_rule, str) or self.load_rule not in LOAD_RULES:
            raise ProblemError("load_rule", f"one of {LOAD_RULES}", show(self.load_rule))
        if not isinstance(self.name, str):
            raise ProblemError("name", "text", show(self.name))
        validate(self)

    def _set_times(self) -> None:
        """Moments as numbers after the clock's origin; numbers as they are."""
        if not isinstance(self.clock, Clock | None):
            raise ProblemError("clock", "a Clock or None", show(self.clock))
        reading = Reading(self.time_unit, self.clock)
        windows, closed = read_all_windows(
            reading, self.windows, self.closed, self.size, self.depots
        )
        found: dict[str, Any] = {"closed": closed}
        if self.vehicles is not None:
            found["vehicles"] = read_vehicle_moments(reading, self.vehicles)
        found["release"] = read_release(reading, self.release, self.size)
        found["travel_times"] = read_travel_times(reading, self.travel_times, self.size)
        if windows is None and reading.clock is not None:
            windows = np.tile([-np.inf, np.inf], (self.size, 1))
        if reading.clock is not None and reading.clock.unit != self.time_unit:
            if self.time_unit != "s":
                raise ProblemError("time_unit", reading.clock.unit, self.time_unit)
            found["time_unit"] = reading.clock.unit
        for name, value in (found | {"clock": reading.clock}).items():
            object.__setattr__(self, name, value)
        if self.travel_times:
            object.__setattr__(self, "durations", least_durations(self))
        windows = as_windows(windows, self.size)
        if self.durations.size == self.size and all(0 <= d < self.size for d in self.depots):
            # Otherwise the checks that follow say what is wrong.
            windows = fill_openings(self, windows)
            windows.setflags(write=False)
        object.__setattr__(self, "windows", windows)

    # ------------------------------------------------------------------ what follows from the data

    @cached_property
    def features(self) -> Features:
        """The constraint flags: those of the declared variant, or what the data show."""
        return parse_variant(self.variant).features if self.variant else self.inferred_features

    @property
    def variant_name(self) -> str:
        """The declared or inferred variant, or the flags spelled out where there is no name.

        A fleet and rules of routes are added in brackets: there is no name for them.
        """
        name = self.variant or describe_features(self.features)
        beside = self.beside_variant
        return f"{name} ({', '.join(beside)})" if beside else name

    @property
    def beside_variant(self) -> list[str]:
        """What the problem has that no variant says, in words."""
        parts = []
        if self.vehicles is not None:
            types = len(self.vehicles)
            parts.append("1 vehicle type" if types == 1 else f"{types} vehicle types")
        if self.kinds_of_load > 1:
            parts.append(f"{self.kinds_of_load} kinds of load")
        parts += [name.replace("_", " ") for name in present_relations(self)]
        return parts + [RULE_WORDS[rule] for rule in self.route_rules]

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
        if "groups" in changes and self.groups and "penalty" not in changes:
            penalty = np.array(self.penalty)
            penalty[[node for group in self.groups for node in group.nodes]] = (
                0.0 if self.maximise_prize else np.inf
            )
            changes["penalty"] = penalty  # who is in no group any more must be served again
        if "windows" in changes:
            changes.setdefault("closed", ())  # and so are all windows of a node
        if "travel_times" in changes or (self.travel_times and "durations" in changes):
            changes.setdefault("durations", None)
            changes.setdefault("travel_times", ())  # one of both says how long travelling takes
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
        return left.same_as(right)
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):  # one may be None
        return type(left) is type(right) and bool(np.array_equal(left, right))
    if isinstance(left, tuple) and isinstance(right, tuple) and left and right:
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


_EXPECTED = "expected a Problem or several"


def as_problems(given: Any) -> tuple[list[Problem], bool]:
    """The problems, and whether one was given rather than a list.

    One is a :class:`Problem`, or what :meth:`Problem.from_data` takes: a data frame, or a table of
    keys. A list may mix them, and their sizes and variants.
    """
    if is_one(given):
        return [_as_problem(given)], True
    if isinstance(given, str | bytes | Path):
        raise SpacevrpError(f"problem: {_EXPECTED}, received {show(given)}; see spacevrp.read")
    try:
        several = list(given)
    except TypeError:
        raise SpacevrpError(f"problem: {_EXPECTED}, received {show(given)}") from None
    problems = []
    for number, entry in enumerate(several):
        if not is_one(entry):
            raise SpacevrpError(f"problem, number {number}: {_EXPECTED}, received {show(entry)}")
        try:
            problems.append(_as_problem(entry))
        except (ProblemError, UnsupportedError) as error:
            raise SpacevrpError(f"problem, number {number}: {error}") from error
    return problems, False


def is_one(given: Any) -> bool:
    """Whether this is one problem, in any form, rather than a list of them."""
    return isinstance(given, Problem | Mapping) or is_frame(given)


def _as_problem(given: Any) -> Problem:
    return given if isinstance(given, Problem) else Problem.from_data(given)

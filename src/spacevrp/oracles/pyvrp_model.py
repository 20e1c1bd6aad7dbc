"""A problem in PyVRP's terms, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from spacevrp.oracles.base import most_routes, route_parts
from spacevrp.oracles.fleet import WholeFleet, WholeType, scale_fleet
from spacevrp.oracles.scaling import Routes, WholeProblem
from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

# PyVRP's own bound on matrix entries, less a margin for sums.
LARGEST = 2**43


@dataclass(frozen=True)
class Model:
    """The problem in PyVRP's terms, and the way back."""

    problem: Problem
    whole: WholeProblem
    data: Any
    node_of_client: tuple[int, ...]
    prize_weight: int  # what one whole unit of a maximised prize is worth in whole costs
    fleet: WholeFleet
    load_factors: tuple[int, ...]  # each kind of load is so many times larger in the model
    reload_of: tuple[int | None, ...]  # the node of each depot in the model where vehicles reload
    mean_gain: float  # mean cost of an arc plus mean prize: what breaking a rule may be worth

    @classmethod
    def build(
        cls,
        problem: Problem,
        whole: WholeProblem,
        bonus: np.ndarray | None = None,
        *,
        level: bool = True,
    ) -> Model:
        """The model; a bonus (N,) is added to what skipping a customer costs.

        ``level`` brings loads to the size of costs, as one range of penalties is for both.
        """
        import pyvrp

        weight, of_distance = _prize_weight(problem, whole)
        fleet = scale_fleet(problem, whole)
        prizes = whole.penalty if bonus is None else whole.penalty + bonus
        prizes = prizes * fleet.cost_factor
        if problem.maximise_prize and whole.prize is not None:
            prizes = whole.prize * weight
        nodes = [node for node in whole.stops if node not in problem.paired_customers]
        number_of = {node: number for number, node in enumerate(nodes)}
        group_of = {node: k for k, group in enumerate(problem.groups) for node in group.nodes}
        groups = [
            pyvrp.ClientGroup([number_of[node] for node in group.nodes], group.required)
            for group in problem.groups
        ]
        times = whole.times

        def visit(node: int, prefix: str = "") -> dict[str, Any]:
            if times is None:
                return {}
            return {
                f"{prefix}tw_early": int(times.opening[node]),
                f"{prefix}tw_late": int(times.closing[node]),
                f"{prefix}service_duration": int(times.service[node]),
            }

        factors = tuple(_load_factor(whole, load) if level else 1 for load in fleet.loads)
        demand = [load * factor for load, factor in zip(fleet.loads, factors, strict=True)]
        taken = [load * factor for load, factor in zip(fleet.collected, factors, strict=True)]
        clients = [
            pyvrp.Client(
                location=node,
                delivery=[max(int(load[node]), 0) for load in demand],
                pickup=[
                    max(-int(load[node]), 0) + int(more[node])
                    for load, more in zip(demand, taken, strict=True)
                ],
                prize=0 if node in group_of else int(prizes[node]),
                required=bool(whole.compulsory[node]) and node not in group_of,
                group=group_of.get(node),
                release_time=0 if times is None else int(times.release[node]),
                **visit(node),
            )
            for node in nodes
        ]
        shipments = [
            pyvrp.Shipment(
                pickup_location=pickup,
                delivery_location=delivery,
                amount=[int(load[delivery]) for load in demand],
                prize=int(prizes[pickup] + prizes[delivery]),
                required=bool(whole.compulsory[pickup] or whole.compulsory[delivery]),
                **visit(pickup, "pickup_"),
                **visit(delivery, "delivery_"),
            )
            for pickup, delivery in problem.pairs
        ]
        places = _Places.of(problem, whole, fleet)
        profiles = list(dict.fromkeys(one.forbidden for one in fleet.types))
        vehicles = [
            pyvrp.VehicleType(
                num_available=min(most_routes(problem, whole), one.count or len(whole.stops)),
                capacity=[
                    room * factor for room, factor in zip(one.capacities, factors, strict=True)
                ],
                start_depot=places.starts[one.start],
                end_depot=places.ends[one.end],
                fixed_cost=one.fixed_cost,
                unit_distance_cost=one.unit_cost * of_distance,
                profile=profiles.index(one.forbidden),
                unit_duration_cost=one.duration_cost,
                unit_overtime_cost=one.overtime_cost,
                max_overtime=one.max_overtime,
                reload_depots=[places.reloads[depot] for depot in one.reload_depots],
                **_limits(one),
            )
            for one in fleet.types
        ]
        prohibitive = _prohibitive(whole, fleet, prizes)
        duration = np.zeros_like(whole.cost) if times is None else times.duration
        data = pyvrp.ProblemData(
            locations=[pyvrp.Location(0, 0) for _ in range(places.count)],
            clients=clients,
            depots=places.depots,
            vehicle_types=vehicles,
            distance_matrices=[
                _with_end(np.where(_banned(whole, some), prohibitive, whole.cost), places.count)
                for some in profiles
            ],
            duration_matrices=[_with_end(duration, places.count) for _ in profiles],
            groups=groups,
            shipments=shipments,
        )
        allowed = whole.cost[~whole.banned]
        unit = sum(one.unit_cost for one in fleet.types) / len(fleet.types) * of_distance
        gain = float(allowed.mean()) * unit + float(prizes.mean())
        reloaded = {depot: node for node, depot in places.reloads.items()}
        return cls(
            problem,
            whole,
            data,
            tuple(nodes),
            weight,
            fleet,
            factors,
            tuple(reloaded.get(number) for number in range(len(places.depots))),
            max(gain, 1.0),
        )

    def claim(self, cost: int) -> float:
        """The solver's cost in the user's units."""
        claimed = self.whole.claim(cost, self.prize_weight, self.problem.maximise_prize)
        return claimed / self.fleet.cost_factor

    def claim_error(self, routes: Routes) -> float:
        """How far rounding can move the cost of these routes, in the user's units."""
        error = self.whole.claim_error(routes, self.problem.maximise_prize)
        return error * max(self.fleet.dearest_unit / self.fleet.cost_factor, 1.0)

    def read_routes(self, solution: Any) -> FleetRoutes:
        """The routes in the user's numbering, with their vehicles where these differ."""
        routes, vehicles = [], []
        for route in solution.routes():
            stops = [node for node in map(self._node, route) if node is not None]
            while stops and stops[-1] in self.problem.depots:
                stops.pop()  # a trip without customers
            if stops:
                kind = self.fleet.types[route.vehicle_type()]
                end = () if kind.end is None or not self.problem.depots else (kind.end,)
                routes.append((kind.start, *stops, *end))
                vehicles.append(kind.number)
        return FleetRoutes(routes, None if self.problem.vehicles is None else vehicles)

    def _node(self, activity: Any) -> int | None:
        number = int(activity.idx)
        if activity.is_client():
            return self.node_of_client[number]
        if activity.is_pickup():
            return self.problem.pairs[number][0]
        if activity.is_delivery():
            return self.problem.pairs[number][1]
        return self.reload_of[number]

    def as_solution(self, routes: Routes) -> Any:
        """A plan of ours as one of PyVRP's."""
        import pyvrp
        from pyvrp import Activity, ActivityType, Route

        activity = {
            node: Activity(ActivityType.CLIENT, client)
            for client, node in enumerate(self.node_of_client)
        }
        for number, (pickup, delivery) in enumerate(self.problem.pairs):
            activity[pickup] = Activity(ActivityType.PICKUP, number)
            activity[delivery] = Activity(ActivityType.DELIVERY, number)
        for number, node in enumerate(self.reload_of):
            if node is not None:
                activity[node] = Activity(ActivityType.DEPOT, number)
        return pyvrp.Solution(
            self.data,
            [
                Route(self.data, [activity[node] for node in stops], kind)
                for kind, stops in self._driven(routes)
            ],
        )

    def _driven(self, routes: Routes) -> list[tuple[int, list[int]]]:
        """(type in PyVRP's numbering, stops) of each route that stops anywhere."""
        if self.problem.vehicles is None:
            parts = route_parts(self.whole, routes)
            return [(self.whole.starts.index(depot), stops) for depot, stops in parts]
        position = {one.number: index for index, one in enumerate(self.fleet.types)}
        driven_by = Solution.judged(self.problem, routes).vehicles or ()
        idle = set(self.problem.depots)
        return [
            (position[kind], list(route[1:-1] if route[-1] in idle else route[1:]))
            for kind, route in zip(driven_by, routes, strict=True)
            if not idle.issuperset(route)
        ]

    def uses_banned_arc(self, routes: FleetRoutes) -> bool:
        """Whether PyVRP had to take an arc it was asked to avoid at all costs."""
        legs = [leg for route in routes for leg in pairwise(route)]
        if not self.problem.depots:  # the tour closes itself
            legs += [(route[-1], route[0]) for route in routes]
        if any(self.whole.banned[origin, target] for origin, target in legs):
            return True
        forbidden = {one.number: one.forbidden for one in self.fleet.types}
        return any(
            not forbidden[number].isdisjoint(route)
            for route, number in zip(routes, routes.vehicles or (), strict=False)
        )


def _load_factor(whole: WholeProblem, load: np.ndarray) -> int:
    """Brings loads to the size of costs; full vehicles stay full under any factor."""
    mean = float(np.abs(load).mean())
    return max(1, round(float(whole.cost.mean()) / max(mean, 1.0)))


def _prize_weight(problem: Problem, whole: WholeProblem) -> tuple[int, int]:
    """Worth of a prize and of travelling, such that no travelling outweighs any prize."""
    if not problem.maximise_prize or whole.prize is None:
        return 1, 1
    # Validation sees to a limit where prize is maximised; one that cannot bind is not scaled.
    longest = int(whole.cost.max()) * (len(whole.stops) + 1)
    weight = min(longest, (whole.max_length or longest) * most_routes(problem, whole)) + 1
    if int(whole.prize.sum()) * weight < LARGEST:
        return weight, 1
    return 1, 0  # the shorter of two equal plans is then no better


def _prohibitive(whole: WholeProblem, fleet: WholeFleet, prizes: np.ndarray) -> int:
    everything = int(whole.cost.max(axis=1).sum()) * fleet.dearest_unit + int(prizes.sum()) + 1
    everything += max(one.fixed_cost for one in fleet.types) * len(whole.stops)
    limit = max(one.max_length or 0 for one in fleet.types)
    return min(max(everything, limit + 1), LARGEST)


def _banned(whole: WholeProblem, forbidden: frozenset[int]) -> np.ndarray:
    """(N, N) the arcs that vehicles may not take who may not serve some customers."""
    banned = whole.banned.copy()
    some = sorted(forbidden)
    banned[some, :] = True
    banned[:, some] = True
    return banned


def _limits(one: WholeType) -> dict[str, Any]:
    """What PyVRP is told of a type only where it is limited."""
    limits = {
        "max_distance": one.max_length,
        "shift_duration": one.max_duration,
        "tw_early": one.opening,
        "tw_late": one.closing,
        "start_late": one.latest_start,
        "max_reloads": one.max_reloads if one.reload_depots else None,
    }
    return {name: limit for name, limit in limits.items() if limit is not None}


@dataclass(frozen=True)
class _Places:
    """The depots in PyVRP's numbering, by the nodes where routes start and end."""

    depots: list[Any]
    starts: dict[int, int]
    ends: dict[int | None, int]  # None for the place next to everywhere
    count: int  # of all places
    reloads: dict[int, int]

    @classmethod
    def of(cls, problem: Problem, whole: WholeProblem, fleet: WholeFleet) -> _Places:
        import pyvrp

        is_open = any(one.end is None for one in fleet.types)
        if problem.vehicles is None:
            depots = [pyvrp.Depot(location=n, **_depot_hours(whole, n)) for n in whole.starts]
            starts = {node: index for index, node in enumerate(whole.starts)}
            ends: dict[int | None, int] = {node: k for node, k in starts.items()}
        else:
            # When a depot opens tells who leaves, and when it closes who comes back.
            hours = {node: _depot_hours(whole, node) for node in problem.depots}
            starts = {node: k for k, node in enumerate(dict.fromkeys(t.start for t in fleet.types))}
            back = dict.fromkeys(t.end for t in fleet.types if t.end is not None)
            ends = {node: k for k, node in enumerate(back, start=len(starts))}
            depots = [
                pyvrp.Depot(location=node, **_only(hours[node], "tw_early")) for node in starts
            ]
            depots += [pyvrp.Depot(location=node, **_only(hours[node], "tw_late")) for node in back]
        # Loading takes time on the way only, so that depots of reloads are others.
        reloads = {}
        for node in dict.fromkeys(depot for one in fleet.types for depot in one.reload_depots):
            reloads[node] = len(depots)
            hours_of = _depot_hours(whole, node)
            if whole.times is not None:
                hours_of["service_duration"] = int(whole.times.reload_service[node])
            depots.append(pyvrp.Depot(location=node, **hours_of))
        if is_open:  # all open routes end at a place that is next to everywhere
            ends[None] = len(depots)
            depots.append(pyvrp.Depot(location=whole.size))
        return cls(depots, starts, ends, whole.size + is_open, reloads)


def _only(hours: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in hours.items() if key == name}


def _depot_hours(whole: WholeProblem, node: int) -> dict[str, Any]:
    if whole.times is None:
        return {}
    return {"tw_early": int(whole.times.opening[node]), "tw_late": int(whole.times.closing[node])}


def _with_end(matrix: np.ndarray, places: int) -> Any:
    """The matrix with room for a place at the end that is next to everywhere."""
    wide = np.zeros((places, places), dtype=np.int64)
    wide[: len(matrix), : len(matrix)] = matrix
    np.fill_diagonal(wide, 0)
    return wide

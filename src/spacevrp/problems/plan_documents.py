"""A plan as data: rows of a table, a document, GeoJSON, VROOM's answer, VRPLIB's .sol."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol

from spacevrp.problems.clock import write_iso
from spacevrp.problems.distances import Array
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan import Plan, RoutePlan, Stop
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation


def plan_rows(plan: Plan) -> list[dict[str, Any]]:
    """One row a stop, in the order of the routes; moments are the user's own."""
    return [
        {
            "route": route.number,
            **_vehicle_entry(route),
            "position": position,
            "id": stop.id,
            "node": stop.node,
            "kind": stop.kind,
            "arrival": stop.arrival,
            "waiting": stop.waiting,
            "service": stop.service,
            "departure": stop.departure,
            "amount": stop.amount,
            "load": stop.load,
            **_loads_entry(stop),
            "leg_cost": stop.leg_cost,
            "leg_duration": stop.leg_duration,
        }
        for route in plan.routes
        for position, stop in enumerate(route.stops)
    ]


def plan_document(plan: Plan, violations: Sequence[Violation]) -> dict[str, Any]:
    """The plan as plain values, ready for JSON: null for infinity, ISO text for dates."""
    problem = plan.problem
    return {
        "name": problem.name,
        "variant": problem.variant_name,
        "cost": _plain(plan.cost),
        "feasible": not violations,
        "violations": [
            {
                "code": violation.code,
                "message": violation.message,
                "route": violation.route,
                "node": violation.node,
                "id": None if violation.node is None else _plain(plan.id_of(violation.node)),
            }
            for violation in violations
        ],
        "totals": {
            "routes": len(plan.routes),
            "length": _plain(plan.length),
            "driving": _plain(sum(route.driving for route in plan.routes)),
            "waiting": _plain(sum(route.waiting for route in plan.routes)),
            "service": _plain(sum(route.service for route in plan.routes)),
            "delivered": _plain(sum(route.delivered for route in plan.routes)),
            "collected": _plain(sum(route.collected for route in plan.routes)),
            "prize": _plain(plan.prize),
            "penalties": _plain(plan.penalties),
            **({} if problem.vehicles is None else {"fixed_costs": plan.fixed_costs}),
        },
        "skipped": [_plain(plan.id_of(node)) for node in plan.skipped],
        "routes": [_route_document(route) for route in plan.routes],
    }


def _route_document(route: RoutePlan) -> dict[str, Any]:
    return {
        "number": route.number,
        **_vehicle_entry(route),
        "cost": _plain(route.cost),
        **({} if route.vehicle is None else {"fixed_cost": route.fixed_cost}),
        "driving": _plain(route.driving),
        "waiting": _plain(route.waiting),
        "service": _plain(route.service),
        "delivered": _plain(route.delivered),
        "collected": _plain(route.collected),
        "peak_load": _plain(route.peak_load),
        "spare": _plain(route.spare),
        "stops": [
            {
                "id": _plain(stop.id),
                "node": stop.node,
                "kind": stop.kind,
                "arrival": _plain(stop.arrival),
                "waiting": _plain(stop.waiting),
                "service": _plain(stop.service),
                "departure": _plain(stop.departure),
                "load": _plain(stop.load),
                **_loads_entry(stop),
                "leg_cost": _plain(stop.leg_cost),
                "leg_duration": _plain(stop.leg_duration),
            }
            for stop in route.stops
        ],
    }


def _vehicle_entry(route: RoutePlan) -> dict[str, Any]:
    """Which vehicle drives, where there are types of them: its name, or the type's number."""
    return {} if route.vehicle is None else {"vehicle": route.vehicle.name or route.vehicle.number}


def _loads_entry(stop: Stop) -> dict[str, Any]:
    """Loads of every kind, where there are several."""
    return {"loads": list(stop.loads)} if len(stop.loads) > 1 else {}


def _plain(value: Hashable) -> Any:
    """A value that JSON has."""
    if isinstance(value, datetime):
        return write_iso(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    return str(value)


# ----------------------------------------------------------------------------------------- GeoJSON


def places_of(problem: Problem) -> Array | None:
    """Where nodes lie: their places, or their coordinates; None where nobody knows."""
    return problem.places if problem.places is not None else problem.distances.coordinates


def plan_geojson(plan: Plan, violations: Sequence[Violation]) -> dict[str, Any]:
    """A collection with a line for each route and a point for each stop (RFC 7946).

    Lines are straight from stop to stop: the plan knows how long roads are, not where they run.
    """
    problem = plan.problem
    places = places_of(problem)
    if places is None or not problem.geographic:
        has = "no places" if places is None else "places that are not said to be geographic"
        raise UnsupportedError(
            f"GeoJSON: expected longitudes and latitudes, received {has}; build the problem with "
            f"from_lonlat, or give places and geographic=True"
        )
    features = []
    for route in plan.routes:
        features.append(_line(places, route))
    for route in plan.routes:
        for position, stop in enumerate(route.stops):
            # An end lies where the start does, unless the vehicle ends elsewhere.
            if stop.kind != "end" or stop.node != route.stops[0].node:
                features.append(_point(places, route, position, stop))
    for node in plan.skipped:
        features.append(
            _feature(
                "Point",
                _pair(places, node),
                {
                    "id": _plain(plan.id_of(node)),
                    "node": node,
                    "kind": "not visited",
                },
            )
        )
    return {
        "type": "FeatureCollection",
        "features": features,
        # A foreign member, which RFC 7946 allows and map programs ignore.
        "plan": {
            "name": problem.name,
            "variant": problem.variant_name,
            "cost": _plain(plan.cost),
            "feasible": not violations,
        },
    }


def _line(places: Array, route: RoutePlan) -> dict[str, Any]:
    points = [_pair(places, stop.node) for stop in route.stops]
    if len(points) == 1:
        points *= 2  # a line has two ends
    return _feature(
        "LineString",
        points,
        {
            "route": route.number,
            **_vehicle_entry(route),
            "stops": len(route.visits),
            "cost": _plain(route.cost),
            "driving": _plain(route.driving),
            "peak_load": _plain(route.peak_load),
        },
    )


def _point(places: Array, route: RoutePlan, position: int, stop: Stop) -> dict[str, Any]:
    return _feature(
        "Point",
        _pair(places, stop.node),
        {
            "id": _plain(stop.id),
            "node": stop.node,
            "kind": stop.kind,
            "route": route.number,
            "position": position,
            "arrival": _plain(stop.arrival),
            "departure": _plain(stop.departure),
            "waiting": _plain(stop.waiting),
            "load": _plain(stop.load),
        },
    )


def _feature(kind: str, coordinates: Any, properties: dict[str, Any]) -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _pair(places: Array, node: int) -> list[float]:
    return [float(places[node, 0]), float(places[node, 1])]


# ------------------------------------------------------------------------------------------- VROOM


# What VROOM calls the two of a pair.
_PAIR = ("pickup", "delivery")


def plan_vroom(plan: Plan) -> dict[str, Any]:
    """The answer VROOM would give: summary, routes with steps, unassigned jobs.

    Vehicles are counted from 0; numbers are not rounded. ``duration`` is time on the way, and an
    ``id`` is the user's own (VROOM's are whole numbers). As in VROOM, vehicles leave as late as
    they may without ending later, and open routes end with a step where they are.
    """
    plan = plan.leaving_late
    problem = plan.problem
    if not problem.depots:
        raise UnsupportedError("VROOM: expected a depot, received a tour without one")
    places = places_of(problem) if problem.geographic else None
    routes = [_vroom_route(plan, vehicle, places) for vehicle in range(len(plan.routes))]
    keys = ("cost", "setup", "service", "duration", "waiting_time", "priority")
    summary: dict[str, Any] = {key: sum(route[key] for route in routes) for key in keys}
    summary |= {"routes": len(routes), "unassigned": len(plan.skipped)}
    summary["violations"] = [cause for route in routes for cause in route["violations"]]
    if _is_loaded(problem):
        for key in ("delivery", "pickup"):
            columns = zip(*(route[key] for route in routes), strict=True)
            summary[key] = [sum(column) for column in columns] or [0.0] * problem.kinds_of_load
    unassigned = []
    kinds = {node: kind for pair in problem.pairs for node, kind in zip(pair, _PAIR, strict=True)}
    for node in plan.skipped:
        entry = {"id": _plain(plan.id_of(node)), "type": kinds.get(node, "job")}
        if places is not None:
            entry["location"] = _pair(places, node)
        unassigned.append(entry)
    document = {"code": 0, "summary": summary, "unassigned": unassigned, "routes": routes}
    return document if math.isfinite(plan.length) else _without_infinity(document)


def _without_infinity(value: Any) -> Any:
    """The same document with null for what a road that is not there makes infinite."""
    if isinstance(value, dict):
        return {key: _without_infinity(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_without_infinity(entry) for entry in value]
    return _plain(value)


def _is_loaded(problem: Problem) -> bool:
    """Whether some capacity is limited."""
    limits = [terms.capacities for terms in problem.fleet]
    return any(math.isfinite(capacity) for capacities in limits for capacity in capacities)


def _vroom_route(plan: Plan, vehicle: int, places: Array | None) -> dict[str, Any]:
    problem, route = plan.problem, plan.routes[vehicle]
    document: dict[str, Any] = {
        "vehicle": vehicle,
        "cost": route.cost + route.fixed_cost,
        "setup": 0,
        "service": route.service,
        "duration": route.driving,
        "waiting_time": route.waiting,
        "priority": 0,
    }
    if route.vehicle is not None:
        document["description"] = route.vehicle.name or f"type {route.vehicle.number}"
    loaded = _is_loaded(problem)
    if loaded:
        served = [problem.loads[stop.node].tolist() for stop in route.visits]
        columns = list(zip(*served, strict=True))
        document["delivery"] = [sum(max(one, 0.0) for one in column) for column in columns]
        document["pickup"] = [sum(max(-one, 0.0) for one in column) for column in columns]
    steps = []
    driven = 0.0
    paired = {node for pair in problem.pairs for node in pair}
    for stop in route.stops:
        driven += stop.leg_duration
        step: dict[str, Any] = {"type": stop.kind if stop.kind in ("start", "end") else "job"}
        if stop.node in paired:
            step["type"] = stop.kind
        if step["type"] not in ("start", "end"):
            step["id"] = _plain(stop.id)
        if places is not None:
            step["location"] = _pair(places, stop.node)
        step |= {
            "setup": 0,
            "service": stop.service,
            "waiting_time": stop.waiting,
            "arrival": _plain(stop.arrival),
            "duration": driven,
            "violations": _vroom_violations(problem, route, stop),
        }
        if loaded:
            step["load"] = list(stop.loads)
        steps.append(step)
    is_open = problem.open_routes if route.vehicle is None else route.vehicle.end is None
    if is_open:
        at_last = route.stops[-1]
        end = {key: value for key, value in steps[-1].items() if key != "id"}
        end |= {"type": "end", "service": 0.0, "waiting_time": 0.0, "violations": []}
        steps.append({**end, "arrival": _plain(at_last.departure)})
    document["steps"] = steps
    document["violations"] = [cause for step in steps for cause in step["violations"]]
    return document


def _vroom_violations(problem: Problem, route: RoutePlan, stop: Stop) -> list[dict[str, Any]]:
    causes: list[dict[str, Any]] = []
    if stop.late > problem.tolerance:
        causes.append({"cause": "delay", "duration": stop.late})
    capacities = problem.capacities if route.vehicle is None else route.vehicle.capacities
    if any(
        load > capacity + problem.load_slack(capacity, kind)
        for kind, (load, capacity) in enumerate(zip(stop.loads, capacities, strict=True))
    ):
        causes.append({"cause": "load"})
    return causes


# ------------------------------------------------------------------------------- files of solutions


class Solved(Protocol):
    """Anything that knows its routes, what they cost and whether they keep the rules."""

    @property
    def routes(self) -> tuple[tuple[int, ...], ...]: ...

    @property
    def cost(self) -> float | None: ...

    @property
    def feasible(self) -> bool | None: ...

    @property
    def vehicles(self) -> tuple[int, ...] | None: ...


def solution_document(
    variant: str | None,
    solutions: Iterable[Solved],
    *,
    seconds: float | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """The JSON document of a batch of solutions, as ``spacevrp solve`` prints it."""
    instances = [
        {
            "cost": None if s.cost is None or not math.isfinite(s.cost) else float(s.cost),
            "routes": [[int(node) for node in route] for route in s.routes],
            **({} if s.vehicles is None else {"vehicles": list(s.vehicles)}),
            "feasible": None if s.feasible is None else bool(s.feasible),
        }
        for s in solutions
    ]
    return {"variant": variant, "instances": instances, "seconds": seconds, "device": device}


def only_depot(problem: Problem, verb: str) -> int:
    """The one depot that VRPLIB's format has a place for."""
    if len(problem.depots) != 1:
        raise UnsupportedError(
            f".sol lists customers of one depot and cannot be {verb} for "
            f"{len(problem.depots)} depots; use JSON"
        )
    return problem.depots[0]


def solution_sol(problem: Problem, solution: Solved) -> str:
    """The routes of one instance as VRPLIB's .sol text."""
    depot = only_depot(problem, "written")
    if problem.vehicles is not None:
        raise UnsupportedError(".sol has no place for types of vehicles; use JSON")
    number_of = {node: number for number, node in enumerate(problem.customers, start=1)}
    lines = []
    for number, route in enumerate(solution.routes, start=1):
        unknown = [node for node in route if node != depot and node not in number_of]
        if unknown:
            raise UnsupportedError(f".sol: route {number} visits node {unknown[0]}, which is none")
        listed = " ".join(str(number_of[node]) for node in route if node != depot)
        lines.append(f"Route #{number}: {listed}")
    if solution.cost is not None:
        cost = float(solution.cost)
        lines.append(f"Cost {int(cost) if cost.is_integer() else repr(cost)}")
    return "\n".join(lines) + "\n"

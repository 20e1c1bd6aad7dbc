"""A plan as the answer that VROOM would give."""

from __future__ import annotations

import math
from typing import Any

from spacevrp.problems.clock import TIME_UNITS, Moment, moment_of
from spacevrp.problems.distances import Array
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan import Plan, RoutePlan, Stop, capacities_of
from spacevrp.problems.plan_documents import place_of, places_of, plain
from spacevrp.problems.problem import Problem
from spacevrp.problems.vroom_names import PAIR, Drivers, number_task


def plan_vroom(plan: Plan) -> dict[str, Any]:
    """The answer VROOM would give: summary, routes with steps, unassigned jobs.

    A problem that VROOM's JSON stated gets its own ids back, of tasks and of vehicles; otherwise an
    ``id`` is the user's own (VROOM's are whole numbers) and vehicles are counted from 0. Times are
    in seconds, like all of VROOM's, and not rounded; the cost is the referee's. As in VROOM,
    vehicles leave as late as they may without ending later, and open routes end with a step where
    they are.
    """
    plan = plan.leaving_late
    problem = plan.problem
    if not problem.depots:
        raise UnsupportedError("VROOM: expected a depot, received a tour without one")
    if any(stop.kind == "reload" for route in plan.routes for stop in route.stops):
        raise UnsupportedError("VROOM: expected routes of one trip, received one that reloads")
    places = places_of(problem) if problem.geographic else None
    drivers = Drivers(problem.vehicle_ids)
    routes = [_vroom_route(plan, route, drivers, places) for route in plan.routes]
    keys = ("cost", "setup", "service", "duration", "waiting_time", "priority")
    summary: dict[str, Any] = {key: sum(route[key] for route in routes) for key in keys}
    summary |= {"routes": len(routes), "unassigned": len(plan.skipped)}
    summary["violations"] = [cause for route in routes for cause in route["violations"]]
    if _is_loaded(problem):
        for key in ("delivery", "pickup"):
            columns = zip(*(route[key] for route in routes), strict=True)
            summary[key] = [sum(column) for column in columns] or [0.0] * problem.kinds_of_load
    unassigned = []
    kinds = {node: kind for pair in problem.pairs for node, kind in zip(pair, PAIR, strict=True)}
    for node in plan.skipped:
        kind = kinds.get(node, "job")
        entry: dict[str, Any] = {"id": number_task(kind, plan.id_of(node)), "type": kind}
        if places is not None:
            entry["location"] = place_of(places, node)
        unassigned.append(entry)
    document = {"code": 0, "summary": summary, "unassigned": unassigned, "routes": routes}
    answer: dict[str, Any] = plain(document)  # null for what a missing road makes infinite
    return answer


def _is_loaded(problem: Problem) -> bool:
    """Whether some capacity is limited."""
    limits = [terms.capacities for terms in problem.fleet]
    return any(math.isfinite(capacity) for capacities in limits for capacity in capacities)


def _vroom_route(
    plan: Plan, route: RoutePlan, drivers: Drivers, places: Array | None
) -> dict[str, Any]:
    problem = plan.problem
    seconds = TIME_UNITS[problem.time_unit]
    name = "" if route.vehicle is None else route.vehicle.name or f"type {route.vehicle.number}"
    vehicle, is_only_one = drivers.next(name)
    setups = _setups(problem, route)
    priorities = [0] * problem.size if problem.priority is None else problem.priority
    document: dict[str, Any] = {
        "vehicle": vehicle,
        "cost": route.cost + route.fixed_cost + route.time_cost,
        "setup": seconds * sum(setups),
        "service": seconds * (route.service - sum(setups)),
        "duration": seconds * route.driving,
        "waiting_time": seconds * route.waiting,
        "priority": sum(int(priorities[stop.node]) for stop in route.visits),
    }
    if name and is_only_one:  # otherwise the name is that of several
        document["description"] = name
    loaded = _is_loaded(problem)
    if loaded:
        served = [problem.loads[stop.node].tolist() for stop in route.visits]
        columns = list(zip(*served, strict=True))
        taken = [problem.pickups[stop.node].tolist() for stop in route.visits]
        both = zip(columns, zip(*taken, strict=True), strict=True)
        document["delivery"] = [sum(max(one, 0.0) for one in column) for column in columns]
        document["pickup"] = [
            sum(max(-one, 0.0) for one in column) + sum(more) for column, more in both
        ]
    steps: list[dict[str, Any]] = []
    driven = 0.0
    last = len(route.stops) - 1
    for position, (stop, setup) in enumerate(zip(route.stops, setups, strict=True)):
        if position:
            # One after the route is over comes before its end.
            after = {position + 1} if position == last and stop.kind == "end" else set()
            way = {"leg": stop.leg_duration, "ready": route.stops[position - 1].left}
            steps += _vroom_breaks(route, {position, *after}, seconds, **way, driven=driven)
        driven += seconds * stop.leg_duration
        step: dict[str, Any] = {"type": stop.kind if stop.kind in ("start", "end") else "job"}
        if stop.node in problem.paired_customers:
            step["type"] = stop.kind
        if step["type"] not in ("start", "end"):
            step["id"] = number_task(step["type"], stop.id)
        if places is not None:
            step["location"] = place_of(places, stop.node)
        step |= {
            "setup": seconds * setup,
            "service": seconds * (stop.service - setup),
            "waiting_time": seconds * stop.waiting,
            "arrival": _in_seconds(stop.arrival, seconds),
            "duration": driven,
            "violations": _vroom_violations(problem, route, stop),
        }
        if loaded:
            step["load"] = list(stop.loads)
        steps.append(step)
        if position == 0:
            early = _vroom_breaks(route, {0}, seconds)
            if early:
                step["arrival"] = early[0]["arrival"]
            steps += early
    is_open = problem.open_routes if route.vehicle is None else route.vehicle.end is None
    if is_open:
        at_last = route.stops[-1]
        end = {key: value for key, value in steps[-1].items() if key != "id"}
        end |= {"type": "end", "setup": 0.0, "service": 0.0, "waiting_time": 0.0, "violations": []}
        steps += _vroom_breaks(route, {last + 1}, seconds, ready=at_last.left, driven=driven)
        steps.append({**end, "arrival": _in_seconds(at_last.departure, seconds)})
    breaks = [step for step in steps if step["type"] == "break"]
    for key in ("service", "waiting_time"):
        document[key] += sum(step[key] for step in breaks)
    if steps[-2]["type"] == "break":  # the day ends with it, or after what is left of the way
        over = max(route.pauses[-1].end, route.stops[-1].left)
        steps[-1]["arrival"] = _in_seconds(moment_of(route.stops[0].clock, over), seconds)
    document["steps"] = steps
    document["violations"] = [cause for step in steps for cause in step["violations"]]
    return document


def _vroom_breaks(
    route: RoutePlan,
    places: set[int],
    seconds: float,
    *,
    ready: float | None = None,
    leg: float = 0.0,
    driven: float = 0.0,
) -> list[dict[str, Any]]:
    """The breaks before these stops, as steps.

    The vehicle goes on when it is ``ready`` (None: with the first break), has a ``leg`` to travel
    before the stop, and was on the way for ``driven`` seconds so far. It waits for the break where
    the leg is over.
    """
    clock = route.stops[0].clock
    breaks = () if route.vehicle is None else route.vehicle.breaks
    steps = []
    for pause in route.pauses:
        if pause.place not in places:
            continue
        ready = pause.begin if ready is None else ready
        moved = min(leg, max(pause.begin - ready, 0.0))
        leg, driven, arrival = leg - moved, driven + seconds * moved, ready + moved
        steps.append(
            {
                "type": "break",
                "id": _break_id(breaks[pause.number - 1].name, pause.number),
                "setup": 0.0,
                "service": seconds * (pause.end - pause.begin),
                "waiting_time": seconds * (pause.begin - arrival),
                "arrival": _in_seconds(moment_of(clock, arrival), seconds),
                "duration": driven,
                "violations": [],
            }
        )
        ready = pause.end
    return steps


def _break_id(name: str, number: int) -> int:
    """What the document calls a break; its number, where it does not say."""
    return int(name) if name.isascii() and name.removeprefix("-").isdigit() else number


def _setups(problem: Problem, route: RoutePlan) -> list[float]:
    """How long the setup took at each stop."""
    setup = problem.setup
    if setup is None:
        return [0.0] * len(route.stops)
    return [
        float(setup[stop.node])
        if position and stop.kind not in ("end", "reload") and stop.leg_duration
        else 0.0
        for position, stop in enumerate(route.stops)
    ]


def _in_seconds(moment: Moment, seconds: float) -> Moment:
    """A number of units in seconds; dates and times of day are what they are."""
    return seconds * moment if isinstance(moment, float) else moment


def _vroom_violations(problem: Problem, route: RoutePlan, stop: Stop) -> list[dict[str, Any]]:
    causes: list[dict[str, Any]] = []
    if stop.late > problem.time_tolerance:
        seconds = TIME_UNITS[problem.time_unit]
        causes.append({"cause": "delay", "duration": seconds * stop.late})
    if any(
        load > capacity + problem.load_slack(capacity, kind)
        for kind, (load, capacity) in enumerate(
            zip(stop.loads, capacities_of(problem, route), strict=True)
        )
    ):
        causes.append({"cause": "load"})
    return causes

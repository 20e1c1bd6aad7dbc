"""``POST /``: VROOM's body in, VROOM's answer out.

Differences are named in docs/how-to/serve.md: no routing engine is asked, so that a body needs
matrices (or the server a speed), and ``options.g`` brings no geometry.
"""

from __future__ import annotations

import time
from typing import Any

from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.conversion import show
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around
from spacevrp.problems.solution import Solution
from spacevrp.problems.vroom_names import PAIR, name_task
from spacevrp.serve.faults import Fault, unexpected
from spacevrp.serve.plans import whole
from spacevrp.serve.requests import VROOM, Stated, parse_json, repaired, state
from spacevrp.serve.settings import Settings

# VROOM's codes of errors, and what its HTTP server adds for too many locations.
INTERNAL, INPUT, ROUTING, TOO_LARGE = 1, 2, 3, 4
_OPTIONS: dict[str, Any] = {"g": bool, "c": bool, "t": int, "x": int, "l": (int, float)}
_STEPS = ("type", "id", "description", "service_at", "service_after", "service_before")
_FORCED = ("service_at", "service_after", "service_before")


def read_vroom(text: str, settings: Settings) -> tuple[Stated, Solution | None]:
    """What a body states, and the plan that is to be judged where it asks for that (``c``).

    Raises
    ------
    Fault
    """
    document = parse_json(text)
    options = document.pop("options", None) or {}
    if not isinstance(options, dict):
        raise unexpected("options", "a table", show(options))
    for key, value in options.items():
        if key not in _OPTIONS:
            raise Fault(422, f"options: unknown key {show(key)}", field="options")
        if value is not None and not isinstance(value, _OPTIONS[key]):
            raise Fault(422, f"options, {key}: received {show(value)}", field=f"options, {key}")
    steps = _take_steps(document)
    told = {} if options.get("l") is None else {"time": options["l"]}
    stated = state(VROOM, document, told, settings)
    if not any(steps):
        if options.get("c"):
            raise Fault(422, "vehicles: expected steps with options, c", field="vehicles")
        return stated, None
    plan = Solution.judged(stated.problem, _routes(stated.problem, document, steps))
    if options.get("c"):
        return stated, plan
    start = plan if plan.feasible else repaired(stated.problem, plan)[0]
    return Stated(stated.problem, stated.params, stated.time, start, None, stated.warnings), None


def _take_steps(document: dict[str, Any]) -> list[list[Any]]:
    """The steps of each vehicle, which are taken out of the document."""
    vehicles = document.get("vehicles")
    taken = []
    for number, vehicle in enumerate(vehicles if isinstance(vehicles, list) else []):
        steps = vehicle.pop("steps", None) if isinstance(vehicle, dict) else None
        where = f"vehicle {number}, steps"
        if steps is not None and not isinstance(steps, list):
            raise unexpected(where, "a list", show(steps))
        for step in steps or []:
            if not isinstance(step, dict) or "type" not in step:
                raise unexpected(where, "tables with a type", show(step))
            for key in step:
                if key not in _STEPS or key in _FORCED:
                    what = "not modelled here yet" if key in _FORCED else "unknown"
                    raise Fault(422, f"{where}, {key[:40]}: {what}", field=where)
        taken.append(steps or [])
    return taken


def _routes(problem: Problem, document: dict[str, Any], steps: list[list[Any]]) -> Any:
    """The routes of steps; vehicles that are alike are one type of ours."""
    node_of = {one: node for node, one in enumerate(problem.ids or ())}
    names = {}
    for number, vehicle in enumerate(problem.vehicles or ()):
        for one in (problem.vehicle_ids or {}).get(vehicle.name, ()):
            names[one] = number
    routes, types = [], []
    for number, (vehicle, listed) in enumerate(zip(document["vehicles"], steps, strict=True)):
        nodes = []
        for step in listed:
            if step["type"] in ("start", "end"):
                continue
            where = f"vehicle {number}, steps"
            if step["type"] not in ("job", *PAIR):
                raise Fault(
                    422, f"{where}: {show(step['type'])} is not modelled here yet", field=where
                )
            key, named = step.get("id"), None
            if isinstance(key, int):
                named = name_task(step["type"], key)
            node = node_of.get(named if named in node_of else key if isinstance(key, int) else None)
            if node is None:
                raise unexpected(where, "the id of a job", show(key))
            nodes.append(node)
        if nodes:
            kind = names.get(vehicle.get("id", number), 0)
            routes.append(around(tuple(nodes), problem.fleet[kind]))
            types.append(kind)
    return FleetRoutes(routes, types) if problem.vehicles is not None else tuple(routes)


def answer(plan: Solution, arrived: float, began: float) -> dict[str, Any]:
    """The document that VROOM would answer with; moments are of the monotonic clock."""
    document: dict[str, Any] = whole(plan.to_vroom())
    for route in document["routes"]:
        if route.get("description") == str(route["vehicle"]):
            del route["description"]  # ours, for want of one
    document["summary"]["computing_times"] = {
        "loading": round(1000 * (began - arrived)),
        "solving": round(1000 * (time.monotonic() - began)),
        "routing": 0,
    }
    return document


def refusal(error: Fault) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, body and headers for what VROOM would call an error."""
    code, status = INPUT, 400
    if error.status == 413:
        code, status = TOO_LARGE, 413
    elif error.about.get("field") == "matrices" and "routing engine" in error.detail:
        code, status = ROUTING, 500
    elif error.status in (401, 403, 405, 408, 429) or error.status >= 500:
        code, status = INTERNAL, error.status
    return status, {"code": code, "error": error.detail}, error.headers

"""A plan as one HTML page: a map to pan and zoom, a list of routes, a timeline, what is unserved.

The page holds its data as JSON and a script of our own (``page.html``); it loads nothing.
"""

from __future__ import annotations

import html
import json
import math
from pathlib import Path
from typing import Any

from spacevrp.plots.content import (
    depot_kinds,
    headline,
    looks_of,
    map_places,
    stop_kinds,
    unserved_nodes,
    verdict,
)
from spacevrp.plots.schedule import time_ticks
from spacevrp.problems.clock import Clock
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.explanation.reasons import explain_unserved
from spacevrp.problems.plan import Stop, node_id
from spacevrp.problems.plan_documents import places_of, plain
from spacevrp.problems.plan_text import write_moment, write_number, write_span
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

_TEMPLATE = Path(__file__).with_name("page.html")
# Hundreds of unserved stops would take minutes to explain; `spacevrp explain` has all reasons.
_SECONDS_FOR_REASONS = 5.0
_TITLE, _DATA = "__TITLE__", "__DATA__"
_OF_LOOK = ("number", "colour", "dashes", "vehicle", "load", "cost")


def page(problem: Problem, solution: Solution | None = None) -> str:
    """The text of the page; every name of the user's is escaped."""
    data = page_data(problem, solution)
    # No tag can begin or end within the data, whatever the names are.
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    template = _TEMPLATE.read_text(encoding="utf-8")
    before, _, after = template.partition(_DATA)
    return before.replace(_TITLE, html.escape(data["title"])) + text + after


def page_data(problem: Problem, solution: Solution | None = None) -> dict[str, Any]:
    """What the page shows, as plain values: nodes, routes, the axis of the timeline, verdicts."""
    timed = problem.inferred_features.time_windows or bool(problem.service.any())
    timed = timed or problem.has_route_rules
    return {
        "title": headline(problem, solution),
        "warnings": [] if solution is None else verdict(solution),
        "geographic": problem.geographic,
        "mapped": places_of(problem) is not None,
        "timed": timed,
        "nodes": _nodes(problem),
        "routes": [] if solution is None else _routes(solution, timed=timed),
        "unserved": [] if solution is None else _unserved(solution),
        "skipped": [] if solution is None else list(solution.plan.skipped),
        "ticks": [] if solution is None else _ticks(solution, timed=timed),
    }


def _nodes(problem: Problem) -> list[dict[str, Any]]:
    kinds = {n: kind.label for kind in stop_kinds(problem, problem.customers) for n in kind.nodes}
    kinds |= {node: kind.label for kind in depot_kinds(problem) for node in kind.nodes}
    places = map_places(problem)
    most = abs(problem.demand).max(initial=0.0) or 1.0
    nodes = []
    for node in range(problem.size):
        facts = []
        if problem.loads[node].any():
            facts.append(["demand", " + ".join(map(write_number, problem.loads[node].tolist()))])
        opening, closing = (float(time) for time in problem.windows[node])
        if opening > 0 or math.isfinite(closing):
            facts.append(["window", _window(problem.clock, opening, closing)])
        if problem.service[node]:
            facts.append(["service", write_span(problem.clock, float(problem.service[node]))])
        if problem.prize[node]:
            facts.append(["prize", write_number(float(problem.prize[node]))])
        nodes.append(
            {
                "id": str(node_id(problem, node)),
                "kind": kinds[node],
                "depot": node in problem.depots,
                "size": abs(float(problem.demand[node])) / most,
                "facts": facts,
                "window": [plain(opening), plain(closing)],
            }
        )
        if places is not None:
            nodes[-1] |= {"x": float(places[node, 0]), "y": float(places[node, 1])}
    return nodes


def _window(clock: Clock | None, opening: float, closing: float) -> str:
    start, end = (
        write_moment(time if clock is None else clock.moment(time)) for time in (opening, closing)
    )
    return f"{start} to {end}" if math.isfinite(closing) else f"from {start}"


def _routes(solution: Solution, *, timed: bool) -> list[dict[str, Any]]:
    routes = []
    for look, route in zip(looks_of(solution), solution.plan.routes, strict=True):
        passed = 0.0
        stops = []
        for stop in route.stops:
            passed += plain(stop.leg_cost) or 0.0
            stops.append(_stop(stop, passed, timed=timed))
        routes.append(
            {
                **{name: getattr(look, name) for name in _OF_LOOK},
                "count": look.stops,
                "open": route.stops[-1].kind != "end",
                "stops": stops,
                # A break before leaving need not have a time of its own.
                "breaks": [[one.begin, one.end] for one in route.pauses if one.place and timed],
            }
        )
    return routes


def _stop(stop: Stop, passed: float, *, timed: bool) -> dict[str, Any]:
    """``at`` is where it lies on the timeline: arrival, begin of service and departure, or cost."""
    begin = stop.reached + stop.waiting
    facts = []
    if timed and math.isfinite(stop.reached):
        if stop.pause:
            facts.append(["break on the way", write_span(stop.clock, stop.pause)])
        facts.append(["arrival", write_moment(stop.arrival)])
        if stop.waiting:
            facts.append(["waiting", write_span(stop.clock, stop.waiting)])
        facts.append(["departure", write_moment(stop.departure)])
        if stop.late:
            facts.append(["late by", write_span(stop.clock, stop.late)])
    if any(stop.loads):
        facts.append(["load after it", " + ".join(map(write_number, stop.loads))])
    facts.append(["cost of legs up to here", f"{passed:.6g}"])
    times = [stop.reached, begin, stop.left] if timed else [passed, passed, passed]
    return {
        "node": stop.node,
        "kind": stop.kind,
        "at": [plain(time) for time in times],
        "late": stop.late > 0,
        "facts": facts,
    }


def _unserved(solution: Solution) -> list[dict[str, Any]]:
    nodes = unserved_nodes(solution)
    if not nodes:
        return []
    known = vars(solution).get("explanation")  # where the solver has looked for reasons already
    found = (
        known.unserved
        if known is not None
        else explain_unserved(
            solution.plan.problem, solution.routes, deadline=Deadline(_SECONDS_FOR_REASONS)
        )
    )
    told = {one.node: one for one in found}
    return [
        {
            "node": node,
            "reason": told[node].message if node in told else "left out",
            "change": relaxation.message
            if node in told and (relaxation := told[node].relaxation) and relaxation.changes
            else "",
        }
        for node in nodes
    ]


def _ticks(solution: Solution, *, timed: bool) -> list[list[Any]]:
    """Values and texts below the timeline."""
    plan = solution.plan
    if timed:
        values = [t for route in plan.routes for s in route.stops for t in (s.reached, s.left)]
        finite = [time for time in values if math.isfinite(time)] or [0.0]
        return [list(tick) for tick in time_ticks(plan.problem.clock, min(finite), max(finite))]
    longest = max((r.cost for r in plan.routes if math.isfinite(r.cost)), default=0.0)
    return [list(tick) for tick in time_ticks(None, 0.0, longest)]

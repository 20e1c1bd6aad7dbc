"""Reasons, relaxations and limits as plain values, ready for JSON."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from spacevrp.problems.explanation.changes import Change, Relaxation
from spacevrp.problems.explanation.reasons import Unserved
from spacevrp.problems.explanation.routes import Limit, RouteLimits
from spacevrp.problems.explanation.text import describe_limits
from spacevrp.problems.plan import node_id
from spacevrp.problems.problem import Problem


def limits_document(problem: Problem, limits: Sequence[RouteLimits]) -> list[dict[str, Any]]:
    """What limits each route, and what binds first."""
    return [
        {
            "number": route.number,
            "binding": None if route.binding is None else route.binding.code,
            "message": describe_limits(problem, route),
            "limits": [_limit(limit) for limit in route.limits],
        }
        for route in limits
    ]


def unserved_document(problem: Problem, unserved: Sequence[Unserved]) -> list[dict[str, Any]]:
    """Who is left out, why, and what would let them in."""
    return [
        {
            "node": one.node,
            "id": _plain(one.id),
            "code": one.code,
            "message": one.message,
            "relaxation": None if one.relaxation is None else _relaxation(problem, one.relaxation),
            "alternatives": [_relaxation(problem, other) for other in one.alternatives],
        }
        for one in unserved
    ]


def _relaxation(problem: Problem, relaxation: Relaxation) -> dict[str, Any]:
    return {
        "message": relaxation.message,
        "changes": [_change(problem, change) for change in relaxation.changes],
        "route": relaxation.insertion.route,
        "nodes": list(relaxation.insertion.nodes),
    }


def _change(problem: Problem, change: Change) -> dict[str, Any]:
    nodes = {
        "nodes": list(change.nodes),
        "ids": [_plain(node_id(problem, node)) for node in change.nodes],
    }
    told = _told(change, "kind", "amount", "limit") | nodes | _told(change, "vehicle", "load")
    return told | ({"breaks": list(change.breaks)} if change.breaks else {})


def _limit(limit: Limit) -> dict[str, Any]:
    told = _told(limit, "code", "used", "allowed", "slack", "share", "node")
    return told | {"id": _plain(limit.id), "load": limit.load}


def _told(one: Change | Limit, *names: str) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def _plain(value: Hashable) -> Any:
    """An id that JSON has."""
    return value if value is None or isinstance(value, str | int | float) else str(value)

"""Relations between customers in the JSON of an instance, each under the name of its field."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from spacevrp.formats.json_text import list_at, named_nodes, plain_value, refuse_odd
from spacevrp.problems.problem import Problem
from spacevrp.problems.relations import RELATIONS, present_relations

_SETS = ("same_route", "different_routes", "order")


def read_relations(path: Path, document: dict[str, Any]) -> dict[str, Any]:
    """The fields of relations that the document has, as a problem takes them."""
    fields = {key: document[key] for key in RELATIONS if key in document}
    for key in ("pickup", "priority", "max_ride", *_SETS):
        if key in fields:
            refuse_odd(path, key, fields[key], depth=2)
    if isinstance(fields.get("max_ride"), list):
        fields["max_ride"] = [math.inf if one is None else one for one in fields["max_ride"]]
    if fields.get("groups") is not None:
        for number, group in enumerate(list_at(path, "groups", fields["groups"])):
            nodes = group.get("nodes", []) if isinstance(group, dict) else group
            refuse_odd(path, f"groups, number {number}", nodes, depth=1)
    return fields


def relations_document(problem: Problem) -> dict[str, Any]:
    """The relations that the problem has, nodes as the file calls them."""
    document: dict[str, Any] = {}
    for key in present_relations(problem):
        if key == "groups":
            document[key] = [
                {"nodes": named_nodes(problem, group.nodes), "required": group.required}
                for group in problem.groups
            ]
        elif key in _SETS:
            document[key] = named_nodes(problem, getattr(problem, key))
        elif key == "objective":
            first, weights = problem.objective.first, problem.objective.weights
            plain = {term: plain_value(weight) for term, weight in weights}
            document[key] = {"first": list(first), "weights": plain}
        elif key == "lifo":
            document[key] = True
        else:
            document[key] = plain_value(getattr(problem, key).tolist())
    return document

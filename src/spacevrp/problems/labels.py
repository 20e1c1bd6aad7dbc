"""What the user calls the nodes, and where they lie on a map: names and places, not the problem."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.conversion import LARGEST, Array, as_array, plain_array, show
from spacevrp.problems.errors import ProblemError

# Degrees of longitude and latitude.
_LARGEST_DEGREES = np.array([180.0, 90.0])


def as_ids(ids: object, size: int) -> tuple[Hashable, ...] | None:
    """One id a node, each once, or None where nodes have none."""
    if ids is None:
        return None
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise ProblemError("ids", expected=f"{size} ids, one a node", received=show(ids))
    try:
        settled = tuple(_plain(entry) for entry in ids)
    except TypeError:  # an array of no dimension is iterable, but only until it is tried
        raise ProblemError("ids", expected=f"{size} ids, one a node", received=show(ids)) from None
    if len(settled) != size:
        raise ProblemError(
            "ids", expected=f"{size} ids, one a node", received=f"{len(settled)} of them"
        )
    seen: dict[Hashable, int] = {}
    for node, entry in enumerate(settled):
        try:
            first = seen.setdefault(entry, node)
            says_something = entry is not None and bool(entry == entry)
            if isinstance(entry, int) and abs(entry) >= LARGEST:
                says_something = False  # Python prints no more than thousands of digits
        except (TypeError, ValueError):  # no key of a table, or pandas' NA
            says_something = False
        if not says_something:
            raise ProblemError(
                "ids", node=node, expected="a text or a number", received=show(entry)
            )
        if first != node:
            raise ProblemError(
                "ids",
                node=node,
                expected=f"an id of its own, node {first} has the same",
                received=show(entry),
            )
    return settled


def _plain(entry: Any) -> Any:
    """NumPy's numbers and texts as Python's, so that they print and save like them."""
    return entry.item() if isinstance(entry, np.generic) else entry


def as_places(places: Any, size: int, *, geographic: bool, field: str = "places") -> Array | None:
    """Points (N, 2) for drawing; as longitude and latitude they must lie on the earth."""
    if places is None:
        return None
    points = as_array(field, plain_array(places))
    if points.shape != (size, 2):
        raise ProblemError(field, expected=f"shape ({size}, 2)", received=f"shape {points.shape}")
    bad = ~np.isfinite(points).all(axis=1)
    expected = "finite numbers"
    if geographic and not bad.any():
        bad = (np.abs(points) > _LARGEST_DEGREES).any(axis=1)
        expected = "longitude (-180 to 180) and latitude (-90 to 90), in this order"
    if bad.any():
        node = int(np.argmax(bad))
        raise ProblemError(field, node=node, expected=expected, received=str(points[node].tolist()))
    points.setflags(write=False)
    return points


def resolve_nodes(nodes: Any, ids: Sequence[Hashable] | None, field: str, depth: int = 2) -> Any:
    """Nodes, or lists of them, with every text replaced by the node that has it as its id.

    Numbers are numbers of nodes, whatever the ids are.
    """
    if ids is None:
        return nodes
    if isinstance(nodes, list | tuple) and depth > 0:
        return [resolve_nodes(node, ids, field, depth - 1) for node in nodes]
    if not isinstance(nodes, str):
        return nodes
    if nodes not in ids:
        raise ProblemError(field, expected="one of the ids", received=show(nodes))
    return ids.index(nodes)


def with_id(error: ProblemError, ids: Sequence[Hashable] | None) -> ProblemError:
    """The same error, which also says what the user calls the node at fault."""
    node = error.node
    if ids is None or node is None or not 0 <= node < len(ids):
        return error
    received = f"{error.received} (node {node} is {show(ids[node])})"
    return ProblemError(error.field, node=node, expected=error.expected, received=received)

"""What the user calls the nodes, and where they lie on a map: names and places, not the problem."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from spacevrp.problems.conversion import (
    LARGEST,
    Array,
    NodeNumber,
    as_array,
    as_list,
    as_whole,
    plain_array,
    refuse_nodes,
    show,
)
from spacevrp.problems.errors import ProblemError

# Degrees of longitude and latitude.
_LARGEST_DEGREES = np.array([180.0, 90.0])


def as_ids(ids: object, size: int) -> tuple[Hashable, ...] | None:
    """One id a node, each once, or None where nodes have none."""
    if ids is None:
        return None
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise ProblemError("ids", f"{size} ids, one a node", show(ids))
    try:
        resolved = tuple(_plain(entry) for entry in ids)
    except TypeError:  # an array of no dimension is iterable, but only until it is tried
        raise ProblemError("ids", f"{size} ids, one a node", show(ids)) from None
    if len(resolved) != size:
        raise ProblemError("ids", f"{size} ids, one a node", f"{len(resolved)} of them")
    seen: dict[Hashable, int] = {}
    for node, entry in enumerate(resolved):
        try:
            first = seen.setdefault(entry, node)
            says_something = entry is not None and bool(entry == entry)
            if isinstance(entry, int | float) and abs(entry) >= LARGEST:
                says_something = False  # Python prints no more digits, and JSON has no infinity
        except (TypeError, ValueError):  # no key of a table, or pandas' NA
            says_something = False
        if not says_something:
            raise ProblemError("ids", "a text or a number", show(entry), node=node)
        if first != node:
            raise ProblemError(
                "ids", f"an id of its own, node {first} has the same", show(entry), node=node
            )
    return resolved


def _plain(entry: Any) -> Any:
    """NumPy's numbers and texts as Python's, so that they print and save like them."""
    return entry.item() if isinstance(entry, np.generic) else entry


def as_places(places: Any, size: int, *, geographic: bool, field: str = "places") -> Array | None:
    """Points (N, 2) for drawing; as longitude and latitude they must lie on the earth."""
    if places is None:
        return None
    points = as_array(field, plain_array(places))
    if points.shape != (size, 2):
        raise ProblemError(field, f"shape ({size}, 2)", f"shape {points.shape}")
    refuse_nodes(field, points, ~np.isfinite(points).all(axis=1), "finite numbers")
    if geographic:
        off_earth = (np.abs(points) > _LARGEST_DEGREES).any(axis=1)
        expected = "longitude (-180 to 180) and latitude (-90 to 90), in this order"
        refuse_nodes(field, points, off_earth, expected)
    points.setflags(write=False)
    return points


def resolve_nodes(nodes: Any, ids: Sequence[Hashable] | None, field: str) -> Any:
    """Nodes, or lists of them, as numbers of nodes; what is none is left for others to refuse.

    Text is an id. A number is an id where ids are numbers, and otherwise the number of a node. A
    :class:`NodeNumber` is what it says, whatever the ids are.
    """
    return _resolve(nodes, _Names(ids), field, depth=2)


def as_nodes(field: str, nodes: Any, ids: Sequence[Hashable] | None) -> tuple[int, ...]:
    """Several nodes, by their numbers or ids; a set has them in the order of their names."""
    expected = "numbers or ids of nodes"
    if isinstance(nodes, set | frozenset):
        nodes = sorted(nodes, key=str)
    listed = as_list(field, resolve_nodes(nodes, ids, field), expected)
    return tuple(as_whole(field, one, expected) for one in listed)


class _Names:
    """The node of every id, and whether some of the ids are numbers; looked at only if needed."""

    def __init__(self, ids: Sequence[Hashable] | None) -> None:
        self.ids = ids

    @cached_property
    def node_of(self) -> dict[Hashable, int]:
        # True and False are no numbers here, though Python counts them among its whole ones.
        return {one: node for node, one in enumerate(self.ids or ()) if not isinstance(one, bool)}

    @cached_property
    def are_numbers(self) -> bool:
        return any(isinstance(one, int | float) for one in self.node_of)


def _resolve(nodes: Any, names: _Names, field: str, depth: int) -> Any:
    nodes = plain_array(nodes)
    # NumPy counts its time spans among the whole numbers.
    if isinstance(nodes, bool | NodeNumber | np.timedelta64):
        return nodes
    if isinstance(nodes, str):
        return _named(nodes, names, field) if names.ids is not None else nodes
    if isinstance(nodes, int | float | np.integer | np.floating):
        if names.are_numbers:
            return _named(nodes, names, field)
        return NodeNumber(nodes) if isinstance(nodes, int | np.integer) else nodes
    if depth > 0 and isinstance(nodes, Iterable) and not isinstance(nodes, bytes | Mapping):
        try:
            listed = list(nodes)
        except (TypeError, ValueError, RuntimeError):  # an array of no dimension, for one
            return nodes
        return [_resolve(node, names, field, depth - 1) for node in listed]
    return nodes


def _named(one: Any, names: _Names, field: str) -> NodeNumber:
    node = names.node_of.get(_plain(one))
    if node is None:
        why = "" if isinstance(one, str) else " (some are numbers, so that a number is an id)"
        raise ProblemError(field, f"one of the ids{why}", show(_plain(one)))
    return NodeNumber(node)


def node_numbers(nodes: Any) -> Any:
    """The same nodes, or lists of them, marked as numbers: ids that are numbers do not count."""
    if isinstance(nodes, list | tuple | range):
        return [node_numbers(node) for node in nodes]
    return NodeNumber(nodes)


def are_ids_numbers(ids: Sequence[Hashable] | None) -> bool:
    """Whether a number, in the place of a node, would be taken for an id."""
    return _Names(ids).are_numbers


def with_id(error: ProblemError, ids: Sequence[Hashable] | None) -> ProblemError:
    """The same error, which also says what the user calls the node at fault."""
    node = error.node
    if ids is None or node is None or not 0 <= node < len(ids):
        return error
    received = f"{error.received} (node {node} is {show(ids[node])})"
    return ProblemError(error.field, error.expected, received, node=node)

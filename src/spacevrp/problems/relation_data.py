"""Fields of a problem that tie customers to each other, and what a plan is to make small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacevrp.problems.conversion import Array
from spacevrp.problems.objective import Objective


@dataclass(frozen=True)
class Group:
    """Customers of whom one is served, and the others are not.

    Parameters
    ----------
    nodes
        The customers: numbers, or their ids.
    required
        Whether one of them must be served; otherwise at most one is.
    """

    nodes: Sequence[int]
    required: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class RelationData:
    """Relations of a :class:`~spacevrp.problems.problem.Problem`, which says what they mean."""

    pickup: Array | None = None
    max_ride: Array | None = None
    lifo: bool = False
    groups: tuple[Group, ...] = ()
    same_route: tuple[tuple[int, ...], ...] = ()
    different_routes: tuple[tuple[int, ...], ...] = ()
    order: tuple[tuple[int, int], ...] = ()
    priority: Array | None = None
    objective: Objective = field(default_factory=Objective)

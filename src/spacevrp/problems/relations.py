"""Relations between customers: from the user's values, checked, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from spacevrp.problems.clock import as_durations
from spacevrp.problems.conversion import (
    Array,
    as_array,
    as_flag,
    as_list,
    per_node,
    plain_array,
    refuse_nodes,
    show,
)
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.labels import as_nodes
from spacevrp.problems.objective import as_objective
from spacevrp.problems.problem_data import Group, ProblemData, RelationData
from spacevrp.problems.route_rules import unlearned_rule

RELATIONS = tuple(field.name for field in fields(RelationData))
MOST_PRIORITY = 100


# ------------------------------------------------------------------------------ from user's values


def read_relations(problem: ProblemData) -> dict[str, Any]:
    """The fields of relations, converted, and the penalties (N,) that members of groups have."""
    read: dict[str, Any] = {
        "pickup": _as_pickup(problem),
        "max_ride": _as_max_ride(problem),
        "lifo": as_flag("lifo", problem.lifo),
        "groups": _as_groups(problem),
        **{name: _as_sets(problem, name) for name in ("same_route", "different_routes", "order")},
        "priority": _as_priority(problem),
        "objective": as_objective(problem.objective),
    }
    members = [node for group in read["groups"] for node in group.nodes if node < problem.size]
    if members:  # left out, they cost nothing
        penalty = np.array(problem.penalty)
        penalty[members] = 0.0
        penalty.setflags(write=False)
        read["penalty"] = penalty
    return read


def _as_pickup(problem: ProblemData) -> Array | None:
    """What is collected (N,), or (N, D) of several kinds of load; None where nothing is."""
    if problem.pickup is None:
        return None
    kinds = problem.kinds_of_load
    if kinds == 1:
        pickup = np.array(per_node("pickup", problem.pickup, problem.size, 0.0))
    else:
        pickup = as_array("pickup", plain_array(problem.pickup))
        if pickup.shape != (problem.size, kinds):
            expected = f"{problem.size} rows with {kinds} numbers, one a kind of load"
            raise ProblemError("pickup", expected, f"shape {pickup.shape}")
    rows = pickup.reshape(problem.size, kinds)
    bad = ~(np.isfinite(rows) & (rows >= 0)).all(axis=1)
    refuse_nodes("pickup", pickup, bad, "a finite amount of at least 0")
    pickup.setflags(write=False)
    return pickup if pickup.any() else None


def _as_max_ride(problem: ProblemData) -> Array | None:
    """A duration for each pair, infinite where there is no limit; None where nothing is limited."""
    if problem.max_ride is None:
        return None
    given = as_durations(plain_array(problem.max_ride), problem.time_unit)
    limits = as_array("max_ride", given, absent=np.inf)
    pairs = len(problem.pairs)
    if not pairs:
        raise ProblemError("max_ride", "pairs beside it", "none")
    if limits.ndim == 0:
        limits = np.full(pairs, float(limits))
    if limits.shape != (pairs,):
        expected = f"a duration, or {pairs} of them, one a pair"
        raise ProblemError("max_ride", expected, f"shape {limits.shape}")
    if not (limits >= 0).all():
        raise ProblemError("max_ride", "a duration of at least 0", show(limits.min()))
    limits.setflags(write=False)
    return limits if np.isfinite(limits).any() else None


def _as_nodes(problem: ProblemData, field: str, value: Any) -> tuple[int, ...]:
    nodes = as_nodes(field, value, problem.ids)
    for node in nodes:
        if not 0 <= node < problem.size:
            raise ProblemError(field, f"nodes from 0 to {problem.size - 1}", show(node))
        if node in problem.depots:
            raise ProblemError(field, "customers", "a depot", node=node)
    if len(set(nodes)) != len(nodes):
        raise ProblemError(field, "each customer once", show(list(nodes)))
    return nodes


def _as_groups(problem: ProblemData) -> tuple[Group, ...]:
    if not _is_given(problem.groups):
        return ()
    expected = "groups of customers: lists, tables with nodes and required, or Group"
    groups: list[Group] = []
    taken: set[int] = set()
    for number, given in enumerate(as_list("groups", problem.groups, expected)):
        field = f"groups, number {number}"
        if isinstance(given, Mapping):
            unknown = [key for key in given if key not in ("nodes", "required")]
            if unknown or "nodes" not in given:
                received = show(unknown[0]) if unknown else "no nodes"
                raise ProblemError(field, "nodes and required", received)
            given = Group(given["nodes"], given.get("required", True))
        if not isinstance(given, Group):
            given = Group(given)  # type: ignore[arg-type]
        nodes = _as_nodes(problem, field, given.nodes)
        if not nodes:
            raise ProblemError(field, "at least one customer", "none")
        for node in nodes:
            if node in taken:
                raise ProblemError("groups", "one group a customer", "several", node=node)
        taken.update(nodes)
        groups.append(Group(nodes, as_flag(f"{field}, required", given.required)))
    return tuple(groups)


def _as_sets(problem: ProblemData, field: str) -> tuple[tuple[int, ...], ...]:
    """Sets of customers, or couples of them where they are in an order."""
    given = getattr(problem, field)
    if not _is_given(given):
        return ()
    is_order = field == "order"
    in_all = "two customers, the earlier one first" if is_order else "sets of customers"
    sets = []
    for number, one in enumerate(as_list(field, given, in_all)):
        nodes = _as_nodes(problem, f"{field}, number {number}", one)
        if is_order and len(nodes) != 2:
            raise ProblemError(f"{field}, number {number}", in_all, show(list(nodes)))
        if len(nodes) < 2:
            raise ProblemError(f"{field}, number {number}", "two customers or more", show(nodes))
        sets.append(nodes)
    return tuple(sets)


def _as_priority(problem: ProblemData) -> Array | None:
    if problem.priority is None:
        return None
    priority = per_node("priority", problem.priority, problem.size, 0.0)
    bad = ~((priority == np.round(priority)) & (priority >= 0) & (priority <= MOST_PRIORITY))
    refuse_nodes("priority", priority, bad, f"a whole number from 0 to {MOST_PRIORITY}")
    return priority if priority.any() else None


def _is_given(value: Any) -> bool:
    return value is not None and not (isinstance(value, tuple | list) and not value)


# ----------------------------------------------------------------------------------- cross-checks


def check_relations(problem: ProblemData) -> None:
    """Raise for the first contradiction of relations with each other or with the rest."""
    present = present_relations(problem)
    if not present:
        return
    if not problem.depots:
        raise ProblemError(present[0], "nothing without a depot", "a value")
    paired = {node: other for pair in problem.pairs for node, other in (pair, pair[::-1])}
    _check_pickup(problem, paired)
    if problem.lifo and not problem.pairs:
        raise ProblemError("lifo", "pairs beside it", "none")
    if problem.lifo:
        for node in problem.customers:
            collects = (problem.loads[node] < 0).any() or (problem.pickups[node] > 0).any()
            if collects and node not in paired:
                expected = "pairs and deliveries alone beside lifo"
                raise ProblemError("lifo", expected, "a pickup without a delivery", node=node)
    for group in problem.groups:
        for node in group.nodes:
            if node in paired:
                raise ProblemError("groups", "customers without a partner", "a pair", node=node)
    if problem.groups and problem.min_prize > 0:
        raise ProblemError("groups", "none beside min_prize", "some")
    if problem.maximise_prize and not problem.objective.is_cost:
        raise ProblemError("objective", "the cost where prize is maximised", "another")
    _check_sets(problem, paired)
    for earlier, later in problem.order:
        if (later, earlier) in problem.pairs:
            expected = f"the pickup {later} before its delivery"
            raise ProblemError("order", expected, "the other way round", node=earlier)


def _check_pickup(problem: ProblemData, paired: Mapping[int, int]) -> None:
    if problem.pickup is None:
        return
    if problem.load_rule != "separate":
        raise ProblemError("load_rule", "'separate' beside pickup", show(problem.load_rule))
    if problem.backhaul_last:
        raise ProblemError("backhaul_last", "False beside pickup", "True")
    for node in np.flatnonzero((problem.pickups > 0).any(axis=1)).tolist():
        if node in problem.depots:
            raise ProblemError("pickup", "0 at a depot", show(problem.pickup[node]), node=node)
        if node in paired:
            raise ProblemError("pickup", "0 at a customer of a pair", "an amount", node=node)
        if (problem.loads[node] < 0).any():
            expected = "a demand of at least 0 beside pickup"
            raise ProblemError("demand", expected, show(problem.loads[node].tolist()), node=node)


def _check_sets(problem: ProblemData, paired: Mapping[int, int]) -> None:
    together = {
        frozenset((a, b)) for nodes in problem.same_route for a in nodes for b in nodes if a != b
    }
    for number, nodes in enumerate(problem.different_routes):
        field = f"different_routes, number {number}"
        for a in nodes:
            if paired.get(a) in nodes:
                raise ProblemError(field, "no two of a pair", "both", node=a)
            for b in nodes:
                if frozenset((a, b)) in together:
                    expected = "no two customers of a set in same_route"
                    raise ProblemError(field, expected, f"{a} and {b}", node=a)


# ------------------------------------------------------------------------------- what is present


def present_relations(problem: ProblemData) -> tuple[str, ...]:
    """Names of the relations that a problem has."""
    found = {
        "pickup": problem.pickup is not None,
        "max_ride": problem.max_ride is not None,
        "priority": problem.priority is not None,
        "objective": not problem.objective.is_cost,
    }
    return tuple(name for name in RELATIONS if found.get(name, getattr(problem, name)))


def has_jobs_beside_pairs(problem: ProblemData) -> bool:
    """Whether some customers have a partner, and some have none."""
    return 0 < 2 * len(problem.pairs) < problem.size - len(problem.depots)


def unlearned_relations(problem: ProblemData) -> str | None:
    """What the search knows, but not the network and most solvers; or None."""
    present = present_relations(problem)
    if present:
        return present[0]
    return "customers beside pairs" if has_jobs_beside_pairs(problem) else None


def unlearned(problem: ProblemData) -> str | None:
    """A rule of the problem that the network has not learned, as messages call it; or None."""
    return unlearned_rule(problem) or unlearned_relations(problem)

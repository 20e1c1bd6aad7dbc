"""The referee's rules for fleets: which vehicle drives what, from where to where."""

from __future__ import annotations

from spacevrp.problems.fleet import Terms, called
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee_rules import Trip, Violation, name_node


def check_fleet_shape(
    problem: Problem, number: int, nodes: tuple[int, ...], terms: Terms
) -> tuple[Trip | None, list[Violation]]:
    """The route as a vehicle of that type travels it, and where its form is wrong."""
    faults: list[Violation] = []

    def fault(code: str, text: str, node: int) -> None:
        faults.append(Violation(code, f"route {number} {text}", number, node))

    if not nodes or (len(nodes) <= 2 and all(node in problem.depots for node in nodes)):
        return None, []  # a vehicle that stays at home
    first, last = nodes[0], nodes[-1]
    if first != terms.start:
        text = f"starts at {name_node(problem, first)}, {called(terms)} starts at depot"
        fault("depot", f"{text} {terms.start}", first)
    ends_at_depot = len(nodes) > 1 and last in problem.depots
    if terms.end is None and ends_at_depot:
        text = f"ends at depot {last}, but the route of {called(terms)} ends at its last customer"
        fault("shape", text, last)
        nodes = nodes[:-1]
    elif terms.end is not None and last != terms.end:
        text = f"ends at {name_node(problem, last)}, {called(terms)} ends at depot {terms.end}"
        fault("depot", text, last)
    inner_end = len(nodes) - 1 if terms.end is not None and ends_at_depot else len(nodes)
    reloads = terms.reload_depots if terms.may_reload else ()
    for position in range(1, inner_end):
        if nodes[position] in problem.depots and nodes[position] not in reloads:
            text = f"visits depot {nodes[position]} on the way, at position {position + 1}"
            fault("depot", text, nodes[position])
    return Trip.along(problem, number, nodes, terms), faults


def check_permissions(problem: Problem, trip: Trip) -> list[Violation]:
    """A vehicle serves no customer that is forbidden to it, and first of all those pinned to it."""
    violations = []
    terms = trip.terms
    others = [other for other in problem.fleet if other.number != terms.number]
    pinned_to = {customer: other for other in others for customer in other.pinned}
    carried_by = {customer: other for other in others for customer in other.on_board or ()}
    for node in trip.customers:
        visits = f"visits customer {node}"
        if node in pinned_to:
            text = f"{visits}, who is pinned to {called(pinned_to[node])}"
            violations.append(trip.fault("pin", text, node))
        elif node in carried_by:
            text = f"{visits}, whose goods are on board of {called(carried_by[node])}"
            violations.append(trip.fault("goods", text, node))
        elif node in terms.forbidden and not _lacks_goods(problem, terms, node):
            text = f"{visits}, whom {called(terms)} may not serve"
            violations.append(trip.fault("vehicle", text, node))
    for position, pinned in enumerate(terms.pinned):
        visited = trip.customers[position] if position < len(trip.customers) else None
        if visited != pinned:
            found = "no customer" if visited is None else f"customer {visited}"
            there = f"customer {pinned} is pinned there to {called(terms)}"
            text = f"visits {found} at position {position + 2}, {there}"
            violations.append(trip.fault("pin", text, pinned))
            break
    return violations


def _lacks_goods(problem: Problem, terms: Terms, node: int) -> bool:
    """Whether what keeps it from serving a customer is that its goods are not on board."""
    vehicle = (problem.vehicles or ())[terms.number]
    barred = vehicle.allowed is not None and node not in vehicle.allowed
    return not barred and node not in vehicle.forbidden and terms.on_board is not None


def check_counts(problem: Problem, trips: list[Trip]) -> list[Violation]:
    """No more vehicles of a type than there are, and every vehicle with pinned customers leaves."""
    violations = []
    for terms in problem.fleet:
        used = sum(trip.terms.number == terms.number for trip in trips)
        if terms.count is not None and used > terms.count:
            there = "there is 1" if terms.count == 1 else f"there are {terms.count}"
            text = f"the plan has {used} routes of {called(terms)}, of which {there}"
            violations.append(Violation("vehicle", text))
        if terms.pinned and not used:
            text = f"{called(terms)} stays at home, but customer {terms.pinned[0]} is pinned to it"
            violations.append(Violation("pin", text, node=terms.pinned[0]))
    return violations

"""The smallest changes that let a customer in: ranked, then verified by the referee."""

from __future__ import annotations

from collections.abc import Iterable

from spacevrp.problems.errors import ProblemError
from spacevrp.problems.explanation.changes import Change, Relaxation, change_all
from spacevrp.problems.explanation.insertions import Insertion, Insertions, lacks_vehicle
from spacevrp.problems.explanation.remedies import needed
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation, judge

# The most promising ways that are tried on the changed instance before none is reported.
_MOST_TRIED = 24
# After a new arc the rest of the route is judged for the first time, and may need a change, too.
_MOST_ROUNDS = 3


def rank(
    insertions: Insertions, found: Iterable[Insertion]
) -> list[tuple[tuple[Change, ...], Insertion]]:
    """Ways that changes would mend, each with these, by how little it takes.

    One change comes before several; then the smaller share of what is changed; then the cheaper
    plan. A way that fits needs no change, and comes first.
    """
    problem = insertions.problem
    # Where goods are only handed over, a route carries the same wherever a customer comes in.
    alike = problem.vehicles is None and not problem.pairs and not (problem.loads < 0).any()
    alike = alike and problem.pickup is None
    loaded: dict[int | None, list[tuple[Change, ...]]] = {}
    promising = []
    for insertion in found:
        insertions.deadline.check()
        is_known = alike and {fault.code for fault in insertion.faults} == {"capacity"}
        if is_known and insertion.route in loaded:
            options = loaded[insertion.route]
        else:
            options = needed(insertions.sheet, insertion.nodes, insertion.faults, insertion.vehicle)
            if is_known:
                loaded[insertion.route] = options
        promising += [(changes, insertion) for changes in options]
    return sorted(promising, key=lambda entry: _size(problem, *entry))


def _size(
    problem: Problem, changes: tuple[Change, ...], insertion: Insertion
) -> tuple[int, float, float]:
    return len(changes), sum(change.relative(problem) for change in changes), insertion.extra


def relaxations(
    insertions: Insertions, ranked: Iterable[tuple[tuple[Change, ...], Insertion]]
) -> list[Relaxation]:
    """The smallest verified change of each kind, the cheapest of all first.

    Several changes at once are named only where no single one helps.
    """
    best: dict[tuple[str, ...], Relaxation] = {}
    tried: dict[tuple[str, ...], int] = {}
    for changes, insertion in ranked:
        insertions.deadline.check()
        kinds = tuple(sorted(change.kind for change in changes))
        if kinds in best or tried.get(kinds, 0) >= _MOST_TRIED or (len(kinds) > 1 and best):
            continue
        tried[kinds] = tried.get(kinds, 0) + 1
        relaxation = _verified(insertions, insertion, changes)
        if relaxation is not None:
            # The changed instance may have asked for more.
            best.setdefault(tuple(sorted(c.kind for c in relaxation.changes)), relaxation)
        if not kinds:
            break  # nothing needs to change
    problem = insertions.problem
    found = sorted(best.values(), key=lambda one: _size(problem, one.changes, one.insertion))
    return [one for one in found if len(one.changes) <= max(len(found[0].changes), 1)]


def _verified(
    insertions: Insertions, insertion: Insertion, changes: tuple[Change, ...]
) -> Relaxation | None:
    """The changes, once the referee passes the route on the changed instance; else None."""
    routes = insertions.plan_with(insertion)
    number = insertion.route or len(routes)
    made: tuple[Change, ...] = ()
    for _ in range(_MOST_ROUNDS):
        made += changes
        try:
            problem = change_all(insertions.problem, made)
        except ProblemError:
            return None
        faults = [
            fault
            for fault in judge(problem, routes).violations
            if fault.route == number or lacks_vehicle(fault) or _is_new(insertions, fault)
        ]
        if not faults:
            return Relaxation(made, insertion, routes)
        further = needed(problem, insertion.nodes, faults)
        if not further or {c.kind for c in further[0]} & {c.kind for c in made}:
            return None
        changes = further[0]
    return None


def _is_new(insertions: Insertions, fault: Violation) -> bool:
    """Whether another route has lost its vehicle, or whom it belongs with, to this one."""
    differ = insertions.problem.vehicles is not None or insertions.related
    return differ and fault.route is not None and fault.message not in insertions.known

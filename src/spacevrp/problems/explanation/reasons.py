"""Why compulsory customers are left out of a plan, and the smallest change that lets them in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from spacevrp.problems.deadline import NEVER, Deadline, TimeIsUp
from spacevrp.problems.explanation.changes import Relaxation
from spacevrp.problems.explanation.insertions import (
    Insertion,
    Insertions,
    Route,
    lacks_vehicle,
    missing,
)
from spacevrp.problems.explanation.remedies import rank, relaxations
from spacevrp.problems.explanation.text import (
    describe_fault,
    describe_place,
    describe_relaxation,
    first_named,
    is_bound,
    name,
    name_all,
    tell_owner,
)
from spacevrp.problems.plan import node_id
from spacevrp.problems.plan_text import write_number
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import as_routes

# Why a customer is left out; `vehicle` and `pin` only where there are types of vehicles. `none`: it
# is left out though it fits. `unexplained`: the time was up before the reason was found.
CODES = (
    *("capacity", "window", "unreachable", "length", "duration", "pair", "fleet", "vehicle"),
    *("stops", "start", "break", "reload", "goods", "pin", "none", "unexplained"),
    *("ride", "lifo", "order", "group", "same_route", "different_routes"),
)


@dataclass(frozen=True)
class Unserved:
    """A compulsory customer whom a plan leaves out.

    Attributes
    ----------
    node, id
        The customer's number, and what the user calls it (the number, where it has no id).
    code
        Why: ``capacity``, ``window``, ``unreachable``, ``length``, ``duration``, ``stops``,
        ``start`` (the vehicle would leave too late), ``break`` (no time is left for one),
        ``reload``, ``goods`` (they are on board of another vehicle, or not of this) or ``pair``
        where it cannot be served even alone; ``vehicle`` where no vehicle may serve it, ``pin``
        where the one that could has to serve others first; ``fleet`` where it could be served, but
        no further route is allowed and none has room; ``none`` where nothing stands in its way;
        ``unexplained`` where the time was up before the reason was found.
    message
        The reason in a sentence, with the numbers.
    relaxation
        The smallest change that lets it in; None where none is known.
    alternatives
        The smallest changes of other kinds.
    """

    node: int
    id: Hashable
    code: str
    message: str
    relaxation: Relaxation | None = None
    alternatives: tuple[Relaxation, ...] = ()


def explain_unserved(
    problem: Problem,
    routes: Iterable[Iterable[int]],
    most: int | None = None,
    report: Callable[[int], None] = lambda number: None,
    deadline: Deadline = NEVER,
) -> tuple[Unserved, ...]:
    """For each compulsory customer that the routes leave out: the reason, and the way in.

    With ``most``, only for the first so many (of pairs, for both). ``report`` is called with a
    number of customers whenever so many are explained. When the deadline is over the others have
    the reason why they cannot be served alone, which takes little time, or none.
    """
    resolved = as_routes(problem, routes)
    left = missing(problem, resolved)[:most]
    if not left:
        return ()
    visited = {node for route in resolved for node in route}
    known = {stops: _left_unexplained(problem, stops) for stops in left}
    if not deadline.over:
        insertions = Insertions(problem, resolved, deadline)
        steps = [_explain_alone] if deadline.seconds < NEVER.seconds else []
        for explained in (*steps, _explain_one):
            for stops in left:
                with suppress(TimeIsUp):
                    known[stops] = explained(insertions, stops) or known[stops]
                if explained is _explain_one:
                    report(len(set(stops) - visited))
    return tuple(one for stops in left for one in known[stops] if one.node not in visited)


def _left_unexplained(problem: Problem, stops: Route) -> list[Unserved]:
    """The customer, or both of a pair, where there is no time to find the reason."""
    told = "is left out; the time was up before the reason was found"
    return [
        Unserved(node, node_id(problem, node), "unexplained", f"{name(problem, node)} {told}")
        for node in stops
    ]


def _explain_alone(insertions: Insertions, stops: Route) -> list[Unserved]:
    """Why it cannot be served even alone, without a way in; nothing where it may be."""
    insertions.deadline.check()
    own = list(insertions.own_routes(stops)) if insertions.problem.depots else []
    if not own or any(insertion.fits for insertion in own):
        return []
    closest = [insertion for _, insertion in rank(insertions, own)]
    told = _reasons(insertions, stops, own, [*closest, *own])
    return [
        Unserved(node, node_id(insertions.problem, node), code, message)
        for node, (code, message) in zip(stops, told, strict=True)
        if code != "fleet"  # which is to say that no route has room
    ]


def _explain_one(insertions: Insertions, stops: Route) -> list[Unserved]:
    """The customer, or both of a pair."""
    problem = insertions.problem
    found = list(insertions.all_of(stops))
    insertions.deadline.check()  # there may be more of them
    ranked = rank(insertions, found)
    relaxed = [
        replace(one, message=describe_relaxation(problem, one))
        for one in relaxations(insertions, ranked)
    ]
    closest = [insertion for _, insertion in ranked]
    closest += [insertion for insertion in found if insertion.faults]
    told = _reasons(insertions, stops, found, closest)
    first = relaxed[0] if relaxed else None
    return [
        Unserved(node, node_id(problem, node), code, message, first, tuple(relaxed[1:]))
        for node, (code, message) in zip(stops, told, strict=True)
    ]


def _reasons(
    insertions: Insertions, stops: Route, found: Sequence[Insertion], closest: Sequence[Insertion]
) -> list[tuple[str, str]]:
    """(code, sentence) for each of the stops; ``closest`` has the ways by how little they lack."""
    problem = insertions.problem
    who = name_all(problem, stops)
    fitting = [insertion for insertion in found if insertion.fits]
    if fitting:
        insertion = min(fitting, key=lambda insertion: insertion.extra)
        text = f"{who} could be served {describe_place(problem, insertion)}"
        return [("none", f"{text}, for {write_number(insertion.extra)} more")] * len(stops)
    into_routes = [insertion for insertion in closest if insertion.route is not None]
    if not problem.depots:
        if not into_routes:
            return [("unreachable", f"{who} has no place in a tour")]
        insertion = into_routes[0]
        place = describe_place(problem, insertion).removeprefix("in the tour, ")
        text = f"{who} has no place in the tour: {place}, {describe_fault(problem, insertion)}"
        return [(_code(insertion), text)]
    own = [insertion for insertion in found if insertion.route is None]
    bound = [insertion for insertion in own if all(is_bound(fault) for fault in insertion.faults)]
    # A vehicle that others have claimed says more than what smaller ones cannot do.
    alone = bound[0] if bound else next(insertion for insertion in closest if insertion in own)
    if all(lacks_vehicle(fault) for fault in alone.faults):
        return [("fleet", _tell_full(insertions, who, into_routes))] * len(stops)
    if len(stops) == 2:
        return _reasons_of_pair(insertions, stops, alone)
    text = f"{who} cannot be served alone: {describe_fault(problem, alone)}"
    return [(_code(alone), text + tell_owner(problem, stops[0]))]


def _code(insertion: Insertion) -> str:
    """The rule that stands in the way."""
    others = [fault for fault in insertion.faults if not lacks_vehicle(fault)]
    code = first_named(others or insertion.faults).code
    return "unreachable" if code == "arc" else code


def _tell_full(insertions: Insertions, who: str, into_routes: Sequence[Insertion]) -> str:
    """No vehicle is free, and none has room."""
    problem = insertions.problem
    if insertions.used == 1:
        text = f"the one route that is allowed is in use, and {who} does not fit into it"
    else:
        text = f"all {insertions.used} routes that are allowed are in use, and {who} fits into none"
    if not into_routes:
        return text
    insertion = into_routes[0]
    return f"{text}: {describe_place(problem, insertion)}, {describe_fault(problem, insertion)}"


def _reasons_of_pair(
    insertions: Insertions, stops: Route, together: Insertion
) -> list[tuple[str, str]]:
    """Each of a pair for its own reason, or because of its partner, or of the two together."""
    problem = insertions.problem
    roles = ("pickup", "delivery")
    alone: list[tuple[str, str] | None] = []
    for node in stops:
        one = _least_faulty(insertions, node)
        alone.append(None if one.fits else (_code(one), describe_fault(problem, one)))
    if alone == [None, None]:
        text = (
            f"{name(problem, stops[0])} and its delivery {name(problem, stops[1])} cannot be "
            f"served one after the other: {describe_fault(problem, together)}"
        )
        return [("pair", text)] * 2
    reasons = []
    for turn, node in enumerate(stops):
        own, other = alone[turn], alone[1 - turn]
        if own is not None:
            reasons.append((own[0], f"{name(problem, node)} cannot be served alone: {own[1]}"))
        elif other is not None:
            partner = f"its {roles[1 - turn]}, {name(problem, stops[1 - turn])}"
            text = f"{name(problem, node)} is left out with {partner}, which cannot be served alone"
            reasons.append(("pair", f"{text}: {other[1]}"))
    return reasons


def _least_faulty(insertions: Insertions, node: int) -> Insertion:
    """One of a pair on a route of its own, judged as if it had no partner."""
    singles = []
    for insertion in insertions.own_routes((node,)):
        faults = [fault for fault in insertion.faults if fault.code != "pair"]
        own = tuple(fault for fault in faults if not lacks_vehicle(fault))
        singles.append(replace(insertion, faults=own))
    ranked = [insertion for _, insertion in rank(insertions, singles)]
    return (ranked or singles)[0]

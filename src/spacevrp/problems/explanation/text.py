"""Reasons, relaxations and limits in words: the user's ids, units and clock."""

from __future__ import annotations

import re
from collections.abc import Sequence

from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.clock import Moment
from spacevrp.problems.explanation.changes import Change, Relaxation
from spacevrp.problems.explanation.insertions import Insertion
from spacevrp.problems.explanation.remedies import max_length_of, missing_legs
from spacevrp.problems.explanation.routes import Limit, RouteLimits
from spacevrp.problems.fleet import called, called_break
from spacevrp.problems.plan import RoutePlan, Stop, capacities_of, make_plan, node_id, peaks_of
from spacevrp.problems.plan_text import count, write_moment, write_number, write_span
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation
from spacevrp.problems.referee.rules import write_apart

# A route may break several rules; the first of these is named. Where there is no road, nothing
# that follows is known; what a vehicle cannot carry it need not bring in time.
_FIRST_NAMED = ("arc", "capacity", "length", "duration", "window")
# Rules of routes, whose sentences say all there is to say.
_OF_ROUTES = (
    *("stops", "start", "break", "reload", "goods"),
    *("lifo", "order", "same_route", "different_routes"),
)


def name(problem: Problem, node: int) -> str:
    """What to call a node: by the user's id where there is one."""
    noun = "node" if not problem.depots else "depot" if node in problem.depots else "customer"
    return f"{noun} {node_id(problem, node)}"


def name_all(problem: Problem, nodes: Sequence[int]) -> str:
    """The same for several."""
    if len(nodes) == 1:
        return name(problem, nodes[0])
    *names, last = (name(problem, node) for node in nodes)
    return f"{', '.join(names)} and {last}"


def first_named(faults: Sequence[Violation]) -> Violation:
    """The fault that is told of several."""
    order = {code: rank for rank, code in enumerate(_FIRST_NAMED)}
    return min(faults, key=lambda fault: order.get(fault.code, len(order)))


def describe_fault(problem: Problem, insertion: Insertion) -> str:
    """What is wrong with a route that serves the customers, with the numbers."""
    fault = first_named(insertion.faults)
    if fault.code == "arc":
        legs = missing_legs(problem, insertion.nodes)
        roads = " and ".join(f"from {name(problem, a)} to {name(problem, b)}" for a, b in legs)
        return f"no arc leads {roads}"
    driven_by = None if insertion.vehicle is None else (insertion.vehicle,)
    plan = make_plan(problem, FleetRoutes([insertion.nodes], driven_by), 0.0).routes
    if len(plan) == 1 and fault.code in ("vehicle", "pin") and fault.node is not None:
        return _tell_claim(problem, insertion, plan[0], fault)
    if len(plan) == 1 and fault.code in _FIRST_NAMED:
        told = _tell(problem, insertion, plan[0], fault.code)
        if told is not None:
            return told
    message = _by_id(problem, fault.message)
    told = message.removeprefix(f"route {fault.route} ")
    if fault.code in _OF_ROUTES and told != message:
        return f"{'such a' if insertion.route is None else 'the'} route {told}"
    return told.removeprefix(f"route {fault.route}: ")


def _by_id(problem: Problem, message: str) -> str:
    """A sentence of the referee, with the user's ids instead of its numbers."""
    if problem.ids is None:
        return message

    def named(found: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(node_id(problem, int(number[0]))), found[0])

    return re.sub(r"(customer|depot) \d+|customers \d+((, | and )\d+)*", named, message)


def is_bound(fault: Violation) -> bool:
    """Whether a fault says that the vehicle has to serve others first."""
    return fault.code == "pin" and fault.route is None


def tell_owner(problem: Problem, node: int) -> str:
    """Why no other vehicle helps, where the goods of a customer are on board of one."""
    for terms in problem.fleet:
        if node in (terms.on_board or ()):
            return f"; its goods are on board of {called(terms)}"
    return ""


def _tell_claim(problem: Problem, insertion: Insertion, plan: RoutePlan, fault: Violation) -> str:
    """Whom a vehicle may not serve, or whom it has to serve before."""
    node = fault.node or 0
    who = "it" if insertion.stops == (node,) else name(problem, node)
    owner = next((terms for terms in problem.fleet if node in terms.pinned), None)
    if owner is None:
        vehicle = "a vehicle" if plan.vehicle is None else called(plan.vehicle)
        return f"{vehicle} may not serve {who}"
    if is_bound(fault):
        first = name_all(problem, owner.pinned)
        return f"{called(owner)} could take it, but has to serve {first} first, pinned to it"
    if plan.vehicle is not None and plan.vehicle.number == owner.number:
        return f"{called(owner)} has to serve {who} first, pinned to it"
    return f"{who} is pinned to {called(owner)}"


def _tell(problem: Problem, insertion: Insertion, plan: RoutePlan, code: str) -> str | None:
    if code == "capacity":
        return _tell_load(problem, insertion, plan)
    if code == "length":
        length, limit = write_apart(plan.length, max_length_of(problem, plan))
        there = "there and back" if insertion.nodes[-1] in problem.depots else "there"
        route = f"the way {there} is" if insertion.route is None else "the route would be"
        return f"{route} {length} long, the limit is {limit}"
    if code == "duration" and plan.vehicle is not None:
        longest = plan.vehicle.max_duration + plan.vehicle.max_overtime
        taken, limit = write_apart(plan.duration, longest)
        route = "such a route takes" if insertion.route is None else "the route would take"
        return f"{route} {taken}, {called(plan.vehicle)} may take {limit}"
    late = [stop for stop in plan.stops if stop.late > problem.time_tolerance]
    return _tell_late(problem, insertion, plan, late[0]) if late else None


def _tell_load(problem: Problem, insertion: Insertion, plan: RoutePlan) -> str | None:
    for kind, (peak, room) in enumerate(
        zip(peaks_of(plan), capacities_of(problem, plan), strict=True)
    ):
        if peak <= room + problem.load_slack(room, kind):
            continue
        load, capacity = write_apart(peak, room)
        of_kind = _kind(problem, kind)
        carries = "a vehicle" if plan.vehicle is None else called(plan.vehicle)
        if insertion.route is None and len(insertion.stops) == 1:
            verb = "demands" if problem.loads[insertion.stops[0], kind] > 0 else "hands over"
            return f"it {verb} {load}{of_kind}, {carries} carries {capacity}"
        return f"the load{of_kind} would be {load}, {carries} carries {capacity}"
    return None


def _kind(problem: Problem, kind: int) -> str:
    return f" of kind {kind}" if problem.kinds_of_load > 1 else ""


def _tell_late(problem: Problem, insertion: Insertion, plan: RoutePlan, stop: Stop) -> str:
    too_late = write_span(problem.clock, stop.late)
    when, closing = _moments(problem, stop.reached, stop.closing)
    if stop.node in problem.depots:
        there = f"the vehicle would be back at {name(problem, stop.node)} at {when}, which"
        return f"{there} closes at {closing}: {too_late} too late"
    start = plan.stops[0].node
    if insertion.route is None and stop.node == insertion.stops[0]:
        there = f"straight from {name(problem, start)} it is reached at {when}"
    else:
        there = f"{name(problem, stop.node)} would be reached at {when}"
    return f"{there}, the window closes at {closing}: {too_late} too late"


def _moments(problem: Problem, *numbers: float) -> list[str]:
    """Times as the user writes them; numbers with as many digits as it takes to tell them apart."""
    if problem.clock is None:
        return write_apart(*numbers)
    second = problem.clock.seconds  # spans are told to the second, and should fit
    if problem.clock.form != "number":
        numbers = tuple(round(number * second) / second for number in numbers)
    moments: list[Moment] = [problem.clock.moment(number) for number in numbers]
    floats = [moment for moment in moments if isinstance(moment, float)]
    if len(floats) == len(moments):
        return write_apart(*floats)
    return [write_moment(moment) for moment in moments]


def describe_place(problem: Problem, insertion: Insertion) -> str:
    """Where the customers come in: into which route and after whom."""
    if insertion.route is None:
        if not problem.depots:
            return "in a tour of its own"
        return f"in a route of {'its' if len(insertion.stops) == 1 else 'their'} own"
    before = [insertion.nodes[insertion.nodes.index(stop) - 1] for stop in insertion.stops]
    if len(insertion.stops) == 2 and before[1] != insertion.stops[0]:
        after = f"after {name(problem, before[0])} and {name(problem, before[1])}"
    else:
        after = f"after {name(problem, before[0])}"
    where = f"route {insertion.route}" if problem.depots else "the tour"
    return f"in {where}, {after}"


# ------------------------------------------------------------------------------------ relaxations


def describe_relaxation(problem: Problem, relaxation: Relaxation) -> str:
    """The changes, and where they let the customer in."""
    changes = " and ".join(_tell_change(problem, change) for change in relaxation.changes)
    place = describe_place(problem, relaxation.insertion)
    return f"{changes or 'nothing needs to change'} ({place})"


_LATER, _EARLIER, _MORE = "{when}, {span} later", "{when}, {span} earlier", "{whose}, {more} more"
# Kind of change -> how it is told; windows that close later are told by themselves.
_TOLD = {
    "capacity": "a capacity of {limit}{of_kind}" + _MORE,
    "length": "a length limit of {limit}" + _MORE,
    "duration": "a maximum duration of {limit}" + _MORE,
    **dict.fromkeys(("fleet", "stops", "reload"), "{number}" + _MORE),
    "permission": "leave for {who} to serve {here}",
    "arc": "an arc {ways}, if it is short enough",
    "ride": "a ride of {most} {ways}, {span} more",
    "order": "leave for {turned}",
    "lifo": "unloading in any order",
    "different_routes": "leave for {here} to share a route",
    "same_route": "leave for {here} to be on another route than {rest}",
    "opening": "the window of {here} open from " + _EARLIER,
    "release": "the goods of {here} there at " + _EARLIER,
    "start": "leave for {who} to start at " + _LATER,
    "break": "{breaks} by " + _LATER,
}


def _tell_change(problem: Problem, change: Change) -> str:
    limit = change.limit or 0.0
    terms = problem.fleet[change.vehicle or 0] if problem.fleet else None
    who = "" if terms is None else called(terms)
    noun = change.kind.removesuffix("s")
    if change.kind == "fleet":
        noun = "route" if change.vehicle is None else "vehicle"
    text = _TOLD.get(change.kind) or _later_closing(change)
    names = [name(problem, node) for node in change.nodes]
    couples = list(zip(names[::2], names[1::2], strict=False))
    sets = [one for one in problem.same_route if set(one) & set(change.nodes)]
    rest = sorted({node for one in sets for node in one} - set(change.nodes))
    pauses = [called_break(terms.breaks[n - 1], n) for n in change.breaks] if terms else []
    begin = "begins" if len(pauses) == 1 else "begin"
    return text.format(
        more=write_number(change.amount),
        limit=write_number(limit),
        number=count(round(limit), noun),
        of_kind=_kind(problem, change.load),
        who=who,
        whose="" if change.vehicle is None else f" for {who}",
        here=name_all(problem, change.nodes) if change.nodes else "",
        rest=name_all(problem, rest) if rest else "",
        ways=" and ".join(f"from {a} to {b}" for a, b in couples),
        turned=" and ".join(f"{a} to come after {b}" for a, b in couples),
        breaks=f"{' and '.join(pauses)} of {who} that {begin}",
        most=write_span(problem.clock, limit),
        span=write_span(problem.clock, change.amount),
        when=_moments(problem, limit)[0] if "{when}" in text else "",
    )


def _later_closing(change: Change) -> str:
    """How windows or a shift that close later are told."""
    if change.vehicle is not None and not change.nodes:
        return "the shift of {who} until {when}, {span} longer"
    too = "" if change.vehicle is None else ", as the shift of {who}"
    if len(change.nodes) == 1:
        return "the window of {here} open until {when}, {span} longer" + too
    return "the windows of {here} open {span} longer" + too


# ----------------------------------------------------------------------------------------- limits


def describe_limits(problem: Problem, route: RouteLimits) -> str:
    """The limit that binds first, and the others after it."""
    if not route.limits:
        return "nothing limits it"
    first, *others = (_tell_limit(problem, limit) for limit in route.limits)
    return "; ".join([f"bound by {first}", *others])


def _tell_limit(problem: Problem, limit: Limit) -> str:
    share = f"{max(limit.share, 0.0):.0%} left" if limit.slack >= 0 else "broken"
    if limit.code == "window":
        slack = write_span(problem.clock, abs(limit.slack))
        spare = f"{slack} to spare" if limit.slack >= 0 else f"{slack} too late"
        return f"the window of {name(problem, limit.node or 0)}: {spare} ({share})"
    what = f"capacity{_kind(problem, limit.load)}" if limit.code == "capacity" else limit.code
    used, allowed = write_number(limit.used), write_number(limit.allowed)
    return f"{what}: {used} of {allowed} ({share})"

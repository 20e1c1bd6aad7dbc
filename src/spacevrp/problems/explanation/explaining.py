"""What a plan leaves out and why, what would let it in, and what limits each route.

Everything is computed from the instance and the plan alone, by asking the referee about every way
to serve a customer: in every place of every route there is, and in a route of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.explanation.changes import Change, Relaxation
from spacevrp.problems.explanation.insertions import Route
from spacevrp.problems.explanation.reasons import Unserved, explain_unserved
from spacevrp.problems.explanation.routes import Limit, RouteLimits, limits_of
from spacevrp.problems.explanation.text import describe_limits
from spacevrp.problems.plan import make_plan, node_id
from spacevrp.problems.plan_documents import plain
from spacevrp.problems.plan_text import count, write_worth
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation, as_routes, judge


def unserved_document(problem: Problem, unserved: Sequence[Unserved]) -> list[dict[str, Any]]:
    """Who is left out, why, and what would let them in."""
    return [
        {
            "node": one.node,
            "id": plain(one.id),
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
        "ids": [plain(node_id(problem, node)) for node in change.nodes],
    }
    told = _told(change, "kind", "amount", "limit") | nodes | _told(change, "vehicle", "load")
    return told | ({"breaks": list(change.breaks)} if change.breaks else {})


def _limit(limit: Limit) -> dict[str, Any]:
    told = _told(limit, "code", "used", "allowed", "slack", "share", "node")
    return told | {"id": plain(limit.id), "load": limit.load}


def _told(one: Change | Limit, *names: str) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


@dataclass(frozen=True)
class Explanation:
    """What is left out of a plan and why, and what limits its routes.

    Attributes
    ----------
    problem, routes, cost
        The instance, the plan, and the referee's figure for it.
    unserved
        Compulsory customers without a visit.
    limits
        For each route with customers, how much room is left.
    faults
        What else the referee finds wrong with the plan.
    """

    problem: Problem
    routes: tuple[Route, ...]
    cost: float
    unserved: tuple[Unserved, ...]
    limits: tuple[RouteLimits, ...]
    faults: tuple[Violation, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everybody is served and every rule kept."""
        return not self.unserved and not self.faults

    @cached_property
    def served(self) -> int:
        """How many customers have a visit."""
        visited = {node for route in self.routes for node in route}
        return sum(node in visited for node in self.problem.customers)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The explanation to read."""
        problem = self.problem
        noun = "customer" if problem.depots else "node"
        total = count(len(problem.customers), noun)
        head = f"{self.served} of {total} served"
        if self.complete and self.served == len(problem.customers):
            head = f"all {total} served"
        worth = write_worth(problem, self.cost)
        lines = [f"{head}, {count(len(self.limits), 'route')}, {worth}"]
        # The two of a pair may share their reason.
        for one in {one.message: one for one in self.unserved}.values():
            lines.append(f"  unserved ({one.code}): {one.message}")
            if one.relaxation is not None and one.relaxation.changes:
                lines.append(f"    it would take: {one.relaxation.message}")
                lines += [f"    or: {other.message}" for other in one.alternatives]
        for route in self.limits:
            lines.append(f"  route {route.number}: {describe_limits(problem, route)}")
        lines += [f"  not kept ({fault.code}): {fault.message}" for fault in self.faults]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values, ready for JSON."""
        problem = self.problem
        return {
            "name": problem.name,
            "variant": problem.variant_name,
            "complete": self.complete,
            "customers": len(problem.customers),
            "served": self.served,
            "unserved": unserved_document(problem, self.unserved),
            "routes": [
                {
                    "number": route.number,
                    "binding": None if route.binding is None else route.binding.code,
                    "message": describe_limits(problem, route),
                    "limits": [_limit(limit) for limit in route.limits],
                }
                for route in self.limits
            ],
            "violations": [asdict(fault) for fault in self.faults],
        }


def explain(
    problem: Problem,
    routes: Sequence[Sequence[int]],
    report: Callable[[int], None] = lambda number: None,
    deadline: Deadline = NEVER,
) -> Explanation:
    """Explain a plan, complete or not.

    ``report`` is called with a number of customers whenever so many are explained. When the
    deadline is over the others are listed without a reason.

    Raises
    ------
    SolutionError
        For a plan that cannot be judged: an entry that is not the number of a node.
    """
    resolved = as_routes(problem, routes)
    verdict = judge(problem, routes)  # which may say what vehicles they have
    faults = tuple(v for v in verdict.violations if not is_missing_visit(v))
    limits = limits_of(make_plan(problem, routes, verdict.cost))
    unserved = explain_unserved(problem, resolved, report=report, deadline=deadline)
    return Explanation(problem, resolved, verdict.cost, unserved, limits, faults)


def is_missing_visit(violation: Violation) -> bool:
    """Whether a violation only says that a customer is left out: pinned, or of a group, too."""
    return violation.code in ("visit", "pin", "group") and violation.route is None

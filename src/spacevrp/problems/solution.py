"""A solution: routes with the referee's verdict, the plan they make, and which one is better."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import FormatError, SolutionError, UnsupportedError
from spacevrp.problems.explanation import Explanation, explain, is_missing_visit
from spacevrp.problems.explanation.explaining import unserved_document
from spacevrp.problems.explanation.reasons import Unserved
from spacevrp.problems.plan import Plan, make_plan
from spacevrp.problems.plan_documents import (
    plan_csv,
    plan_document,
    plan_geojson,
    plan_gpx,
    plan_rows,
    solution_document,
)
from spacevrp.problems.plan_sol import solution_sol
from spacevrp.problems.plan_text import count, describe_plan, write_number, write_worth
from spacevrp.problems.plan_vroom import plan_vroom
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation, as_routes, as_vehicles_of, judge, vehicles_of

Route = tuple[int, ...]


@dataclass(frozen=True)
class Solution:
    """Routes and what the referee says of them.

    A route lists nodes in the user's numbering, its depot first, and last when it is closed. The
    TSP has one route, every node once, the first not repeated. The :attr:`plan` has arrival,
    waiting, load and cost of every stop, in the user's units and with the user's ids.
    Where the problem has types of vehicles, ``vehicles`` has the number of one for each route.
    """

    routes: tuple[Route, ...]
    cost: float
    violations: tuple[Violation, ...] = ()
    problem: Problem | None = field(default=None, compare=False, repr=False)
    vehicles: tuple[int, ...] | None = None

    @classmethod
    def judged(
        cls,
        problem: Problem,
        routes: Iterable[Iterable[int]],
        vehicles: Iterable[int | str] | None = None,
    ) -> Solution:
        """The routes with their verdict, from the original data in float64.

        ``vehicles`` are the types that drive them, as in :func:`~spacevrp.problems.referee.judge`.

        Raises
        ------
        SolutionError
            For an entry that is not the number of a node: nothing is rounded to one.
        """
        resolved = as_routes(problem, routes)
        driven_by = as_vehicles_of(problem, resolved, vehicles_of(routes, vehicles))
        if driven_by is not None:
            resolved = FleetRoutes(resolved, driven_by)
        verdict = judge(problem, resolved)
        return cls(resolved, verdict.cost, verdict.violations, problem, driven_by)

    @property
    def feasible(self) -> bool:
        """Whether every constraint holds."""
        return not self.violations

    @property
    def is_legal(self) -> bool:
        """Whether nothing is wrong but that a customer is left out, or too little prize taken."""
        return all(is_missing_visit(one) or one.code == "prize" for one in self.violations)

    @property
    def partial(self) -> bool:
        """Whether the plan is legal, but a customer is left out, or too little prize taken."""
        return self.is_legal and not self.feasible

    @cached_property
    def terms(self) -> dict[str, float]:
        """Every term of which an objective may consist: cost, vehicles, makespan and balance."""
        return judge(self._problem, self.routes).terms

    @property
    def objective(self) -> tuple[float, ...]:
        """What was minimised, the first terms first: the cost alone by default."""
        if self.problem is None or self.problem.objective.is_cost:
            return (self.cost,)
        return self.problem.objective.values(self.terms)

    @cached_property
    def explanation(self) -> Explanation:
        """Why customers are left out, what would let them in, and what limits each route."""
        return explain(self._problem, self.routes)

    def explain_until(self, deadline: Deadline) -> Explanation:
        """The explanation, with as many reasons as can be found in time; it is kept as such."""
        found = explain(self._problem, self.routes, deadline=deadline)
        vars(self)["explanation"] = found  # where the property looks first
        return found

    @property
    def unserved(self) -> tuple[Unserved, ...]:
        """Compulsory customers without a visit, each with the reason; empty if there are none."""
        if not any(is_missing_visit(violation) for violation in self.violations):
            return ()
        return self.explanation.unserved

    @cached_property
    def plan(self) -> Plan:
        """What happens stop by stop when the routes are travelled."""
        return make_plan(self._problem, self.routes, self.cost)

    @property
    def _problem(self) -> Problem:
        if self.problem is None:
            raise SolutionError(
                "expected a solution that knows its problem (Solution.judged makes one), received "
                "routes alone"
            )
        return self.problem

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values: totals, and every stop of every route; ready for JSON."""
        document = plan_document(self.plan, self.violations)
        if not self._problem.objective.is_cost:
            document["totals"] |= {**self.terms, "objective": list(self.objective)}
        return document | {"unserved": unserved_document(self._problem, self.unserved)}

    def to_rows(self) -> list[dict[str, Any]]:
        """One table of values a stop, in the order of the routes."""
        return plan_rows(self.plan)

    def to_frame(self) -> Any:
        """A pandas data frame with one row a stop."""
        rows = self.to_rows()
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise UnsupportedError(
                "to_frame needs pandas, which is not installed: pip install pandas; to_rows gives "
                "the same without it"
            ) from None
        return pandas.DataFrame(rows)

    def to_geojson(self) -> dict[str, Any]:
        """A GeoJSON collection of routes and stops, for problems with longitudes and latitudes."""
        return plan_geojson(self.plan, self.violations)

    def to_gpx(self) -> str:
        """GPX 1.1 with a route for each vehicle, for problems with longitudes and latitudes."""
        return plan_gpx(self.plan)

    def to_vroom(self) -> dict[str, Any]:
        """The document that VROOM would answer with."""
        return plan_vroom(self.plan)

    def save(self, path: str | Path) -> None:
        """Write the solution in the format that the suffix says.

        ``.sol`` (VRPLIB), ``.json`` (as ``spacevrp solve`` writes it), ``.geojson``, ``.gpx``,
        ``.csv`` (one row a stop) or ``.txt`` (what ``str`` gives).
        """
        path = Path(path)
        writers: dict[str, Callable[[], str]] = {
            ".sol": lambda: solution_sol(self._problem, self),
            ".json": self._to_json,
            ".geojson": lambda: as_json(self.to_geojson()),
            ".gpx": self.to_gpx,
            ".csv": lambda: plan_csv(self.to_dict()),
            ".txt": lambda: f"{self}\n",
        }
        if path.suffix.lower() not in writers:
            *suffixes, last = writers
            saved = f"{', '.join(suffixes)} or {last}"
            raise UnsupportedError(f"{path}: solutions are saved as {saved}")
        text = writers[path.suffix.lower()]()
        try:
            path.write_bytes(text.encode())
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise FormatError(f"{path}: cannot be written: {reason}") from None

    def _to_json(self) -> str:
        document = solution_document(self._problem.variant_name, [self])
        document["instances"][0]["plan"] = self.to_dict()
        return as_json(document)

    def __str__(self) -> str:
        state = "feasible" if self.feasible else count(len(self.violations), "violation")
        left_out = sum(violation.code in ("visit", "group") for violation in self.violations)
        if self.partial and left_out:
            state = f"{left_out} unserved"
        routes = count(len(self.routes), "route")
        if self.problem is None:
            lines = [f"cost {write_number(self.cost)}, {routes}, {state}"]
            lines += [
                f"  route {number}: {' -> '.join(map(str, route))}"
                for number, route in enumerate(self.routes, start=1)
            ]
        else:
            worth = write_worth(self.problem, self.cost)
            lines = [f"{worth}, {routes}, {state}", *describe_plan(self.plan)]
        return "\n".join([*lines, *self._complaints()])

    def _complaints(self) -> list[str]:
        """The violations in words; the referee counts nodes and times as the problem does."""
        ids = self.problem.ids if self.problem is not None else None
        lines = []
        unserved = () if self.problem is None else self.unserved  # told with the reason
        reasons = {one.node: f" ({one.code}): {one.message}" for one in unserved}
        for violation in self.violations:
            known = ids is not None and violation.node is not None
            label = f" ({violation.node} is {ids[violation.node]})" if known else ""  # type: ignore[index]
            told = violation.code in ("visit", "group")
            reason = reasons.get(violation.node or 0, "") if told else ""
            lines.append(f"  {violation.message}{label}{reason}")
        clock = self.problem.clock if self.problem is not None else None
        if clock is not None and any(violation.code == "window" for violation in self.violations):
            lines.append(f"  ({clock})")
        return lines


def as_json(document: dict[str, Any]) -> str:
    """A document with one line for each entry of its longest lists."""
    return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def name_rounding(problem: Problem) -> str | None:
    """The rounding of distances that follow from coordinates; None where nothing is rounded."""
    rounding = problem.distances.metric.rounding
    return rounding if problem.distances.coordinates is not None and rounding != "none" else None


def solution_entry(problem: Problem, solution: Solution) -> dict[str, Any]:
    """Cost, routes and verdict of a plan; who is left out of a partial one, and why."""
    entry: dict[str, Any] = solution_document(None, [solution])["instances"][0]
    if (rounding := name_rounding(problem)) is not None:
        entry["rounding"] = rounding
    if not solution.feasible:
        entry["unserved"] = unserved_document(problem, solution.unserved)
    return entry


def better_of(first: Solution, second: Solution) -> Solution:
    """The plan that leaves out fewer compulsory customers, then lacks less prize, then costs less.

    Where customers have priorities, first the one that leaves out less of their sum; where the cost
    is not the objective, the objective in its place. The first of equals, and wherever the second
    breaks a rule.
    """
    return second if second.is_legal and lack(second) < lack(first) else first


def lack(solution: Solution) -> tuple[float, ...]:
    """What a plan lacks: customers, then prize where there is too little; then what it costs."""
    left_out = sum(violation.code in ("visit", "group") for violation in solution.violations)
    short = any(violation.code == "prize" for violation in solution.violations)
    lost = lost_priority(solution.problem, solution.violations)
    return lost, left_out, -solution.plan.prize if short else -math.inf, *worth(solution)


def worth(solution: Solution) -> tuple[float, ...]:
    """What is compared of plans that leave out as much: the objective, then the cost."""
    if solution.problem is None or solution.problem.objective.is_cost:
        return (solution.cost,)
    return (*solution.objective, solution.cost)


def lost_priority(problem: Problem | None, violations: Sequence[Violation]) -> float:
    """The sum of the priorities of those left out; of a group, the highest of its members."""
    if problem is None or problem.priority is None:
        return 0.0
    lost = 0.0
    nodes_of = {group.nodes[0]: list(group.nodes) for group in problem.groups}
    for violation in violations:
        if violation.code != "pin" and is_missing_visit(violation) and violation.node is not None:
            lost += float(problem.priority[nodes_of.get(violation.node, [violation.node])].max())
    return lost

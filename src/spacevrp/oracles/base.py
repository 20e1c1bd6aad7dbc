"""What every oracle has in common: an interface, refusals by name, and the referee at the end."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from spacevrp.oracles.scaling import Routes, WholeProblem
from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.errors import InfeasibleError, SolutionError, SpacevrpError, UnsupportedError
from spacevrp.problems.fleet import unlearned_terms
from spacevrp.problems.problem import Problem
from spacevrp.problems.recourse import visit_more
from spacevrp.problems.relations import unlearned_relations
from spacevrp.problems.solution import Solution

# What floats lose when some hundred numbers are added up, relative to their sum.
_FLOAT_ERROR = 1e-9


class OracleDisagreement(SpacevrpError):
    """A solver and the referee do not agree on what a plan costs, or whether it is one."""


class MissingSolverError(SpacevrpError):
    """A solver that is not installed."""


@dataclass(frozen=True)
class OracleResult:
    """A plan with the referee's verdict, and where it comes from."""

    solution: Solution  # judged by the referee, whose cost it carries
    solver: str
    version: str
    seconds: float  # that it took
    claimed: float  # the solver's own cost, scaled back to the user's units
    note: str = ""  # what a reader of the cost must know


@dataclass(frozen=True)
class Plan:
    """What a solver hands back, in the user's numbering and units."""

    routes: Routes
    claimed: float
    error: float  # how far rounding can have moved the claim
    note: str = ""


class SolverOracle(ABC):
    """An oracle around one installed package: what is the same for all of them."""

    name: ClassVar[str]
    package: ClassVar[str]  # the distribution
    module: ClassVar[str]
    extra: ClassVar[str] = "oracles"  # what of ours brings the distribution

    def version(self) -> str:
        """The installed version."""
        self.require()
        return importlib.metadata.version(self.package)

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the package can be imported."""
        return importlib.util.find_spec(cls.module) is not None

    def require(self) -> None:
        """Raise unless the package is installed."""
        if not self.is_installed():
            raise MissingSolverError(
                f"the solver {self.name} is not installed: pip install spacevrp[{self.extra}]"
            )

    def check(self, problem: Problem) -> None:
        """Raise where the solver cannot model the problem exactly."""
        reason = self.refuses(problem)
        if reason is not None:
            raise UnsupportedError(f"{self.name} cannot model {reason} exactly ({_label(problem)})")

    def refuses(self, problem: Problem) -> str | None:
        """None, or what the solver cannot model exactly, rules of routes and terms included."""
        rule = next(iter(problem.route_rules), None)
        terms = rule or unlearned_terms(problem.fleet)
        return terms or unlearned_relations(problem) or self.supports(problem)

    @abstractmethod
    def supports(self, problem: Problem) -> str | None:
        """None, or the feature of the problem that the solver cannot model exactly."""

    @abstractmethod
    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        """The best plan found, None where there is none. The problem is a supported one."""

    def solve(
        self,
        problem: Problem,
        seconds: float,
        seed: int = 0,
        start: Sequence[Sequence[int]] | None = None,
    ) -> OracleResult:
        """The best plan found within the time, judged by the referee.

        Raises
        ------
        UnsupportedError
            Names the solver and the feature it cannot model exactly.
        InfeasibleError
            No plan was found in time.
        OracleDisagreement
            The referee finds a violation, or another cost than the solver claims.
        SolutionError
            The plan to start from is not feasible.
        """
        self.require()
        self.check(problem)
        given = None if start is None else _judge_start(problem, start)
        began = time.perf_counter()
        # The real prizes are unknown beforehand, so the solver is not told either.
        known = problem
        if problem.revealed_prize is not None:
            known = problem.as_expected()
            given = None if given is None else _judge_start(known, given.routes, strict=False)
        plan: Plan | None = Plan(((0,),), 0.0, 0.0)
        if problem.size > 1:  # otherwise there is nothing to decide, and few solvers like that
            plan = self._search(known, seconds, seed, None if given is None else given.routes)
        if plan is None:
            raise InfeasibleError(
                f"{self.name} found no plan for {_label(problem)} within {seconds:g} s"
            )
        solution, note = self._agree(known, plan), plan.note
        if given is not None and given.cost < solution.cost:
            solution, note = given, "the given plan, on which the solver did not improve"
        if known is not problem:
            solution, note = _reveal(problem, solution)
        spent = time.perf_counter() - began
        return OracleResult(solution, self.name, self.version(), spent, plan.claimed, note)

    def _agree(self, problem: Problem, plan: Plan) -> Solution:
        """The referee's verdict, which must be the solver's."""
        solution = Solution.judged(problem, plan.routes)
        if not solution.feasible:
            faults = "; ".join(violation.message for violation in solution.violations)
            raise OracleDisagreement(
                f"{self.name} takes its plan for {_label(problem)} for feasible at "
                f"{plan.claimed:.10g}, the referee does not: {faults}"
            )
        allowed = plan.error + _FLOAT_ERROR * max(abs(solution.cost), problem.unit)
        if not abs(solution.cost - plan.claimed) <= allowed:
            raise OracleDisagreement(
                f"{self.name} claims a cost of {plan.claimed:.10g} for {_label(problem)}, the "
                f"referee counts {solution.cost:.10g}; scaling explains {allowed:.3g}"
            )
        return solution


def _label(problem: Problem) -> str:
    variant = problem.variant_name
    return f"{variant} instance {problem.name}" if problem.name else f"this {variant} instance"


def _judge_start(
    problem: Problem, start: Sequence[Sequence[int]], strict: bool = True
) -> Solution | None:
    solution = Solution.judged(problem, start)
    if solution.feasible:
        leaves = [n for n, nodes in enumerate(solution.routes) if set(nodes) - set(problem.depots)]
        driven_by = solution.vehicles
        if driven_by is not None:
            driven_by = tuple(driven_by[number] for number in leaves)
        routes = FleetRoutes((solution.routes[number] for number in leaves), driven_by)
        return replace(solution, routes=routes, vehicles=driven_by)
    if not strict:
        return None
    message = solution.violations[0].message
    raise SolutionError(f"the plan to start from is not feasible: {message}")


def _reveal(problem: Problem, planned: Solution) -> tuple[Solution, str]:
    """The plan carried out with the real prizes, and what to say of it."""
    routes, added = visit_more(problem, planned.routes)
    note = f"planned with expected prizes at {planned.cost:.10g}"
    if added:
        note += f"; {added} more visited because the real prizes fell short"
    solution = Solution.judged(problem, routes)
    if not solution.feasible:
        message = solution.violations[0].message
        raise InfeasibleError(f"the plan for {_label(problem)} fails on the real prizes: {message}")
    return solution, note


# ------------------------------------------------------------- what several adaptors have in common


def route_parts(whole: WholeProblem, routes: Routes) -> list[tuple[int, list[int]]]:
    """(start, stops) of each route that stops anywhere, whichever way it is written."""
    parts = []
    for route in routes:
        stops = [node for node in route if node not in whole.starts]
        if stops:
            start = next((node for node in route if node in whole.starts), whole.starts[0])
            if start != route[0]:  # a tour without a depot, written from another node on
                turn = route.index(start)
                stops = [*route[turn + 1 :], *route[:turn]]
            parts.append((start, stops))
    return parts


def assign_vehicles(whole: WholeProblem, routes: Routes, fleet: int) -> dict[int, list[int]] | None:
    """Vehicle -> its stops, for so many vehicles a depot; None where a depot has too few."""
    used = dict.fromkeys(whole.starts, 0)
    stops_of = {}
    for depot, stops in route_parts(whole, routes):
        if used[depot] == fleet:
            return None
        stops_of[whole.starts.index(depot) * fleet + used[depot]] = stops
        used[depot] += 1
    return stops_of


def is_exhausted(whole: WholeProblem, routes: Routes, fleet: int, spare: int = 0) -> bool:
    """Whether some depot has no more to spare, so that more vehicles might be better."""
    used = [depot for depot, _ in route_parts(whole, routes)]
    return any(used.count(depot) + spare >= fleet for depot in whole.starts)


def fleet_bound(problem: Problem, whole: WholeProblem) -> int:
    """Vehicles at each depot to begin with, for solvers that slow down with each.

    It is no part of the problem: an adaptor that uses it doubles it until it does not bind.
    """
    most = most_routes(problem, whole)
    loads = 1.0
    if whole.demand is not None and whole.capacity and not problem.pairs:
        loads = max(whole.demand.clip(0).sum(), (-whole.demand).clip(0).sum()) / whole.capacity
    enough = math.ceil(2 * (3 * loads + 8) / (len(whole.starts) + 1))
    return min(most, max(enough, 12))


def most_routes(problem: Problem, whole: WholeProblem) -> int:
    """No plan has more routes from one depot."""
    most = len(whole.stops) // 2 if problem.pairs else len(whole.stops)
    return most if problem.max_routes is None else min(most, problem.max_routes)


def refuse_mixed_loads(problem: Problem) -> str | None:
    """Why a solver that loads deliveries at the depot cannot take the problem, if so."""
    capacities = [room for terms in problem.fleet for room in terms.capacities]
    limited = any(map(math.isfinite, capacities)) and not problem.pairs
    # With all deliveries first, the rules say the same.
    same = problem.load_rule == "separate" or problem.backhaul_last
    if same or not limited or not is_mixed_by_sign(problem):
        return None
    return f"mixed pickups and deliveries under the load rule '{problem.load_rule}'"


def refuse_neutral_stops(problem: Problem) -> str | None:
    """Why forbidden arcs are not enough to keep backhauls last, if so."""
    if problem.backhaul_last and is_mixed_by_sign(problem):
        for node in problem.customers:
            if not problem.loads[node].any():
                return f"backhauls last beside a customer without demand (node {node})"
    return None


def is_mixed_by_sign(problem: Problem) -> bool:
    """Whether some customers receive and some hand over, whatever the capacity."""
    return bool((problem.loads > 0).any() and (problem.loads < 0).any())


def refuse_shared_fleet(problem: Problem) -> str | None:
    """Why a solver with a number of vehicles of each type cannot take the problem, if so."""
    limit, types = problem.max_routes, len(problem.fleet)
    if limit is None or types < 2 or limit >= len(problem.customers):
        return None
    if limit >= sum(math.inf if terms.count is None else terms.count for terms in problem.fleet):
        return None
    what = "depots" if problem.vehicles is None else "types of vehicles"
    return f"a limit of {limit} routes for {types} {what} together"


def refuse_unusual(problem: Problem) -> str | None:
    """What no solver that loads deliveries at the depot and bans arcs can take, if anything."""
    return (
        refuse_mixed_loads(problem) or refuse_neutral_stops(problem) or refuse_shared_fleet(problem)
    )


def refuse_pins(problem: Problem) -> str | None:
    """Why a solver that decides who comes first cannot take the problem, if so."""
    for terms in problem.fleet:
        if terms.pinned:
            return f"customers who are pinned to a vehicle (node {terms.pinned[0]})"
    return None


def refuse_own_fleet(problem: Problem) -> str | None:
    """Why an adaptor in which all vehicles are alike cannot take the problem, if so."""
    if problem.vehicles is not None:
        return "vehicles that differ"
    return "several kinds of load" if problem.has_own_fleet else None


def may_skip(problem: Problem) -> bool:
    """Whether some customers may be left out."""
    return bool(np.isfinite(problem.penalty[list(problem.customers)]).any())

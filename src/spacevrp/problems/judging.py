"""Many plans judged at once: by the compiled referee, with the same verdicts as the plain one.

The plain referee (``referee/``) is the definition. It judges whatever the compiled one refuses,
since only it says why, and every plan where there are few.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from spacevrp import native
from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import SolutionError
from spacevrp.problems.fleet import Terms, unlearned_terms
from spacevrp.problems.problem import BASE_TOLERANCE, Problem
from spacevrp.problems.relations import unlearned_relations
from spacevrp.problems.solution import Solution

# The plain referee judges so many plans of 100 customers in about a fiftieth of a second. There is
# nothing to gain, and the few plans that a user looks at are judged by the definition itself.
FEW = 8


def judge_all(
    problems: Sequence[Problem], plans: Sequence[Iterable[Iterable[int]]], *, few: int = FEW
) -> list[Solution]:
    """The plans with their verdicts, one plan for each problem; a problem may come several times.

    Routes as in :meth:`Solution.judged`; where vehicles differ,
    :class:`~spacevrp.problems.assignment.FleetRoutes` say which type drives each. Up to ``few``
    plans are judged by the plain referee.

    Raises
    ------
    SolutionError
        Not one plan for each problem, or a plan that cannot be judged.
    """
    if len(plans) != len(problems):
        raise SolutionError(
            f"plans: expected one for each of {len(problems)} problems, received {len(plans)}"
        )
    if len(plans) <= few or native.judge is None:
        return [
            Solution.judged(problem, plan) for problem, plan in zip(problems, plans, strict=True)
        ]
    costs = compiled_costs(problems, plans)
    return [
        Solution.judged(problem, plan) if math.isnan(cost) else _passed(problem, plan, cost)
        for problem, plan, cost in zip(problems, plans, costs, strict=True)
    ]


def with_vehicles(
    routes: tuple[tuple[int, ...], ...], vehicles: Iterable[int] | None
) -> tuple[tuple[int, ...], ...]:
    """The routes, which know their vehicles where there are types of them."""
    return routes if vehicles is None else FleetRoutes(routes, vehicles)


def compiled_costs(
    problems: Sequence[Problem], plans: Sequence[Iterable[Iterable[int]]]
) -> list[float]:
    """What each plan costs by the compiled referee; NaN where the plain one has to look."""
    assert native.judge is not None  # asked before
    sheets: dict[int, native.judge.Sheet | None] = {}  # by the problem's identity
    rows, known = [], []
    listed, driven = list[object](), list[object]()
    for row, (problem, plan) in enumerate(zip(problems, plans, strict=True)):
        if id(problem) not in sheets:
            arguments = sheet_arguments(problem)
            made = None if arguments is None else native.judge.Sheet(**arguments)
            sheets[id(problem)] = made
        sheet = sheets[id(problem)]
        if sheet is None or type(plan) not in (list, tuple, FleetRoutes):
            continue
        rows.append(row)
        known.append(sheet)
        stated = getattr(plan, "vehicles", None)
        listed.append(plan if stated is None and type(plan) is not FleetRoutes else tuple(plan))
        driven.append(stated)
    costs = [math.nan] * len(problems)
    found = native.judge.judge(known, listed, driven).tolist()
    for row, cost in zip(rows, found, strict=True):
        costs[row] = cost
    return costs


def _passed(problem: Problem, plan: Any, cost: float) -> Solution:
    """A plan without a fault; the compiled referee has seen that it is made of lists of nodes."""
    routes = tuple(tuple(map(index, route)) for route in plan)
    if problem.vehicles is None:
        return Solution(routes, cost, (), problem)
    stated = getattr(plan, "vehicles", None)
    vehicles = (0,) * len(routes) if stated is None else tuple(map(index, stated))
    return Solution(FleetRoutes(routes, vehicles), cost, (), problem, vehicles)


_AS_THEY_ARE = (
    *("depots", "loads", "windows", "service", "penalty", "prize", "min_prize", "maximise_prize"),
    *("open_routes", "backhaul_last", "pairs"),
)


def sheet_arguments(problem: Problem) -> dict[str, Any] | None:
    """The problem as the compiled referee reads it, by name; None where it cannot."""
    lengths, times = problem.distances, problem.durations
    if "geo" in (lengths.metric.geometry, times.metric.geometry):
        return None  # NumPy's cosine may differ from C++'s in the last bit, before it is rounded
    if problem.has_route_rules:
        return None  # the plain referee judges these,
    if problem.vehicles is not None and unlearned_terms(problem.fleet):
        return None  # and these
    if unlearned_relations(problem) is not None:
        return None
    distances, metric = _roads(lengths)
    durations, duration_metric = (None, None) if times is lengths else _roads(times)
    rule = "separate" if problem.load_rule == "separate" else "single"
    types = () if problem.vehicles is None else problem.fleet
    longest = min(problem.max_length, *(terms.max_length for terms in types), math.inf)
    latest = min(float(problem.windows[:, 1].min()), *(terms.back_by for terms in types), math.inf)
    return {
        **{name: getattr(problem, name) for name in _AS_THEY_ARE},
        "distances": distances,
        "metric": metric,
        "durations": durations,
        "duration_metric": duration_metric,
        "load_rule": "pairs" if problem.pairs else rule,
        "real_prize": problem.real_prizes,
        "prize_slack": BASE_TOLERANCE * problem.min_prize,
        "max_routes": -1 if problem.max_routes is None else min(problem.max_routes, 2**62),
        # To find out a slack takes longer than to judge a plan; without limits there is none.
        "length_slack": problem.length_tolerance if longest < math.inf else 0.0,
        "time_slack": problem.time_tolerance if latest < math.inf else 0.0,
        "uniform": problem.vehicles is None,
        "types": _types(problem),
    }


def _roads(roads: Distances) -> tuple[Any, tuple[str, str] | None]:
    """The coordinates (N, 2) and how they are measured, or the matrix (N, N)."""
    if roads.coordinates is None or roads.metric.rounding == "three-decimals":
        return roads.matrix(), None  # it does not measure in thousandths
    return roads.coordinates, (roads.metric.geometry, roads.metric.rounding)


def _types(problem: Problem) -> list[tuple[Any, ...]]:
    """What holds for each type of vehicle; one for all where vehicles are alike."""
    if problem.vehicles is not None:
        return [_terms(problem, terms) for terms in problem.fleet]
    return [(-1, -1, *_terms(problem, problem.uniform_terms(0))[2:])]  # from and to any depot


def _terms(problem: Problem, terms: Terms) -> tuple[Any, ...]:
    return (
        terms.start,
        -1 if terms.end is None else terms.end,
        terms.capacities,
        [problem.load_slack(one, kind) for kind, one in enumerate(terms.capacities)],
        terms.fixed_cost,
        terms.max_length,
        terms.leaves_from,
        terms.back_by,
        -1 if terms.count is None else terms.count,
        list(terms.forbidden),
        terms.pinned,
    )

"""What must hold of every input: one line that refuses it, or a plan whose cost is right."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from spacevrp.formats import FormatWarning, read, solution_document, write
from spacevrp.problems.errors import InfeasibleError, SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.sources.frame import ColumnWarning
from spacevrp.solver import Solver

# Examples in all: a few for everyday, and as many as SPACEVRP_FUZZ says in a campaign.
_EVERYDAY, _WHOLE = 250, 10_000
CAMPAIGN = "SPACEVRP_FUZZ" in os.environ
TOTAL = int(os.environ.get("SPACEVRP_FUZZ") or _EVERYDAY)
# Larger ones would only take longer: what is tested are readers, not the search.
_MOST_NODES, _MOST_INSTANCES = 24, 3

# (door, outcome) -> how many; the campaign writes them down.
COUNTS: Counter[tuple[str, str]] = Counter()


def fuzzed(share: int) -> Callable[[Any], Any]:
    """Settings of a test that takes this share of the 10,000 examples of a whole campaign."""
    return settings(
        max_examples=max(5, round(share * TOTAL / _WHOLE)),
        deadline=None,
        derandomize=not CAMPAIGN,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


def check(door: str, make: Callable[[], Any], solver: Solver, path: Path | None = None) -> str:
    """Make problems of an input and solve them; the outcome in a word, or a failed assertion.

    Parameters
    ----------
    door
        What the input was given to, for the counts.
    make
        Gives a problem or several, or raises.
    path
        The file at fault, which an error must name.
    """
    outcome = _outcome_of(make, solver, path)
    COUNTS[door, outcome] += 1
    return outcome


def _outcome_of(make: Callable[[], Any], solver: Solver, path: Path | None) -> str:
    with warnings.catch_warnings():
        # Numbers that overflow or turn into NaN on the way are mistakes, too.
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", FormatWarning)
        warnings.simplefilter("ignore", ColumnWarning)
        try:
            made = make()
        except SpacevrpError as error:
            check_message(error, path)
            return "refused"
        problems = [made] if isinstance(made, Problem) else list(made)
        problems = [one for one in problems[:_MOST_INSTANCES] if one.size <= _MOST_NODES]
        if not problems:
            return "read"
        for problem in problems:
            check_conversions(problem, path)
        try:
            solutions = solver.solve(problems, augment=1)
        except InfeasibleError as error:
            check_message(error)
            return "no plan"
        for problem, solution in zip(problems, solutions, strict=True):
            assert solution.feasible, solution.violations
            expected = naive_cost(problem, solution.routes, solution.vehicles)
            expected += solution.plan.time_costs
            assert close(solution.cost, expected), (solution.cost, expected)
            check_visits(problem, solution.routes, solution.vehicles)
            assert str(solution)
            json.dumps(solution.to_dict(), allow_nan=False)
        json.dumps(solution_document(problems[0].variant_name, solutions), allow_nan=False)
    return "solved"


def check_message(error: SpacevrpError, path: Path | None = None) -> None:
    """One line that says where, and that is short enough to be read."""
    message = str(error)
    assert message.strip(), "an empty message"
    assert len(message.splitlines()) == 1, repr(message)
    assert message.isprintable(), repr(message)
    assert ":" in message, message
    assert len(message) < 2000, message
    if path is not None:
        assert message.startswith(str(path)), message


def check_conversions(problem: Problem, path: Path | None) -> None:
    """Written in another format it is the same problem, or refused in one line."""
    if path is None:
        return
    for name in ("written.vrp", "written.txt"):
        written = path.with_name(name)
        try:
            write(problem, written)
        except SpacevrpError as error:
            check_message(error, written)
            continue
        rounding = problem.distances.metric.rounding
        told = rounding if name.endswith(".txt") else None
        again = read(written, rounding=told)
        assert isinstance(again, Problem)
        same = problem.replace(
            variant=None, load_rule=again.load_rule, name=again.name, ids=None, places=None,
            geographic=False, clock=None, time_unit="s", vehicles=None, vehicle_ids=None,
            max_routes=None, windows=again.windows,
        )  # fmt: skip
        held = again.replace(vehicles=None, vehicle_ids=None, max_routes=None)
        assert held.distances.matrix().tolist() == same.distances.matrix().tolist()
        assert (held.loads == same.loads).all()
        assert (held.depots, held.pairs) == (same.depots, same.pairs)


# ------------------------------------------------------------------- the cost, once more and naive


def naive_cost(
    problem: Problem, routes: Sequence[Sequence[int]], vehicles: Sequence[int] | None = None
) -> float:
    """The cost by its definition, from the original numbers, one leg at a time."""
    visited = {node for route in routes for node in route} - set(problem.depots)
    if problem.maximise_prize:
        return -sum(float(problem.prize[node]) for node in visited)
    cost = 0.0
    units = [1.0] * len(routes)
    if problem.vehicles is not None:
        assert vehicles is not None
        units = [problem.vehicles[number].unit_distance_cost for number in vehicles]
    for route, unit in zip(routes, units, strict=True):
        legs = list(pairwise(route))
        if not problem.depots and len(route) > 1:
            legs.append((route[-1], route[0]))
        cost += unit * sum(naive_distance(problem, *leg) for leg in legs)
    if problem.vehicles is not None:
        assert vehicles is not None
        for route, number in zip(routes, vehicles, strict=True):
            leaves = any(node not in problem.depots for node in route)
            cost += problem.vehicles[number].fixed_cost if leaves else 0.0
    skipped = set(range(problem.size)) - set(problem.depots) - visited
    return cost + sum(float(problem.penalty[node]) for node in skipped)


def naive_distance(problem: Problem, origin: int, target: int) -> float:
    """One leg."""
    held = problem.distances
    if held.coordinates is None:
        return float(held.matrix()[origin][target]) if origin != target else 0.0
    if origin == target:
        return 0.0
    (ax, ay), (bx, by) = held.coordinates[origin].tolist(), held.coordinates[target].tolist()
    across, along = abs(ax - bx), abs(ay - by)
    length = {
        "euclidean": lambda: math.sqrt(across * across + along * along),
        "manhattan": lambda: across + along,
        "chebyshev": lambda: max(across, along),
        "att": lambda: math.sqrt((across * across + along * along) / 10.0),
        "geo": lambda: _tsplib_geo(ax, ay, bx, by),
    }[held.metric.geometry]()
    return {
        "none": lambda: length,
        "nearest": lambda: math.floor(length + 0.5),
        "up": lambda: math.ceil(length),
        "down": lambda: math.floor(length),
        "one-decimal": lambda: math.floor(length * 10.0) / 10.0,
        "three-decimals": lambda: math.floor(length * 1000.0 + 0.5) / 1000.0,
    }[held.metric.rounding]()


def _tsplib_geo(ax: float, ay: float, bx: float, by: float) -> float:
    """As TSPLIB's documentation writes it down."""

    def radians(value: float) -> float:
        degrees = math.trunc(value)
        return 3.141592 * (degrees + 5.0 * (value - degrees) / 3.0) / 180.0

    q1 = math.cos(radians(ay) - radians(by))
    q2 = math.cos(radians(ax) - radians(bx))
    q3 = math.cos(radians(ax) + radians(bx))
    cosine = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)
    return 6378.388 * math.acos(max(-1.0, min(1.0, cosine))) + 1.0


def close(cost: float, expected: float) -> bool:
    """Equal but for the order of additions."""
    return math.isclose(cost, expected, rel_tol=1e-9, abs_tol=1e-12)


def check_visits(
    problem: Problem, routes: Sequence[Sequence[int]], vehicles: Sequence[int] | None = None
) -> None:
    """Every customer at most once, at least once where it must be, and no vehicle too full."""
    seen = Counter(node for route in routes for node in route if node not in problem.depots)
    assert all(count == 1 for count in seen.values()), routes
    for node in problem.customers:
        assert node in seen or math.isfinite(problem.penalty[node]), (node, routes)
    for position, route in enumerate(routes):
        rooms: Sequence[float] = problem.capacities
        if problem.vehicles is not None and vehicles is not None:
            own = problem.vehicles[vehicles[position]].capacity
            rooms = problem.capacities if own is None else own
        for kind, room in enumerate(rooms if isinstance(rooms, Sequence) else [rooms]):
            slack = problem.load_slack(room, kind) + 1e-9 * abs(room)
            trips = [0.0]
            for node in route:
                trips += [0.0] if node in problem.depots else []
                trips[-1] += float(problem.loads[node, kind])
            assert max(map(abs, trips)) <= room + slack, (route, kind, trips, room)

"""Solutions in files: our JSON, CSV, and VRPLIB's .sol for one instance."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacevrp.formats.files import (
    fail,
    read_head,
    read_lines,
    shown,
    sniff,
    warn,
    warn_left_out,
    write_bytes,
)
from spacevrp.formats.json_text import (
    as_json,
    list_at,
    number_at,
    parse_object,
    whole_at,
    write_value,
)
from spacevrp.formats.stops import Routes, routes_from_csv, routes_from_json
from spacevrp.formats.tsplib import Document, parse_document, parse_list
from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.errors import FormatError, SolutionError, UnsupportedError
from spacevrp.problems.plan_documents import Solved, solution_document
from spacevrp.problems.plan_sol import sol_depots, sol_numbers, sol_vehicles, solution_sol
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around, with_best_vehicles

# Possessive (*+), so that a line of thousands of blanks is not tried in every way to part them.
_ROUTE_LINE = re.compile(r"route\s*+#?\s*+(\d*+)\s*+:(.*)", re.I)
_TOUR_TYPE = re.compile(rb"^\s*+TYPE\s*+:\s*+TOUR\b", re.I | re.M)
_COST_LINE = re.compile(r"cost\s*+:?\s*+(\S+)", re.I)
# What PyVRP's files say besides, which is nothing of the plan.
_REMARK_LINE = re.compile(r"(comment|optimal)\s*+:.*", re.I)
# Rounding of distances -> the units in which .sol files state costs next to that of the distances:
# PyVRP counts tenths and thousandths, the literature on mixed fleets takes off two digits.
_COST_UNITS = {"one-decimal": (0.1,), "three-decimals": (0.001, 100.0)}

# What an entry may hold; the last five say which classical solver found it, and how.
_INSTANCE_KEYS = (
    *("cost", "rounding", "routes", "vehicles", "feasible", "unserved", "plan"),
    *("solver", "version", "seconds", "note", "start_cost"),
)
# What a plan has in place of that, as Solution.to_dict gives it.
_PLAN_KEYS = (
    *("name", "variant", "cost", "feasible", "violations", "totals", "skipped", "routes"),
    "unserved",
)


@dataclass(frozen=True)
class SolvedInstance:
    """One instance as a file states it: cost and verdict are the file's own claims.

    The claimed cost may be in any of the ``units`` that are customary for such files.
    """

    routes: Routes
    cost: float | None = None
    feasible: bool | None = None
    units: tuple[float, ...] = (1.0,)

    @property
    def vehicles(self) -> tuple[int, ...] | None:
        """The type of vehicle of each route, where the file says it."""
        return getattr(self.routes, "vehicles", None)


@dataclass(frozen=True)
class SolutionFile:
    """A file of solutions, one entry an instance."""

    variant: str | None
    instances: tuple[SolvedInstance, ...]
    seconds: float | None = None
    device: str | None = None


# ---------------------------------------------------------------------------------------- reading


def read_solution(
    path: str | Path, problem: Problem | Sequence[Problem] | None = None
) -> SolutionFile:
    """The solutions of a file, JSON, CSV or .sol by its content.

    ``problem`` is what they solve, or all of it in the order of the file. It tells which node an id
    is and, as a .sol file lists customers only, where depots are and whether routes are closed;
    without it nodes are numbers, and routes of a .sol are closed at node 0.
    """
    path = Path(path)
    problems = [problem] if isinstance(problem, Problem) else list(problem or ())
    head = read_head(path)
    kind = sniff(head)
    suffix = path.suffix.lower()
    if kind == "json" or (kind is None and suffix == ".json"):
        return _read_json(path, problems)
    first = problems[0] if problems else None
    if kind == "sol" or (kind is None and suffix == ".sol"):
        return _read_sol(path, first)
    if kind == "vrplib" and _TOUR_TYPE.search(head):
        return _read_tour(parse_document(path), first)
    if kind is None and suffix == ".csv":
        return SolutionFile(None, (SolvedInstance(routes_from_csv(path, first)),))
    received = f"what looks like {kind}" if kind else "neither"
    expected = "a solution in JSON, CSV or lines such as 'Route #1: 3 5'"
    raise fail(path, "", expected, received)


def read_routes(path: str | Path, problems: Sequence[Problem]) -> list[Routes]:
    """The routes of a file of solutions, one entry for each of the problems."""
    instances = read_solution(path, problems).instances
    if len(instances) != len(problems):
        expected = f"a plan for each of {len(problems)} instances"
        raise SolutionError(f"{path}: expected {expected}, received {len(instances)}")
    return [entry.routes for entry in instances]


def read_starts(path: str | Path, problems: Sequence[Problem]) -> list[Routes | None]:
    """The same, to begin from; an entry without routes stands for an instance without a plan."""
    return [routes or None for routes in read_routes(path, problems)]


def _read_json(path: Path, problems: Sequence[Problem]) -> SolutionFile:
    document = parse_object(path)
    known: tuple[str, ...] = ("variant", "instances", "seconds", "device")
    if "instances" in document:
        entries = list_at(path, "instances", document["instances"])
    elif "routes" in document:  # one plan, as Solution.to_dict gives it
        entries, known = [document], _PLAN_KEYS
    else:
        raise fail(path, "instances", "a list of solutions", "no such key")
    unknown = _unknown("", document, known)
    instances = []
    for number, entry in enumerate(entries):
        where = f"instance {number}"
        if not isinstance(entry, dict):
            raise fail(path, where, "a table with routes", as_json(entry))
        if entry is not document:
            unknown += _unknown(f"{where}, ", entry, _INSTANCE_KEYS)
        if "routes" not in entry:
            raise fail(path, f"{where}, routes", "a list", "no such key")
        feasible = entry.get("feasible")
        if feasible is not None and not isinstance(feasible, bool):
            raise fail(path, f"{where}, feasible", "true or false", as_json(feasible))
        cost = entry.get("cost")
        solved = problems[number] if number < len(problems) else None
        routes = routes_from_json(path, where, entry["routes"], solved)
        if entry.get("vehicles") is not None:
            routes = FleetRoutes(routes, _json_vehicles(path, where, entry["vehicles"]))
        instances.append(
            SolvedInstance(
                routes,
                None if cost is None else number_at(path, f"{where}, cost", cost),
                feasible,
            )
        )
    for key in ("variant", "device"):
        if not isinstance(document.get(key), str | None):
            raise fail(path, key, "a string", as_json(document[key]))
    warn_left_out(path, unknown)
    seconds = document.get("seconds")
    return SolutionFile(
        document.get("variant"),
        tuple(instances),
        None if seconds is None else number_at(path, "seconds", seconds),
        document.get("device"),
    )


def _json_vehicles(path: Path, where: str, value: object) -> list[Any]:
    """Numbers or names of types; the problem knows which there are."""
    return [
        entry if isinstance(entry, str) else whole_at(path, f"{where}, vehicles", entry)
        for entry in list_at(path, f"{where}, vehicles", value)
    ]


def _unknown(prefix: str, table: dict[str, Any], known: tuple[str, ...]) -> list[str]:
    return [f"{prefix}unknown key {shown(key)}" for key in table if key not in known]


def _read_sol(path: Path, problem: Problem | None) -> SolutionFile:
    lists: list[list[int]] = []
    numbers: list[int] = []  # what the file calls the routes
    cost: float | None = None
    left_out: list[str] = []
    least = 0 if problem is not None and sol_depots(problem) else 1
    for number, line in read_lines(path):
        if not line:
            continue
        if route := _ROUTE_LINE.fullmatch(line):
            numbers.append(_customer(path, number, route[1]) if route[1] else len(numbers) + 1)
            lists.append([_customer(path, number, token, least) for token in route[2].split()])
            if not lists[-1] and (problem is None or problem.vehicles is None):
                left_out.append(f"line {number}: a route without customers")
        elif stated := _COST_LINE.fullmatch(line):
            if cost is not None:
                raise fail(path, f"line {number}", "one cost", "a second one")
            cost = _cost(path, number, stated[1])
        elif not _REMARK_LINE.fullmatch(line):
            left_out.append(f"line {number}: {shown(line)!r}")
    if not any(lists) and cost is None:
        raise fail(path, "", "customers in some route, or the Cost of a plan without", "neither")
    if left_out:
        more = f" (and {len(left_out) - 1} more lines)" if len(left_out) > 1 else ""
        warn(path, f"{left_out[0]} left out{more}")
    if cost is None:
        warn(path, "no Cost at the end: the file may be cut short")
    if problem is None:
        routes: Routes = tuple((0, *customers, 0) for customers in lists if customers)
        return SolutionFile(None, (SolvedInstance(routes, cost),))
    try:
        routes = routes_from_sol(problem, lists, numbers)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    units = (1.0, *_COST_UNITS.get(problem.distances.metric.rounding, ()))
    return SolutionFile(None, (SolvedInstance(routes, cost, None, units),))


def _read_tour(document: Document, problem: Problem | None) -> SolutionFile:
    """A tour as TSPLIB has it: nodes counted from 1, up to -1."""
    section = document.sections.get("TOUR_SECTION")
    if section is None:
        raise document.fail("TOUR_SECTION", "the section", "none")
    nodes = [number - 1 for number in parse_list(document, section, must_close=False)]
    size = len(nodes) if problem is None else problem.size
    for node in nodes:
        if not 0 <= node < size:
            raise document.fail(section.where(), f"nodes 1 to {size}", str(node + 1))
    if not nodes:
        raise document.fail(section.where(), "nodes", "none")
    route = tuple(nodes)
    if problem is not None and problem.depots and not problem.open_routes:
        route = (*route, route[0])  # the tour closes itself
    return SolutionFile(None, (SolvedInstance((route,)),))


def _customer(path: Path, line: int, token: str, least: int = 1) -> int:
    # Twelve digits are more nodes than anybody has; int() itself refuses thousands of them.
    if not (token.isascii() and token.isdigit() and len(token) <= 12 and int(token) >= least):
        raise fail(path, f"line {line}", "customers counted from 1", token)
    return int(token)


def _cost(path: Path, line: int, token: str) -> float:
    try:
        cost = float(token)
    except ValueError:
        cost = math.nan
    if not math.isfinite(cost):
        raise fail(path, f"line {line}, cost", "a number", token)
    return cost


def routes_from_sol(
    problem: Problem,
    customer_lists: Iterable[Sequence[int]],
    numbers: Sequence[int] | None = None,
) -> Routes:
    """Routes with their depots from lists of customers, as ``plan_sol`` numbers them.

    ``numbers`` are those of the vehicles, counted from 1, where these differ; by default the lists
    are in their order. Where nothing numbers vehicles, or says which depot a route is of, each
    route has what breaks the fewest rules and, among that, is cheapest.
    """
    node_of = {number: node for node, number in sol_numbers(problem).items()}
    low, high = min(node_of, default=1), max(node_of, default=0)
    node_of |= {number: depot for depot, number in sol_depots(problem).items()}
    stops, driven = [], []
    for place, listed in enumerate(customer_lists):
        number = place + 1 if numbers is None else numbers[place]
        for customer in listed:
            if customer not in node_of:
                raise FormatError(
                    f"route {place + 1}: expected customers {low} to {high}, received {customer}"
                )
        if listed:
            stops.append(tuple(node_of[customer] for customer in listed))
            driven.append(number)
    if not problem.depots:
        return tuple((0, *nodes) for nodes in stops)
    if problem.vehicles is None and len(problem.depots) == 1:
        return tuple(around(nodes, problem.fleet[0]) for nodes in stops)
    types = sol_vehicles(problem)
    if types is None:
        return with_best_vehicles(problem, stops)
    for number in driven:
        if number > len(types):
            raise FormatError(f"route {number}: expected vehicles 1 to {len(types)}")
    chosen = [types[number - 1] for number in driven]
    fleet = problem.fleet
    routes = [around(nodes, fleet[kind]) for nodes, kind in zip(stops, chosen, strict=True)]
    return FleetRoutes(routes, chosen)


# ---------------------------------------------------------------------------------------- writing


def solution_json(document: dict[str, Any]) -> str:
    """The document as text, one instance a line."""
    lines = [write_value(entry) for entry in document["instances"]]
    block = "[\n    " + ",\n    ".join(lines) + "\n  ]" if lines else "[]"
    items = [
        f"  {write_value(key)}: {block if key == 'instances' else write_value(value)}"
        for key, value in document.items()
    ]
    return "{\n" + ",\n".join(items) + "\n}\n"


def write_solution(
    path: str | Path,
    solutions: Solved | Sequence[Solved],
    *,
    problem: Problem | None = None,
    variant: str | None = None,
    seconds: float | None = None,
    device: str | None = None,
) -> None:
    """Write solutions: JSON unless the file is called .sol, which needs the one ``problem``."""
    path = Path(path)
    several = list(solutions) if isinstance(solutions, Sequence) else [solutions]
    if variant is None and problem is not None:
        variant = problem.variant_name
    if path.suffix.lower() == ".sol":
        if problem is None or len(several) != 1:
            raise UnsupportedError(
                f"{path}: .sol holds one solution of a given problem; write .json instead"
            )
        text = solution_sol(problem, several[0])
    elif path.suffix.lower() == ".json":
        text = solution_json(solution_document(variant, several, seconds=seconds, device=device))
    else:
        raise UnsupportedError(f"{path}: solutions are written as .json or .sol")
    write_bytes(path, text.encode())

"""Solutions in files: our JSON, CSV, and VRPLIB's .sol for one instance with one depot."""

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
from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.plan_documents import Solved, only_depot, solution_document, solution_sol
from spacevrp.problems.problem import Problem

# Possessive (*+), so that a line of thousands of blanks is not tried in every way to part them.
_ROUTE_LINE = re.compile(r"route\s*+#?\s*+\d*+\s*+:(.*)", re.I)
_COST_LINE = re.compile(r"cost\s*+:?\s*+(\S+)", re.I)

# What an entry may hold; the last five say which classical solver found it, and how.
_INSTANCE_KEYS = (
    "cost",
    "routes",
    "vehicles",
    "feasible",
    "unserved",
    "plan",
    "solver",
    "version",
    "seconds",
    "note",
    "start_cost",
)
# What a plan has in place of that, as Solution.to_dict gives it.
_PLAN_KEYS = (
    *("name", "variant", "cost", "feasible", "violations", "totals", "skipped", "routes"),
    "unserved",
)


@dataclass(frozen=True)
class SolvedInstance:
    """One instance as a file states it: cost and verdict are the file's own claims."""

    routes: Routes
    cost: float | None = None
    feasible: bool | None = None

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
    is and, as a .sol file lists customers only, where the depot is and whether routes are closed;
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
    if kind == "sol":
        return _read_sol(path, first)
    if kind is None and suffix == ".csv":
        return SolutionFile(None, (SolvedInstance(routes_from_csv(path, first)),))
    received = f"what looks like {kind}" if kind else "neither"
    expected = "a solution in JSON, CSV or lines such as 'Route #1: 3 5'"
    raise fail(path, "", expected=expected, received=received)


def _read_json(path: Path, problems: Sequence[Problem]) -> SolutionFile:
    document = parse_object(path)
    known: tuple[str, ...] = ("variant", "instances", "seconds", "device")
    if "instances" in document:
        entries = list_at(path, "instances", document["instances"])
    elif "routes" in document:  # one plan, as Solution.to_dict gives it
        entries, known = [document], _PLAN_KEYS
    else:
        raise fail(path, "instances", expected="a list of solutions", received="no such key")
    unknown = _unknown("", document, known)
    instances = []
    for number, entry in enumerate(entries):
        where = f"instance {number}"
        if not isinstance(entry, dict):
            raise fail(path, where, expected="a table with routes", received=as_json(entry))
        if entry is not document:
            unknown += _unknown(f"{where}, ", entry, _INSTANCE_KEYS)
        if "routes" not in entry:
            raise fail(path, f"{where}, routes", expected="a list", received="no such key")
        feasible = entry.get("feasible")
        if feasible is not None and not isinstance(feasible, bool):
            raise fail(
                path, f"{where}, feasible", expected="true or false", received=as_json(feasible)
            )
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
            raise fail(path, key, expected="a string", received=as_json(document[key]))
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
    cost: float | None = None
    left_out: list[str] = []
    for number, line in read_lines(path):
        if not line:
            continue
        if route := _ROUTE_LINE.fullmatch(line):
            customers = [_customer(path, number, token) for token in route[1].split()]
            if customers:
                lists.append(customers)
            else:
                left_out.append(f"line {number}: a route without customers")
        elif stated := _COST_LINE.fullmatch(line):
            if cost is not None:
                raise fail(path, f"line {number}", expected="one cost", received="a second one")
            cost = _cost(path, number, stated[1])
        else:
            left_out.append(f"line {number}: {shown(line)!r}")
    if not lists:
        raise fail(path, "", expected="customers in some route", received="none")
    if left_out:
        more = f" (and {len(left_out) - 1} more lines)" if len(left_out) > 1 else ""
        warn(path, f"{left_out[0]} left out{more}")
    if cost is None:
        warn(path, "no Cost at the end: the file may be cut short")
    if problem is None:
        routes: Routes = tuple((0, *customers, 0) for customers in lists)
    else:
        try:
            routes = routes_from_sol(problem, lists)
        except FormatError as error:
            raise FormatError(f"{path}: {error}") from None
        except UnsupportedError as error:
            raise UnsupportedError(f"{path}: {error}") from None
    return SolutionFile(None, (SolvedInstance(routes, cost),))


def _customer(path: Path, line: int, token: str) -> int:
    # Twelve digits are more nodes than anybody has; int() itself refuses thousands of them.
    if not (token.isascii() and token.isdigit() and len(token) <= 12 and int(token) > 0):
        raise fail(path, f"line {line}", expected="customers counted from 1", received=token)
    return int(token)


def _cost(path: Path, line: int, token: str) -> float:
    try:
        cost = float(token)
    except ValueError:
        cost = math.nan
    if not math.isfinite(cost):
        raise fail(path, f"line {line}, cost", expected="a number", received=token)
    return cost


def routes_from_sol(problem: Problem, customer_lists: Iterable[Sequence[int]]) -> Routes:
    """Routes with their depot from lists of customer numbers.

    Customer k is the k-th node that is not the depot, counted from 1: node k itself where the depot
    is node 0, as in every CVRPLIB file.
    """
    depot = only_depot(problem, "read")
    customers = problem.customers
    routes = []
    for number, listed in enumerate(customer_lists, start=1):
        for customer in listed:
            if not 1 <= customer <= len(customers):
                raise FormatError(
                    f"route {number}: expected customers 1 to {len(customers)}, received {customer}"
                )
        nodes = [customers[customer - 1] for customer in listed]
        routes.append((depot, *nodes) if problem.open_routes else (depot, *nodes, depot))
    return tuple(routes)


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

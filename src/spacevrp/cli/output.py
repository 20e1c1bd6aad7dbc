"""How solutions are printed: tables to read, and documents for other programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.cli.instances import name_roundings
from spacevrp.problems.errors import FormatError, UnsupportedError

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.problems.solution import Solution

FORMATS = ("json", "table", "csv", "vrplib", "geojson", "gpx", "vroom")
_FORMAT_OF_SUFFIX = {
    ".json": "json",
    ".csv": "csv",
    ".sol": "vrplib",
    ".txt": "table",
    ".geojson": "geojson",
    ".gpx": "gpx",
}
# These hold one instance.
_SINGLE = ("csv", "vrplib", "geojson", "gpx", "vroom")
# A table shows the routes of so many instances only; more would not be read.
_MOST_ROUTES_SHOWN = 10


def choose_format(asked: str | None, output: Path | None) -> str:
    """The format asked for, or what the suffix of the file says, or what suits the terminal."""
    if asked is not None:
        return asked
    if output is not None and not output.is_char_device():
        suffix = output.suffix.lower()
        if suffix not in _FORMAT_OF_SUFFIX:
            known = ", ".join(_FORMAT_OF_SUFFIX)
            raise FormatError(
                f"{output}: expected a file name that ends in one of {known}, or --format; "
                f"received {suffix or 'none of them'}"
            )
        return _FORMAT_OF_SUFFIX[suffix]
    if output is not None:
        return "json"
    return "table" if sys.stdout.isatty() else "json"


def check_format(chosen: str, problems: Sequence[Problem]) -> None:
    """Refuse, before the work, what the format could not hold after it."""
    if chosen not in _SINGLE:
        return
    if len(problems) != 1:
        raise UnsupportedError(
            f"--format {chosen}: expected one instance, the file has {len(problems)}; use json"
        )
    (problem,) = problems
    depots = len(problem.depots)
    if chosen == "vrplib":
        from spacevrp.problems.plan_sol import check_sol

        check_sol(problem)
    if chosen == "vroom" and not depots:
        raise UnsupportedError("--format vroom: expected a depot, received none; use json")
    if chosen in ("geojson", "gpx") and not problem.geographic:
        raise UnsupportedError(
            f"--format {chosen}: expected longitudes and latitudes, the file has none; use json"
        )


def render(
    chosen: str,
    problems: Sequence[Problem],
    solutions: Sequence[Solution],
    seconds: float,
    device: str,
) -> str:
    """The solutions as text, partial plans among them."""
    from spacevrp.formats import solution_document, solution_json, solution_sol
    from spacevrp.problems.plan_documents import plan_csv
    from spacevrp.problems.solution import as_json, solution_entry

    if chosen == "json":
        names = {problem.variant_name for problem in problems}
        document = solution_document(
            names.pop() if len(names) == 1 else None,
            (),
            seconds=round(seconds, 3),
            device=device,
        )
        pairs = zip(problems, solutions, strict=True)
        document["instances"] = [solution_entry(problem, one) for problem, one in pairs]
        if len(solutions) == 1:  # a batch would grow tenfold
            document["instances"][0]["plan"] = solutions[0].to_dict()
        return solution_json(document)
    if chosen == "table":
        return _table(problems, solutions, seconds, device)
    only = solutions[0]
    if chosen == "vrplib":
        return solution_sol(problems[0], only)
    if chosen == "csv":
        return plan_csv(only.to_dict())
    if chosen == "gpx":
        return only.to_gpx()
    return as_json(only.to_geojson() if chosen == "geojson" else only.to_vroom())


def _table(
    problems: Sequence[Problem],
    solutions: Sequence[Solution],
    seconds: float,
    device: str,
) -> str:
    from spacevrp.problems.plan_text import count, describe_problem

    lines = []
    for number, (problem, solution) in enumerate(zip(problems, solutions, strict=True)):
        label = problem.name or f"instance {number}"
        prefix = f"{number:>{len(str(len(problems) - 1))}}  " if len(problems) > 1 else ""
        routes, worth = count(len(solution.routes), "route"), _worth(problem, solution)
        partial = "" if solution.feasible else f"  partial: {_share(problem, solution)}"
        lines.append(f"{prefix}{label}  {describe_problem(problem)}  {worth}  {routes}{partial}")
        if len(problems) == 1:
            lines += _routes_with_stops(solution)
        elif len(problems) <= _MOST_ROUTES_SHOWN:
            lines += describe_routes(solution)
        if len(problems) <= _MOST_ROUTES_SHOWN:
            lines += describe_unserved(solution)
    lines.append(summarise(solutions, seconds, device) + name_roundings(problems))
    return "\n".join(lines) + "\n"


def describe_routes(solution: Solution) -> list[str]:
    """The routes of a solution, one a line."""
    width = len(str(len(solution.routes)))
    return [
        f"  route {number:>{width}}{_driver(solution, number)}: {' '.join(map(str, route))}"
        for number, route in enumerate(solution.routes, start=1)
    ]


def _driver(solution: Solution, number: int) -> str:
    """Who drives a route, where vehicles differ."""
    if solution.vehicles is None or solution.problem is None:
        return ""
    terms = solution.problem.fleet[solution.vehicles[number - 1]]
    return f" ({terms.name or f'type {terms.number}'})"


def describe_unserved(solution: Solution) -> list[str]:
    """Who is left out and why, and the smallest change that lets them in; two lines each."""
    lines = []
    for one in solution.unserved:
        lines.append(f"  unserved ({one.code}): {one.message}")
        if one.relaxation is not None and one.relaxation.changes:
            lines.append(f"    it would take: {one.relaxation.message}")
    return lines


def _share(problem: Problem, solution: Solution) -> str:
    """How many customers a partial plan serves."""
    total = len(problem.customers)
    noun = "customers" if problem.depots else "nodes"
    return f"{total - len(solution.plan.skipped)} of {total} {noun} served"


def _routes_with_stops(solution: Solution) -> list[str]:
    """The routes, each with its stops where there is more to say of them than their order."""
    from spacevrp.problems.plan_text import describe_skipped, stop_table

    lines = describe_routes(solution)
    below = {route.number: stop_table(solution.plan, route) for route in solution.plan.routes}
    mixed = []
    for number, line in enumerate(lines, start=1):
        mixed += [line, *(f"    {row}" for row in below.get(number, []))]
    return mixed + describe_skipped(solution.plan)


def _worth(problem: Problem, solution: Solution) -> str:
    if problem.maximise_prize:
        return f"prize {-solution.cost:.10g}"
    return f"cost {solution.cost:.10g}"


def summarise(solutions: Sequence[Solution], seconds: float, device: str) -> str:
    """One line: how many are solved, at what mean cost, in what time."""
    costs = [solution.cost for solution in solutions if solution.feasible]
    parts = [f"{len(costs)} of {len(solutions)} solved" if len(solutions) > 1 else ""]
    if len(costs) > 1:
        parts.append(f"mean cost {sum(costs) / len(costs):.10g}")
    elif len(solutions) == 1:
        parts.append("solved" if costs else "a partial plan")
    parts.append(f"{seconds:.2f} s on {device}")
    return ", ".join(part for part in parts if part)

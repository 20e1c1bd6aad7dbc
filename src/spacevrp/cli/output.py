"""How solutions are printed: tables to read, and documents for other programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.problems.errors import UnsupportedError

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.problems.solution import Solution

FORMATS = ("json", "table", "vrplib", "geojson", "vroom")
_FORMAT_OF_SUFFIX = {".json": "json", ".sol": "vrplib", ".txt": "table", ".geojson": "geojson"}
# These hold one instance.
_SINGLE = ("vrplib", "geojson", "vroom")
# A table shows the routes of so many instances only; more than that nobody reads.
_MOST_ROUTES_SHOWN = 10


def choose_format(asked: str | None, output: Path | None) -> str:
    """The format asked for, or what the suffix of the file says, or what suits the terminal."""
    if asked is not None:
        return asked
    if output is not None:
        return _FORMAT_OF_SUFFIX.get(output.suffix.lower(), "json")
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
    if chosen == "vrplib" and depots != 1:
        raise UnsupportedError(f"--format vrplib: expected one depot, received {depots}; use json")
    if chosen == "vroom" and not depots:
        raise UnsupportedError("--format vroom: expected a depot, received none; use json")
    if chosen == "geojson" and not problem.geographic:
        raise UnsupportedError(
            "--format geojson: expected longitudes and latitudes, the file has none; use json"
        )


def render(
    chosen: str,
    problems: Sequence[Problem],
    solutions: Sequence[Solution | None],
    seconds: float,
    device: str,
) -> str:
    """The solutions as text; nothing where the format cannot say that there is no plan."""
    from spacevrp.formats import SolvedInstance, solution_document, solution_json, solution_sol

    if chosen == "json":
        nothing = SolvedInstance((), None, False)
        names = {problem.variant_name for problem in problems}
        document = solution_document(
            names.pop() if len(names) == 1 else None,
            [solution or nothing for solution in solutions],
            seconds=round(seconds, 3),
            device=device,
        )
        return solution_json(document)
    if chosen == "table":
        return _table(problems, solutions, seconds, device)
    only = solutions[0]
    if only is None:
        return ""
    if chosen == "vrplib":
        return solution_sol(problems[0], only)
    return as_json(only.to_geojson() if chosen == "geojson" else only.to_vroom())


def as_json(document: dict[str, Any]) -> str:
    """A document with one line for each entry of its longest lists."""
    import json

    return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def _table(
    problems: Sequence[Problem],
    solutions: Sequence[Solution | None],
    seconds: float,
    device: str,
) -> str:
    lines = []
    for number, (problem, solution) in enumerate(zip(problems, solutions, strict=True)):
        label = problem.name or f"instance {number}"
        prefix = f"{number:>{len(str(len(problems) - 1))}}  " if len(problems) > 1 else ""
        if solution is None:
            lines.append(f"{prefix}{label}  {problem.variant_name}  no plan found")
            continue
        count = len(solution.routes)
        routes = "1 route" if count == 1 else f"{count} routes"
        lines.append(
            f"{prefix}{label}  {problem.variant_name}  {_worth(problem, solution)}  {routes}"
        )
        if len(problems) == 1:
            lines += _routes_with_stops(solution)
        elif len(problems) <= _MOST_ROUTES_SHOWN:
            lines += describe_routes(solution)
    lines.append(summarise(solutions, seconds, device))
    return "\n".join(lines) + "\n"


def describe_routes(solution: Solution) -> list[str]:
    """The routes of a solution, one a line."""
    width = len(str(len(solution.routes)))
    return [
        f"  route {number:>{width}}: {' '.join(map(str, route))}"
        for number, route in enumerate(solution.routes, start=1)
    ]


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


def summarise(solutions: Sequence[Solution | None], seconds: float, device: str) -> str:
    """One line: how many are solved, at what mean cost, in what time."""
    costs = [solution.cost for solution in solutions if solution is not None]
    parts = [f"{len(costs)} of {len(solutions)} solved" if len(solutions) > 1 else ""]
    if len(costs) > 1:
        parts.append(f"mean cost {sum(costs) / len(costs):.10g}")
    elif len(solutions) == 1:
        parts.append("solved" if costs else "no plan found")
    parts.append(f"{seconds:.2f} s on {device}")
    return ", ".join(part for part in parts if part)

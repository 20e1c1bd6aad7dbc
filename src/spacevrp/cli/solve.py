"""``spacevrp solve``: solve the instances of a file."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.arguments import at_least
from spacevrp.problems.errors import FormatError, SpacevrpError, UnsupportedError
from spacevrp.writing import check_target, replacing, write_whole

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.problems.solution import Solution
    from spacevrp.solver import NoPlanError, Solver

SOLVED, NOT_SOLVED = 0, 1
_FORMATS = ("json", "table", "vrplib")
_FORMAT_OF_SUFFIX = {".json": "json", ".sol": "vrplib", ".txt": "table"}
_ROUNDINGS = ("none", "nearest", "up", "down", "one-decimal")
# A table shows the routes of so many instances only; more than that nobody reads.
_MOST_ROUTES_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp solve``."""
    parser.epilog = (
        "Exit code 0: every instance has a plan that the referee passes; 1: some have none, and "
        "stderr says which customers cannot be served and why; 2: bad usage or a file that cannot "
        "be read. Instances and nodes are numbered from 0 as in the file."
    )
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="instances: .vrp, .json, .npz or Solomon text"
    )
    parser.add_argument(
        "--augment",
        metavar="VIEWS",
        type=at_least(1),
        default=8,
        help="views of each instance; more take longer and are never worse; default: 8",
    )
    parser.add_argument(
        "--starts",
        metavar="K",
        type=at_least(1),
        help="start nodes of each view; default: every customer that can come first",
    )
    parser.add_argument(
        "--sample",
        metavar="ROUNDS",
        type=at_least(0),
        default=0,
        help="further rounds from every start that draw their moves at random; default: 0",
    )
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), default=0, help="default: 0")
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto"
    )
    parser.add_argument(
        "--weights", metavar="NAME|PATH", help="bundled weights by name, or a .safetensors file"
    )
    parser.add_argument(
        "--rounding",
        choices=_ROUNDINGS,
        help="rounding of distances from coordinates; default: what belongs to the file's format",
    )
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        help="default: by the suffix of OUT (.json, .sol, .txt), a table on a terminal, else json",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", type=Path, help="write the solutions to a file"
    )
    parser.add_argument("--plot", metavar="PNG", type=Path, help="draw one instance's routes")
    parser.add_argument(
        "--plot-index",
        metavar="INDEX",
        type=at_least(0),
        default=0,
        help="number of the instance to draw; default: 0",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="no progress bar, and no summary beside OUT"
    )


def run(args: argparse.Namespace) -> int:
    """Solve, write and draw."""
    # Imported here, so that help stays instant.
    from spacevrp.formats import read
    from spacevrp.problems.problem import Problem

    # Everything that can be wrong is found before the work begins.
    content = read(args.file, rounding=args.rounding)
    problems = [content] if isinstance(content, Problem) else list(content)
    chosen = _choose_format(args.format, args.output)
    _check_format(chosen, problems)
    _check_targets(args, problems)
    # Only now: torch takes seconds to load, and a mistyped name need not wait for it.
    from spacevrp.solver import Solver

    solver = Solver(args.weights, args.device)
    device = str(solver.device)
    began = time.perf_counter()
    solutions, failure = _solve(solver, problems, args)
    seconds = time.perf_counter() - began

    text = _render(chosen, problems, solutions, seconds, device)
    if args.output is None:
        print(text, end="")
    elif text:
        write_whole(args.output, text.encode())
        if not args.quiet:
            print(f"{args.output}: {_summarise(solutions, seconds, device)}")
    if args.plot is not None:
        _plot(args.plot, args.plot_index, problems, solutions)
    if failure is not None:
        for number, reason in failure.reasons.items():
            print(f"spacevrp: instance {number}: no complete plan found: {reason}", file=sys.stderr)
        return NOT_SOLVED
    return SOLVED


# ------------------------------------------------------------------------------------ before work


def _choose_format(asked: str | None, output: Path | None) -> str:
    if asked is not None:
        return asked
    if output is not None:
        return _FORMAT_OF_SUFFIX.get(output.suffix.lower(), "json")
    return "table" if sys.stdout.isatty() else "json"


def _check_format(chosen: str, problems: Sequence[Problem]) -> None:
    if chosen != "vrplib":
        return
    if len(problems) != 1:
        raise UnsupportedError(
            f"--format vrplib: expected one instance, the file has {len(problems)}; use json"
        )
    depots = len(problems[0].depots)
    if depots != 1:
        raise UnsupportedError(f"--format vrplib: expected one depot, received {depots}; use json")


def _check_targets(args: argparse.Namespace, problems: Sequence[Problem]) -> None:
    for path in (args.output, args.plot):
        if path is not None:
            check_target(path)
    if args.plot is None:
        return
    from spacevrp.plots import require_matplotlib

    require_matplotlib()
    if args.plot.suffix.lower() != ".png":
        raise FormatError(f"{args.plot}: expected a file name that ends in .png")
    if args.plot_index >= len(problems):
        raise SpacevrpError(
            f"--plot-index: expected 0 to {len(problems) - 1}, received {args.plot_index}"
        )


def _solve(
    solver: Solver, problems: list[Problem], args: argparse.Namespace
) -> tuple[list[Solution | None], NoPlanError | None]:
    from spacevrp.solver import NoPlanError

    try:
        solved = solver.solve(
            problems,
            augment=args.augment,
            starts=args.starts,
            sample=args.sample,
            seed=args.seed,
            progress=not args.quiet,
        )
    except NoPlanError as error:
        return error.solutions, error
    return list(solved), None


# ------------------------------------------------------------------------------------- after work


def _render(
    chosen: str,
    problems: Sequence[Problem],
    solutions: Sequence[Solution | None],
    seconds: float,
    device: str,
) -> str:
    from spacevrp.formats import SolvedInstance, solution_document, solution_json, solution_sol

    nothing = SolvedInstance((), None, False)
    if chosen == "json":
        names = {problem.variant_name for problem in problems}
        document = solution_document(
            names.pop() if len(names) == 1 else None,
            [solution or nothing for solution in solutions],
            seconds=round(seconds, 3),
            device=device,
        )
        return solution_json(document)
    if chosen == "vrplib":
        # The format cannot say that there is no plan.
        return "" if solutions[0] is None else solution_sol(problems[0], solutions[0])
    return _table(problems, solutions, seconds, device)


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
        if len(problems) <= _MOST_ROUTES_SHOWN:
            lines += describe_routes(solution)
    lines.append(_summarise(solutions, seconds, device))
    return "\n".join(lines) + "\n"


def describe_routes(solution: Solution) -> list[str]:
    """The routes of a solution, one a line."""
    width = len(str(len(solution.routes)))
    return [
        f"  route {number:>{width}}: {' '.join(map(str, route))}"
        for number, route in enumerate(solution.routes, start=1)
    ]


def _worth(problem: Problem, solution: Solution) -> str:
    if problem.maximise_prize:
        return f"prize {-solution.cost:.10g}"
    return f"cost {solution.cost:.10g}"


def _summarise(solutions: Sequence[Solution | None], seconds: float, device: str) -> str:
    costs = [solution.cost for solution in solutions if solution is not None]
    parts = [f"{len(costs)} of {len(solutions)} solved" if len(solutions) > 1 else ""]
    if len(costs) > 1:
        parts.append(f"mean cost {sum(costs) / len(costs):.10g}")
    elif len(solutions) == 1:
        parts.append("solved" if costs else "no plan found")
    parts.append(f"{seconds:.2f} s on {device}")
    return ", ".join(part for part in parts if part)


def _plot(
    path: Path, index: int, problems: Sequence[Problem], solutions: Sequence[Solution | None]
) -> None:
    from spacevrp.plots import save_plot

    with replacing(path) as draft:
        save_plot(draft, problems[index], solutions[index])

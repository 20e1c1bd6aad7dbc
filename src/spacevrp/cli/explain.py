"""``spacevrp explain``: why customers are left out, what would let them in, what limits routes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.arguments import at_least
from spacevrp.cli.instances import add_instances, judge_plans, read_instances

if TYPE_CHECKING:
    from spacevrp.problems.explanation import Explanation
    from spacevrp.problems.problem import Problem

COMPLETE, NOT_COMPLETE = 0, 1
Routes = tuple[tuple[int, ...], ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp explain``."""
    parser.epilog = (
        "For each compulsory customer that a plan leaves out: the reason (capacity, window, "
        "unreachable, length, pair, fleet; none if it would fit), and the smallest change that "
        "lets it in, verified by the referee. For each route: the limit that binds first. Exit "
        "code 0: the plans are complete; 1: a customer is left out or a rule is broken; 2: bad "
        "usage or a file that cannot be read."
    )
    add_instances(parser)
    parser.add_argument(
        "solution",
        metavar="SOLUTION",
        type=Path,
        nargs="?",
        help="their solutions: .json, .csv or .sol; solved first where there is none",
    )
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="default: table"
    )
    solving = parser.add_argument_group("without SOLUTION", "as in 'spacevrp solve'")
    solving.add_argument("--augment", metavar="N", type=at_least(1), help="default: 1")
    solving.add_argument("--seed", metavar="SEED", type=at_least(0), default=0, help="default: 0")
    solving.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto"
    )
    solving.add_argument(
        "--weights", metavar="NAME|PATH", help="bundled weights by name, or a .safetensors file"
    )
    solving.add_argument("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """Explain and print."""
    from spacevrp.formats import read_routes

    problems = read_instances(args, lenient=True)
    if args.solution is None:
        plans = _solved(args, problems)
    else:
        plans = read_routes(args.solution, problems)
    explanations = _explain(args, problems, plans)
    if args.format == "json":
        instances = [explanation.to_dict() for explanation in explanations]
        complete = all(explanation.complete for explanation in explanations)
        print(json.dumps({"complete": complete, "instances": instances}, indent=2))
    else:
        for number, explanation in enumerate(explanations):
            name = explanation.problem.name
            label = f"instance {number}" + (f" ({name})" if name else "")
            print(f"{label}: {explanation}" if len(problems) > 1 else explanation)
    return COMPLETE if all(one.complete for one in explanations) else NOT_COMPLETE


def _solved(args: argparse.Namespace, problems: list[Problem]) -> list[Routes]:
    """The best plans that are found, partial ones among them."""
    from spacevrp.solver import Solver

    solver = Solver(args.weights, args.device)
    options = {"augmentations": args.augment, "seed": args.seed}
    outcome = solver.run(problems, progress=not args.quiet, explain=False, **options)
    return [result.routes for result in outcome.results]


def _explain(
    args: argparse.Namespace, problems: Sequence[Problem], plans: Sequence[Routes]
) -> list[Explanation]:
    """One after the other, with a bar over the customers who are left out."""
    from tqdm import tqdm

    from spacevrp.problems.explanation import explain

    judged = judge_plans(args.solution, problems, plans)
    left_out = sum(v.code == "visit" for one in judged for v in one.violations)
    # None: tqdm itself looks whether stderr is a terminal.
    disable = True if args.quiet else None
    with tqdm(total=left_out, unit=" customers", leave=False, disable=disable, delay=0.5) as bar:
        return [
            explain(problem, plan, bar.update)
            for problem, plan in zip(problems, plans, strict=True)
        ]

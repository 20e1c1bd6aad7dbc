"""``spacevrp solve``: solve the instances of a file."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import (
    add_lean_option,
    add_protocol_option,
    add_sample_option,
    at_least,
    parse_duration,
)
from spacevrp.cli.instances import add_instances, read_instances
from spacevrp.cli.output import FORMATS, check_format, choose_format, render, summarise
from spacevrp.cli.output import describe_routes as describe_routes
from spacevrp.cli.timed import describe, more_keys
from spacevrp.problems.errors import SpacevrpError
from spacevrp.writing import check_target, replacing, write_whole

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.problems.solution import Solution
    from spacevrp.solver import Attempt, Solver

SOLVED, NOT_SOLVED = 0, 1
_ROUNDINGS = ("none", "nearest", "up", "down", "one-decimal")
_PICTURES = ("routes", "schedule", "load", "bars")
# Notes beyond so many are only counted.
_MOST_NOTES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp solve``."""
    parser.epilog = (
        "Exit code 0: every instance has a plan that the referee passes; 1: some have a partial "
        "plan only, which is written all the same, and stderr says who is left out and why (see "
        "also 'spacevrp explain'); 2: bad usage or a file that cannot be read. Instances and nodes "
        "are numbered from 0 as in the file."
    )
    add_instances(parser)
    parser.add_argument(
        "--augment",
        metavar="VIEWS",
        type=at_least(1),
        help="views of each instance; more take longer and make a better first plan; default: 8, "
        "and with --protocol paper 128 where distances are asymmetric",
    )
    parser.add_argument(
        "--time",
        metavar="TIME",
        type=parse_duration,
        help="spend this long, and no longer, on all instances together, for instance 5s or 2m: "
        "the network, then the search from its plans on; Ctrl-C writes the best plans so far",
    )
    parser.add_argument(
        "--no-improve",
        action="store_true",
        help="the plans of the network alone, without the search; with and without --time",
    )
    parser.add_argument(
        "--starts",
        metavar="K",
        type=at_least(1),
        help="start nodes of each view; default: every customer that can come first, fewer beyond "
        "200 customers",
    )
    parser.add_argument(
        "--candidates",
        metavar="K",
        type=at_least(1),
        help="nearest customers that a move chooses from; default: all, and 32 or 64 beyond 200 "
        "customers",
    )
    parser.add_argument(
        "--replan",
        metavar="ROUNDS",
        type=at_least(0),
        help="times at most that plans of 40 customers or more are planned anew by the network, "
        "region by region, before the search; default: 0",
    )
    add_protocol_option(parser)
    add_lean_option(parser)
    add_sample_option(parser)
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), default=0, help="default: 0")
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto"
    )
    parser.add_argument(
        "--threads",
        metavar="N",
        type=at_least(1),
        default=1,
        help="threads of a CPU for the network and the search; default: 1",
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
        choices=FORMATS,
        help="default: by the suffix of OUT (.json, .csv, .sol, .txt, .geojson), a table on a "
        "terminal, else json",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        help="write the solutions to a file; - for stdout",
    )
    parser.add_argument(
        "--plot", metavar="PICTURE", type=Path, help="draw one plan: .html, .png, .svg or .pdf"
    )
    parser.add_argument(
        "--plot-kind",
        choices=_PICTURES,
        default="routes",
        help="a map, a timeline of each vehicle, loads, or routes as bars; default: routes",
    )
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
    if args.output == Path("-"):
        args.output = None  # as everywhere, a dash is stdout
    # Everything that can be wrong is found before the work begins.
    chosen = choose_format(args.format, args.output)
    problems = read_instances(args, rounding=args.rounding, lenient=True)
    check_format(chosen, problems)
    _check_targets(args, problems)
    _check_time(args)
    # Only now: a mistyped name need not wait for it, least of all where torch is loaded.
    from spacevrp.solver import Solver

    solver = Solver(args.weights, args.device, args.lean, threads=args.threads)
    device = str(solver.device)
    if args.time is not None and not args.no_improve:
        from spacevrp.anytime import load_engines

        load_engines(problems)  # as with the weights, before the clock starts
    began = time.perf_counter()
    attempt = _solve(solver, problems, args)
    seconds = time.perf_counter() - began

    solutions, reasons = attempt.best, attempt.reasons
    text = render(chosen, problems, solutions, seconds, device, more_keys(attempt))
    told = "".join(f"{line}\n" for line in describe(attempt))
    if chosen == "table":
        text += told
    if args.output is None:
        print(text, end="")
    else:
        write_whole(args.output, text.encode())
        if not args.quiet:
            print(f"{args.output}: {summarise(solutions, seconds, device)}\n{told}", end="")
    if args.plot is not None:
        _plot(args, problems, solutions)
    for number, reason in reasons.items():
        print(f"spacevrp: instance {number}: no complete plan found: {reason}", file=sys.stderr)
    return NOT_SOLVED if reasons else SOLVED


# ------------------------------------------------------------------------------------ before work


def _check_targets(args: argparse.Namespace, problems: Sequence[Problem]) -> None:
    for path in (args.output, args.plot):
        if path is not None:
            check_target(path)
    if args.plot is None:
        return
    from spacevrp.plots.pictures import check_picture

    check_picture(args.plot, args.plot_kind)
    if args.plot_index >= len(problems):
        raise SpacevrpError(
            f"--plot-index: expected 0 to {len(problems) - 1}, received {args.plot_index}"
        )


def _check_time(args: argparse.Namespace) -> None:
    if args.time is None:
        return
    if not 0 < args.time < math.inf:
        raise SpacevrpError(f"--time: expected a time above 0, received {args.time:g} s")
    for name in ("augment", "sample", "replan"):
        if getattr(args, name) is not None:
            raise SpacevrpError(f"--{name}: expected none with --time, which decides it")
    if args.protocol != "default":
        raise SpacevrpError(f"--time: expected none with --protocol {args.protocol}")


def _solve(solver: Solver, problems: list[Problem], args: argparse.Namespace) -> Attempt:
    """The best plans, and why some are not complete."""
    limits: dict[str, Any] = {
        "starts": args.starts,
        "candidates": args.candidates,
        "seed": args.seed,
        "progress": not args.quiet,
    }
    attempt: Attempt
    if args.time is None:
        attempt = solver.attempt(
            problems,
            augment=args.augment,
            sample=args.sample,
            replan=args.replan,
            improve=False if args.no_improve else None,
            protocol=args.protocol,
            **limits,
        )
    else:
        from spacevrp.anytime import solve_for

        # The reasons for customers who are left out are part of what is written.
        attempt = solve_for(
            problems,
            args.time,
            solver=solver,
            improve=not args.no_improve,
            explain=True,
            **limits,
        )
    if not args.quiet:
        for note in shorten(attempt.notes):
            print(f"spacevrp: note: {note}", file=sys.stderr)
    return attempt


def shorten(notes: Sequence[str]) -> list[str]:
    """The first notes, and how many more there are."""
    shown = list(notes[:_MOST_NOTES])
    if len(notes) > _MOST_NOTES:
        shown.append(f"and so for {len(notes) - _MOST_NOTES} more instances")
    return shown


# ------------------------------------------------------------------------------------- after work


def _plot(
    args: argparse.Namespace, problems: Sequence[Problem], solutions: Sequence[Solution]
) -> None:
    from spacevrp.plots.pictures import save_picture

    problem, solution = problems[args.plot_index], solutions[args.plot_index]
    with replacing(args.plot) as draft:
        save_picture(draft, problem, solution, args.plot_kind)

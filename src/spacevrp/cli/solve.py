"""``spacevrp solve``: solve the instances of files."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import add_protocol_option, at_least, not_negative, parse_duration
from spacevrp.cli import solve_many
from spacevrp.cli.instances import add_instances, add_start, read_instances
from spacevrp.cli.output import FORMATS, check_format, choose_format, render, summarise
from spacevrp.problems.errors import SpacevrpError
from spacevrp.writing import check_target, replacing, write_whole

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.problems.solution import Solution
    from spacevrp.solver import Outcome, SolveParams

SOLVED, NOT_SOLVED = 0, 1
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
    add_instances(parser, several=True)
    parser.add_argument(
        "--time",
        metavar="TIME",
        type=parse_duration,
        help="spend this long, and no longer, on all instances together, for instance 5s or 2m: "
        "the network, then the search from its plans on; Ctrl-C writes the best plans so far",
    )
    add_start(parser)
    add_protocol_option(parser, None)
    parser.add_argument(
        "--augment",
        metavar="N",
        type=at_least(1),
        help="augmentations of each instance for the network; more make a better first plan",
    )
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto"
    )
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), help="default: 0")
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
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a field of SolveParams, such as search=false or num_samples=3; may be repeated",
    )
    parser.add_argument(
        "--params", metavar="FILE.toml", type=Path, help="a file with fields of SolveParams"
    )
    _add_older_options(parser)
    parser.add_argument(
        "--format",
        choices=(*FORMATS, *solve_many.FORMATS),
        help="default: by the suffix of OUT (.json, .csv, .sol, .txt, .geojson, .gpx), a table on "
        "a terminal, else json",
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
    parser.add_argument(
        "--verbose", action="store_true", help="what each stage took and gained, on stderr"
    )
    solve_many.add_options(parser)


def _add_older_options(parser: argparse.ArgumentParser) -> None:
    """Options that are fields of SolveParams by other names; they stay, and are not shown."""
    hidden = argparse.SUPPRESS
    parser.add_argument("--starts", dest="start_nodes", type=at_least(1), help=hidden)
    parser.add_argument("--candidates", type=at_least(1), help=hidden)
    parser.add_argument("--sample", dest="num_samples", type=at_least(0), help=hidden)
    parser.add_argument("--lean", dest="policy_heads", type=not_negative, help=hidden)
    parser.add_argument(
        "--no-improve", dest="search", action="store_const", const=False, help=hidden
    )


def run(args: argparse.Namespace) -> int:
    """Solve, write and draw."""
    if args.output == Path("-"):
        args.output = None  # as everywhere, a dash is stdout
    if solve_many.is_many(args):
        return solve_many.run(args, _params(args))
    solve_many.check_alone(args)
    # Everything that can be wrong is found before the work begins.
    problems = read_instances(args, lenient=True)
    chosen = choose_format(args.format, args.output)
    check_format(chosen, problems)
    _check_targets(args, problems)
    params = _params(args)
    # Only now: a mistyped name need not wait for it, least of all where torch is loaded.
    from spacevrp.solver import Solver

    solver = Solver(args.weights, args.device, threads=args.threads)
    device = str(solver.device)
    began = time.perf_counter()
    # The reasons for customers who are left out are part of what is written.
    outcome = solver.run(
        problems, params, time=args.time, start=args.start, progress=not args.quiet, explain=True
    )
    seconds = time.perf_counter() - began
    _tell(args, outcome)

    results, reasons = outcome.results, outcome.reasons
    text = render(chosen, problems, results, seconds, device)
    if args.output is None:
        print(text, end="")
    else:
        write_whole(args.output, text.encode())
        if not args.quiet:
            print(f"{args.output}: {summarise(results, seconds, device)}")
    if args.plot is not None:
        _plot(args, problems, results)
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


def _params(args: argparse.Namespace) -> SolveParams:
    """From the file, then the options, then ``--set``; what contradicts is found here."""
    from spacevrp.solver import SolveParams

    params = SolveParams() if args.params is None else SolveParams.from_toml(args.params)
    names = ("protocol", "start_nodes", "num_samples", "candidates", "policy_heads", "search")
    said = {name: getattr(args, name) for name in (*names, "seed")}
    said["augmentations"] = args.augment
    changes = {name: value for name, value in said.items() if value is not None}
    params = params.changed(**changes, **_settings(args.set))
    if args.time is not None:
        if not 0 < args.time < math.inf:
            raise SpacevrpError(f"--time: expected a time above 0, received {args.time:g} s")
        params.check_time()
    return params


def _settings(given: Sequence[str]) -> dict[str, Any]:
    """What ``--set`` says: values as in TOML, words without quotes."""
    import tomllib

    resolved: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise SpacevrpError(f"--set: expected KEY=VALUE, received {text[:40]!r}")
        try:
            resolved[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            resolved[key.strip()] = value.strip()
    return resolved


# ------------------------------------------------------------------------------------ what it says


def _tell(args: argparse.Namespace, outcome: Outcome) -> None:
    """The notes and, where they are wanted, the stages."""
    if not args.quiet:
        for note in shorten(outcome.notes):
            print(f"spacevrp: note: {note}", file=sys.stderr)
    if args.verbose:
        for number, result in enumerate(outcome.results):
            label = f"{number}  " if len(outcome.results) > 1 else ""
            for line in result.describe_stages():
                print(f"spacevrp: {label}{line}", file=sys.stderr)


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
    with replacing(args.plot) as temporary:
        save_picture(temporary, problem, solution, args.plot_kind)

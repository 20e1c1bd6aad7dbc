"""``spacevrp bench frontier``: gap against seconds, beside classical solvers.

All solvers get the same instances on the same machine, one after the other. The model solves them
as one batch, with more and more views; the others one by one, with more and more time.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import at_least
from spacevrp.bench.contest import add_contest_options, best_costs, compare, draw, threads
from spacevrp.bench.neighbours import Neighbours
from spacevrp.bench.sets import Source, generated
from spacevrp.bench.solving import Outcome, solve_set, warm_up
from spacevrp.bench.tables import (
    Job,
    Layout,
    Report,
    add_report_options,
    add_weights_options,
    check_protocol,
    new_record,
    number,
    settings_key,
    work_through,
)
from spacevrp.bench.weights import load_model
from spacevrp.problems.variants import parse_variant

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.solver import Solver

OURS = "spacevrp"
SOLVERS = ("pyvrp", "ortools", "vroom", "lkh")
_PROBLEMS = ("TSP", "CVRP", "ATSP", "ACVRP")
_NOTES = """\
Every cost is the referee's. The gap is to the best cost that is known of an instance, be it from
this table or from the reference costs, and is the mean over the instances with a plan; "solved"
says how many have one, and where it is not all of them the gap is not to be compared. "seconds" are
for one instance, measured: the model's are those of the whole batch divided by its size, with so
many threads; the others solve one instance after the other on one thread, and some of them stop
before their limit or go beyond it. "setting" is the number of views, or the limit in seconds.
"others" is how many cores were busy with other processes meanwhile.
"""
LAYOUT = Layout(
    "frontier",
    "Gap against seconds",
    (
        ("problem", 12),
        ("solver", 10),
        ("setting", 10),
        ("instances", 9),
        ("solved", 6),
        ("cost", 10),
        ("gap %", 8),
        ("seconds", 9),
        ("violations", 10),
        ("others", 6),
    ),
    _NOTES,
    left=3,
)


@dataclass(frozen=True)
class Row:
    """One solver with one setting on the instances of one problem."""

    problem: str
    solver: str
    version: str
    setting: str
    size: int
    instances: int
    solved: int
    cost: float | None  # mean of the referee's, over the solved
    gap: float | None  # percent, to the best known
    seconds: float  # for one instance
    violations: int  # of our own: what another solver does not solve in time is none
    others: float | None

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        return [
            self.problem,
            self.solver,
            self.setting,
            str(self.instances),
            str(self.solved),
            number(self.cost, 5),
            number(self.gap, 3),
            number(self.seconds, 4),
            str(self.violations),
            number(self.others, 2),
        ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench frontier``."""
    add_contest_options(
        parser,
        LAYOUT.name,
        problems=_PROBLEMS,
        count=10,
        seconds_of="limits of the other solvers for each instance",
        solvers=SOLVERS,
    )
    parser.add_argument(
        "--size", metavar="N", type=at_least(4), default=100, help="customers; default: 100"
    )
    parser.add_argument(
        "--views",
        metavar="NUMBERS",
        type=_views,
        default=(1, 8, 32, 128),
        help="of the model; default: 1,8,32,128",
    )
    parser.add_argument(
        "--threads",
        metavar="N",
        type=at_least(1),
        default=1,
        help="of the model on a CPU; default: 1, as the other solvers have",
    )
    add_weights_options(parser)
    add_report_options(parser, LAYOUT.name)


def run(args: argparse.Namespace) -> int:
    """Measure problem by problem, and report each when all solvers are through with it."""
    from spacevrp.oracles import make_oracle
    from spacevrp.plots.frontier import save_frontier_plot
    from spacevrp.solver import Solver

    check_protocol(args)
    sources = [generated(parse_variant(n), args.size, args.count, args.seed) for n in args.problems]
    _, weights = load_model(args.weights)
    solver = Solver(args.weights, args.device, args.lean, threads=args.threads)
    for name in args.solvers:
        make_oracle(name).require()
    with threads(args.threads):
        record = new_record(LAYOUT.name, solver, weights, args.protocol, seed=args.seed)
        record["versions"].update({n: make_oracle(n).version() for n in args.solvers})
        report = Report(LAYOUT, record, args, summary)
        entries = [
            entry for source in sources for entry in _entries(source, args, record, solver, weights)
        ]
        done = work_through([entry.job for entry in entries], report.store(), quiet=args.quiet)
        measured = zip(entries, done, strict=True)
        for _, group in groupby(measured, key=lambda pair: pair[0].source):
            pairs = list(group)
            outcomes = [outcome for _, (_, outcome) in pairs]
            report.add(*rows_of([entry for entry, _ in pairs], outcomes, args))
    code = report.finish()
    draw(args.output, report, save_frontier_plot)
    return code


# ------------------------------------------------------------------------------------------- work


@dataclass(frozen=True)
class Entry:
    """A solver with a setting on a set, to be measured."""

    source: Source
    solver: str
    version: str
    setting: str
    job: Job


def _entries(
    source: Source,
    args: argparse.Namespace,
    record: dict[str, Any],
    solver: Solver,
    weights: dict[str, Any],
) -> list[Entry]:
    from spacevrp.generators import generate
    from spacevrp.oracles import make_oracle

    (example,) = generate(source.variant, args.size, 1, args.seed)
    versions, found = record["versions"], []
    for views in args.views:
        key = settings_key(record, weights, set=dict(source.key), solver=OURS, views=views)
        setting = "1 view" if views == 1 else f"{views} views"
        label = f"{source.variant.name}, {OURS}, {setting}"
        work = partial(_solve_ours, solver, source, views, args.protocol, not args.quiet)
        job = Job(label, key, work)
        found.append(Entry(source, OURS, versions["spacevrp"], setting, job))
    for name in args.solvers:
        reason = make_oracle(name).supports(example)
        if reason is not None:
            print(f"{name} is left out on {source.variant.name}: {reason}", file=sys.stderr)
            continue
        for limit in args.seconds:
            key = settings_key(record, {"tensors_sha256": None}, set=dict(source.key))
            key |= {"solver": name, "solver_version": versions[name], "seconds": limit}
            label = f"{source.variant.name}, {name}, {limit:g} s"
            job = Job(label, key, partial(_solve_theirs, name, source, limit))
            found.append(Entry(source, name, versions[name], f"{limit:g} s", job))
    return found


def _solve_ours(solver: Solver, source: Source, views: int, protocol: str, show: bool) -> Outcome:
    problems = source.load().problems
    warm_up(solver, problems, protocol)
    if solver.device.type == "cpu":  # wakes the threads
        solver.attempt(problems[:1], augment=1, protocol=protocol)
    return solve_set(solver, problems, views, protocol=protocol, show=show)


def _solve_theirs(name: str, source: Source, limit: float) -> Outcome:
    """One instance after the other, in this process."""
    from spacevrp.oracles import OracleResult, solve_many

    problems = source.load().problems
    _wake(name, source)
    neighbours = Neighbours()
    results = solve_many(problems, name, limit)
    found = [result if isinstance(result, OracleResult) else None for result in results]
    return Outcome(
        costs=tuple(None if result is None else result.solution.cost for result in found),
        seconds_host=0.0,
        # A solver without a plan has used up its time.
        seconds_model=math.fsum(limit if result is None else result.seconds for result in found),
        seconds_referee=0.0,
        violations=0,
        others=neighbours.busy(),
    )


def _wake(name: str, source: Source) -> None:
    """Have a solver load its libraries before it is timed."""
    from spacevrp.generators import generate
    from spacevrp.oracles import solve_many

    tiny: list[Problem] = generate(source.variant, 10, 1)
    solve_many(tiny, name, 0.05)


def rows_of(
    entries: Sequence[Entry], outcomes: Sequence[Outcome], args: argparse.Namespace
) -> list[Row]:
    """The rows of one problem: the best cost of an instance is the best that anybody found."""
    best = best_costs(entries[0].source.variant.name, args.size, args.seed, outcomes)
    return [_row(e, outcome, best, args) for e, outcome in zip(entries, outcomes, strict=True)]


def _row(
    entry: Entry, outcome: Outcome, best: Sequence[float | None], args: argparse.Namespace
) -> Row:
    solved, gap = compare(outcome, best)
    return Row(
        problem=entry.source.variant.name,
        solver=entry.solver,
        version=entry.version,
        setting=entry.setting,
        size=args.size,
        instances=args.count,
        solved=solved,
        cost=outcome.mean,
        gap=gap,
        seconds=outcome.seconds / args.count,
        violations=outcome.violations,
        others=outcome.others,
    )


def summary(rows: Sequence[Row]) -> str:
    """One line: what was measured."""
    problems = len({row.problem for row in rows})
    total = math.fsum(row.seconds * row.instances for row in rows)
    unsolved = sum(row.instances - row.solved for row in rows if row.solver != OURS)
    return (
        f"{len(rows)} settings on {problems} problems in {total:.1f} s; other solvers without a "
        f"plan in time: {unsolved}; {sum(row.violations for row in rows)} violations"
    )


# -------------------------------------------------------------------------------------- arguments


def _views(text: str) -> tuple[int, ...]:
    return tuple(sorted({at_least(1)(item) for item in text.split(",")}))

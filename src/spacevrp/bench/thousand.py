"""Seconds for 1,000 instances of each of some problems, the paper's beside ours.

It is the part ``thousand`` of ``spacevrp bench speed``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from spacevrp.bench import paper
from spacevrp.bench.sets import Source, generated, variant_names
from spacevrp.bench.solving import Outcome, solve_set, warm_up
from spacevrp.bench.tables import (
    Job,
    Layout,
    Report,
    add_view_options,
    new_record,
    number,
    settings_key,
    time_text,
    views_for,
    work_through,
)
from spacevrp.problems.variants import SEEN_NAMES, parse_variant

if TYPE_CHECKING:
    from spacevrp.solver import Solver

WHOLE = 1000  # instances in a test set of the paper
_COUNT = {"cpu": 8, "cuda": WHOLE}
_NOTES = """\
One measurement each, all instances of a problem together, after a warm-up on two of them on a GPU.
"host s" is the time from problems to tensors, "model s" encoding and decoding, "referee s" the
judging, "search s" local search; "per 1,000 s" is their sum, and where fewer or more instances were
solved than 1,000 it is scaled in proportion ("instances" says so). "paper s" is what the paper
prints for SPACE on its own 1,000 instances with x8 views (x128 where distances are asymmetric), on
one RTX 4090; "faster" is how many times ours goes into that. Other machine, other views: for
orientation only. "others" is how many cores were busy with other processes meanwhile.
"""
LAYOUT = Layout(
    "thousand",
    "Seconds for 1,000 instances",
    (
        ("problem", 14),
        ("instances", 9),
        ("views", 5),
        ("host s", 8),
        ("model s", 8),
        ("referee s", 9),
        ("search s", 8),
        ("per 1,000 s", 11),
        ("paper s", 8),
        ("faster", 7),
        ("cost", 10),
        ("violations", 10),
        ("others", 6),
    ),
    _NOTES,
)


@dataclass(frozen=True)
class Row:
    """How long a set took."""

    problem: str
    size: int
    instances: int
    views: int
    seconds_host: float
    seconds_model: float
    seconds_referee: float
    seconds_search: float
    seconds_thousand: float  # all of it, in proportion
    paper_seconds: float | None
    faster: float | None  # times that ours goes into the paper's
    cost: float | None  # mean of the referee's
    violations: int
    others: float | None

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        return [
            self.problem,
            str(self.instances),
            str(self.views),
            number(self.seconds_host, 2),
            number(self.seconds_model, 2),
            number(self.seconds_referee, 2),
            number(self.seconds_search, 2),
            number(self.seconds_thousand, 2),
            number(self.paper_seconds, 1),
            number(self.faster, 2),
            number(self.cost, 5),
            str(self.violations),
            number(self.others, 2),
        ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what this part of ``spacevrp bench speed`` takes beside the others' arguments."""
    group = parser.add_argument_group("part thousand")
    group.add_argument(
        "--problems",
        metavar="NAMES",
        type=variant_names,
        default=SEEN_NAMES,
        help="such as CVRP,ACVRPTW; default: the twelve trained on",
    )
    add_view_options(group)
    group.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(format="table")


def run(args: argparse.Namespace, solver: Solver, weights: dict[str, Any]) -> int:
    """Solve set by set and report; ``thousand.md`` and its like are written beside ``speed.md``."""
    count = args.count or _COUNT[solver.device.type]
    record = new_record(LAYOUT.name, solver, weights, args.protocol, seed=args.seed)
    sources = [generated(parse_variant(n), args.size, count, args.seed) for n in args.problems]
    report = Report(LAYOUT, record, args, summary)
    jobs, views = [], []
    for source in sources:
        views.append(views_for(args, solver.device.type, asymmetric=source.asymmetric))
        key = settings_key(record, weights, set=dict(source.key), views=views[-1])
        solve = partial(_solve, solver, source, views[-1], args.protocol, not args.quiet)
        jobs.append(Job(source.variant.name, key, solve))
    done = work_through(jobs, report.store(), quiet=args.quiet)
    for source, number_of, (_, outcome) in zip(sources, views, done, strict=True):
        report.add(row_of(source.variant.name, args.size, number_of, outcome))
    return report.finish()


def _solve(solver: Solver, source: Source, views: int, protocol: str, show: bool) -> Outcome:
    problems = source.load().problems
    warm_up(solver, problems, protocol)
    return solve_set(solver, problems, views, protocol=protocol, show=show)


def row_of(problem: str, size: int, views: int, outcome: Outcome) -> Row:
    """The row of a set that was solved."""
    instances = len(outcome.costs)
    whole = outcome.seconds * WHOLE / instances
    held = paper.table("gaps")
    theirs = held["seconds"]["SPACE"].get(problem) if size == held["customers"] else None
    return Row(
        problem=problem,
        size=size,
        instances=instances,
        views=views,
        seconds_host=outcome.seconds_host,
        seconds_model=outcome.seconds_model,
        seconds_referee=outcome.seconds_referee,
        seconds_search=outcome.seconds_search,
        seconds_thousand=whole,
        paper_seconds=theirs,
        faster=None if theirs is None or whole == 0 else theirs / whole,
        cost=outcome.mean,
        violations=outcome.violations,
        others=outcome.others,
    )


def summary(rows: Sequence[Row]) -> str:
    """One line: what all of it took."""
    violations = sum(row.violations for row in rows)
    return f"{len(rows)} problems; {time_text(rows)}; {violations} violations"

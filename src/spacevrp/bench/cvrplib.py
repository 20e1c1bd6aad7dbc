"""``spacevrp bench cvrplib``: sets X (from 500 customers on) and XXL, against the best known."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spacevrp.arguments import at_least
from spacevrp.bench import paper
from spacevrp.bench.sets import data_folder
from spacevrp.bench.solving import Outcome, gaps, solve_set, warm_up
from spacevrp.bench.tables import (
    Job,
    Layout,
    Report,
    add_replan_option,
    add_report_options,
    add_weights_options,
    check_protocol,
    new_record,
    number,
    settings_key,
    time_text,
    work_through,
)
from spacevrp.bench.weights import load_model
from spacevrp.problems.errors import FormatError, SpacevrpError

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.solver import Solver

_DATA_FOLDER = "cvrplib"  # below the folder that SPACEVRP_DATA names
INSTANCE, AVERAGE = "instance", "average"
# Customers: more than, at most; the last is beyond what the paper has.
_CLASSES = ((0, 500), (500, 1000), (1000, 5000), (5000, 7000), (7000, 10**9))
_PAPERS_LARGEST = 7000
_NOTES = """\
Costs are the referee's, with distances rounded as the instances demand. "best known" is the cost
of the plan in the .sol file, by the referee, too; it is the reference of both the paper and ours,
so that there is one gap only: (cost - best known) / best known. "paper %" is what the paper prints
for SPACE, "ours - paper" is in percentage points. Averages are over the instances that have a plan,
by the number of customers as in the paper; the paper's are over the same instances. Where an
instance has no plan, "note" says why, and "violations" counts it. "starts" are those of a view.
"peak GiB" is the most memory held: by the tensors on a GPU, weights and all, or by the process.
"""
LAYOUT = Layout(
    "cvrplib",
    "CVRPLIB",
    (
        ("instance", 22),
        ("customers", 9),
        ("views", 5),
        ("starts", 6),
        ("cost", 10),
        ("best known", 10),
        ("gap %", 8),
        ("paper %", 8),
        ("ours - paper", 12),
        ("host s", 8),
        ("model s", 8),
        ("referee s", 9),
        ("search s", 8),
        ("peak GiB", 8),
        ("violations", 10),
        ("note", 4),
    ),
    _NOTES,
)


@dataclass(frozen=True)
class Row:
    """What an instance came to, or the average over several."""

    instance: str
    kind: str  # INSTANCE or AVERAGE
    customers: int | None
    views: int
    starts: int | None  # start nodes a view; None for all (of an average: where they differ)
    cost: float | None
    best_known: float | None
    gap: float | None  # percent
    paper_gap: float | None  # percent
    difference: float | None  # percentage points
    seconds_host: float
    seconds_model: float
    seconds_referee: float
    seconds_search: float
    violations: int
    refused: int
    note: str = ""
    peak_gib: float | None = None  # of an average: the highest

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        return [
            self.instance,
            number(self.customers, 0),
            str(self.views),
            "all" if self.starts is None and self.kind == INSTANCE else number(self.starts, 0),
            number(self.cost, 0),
            number(self.best_known, 0),
            number(self.gap, 3),
            number(self.paper_gap, 3),
            number(self.difference, 3, sign=True),
            number(self.seconds_host, 2),
            number(self.seconds_model, 2),
            number(self.seconds_referee, 2),
            number(self.seconds_search, 2),
            number(self.peak_gib, 2),
            str(self.violations),
            self.note,
        ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench cvrplib``."""
    parser.epilog = (
        "Exit code 0: every instance has a plan that the referee passes; 1: some have none, as "
        "where memory does not suffice; 2: bad usage or a file that cannot be read."
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        type=Path,
        help="instances NAME.vrp, each with its best known plan NAME.sol; default: "
        f"{_DATA_FOLDER} in the folder SPACEVRP_DATA",
    )
    parser.add_argument(
        "--min-size",
        metavar="N",
        type=at_least(1),
        default=500,
        help="no instance with fewer customers; default: 500",
    )
    parser.add_argument(
        "--max-size", metavar="N", type=at_least(1), help="no instance with more customers"
    )
    parser.add_argument(
        "--augment", metavar="VIEWS", type=at_least(1), default=8, help="default: 8"
    )
    parser.add_argument(
        "--starts",
        metavar="N",
        type=at_least(1),
        help="start nodes of each view, spread evenly; default: as solve has it, fewer the more "
        "customers there are",
    )
    add_replan_option(parser)
    add_weights_options(parser, protocol="default")
    add_report_options(parser, LAYOUT.name)


def run(args: argparse.Namespace) -> int:
    """Solve instance by instance, the smallest first, and report."""
    from spacevrp.solver import Solver

    check_protocol(args)
    instances = list_instances(args.data, args.min_size, args.max_size)
    model, weights = load_model(args.weights)
    solver = Solver(model, args.device, args.lean, threads=None)
    record = new_record(LAYOUT.name, solver, weights, args.protocol)
    report = Report(LAYOUT, record, args, summary, averages=averages, below=slips_text)
    jobs = []
    for one in instances:
        key = settings_key(
            record,
            weights,
            file_sha256=one.digest,
            views=args.augment,
            starts=args.starts,
            replan=args.replan,
        )
        solve = partial(
            solve_or_say_why,
            solver,
            one,
            args.augment,
            starts=args.starts,
            replan=args.replan,
            protocol=args.protocol,
            show=not args.quiet,
        )
        jobs.append(Job(one.name, key, solve))
    done = work_through(jobs, report.store(), quiet=args.quiet)
    for one, (_, outcome) in zip(instances, done, strict=True):
        used = starts_used(read_instance(one.path), args.starts, solver, args.protocol)
        report.add(one.row(outcome, args.augment, used))
    return report.finish()


# ------------------------------------------------------------------------------------------- files


@dataclass(frozen=True)
class Instance:
    """A file and its best known cost."""

    path: Path
    customers: int
    best_known: float

    @property
    def name(self) -> str:
        """As CVRPLIB names it."""
        return self.path.stem

    @property
    def digest(self) -> str:
        """Tells its content from any other."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def row(self, outcome: Outcome, views: int, starts: int | None) -> Row:
        """The instance beside its best known cost and the paper's figure."""
        (cost,) = outcome.costs
        gap = None
        if cost is not None:
            gap, _ = gaps(np.array([cost]), np.array([self.best_known]))
        theirs = papers_gap(self.name)
        return Row(
            instance=self.name,
            kind=INSTANCE,
            customers=self.customers,
            views=views,
            starts=starts,
            cost=cost,
            best_known=self.best_known,
            gap=gap,
            paper_gap=theirs,
            difference=None if gap is None or theirs is None else gap - theirs,
            seconds_host=outcome.seconds_host,
            seconds_model=outcome.seconds_model,
            seconds_referee=outcome.seconds_referee,
            seconds_search=outcome.seconds_search,
            violations=outcome.violations,
            refused=outcome.refused,
            note=outcome.note,
            peak_gib=outcome.peak_gib,
        )


def list_instances(folder: Path | None, smallest: int, largest: int | None) -> list[Instance]:
    """The instances of a folder within these sizes, the smallest first."""
    folder = data_folder(_DATA_FOLDER) if folder is None else folder
    if folder is None:
        raise SpacevrpError(
            "CVRPLIB: expected --data FOLDER, or SPACEVRP_DATA to name a folder with "
            f"{_DATA_FOLDER} in it, received neither"
        )
    if not folder.is_dir():
        raise FormatError(f"{folder}: expected a folder of .vrp files, found none")
    found = []
    for path in sorted(folder.glob("*.vrp")):
        problem = read_instance(path)
        customers = len(problem.customers)
        if smallest <= customers and (largest is None or customers <= largest):
            found.append(Instance(path, customers, best_known(path.with_suffix(".sol"), problem)))
    if not found:
        upper = "" if largest is None else f" and at most {largest}"
        raise FormatError(
            f"{folder}: expected .vrp files with at least {smallest}{upper} customers, found none"
        )
    return sorted(found, key=lambda one: (one.customers, one.name))


def read_instance(path: Path) -> Problem:
    """The instance of a file."""
    from spacevrp.formats import read_vrplib

    return read_vrplib(path)


def best_known(path: Path, problem: Problem) -> float:
    """The cost of the plan in a .sol file: the referee's, which must be what the file says."""
    from spacevrp.formats import read_solution
    from spacevrp.problems.solution import Solution

    if not path.is_file():
        raise FormatError(f"{path}: no such file; expected the best known plan of {path.stem}")
    (entry,) = read_solution(path, problem).instances
    plan = Solution.judged(problem, entry.routes)
    if not plan.feasible:
        raise FormatError(f"{path}: the plan breaks a rule: {plan.violations[0].message}")
    if entry.cost is not None and abs(plan.cost - entry.cost) > 1e-6 * abs(entry.cost):
        raise FormatError(
            f"{path}: expected a plan of the stated cost {entry.cost:.10g}, received one of "
            f"{plan.cost:.10g}"
        )
    return plan.cost


# ------------------------------------------------------------------------------------------- work


def solve_or_say_why(
    solver: Solver,
    instance: Instance,
    views: int,
    *,
    starts: int | None,
    replan: int | None,
    protocol: str,
    show: bool,
) -> Outcome:
    """The instance solved; where it cannot be, as for want of memory, an outcome that says so."""
    import torch

    from spacevrp.bench.memory import Peak
    from spacevrp.generators import generate

    warm_up(solver, generate("CVRP", 100, 2), protocol)
    try:
        problem = read_instance(instance.path)
        peak = Peak(torch.device(str(solver.device)))
        peak.restart()
        outcome = solve_set(
            solver,
            [problem],
            views,
            starts=starts,
            replan=replan,
            protocol=protocol,
            show=show,
        )
        return replace(outcome, peak_gib=peak.height())
    except (SpacevrpError, MemoryError) as error:
        note = str(error) or "not enough memory"
        return Outcome((None,), 0.0, 0.0, 0.0, violations=1, note=note)


def starts_used(
    problem: Problem, wanted: int | None, solver: Solver, protocol: str = "default"
) -> int | None:
    """Start nodes of each view, at most; None for all."""
    from spacevrp.engines.pruning import choose_search
    from spacevrp.solver import protocol_named

    if not protocol_named(protocol).pruned:
        return None
    search = choose_search(problem, wanted, None, solver.device)
    return wanted if search is None else search.starts


def papers_gap(name: str) -> float | None:
    """What the paper prints for SPACE on an instance; None where it has none."""
    held = paper.table("cvrplib")
    if name in held["X"]["method"]["SPACE"]:
        gap: float | None = held["X"]["method"]["SPACE"][name]["gap"]
        return gap
    return held["XXL"]["gap"]["SPACE"].get(name)


# ------------------------------------------------------------------------------------------- texts


def averages(rows: Sequence[Row]) -> list[Row]:
    """By the number of customers, and over all that the paper has."""
    found = []
    for above, most in _CLASSES:
        some = [row for row in rows if above < (row.customers or 0) <= most]
        if some:
            name = f"more than {above:,}" if most == _CLASSES[-1][1] else f"{above:,} to {most:,}"
            found.append(_average(f"average {name}", some))
    theirs = [row for row in rows if row.paper_gap is not None]
    if theirs:
        found.append(_average("average, the paper's", theirs))
    return found


def _average(label: str, rows: Sequence[Row]) -> Row:
    solved = [row for row in rows if row.gap is not None]
    first = rows[0]
    alike = len({row.starts for row in rows}) == 1
    return Row(
        instance=label,
        kind=AVERAGE,
        customers=None,
        views=first.views,
        starts=first.starts if alike else None,
        cost=None,
        best_known=None,
        gap=_mean(solved, "gap"),
        paper_gap=_mean(solved, "paper_gap"),
        difference=_mean(solved, "difference"),
        seconds_host=sum(row.seconds_host for row in rows),
        seconds_model=sum(row.seconds_model for row in rows),
        seconds_referee=sum(row.seconds_referee for row in rows),
        seconds_search=sum(row.seconds_search for row in rows),
        violations=sum(row.violations for row in rows),
        refused=sum(row.refused for row in rows),
        note=f"{len(solved)} of {len(rows)} solved",
        peak_gib=max((row.peak_gib for row in rows if row.peak_gib is not None), default=None),
    )


def _mean(rows: Sequence[Row], name: str) -> float | None:
    values: list[Any] = [getattr(row, name) for row in rows]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def slips_text(rows: Sequence[Row]) -> str:
    """Where our best known cost is not the paper's, whose gaps are against its own."""
    held = paper.table("cvrplib")["X"]["best_known"]
    lines = [
        f"- {row.instance}: {row.best_known:.0f} here, {held[row.instance]} in the paper\n"
        for row in rows
        if row.instance in held and row.best_known != held[row.instance]
    ]
    return "\nBest known costs that differ:\n\n" + "".join(lines) if lines else ""


def summary(rows: Sequence[Row]) -> str:
    """One line: how the instances compare with the paper, what it took."""
    solved = [row for row in rows if row.gap is not None]
    parts = [f"{len(solved)} of {len(rows)} instances solved"]
    compared = [row.difference for row in rows if row.difference is not None]
    if compared:
        better = sum(points <= 0 for points in compared)
        parts.append(
            f"at least as good as the paper on {better} of {len(compared)}, mean difference "
            f"{np.mean(compared):+.3f} points"
        )
    parts.append(time_text(rows))
    parts.append(f"{sum(row.violations for row in rows)} violations")
    return "; ".join(parts)

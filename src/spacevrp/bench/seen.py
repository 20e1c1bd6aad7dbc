"""``spacevrp bench seen``: costs and gaps on the problems trained on, the paper's beside ours."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spacevrp.arguments import add_sample_option, at_least
from spacevrp.bench import paper
from spacevrp.bench.sets import (
    GENERATED,
    REFERENCE_PREFIX,
    Source,
    TestSet,
    data_folder,
    from_file,
    generated,
    read_set,
    variant_names,
    variant_of,
)
from spacevrp.bench.solving import Outcome, gaps, solve_set, warm_up
from spacevrp.bench.tables import (
    DONE,
    FORMATS,
    SOME_UNSOLVED,
    Job,
    Layout,
    Report,
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
from spacevrp.problems.variants import SEEN_NAMES, parse_variant

if TYPE_CHECKING:
    from spacevrp.solver import Solver

__all__ = [
    "DONE",
    "GENERATED",
    "SOME_UNSOLVED",
    "Row",
    "TestSet",
    "add_arguments",
    "gaps",
    "load_model",
    "measure",
    "read_set",
    "run",
]

_DATA_FOLDER = "uniform100"  # below the folder that SPACEVRP_DATA names

_NOTES = """\
Every cost is the referee's, in float64; for OP it is minus the prize. "gap %" is the mean over the
instances of (cost - reference) / |reference|, "gap of means %" the same of the mean cost and the
mean reference; below zero is better than the reference. The references of generated sets are the
best known costs of `spacevrp bench references`. "to oracle %" is the mean gap to what the paper's
kind of oracle found in the paper's time (in a file: the reference that the paper compares with).
"paper %" is what the paper prints for SPACE on its own test set, against such an oracle, with 8
views (128 where distances are asymmetric); it stands beside as many views of ours. "ours - paper"
is "to oracle %" less "paper %" in percentage points, and empty where no such reference is known.
Where only some instances have a reference, their number stands behind it, and gaps are over these.
"host s" is the time from problems to tensors, "model s" encoding and decoding, "referee s" the
judging, "search s" local search. "violations" counts rules broken by the plans that were reported,
and instances without a plan.
"""
LAYOUT = Layout(
    name="seen",
    title="Problems trained on",
    columns=(
        ("problem", 10),
        ("set", 11),
        ("instances", 9),
        ("views", 5),
        ("cost", 10),
        ("reference", 25),
        ("gap %", 7),
        ("gap of means %", 14),
        ("to oracle %", 13),
        ("paper %", 7),
        ("ours - paper", 12),
        ("host s", 7),
        ("model s", 7),
        ("referee s", 9),
        ("search s", 8),
        ("violations", 10),
    ),
    notes=_NOTES,
    left=2,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench seen``."""
    parser.epilog = (
        "Exit code 0: every instance has a plan that the referee passes; 1: some have none; "
        "2: bad usage or a file that cannot be read."
    )
    parser.add_argument(
        "--count",
        metavar="N",
        type=at_least(0),
        default=1000,
        help="generated instances of each problem (0: none), and at most so many of a file; "
        "default: 1000",
    )
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), default=1, help="default: 1")
    parser.add_argument(
        "--size", metavar="N", type=at_least(4), default=100, help="customers; default: 100"
    )
    parser.add_argument(
        "--augment-symmetric", metavar="VIEWS", type=at_least(1), default=8, help="default: 8"
    )
    parser.add_argument(
        "--augment-asymmetric", metavar="VIEWS", type=at_least(1), default=128, help="default: 128"
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        type=Path,
        action="append",
        help="also every .npz batch here, with the references (ref_...) it holds; may be given "
        f"several times; default: {_DATA_FOLDER} in the folder SPACEVRP_DATA, where there is one",
    )
    add_weights_options(parser)
    add_sample_option(parser)
    parser.add_argument(
        "--problems",
        metavar="NAMES",
        type=variant_names,
        help="only these, such as CVRP,TSP; default: the twelve, and whatever FOLDER holds",
    )
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", type=Path, help="write seen.md, seen.csv and seen.json"
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """Solve every set with one view and with all, and report."""
    from spacevrp.solver import Solver

    check_protocol(args)
    sources = _list_sources(args)
    model, weights = load_model(args.weights)
    solver = Solver(model, args.device, args.lean, threads=None)
    record = new_record("seen", solver, weights, args.protocol, seed=args.seed)
    record["sample"] = args.sample
    report = Report(LAYOUT, record, args, summary)
    store = report.store()
    jobs, wanted = [], []
    for source in sources:
        most = args.augment_asymmetric if source.asymmetric else args.augment_symmetric
        for views in sorted({1, most}):
            how = {"views": views, "sample": args.sample}
            key = settings_key(record, weights, set=dict(source.key), **how)
            label = f"{source.variant.name}, {source.place}"
            solving = _Solving(solver, source, **how, protocol=args.protocol, show=not args.quiet)
            jobs.append(Job(label, key, solving))
            wanted.append((source, views))
    done = work_through(jobs, store, quiet=args.quiet)
    for (source, views), (_, outcome) in zip(wanted, done, strict=True):
        report.add(row_of(source.load(), outcome, views))
    code = report.finish()
    store.discard()  # the record holds all of it
    return code


@dataclass(frozen=True)
class _Solving:
    """Solves a set when its turn comes."""

    solver: Solver
    source: Source
    views: int
    sample: int | None
    protocol: str
    show: bool

    def __call__(self) -> Outcome:
        problems = self.source.load().problems
        warm_up(self.solver, problems, self.protocol)
        return solve_set(
            self.solver,
            problems,
            self.views,
            sample=self.sample,
            protocol=self.protocol,
            show=self.show,
        )


# ------------------------------------------------------------------------------------------- sets


def _list_sources(args: argparse.Namespace) -> list[Source]:
    """Every set asked for; what cannot be right is found before the work begins."""
    wanted = args.problems
    sources = []
    for name in wanted or SEEN_NAMES:
        if args.count > 0:
            sources.append(generated(parse_variant(name), args.size, args.count, args.seed))
    for folder in _data_folders(args.data):
        paths = sorted(folder.glob("*.npz"))
        if not paths:
            raise FormatError(f"{folder}: expected .npz batches, found none")
        for path in paths:
            variant = variant_of(path)
            if wanted is None or variant.name in wanted:
                sources.append(from_file(variant, path, args.count))
    if not sources:
        raise SpacevrpError("nothing to measure: --count is 0, and no file has these problems")
    return sources


def _data_folders(asked: list[Path] | None) -> list[Path]:
    if asked is not None:
        for folder in asked:
            if not folder.is_dir():
                raise FormatError(f"{folder}: expected a folder of .npz batches, found none")
        return asked
    usual = data_folder(_DATA_FOLDER)
    return [] if usual is None else [usual]


# ------------------------------------------------------------------------------------ measurement


@dataclass(frozen=True)
class Row:
    """What one set with one number of views came to."""

    problem: str
    set: str
    instances: int
    views: int
    cost: float | None  # mean of the referee's
    reference: str | None
    reference_cost: float | None  # mean over the instances compared
    compared: int  # instances with a plan and a reference
    gap: float | None  # percent; mean of the instances' gaps
    gap_of_means: float | None  # percent
    oracle_gap: float | None  # percent; to the paper's kind of oracle
    oracle_instances: int  # instances with a plan and a cost of that oracle
    paper_gap: float | None  # percent; the paper's, beside its number of views
    difference: float | None  # oracle_gap - paper_gap, percentage points
    seconds_host: float
    seconds_model: float
    seconds_referee: float
    seconds_search: float
    violations: int
    refused: int  # plans that the search proposed and the referee refused
    # Where visits reveal prizes: had they been known when plans were chosen.
    hindsight_cost: float | None = None

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        reference = ""
        if self.reference is not None:
            name = self.reference.removeprefix(REFERENCE_PREFIX)
            reference = f"{name} {number(self.reference_cost, 4)}".rstrip()
            if self.compared < self.instances:
                reference += f" ({self.compared})"
        return [
            self.problem,
            self.set,
            str(self.instances),
            str(self.views),
            number(self.cost, 5),
            reference,
            number(self.gap, 3),
            number(self.gap_of_means, 3),
            self._to_oracle(),
            number(self.paper_gap, 2),
            number(self.difference, 3, sign=True),
            number(self.seconds_host, 2),
            number(self.seconds_model, 2),
            number(self.seconds_referee, 2),
            number(self.seconds_search, 2),
            str(self.violations),
        ]

    def _to_oracle(self) -> str:
        some = 0 < self.oracle_instances < self.instances
        return number(self.oracle_gap, 3) + (f" ({self.oracle_instances})" if some else "")


def measure(solver: Solver, test_set: TestSet, views: int, *, show: bool = False) -> Row:
    """Solve a set with so many views and compare it with its references and with the paper."""
    return row_of(test_set, solve_set(solver, test_set.problems, views, show=show), views)


def row_of(test_set: TestSet, outcome: Outcome, views: int) -> Row:
    """The row of a set that was solved; only what was solved and has a reference is compared."""
    cost = np.array([np.nan if one is None else one for one in outcome.costs])

    def compared(known: NDArray[np.float64] | None) -> tuple[NDArray, NDArray]:
        known = np.full(len(cost), np.nan) if known is None else known
        both = np.isfinite(cost) & np.isfinite(known)
        return cost[both], known[both]

    ours, reference = compared(test_set.reference)
    gap, gap_of_means = gaps(ours, reference)
    ours, oracle = compared(test_set.oracle)
    oracle_gap, _ = gaps(ours, oracle)
    after = [one for one in outcome.hindsight if one is not None]
    variant, size = test_set.variant, len(test_set.problems[0].customers)
    # The paper prints no figures for other numbers of views.
    alike = views == paper.views(asymmetric=variant.features.asymmetric)
    theirs = paper.space_gap(variant.name, size) if alike else None
    return Row(
        problem=variant.name,
        set=test_set.place,
        instances=len(test_set.problems),
        views=views,
        cost=outcome.mean,
        reference=test_set.reference_name,
        reference_cost=float(reference.mean()) if len(reference) else None,
        compared=len(reference),
        gap=gap,
        gap_of_means=gap_of_means,
        oracle_gap=oracle_gap,
        oracle_instances=len(oracle),
        paper_gap=theirs,
        difference=None if oracle_gap is None or theirs is None else oracle_gap - theirs,
        seconds_host=outcome.seconds_host,
        seconds_model=outcome.seconds_model,
        seconds_referee=outcome.seconds_referee,
        seconds_search=outcome.seconds_search,
        violations=outcome.violations,
        refused=outcome.refused,
        hindsight_cost=float(np.mean(after)) if after else None,
    )


def summary(rows: Sequence[Row]) -> str:
    """One line: how the sets compare with the paper, what it took."""
    compared = [row.difference for row in rows if row.difference is not None]
    parts = []
    if compared:
        mean = math.fsum(compared) / len(compared)
        better = sum(difference <= 0 for difference in compared)
        parts.append(
            f"at least as good as the paper on {better} of {len(compared)} sets, mean difference "
            f"{mean:+.3f} points"
        )
    elif any(row.paper_gap is not None for row in rows):
        parts.append("no difference to the paper's figures: no costs of its kind of oracle known")
    parts.append(time_text(rows))
    parts.append(f"{sum(row.violations for row in rows)} violations")
    return "; ".join(parts)

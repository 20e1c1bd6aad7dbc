"""``spacevrp bench cvrplib``: sets X (from 500 customers on) and XXL, against the best known."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spacevrp.arguments import at_least
from spacevrp.bench import paper
from spacevrp.bench.options import (
    EXIT_CODES,
    add_options,
    add_report_options,
    add_weights_options,
    check_protocol,
)
from spacevrp.bench.runner import Case, load_models, run_cases
from spacevrp.bench.sets import data_folder, judged_cost
from spacevrp.bench.solving import Outcome, gaps, warm_up
from spacevrp.bench.tables import (
    NOTES_ON_TIMES,
    Layout,
    Report,
    SolvedRow,
    average,
    column,
    conclusion,
    difference,
    mean,
    most,
    new_record,
    same,
)
from spacevrp.problems.errors import FormatError, SpacevrpError

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.solver import Solver

_DATA_FOLDER = "cvrplib"  # below the folder that SPACEVRP_DATA names
INSTANCE, AVERAGE = "instance", "average"
# Customers: more than, at most; the last is beyond what the paper has.
_CLASSES = ((0, 500), (500, 1000), (1000, 5000), (5000, 7000), (7000, 10**9))
_NOTES = (
    """\
Costs are the referee's, with distances rounded as the instances demand. "best known" is the cost
of the plan in the .sol file, by the referee, too; it is the reference of both the paper and ours,
so that there is one gap only: (cost - best known) / best known. "paper %" is what the paper prints
for SPACE, "ours - paper" is in percentage points. Averages are over the instances that have a plan,
by the number of customers as in the paper; the paper's are over the same instances. Where an
instance has no plan, "note" says why. "starts" are those of an augmentation. "peak GiB" is the most
memory held: by the tensors on a GPU, weights and all, or by the process.
"""
    + NOTES_ON_TIMES
)


@dataclass(frozen=True, kw_only=True)
class Row(SolvedRow):
    """What an instance came to, or the average over several."""

    ORDER: ClassVar[tuple[str, ...]] = (
        *(
            "instance",
            "customers",
            "augmentations",
            "starts",
            "cost",
            "best_known",
            "gap",
            "paper_gap",
        ),
        *("difference", *SolvedRow.TIMES, "peak_gib", "violations", "note"),
    )

    instance: str = column("instance", 22)
    kind: str = INSTANCE  # or AVERAGE
    customers: int | None = column("customers", 9)
    augmentations: int = column("augmentations", 5, over=same)
    starts: int | None = column("starts", 6, over=same)  # of an augmentation; None for all
    cost: float | None = column("cost", 10, ".0f")
    best_known: float | None = column("best known", 10, ".0f")
    gap: float | None = column("gap %", 8, ".3f", over=mean)
    paper_gap: float | None = column("paper %", 8, ".3f", over=mean)
    difference: float | None = column("ours - paper", 12, "+.3f", over=mean)  # percentage points
    peak_gib: float | None = column("peak GiB", 8, ".2f", over=most, default=None)

    def text(self, name: str, form: Any) -> str:
        """Of an instance, no number of start nodes is all of them."""
        every = name == "starts" and self.starts is None and self.kind == INSTANCE
        return "all" if every else super().text(name, form)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench cvrplib``."""
    parser.epilog = EXIT_CODES
    data = "instances NAME.vrp, each with its best known plan NAME.sol; default: "
    count = {"metavar": "N", "type": at_least(1)}
    add_options(
        parser,
        data={"help": f"{data}{_DATA_FOLDER} in the folder SPACEVRP_DATA"},
        min_size={**count, "default": 500, "help": "no instance with fewer customers"},
        max_size={**count, "help": "no instance with more customers"},
        augment=8,
        starts=None,
    )
    add_weights_options(parser, protocol="default")
    add_report_options(parser, "cvrplib")


def run(args: argparse.Namespace) -> int:
    """Solve instance by instance, the smallest first, and report."""
    check_protocol(args)
    instances = list_instances(args.data, args.min_size, args.max_size)
    (model,) = load_models(args)
    record = new_record("cvrplib", model.solver, model.told, args.protocol, args.policy_heads)
    layout = Layout("cvrplib", "CVRPLIB", Row.columns(), _NOTES)
    report = Report(layout, record, args, summary, averages, slips_text)
    cases = [
        InstanceCase(
            label=one.name,
            key={"file_sha256": one.digest},
            load=one.load,
            row=partial(one.row, args=args, solver=model.solver),
            model=model,
            augmentations=args.augment,
            protocol=args.protocol,
            options={"starts": args.starts},
        )
        for one in instances
    ]
    return run_cases(report, cases)


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

    def load(self) -> list[Problem]:
        """The instance, as a set."""
        return [read_instance(self.path)]

    def row(self, outcome: Outcome, args: argparse.Namespace, solver: Solver) -> Row:
        """The instance beside its best known cost and the paper's figure."""
        (cost,) = outcome.costs
        known = np.array([self.best_known])
        gap = None if cost is None else gaps(np.array([cost]), known)[0]
        theirs = papers_gap(self.name)
        return Row(
            **SolvedRow.told(outcome),
            instance=self.name,
            customers=self.customers,
            augmentations=args.augment,
            starts=starts_used(read_instance(self.path), args.starts, solver, args.protocol),
            cost=cost,
            best_known=self.best_known,
            gap=gap,
            paper_gap=theirs,
            difference=difference(gap, theirs),
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
    if not path.is_file():
        raise FormatError(f"{path}: no such file; expected the best known plan of {path.stem}")
    cost, stated = judged_cost(path, problem)
    if stated is not None and abs(cost - stated) > 1e-6 * abs(stated):
        raise FormatError(
            f"{path}: expected a plan of the stated cost {stated:.10g}, received one of {cost:.10g}"
        )
    return cost


# ------------------------------------------------------------------------------------------- work


@dataclass(frozen=True)
class InstanceCase(Case):
    """An instance, which memory may not suffice for."""

    def solve(self, *, show: bool) -> Outcome:
        """Solve it; where it cannot be, as for want of memory, an outcome that says so."""
        import torch

        from spacevrp.bench.process import Peak
        from spacevrp.generators import generate

        # Kernels are compiled on small instances: a large one takes long, and its memory counts.
        warm_up(self.model.solver, generate("CVRP", 100, 2), self.protocol)
        try:
            problems = self.load()
            peak = Peak(torch.device(str(self.model.solver.device)))
            peak.restart()
            return replace(self.solve_once(problems, show=show), peak_gib=peak.height())
        except (SpacevrpError, MemoryError) as error:
            note = str(error) or "not enough memory"
            return Outcome((None,), 0.0, 0.0, 0.0, violations=1, note=note)


def starts_used(
    problem: Problem, wanted: int | None, solver: Solver, protocol: str = "default"
) -> int | None:
    """Start nodes of each augmentation, at most; None for all."""
    from spacevrp.engines.pruning import choose_search
    from spacevrp.solver import protocol_named

    if not protocol_named(protocol).pruned:
        return None
    search = choose_search(problem, wanted, None, solver.device)
    return wanted if search is None else search.starts


def papers_gap(name: str) -> float | None:
    """What the paper prints for SPACE on an instance; None where it has none."""
    held = paper.table("cvrplib")
    printed = held["X"]["method"]["SPACE"].get(name, {}).get("gap")
    return held["XXL"]["gap"]["SPACE"].get(name) if printed is None else printed


# ------------------------------------------------------------------------------------------- texts


def averages(rows: Sequence[Row]) -> list[Row]:
    """By the number of customers, and over all that the paper has."""
    groups = []
    for above, highest in _CLASSES:
        last = highest == _CLASSES[-1][1]
        name = f"more than {above:,}" if last else f"{above:,} to {highest:,}"
        some = [row for row in rows if above < (row.customers or 0) <= highest]
        groups.append((f"average {name}", some))
    groups.append(("average, the paper's", [row for row in rows if row.paper_gap is not None]))
    return [_average(label, some) for label, some in groups if some]


def _average(label: str, rows: Sequence[Row]) -> Row:
    solved = [row for row in rows if row.gap is not None]
    note = f"{len(solved)} of {len(rows)} solved"
    theirs = mean([row.paper_gap for row in solved])
    return average(rows, instance=label, kind=AVERAGE, note=note, paper_gap=theirs)


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
    solved = sum(row.gap is not None for row in rows)
    return conclusion(rows, f"{solved} of {len(rows)} instances solved")

"""Tables of generated sets with two gaps each: to the paper's kind of oracle, and to the best.

OR-Tools alone is weak on asymmetric data, so that the gap to it flatters; the paper's figures are
against such oracles, and ours stand beside them for comparison. The second gap is the honest one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spacevrp.arguments import at_least
from spacevrp.bench import paper, references
from spacevrp.bench.sets import Source, generated
from spacevrp.bench.solving import Outcome, compare, solve_set, warm_up
from spacevrp.bench.tables import (
    Job,
    Layout,
    Report,
    add_report_options,
    add_view_options,
    add_weights_options,
    check_protocol,
    new_record,
    number,
    settings_key,
    time_text,
    views_for,
    work_through,
)
from spacevrp.bench.weights import load_model
from spacevrp.problems.variants import parse_variant

if TYPE_CHECKING:
    from spacevrp.solver import Solver

VARIANT, AVERAGE = "variant", "average"
NOTES = """\
Every cost is the referee's, in float64; for OP it is minus the prize. "to oracle %" is the mean
over the instances of (cost - reference) / |reference|, the reference being what the paper's kind of
oracle found in the paper's time; "to best %" is the same for the best cost known. Below zero is
better than the reference. Beside each stand the solvers that found the references, and over how
many instances the gap is taken. "paper %" is what the paper prints for SPACE with x8 views (x128
where distances are asymmetric) on its own instances, against its own oracle; "ours - paper" is in
percentage points, from "to oracle %". Averages are over variants, each with the same weight, and
"average" is the mean of the symmetric and the asymmetric one, as in the paper; the paper's are over
the variants that are compared. "host s" is the time from problems to tensors, "model s" encoding
and decoding, "referee s" the judging, "search s" local search. "violations" counts rules broken by
the plans that are reported, and instances without a plan.
"""
COLUMNS = (
    ("problem", 18),
    ("instances", 9),
    ("views", 5),
    ("cost", 10),
    ("oracle", 18),
    ("to oracle %", 11),
    ("best", 18),
    ("to best %", 9),
    ("paper %", 7),
    ("ours - paper", 12),
    ("host s", 7),
    ("model s", 7),
    ("referee s", 9),
    ("search s", 8),
    ("violations", 10),
)


@dataclass(frozen=True)
class GapRow:
    """What a set came to, or the average over several."""

    problem: str
    kind: str  # VARIANT or AVERAGE
    size: int
    instances: int
    views: int | None
    starts: int | None  # start nodes a view; None for all
    cost: float | None  # mean of the referee's
    oracle: str  # of the paper's kind; of an average: over how many variants
    oracle_instances: int
    oracle_cost: float | None
    oracle_gap: float | None  # percent; mean of the instances' gaps
    best: str
    best_instances: int
    best_cost: float | None
    best_gap: float | None  # percent
    paper_gap: float | None  # percent; the paper's
    difference: float | None  # oracle_gap - paper_gap, percentage points
    seconds_host: float
    seconds_model: float
    seconds_referee: float
    seconds_search: float
    violations: int
    refused: int  # plans that the search proposed and the referee refused
    note: str = ""  # why an instance has no plan
    # Where visits reveal prizes, as if these had been known when plans were chosen.
    hindsight_cost: float | None = None
    hindsight_oracle_gap: float | None = None  # percent
    hindsight_best_gap: float | None = None  # percent

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        return [
            self.problem,
            str(self.instances),
            number(self.views, 0),
            number(self.cost, 5),
            self._who(self.oracle, self.oracle_instances),
            number(self.oracle_gap, 3),
            self._who(self.best, self.best_instances),
            number(self.best_gap, 3),
            number(self.paper_gap, 2),
            number(self.difference, 3, sign=True),
            number(self.seconds_host, 2),
            number(self.seconds_model, 2),
            number(self.seconds_referee, 2),
            number(self.seconds_search, 2),
            str(self.violations),
        ]

    def _who(self, solvers: str, instances: int) -> str:
        return f"{solvers} x{instances}" if instances and self.kind == VARIANT else solvers


# ------------------------------------------------------------------------------------------- work


@dataclass(frozen=True)
class GeneratedSet:
    """Generated instances of a variant, and how they are to be solved."""

    source: Source
    size: int
    count: int
    seed: int
    views: int
    starts: int | None = None
    replan: int | None = None
    protocol: str = "network"

    @property
    def variant(self) -> str:
        """Its name."""
        return self.source.variant.name

    def job(
        self, solver: Solver, record: dict[str, Any], weights: dict[str, Any], *, show: bool
    ) -> Job:
        """Solving it."""
        key = settings_key(
            record,
            weights,
            set=dict(self.source.key),
            views=self.views,
            starts=self.starts,
            replan=self.replan,
        )
        return Job(self.variant, key, partial(self._solve, solver, show))

    def _solve(self, solver: Solver, show: bool) -> Outcome:
        problems = self.source.load().problems
        warm_up(solver, problems, self.protocol)
        return solve_set(
            solver,
            problems,
            self.views,
            starts=self.starts,
            replan=self.replan,
            protocol=self.protocol,
            show=show,
        )

    def row(self, outcome: Outcome, paper_gap: float | None) -> GapRow:
        """The set beside its references and the paper's figure."""
        which = {"size": self.size, "seed": self.seed}
        theirs = references.paper_kind(self.variant, self.count, **which)
        known = references.best(self.variant, self.count, **which)
        oracle, best = compare(outcome.costs, theirs), compare(outcome.costs, known)
        after = [cost for cost in outcome.hindsight if cost is not None]
        return GapRow(
            problem=self.variant,
            kind=VARIANT,
            size=self.size,
            instances=self.count,
            views=self.views,
            starts=self.starts,
            cost=outcome.mean,
            oracle=oracle.solvers,
            oracle_instances=oracle.instances,
            oracle_cost=oracle.cost,
            oracle_gap=oracle.gap,
            best=best.solvers,
            best_instances=best.instances,
            best_cost=best.cost,
            best_gap=best.gap,
            paper_gap=paper_gap,
            difference=difference(oracle.gap, paper_gap),
            seconds_host=outcome.seconds_host,
            seconds_model=outcome.seconds_model,
            seconds_referee=outcome.seconds_referee,
            seconds_search=outcome.seconds_search,
            violations=outcome.violations,
            refused=outcome.refused,
            note=outcome.note,
            hindsight_cost=float(np.mean(after)) if after else None,
            hindsight_oracle_gap=compare(outcome.hindsight, theirs).gap if after else None,
            hindsight_best_gap=compare(outcome.hindsight, known).gap if after else None,
        )


def list_sources(names: Sequence[str], args: argparse.Namespace) -> list[Source]:
    """Sets of these variants; a size that one of them cannot have is found before the work."""
    return [generated(parse_variant(name), args.size, args.count, args.seed) for name in names]


def generated_sets(
    sources: Sequence[Source], args: argparse.Namespace, device: str
) -> list[GeneratedSet]:
    """The sets with the views that they get on such a device."""
    return [
        GeneratedSet(
            source,
            args.size,
            args.count,
            args.seed,
            views_for(args, device, asymmetric=source.asymmetric),
            getattr(args, "starts", None),
            getattr(args, "replan", None),
            args.protocol,
        )
        for source in sources
    ]


# --------------------------------------------------------------------------------------- averages


def is_asymmetric(row: GapRow) -> bool:
    """Whether a row is of a variant with asymmetric distances."""
    return parse_variant(row.problem).features.asymmetric


def symmetric_and_asymmetric(rows: Sequence[GapRow]) -> list[GapRow]:
    """Averages over the symmetric and over the asymmetric variants, and the mean of these two."""
    halves = [
        average(f"{label} average", [row for row in rows if is_asymmetric(row) == asymmetric])
        for label, asymmetric in (("symmetric", False), ("asymmetric", True))
        if any(is_asymmetric(row) == asymmetric for row in rows)
    ]
    return [*halves, average("average", halves, complete=True)] if len(halves) == 2 else halves


def average(label: str, rows: Sequence[GapRow], *, complete: bool = False) -> GapRow:
    """Means over the rows that have a figure; ``complete``: only where all of them have it.

    The paper's is over those that are compared with it, or over all where none is.
    """
    compared = [row for row in rows if row.difference is not None]
    first = rows[0]
    same_views = len({row.views for row in rows}) == 1
    values = {
        "oracle_gap": _mean(rows, "oracle_gap", complete),
        "best_gap": _mean(rows, "best_gap", complete),
        "paper_gap": _mean(rows if complete else compared or rows, "paper_gap", complete),
        "difference": _mean(rows, "difference", complete),
    }
    totals = {
        name: sum(getattr(row, name) for row in rows)
        for name in (
            "instances",
            "oracle_instances",
            "best_instances",
            "seconds_host",
            "seconds_model",
            "seconds_referee",
            "seconds_search",
            "violations",
            "refused",
        )
    }
    return type(first)(
        **{
            **{field.name: getattr(first, field.name) for field in fields(first)},
            "problem": label,
            "kind": AVERAGE,
            "views": first.views if same_views else None,
            "cost": None,
            "oracle": _over(rows, "oracle_gap"),
            "oracle_cost": None,
            "best": _over(rows, "best_gap"),
            "best_cost": None,
            "note": "",
            "hindsight_cost": None,
            "hindsight_oracle_gap": None,
            "hindsight_best_gap": None,
            **values,
            **totals,
        }
    )


def _mean(rows: Sequence[GapRow], name: str, complete: bool) -> float | None:
    values = [value for row in rows if (value := getattr(row, name)) is not None]
    if not values or (complete and len(values) < len(rows)):
        return None
    return float(np.mean(values))


def _over(rows: Sequence[GapRow], name: str) -> str:
    if rows[0].kind == AVERAGE:  # they say themselves what they are over
        return ""
    known = sum(getattr(row, name) is not None for row in rows)
    return f"{known} of {len(rows)} variants"


def difference(ours: float | None, theirs: float | None) -> float | None:
    """Percentage points, where there are both."""
    return None if ours is None or theirs is None else ours - theirs


# ------------------------------------------------------------------------------------------ texts


def pairs_text(rows: Sequence[GapRow]) -> str:
    """The rows in the shape of the paper's tables: a variant beside its asymmetric form."""
    from spacevrp.bench.records import markdown_table

    by_name = {row.problem: row for row in rows}
    cells = []
    for name, row in by_name.items():
        other = by_name.get(f"A{name}")
        if other is not None:
            three = (row, other, average(name, [row, other], complete=True))
            kinds = ("oracle_gap", "best_gap", "paper_gap")
            cells.append([name, *(number(getattr(r, kind), 2) for kind in kinds for r in three)])
    if not any(any(row[1:]) for row in cells):
        return ""
    columns = ["problem"] + [
        f"{kind}: {side}"
        for kind in ("to oracle %", "to best %", "paper %")
        for side in ("symmetric", "asymmetric", "average")
    ]
    return f"\nSymmetric beside asymmetric:\n\n{markdown_table(columns, cells)}"


def views_text(rows: Sequence[GapRow]) -> str:
    """Where our views are not the paper's."""
    lines = []
    for label, asymmetric in (("Symmetric", False), ("Asymmetric", True)):
        theirs = paper.views(asymmetric=asymmetric)
        ours = {row.views for row in rows if is_asymmetric(row) == asymmetric}
        if ours - {theirs}:
            views = ", ".join(str(number_of) for number_of in sorted(ours, key=lambda v: v or 0))
            noun = "view" if views == "1" else "views"
            lines.append(
                f"{label} instances were solved with {views} {noun}; the paper's {theirs}."
            )
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def hindsight_text(rows: Sequence[GapRow]) -> str:
    """What plans would have cost, had the prizes that visits reveal been known beforehand."""
    lines = [
        f"- {row.problem}: {number(row.hindsight_cost, 5)} in place of {number(row.cost, 5)}; "
        f"{number(row.hindsight_oracle_gap, 3) or '-'}% to the oracle, "
        f"{number(row.hindsight_best_gap, 3) or '-'}% to the best\n"
        for row in rows
        if row.hindsight_cost is not None
    ]
    head = "\nPlans are chosen by expected prizes. In hindsight, by the real ones:\n\n"
    return head + "".join(lines) if lines else ""


def notes_text(rows: Sequence[GapRow], count: int, size: int, seed: int) -> str:
    """What a reader of the references must know, and which variants it concerns."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for reference in (
            *references.paper_kind(row.problem, count, size=size, seed=seed),
            *references.best(row.problem, count, size=size, seed=seed),
        ):
            if reference is not None and reference.note:
                names = found.setdefault(f"{reference.solver}: {reference.note}", [])
                if row.problem not in names:
                    names.append(row.problem)
    lines = [f"- {note} ({', '.join(names)})\n" for note, names in found.items()]
    return "\nOn the references:\n\n" + "".join(lines) if lines else ""


def summary(rows: Sequence[GapRow]) -> str:
    """One line: how the variants compare with the paper, what it took."""
    compared = [row.difference for row in rows if row.difference is not None]
    parts = [f"{len(rows)} variants"]
    if compared:
        better = sum(points <= 0 for points in compared)
        parts.append(
            f"at least as good as the paper on {better} of {len(compared)}, mean difference "
            f"{np.mean(compared):+.3f} points"
        )
    else:
        parts.append("nothing to compare with the paper")
    parts.append(time_text(rows))
    parts.append(f"{sum(row.violations for row in rows)} violations")
    return "; ".join(parts)


# ---------------------------------------------------------------------------------------- command


def add_arguments(
    parser: argparse.ArgumentParser,
    name: str,
    *,
    count: int,
    size: int,
    several_weights: bool = False,
    protocol: str = "network",
) -> None:
    """Arguments of a table of generated sets."""
    parser.epilog = (
        "Exit code 0: every instance has a plan that the referee passes; 1: some have none; "
        "2: bad usage or a file that cannot be read."
    )
    parser.add_argument(
        "--count",
        metavar="N",
        type=at_least(1),
        default=count,
        help=f"instances of each variant; default: {count}",
    )
    parser.add_argument(
        "--size", metavar="N", type=at_least(4), default=size, help=f"customers; default: {size}"
    )
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), default=1, help="default: 1")
    add_view_options(parser)
    add_weights_options(parser, several=several_weights, protocol=protocol)
    add_report_options(parser, name)


def run(layout: Layout, names: Sequence[str], args: argparse.Namespace) -> int:
    """Solve generated sets of these variants with one model, and report."""
    from spacevrp.solver import Solver

    check_protocol(args)
    sources = list_sources(names, args)
    model, weights = load_model(args.weights)
    solver = Solver(model, args.device, args.lean, threads=None)
    sets = generated_sets(sources, args, solver.device.type)
    record = new_record(layout.name, solver, weights, args.protocol, seed=args.seed)
    report = Report(
        layout,
        record,
        args,
        summary,
        averages=symmetric_and_asymmetric,
        below=lambda rows: (
            views_text(rows)
            + pairs_text(rows)
            + hindsight_text(rows)
            + notes_text(rows, args.count, args.size, args.seed)
        ),
    )
    jobs = [one.job(solver, record, weights, show=not args.quiet) for one in sets]
    done = work_through(jobs, report.store(), quiet=args.quiet)
    for one, (_, outcome) in zip(sets, done, strict=True):
        report.add(one.row(outcome, paper.space_gap(one.variant, args.size)))
    return report.finish()

"""Tables of sets with two gaps each: to the paper-protocol oracle, and to the best known cost.

OR-Tools alone is weak on asymmetric data, so that the gap to it flatters; the paper's figures are
against such oracles, and ours stand beside them for comparison. The second gap is the honest one.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from spacevrp.bench import paper, references
from spacevrp.bench.options import (
    EXIT_CODES,
    add_options,
    add_report_options,
    add_weights_options,
    augmentations_for,
    check_protocol,
)
from spacevrp.bench.runner import Case, Model, load_models, run_cases
from spacevrp.bench.sets import GENERATED, Source, generated
from spacevrp.bench.solving import Outcome, compare
from spacevrp.bench.tables import (
    NOTES_ON_TIMES,
    Layout,
    Report,
    SolvedRow,
    average,
    column,
    complete_mean,
    conclusion,
    difference,
    mean,
    new_record,
    number,
    same,
)
from spacevrp.problems.variants import VARIANTS, parse_variant

VARIANT, AVERAGE = "variant", "average"
GAPS = ("oracle_gap", "best_gap", "paper_gap", "difference")
NOTES = (
    """\
Every cost is the referee's, in float64; for OP it is minus the prize. "to oracle %" is the mean
over the instances of (cost - reference) / |reference|, the reference being what the paper's kind of
oracle found in the paper's time; "to best %" is the same for the best cost known. Below zero is
better than the reference. Beside each stand the solvers that found the references, and over how
many instances the gap is taken. "paper %" is what the paper prints for SPACE with x8 augmentations
(x128 where distances are asymmetric) on its own instances, against its own oracle; "ours - paper"
is in percentage points, from "to oracle %". Averages are over variants, each with the same weight,
and "average" is the mean of the symmetric and the asymmetric one, as in the paper; the paper's are
over the variants that are compared.
"""
    + NOTES_ON_TIMES
)


@dataclass(frozen=True, kw_only=True)
class GapRow(SolvedRow):
    """What a set came to, or the average over several."""

    ORDER: ClassVar[tuple[str, ...]] = (
        *(
            "problem",
            "instances",
            "augmentations",
            "cost",
            "oracle",
            "oracle_gap",
            "best",
            "best_gap",
        ),
        *("paper_gap", "difference", *SolvedRow.TIMES, "violations"),
    )

    problem: str = column("problem", 18)
    kind: str = VARIANT  # or AVERAGE
    set: str = column("set", 11, default=GENERATED, over=same)  # where the instances come from
    size: int = column(over=same)
    instances: int = column("instances", 9, over=sum)
    augmentations: int | None = column("augmentations", 5, over=same)
    starts: int | None = column(over=same)  # start nodes of an augmentation; None for all
    cost: float | None = column("cost", 10, ".5f")  # mean of the referee's
    oracle: str = column("oracle", 18)  # of the paper's kind; an average: over how many variants
    oracle_instances: int = column(over=sum)
    oracle_cost: float | None = None
    oracle_gap: float | None = column("to oracle %", 11, ".3f", over=mean)  # mean over instances
    best: str = column("best", 18)
    best_instances: int = column(over=sum)
    best_cost: float | None = None
    best_gap: float | None = column("to best %", 9, ".3f", over=mean)
    gap_of_means: float | None = column("gap of means %", 14, ".3f", default=None)  # to the best
    paper_gap: float | None = column("paper %", 7, ".2f", over=mean)  # the paper's own
    difference: float | None = column("ours - paper", 12, "+.3f", over=mean)  # from oracle_gap
    # Where visits reveal prizes, as if these had been known when plans were chosen.
    hindsight_cost: float | None = None
    hindsight_oracle_gap: float | None = None
    hindsight_best_gap: float | None = None

    def text(self, name: str, form: Any) -> str:
        """With each solver of references, over how many instances the gap is taken."""
        held = super().text(name, form)
        over = getattr(self, f"{name}_instances", 0)
        return f"{held} x{over}" if over and self.kind == VARIANT else held

    @property
    def asymmetric(self) -> bool:
        """Whether it is of a variant with asymmetric distances."""
        return parse_variant(self.problem).features.asymmetric


def gap_row(
    source: Source,
    model: Model,
    args: argparse.Namespace,
    augmentations: int,
    theirs: Any,
    out: Outcome,
) -> dict[str, Any]:
    """The fields of a row: a set beside its references and the paper's figure."""
    known, of_paper = source.references()
    oracle, best = compare(out.costs, of_paper), compare(out.costs, known)
    after = [cost for cost in out.hindsight if cost is not None]
    return {
        **SolvedRow.told(out),
        "problem": source.variant.name,
        "set": source.place,
        "size": source.size,
        "instances": len(out.costs),
        "augmentations": augmentations,
        "starts": getattr(args, "starts", None),
        "cost": out.mean,
        "oracle": oracle.solvers,
        "oracle_instances": oracle.instances,
        "oracle_cost": oracle.cost,
        "oracle_gap": oracle.gap,
        "best": best.solvers,
        "best_instances": best.instances,
        "best_cost": best.cost,
        "best_gap": best.gap,
        "gap_of_means": best.gap_of_means,
        "paper_gap": theirs,
        "difference": difference(oracle.gap, theirs),
        "hindsight_cost": mean(after),
        "hindsight_oracle_gap": compare(out.hindsight, of_paper).gap if after else None,
        "hindsight_best_gap": compare(out.hindsight, known).gap if after else None,
    }


# --------------------------------------------------------------------------------------- averages


def symmetric_and_asymmetric(rows: Sequence[GapRow]) -> list[GapRow]:
    """Averages over the symmetric and over the asymmetric variants, and the mean of these two."""
    halves = [
        average_over(f"{label} average", some)
        for label, asymmetric in (("symmetric", False), ("asymmetric", True))
        if (some := [row for row in rows if row.asymmetric == asymmetric])
    ]
    return [*halves, mean_of_both("average", halves)] if len(halves) == 2 else halves


def average_over(label: str, rows: Sequence[GapRow]) -> GapRow:
    """Means over the rows that have a figure; the paper's is over those that are compared."""
    compared = [row for row in rows if row.difference is not None] or rows
    return average(
        rows,
        problem=label,
        kind=AVERAGE,
        oracle=f"{sum(row.oracle_gap is not None for row in rows)} of {len(rows)} variants",
        best=f"{sum(row.best_gap is not None for row in rows)} of {len(rows)} variants",
        paper_gap=mean([row.paper_gap for row in compared]),
    )


def mean_of_both(label: str, rows: Sequence[GapRow]) -> GapRow:
    """Of a symmetric and an asymmetric row: a figure only where both have it."""
    whole = dict.fromkeys(GAPS, complete_mean)
    return average(rows, whole, problem=label, kind=AVERAGE, oracle="", best="")


# ------------------------------------------------------------------------------------------ texts


def pairs_text(rows: Sequence[GapRow]) -> str:
    """The rows in the shape of the paper's tables: a variant beside its asymmetric form."""
    from spacevrp.bench.records import markdown_table

    by_name = {row.problem: row for row in rows}
    cells = []
    for name, row in by_name.items():
        other = by_name.get(f"A{name}")
        if other is not None:
            three = (row, other, mean_of_both(name, [row, other]))
            cells.append([name, *(number(getattr(r, kind), 2) for kind in GAPS[:3] for r in three)])
    if not any(any(row[1:]) for row in cells):
        return ""
    columns = ["problem"] + [
        f"{kind}: {side}"
        for kind in ("to oracle %", "to best %", "paper %")
        for side in ("symmetric", "asymmetric", "average")
    ]
    return f"\nSymmetric beside asymmetric:\n\n{markdown_table(columns, cells)}"


def augmentations_text(rows: Sequence[GapRow]) -> str:
    """Where our augmentations are not the paper's."""
    lines = []
    for label, asymmetric in (("Symmetric", False), ("Asymmetric", True)):
        theirs = paper.augmentations(asymmetric=asymmetric)
        ours = {row.augmentations for row in rows if row.asymmetric == asymmetric}
        if ours - {theirs}:
            augmentations = ", ".join(map(str, sorted(ours, key=lambda one: one or 0)))
            noun = "augmentation" if augmentations == "1" else "augmentations"
            lines.append(
                f"{label} instances were solved with {augmentations} {noun}; the paper's {theirs}."
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


def notes_text(rows: Sequence[GapRow], args: argparse.Namespace) -> str:
    """What a reader of the references must know, and which variants it concerns."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        which = (row.problem, args.count, args.size, args.seed)
        for one in (*references.paper_kind(*which), *references.best(*which)):
            if one is not None and one.note:
                found.setdefault(f"{one.solver}: {one.note}", {})[row.problem] = None
    lines = [f"- {note} ({', '.join(names)})\n" for note, names in found.items()]
    return "\nOn the references:\n\n" + "".join(lines) if lines else ""


# ---------------------------------------------------------------------------------------- command


def generated_sets(names: Sequence[str], args: argparse.Namespace) -> list[Source]:
    """Sets of these variants; a size that one of them cannot have is an error."""
    return [generated(parse_variant(name), args.size, args.count, args.seed) for name in names]


@dataclass(frozen=True)
class GapTable:
    """A command: which sets, how they are solved, and what the page says."""

    name: str
    title: str
    problems: tuple[str, ...]
    count: int
    size: int = 100
    protocol: str = "network"
    options: Mapping[str, Any] = field(default_factory=dict)  # further ones
    notes: str = NOTES

    row_type: ClassVar[type[GapRow]] = GapRow
    several_weights: ClassVar[bool] = False
    keep: ClassVar[bool] = True
    left: ClassVar[int] = 1
    noun: ClassVar[str] = "variants"
    # An outcome depends on them.
    solver_options: ClassVar[tuple[str, ...]] = ("starts", "beam_width")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.epilog = EXIT_CODES
        usual: dict[str, Any] = {
            "count": self.count,
            "size": self.size,
            "seed": 1,
            "augment_symmetric": 8,
            "augment_asymmetric": None,
            "beam_width": None,
            "problems": self.problems,
        }
        add_options(parser, **{**usual, **self.options})
        add_weights_options(parser, several=self.several_weights, protocol=self.protocol)
        add_report_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        """Solve set by set, with one model after the other, and report."""
        check_protocol(args)
        sources = self.sources(args)
        models = load_models(args)
        told: Any = [
            {**model.told, "label": model.label, "config": model.config.to_dict()}
            for model in models
        ]
        told = told if self.several_weights else models[0].told
        record = new_record(
            self.name, models[0].solver, told, args.protocol, args.policy_heads, seed=args.seed
        )
        record |= {"sample": args.sample} if hasattr(args, "sample") else {}
        layout = Layout(self.name, self.title, self.row_type.columns(), self.notes, self.left)
        below = partial(self.below, args=args)
        report = Report(layout, record, args, self.summary, self.averages, below)
        cases = [
            self.case(source, model, augmentations, args)
            for model in models
            for source in sources
            for augmentations in self.augmentations(source, model.solver.device.type, args)
        ]
        return run_cases(report, cases, keep=self.keep)

    def case(
        self, source: Source, model: Model, augmentations: int, args: argparse.Namespace
    ) -> Case:
        """A set to be solved by a model."""
        theirs = self.paper_gap(source, model, augmentations)
        return Case(
            label=f"{source.variant.name}, {source.place}",
            key={"set": dict(source.key)},
            load=lambda: source.load().problems,
            row=lambda out: self.row_type(
                **gap_row(source, model, args, augmentations, theirs, out), **self.more(model)
            ),
            model=model,
            augmentations=augmentations,
            protocol=args.protocol,
            options={name: getattr(args, name, None) for name in self.solver_options},
        )

    def sources(self, args: argparse.Namespace) -> list[Source]:
        """The sets; what cannot be right is found before the work begins."""
        return generated_sets(args.problems, args)

    def augmentations(self, source: Source, device: str, args: argparse.Namespace) -> list[int]:
        """The numbers of augmentations that a set is solved with."""
        return [augmentations_for(args, device, asymmetric=source.asymmetric)]

    def paper_gap(self, source: Source, model: Model, augmentations: int) -> float | None:
        """What the paper prints for such a set."""
        return paper.space_gap(source.variant.name, source.size)

    def more(self, model: Model) -> dict[str, Any]:
        """Fields that only rows of this table have."""
        return {}

    def averages(self, rows: Sequence[Any]) -> Sequence[GapRow]:
        """Further rows."""
        return symmetric_and_asymmetric(rows)

    def below(self, rows: Sequence[Any], args: argparse.Namespace) -> str:
        """What else the page says."""
        return (
            augmentations_text(rows)
            + pairs_text(rows)
            + hindsight_text(rows)
            + notes_text(rows, args)
        )

    def summary(self, rows: Sequence[Any]) -> str:
        """The last line."""
        compared = any(row.difference is not None for row in rows)
        nothing = () if compared else ("nothing to compare with the paper",)
        return conclusion(rows, f"{len(rows)} {self.noun}", *nothing)


def _symmetric_first(names: Sequence[str]) -> tuple[str, ...]:
    """As the averages below them are taken."""
    return tuple(sorted(names, key=lambda name: parse_variant(name).features.asymmetric))


UNSEEN = GapTable(
    "unseen",
    "Variants not trained on",
    _symmetric_first([variant.name for variant in VARIANTS.values() if not variant.seen]),
    count=32,
)
SCALE = GapTable(
    "scale",
    "A thousand customers",
    _symmetric_first(list(paper.gaps("SPACE", 1000))),
    count=16,
    size=1000,
    protocol="default",
    options={"starts": None},
)

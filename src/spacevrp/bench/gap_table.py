"""The paper's tables: sets with two gaps each, to the paper-protocol oracle and to the best known.

``spacevrp bench seen``, ``unseen``, ``scale`` and ``ablation``.

OR-Tools alone is weak on asymmetric data, so that the gap to it flatters; the paper's figures are
against such oracles, and ours stand beside them for comparison. The second gap is the honest one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from spacevrp.arguments import add_heads_option, add_protocol_option, at_least
from spacevrp.bench import paper, references
from spacevrp.bench.options import (
    EXIT_CODES,
    add_options,
    add_report_options,
    augmentations_for,
    check_protocol,
    distinct_names,
)
from spacevrp.bench.records import markdown_table, new_record
from spacevrp.bench.runner import (
    NOTES_ON_TIMES,
    Case,
    Model,
    Outcome,
    SolvedRow,
    conclusion,
    load_models,
    run_cases,
)
from spacevrp.bench.sets import GENERATED, Source, compare, data_folder, from_folder, generated
from spacevrp.bench.tables import (
    Report,
    average,
    column,
    complete_mean,
    difference,
    mean,
    number,
    same,
)
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.variants import SEEN_NAMES, VARIANTS, parse_variant

VARIANT, AVERAGE = "variant", "average"
GAPS = ("oracle_gap", "best_gap", "paper_gap", "difference")
NOTES = (
    """\
Every cost is the referee's, in float64; for OP it is minus the prize. "to oracle %" is the mean
over the instances of (cost - reference) / |reference|, the reference being what the paper's kind of
oracle found in the paper's time; "to best %" is the same for the best cost known. Below zero is
better than the reference. Beside each stand the solvers that found the references, and "over" how
many instances the gap is taken. "gap of means %" is the gap of the mean cost to the mean of the
best. "paper %" is what the paper prints for SPACE with x8 augmentations
(x128 where distances are asymmetric) on its own instances, against its own oracle; "ours - paper"
is in percentage points, from "to oracle %", and with --protocol paper alone: other protocols plan
otherwise. Averages are over variants, each with the same weight, and "average" is the mean of
the symmetric and the asymmetric one, as in the paper; the paper's are over the variants that have
both gaps.
"""
    + NOTES_ON_TIMES
)
ONE_AND_ALL = "Each set is solved with one augmentation and with all.\n"


@dataclass(frozen=True, kw_only=True)
class GapRow(SolvedRow):
    """What a set came to, or the average over several."""

    model: str = column("model", 16, over=same)
    setting: str = column(over=same)  # how the model differs from the paper's
    problem: str = column("problem", 18)
    kind: str = VARIANT  # or AVERAGE
    set: str = column("set", 11, default=GENERATED, over=same)  # where the instances come from
    size: int = column(over=same)
    instances: int = column("instances", 9, over=sum)
    augmentations: int | None = column("augmentations", 5, over=same)  # None: as solve has it
    starts: int | None = column(over=same)  # start nodes of an augmentation; None for all
    cost: float | None = column("cost", 10, ".5f")  # mean of the referee's
    oracle: str = column("oracle", 18)  # of the paper's kind; an average: over how many variants
    oracle_instances: int = column("over", 4, over=sum)
    oracle_cost: float | None = None
    oracle_gap: float | None = column("to oracle %", 11, ".3f", over=mean)  # mean over instances
    best: str = column("best", 18)
    best_instances: int = column("over", 4, over=sum)
    best_cost: float | None = None
    best_gap: float | None = column("to best %", 9, ".3f", over=mean)
    gap_of_means: float | None = column("gap of means %", 14, ".3f", default=None)  # to the best
    paper_gap: float | None = column("paper %", 7, ".2f", over=mean)  # the paper's own
    difference: float | None = column("ours - paper", 12, "+.3f", over=mean)  # from oracle_gap
    # Where visits reveal prizes, as if these had been known when plans were chosen.
    hindsight_cost: float | None = None
    hindsight_oracle_gap: float | None = None
    hindsight_best_gap: float | None = None

    @property
    def asymmetric(self) -> bool:
        """Whether it is of a variant with asymmetric distances."""
        return parse_variant(self.problem).features.asymmetric


def gap_row(
    source: Source,
    model: Model,
    augmentations: int | None,
    theirs: float | None,
    out: Outcome,
    starts: int | None = None,
    *,
    protocol: str,
) -> GapRow:
    """A set beside its references and the paper's figure, which compares by its protocol alone."""
    known, of_paper = source.references()
    oracle, best = compare(out.costs, of_paper), compare(out.costs, known)
    after = [cost for cost in out.hindsight if cost is not None]
    return GapRow(
        **SolvedRow.told(out),
        model=model.label,
        setting=paper.describe_setting(model.config),
        problem=source.variant.name,
        set=source.place,
        size=source.size,
        instances=len(out.costs),
        augmentations=augmentations,
        starts=starts,
        cost=out.mean,
        oracle=oracle.solvers,
        oracle_instances=oracle.instances,
        oracle_cost=oracle.cost,
        oracle_gap=oracle.gap,
        best=best.solvers,
        best_instances=best.instances,
        best_cost=best.cost,
        best_gap=best.gap,
        gap_of_means=best.gap_of_means,
        paper_gap=theirs,
        difference=difference(oracle.gap, theirs if protocol == "paper" else None),
        hindsight_cost=mean(after),
        hindsight_oracle_gap=compare(out.hindsight, of_paper).gap if after else None,
        hindsight_best_gap=compare(out.hindsight, known).gap if after else None,
    )


# --------------------------------------------------------------------------------------- averages


def by_model(rows: Sequence[GapRow]) -> Iterator[list[GapRow]]:
    """Rows of each model, where its problems are all different: others make no average."""
    for label in dict.fromkeys(row.model for row in rows):
        some = [row for row in rows if row.model == label]
        if len({row.problem for row in some}) == len(some):
            yield some


def averages(rows: Sequence[GapRow]) -> list[GapRow]:
    """For each model."""
    return [average for some in by_model(rows) for average in symmetric_and_asymmetric(some)]


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
    compared = [row for row in rows if None not in (row.oracle_gap, row.paper_gap)] or rows
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
    cells = []
    for some in by_model(rows):
        by_name = {row.problem: row for row in some}
        for name, row in by_name.items():
            other = by_name.get(f"A{name}")
            if other is not None:
                three = (row, other, mean_of_both(name, [row, other]))
                values = [number(getattr(r, kind), 2) for kind in GAPS[:3] for r in three]
                cells.append([name, *values])
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
        if None in ours:
            lines.append(f"{label} instances were solved as `solve` has it; the paper's {theirs}.")
        elif ours - {theirs}:
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


@dataclass(frozen=True)
class GapTable:
    """A command: which sets, and how they are solved unless options say otherwise."""

    name: str
    title: str
    problems: tuple[str, ...]
    count: int
    size: int = 100
    protocol: str = "network"
    folder: str | None = None  # of public sets, below the one that SPACEVRP_DATA names
    single: bool = False  # each set with one augmentation, too
    ablation: bool = False  # the paper's figures are those for models of the same setting
    notes: str = ""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.epilog = f"{EXIT_CODES} Several --weights are models next to each other."
        usual = "" if self.folder is None else f"; default: {self.folder} in SPACEVRP_DATA"
        add_options(
            parser,
            count={
                "default": self.count,
                "type": at_least(0),
                "help": "generated instances of each problem, and at most so many of a file",
            },
            size=self.size,
            seed=1,
            augment_symmetric=None,
            augment_asymmetric=None,
            starts=None,
            beam_width=None,
            problems={"help": "only these, such as CVRP,TSP; default: the table's, and all files"},
            data={
                "action": "append",
                "help": "also every .npz batch here, with the references (ref_...) it holds; may "
                f"be given several times{usual}",
            },
            weights={"action": "append"},
            device="auto",
        )
        add_heads_option(parser)
        add_options(parser, sample=None)
        add_protocol_option(parser, self.protocol)
        add_report_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        """Solve set by set, with one model after the other, and report."""
        check_protocol(args)
        sources = self.sources(args)
        models = load_models(args)
        cases = [
            self.case(source, model, augmentations, args)
            for model in models
            for source in sources
            for augmentations in self.augmentations(source, model, args)
        ]
        twice = len(cases) > len(models) * len(sources)
        told: Any = [
            {**model.told, "label": model.label, "config": model.config.to_dict()}
            for model in models
        ]
        record = new_record(
            self.name,
            models[0].solver,
            told if len(told) > 1 else models[0].told,
            args.protocol,
            args.policy_heads,
            seed=args.seed,
            sample=args.num_samples,
        )
        report = Report(
            name=self.name,
            title=self.title,
            row_type=GapRow,
            notes=NOTES + ONE_AND_ALL * twice + self.notes,
            record=record,
            args=args,
            summary=summary,
            averages=averages,
            below=partial(self.below, args=args),
        )
        return run_cases(report, cases)

    def sources(self, args: argparse.Namespace) -> list[Source]:
        """Every set asked for; what cannot be right is found before the work begins."""
        names = (args.problems or self.problems) if args.count > 0 else ()
        sources = [generated(parse_variant(n), args.size, args.count, args.seed) for n in names]
        usual = None if self.folder is None else data_folder(self.folder)
        folders = args.data or ([] if usual is None else [usual])
        for folder, name in zip(folders, distinct_names("--data", "folders", folders), strict=True):
            found = from_folder(folder, args.count, name)
            sources += [s for s in found if not args.problems or s.variant.name in args.problems]
        if not sources:
            raise SpacevrpError("nothing to measure: --count is 0, and no file has these problems")
        return sources

    def augmentations(
        self, source: Source, model: Model, args: argparse.Namespace
    ) -> Sequence[int | None]:
        """The numbers of augmentations that a set is solved with; None: as solve has it."""
        most = augmentations_for(args, model.solver.device.type, asymmetric=source.asymmetric)
        return sorted({1, most}) if self.single and most is not None else [most]

    def case(
        self, source: Source, model: Model, augmentations: int | None, args: argparse.Namespace
    ) -> Case:
        """A set to be solved by a model."""
        theirs = self.paper_gap(source, model, augmentations)
        return Case(
            label=f"{source.variant.name}, {source.place}",
            key={"set": dict(source.key)},
            load=lambda: source.load().problems,
            row=lambda out: gap_row(
                source, model, augmentations, theirs, out, args.start_nodes, protocol=args.protocol
            ),
            model=model,
            augmentations=augmentations,
            protocol=args.protocol,
            options={
                name: getattr(args, name) for name in ("start_nodes", "num_samples", "beam_width")
            },
        )

    def paper_gap(self, source: Source, model: Model, augmentations: int | None) -> float | None:
        """What the paper prints for such a set, or for a model of that setting."""
        if self.single and augmentations != paper.augmentations(asymmetric=source.asymmetric):
            return None  # beside as many as the paper's alone
        if not self.ablation:
            return paper.space_gap(source.variant.name, source.size)
        alike = source.size == paper.table("gaps")["customers"]
        return paper.ablation_gaps(model.config).get(source.variant.name) if alike else None

    def below(self, rows: Sequence[GapRow], args: argparse.Namespace) -> str:
        """What else the page says."""
        texts = [
            augmentations_text(rows),
            pairs_text(rows),
            hindsight_text(rows),
            notes_text(rows, args),
            paper.ablations_text({row.model: row.setting for row in rows}) if self.ablation else "",
        ]
        return "".join(texts)


def summary(rows: Sequence[GapRow]) -> str:
    """The last line."""
    compared = any(row.difference is not None for row in rows)
    nothing = () if compared else ("nothing to compare with the paper",)
    return conclusion(rows, f"{len(rows)} sets", *nothing)


def _symmetric_first(names: Sequence[str]) -> tuple[str, ...]:
    """As the averages below them are taken."""
    return tuple(sorted(names, key=lambda name: parse_variant(name).features.asymmetric))


SEEN = GapTable(
    "seen",
    "The twelve problems of the paper",
    SEEN_NAMES,
    count=1000,
    folder="uniform100",
    single=True,
    notes="""\
In a file, the oracle is the reference that the paper compares with. "paper %" stands beside the
paper's number of augmentations only.
""",
)
UNSEEN = GapTable(
    "unseen",
    "The 98 variants beyond the paper's twelve",
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
)
ABLATION = GapTable(
    "ablation",
    "Ablations",
    # In the paper's order: 16 symmetric ones, then their asymmetric forms.
    tuple(paper.table("ablations")["representation"][0]["gap"]),
    count=32,
    ablation=True,
    notes="""\
Here "paper %" is what the paper prints for a model of that setting, where it has one.
""",
)

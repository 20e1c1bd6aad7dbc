"""``spacevrp bench ablation``: models compared on 16 variants and their asymmetric forms."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.bench import gap_table, paper
from spacevrp.bench.gap_table import GapRow
from spacevrp.bench.sets import variant_names
from spacevrp.bench.tables import Layout, Report, check_protocol, new_record, number, work_through
from spacevrp.bench.weights import load_model
from spacevrp.problems.errors import SpacevrpError

if TYPE_CHECKING:
    from spacevrp.model import ModelConfig

_TABLES = ("representation", "pivots", "decoding")
_SIZES = ("width", "layers", "feedforward")  # the same in all of the paper's models
_WHOLE = {"pivots": 8, "furthest": True, "depot": True, "bidirectional": True, "wdad_heads": 3}
# In the paper's order: 16 symmetric ones, then their asymmetric forms.
NAMES = tuple(paper.table("ablations")["representation"][0]["gap"])
LAYOUT = Layout(
    "ablation",
    "Ablations",
    (("model", 24), *gap_table.COLUMNS),
    gap_table.NOTES
    + 'Here "paper %" is what the paper prints for a model of that setting, where it has one.\n',
    left=2,
)


@dataclass(frozen=True)
class AblationRow(GapRow):
    """A row of the table of gaps, and the model it is of."""

    model: str = ""
    setting: str = ""  # how it differs from the paper's model

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        return [self.model, *super().cells()]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench ablation``."""
    gap_table.add_arguments(parser, LAYOUT.name, count=32, size=100, several_weights=True)
    parser.add_argument(
        "--problems",
        metavar="NAMES",
        type=variant_names,
        default=NAMES,
        help="only these, such as CVRP,ACVRP; default: the 16 + 16 of the paper",
    )


def run(args: argparse.Namespace) -> int:
    """Solve all sets with one model after the other, and report."""
    from spacevrp.solver import Solver

    check_protocol(args)
    sources = gap_table.list_sources(args.problems, args)
    loaded = [load_model(weights) for weights in args.weights or [None]]
    labels = label_models([told for _, told in loaded])
    # All on the device at once: they are small.
    solvers = [Solver(model, args.device, args.lean, threads=None) for model, _ in loaded]
    sets = gap_table.generated_sets(sources, args, solvers[0].device.type)
    models = [
        {**told, "label": label, "config": model.config.to_dict()}
        for label, (model, told) in zip(labels, loaded, strict=True)
    ]
    record = new_record(LAYOUT.name, solvers[0], models, args.protocol, seed=args.seed)
    report = Report(
        LAYOUT,
        record,
        args,
        gap_table.summary,
        averages=averages,
        below=lambda rows: gap_table.views_text(rows) + settings_text(rows) + papers_text(),
    )
    jobs, wanted = [], []
    for label, (model, told), solver in zip(labels, loaded, solvers, strict=True):
        for one in sets:
            jobs.append(one.job(solver, record, told, show=not args.quiet))
            wanted.append((label, model.config, one))
    done = work_through(jobs, report.store(), quiet=args.quiet)
    for (label, config, one), (_, outcome) in zip(wanted, done, strict=True):
        theirs = papers_gaps(config) if args.size == paper.table("gaps")["customers"] else {}
        row = one.row(outcome, theirs.get(one.variant))
        held = {field.name: getattr(row, field.name) for field in fields(row)}
        report.add(AblationRow(**held, model=label, setting=describe_setting(config)))
    return report.finish()


def label_models(told: Sequence[dict[str, Any]]) -> list[str]:
    """Short names of models: the last part of what was given, unless two have the same."""
    names = [Path(one["given"]).name or one["given"] for one in told]
    given = Counter(one["given"] for one in told)
    for name, number_of in given.items():
        if number_of > 1:
            raise SpacevrpError(f"--weights: expected different models, received {name} twice")
    twice = {name for name, number_of in Counter(names).items() if number_of > 1}
    return [one["given"] if name in twice else name for one, name in zip(told, names, strict=True)]


# ---------------------------------------------------------------------------------------- settings


def papers_setting(config: ModelConfig) -> dict[str, Any]:
    """A model in the words of the paper's tables."""
    if config.representation == "identifiers":
        representation = {"pivots": 0, "furthest": False, "depot": False, "bidirectional": False}
    else:
        representation = {
            "pivots": config.pivots,
            "furthest": config.pivot_choice == "furthest",
            "depot": config.depot_seed,
            "bidirectional": config.representation == "bidirectional",
        }
    return {**representation, "wdad_heads": config.heads if config.projections == "wdad" else 0}


def papers_gaps(config: ModelConfig) -> dict[str, float]:
    """Variant -> what the paper prints for such a model; nothing where it has none."""
    whole = type(config)()
    if any(getattr(config, size) != getattr(whole, size) for size in _SIZES):
        return {}
    if config.projections == "wdad" and config.rank * config.heads != whole.rank * whole.heads:
        return {}  # its single head has the rank of all three
    ours = papers_setting(config)
    for name in _TABLES:
        for row in paper.table("ablations")[name]:
            if {**_WHOLE, **row["setting"]} == ours:
                return dict(row["gap"])
    return {}


def describe_setting(config: ModelConfig) -> str:
    """How a model differs from the paper's."""
    standard = asdict(type(config)())
    changed = [f"{k} {v}" for k, v in config.to_dict().items() if v != standard[k]]
    return ", ".join(changed) or "the paper's"


# ------------------------------------------------------------------------------------------- texts


def averages(rows: Sequence[AblationRow]) -> list[GapRow]:
    """For each model, over the symmetric and the asymmetric variants, and the mean of the two."""
    return [
        average
        for label in dict.fromkeys(row.model for row in rows)
        for average in gap_table.symmetric_and_asymmetric([r for r in rows if r.model == label])
    ]


def settings_text(rows: Sequence[AblationRow]) -> str:
    """Which model has which setting."""
    settings = {row.model: row.setting for row in rows}
    return "\nSettings:\n\n" + "".join(f"- {name}: {text}\n" for name, text in settings.items())


def papers_text() -> str:
    """The paper's summary of its ablations."""
    from spacevrp.bench.records import markdown_table

    cells = [
        [
            *(_mark(row["setting"][key]) for key in _WHOLE),
            *(number(row["average"][side], 2) for side in ("symmetric", "asymmetric")),
        ]
        for row in paper.table("ablations")["summary"]
    ]
    columns = ["pivots", "furthest", "depot", "bidirectional", "heads", "symmetric", "asymmetric"]
    return f"\nThe paper's averages, in percent:\n\n{markdown_table(columns, cells)}"


def _mark(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value else "no"

"""``spacevrp bench ablation``: models compared on 16 variants and their asymmetric forms."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from spacevrp.bench import gap_table, paper
from spacevrp.bench.gap_table import GapRow, GapTable
from spacevrp.bench.runner import Model
from spacevrp.bench.sets import Source
from spacevrp.bench.tables import column, number, same

if TYPE_CHECKING:
    from spacevrp.model import ModelConfig

_TABLES = ("representation", "pivots", "decoding")
_SIZES = ("width", "layers", "feedforward")  # the same in all of the paper's models
_WHOLE = {"pivots": 8, "furthest": True, "depot": True, "bidirectional": True, "wdad_heads": 3}


@dataclass(frozen=True, kw_only=True)
class AblationRow(GapRow):
    """A row of the table of gaps, and the model it is of."""

    ORDER: ClassVar[tuple[str, ...]] = ("model", *GapRow.ORDER)

    model: str = column("model", 24, over=same)
    setting: str = column(over=same)  # how it differs from the paper's model


@dataclass(frozen=True)
class AblationTable(GapTable):
    """The same sets by several models."""

    row_type: ClassVar[type[GapRow]] = AblationRow
    several_weights: ClassVar[bool] = True
    left: ClassVar[int] = 2

    def paper_gap(self, source: Source, model: Model, augmentations: int) -> float | None:
        """What the paper prints for a model of that setting, where it has one."""
        if source.size != paper.table("gaps")["customers"]:
            return None
        return papers_gaps(model.config).get(source.variant.name)

    def more(self, model: Model) -> dict[str, Any]:
        """Which model."""
        return {"model": model.label, "setting": describe_setting(model.config)}

    def averages(self, rows: Sequence[Any]) -> Sequence[GapRow]:
        """For each model."""
        return [
            average
            for label in dict.fromkeys(row.model for row in rows)
            for average in gap_table.symmetric_and_asymmetric([r for r in rows if r.model == label])
        ]

    def below(self, rows: Sequence[Any], args: argparse.Namespace) -> str:
        """What else the page says."""
        settings = {row.model: row.setting for row in rows}
        lines = "".join(f"- {name}: {text}\n" for name, text in settings.items())
        return f"{gap_table.augmentations_text(rows)}\nSettings:\n\n{lines}{papers_text()}"


ABLATION = AblationTable(
    "ablation",
    "Ablations",
    # In the paper's order: 16 symmetric ones, then their asymmetric forms.
    tuple(paper.table("ablations")["representation"][0]["gap"]),
    count=32,
    notes=gap_table.NOTES
    + 'Here "paper %" is what the paper prints for a model of that setting, where it has one.\n',
)


# ---------------------------------------------------------------------------------------- settings


def papers_setting(config: ModelConfig) -> dict[str, Any]:
    """A model in the words of the paper's tables."""
    named = config.representation == "identifiers"
    return {
        "pivots": 0 if named else config.pivots,
        "furthest": not named and config.pivot_choice == "furthest",
        "depot": not named and config.depot_seed,
        "bidirectional": config.representation == "bidirectional",
        "wdad_heads": config.heads if config.projections == "wdad" else 0,
    }


def papers_gaps(config: ModelConfig) -> dict[str, float]:
    """Variant -> what the paper prints for such a model; nothing where it has none."""
    whole = type(config)()
    if any(getattr(config, size) != getattr(whole, size) for size in _SIZES):
        return {}
    if config.singular_vectors:
        return {}  # it has none
    if config.projections == "wdad" and config.rank * config.heads != whole.rank * whole.heads:
        return {}  # its single head has the rank of all three
    ours = papers_setting(config)
    rows = [row for name in _TABLES for row in paper.table("ablations")[name]]
    return next((dict(row["gap"]) for row in rows if {**_WHOLE, **row["setting"]} == ours), {})


def describe_setting(config: ModelConfig) -> str:
    """How a model differs from the paper's."""
    standard = asdict(type(config)())
    changed = [f"{k} {v}" for k, v in config.to_dict().items() if v != standard[k]]
    return ", ".join(changed) or "the paper's"


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
    return ("yes" if value is True else str(value)) if value else "no"

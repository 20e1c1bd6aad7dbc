"""Models that differ from the paper's in one thing, and what the paper prints for such models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from spacevrp.bench import paper
from spacevrp.bench.records import markdown_table

if TYPE_CHECKING:
    from spacevrp.model import ModelConfig

_TABLES = ("representation", "pivots", "decoding")
_SIZES = ("width", "layers", "feedforward")  # the same in all of the paper's models
_WHOLE = {"pivots": 8, "furthest": True, "depot": True, "bidirectional": True, "wdad_heads": 3}


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


def papers_text(settings: Mapping[str, str]) -> str:
    """The settings of models, and the paper's summary of its ablations."""
    lines = "".join(f"- {name}: {text}\n" for name, text in settings.items())
    cells = [
        [
            *(_mark(row["setting"][key]) for key in _WHOLE),
            *(f"{row['average'][side]:.2f}" for side in ("symmetric", "asymmetric")),
        ]
        for row in paper.table("ablations")["summary"]
    ]
    columns = ["pivots", "furthest", "depot", "bidirectional", "heads", "symmetric", "asymmetric"]
    table = markdown_table(columns, cells)
    return f"\nSettings:\n\n{lines}\nThe paper's averages, in percent:\n\n{table}"


def _mark(value: Any) -> str:
    return ("yes" if value is True else str(value)) if value else "no"

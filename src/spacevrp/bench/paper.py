"""The figures that the paper prints, as data.

``paper_NAME.json`` holds, for NAME

- ``gaps``: all 110 variants with 100 customers, every method: gap to the oracle, seconds, averages;
- ``large``: three variants and their asymmetric forms with 1,000 customers;
- ``cvrplib``: sets X and XXL, instance by instance, and the summary;
- ``ablations``: representation, number of pivots, decoding, and their summary;
- ``comparisons``: URS trained on the same problems, URS without coordinates, RouteFinder and CaDA.

Numbers stand as printed, also where they contradict each other; ``slips`` says where they do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.bench.records import markdown_table

if TYPE_CHECKING:
    from spacevrp.model import ModelConfig

# The references of the public sets that the paper compares with.
_REFERENCE_KEYS = {"CVRP": "ref_hgs", "OCVRP": "ref_lkh", "CVRPL": "ref_lkh"}
_REFERENCE_KEY = "ref_or_tools_400s"
_TABLE_OF_SIZE = {100: "gaps", 1000: "large"}
# The paper's oracles, and who of ours takes their part: the first that models the variant exactly.
# (An iterated local search for prize thresholds: only the approximate one is of that kind.)
_STAND_INS = {
    "LKH-3": ("lkh", "pyvrp", "ortools"),
    "PyVRP": ("pyvrp", "ortools"),
    "OR-Tools": ("ortools",),
    "Compass": ("pyvrp", "ortools"),
    "ILS": ("pyvrp-approximate", "ortools"),
}
# Tables of ablations, what all of its models have in common, and the setting of the whole model.
_ABLATIONS = ("representation", "pivots", "decoding")
_SIZES = ("width", "layers", "feedforward")
_WHOLE = {"pivots": 8, "furthest": True, "depot": True, "bidirectional": True, "wdad_heads": 3}


@cache
def table(name: str) -> dict[str, Any]:
    """One of the tables as it stands in its file; not to be changed."""
    path = Path(__file__).with_name(f"paper_{name}.json")
    held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return held


def gaps(method: str = "SPACE", size: int = 100) -> dict[str, float]:
    """Variant -> printed gap in percent to the oracle, x8 augmentations (x128 if asymmetric)."""
    if size not in _TABLE_OF_SIZE:
        return {}
    return dict(table(_TABLE_OF_SIZE[size])["gap"][method])


def augmentations(*, asymmetric: bool) -> int:
    """The number of augmentations behind the figures of SPACE."""
    return 128 if asymmetric else 8


def space_gap(variant: str, size: int = 100) -> float | None:
    """The paper's own result on a variant; None where it prints none."""
    return gaps("SPACE", size).get(variant)


def reference_key(variant: str) -> str:
    """Under which key the public sets hold the costs that the paper compares with."""
    return _REFERENCE_KEYS.get(variant, _REFERENCE_KEY)


def cvrplib_gap(instance: str) -> float | None:
    """What is printed for SPACE on an instance of set X or XXL; None where there is nothing."""
    held = table("cvrplib")
    printed = held["X"]["method"]["SPACE"].get(instance, {}).get("gap")
    found: float | None = held["XXL"]["gap"]["SPACE"].get(instance) if printed is None else printed
    return found


def oracle(variant: str) -> str:
    """Whose costs the paper compares with."""
    return str(table("gaps")["oracle"][variant])


def stand_ins(variant: str) -> tuple[str, ...]:
    """Solvers of ours that may take the part of that oracle, the closest first."""
    return _STAND_INS[oracle(variant)]


# --------------------------------------------------------------------------------------- ablations


def _setting_of(config: ModelConfig) -> dict[str, Any]:
    """A model in the words of the paper's tables."""
    named = config.representation == "identifiers"
    return {
        "pivots": 0 if named else config.pivots,
        "furthest": not named and config.pivot_choice == "furthest",
        "depot": not named and config.depot_seed,
        "bidirectional": config.representation == "bidirectional",
        "wdad_heads": config.heads if config.projections == "wdad" else 0,
    }


def ablation_gaps(config: ModelConfig) -> dict[str, float]:
    """Variant -> what the paper prints for such a model; nothing where it has none."""
    whole = type(config)()
    if any(getattr(config, size) != getattr(whole, size) for size in _SIZES):
        return {}
    if config.projections == "wdad" and config.rank * config.heads != whole.rank * whole.heads:
        return {}  # its single head has the rank of all three
    ours = _setting_of(config)
    rows = [row for name in _ABLATIONS for row in table("ablations")[name]]
    return next((dict(row["gap"]) for row in rows if {**_WHOLE, **row["setting"]} == ours), {})


def describe_setting(config: ModelConfig) -> str:
    """How a model differs from the paper's."""
    standard = asdict(type(config)())
    changed = [f"{k} {v}" for k, v in config.to_dict().items() if v != standard[k]]
    return ", ".join(changed) or "the paper's"


def ablations_text(settings: Mapping[str, str]) -> str:
    """The settings of models, and the paper's summary of its ablations."""
    lines = "".join(f"- {name}: {text}\n" for name, text in settings.items())
    cells = [
        [
            *(_mark(row["setting"][key]) for key in _WHOLE),
            *(f"{row['average'][side]:.2f}" for side in ("symmetric", "asymmetric")),
        ]
        for row in table("ablations")["summary"]
    ]
    columns = ["pivots", "furthest", "depot", "bidirectional", "heads", "symmetric", "asymmetric"]
    averages = markdown_table(columns, cells)
    return f"\nSettings:\n\n{lines}\nThe paper's averages, in percent:\n\n{averages}"


def _mark(value: Any) -> str:
    return ("yes" if value is True else str(value)) if value else "no"

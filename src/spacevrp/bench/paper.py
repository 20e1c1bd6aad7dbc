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
from functools import cache
from pathlib import Path
from typing import Any

from spacevrp.problems.errors import SpacevrpError

TABLES = ("gaps", "large", "cvrplib", "ablations", "comparisons")
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


@cache
def table(name: str) -> dict[str, Any]:
    """One of the tables as it stands in its file; not to be changed."""
    if name not in TABLES:
        raise SpacevrpError(f"the paper's tables: expected one of {TABLES}, received {name!r}")
    path = Path(__file__).with_name(f"paper_{name}.json")
    held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return held


def gaps(method: str = "SPACE", size: int = 100) -> dict[str, float]:
    """Variant -> printed gap in percent to the oracle, x8 augmentations (x128 if asymmetric)."""
    if size not in _TABLE_OF_SIZE:
        return {}
    by_method = table(_TABLE_OF_SIZE[size])["gap"]
    if method not in by_method:
        known = ", ".join(by_method)
        raise SpacevrpError(f"the paper's methods: expected one of {known}, received {method!r}")
    return dict(by_method[method])


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

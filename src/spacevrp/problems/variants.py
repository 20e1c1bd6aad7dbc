"""The 110 named variants: names <-> flags <-> attribute bits, all from the one table below.

A name is a sentence of a small grammar, read from left to right:

    [A] [MD] [O] CVRP [B | BP] [L] [TW]                                   96 names
    [A] (TSP | OP | PCTSP | SPCTSP | PDTSP | PDCVRP | OPDCVRP)            14 names
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from spacevrp.problems.conversion import show
from spacevrp.problems.errors import VariantError
from spacevrp.problems.features import Features

# Each slot of the grammar: what may stand there, and the flags it sets.
_ASYMMETRY: dict[str, dict[str, bool]] = {"": {}, "A": {"asymmetric": True}}
_CAPACITATED_SLOTS: tuple[dict[str, dict[str, bool]], ...] = (
    _ASYMMETRY,
    {"": {}, "MD": {"multi_depot": True}},
    {"": {}, "O": {"open_routes": True}},
    {"CVRP": {"depot": True, "several_routes": True, "capacity": True}},
    {"": {}, "B": {"backhaul": True}, "BP": {"backhaul": True, "backhaul_last": True}},
    {"": {}, "L": {"length_limit": True}},
    {"": {}, "TW": {"time_windows": True}},
)
_PAIRED_FLEET = {"depot": True, "several_routes": True, "capacity": True, "pickup_delivery": True}
_OTHER_SLOTS: tuple[dict[str, dict[str, bool]], ...] = (
    _ASYMMETRY,
    {
        "TSP": {},
        "OP": {"depot": True, "orienteering": True, "length_limit": True},
        "PCTSP": {"depot": True, "prize_collecting": True},
        "SPCTSP": {"depot": True, "prize_collecting": True, "stochastic_prizes": True},
        "PDTSP": {"depot": True, "pickup_delivery": True},
        "PDCVRP": _PAIRED_FLEET,
        "OPDCVRP": {**_PAIRED_FLEET, "open_routes": True},
    },
)
# The twelve problems the model is trained on; the other 98 are solved zero-shot.
SEEN_NAMES = (
    *("ATSP", "TSP", "CVRP", "ACVRP", "OP", "PCTSP", "PDTSP", "CVRPTW"),
    *("OCVRP", "CVRPB", "OCVRPTW", "ACVRPBTW"),
)


@dataclass(frozen=True)
class Variant:
    """One named variant."""

    name: str
    features: Features

    @property
    def seen(self) -> bool:
        """Whether the model is trained on it."""
        return self.name in SEEN_NAMES

    @property
    def attributes(self) -> tuple[int, ...]:
        """The ten attribute bits (lambda)."""
        return self.features.attributes


def _sentences(slots: tuple[dict[str, dict[str, bool]], ...]) -> Iterator[Variant]:
    for words in product(*slots):
        flags: dict[str, bool] = {}
        for slot, word in zip(slots, words, strict=True):
            flags.update(slot[word])
        yield Variant("".join(words), replace(Features(), **flags))


VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for slots in (_OTHER_SLOTS, _CAPACITATED_SLOTS)
    for variant in _sentences(slots)
}
# A wrong "name" may be a whole file; it is not shown whole.
_LONGEST_SHOWN = 40
_NAME_OF_FEATURES = {variant.features: variant.name for variant in VARIANTS.values()}


def parse_variant(name: str) -> Variant:
    """The variant of that name.

    Raises
    ------
    VariantError
        Says which letter is wrong and shows the nearest legal names.
    """
    if isinstance(name, str) and name in VARIANTS:
        return VARIANTS[name]
    raise VariantError(_explain(name))


def name_features(features: Features) -> str | None:
    """The name of a set of flags, or None where the grammar has none for it."""
    return _NAME_OF_FEATURES.get(features)


def describe_features(features: Features) -> str:
    """A name for any set of flags: the variant's name, or the flags spelled out."""
    return name_features(features) or "+".join(features.active)


def _explain(name: object) -> str:
    if not isinstance(name, str) or not name:
        expected = f"one of the {len(VARIANTS)} names such as CVRPTW"
        return f"variant: expected {expected}, received {show(name)}"
    name = name[:_LONGEST_SHOWN]
    legal_length = max(
        length
        for length in range(len(name) + 1)
        if any(legal.startswith(name[:length]) for legal in VARIANTS)
    )
    start = name[:legal_length]
    followers = sorted(
        {legal[legal_length] for legal in VARIANTS if legal[:-1].startswith(start)}
        | ({"the end"} if start in VARIANTS else set())
    )
    expected = " or ".join(followers)
    if legal_length == len(name):
        fault = f"it stops after {start!r}, where {expected} should follow"
    else:
        fault = (
            f"letter {legal_length + 1} ({name[legal_length]!r}) is wrong: "
            f"after {start!r} comes {expected}"
        )
    return f"variant {name!r} is not legal: {fault}; nearest: {', '.join(nearest_names(name))}"


def nearest_names(name: str) -> tuple[str, ...]:
    """The three legal names with the fewest letters to insert, delete or replace."""
    ranked = sorted(VARIANTS, key=lambda legal: (_edit_distance(name.upper(), legal), legal))
    return tuple(ranked[:3])


def _edit_distance(left: str, right: str) -> int:
    previous = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        current = [i]
        for j, b in enumerate(right, start=1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (a != b)))
        previous = current
    return previous[-1]


# What the flags are where neither the user nor a variant says anything.
NEUTRAL_FLAGS: dict[str, Any] = {
    "load_rule": "separate",
    "open_routes": False,
    "backhaul_last": False,
    "maximise_prize": False,
    "max_routes": None,
}


def flags_of(features: Features) -> dict[str, Any]:
    """The same fields of a problem as a named variant with these features fixes them."""
    return {
        "load_rule": "single",
        "open_routes": features.open_routes,
        "backhaul_last": features.backhaul_last,
        "maximise_prize": features.orienteering,
        "max_routes": None if features.several_routes else 1,
    }

"""What a declared variant means for an instance beyond its numbers."""

from __future__ import annotations

from typing import Any

from spacevrp.problems.features import Features

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

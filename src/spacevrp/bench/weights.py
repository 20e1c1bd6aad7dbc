"""The weights that a benchmark is about, wherever they come from, and what is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacevrp.model import SpaceModel

# Of weights in a file, and of a checkpoint.
_TOLD = ("name", "sha256", "step", "group", "train_seconds")


def load_model(
    weights: str | None, protocol: str | None = None
) -> tuple[SpaceModel, dict[str, Any]]:
    """A model and what is to be told of it, from bundled weights, a file or a training run.

    None for the weights that belong to a protocol.
    """
    from spacevrp.bench.records import checksum
    from spacevrp.model.weights import load_weights
    from spacevrp.solver import protocol_named

    name = protocol_named(protocol).weights if weights is None else weights
    model, card = load_weights(name)
    told = {key: card[key] for key in _TOLD if key in card}
    return model, {"given": str(name), **told, "tensors_sha256": checksum(model)}


def describe(told: dict[str, Any]) -> str:
    """One set of weights in words."""
    parts = ", ".join(f"{key} {told[key]}" for key in ("given", "step", "group") if key in told)
    return f"{parts} (tensors {told['tensors_sha256'][:12]})"

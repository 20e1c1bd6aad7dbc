"""The weights that a benchmark is about, wherever they come from, and what is told of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.problems.errors import FormatError

if TYPE_CHECKING:
    from spacevrp.model import SpaceModel


def load_model(weights: str | None) -> tuple[SpaceModel, dict[str, Any]]:
    """A model and what is to be told of it, from bundled weights, a file or a training run."""
    from spacevrp.bench.records import checksum
    from spacevrp.model.weights import DEFAULT_WEIGHTS, load_weights

    name = DEFAULT_WEIGHTS if weights is None else weights
    if weights is not None and Path(weights).is_dir():
        model, told = _load_checkpoint(Path(weights))
    else:
        model, card = load_weights(name)
        told = {key: card[key] for key in ("name", "sha256") if key in card}
    return model, {"given": str(name), **told, "tensors_sha256": checksum(model)}


def _load_checkpoint(folder: Path) -> tuple[SpaceModel, dict[str, Any]]:
    from spacevrp.model import ModelConfig, SpaceModel
    from spacevrp.train import checkpoint

    header, groups = checkpoint.load(folder)
    group = "average" if "average" in groups else "weights"
    try:
        config = ModelConfig.from_dict(header["config"]["model"])
        model = SpaceModel(config)
        model.load_state_dict({**groups["weights"], **groups[group]}, strict=True)
    except (KeyError, TypeError, RuntimeError) as error:
        raise FormatError(f"{folder}: not the checkpoint of a model: {error}") from None
    told = {"step": header["step"], "group": group, "train_seconds": header.get("seconds")}
    return model.eval(), told


def describe(told: dict[str, Any]) -> str:
    """One set of weights in words."""
    parts = ", ".join(f"{key} {told[key]}" for key in ("given", "step", "group") if key in told)
    return f"{parts} (tensors {told['tensors_sha256'][:12]})"

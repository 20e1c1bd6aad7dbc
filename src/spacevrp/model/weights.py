"""Weights in files: tensors in float16, and beside them a card that says what they are.

``NAME.safetensors`` holds the tensors, ``NAME.json`` the card: the model's configuration, the
checksum of the tensors' file, and whatever else is worth telling (training data, seeds, results).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as dump_tensors
from torch import Tensor

from spacevrp.inference.config import ModelConfig
from spacevrp.inference.weights import (
    CARD,
    DEFAULT_WEIGHTS,
    FORMAT,
    OF_A_RUN,
    TENSORS,
    VERSION,
    base_of,
    bundled_weights,
    check_tensors,
    find_weights,
    read_card,
    read_tensors,
    with_suffix,
)
from spacevrp.model.checkpoints import HEADER, list_checkpoints
from spacevrp.model.checkpoints import load as load_checkpoint
from spacevrp.model.space import SpaceModel
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.writing import write_whole

__all__ = ["DEFAULT_WEIGHTS", "bundled_weights", "load_weights", "save_weights"]

# What save_weights writes into the card itself.
_RESERVED = ("format", "version", "config", "parameters", "sha256")


def save_weights(path_base: str | Path, model: SpaceModel, card: dict[str, Any]) -> Path:
    """Write ``path_base.safetensors`` and ``path_base.json``; return the path of the former.

    ``card`` is whatever the weights' card should tell; its name defaults to that of the file.
    """
    base = base_of(Path(path_base))
    for key in _RESERVED:
        if key in card:
            raise SpacevrpError(f"card, {key}: expected no such key, it is written by itself")
    tensors = {}
    for name, value in model.state_dict().items():
        half = value.detach().to("cpu", torch.float16).contiguous()
        if not bool(torch.isfinite(half).all()):
            raise SpacevrpError(f"tensor {name}: expected finite numbers within float16")
        tensors[name] = half
    data = dump_tensors(tensors)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "name": base.name,
        **card,
        "config": model.config.to_dict(),
        "parameters": model.num_parameters,
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    # A reader that comes between the two sees a wrong checksum, never wrong weights.
    write_whole(with_suffix(base, TENSORS), data)
    write_whole(with_suffix(base, CARD), text.encode())
    return with_suffix(base, TENSORS)


def load_weights(name_or_path: str | Path = DEFAULT_WEIGHTS) -> tuple[SpaceModel, dict[str, Any]]:
    """The model in float32 and its card, from a bundled name, a file, or a training run's folder.

    Raises
    ------
    FormatError
        For a name or file that does not exist, a card that cannot be read, a wrong checksum, and
        tensors that are missing, unexpected or of another shape than the configuration asks for.
    """
    if _is_run(name_or_path):
        return _load_run(Path(name_or_path))
    path = find_weights(name_or_path)
    card = read_card(path)
    tensors = {
        name: torch.from_numpy(value) for name, value in read_tensors(path, card["config"]).items()
    }
    # Without storage: nothing is drawn from the user's random numbers, nothing is filled twice.
    with torch.device("meta"):
        model = SpaceModel(card["config"])
    model.load_state_dict(tensors, strict=True, assign=True)
    card["config"] = model.config.to_dict()
    return model.eval(), card


def _is_run(name_or_path: str | Path) -> bool:
    """Whether this is a folder to take a checkpoint from; bundled names come first."""
    path = Path(name_or_path)
    if not str(name_or_path) or name_or_path in bundled_weights() or not path.is_dir():
        return False
    checkpoints = (path / HEADER).is_file() or list_checkpoints(path)
    return bool(checkpoints) or not (path / f"{OF_A_RUN}{TENSORS}").is_file()


def _load_run(folder: Path) -> tuple[SpaceModel, dict[str, Any]]:
    """The model of a checkpoint, or of the newest in a run's folder, and what is known of it.

    The averaged weights where there is an average. A run need not have ended for that.
    """
    header, groups = load_checkpoint(folder)
    group = "average" if "average" in groups else "weights"
    try:
        config = ModelConfig.from_dict(header["config"]["model"])
        with torch.device("meta"):
            model = SpaceModel(config)
        resolved = _checked(folder, config, {**groups["weights"], **groups[group]})
    except (KeyError, TypeError) as error:
        raise FormatError(f"{folder}: not the checkpoint of a model: {error}") from None
    model.load_state_dict(resolved, strict=True, assign=True)
    card = {
        "step": header["step"],
        "group": group,
        "train_seconds": header["seconds"],
        "training": header["config"],
        "config": config.to_dict(),
    }
    return model.eval(), card


def _checked(path: Path, config: ModelConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors in float32, if they are exactly what the model needs."""
    check_tensors(path, config, {name: tuple(value.shape) for name, value in tensors.items()})
    for name, value in tensors.items():
        if not value.is_floating_point() or not bool(torch.isfinite(value).all()):
            raise FormatError(f"{path}: tensor {name}: expected finite floating-point numbers")
    return {name: value.to(torch.float32) for name, value in tensors.items()}

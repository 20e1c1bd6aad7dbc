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
from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from spacevrp.model.checkpoints import HEADER, list_checkpoints
from spacevrp.model.checkpoints import load as load_checkpoint
from spacevrp.model.config import ModelConfig
from spacevrp.model.space import SpaceModel
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.writing import write_whole

FORMAT = "spacevrp-weights"
VERSION = 1
DEFAULT_WEIGHTS = "space-100-v9"
BUNDLED = Path(__file__).parents[1] / "bundled"
_TENSORS, _CARD = ".safetensors", ".json"
_OF_A_RUN = "weights"  # what a run calls its weights when it ends
# What save_weights writes into the card itself.
_RESERVED = ("format", "version", "config", "parameters", "sha256")


def bundled_weights() -> tuple[str, ...]:
    """Names of the weights that come with the package."""
    return tuple(sorted(path.name.removesuffix(_TENSORS) for path in BUNDLED.glob(f"*{_TENSORS}")))


def save_weights(path_base: str | Path, model: SpaceModel, card: dict[str, Any]) -> Path:
    """Write ``path_base.safetensors`` and ``path_base.json``; return the path of the former.

    ``card`` is whatever the weights' card should tell; its name defaults to that of the file.
    """
    base = _base_of(Path(path_base))
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
    write_whole(_with(base, _TENSORS), data)
    write_whole(_with(base, _CARD), text.encode())
    return _with(base, _TENSORS)


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
    path = _find(name_or_path)
    card = _read_card(_with(_base_of(path), _CARD))
    data = _read(path)
    found = hashlib.sha256(data).hexdigest()
    if found != card["sha256"]:
        raise FormatError(f"{path}: expected checksum {card['sha256']}, received {found}")
    try:
        tensors = parse_tensors(data)
    except (SafetensorError, KeyError, ValueError) as error:
        raise FormatError(f"{path}: cannot be read: {error}") from None
    # Without storage: nothing is drawn from the user's random numbers, nothing is filled twice.
    with torch.device("meta"):
        model = SpaceModel(card["config"])
    settled = _checked(path, model, tensors)
    model.load_state_dict(settled, strict=True, assign=True)
    card["config"] = model.config.to_dict()
    return model.eval(), card


def _is_run(name_or_path: str | Path) -> bool:
    """Whether this is a folder to take a checkpoint from; bundled names come first."""
    path = Path(name_or_path)
    if not str(name_or_path) or name_or_path in bundled_weights() or not path.is_dir():
        return False
    checkpoints = (path / HEADER).is_file() or list_checkpoints(path)
    return bool(checkpoints) or not (path / f"{_OF_A_RUN}{_TENSORS}").is_file()


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
        settled = _checked(folder, model, {**groups["weights"], **groups[group]})
    except (KeyError, TypeError) as error:
        raise FormatError(f"{folder}: not the checkpoint of a model: {error}") from None
    model.load_state_dict(settled, strict=True, assign=True)
    card = {
        "step": header["step"],
        "group": group,
        "train_seconds": header["seconds"],
        "training": header["config"],
        "config": config.to_dict(),
    }
    return model.eval(), card


def _checked(path: Path, model: SpaceModel, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors in float32, if they are exactly what the model needs."""
    wanted = model.state_dict()
    for name in wanted:
        if name not in tensors:
            raise FormatError(f"{path}: tensor {name}: missing")
    for name, value in tensors.items():
        if name not in wanted:
            raise FormatError(f"{path}: tensor {name}: unexpected, the configuration has none")
        expected, received = tuple(wanted[name].shape), tuple(value.shape)
        if expected != received:
            raise FormatError(f"{path}: tensor {name}: expected shape {expected}, not {received}")
        if not value.is_floating_point() or not bool(torch.isfinite(value).all()):
            raise FormatError(f"{path}: tensor {name}: expected finite floating-point numbers")
    return {name: value.to(torch.float32) for name, value in tensors.items()}


# ------------------------------------------------------------------------------------------ files


def _find(name_or_path: str | Path) -> Path:
    names = bundled_weights()
    if isinstance(name_or_path, str) and name_or_path in names:
        return _with(BUNDLED / name_or_path, _TENSORS)
    path = Path(name_or_path)
    if path.is_dir() and str(name_or_path):  # what a run left, without its checkpoints
        path = path / _OF_A_RUN
    if path.name:
        path = _with(_base_of(path), _TENSORS)
        if path.is_file():
            return path
    known = f"known names: {', '.join(names)}" if names else "the package has none of its own yet"
    raise FormatError(
        f"weights {str(name_or_path)!r}: no bundled weights ({known}), no file {path}"
    )


def _base_of(path: Path) -> Path:
    """The path without the suffix of either file. (A name may have dots of its own.)"""
    return path.with_name(path.name.removesuffix(_TENSORS).removesuffix(_CARD))


def _with(base: Path, suffix: str) -> Path:
    return base.with_name(base.name + suffix)


def _read_card(path: Path) -> dict[str, Any]:
    """The card with its configuration built."""
    try:
        card = json.loads(_read(path))
    except ValueError as error:  # not JSON, or not even UTF-8
        raise FormatError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(card, dict):
        raise FormatError(f"{path}: expected a table, received {type(card).__name__}")
    for key, only in (("format", FORMAT), ("version", VERSION)):
        if card.get(key) != only:
            raise FormatError(f"{path}: {key}: expected {only!r}, received {card.get(key)!r}")
    for key, kind in (("config", dict), ("sha256", str)):
        if not isinstance(card.get(key), kind):
            raise FormatError(
                f"{path}: {key}: expected a {kind.__name__}, received {card.get(key)!r}"
            )
    try:
        card["config"] = ModelConfig.from_dict(card["config"])
    except (SpacevrpError, TypeError) as error:
        raise FormatError(f"{path}: config: {error}") from None
    return card


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None

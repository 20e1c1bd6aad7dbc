"""Weights in files: where they are, what their card says, and their tensors as numpy arrays.

``NAME.safetensors`` holds the tensors in float16, ``NAME.json`` the card: the model's
configuration, the checksum of the tensors' file, and whatever else is worth telling.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from spacevrp.inference.config import MOVE_FACTS, ModelConfig
from spacevrp.inference.old_names import with_new_tensors
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.features import ATTRIBUTE_NAMES

Array = np.ndarray[Any, Any]

FORMAT = "spacevrp-weights"
VERSION = 1
# Trained on all 110 variants, and on the twelve problems of the paper alone.
DEFAULT_WEIGHTS, PAPER_WEIGHTS = "space-110-v3", "space-100-v12"
BUNDLED = Path(__file__).parents[1] / "bundled"
TENSORS, CARD = ".safetensors", ".json"
OF_A_RUN = "weights"  # what a run calls its weights when it ends
# Attention branches of a layer: distances out, distances in, pair relation.
BRANCHES = 3
NUM_ATTRIBUTES = 6
NUM_NODE_TYPES = 7
NUM_BITS = 8  # of the problem, where nodes are told them


def bundled_weights() -> tuple[str, ...]:
    """Names of the weights that come with the package."""
    return tuple(sorted(path.name.removesuffix(TENSORS) for path in BUNDLED.glob(f"*{TENSORS}")))


def find_weights(name_or_path: str | Path) -> Path:
    """The file with the tensors of bundled weights, or of those at a path.

    Raises
    ------
    FormatError
        For a name or file that does not exist.
    """
    names = bundled_weights()
    if isinstance(name_or_path, str) and name_or_path in names:
        return with_suffix(BUNDLED / name_or_path, TENSORS)
    path = Path(name_or_path)
    if path.is_dir() and str(name_or_path):  # what a run left, without its checkpoints
        path = path / OF_A_RUN
    if path.name:
        path = with_suffix(base_of(path), TENSORS)
        if path.is_file():
            return path
    known = f"known names: {', '.join(names)}" if names else "the package has none of its own yet"
    raise FormatError(
        f"weights {str(name_or_path)!r}: no bundled weights ({known}), no file {path}"
    )


def base_of(path: Path) -> Path:
    """The path without the suffix of either file; a name may have dots of its own."""
    return path.with_name(path.name.removesuffix(TENSORS).removesuffix(CARD))


def with_suffix(base: Path, suffix: str) -> Path:
    """The file of that kind; a dot in the name is part of it."""
    return base.with_name(base.name + suffix)


def read_card(path: Path) -> dict[str, Any]:
    """The card next to a file of tensors, its configuration built, if that file is the right one.

    Raises
    ------
    FormatError
        For a card that cannot be read, and a wrong checksum.
    """
    card = _parse_card(with_suffix(base_of(path), CARD))
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None
    if found != card["sha256"]:
        raise FormatError(f"{path}: expected checksum {card['sha256']}, received {found}")
    return card


def _parse_card(path: Path) -> dict[str, Any]:
    try:
        card = json.loads(path.read_bytes())
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None
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


def read_tensors(path: Path, config: ModelConfig) -> dict[str, Array]:
    """The tensors of a file in float32, if they are exactly what the configuration needs.

    The file is memory-mapped: only the float32 numbers take up memory.

    Raises
    ------
    FormatError
        For tensors that are missing, unexpected, of another shape, or not finite.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise FormatError(f"{path}: cannot be read: {error}") from None
    tensors = with_new_tensors(stored)
    check_tensors(path, config, {name: value.shape for name, value in tensors.items()})
    for name, value in tensors.items():
        if value.dtype.kind != "f" or not np.isfinite(value).all():
            raise FormatError(f"{path}: tensor {name}: expected finite floating-point numbers")
    return {name: np.ascontiguousarray(value, np.float32) for name, value in tensors.items()}


def check_tensors(path: Path, config: ModelConfig, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse tensors that are not those of the configuration, by their names and shapes."""
    wanted = shapes_of(config)
    for name in wanted:
        if name not in shapes:
            raise FormatError(f"{path}: tensor {name}: missing")
    for name, received in shapes.items():
        if name not in wanted:
            raise FormatError(f"{path}: tensor {name}: unexpected, the configuration has none")
        if wanted[name] != tuple(received):
            raise FormatError(
                f"{path}: tensor {name}: expected shape {wanted[name]}, not {tuple(received)}"
            )


def shapes_of(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The tensors of a network by name, with their shapes."""
    width, hidden, attributes = config.width, config.feedforward, len(ATTRIBUTE_NAMES)
    shapes: dict[str, tuple[int, ...]] = {
        "embed_position": (width, config.position_width),
        "embed_attributes": (width, NUM_ATTRIBUTES),
        "embed_types": (width, NUM_NODE_TYPES + (NUM_BITS if config.problem_bits else 0)),
    }
    for number in range(config.layers):
        layer = f"encoder.layers.{number}"
        shapes[f"{layer}.qkv"] = (3 * BRANCHES * width, width)
        shapes[f"{layer}.out"] = (width, BRANCHES * width)
        for norm in ("norm_mixed", "norm_feed"):
            shapes[f"{layer}.{norm}.weight"] = shapes[f"{layer}.{norm}.bias"] = (width,)
        shapes[f"{layer}.feed_in.weight"] = (hidden, width)
        shapes[f"{layer}.feed_in.bias"] = (hidden,)
        shapes[f"{layer}.feed_out.weight"] = (width, hidden)
        shapes[f"{layer}.feed_out.bias"] = (width,)
    biases = BRANCHES * config.layers + 2
    shapes["bias.weight_in"] = (biases, attributes, width)
    shapes["bias.bias_in"] = shapes["bias.weight_out"] = (biases, width)
    shapes["bias.bias_out"] = (biases,)
    for name in ("query_first", "query_last", "key", "value", "state"):
        inputs = 1 if name == "state" else width
        shapes |= {f"{name}.{k}": v for k, v in _projection_shapes(config, inputs).items()}
    if config.signals > 1:
        shapes["more_signals.base"] = (width, config.signals - 1)
        shapes["more_signals.of_attributes"] = (attributes, width, config.signals - 1)
    if config.constraint_aware:
        shapes["moves.query"] = (MOVE_FACTS, width)
        shapes["moves.base"] = (MOVE_FACTS,)
        shapes["moves.of_attributes"] = (attributes, MOVE_FACTS)
    if config.policy_heads:
        shapes["policy_heads.first"] = shapes["policy_heads.last"] = (
            config.policy_heads,
            width,
            width,
        )
        shapes["policy_heads.shift"] = (config.policy_heads, width)
        shapes["policy_heads.shift_of_attributes"] = (config.policy_heads, attributes, width)
    return shapes


def _projection_shapes(config: ModelConfig, inputs: int) -> dict[str, tuple[int, ...]]:
    width, attributes = config.width, len(ATTRIBUTE_NAMES)
    if config.projections == "wdad":
        return {
            "base": (width, inputs),
            "down": (attributes, config.heads, config.rank, inputs),
            "up": (attributes, config.heads, width, config.rank),
            "magnitude": (attributes, config.heads, width),
        }
    return {
        "hidden.weight": (width, attributes),
        "hidden.bias": (width,),
        "generate.weight": (width * inputs, width),
        "generate.bias": (width * inputs,),
    }

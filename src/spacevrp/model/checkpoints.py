"""Reading the checkpoints of training runs: a folder of safetensors shards and a JSON header.

A folder without its header is no checkpoint. They are written by :mod:`spacevrp.train.checkpoint`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from spacevrp.inference.old_names import with_new_tensors
from spacevrp.problems.errors import SpacevrpError

HEADER = "header.json"


def list_checkpoints(folder: Path) -> list[Path]:
    """Complete checkpoints below a folder, oldest first."""
    found = folder.glob("step-*")
    return sorted(path for path in found if (path / HEADER).is_file())


def find(path: Path) -> Path:
    """The checkpoint at a path, or the newest in a run's folder."""
    if (path / HEADER).is_file():
        return path
    complete = list_checkpoints(path)
    if not complete:
        raise SpacevrpError(f"{path}: expected a checkpoint or a folder of them, found none")
    return complete[-1]


def read_header(path: Path) -> dict[str, Any]:
    """The header of the checkpoint at a path, or of the newest in a run's folder."""
    file = find(path) / HEADER
    try:
        header = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SpacevrpError(f"{file}: expected JSON, received: {error}") from None
    for key, kind in (("step", int), ("seconds", (int, float)), ("files", dict), ("config", dict)):
        if not isinstance(header, dict) or not isinstance(header.get(key), kind):
            raise SpacevrpError(f"{file}: {key}: missing or of the wrong type")
    return header


def load(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
    """Header and tensors (groups ``weights``, ``moments``, perhaps ``average``).

    ``path`` is a checkpoint, or a run's folder, whose newest checkpoint is then taken.
    """
    path = find(path)
    header = read_header(path)
    try:
        groups = {
            group: with_new_tensors(
                {k: v for name in names for k, v in load_file(path / name).items()}
            )
            for group, names in header["files"].items()
        }
    except (OSError, ValueError, SafetensorError) as error:
        raise SpacevrpError(f"{path}: not a complete checkpoint: {error}") from None
    return header, groups

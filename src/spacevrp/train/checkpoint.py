"""Checkpoints: a folder of small safetensors shards and a JSON header, written atomically.

A folder without its header is no checkpoint: it is made under another name, and renamed when it is
complete.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from spacevrp.problems.errors import SpacevrpError

SHARD_BYTES = 15 * 2**20
KEPT = 2
_HEADER = "header.json"


def save(
    folder: Path, step: int, groups: dict[str, dict[str, Tensor]], header: dict[str, Any]
) -> Path:
    """Write the checkpoint of a step below ``folder`` and drop all but the last two."""
    target = folder / f"step-{step:09d}"
    for left_over in folder.glob(".step-*.partial"):
        shutil.rmtree(left_over)
    scratch = folder / f".{target.name}.partial"
    scratch.mkdir(parents=True)
    files: dict[str, list[str]] = {}
    for group, tensors in groups.items():
        for number, shard in enumerate(_shards(tensors)):
            name = f"{group}-{number}.safetensors"
            save_file(shard, scratch / name)
            files.setdefault(group, []).append(name)
    document = {"step": step, "files": files, **header}
    (scratch / _HEADER).write_text(json.dumps(document, indent=1), encoding="utf-8")
    if target.exists():
        shutil.rmtree(target)
    scratch.replace(target)
    for old in list_checkpoints(folder)[:-KEPT]:
        shutil.rmtree(old)
    return target


def list_checkpoints(folder: Path) -> list[Path]:
    """Complete checkpoints below a folder, oldest first."""
    found = folder.glob("step-*")
    return sorted(path for path in found if (path / _HEADER).is_file())


def find(path: Path) -> Path:
    """The checkpoint at a path, or the newest in a run's folder."""
    if (path / _HEADER).is_file():
        return path
    complete = list_checkpoints(path)
    if not complete:
        raise SpacevrpError(f"{path}: expected a checkpoint or a folder of them, found none")
    return complete[-1]


def read_header(path: Path) -> dict[str, Any]:
    """The header of the checkpoint at a path, or of the newest in a run's folder."""
    file = find(path) / _HEADER
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
            group: {k: v for name in names for k, v in load_file(path / name).items()}
            for group, names in header["files"].items()
        }
    except (OSError, ValueError, SafetensorError) as error:
        raise SpacevrpError(f"{path}: not a complete checkpoint: {error}") from None
    return header, groups


def _shards(tensors: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
    shard: dict[str, Tensor] = {}
    used = 0
    for name, tensor in tensors.items():
        tensor = tensor.detach().to("cpu", copy=True).contiguous()
        size = tensor.numel() * tensor.element_size()
        if shard and used + size > SHARD_BYTES:
            yield shard
            shard, used = {}, 0
        shard[name] = tensor
        used += size
    yield shard

"""Checkpoints: a folder of small safetensors shards and a JSON header, written atomically.

A folder without its header is no checkpoint: it is made under another name, and renamed when it is
complete. How they are read is in :mod:`spacevrp.model.checkpoints`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor

from spacevrp.model.checkpoints import HEADER, find, list_checkpoints, load, read_header

__all__ = ["find", "list_checkpoints", "load", "read_header", "save"]

SHARD_BYTES = 15 * 2**20
KEPT = 2


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
    (scratch / HEADER).write_text(json.dumps(document, indent=1), encoding="utf-8")
    if target.exists():
        shutil.rmtree(target)
    scratch.replace(target)
    for old in list_checkpoints(folder)[:-KEPT]:
        shutil.rmtree(old)
    return target


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

"""Checkpoints: a folder of small safetensors shards and a JSON header, written atomically.

Moments are kept in bfloat16. Saving rounds the live moments the same way, so that a run that goes
on and a run that resumes from the checkpoint stay equal to the bit.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from spacevrp.problems.errors import SpacevrpError

SHARD_BYTES = 15 * 2**20
KEPT = 2
_HEADER = "header.json"


def save(
    folder: Path,
    step: int,
    weights: dict[str, Tensor],
    average: dict[str, Tensor] | None,
    moments: dict[str, Tensor],
    header: dict[str, Any],
) -> Path:
    """Write the checkpoint of a step below ``folder`` and drop all but the last two."""
    for moment in moments.values():
        moment.copy_(moment.to(torch.bfloat16))
    groups = {"weights": weights, "moments": {k: v.to(torch.bfloat16) for k, v in moments.items()}}
    if average is not None:
        groups["average"] = average
    target = folder / f"step-{step:09d}"
    scratch = folder / f".{target.name}.partial"
    if scratch.exists():
        shutil.rmtree(scratch)
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


def load(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
    """Header and tensors (groups ``weights``, ``moments``, perhaps ``average``).

    ``path`` is a checkpoint, or a run's folder, whose newest checkpoint is then taken.
    """
    if not (path / _HEADER).is_file():
        complete = list_checkpoints(path)
        if not complete:
            raise SpacevrpError(f"{path}: expected a checkpoint or a folder of them, found none")
        path = complete[-1]
    try:
        header = json.loads((path / _HEADER).read_text(encoding="utf-8"))
        groups = {
            group: {k: v for name in names for k, v in load_file(path / name).items()}
            for group, names in header["files"].items()
        }
    except (OSError, ValueError, KeyError) as error:
        raise SpacevrpError(f"{path}: not a complete checkpoint ({error})") from None
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

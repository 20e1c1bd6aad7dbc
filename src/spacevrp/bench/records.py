"""Records of measurements: tables for people and for programs, with all it takes to repeat them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.writing import replacing

if TYPE_CHECKING:
    from spacevrp.solver import Solver


def machine(device: Any) -> dict[str, Any]:
    """The machine in words: processor, cores, and the GPU where one was used."""
    import torch

    described: dict[str, Any] = {
        # Without the kernel's build, which names a machine rather than a kind of machine.
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": str(device),
    }
    if torch.device(str(device)).type == "cuda":
        described["gpu"] = torch.cuda.get_device_name(device)
    return described


def processor() -> str:
    """The kind of processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def command_line() -> str:
    """The command as it was typed, but for the folder the program lies in."""
    return shlex.join(["spacevrp", *sys.argv[1:]])


def checksum(model: Any) -> str:
    """SHA-256 of a model's numbers in float32, whatever file they came from."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def describe_weights(told: Mapping[str, Any]) -> str:
    """One set of weights in words."""
    parts = ", ".join(f"{key} {told[key]}" for key in ("given", "step", "group") if key in told)
    return f"{parts} (tensors {told['tensors_sha256'][:12]})"


def new_record(
    benchmark: str,
    solver: Solver,
    weights: dict[str, Any] | list[dict[str, Any]],
    protocol: str,
    heads: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """All that it takes to repeat a measurement."""
    from spacevrp.model import HEAD_STRENGTH
    from spacevrp.solver import protocol_named
    from spacevrp.train.versions import versions

    return {
        "benchmark": benchmark,
        "command": command_line(),
        "versions": versions(),
        "machine": machine(solver.device),
        "engine": solver.engine.name,
        "protocol": protocol,
        "policy_heads": protocol_named(protocol).decide("policy_heads", heads, HEAD_STRENGTH),
        **more,
        "weights": weights,
    }


@cache
def code_digest() -> str:
    """Of the package as it is now: an outcome of other code is another one."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*")):
        if path.suffix in (".py", ".so", ".pyd"):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def settings_key(
    record: Mapping[str, Any], weights: Mapping[str, Any], **set_and_augmentations: Any
) -> dict[str, Any]:
    """What an outcome depends on: times too, hence the machine."""
    machine = record["machine"]
    return {
        "engine": record["engine"],
        "weights": weights["tensors_sha256"],
        "version": f"{record['versions']['spacevrp']}+{code_digest()}",
        "protocol": record["protocol"],
        "policy_heads": record["policy_heads"],
        "device": machine.get("gpu", f"{machine['processor']}, {machine['threads']} threads"),
        **set_and_augmentations,
    }


# ----------------------------------------------------------------------------------------- tables


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are aligned to the right."""
    lines = [
        "| " + " | ".join(columns) + " |",
        "| " + " | ".join("---" if i == 0 else "---:" for i in range(len(columns))) + " |",
        *("| " + " | ".join(cell or " " for cell in row) + " |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as comma-separated values; None, and a key that a row does not have, is empty."""
    buffer = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def write_record(
    folder: Path, name: str, record: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], text: str
) -> None:
    """Write ``name.json`` (the record with its rows), ``name.csv`` and ``name.md``."""
    document = json.dumps({**record, "rows": list(rows)}, indent=1, allow_nan=False) + "\n"
    for suffix, content in ((".json", document), (".csv", csv_text(rows)), (".md", text)):
        path = folder / f"{name}{suffix}"
        with replacing(path) as temporary:
            folder.mkdir(parents=True, exist_ok=True)
            temporary.write_text(content, encoding="utf-8")

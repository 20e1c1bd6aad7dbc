"""``spacevrp versions``: what this installation is made of, for bug reports."""

from __future__ import annotations

import argparse
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from spacevrp import __version__, native

# Packages that change what is computed, by the names they are installed under.
_PACKAGES = (
    *("numpy", "safetensors", "torch", "triton", "pyvrp", "ortools", "pyvroom", "elkai"),
    *("fastapi", "pydantic", "starlette", "uvicorn"),
)
_ABSENT = "not installed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Versions of spacevrp and of all that its results may depend on."
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    """Print one line for each part."""
    found = versions()
    if args.format == "json":
        print(json.dumps(found, indent=2))
        return 0
    width = max(map(len, found))
    for name, text in found.items():
        print(f"{name:<{width}}  {text}")
    return 0


def versions() -> dict[str, str]:
    """Part -> its version or state. Imports no PyTorch: metadata and files say enough."""
    built = {"search": native.core, "network": native.network, "referee": native.judge}
    packages = {name: _version_of(name) for name in _PACKAGES}
    return {
        "spacevrp": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        **{
            f"native {name}": "not built" if module is None else "built"
            for name, module in built.items()
        },
        "instruction set": _instruction_set(),
        **packages,
        "gpu": _gpu(),
    }


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return _ABSENT


def _instruction_set() -> str:
    """That of the compiled network, chosen when it is loaded."""
    if native.network is None:
        return "none"
    return native.network.instruction_sets()[0]


def _gpu() -> str:
    """NVIDIA's driver tells without PyTorch."""
    try:
        cards = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
        models = [
            line.partition(":")[2].strip()
            for card in cards
            for line in card.read_text(encoding="utf-8").splitlines()
            if line.startswith("Model:")
        ]
    except OSError:
        models = []
    return ", ".join(models) or "none found"

"""Which device to solve on."""

from __future__ import annotations

import os
import sys
from ctypes.util import find_library
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from spacevrp.problems.errors import TORCH_MISSING, SpacevrpError

if TYPE_CHECKING:
    import torch

# What the drivers of GPUs that torch knows put there: NVIDIA's (also on Tegra and in WSL), AMD's.
_DRIVERS = ("/dev/nvidiactl", "/dev/nvmap", "/dev/dxg", "/dev/kfd")


class Device(Protocol):
    """What is asked of a device; a ``torch.device`` has it."""

    @property
    def type(self) -> str:
        """``cpu`` or ``cuda``."""
        ...


@dataclass(frozen=True)
class Cpu:
    """The CPU where torch is not needed."""

    type: str = "cpu"

    def __str__(self) -> str:
        return self.type


def has_torch() -> bool:
    """Whether torch is installed; it is not imported for that."""
    if "torch" in sys.modules:
        return sys.modules["torch"] is not None
    return find_spec("torch") is not None


def wants_gpu(device: str | torch.device) -> bool:
    """Whether to solve on a GPU: one is asked for or, with ``auto``, there is one for torch.

    Raises
    ------
    SpacevrpError
        For a GPU without torch, and for another kind of device.
    """
    kind = str(device).partition(":")[0]
    if kind == "auto":
        return _finds_gpu()
    if kind not in ("cpu", "cuda"):
        raise _unknown(device)
    if kind == "cuda" and not has_torch():
        raise SpacevrpError(f"device: expected cpu, received {str(device)!r}: {TORCH_MISSING}")
    return kind == "cuda"


def _finds_gpu() -> bool:
    """Torch takes seconds to load: it is asked only where there is a driver."""
    if not has_torch():
        return False
    if "torch" not in sys.modules and not _finds_driver():
        return False
    import torch

    return torch.cuda.is_available()


def _finds_driver() -> bool:
    if sys.platform == "darwin":
        return False
    if sys.platform == "win32":
        return find_library("nvcuda") is not None
    return any(Path(driver).exists() for driver in _DRIVERS)


def choose_device(device: str | torch.device) -> torch.device:
    """The device asked for; ``auto`` is a GPU where there is one, and the CPU otherwise."""
    import torch

    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError):
        chosen = None
    if chosen is None or chosen.type not in ("cpu", "cuda"):
        raise _unknown(device)
    if chosen.type == "cuda":
        found = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if found == 0:
            raise SpacevrpError("device: expected a CUDA device for 'cuda', found none; use cpu")
        if (chosen.index or 0) >= found:
            raise SpacevrpError(
                f"device: expected cuda:0 to cuda:{found - 1}, received {str(device)!r}"
            )
    return chosen


def _unknown(device: object) -> SpacevrpError:
    return SpacevrpError(f"device: expected auto, cpu or cuda, received {device!r}")


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

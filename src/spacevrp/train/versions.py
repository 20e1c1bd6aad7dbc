"""What a run or a measurement was made with."""

from __future__ import annotations

import contextlib
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import torch


def versions() -> dict[str, str]:
    """Versions of all that numbers may depend on."""
    # The package is there before any of its rooms. (They may not import it: it imports them.)
    package: Any = sys.modules[__name__.partition(".")[0]]
    found = {
        "spacevrp": str(package.__version__),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
    }
    with contextlib.suppress(PackageNotFoundError):  # only GPUs need it
        found["triton"] = version("triton")
    if torch.version.cuda:
        found["cuda"] = str(torch.version.cuda)
    return found


def device_name(device: torch.device) -> str:
    """The device in words."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU ({platform.machine()}, {torch.get_num_threads()} threads)"

"""Which device to solve on."""

from __future__ import annotations

import torch

from spacevrp.problems.errors import SpacevrpError


def choose_device(device: str | torch.device) -> torch.device:
    """The device asked for; ``auto`` is a GPU where there is one, and the CPU otherwise."""
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError):
        chosen = None
    if chosen is None or chosen.type not in ("cpu", "cuda"):
        raise SpacevrpError(f"device: expected auto, cpu or cuda, received {device!r}")
    if chosen.type == "cuda":
        found = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if found == 0:
            raise SpacevrpError("device: expected a CUDA device for 'cuda', found none; use cpu")
        if (chosen.index or 0) >= found:
            raise SpacevrpError(
                f"device: expected cuda:0 to cuda:{found - 1}, received {str(device)!r}"
            )
    return chosen

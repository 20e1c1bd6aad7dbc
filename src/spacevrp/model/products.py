"""Matrix products in bfloat16 on a CPU that has no instructions for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


def has_bfloat16(device: torch.device) -> bool:
    """Whether oneDNN, which multiplies for torch on a CPU, can do so in bfloat16."""
    if device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return True
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@contextmanager
def steady_products(dtype: torch.dtype, device: torch.device) -> Iterator[None]:
    """Multiply in one way from the first product to the last.

    On some CPUs without bfloat16, torch asks oneDNN for the first such product, prints the C++
    frames of its refusal as a warning and does without oneDNN from then on, in float32 too: the
    last bits of a result then depend on what was multiplied before. Here oneDNN is switched off
    where it could only refuse, and on again afterwards.
    """
    if dtype is not torch.bfloat16 or has_bfloat16(device):
        yield
        return
    settings: Any = torch.backends.mkldnn  # whose types say that it cannot be set
    before = settings.enabled
    settings.enabled = False
    try:
        yield
    finally:
        settings.enabled = before

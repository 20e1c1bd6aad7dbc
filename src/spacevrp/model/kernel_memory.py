"""How much memory the threads of a program share on a GPU.

Kernels keep tables there. Of NVIDIA's GPUs that know bfloat16 the smallest give 99 KiB, an A100
gives 163 and an H100 227: where a kernel does not fit, it is launched another way, or its slow twin
takes its place.
"""

from __future__ import annotations

import functools
import sys

import torch


def shared_memory(device: torch.device) -> int:
    """Bytes that a program may share among its threads; in Triton's interpreter there is no end."""
    if device.type != "cuda":
        return sys.maxsize
    number = device.index
    return _shared_memory_of(torch.cuda.current_device() if number is None else number)


@functools.cache
def _shared_memory_of(number: int) -> int:
    # Imported here: Triton is only there where it is needed. The same number decides in Triton
    # whether a kernel is launched.
    from triton.runtime import driver

    return int(driver.active.utils.get_device_properties(number)["max_shared_mem"])

"""Random numbers that depend on nothing but a key and the number of the step.

Every trajectory has its key of 31 bits, so what it draws is the same whatever is decoded beside it,
in whichever order, step by step or in one kernel.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spacevrp.inference.keys import NUM_KEYS

_WORD = 0xFFFFFFFF
# Steps of a Weyl sequence (the golden ratio of 2^32), whose terms are mixed by two products and
# three shifts. The kernel has the same numbers (``depot_kernel.drawn``).
WEYL = 0x9E3779B9
FIRST = 0x7FEB352D
SECOND = 0x846CA68B


def uniform(keys: Tensor, step: int | Tensor) -> Tensor:
    """Numbers from 0 up to 1 for keys (int64), in multiples of 2^-24, float32; -1 without a key.

    Nodes are drawn with the numbers of steps 0, 1, 2, ..., depots with those of -1, -2, -3, ...
    """
    word = (keys + step * WEYL) & _WORD
    # Products may wrap around: their last 32 bits are right all the same.
    word = ((word ^ (word >> 16)) * FIRST) & _WORD
    word = ((word ^ (word >> 15)) * SECOND) & _WORD
    drawn = ((word ^ (word >> 16)) >> 8).float() * 2.0**-24
    return torch.where(keys >= 0, drawn, -1.0)


def random_keys(
    shape: tuple[int, ...], device: torch.device, generator: torch.Generator | None = None
) -> Tensor:
    """Keys out of torch's own random numbers, int64."""
    return torch.randint(NUM_KEYS, shape, device=device, generator=generator)

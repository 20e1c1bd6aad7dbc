"""How much memory solving takes, and how the work is cut so that it fits.

The unit of work is a block: some instances, augmentations and start nodes. Its peak is

    instances x augmentations x (resident + max(encoding, starts x trajectory))

in bytes, with N nodes after padding and an embedding width of d:

    resident    8 N^2 + 20 d N    distances, z-scores and the tables of the decoder
    encoding   28 N^2 + 48 d N    exponentials of distances, queries, keys and values of a layer
    trajectory    80 N + 24 d     rows of distances, masks, loads, logits and the recorded moves

The factors are the largest live tensors at any time, counted over the float32 path and rounded up
(tests/solver/test_memory.py counts again); durations of their own add 4 N^2 and 16 N.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from spacevrp.engines.devices import Device
from spacevrp.problems.errors import SpacevrpError

GIB = 2**30
# Larger blocks gain nothing on a CPU, whose caches are long full by then.
CPU_BUDGET = GIB // 2
_CPU_SHARE = 0.25  # of the machine's memory, if that is less
_CUDA_SHARE = 0.8  # of what is free: the allocator needs some room between its blocks
# Augmentations that are worked on together at most: they fill the largest GPU, and with more of
# them only the wait for the next report grows.
MOST_AUGMENTATIONS = 4096


@dataclass(frozen=True)
class Footprint:
    """Bytes that an augmentation of an instance and its trajectories take."""

    resident: int
    encoding: int
    trajectory: int

    @classmethod
    def of(cls, num_nodes: int, width: int, *, own_durations: bool = False) -> Footprint:
        """The formulas above."""
        square = num_nodes * num_nodes
        return cls(
            resident=(12 if own_durations else 8) * square + 20 * width * num_nodes,
            encoding=28 * square + 48 * width * num_nodes,
            trajectory=(96 if own_durations else 80) * num_nodes + 24 * width,
        )

    def block(self, augmentations: int, starts: int) -> int:
        """Peak of so many augmentations (over all instances) with so many starts each."""
        return augmentations * (self.resident + max(self.encoding, starts * self.trajectory))


@dataclass(frozen=True)
class Cut:
    """The size of the blocks: instances, augmentations and rollouts of each in one block."""

    instances: int
    augmentations: int
    starts: int

    @property
    def smallest(self) -> bool:
        """Whether there is nothing left to cut."""
        return self.instances == self.augmentations == self.starts == 1


def cut(footprint: Footprint, *, augmentations: int, starts: int, budget: int) -> Cut:
    """The largest blocks that fit: instances are cut first, then augmentations, starts last."""
    together = min(budget // footprint.block(1, starts), MOST_AUGMENTATIONS)
    if together >= augmentations:
        return Cut(together // augmentations, augmentations, starts)
    if together >= 1:
        return Cut(1, together, starts)
    fitting = (budget - footprint.resident) // footprint.trajectory
    return Cut(1, 1, max(1, min(fitting, starts)))


def default_budget(device: Device, on_cpu: int = CPU_BUDGET) -> int:
    """Bytes that one block may take where the user sets no limit; ``on_cpu`` at most there."""
    if device.type == "cuda":
        return int(_CUDA_SHARE * available(device))
    # Of the machine's memory, not of what is free now: the same call is cut the same way again.
    return int(min(on_cpu, _CPU_SHARE * machine_memory()))


def available(device: Device) -> int:
    """Bytes that the device could hand out now."""
    if device.type == "cuda":
        import torch

        free, _ = torch.cuda.mem_get_info(str(device))
        # What the allocator holds but does not use is free to us.
        idle = torch.cuda.memory_reserved(str(device)) - torch.cuda.memory_allocated(str(device))
        return free + idle
    return machine_memory()


def most_nodes(fits: Callable[[int], bool]) -> int:
    """The most nodes that fit, where fewer of them always do."""
    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def too_large(size: int, width: int, device: Device, budget: int) -> SpacevrpError:
    """What does not fit, and what would."""

    def need(num_nodes: int) -> int:
        return Footprint.of(num_nodes, width).block(1, 1)

    most = most_nodes(lambda num_nodes: need(num_nodes) <= budget)
    return SpacevrpError(
        f"out of memory on {device}: one augmentation of an instance with {size} nodes needs "
        f"about {need(size) / GIB:.2g} GiB, there are {budget / GIB:.2g}; up to {most} nodes would "
        "fit"
    )


def machine_memory() -> int:
    """Bytes that the machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not a system that tells
        return 8 * GIB

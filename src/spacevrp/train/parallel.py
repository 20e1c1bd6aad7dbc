"""Several processes that share one run, as ``torchrun`` starts them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor

from spacevrp.problems.errors import SpacevrpError

_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK")


@contextmanager
def joined(device: str) -> Iterator[torch.device]:
    """Join the group of processes if there is one; yields the device of this process.

    A group that the process has joined already, as under Ray Train, is taken as it is, and left so.
    """
    if not _alone():
        yield choose_device(device, _number("LOCAL_RANK"))
        return
    if any(name not in os.environ for name in _VARIABLES[:2]):
        yield choose_device(device)
        return
    rank, world, local = (_number(name) for name in _VARIABLES)
    place = choose_device(device, local)
    if place.type == "cuda":
        torch.cuda.set_device(place)
    dist.init_process_group("nccl" if place.type == "cuda" else "gloo", rank=rank, world_size=world)
    try:
        yield place
    finally:
        dist.destroy_process_group()


def _number(name: str) -> int:
    text = os.environ.get(name, "0")
    if not text.isdigit():
        raise SpacevrpError(f"{name}: expected a number in the environment, received {text!r}")
    return int(text)


def choose_device(name: str, local_rank: int = 0) -> torch.device:
    """The device of a process; ``auto`` is a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(name)
    except RuntimeError:
        place = None
    if place is None or place.type not in ("cpu", "cuda"):
        raise SpacevrpError(f"device: expected auto, cpu or cuda, received {name!r}")
    if place.type == "cpu":
        return place
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    index = local_rank if place.index is None else place.index
    if index >= found:
        raise SpacevrpError(
            f"device: expected {index + 1} CUDA devices or more, found {found}; use --device cpu"
        )
    return torch.device("cuda", index)


def rank_and_world() -> tuple[int, int]:
    """Number of this process, and how many there are."""
    if _alone():
        return 0, 1
    return dist.get_rank(), dist.get_world_size()


def add_up(tensors: Sequence[Tensor]) -> None:
    """Replace tensors of one type by their sums over all processes."""
    if _alone():
        return
    # One message instead of hundreds.
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    dist.all_reduce(flat)
    parts = flat.split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))


def largest(values: Sequence[float], device: torch.device) -> list[float]:
    """The largest of each number over all processes."""
    if _alone():
        return list(values)
    shared = torch.tensor(values, dtype=torch.float64, device=device)
    dist.all_reduce(shared, op=dist.ReduceOp.MAX)
    return shared.tolist()


def _alone() -> bool:
    return not (dist.is_available() and dist.is_initialized())

"""Closing distances under min-plus: afterwards no detour is shorter than the direct way."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

# The kernel keeps a whole matrix in the registers of one multiprocessor.
_LARGEST_KERNEL_SIZE = 128


def min_plus_closure(matrix: Tensor) -> Tensor:
    """Shortest paths between all nodes, (B, N, N) -> (B, N, N), as a new tensor.

    The diagonal must be 0 and the entries must not be negative; inf means "no arc". Whole numbers
    below 2^23 stay exact in float32. May be captured in a CUDA graph.
    """
    nodes = matrix.shape[-1]
    if (
        matrix.is_cuda
        and matrix.dtype == torch.float32
        and nodes <= _LARGEST_KERNEL_SIZE
        and _has_triton()
    ):
        from spacevrp.generators.closure_triton import close_in_registers

        return close_in_registers(matrix)
    return close_by_rows(matrix)


def close_by_rows(matrix: Tensor) -> Tensor:
    """Floyd and Warshall's algorithm on any device: N rank-1 updates of all matrices."""
    closed = matrix.clone(memory_format=torch.contiguous_format)
    detour = torch.empty_like(closed)
    for node in range(closed.shape[-1]):
        torch.add(closed[:, :, node, None], closed[:, node, None, :], out=detour)
        torch.minimum(closed, detour, out=closed)
    return closed


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None  # torch brings it along on Linux only

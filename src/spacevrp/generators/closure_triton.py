"""The closure as one kernel: a program keeps one matrix in registers for all its N updates."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_SMALLEST_BLOCK = 16


@triton.jit
def _close_kernel(matrix, closed, NODES: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.arange(0, BLOCK)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    place = tl.program_id(0).to(tl.int64) * BLOCK * BLOCK + row * BLOCK + column
    infinity = float("inf")
    block = tl.load(matrix + place)
    for node in range(NODES):
        # Registers cannot be indexed: the minimum over all but one column is that column.
        to_node = tl.min(tl.where(column == node, block, infinity), axis=1)  # (BLOCK,)
        from_node = tl.min(tl.where(row == node, block, infinity), axis=0)  # (BLOCK,)
        block = tl.minimum(block, to_node[:, None] + from_node[None, :])
    tl.store(closed + place, block)


def close_in_registers(matrix: Tensor) -> Tensor:
    """Shortest paths between all nodes, (B, N, N) float32 -> a new tensor of the same shape."""
    count, nodes = matrix.shape[0], matrix.shape[-1]
    if not count:
        return matrix.clone()
    # A row that fills its block can be loaded in wide pieces. That decides how the matrix is laid
    # out in registers, and the layout makes the updates several times faster.
    block = max(_SMALLEST_BLOCK, triton.next_power_of_2(nodes))
    beyond = block - nodes
    padded = torch.nn.functional.pad(matrix, (0, beyond, 0, beyond), value=torch.inf).contiguous()
    closed = torch.empty_like(padded)
    _close_kernel[(count,)](padded, closed, NODES=nodes, BLOCK=block, num_warps=4)
    return closed[:, :nodes, :nodes]

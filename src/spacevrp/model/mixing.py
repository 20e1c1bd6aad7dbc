"""Both distance branches of a mixed bias module at once: in plain tensors, or by one kernel.

The kernel takes instances of at most 256 nodes on a GPU. It is an operator of its own, so that a
compiled model and a captured graph can hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, library

from spacevrp.model.attention import LEAST_SUM, distance_attention, keyed_values
from spacevrp.model.kernel_memory import shared_memory

MAX_NODES = 256
_ONE_TILE = 128  # nodes; of more, so many rows at a time:
_ROWS = 32
# Shared memory that a gradient takes with one tile, in bytes; with less, half as many nodes.
_MEMORY_OF_ONE_TILE = 128 * 1024
# What the operands of a tensor core may be here; the twin serves all other types.
_KERNEL_TYPES = (torch.bfloat16,)
_KERNEL_WIDTHS = (64, 128)
_CHANNELS = 64  # of a program; fewer where a gradient adds up over tiles
_FEWER_CHANNELS = 32
_NUM_WARPS = 8


def mix(qkv: Tensor, spread: Tensor, weight: Tensor, is_node: Tensor, dtype: torch.dtype) -> Tensor:
    """Distance attention along outgoing and incoming arcs, (B, N, 2d).

    ``qkv`` (B, N, 6d) is query, key and value of the outgoing branch, then of the incoming one.
    Distances ``spread`` (B, N, N), at least 0 and 0 on the diagonal, weigh ``weight`` (B, 2) in
    each.
    """
    width = qkv.shape[-1] // 6
    fits = qkv.shape[1] <= MAX_NODES and width in _KERNEL_WIDTHS
    if qkv.is_cuda and qkv.dtype is dtype and dtype in _KERNEL_TYPES and fits:
        return fused_mix(qkv, spread, weight, is_node)
    return plain_mix(qkv, spread, weight, is_node, dtype)


def plain_mix(
    qkv: Tensor, spread: Tensor, weight: Tensor, is_node: Tensor, dtype: torch.dtype
) -> Tensor:
    """The same on any device, in the type of ``spread`` but for the matrix products."""
    query_out, key_out, value_out, query_in, key_in, value_in = qkv.to(spread.dtype).chunk(6, -1)
    outgoing = distance_attention(
        query_out, keyed_values(key_out, value_out, is_node), spread, weight[:, 0], dtype
    )
    incoming = distance_attention(
        query_in,
        keyed_values(key_in, value_in, is_node),
        spread.transpose(1, 2),
        weight[:, 1],
        dtype,
    )
    return torch.cat([outgoing, incoming], dim=-1)


@library.custom_op("spacevrp::mix", mutates_args=())
def fused_mix(qkv: Tensor, spread: Tensor, weight: Tensor, is_node: Tensor) -> Tensor:
    """The same by one kernel, in the type of ``qkv``."""
    from spacevrp.model.mixing_kernel import mix_kernel

    qkv, spread, weight, real = _laid_out(qkv, spread, weight, is_node)
    size, nodes, channels = qkv.shape
    out = qkv.new_empty((size, nodes, channels // 3))
    options = _options(qkv, _ONE_TILE, _CHANNELS)
    mix_kernel[_grid(qkv, options)](qkv, spread, weight, real, out, nodes, **options)
    return out


@library.custom_op("spacevrp::mix_backward", mutates_args=())
def fused_mix_backward(
    qkv: Tensor, spread: Tensor, weight: Tensor, is_node: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients with respect to ``qkv`` and ``weight``."""
    from spacevrp.model.mixing_kernel import mix_backward_kernel

    qkv, spread, weight, real = _laid_out(qkv, spread, weight, is_node)
    grad_qkv = torch.empty_like(qkv)
    small = shared_memory(qkv.device) < _MEMORY_OF_ONE_TILE
    one_tile = _ONE_TILE // 2 if small else _ONE_TILE
    channels = _CHANNELS if qkv.shape[1] <= one_tile else _FEWER_CHANNELS
    options = _options(qkv, one_tile, channels)
    grid = _grid(qkv, options)
    shares = weight.new_empty(grid)
    taken = (qkv, spread, weight, real, grad.contiguous())
    mix_backward_kernel[grid](*taken, grad_qkv, shares, qkv.shape[1], **options)
    return grad_qkv, shares.sum(dim=2)


def _laid_out(qkv: Tensor, spread: Tensor, weight: Tensor, is_node: Tensor) -> tuple[Tensor, ...]:
    return (
        qkv.contiguous(),
        spread.float().contiguous(),
        weight.float().contiguous(),
        is_node.to(torch.int8).contiguous(),
    )


def _grid(qkv: Tensor, options: Mapping[str, Any]) -> tuple[int, int, int]:
    return qkv.shape[0], 2, options["WIDTH"] // options["BLOCK_D"]


def _options(qkv: Tensor, one_tile: int, channels: int) -> dict[str, Any]:
    import triton

    width = qkv.shape[2] // 6
    block = max(16, triton.next_power_of_2(qkv.shape[1]))
    return {
        "WIDTH": width,
        "BLOCK_N": block,
        "BLOCK_M": block if block <= one_tile else _ROWS,
        "BLOCK_D": min(channels, width),
        "TINY": LEAST_SUM,
        "FAST": qkv.is_cuda,
        "num_warps": _NUM_WARPS,
        "num_stages": 1,  # nothing is fetched ahead: it would take the memory of the tables
    }


@fused_mix.register_fake
def _(qkv: Tensor, spread: Tensor, weight: Tensor, is_node: Tensor) -> Tensor:
    return qkv.new_empty((qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3))


@fused_mix_backward.register_fake
def _(
    qkv: Tensor, spread: Tensor, weight: Tensor, is_node: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor]:
    return torch.empty_like(qkv), weight.new_empty((qkv.shape[0], 2))


def _keep(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    ctx.save_for_backward(*inputs)


def _go_back(ctx, grad):  # type: ignore[no-untyped-def]
    qkv, spread, weight, is_node = ctx.saved_tensors
    grad_qkv, grad_weight = fused_mix_backward(qkv, spread, weight, is_node, grad)
    return grad_qkv, None, grad_weight.to(weight.dtype), None


fused_mix.register_autograd(_go_back, setup_context=_keep)

"""Triton kernels for both distance branches of a mixed bias module, forward and backward.

A program owns one branch of one instance and a part of its channels. The branch that looks at
incoming distances reads the same matrix the other way round. All intermediate matrices stay on the
multiprocessor; the backward pass computes them again.
"""

from __future__ import annotations

import triton
import triton.language as tl

from spacevrp.model.kernel_arithmetic import exponential, inverse

# Query, key and value of two branches.
BRANCHES = tl.constexpr(2)
ROLES = tl.constexpr(3)


@triton.jit
def _keys(at_key, inside, real, FAST: tl.constexpr):
    """exp(K) with the largest exponent of each channel at 0; 0 for padding."""
    key = tl.load(at_key, mask=inside, other=0.0).to(tl.float32)
    key = tl.where(real[:, None], key, -float("inf"))
    return exponential(key - tl.max(key, axis=0)[None, :], FAST)


@triton.jit
def _forward(
    qkv_ptr, spread_ptr, weight_ptr, real_ptr, out_ptr, nodes,
    BRANCH: tl.constexpr, WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    TINY: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK_N)
    dims = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    inside = (rows < nodes)[:, None]
    real = tl.load(real_ptr + b * nodes + rows, mask=rows < nodes, other=0) != 0
    dtype = qkv_ptr.dtype.element_ty

    at_query = qkv_ptr + (b * nodes + rows[:, None]) * BRANCHES * ROLES * WIDTH
    at_query += BRANCH * ROLES * WIDTH + dims[None, :]
    key = _keys(at_query + WIDTH, inside, real, FAST)  # (N, D)
    value = tl.load(at_query + 2 * WIDTH, mask=inside, other=0.0).to(tl.float32)
    valued = (key * value).to(dtype)

    pair = inside & (rows < nodes)[None, :]
    at_spread = spread_ptr + b * nodes * nodes + rows[:, None] * nodes + rows[None, :]
    spread = tl.load(at_spread, mask=pair, other=0.0)  # (N, N)
    weight = tl.load(weight_ptr + b * BRANCHES + BRANCH)
    bias = exponential(-weight * spread, FAST).to(dtype)
    if BRANCH == 1:
        bias = tl.trans(bias)
    numerator = tl.dot(bias, valued, input_precision="ieee")  # (N, D)
    denominator = tl.dot(bias, key.to(dtype), input_precision="ieee")
    query = tl.load(at_query, mask=inside, other=0.0).to(tl.float32)
    # The gate and the ratio in one division: n / d / (1 + exp(-q)).
    bottom = tl.maximum(denominator, TINY) * (1.0 + exponential(tl.minimum(-query, 20.0), FAST))
    mixed = numerator * inverse(bottom, FAST)
    at_out = out_ptr + (b * nodes + rows[:, None]) * BRANCHES * WIDTH + BRANCH * WIDTH
    tl.store(at_out + dims[None, :], mixed.to(dtype), mask=inside)


@triton.jit
def mix_kernel(
    qkv_ptr, spread_ptr, weight_ptr, real_ptr, out_ptr, nodes,
    WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, TINY: tl.constexpr,
    FAST: tl.constexpr,
):  # fmt: skip
    """Output (B, N, 2d) of both branches from their projections (B, N, 6d)."""
    if tl.program_id(1) == 0:
        _forward(
            qkv_ptr, spread_ptr, weight_ptr, real_ptr, out_ptr, nodes,
            0, WIDTH, BLOCK_N, BLOCK_D, TINY, FAST,
        )  # fmt: skip
    else:
        _forward(
            qkv_ptr, spread_ptr, weight_ptr, real_ptr, out_ptr, nodes,
            1, WIDTH, BLOCK_N, BLOCK_D, TINY, FAST,
        )  # fmt: skip


@triton.jit
def _backward(
    qkv_ptr, spread_ptr, weight_ptr, real_ptr, grad_ptr, grad_qkv_ptr, grad_weight_ptr, nodes,
    BRANCH: tl.constexpr, WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    TINY: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK_N)
    dims = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    inside = (rows < nodes)[:, None]
    real = tl.load(real_ptr + b * nodes + rows, mask=rows < nodes, other=0) != 0
    dtype = qkv_ptr.dtype.element_ty

    offsets = (b * nodes + rows[:, None]) * BRANCHES * ROLES * WIDTH
    offsets += BRANCH * ROLES * WIDTH + dims[None, :]
    at_query = qkv_ptr + offsets
    key = _keys(at_query + WIDTH, inside, real, FAST)  # (N, D)
    value = tl.load(at_query + 2 * WIDTH, mask=inside, other=0.0).to(tl.float32)
    valued = (key * value).to(dtype)
    keyed = key.to(dtype)

    pair = inside & (rows < nodes)[None, :]
    at_spread = spread_ptr + b * nodes * nodes + rows[:, None] * nodes + rows[None, :]
    spread = tl.load(at_spread, mask=pair, other=0.0)  # (N, N)
    weight = tl.load(weight_ptr + b * BRANCHES + BRANCH)
    bias = exponential(-weight * spread, FAST)
    # The derivative of the biases with respect to the weight, but for its sign.
    slope = (bias * spread).to(dtype)
    bias = bias.to(dtype)
    if BRANCH == 1:
        bias = tl.trans(bias)
        slope = tl.trans(slope)
    numerator = tl.dot(bias, valued, input_precision="ieee")  # (N, D)
    denominator = tl.dot(bias, keyed, input_precision="ieee")

    query = tl.load(at_query, mask=inside, other=0.0).to(tl.float32)
    at_grad = grad_ptr + (b * nodes + rows[:, None]) * BRANCHES * WIDTH + BRANCH * WIDTH
    grad = tl.load(at_grad + dims[None, :], mask=inside, other=0.0).to(tl.float32)
    gate = inverse(1.0 + exponential(tl.minimum(-query, 20.0), FAST), FAST)
    scale = inverse(tl.maximum(denominator, TINY), FAST)
    ratio = numerator * scale
    grad *= gate
    grad_query = grad * ratio * (1.0 - gate)
    tl.store(grad_qkv_ptr + offsets, grad_query.to(dtype), mask=inside)
    grad *= scale
    grad_numerator = grad.to(dtype)
    grad_denominator = (-grad * ratio).to(dtype)

    share = grad_numerator.to(tl.float32) * tl.dot(slope, valued, input_precision="ieee")
    share += grad_denominator.to(tl.float32) * tl.dot(slope, keyed, input_precision="ieee")
    parts: tl.constexpr = WIDTH // BLOCK_D
    at_share = grad_weight_ptr + (b * BRANCHES + BRANCH) * parts + tl.program_id(2)
    tl.store(at_share, -tl.sum(tl.sum(share, axis=1), axis=0))

    # The sums go back over the same biases, turned round.
    turned = tl.trans(bias)
    grad_valued = tl.dot(turned, grad_numerator, input_precision="ieee")  # (N, D)
    grad_keyed = tl.dot(turned, grad_denominator, input_precision="ieee")
    tl.store(grad_qkv_ptr + offsets + 2 * WIDTH, (grad_valued * key).to(dtype), mask=inside)
    # The maximum that was subtracted from the keys cancels in the ratio: it has no gradient.
    grad_key = (grad_valued * value + grad_keyed) * key
    tl.store(grad_qkv_ptr + offsets + WIDTH, grad_key.to(dtype), mask=inside)


@triton.jit
def mix_backward_kernel(
    qkv_ptr, spread_ptr, weight_ptr, real_ptr, grad_ptr, grad_qkv_ptr, grad_weight_ptr, nodes,
    WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, TINY: tl.constexpr,
    FAST: tl.constexpr,
):  # fmt: skip
    """Gradients of the projections (B, N, 6d) and, in parts, of the weights (B, 2, parts)."""
    if tl.program_id(1) == 0:
        _backward(
            qkv_ptr, spread_ptr, weight_ptr, real_ptr, grad_ptr, grad_qkv_ptr, grad_weight_ptr,
            nodes, 0, WIDTH, BLOCK_N, BLOCK_D, TINY, FAST,
        )  # fmt: skip
    else:
        _backward(
            qkv_ptr, spread_ptr, weight_ptr, real_ptr, grad_ptr, grad_qkv_ptr, grad_weight_ptr,
            nodes, 1, WIDTH, BLOCK_N, BLOCK_D, TINY, FAST,
        )  # fmt: skip

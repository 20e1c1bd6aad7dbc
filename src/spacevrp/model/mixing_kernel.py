"""Triton kernels for both distance branches of a mixed bias module, forward and backward.

A program owns one branch of one instance and a part of its channels. The branch that looks at
incoming distances reads the same matrix the other way round. All intermediate matrices stay on the
multiprocessor; the backward pass computes them again. Larger instances take one tile of rows after
the other.
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
def _spread(spread_ptr, rows, cols, nodes, BRANCH: tl.constexpr):
    """Distances of rows (M,) to columns (N,); the second branch looks the other way.

    They are (N, M) there: what follows from them is turned round.
    """
    if BRANCH == 1:
        at = spread_ptr + cols[:, None] * nodes + rows[None, :]
        pair = (cols < nodes)[:, None] & (rows < nodes)[None, :]
    else:
        at = spread_ptr + rows[:, None] * nodes + cols[None, :]
        pair = (rows < nodes)[:, None] & (cols < nodes)[None, :]
    return tl.load(at, mask=pair, other=0.0)


@triton.jit
def _forward(
    qkv_ptr, spread_ptr, weight_ptr, real_ptr, out_ptr, nodes,
    BRANCH: tl.constexpr, WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_D: tl.constexpr, TINY: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    dims = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    inside = (cols < nodes)[:, None]
    real = tl.load(real_ptr + b * nodes + cols, mask=cols < nodes, other=0) != 0
    dtype = qkv_ptr.dtype.element_ty

    of_branch = qkv_ptr + b * nodes * BRANCHES * ROLES * WIDTH + BRANCH * ROLES * WIDTH
    of_branch += dims[None, :]
    at_key = of_branch + cols[:, None] * BRANCHES * ROLES * WIDTH + WIDTH
    key = _keys(at_key, inside, real, FAST)  # (N, D)
    value = tl.load(at_key + WIDTH, mask=inside, other=0.0).to(tl.float32)
    valued = (key * value).to(dtype)
    keyed = key.to(dtype)
    weight = tl.load(weight_ptr + b * BRANCHES + BRANCH)

    for begin in range(0, BLOCK_N, BLOCK_M):
        rows = begin + tl.arange(0, BLOCK_M)
        inside_rows = (rows < nodes)[:, None]
        spread = _spread(spread_ptr + b * nodes * nodes, rows, cols, nodes, BRANCH)
        bias = exponential(-weight * spread, FAST).to(dtype)
        if BRANCH == 1:
            bias = tl.trans(bias)
        numerator = tl.dot(bias, valued, input_precision="ieee")  # (M, D)
        denominator = tl.dot(bias, keyed, input_precision="ieee")
        at_query = of_branch + rows[:, None] * BRANCHES * ROLES * WIDTH
        query = tl.load(at_query, mask=inside_rows, other=0.0).to(tl.float32)
        # The gate and the ratio in one division: n / d / (1 + exp(-q)).
        gate = 1.0 + exponential(tl.minimum(-query, 20.0), FAST)
        mixed = numerator * inverse(tl.maximum(denominator, TINY) * gate, FAST)
        at_out = out_ptr + (b * nodes + rows[:, None]) * BRANCHES * WIDTH + BRANCH * WIDTH
        tl.store(at_out + dims[None, :], mixed.to(dtype), mask=inside_rows)


@triton.jit
def mix_kernel(
    qkv_ptr, spread_ptr, weight_ptr, real_ptr, out_ptr, nodes,
    WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr,
    TINY: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Output (B, N, 2d) of both branches from their projections (B, N, 6d)."""
    if tl.program_id(1) == 0:
        _forward(
            qkv_ptr, spread_ptr, weight_ptr, real_ptr, out_ptr, nodes,
            0, WIDTH, BLOCK_N, BLOCK_M, BLOCK_D, TINY, FAST,
        )  # fmt: skip
    else:
        _forward(
            qkv_ptr, spread_ptr, weight_ptr, real_ptr, out_ptr, nodes,
            1, WIDTH, BLOCK_N, BLOCK_M, BLOCK_D, TINY, FAST,
        )  # fmt: skip


@triton.jit
def _backward(
    qkv_ptr, spread_ptr, weight_ptr, real_ptr, grad_ptr, grad_qkv_ptr, grad_weight_ptr, nodes,
    BRANCH: tl.constexpr, WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_D: tl.constexpr, TINY: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    dims = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    inside = (cols < nodes)[:, None]
    real = tl.load(real_ptr + b * nodes + cols, mask=cols < nodes, other=0) != 0
    dtype = qkv_ptr.dtype.element_ty

    of_branch = b * nodes * BRANCHES * ROLES * WIDTH + BRANCH * ROLES * WIDTH + dims[None, :]
    of_key = of_branch + cols[:, None] * BRANCHES * ROLES * WIDTH + WIDTH
    key = _keys(qkv_ptr + of_key, inside, real, FAST)  # (N, D)
    value = tl.load(qkv_ptr + of_key + WIDTH, mask=inside, other=0.0).to(tl.float32)
    valued = (key * value).to(dtype)
    keyed = key.to(dtype)
    weight = tl.load(weight_ptr + b * BRANCHES + BRANCH)

    grad_valued = tl.zeros([BLOCK_N, BLOCK_D], dtype=tl.float32)
    grad_keyed = tl.zeros([BLOCK_N, BLOCK_D], dtype=tl.float32)
    grad_weight = 0.0
    for begin in range(0, BLOCK_N, BLOCK_M):
        rows = begin + tl.arange(0, BLOCK_M)
        inside_rows = (rows < nodes)[:, None]
        spread = _spread(spread_ptr + b * nodes * nodes, rows, cols, nodes, BRANCH)
        bias = exponential(-weight * spread, FAST)
        # The derivative of the biases with respect to the weight, but for its sign.
        slope = (bias * spread).to(dtype)
        bias = bias.to(dtype)
        if BRANCH == 1:
            bias = tl.trans(bias)
            slope = tl.trans(slope)
        numerator = tl.dot(bias, valued, input_precision="ieee")  # (M, D)
        denominator = tl.dot(bias, keyed, input_precision="ieee")

        of_query = of_branch + rows[:, None] * BRANCHES * ROLES * WIDTH
        query = tl.load(qkv_ptr + of_query, mask=inside_rows, other=0.0).to(tl.float32)
        at_grad = grad_ptr + (b * nodes + rows[:, None]) * BRANCHES * WIDTH + BRANCH * WIDTH
        grad = tl.load(at_grad + dims[None, :], mask=inside_rows, other=0.0).to(tl.float32)
        gate = inverse(1.0 + exponential(tl.minimum(-query, 20.0), FAST), FAST)
        scale = inverse(tl.maximum(denominator, TINY), FAST)
        ratio = numerator * scale
        grad *= gate
        grad_query = grad * ratio * (1.0 - gate)
        tl.store(grad_qkv_ptr + of_query, grad_query.to(dtype), mask=inside_rows)
        grad *= scale
        grad_numerator = grad.to(dtype)
        grad_denominator = (-grad * ratio).to(dtype)

        share = grad_numerator.to(tl.float32) * tl.dot(slope, valued, input_precision="ieee")
        share += grad_denominator.to(tl.float32) * tl.dot(slope, keyed, input_precision="ieee")
        grad_weight -= tl.sum(tl.sum(share, axis=1), axis=0)
        # The sums go back over the same biases, turned round.
        turned = tl.trans(bias)
        grad_valued = tl.dot(turned, grad_numerator, grad_valued, input_precision="ieee")  # (N, D)
        grad_keyed = tl.dot(turned, grad_denominator, grad_keyed, input_precision="ieee")

    parts: tl.constexpr = WIDTH // BLOCK_D
    at_share = grad_weight_ptr + (b * BRANCHES + BRANCH) * parts + tl.program_id(2)
    tl.store(at_share, grad_weight)

    if BLOCK_M < BLOCK_N:  # held across the loop, they would take the registers of the sums
        key = _keys(qkv_ptr + of_key, inside, real, FAST)
        value = tl.load(qkv_ptr + of_key + WIDTH, mask=inside, other=0.0).to(tl.float32)
    tl.store(grad_qkv_ptr + of_key + WIDTH, (grad_valued * key).to(dtype), mask=inside)
    # The maximum that was subtracted from the keys cancels in the ratio: it has no gradient.
    grad_key = (grad_valued * value + grad_keyed) * key
    tl.store(grad_qkv_ptr + of_key, grad_key.to(dtype), mask=inside)


@triton.jit
def mix_backward_kernel(
    qkv_ptr, spread_ptr, weight_ptr, real_ptr, grad_ptr, grad_qkv_ptr, grad_weight_ptr, nodes,
    WIDTH: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr,
    TINY: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Gradients of the projections (B, N, 6d) and, in parts, of the weights (B, 2, parts)."""
    if tl.program_id(1) == 0:
        _backward(
            qkv_ptr, spread_ptr, weight_ptr, real_ptr, grad_ptr, grad_qkv_ptr, grad_weight_ptr,
            nodes, 0, WIDTH, BLOCK_N, BLOCK_M, BLOCK_D, TINY, FAST,
        )  # fmt: skip
    else:
        _backward(
            qkv_ptr, spread_ptr, weight_ptr, real_ptr, grad_ptr, grad_qkv_ptr, grad_weight_ptr,
            nodes, 1, WIDTH, BLOCK_N, BLOCK_M, BLOCK_D, TINY, FAST,
        )  # fmt: skip

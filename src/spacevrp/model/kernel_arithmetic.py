"""Arithmetic inside Triton kernels: exact everywhere, or quick where that is enough."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice

from spacevrp.model import attention

LEAST_SUM = tl.constexpr(attention.LEAST_SUM)


@triton.jit
def exponential(x, FAST: tl.constexpr):
    """exp(x); in two instructions, to about 1e-6, where FAST."""
    if FAST:
        return libdevice.fast_expf(x)
    return tl.exp(x)


@triton.jit
def inverse(x, FAST: tl.constexpr):
    """1 / x; in one instruction, to about 1e-7, where FAST. The inverse of infinity is 0."""
    if FAST:
        return tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    return 1.0 / x


@triton.jit
def tanh(x, FAST: tl.constexpr):
    """Saturates instead of overflowing: exp of a large number is infinite, and its inverse 0."""
    return 1.0 - 2.0 * inverse(exponential(2.0 * x, FAST) + 1.0, FAST)


@triton.jit
def _right(left, right):
    return right


@triton.jit
def by_rows(x, FAST: tl.constexpr):
    """X (P, N), whose rows each stay in one warp from here on; no value changes.

    The compiler spreads the layout of a product over all that follows it, and a scan ends that.
    Sums and maxima of rows then wait for no other warp: half of a rollout's barriers go.
    """
    if FAST:
        return tl.associative_scan(x, 1, _right)
    return x

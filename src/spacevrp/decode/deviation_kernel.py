"""Deviations inside the rollout kernel: the twin of ``deviation.choose_other``."""

from __future__ import annotations

import triton
import triton.language as tl

from spacevrp.decode.fused_layout import BIG


@triton.jit
def other_move(score, planned, rank, RANKS: tl.constexpr):
    """The move (P,) of each rank by scores (P, N) but the planned one, or that if there is none."""
    cols = tl.arange(0, score.shape[1])[None, :]
    others = tl.where(cols == planned[:, None], -BIG, score)
    for number in tl.static_range(RANKS - 1):
        top = tl.argmax(others, axis=1)
        passed = (cols == top[:, None]) & (rank[:, None] > number)
        others = tl.where(passed, -BIG, others)
    found = tl.argmax(others, axis=1).to(tl.int32)
    return tl.where(tl.max(others, axis=1) > -BIG, found, planned)

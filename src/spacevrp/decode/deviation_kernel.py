"""Deviations inside the rollout kernel: the twin of ``deviation.choose_other``."""

from __future__ import annotations

import triton
import triton.language as tl

from spacevrp.decode.fused_layout import BIG
from spacevrp.inference.rollouts import UNLIKELY

MUCH_UNLIKELIER = tl.constexpr(UNLIKELY)


@triton.jit
def other_move(score, planned, rank, RANKS: tl.constexpr):
    """The move (P,) of each rank by scores (P, N) but the planned one, or that if there is none.

    Moves that are much unlikelier than the likeliest do not count.
    """
    cols = tl.arange(0, score.shape[1])[None, :]
    others = tl.where(cols == planned[:, None], -BIG, score)
    for number in tl.static_range(RANKS - 1):
        top = tl.argmax(others, axis=1)
        passed = (cols == top[:, None]) & (rank[:, None] > number)
        others = tl.where(passed, -BIG, others)
    found = tl.argmax(others, axis=1).to(tl.int32)
    best, least = tl.max(others, axis=1), tl.max(score, axis=1) - MUCH_UNLIKELIER
    return tl.where(best >= least, found, planned)

"""Drawn depots inside the rollout kernel: the twin of what ``look_ahead`` draws."""

from __future__ import annotations

import triton
import triton.language as tl

from spacevrp.decode.depot_choices import MOST
from spacevrp.decode.random_numbers import FIRST, SECOND, WEYL
from spacevrp.model.kernel_arithmetic import exponential

_WEYL, _FIRST, _SECOND = tl.constexpr(WEYL), tl.constexpr(FIRST), tl.constexpr(SECOND)
_MOST = tl.constexpr(MOST)
NOT_ASKED = tl.constexpr(-1e30)


@triton.jit
def drawn(keys, step):
    """The numbers of ``random_numbers.uniform`` for keys of 31 bits."""
    word = keys.to(tl.uint32) + step.to(tl.uint32) * _WEYL
    word = (word ^ (word >> 16)) * _FIRST
    word = (word ^ (word >> 15)) * _SECOND
    word = word ^ (word >> 16)
    return (word >> 8).to(tl.float32) * 5.9604644775390625e-08  # 2^-24


@triton.jit
def log_odds(score, node, top, FAST: tl.constexpr):
    """Log odds (P,) of a node (P,), whose score is ``top``, by the scores of all, (P, N)."""
    cols = tl.arange(0, score.shape[1])[None, :]
    others = tl.where(cols == node[:, None], 0.0, exponential(score - top[:, None], FAST))
    return tl.minimum(-tl.log(tl.maximum(tl.sum(others, axis=1), 1e-30)), _MOST)


@triton.jit
def draw_depot(
    odds, surest, current, keys, step, likeliest,
    TEMPERATURE: tl.constexpr, BLOCK_K: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """A depot (P,) by the odds of each, (P, K), and the chance of the likeliest single move.

    ``surest`` (P,) is taken without a key; ``likeliest`` (P,) is the chance of the likeliest
    customer of the ``current`` depot.
    """
    depots = tl.arange(0, BLOCK_K)[None, :]
    most = tl.max(odds, axis=1)
    share = exponential((odds - most[:, None]) * (1.0 / TEMPERATURE), FAST)
    share = tl.where(odds > NOT_ASKED, share, 0.0)
    everything = tl.sum(share, axis=1)
    level = tl.maximum(drawn(keys, -1 - step), 1e-7) * everything
    # The last depot whose share begins below the level, whatever the rounding.
    before = (share > 0) & (_below(share, BLOCK_K) < level[:, None])
    found = tl.max(tl.where(before, depots, 0), axis=1)
    found = tl.where(keys < 0, surest, found)
    here = depots == current[:, None]
    single = tl.max(tl.where(here, share * likeliest[:, None], share), axis=1)
    return found, single / tl.maximum(everything, 1e-30)


@triton.jit
def _below(share, BLOCK_K: tl.constexpr):
    """The sum (P, K) of what comes before each of few columns.

    A scan would do; the compiler fails at one over fewer columns than a product of matrices has.
    """
    columns = tl.arange(0, BLOCK_K)[None, :]
    below = tl.zeros(share.shape, dtype=tl.float32)
    for column in tl.static_range(BLOCK_K - 1):
        own = tl.sum(tl.where(columns == column, share, 0.0), axis=1)
        below += tl.where(columns > column, own[:, None], 0.0)
    return below


@triton.jit
def store_signals(told, signals, mask, SIGNALS: tl.constexpr):
    """Write as many signals (P,) as the network is told; four of them at once.

    Each store makes warps wait for each other: the last four may be some of the first once more.
    """
    if SIGNALS < 4:
        for number in tl.static_range(SIGNALS):
            tl.store(told + number, signals[number], mask=mask)
    else:
        _store_four(told, signals[0], signals[1], signals[2], signals[3], mask)
        if SIGNALS > 4:
            LAST: tl.constexpr = SIGNALS - 4
            a, b = signals[LAST], signals[LAST + 1]
            _store_four(told + LAST, a, b, signals[LAST + 2], signals[LAST + 3], mask)


@triton.jit
def _store_four(at, a, b, c, d, mask):
    low, high = tl.arange(0, 2)[None, :, None], tl.arange(0, 2)[None, None, :]
    four = tl.join(tl.join(a, b), tl.join(c, d))
    tl.store(at[:, None, None] + low + 2 * high, four, mask=mask[:, None, None])

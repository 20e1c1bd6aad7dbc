"""Keys of random numbers: one for every trajectory that samples its moves (see decode/draws.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

NUM_KEYS = 2**31
# In the place of a key: take the likeliest move, and draw nothing.
LIKELIEST = -1


def numbered_keys(seed: int, views: range, count: int) -> np.ndarray[Any, Any]:
    """Keys of the first ``count`` trajectories of some views, (V, count) int64.

    They follow from the seed, the number of the view and that of the trajectory.
    """
    rows = [
        # Philox draws one after the other: the first of many are those of few.
        np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, view]))).integers(
            NUM_KEYS, size=count, dtype=np.int64
        )
        for view in views
    ]
    return np.array(rows, dtype=np.int64).reshape(len(views), count)

"""Views that lean: in each the same network wants something slightly different.

Views differ in their pivots, and a network that has learned well plans much alike whatever these
are: the best of eight such plans is little better than one. So in every view but the first a vector
is added to the queries of the decoder, drawn once for the view. Each of them prefers other plans,
all of them about as good, and the best of these is better.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

# How long the vectors are by default, in the queries' own deviation: from twice as much on plans
# become worse faster than they become different.
LEAN = 0.25
_SEED = 0


def leanings(views: range, width: int) -> Tensor:
    """What each view adds to queries, in their deviation, (V, d) float32; 0 in the first of all.

    A view of one number leans alike whatever the seed, which decides its pivots.
    """
    rows = [
        np.random.default_rng([_SEED, view]).standard_normal(width) if view else np.zeros(width)
        for view in views
    ]
    return torch.from_numpy(np.array(rows, dtype=np.float32))


def lean(query: Tensor, leaning: Tensor, is_node: Tensor) -> Tensor:
    """Queries (..., N, d) with the leanings (..., d) of their views added.

    How large these are is measured in the deviation of all numbers of the nodes' own queries, one
    for each view of each instance. Padding (..., N) does not count.
    """
    real = is_node.unsqueeze(-1).to(query.dtype)
    count = (real.sum(dim=(-2, -1), keepdim=True) * query.shape[-1]).clamp(min=1)
    mean = (query * real).sum(dim=(-2, -1), keepdim=True) / count
    spread = (((query - mean) * real).square().sum(dim=(-2, -1), keepdim=True) / count).sqrt()
    return query + spread * leaning.unsqueeze(-2)

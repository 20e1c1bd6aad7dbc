"""Adaptation attention free modules, computed stably.

    Attention(Q, K, V, A) = sigmoid(Q) * (exp(A) (exp(K) * V)) / (exp(A) exp(K))

Any constant added to a row of A, or to a column of K, cancels in the ratio, so both maxima are
subtracted before the exponential.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Sums of exponentials below this count as this, in the kernels and the compiled network, too: the
# gradient of a ratio is its inverse, and must not overflow.
LEAST_SUM = 1e-30


def keyed_values(key: Tensor, value: Tensor, is_node: Tensor) -> Tensor:
    """[exp(K) * V | exp(K)], (B, N, 2d), the largest exponent of each column being 0."""
    padding = ~is_node.unsqueeze(-1)
    key = key.masked_fill(padding, -torch.inf)
    weight = (key - key.amax(dim=1, keepdim=True)).exp()
    return torch.cat([weight * value, weight], dim=-1)


def gated_ratio(query: Tensor, sums: Tensor) -> Tensor:
    """sigmoid(Q) times the ratio of the two halves of ``sums`` (..., 2d)."""
    numerator, denominator = sums.chunk(2, dim=-1)
    return query.sigmoid() * (numerator / denominator.clamp(min=LEAST_SUM))


def distance_attention(
    query: Tensor, keyed: Tensor, spread: Tensor, weight: Tensor, dtype: torch.dtype
) -> Tensor:
    """Attention with A = -weight * distance, (B, N, d).

    ``spread`` (B, N, N) is at least 0 and 0 on the diagonal, so every row of A peaks at 0. The
    product runs in ``dtype``.
    """
    bias = torch.exp(-weight[:, None, None] * spread)
    sums = bias.to(dtype) @ keyed.to(dtype)
    return gated_ratio(query, sums.to(query.dtype))


def relation_attention(query: Tensor, keyed: Tensor, partner: Tensor, weight: Tensor) -> Tensor:
    """Attention with A = -weight * R where R is 0 for the partner and 1 otherwise, (B, N, d).

    exp(A) has only two values, so no N x N matrix is needed:
    exp(A) X = exp(-weight) (sum over X) + (1 - exp(-weight)) X[partner].
    A node that is its own partner (a depot) has none: its row of R is 1 throughout.
    """
    low = torch.exp(-weight)[:, None, None]
    index = partner.unsqueeze(-1).expand(-1, -1, keyed.shape[-1])
    alone = partner == torch.arange(partner.shape[1], device=partner.device)  # (B, N)
    extra = ((1.0 - low) * keyed.gather(1, index)).masked_fill(alone.unsqueeze(-1), 0.0)
    return gated_ratio(query, low * keyed.sum(dim=1, keepdim=True) + extra)

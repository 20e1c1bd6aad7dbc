"""Bias networks: how strongly distances count, from the problem representation.

The paper's ReLU is a trap here. Once noise has carried an alpha below 0 its gradient is 0 too: the
branch averages over all nodes, blind to distances, for the rest of the training. So a training run
may let gradients pass that would raise such an alpha (``bias_recovery`` of a run). Plans are the
same either way.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from spacevrp.problems.features import ATTRIBUTE_NAMES


class _Rectify(torch.autograd.Function):
    """A ReLU that can be left again: where it is 0, gradients that would raise it pass."""

    @staticmethod
    def forward(context: Any, z: Tensor) -> Tensor:
        context.save_for_backward(z)
        return z.relu()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        (z,) = context.saved_tensors
        return torch.where((z > 0) | (gradient < 0), gradient, 0.0)


class BiasNetworks(nn.Module):
    """``count`` independent networks alpha = relu((lambda W1 + b1) W2 + b2), all in one call.

    Attributes
    ----------
    recovery
        Whether an alpha of 0 gets the gradients that would raise it; not so in the paper.
    """

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.recovery = True
        attributes = len(ATTRIBUTE_NAMES)
        self.weight_in = nn.Parameter(torch.empty(count, attributes, width))
        self.bias_in = nn.Parameter(torch.zeros(count, width))
        self.weight_out = nn.Parameter(torch.empty(count, width))
        self.bias_out = nn.Parameter(torch.ones(count))
        nn.init.normal_(self.weight_in, std=attributes**-0.5)
        # alpha starts near 1: a ReLU that starts at zero would never learn.
        nn.init.normal_(self.weight_out, std=0.05 * width**-0.5)

    def forward(self, attributes: Tensor) -> Tensor:
        """Alphas (B, count) for problem representations (B, 10)."""
        hidden = torch.einsum("ba,caw->bcw", attributes, self.weight_in) + self.bias_in
        z: Tensor = (hidden * self.weight_out).sum(dim=-1) + self.bias_out
        if not self.recovery:
            return z.relu()
        return _Rectify.apply(z)  # type: ignore[no-untyped-call,no-any-return]

"""Bias networks: how strongly distances count, from the problem representation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spacevrp.problems.features import ATTRIBUTE_NAMES


class BiasNetworks(nn.Module):
    """``count`` independent networks alpha = relu((lambda W1 + b1) W2 + b2), all in one call."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
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
        return ((hidden * self.weight_out).sum(dim=-1) + self.bias_out).relu()

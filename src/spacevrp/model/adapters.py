"""Decoder projections that adapt to the problem: weight-decomposed adapters, or a hypernetwork."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from spacevrp.inference.config import ModelConfig
from spacevrp.problems.features import ATTRIBUTE_NAMES

# Keeps the direction of an adapter finite where its row is zero.
_EPSILON = 1e-8


class WeightDecomposedProjection(nn.Module):
    """W(lambda) = W0 + mean over the active attributes of their adapters.

    An adapter is a sum of heads, each a row-normalised low-rank direction times a magnitude a row.
    Magnitudes start at zero, so every problem starts at the shared weight W0.
    """

    def __init__(self, inputs: int, outputs: int, rank: int, heads: int) -> None:
        super().__init__()
        attributes = len(ATTRIBUTE_NAMES)
        self.base = nn.Parameter(torch.empty(outputs, inputs))
        self.down = nn.Parameter(torch.empty(attributes, heads, rank, inputs))
        self.up = nn.Parameter(torch.empty(attributes, heads, outputs, rank))
        self.magnitude = nn.Parameter(torch.zeros(attributes, heads, outputs))
        nn.init.kaiming_uniform_(self.base, a=math.sqrt(5))
        bound = 1.0 / math.sqrt(rank * inputs)
        nn.init.uniform_(self.down, -bound, bound)
        nn.init.normal_(self.up, std=0.01)

    def adapters(self) -> Tensor:
        """The update each attribute asks for, (10, outputs, inputs)."""
        direction = self.up @ self.down  # (10, heads, outputs, inputs)
        length = direction.norm(dim=-1, keepdim=True)
        return (self.magnitude.unsqueeze(-1) * direction / (length + _EPSILON)).sum(dim=1)

    def forward(self, attributes: Tensor) -> Tensor:
        """Effective weights (B, outputs, inputs) for problem representations (B, 10)."""
        share = attributes / attributes.sum(dim=1, keepdim=True).clamp(min=1.0)
        return self.base + torch.einsum("ba,aoi->boi", share, self.adapters())


class GeneratedProjection(nn.Module):
    """W(lambda) from a hypernetwork that sees the problem representation as a whole."""

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__()
        self.shape = (outputs, inputs)
        self.hidden = nn.Linear(len(ATTRIBUTE_NAMES), width)
        self.generate = nn.Linear(width, outputs * inputs)
        # The generated weights start at the size of an ordinary linear layer's.
        nn.init.uniform_(self.generate.bias, -(inputs**-0.5), inputs**-0.5)
        nn.init.normal_(self.generate.weight, std=0.01 * inputs**-0.5)

    def forward(self, attributes: Tensor) -> Tensor:
        """Weights (B, outputs, inputs) for problem representations (B, 10)."""
        return self.generate(self.hidden(attributes).relu()).unflatten(-1, self.shape)


class MoreSignals(nn.Module):
    """What signals beyond the first add to queries, from the problem representation.

    A vector for each signal, and one for each attribute of the problem; all begin at 0.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        count, width = config.signals - 1, config.width
        self.base = nn.Parameter(torch.zeros(width, count))
        self.of_attributes = nn.Parameter(torch.zeros(len(ATTRIBUTE_NAMES), width, count))

    def forward(self, attributes: Tensor) -> Tensor:
        """Weights (B, d, S - 1) for problem representations (B, 10)."""
        share = attributes / attributes.sum(dim=1, keepdim=True).clamp(min=1.0)
        return self.base + torch.einsum("ba,ads->bds", share, self.of_attributes)


def projection(config: ModelConfig, inputs: int, outputs: int) -> nn.Module:
    """One adaptive projection, as the configuration says."""
    if config.projections == "wdad":
        return WeightDecomposedProjection(inputs, outputs, config.rank, config.heads)
    return GeneratedProjection(inputs, outputs, config.width)

"""The encoder: layers of mixed bias modules and feed-forward parts with instance normalisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spacevrp.inference.config import ModelConfig
from spacevrp.inference.weights import BRANCHES
from spacevrp.model.attention import keyed_values, relation_attention
from spacevrp.model.geometry import Geometry
from spacevrp.model.mixing import mix


@dataclass(frozen=True)
class Relation:
    """Pairs of nodes. The branch that sees them is zero elsewhere, and only computed here."""

    rows: Tensor  # (R,) int64; the instances that may have pairs
    partner: Tensor  # (R, N) int64
    present: Tensor  # (R,) bool; whether the instance really has some


class InstanceNorm(nn.Module):
    """Normalises every channel over the nodes of an instance; padding does not count."""

    def __init__(self, width: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor, is_node: Tensor) -> Tensor:
        """Normalise x (B, N, d)."""
        real = is_node.unsqueeze(-1).to(x.dtype)
        count = real.sum(dim=1, keepdim=True)
        centred = (x - (x * real).sum(dim=1, keepdim=True) / count) * real
        variance = centred.square().sum(dim=1, keepdim=True) / count
        return centred * torch.rsqrt(variance + self.epsilon) * self.weight + self.bias


class EncoderLayer(nn.Module):
    """x + mixed bias module, normalise, x + feed-forward, normalise."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.width
        # Rows: query, key, value of each branch in turn.
        self.qkv = nn.Parameter(torch.empty(3 * BRANCHES * width, width))
        self.out = nn.Parameter(torch.empty(width, BRANCHES * width))
        self.norm_mixed = InstanceNorm(width)
        self.feed_in = nn.Linear(width, config.feedforward)
        self.feed_out = nn.Linear(config.feedforward, width)
        self.norm_feed = InstanceNorm(width)
        for weight in (self.qkv, self.out):
            nn.init.kaiming_uniform_(weight, a=math.sqrt(5))

    def forward(
        self, x: Tensor, geometry: Geometry, relation: Relation, alphas: Tensor, dtype: torch.dtype
    ) -> Tensor:
        """One layer on x (B, N, d); ``alphas`` (B, 3) weigh the branches' biases."""
        mixed = self._mixed_bias(x, geometry, relation, alphas, dtype)
        x = self.norm_mixed(x + mixed, geometry.is_node)
        hidden = linear(x, self.feed_in.weight, self.feed_in.bias, dtype).relu()
        fed = linear(hidden, self.feed_out.weight, self.feed_out.bias, dtype).to(x.dtype)
        return self.norm_feed(x + fed, geometry.is_node)

    def _mixed_bias(
        self, x: Tensor, geometry: Geometry, relation: Relation, alphas: Tensor, dtype: torch.dtype
    ) -> Tensor:
        width = x.shape[-1]
        distance_weight, relation_weight = self.qkv.split([6 * width, 3 * width])
        distance_out, relation_out = self.out.split([2 * width, width], dim=1)
        is_node = geometry.is_node
        weight = alphas[:, :2] * geometry.log_size.unsqueeze(1)  # (B, 2)
        qkv = linear(x, distance_weight, None, dtype)
        joined = mix(qkv, geometry.spread, weight, is_node, dtype)
        mixed = linear(joined, distance_out, None, dtype).to(x.dtype)
        rows = relation.rows
        if rows.shape[0] == 0:
            return mixed
        some = x[rows]
        query, key, value = linear(some, relation_weight, None, dtype).to(x.dtype).chunk(3, dim=-1)
        related = relation_attention(
            query, keyed_values(key, value, is_node[rows]), relation.partner, alphas[rows, 2]
        )
        related = related * relation.present[:, None, None].to(related.dtype)
        return mixed.index_add(0, rows, linear(related, relation_out, None, dtype).to(x.dtype))


class _Bounded(torch.autograd.Function):
    """The same values; in the gradient no instance outweighs the others.

    Most instances have gradients of about the same size, but a few, to which a trained network is
    very sensitive, have hundreds of times as much: the sum over a batch would be theirs.
    """

    @staticmethod
    def forward(context: Any, x: Tensor, bound: float) -> Tensor:
        context.bound = bound
        return x.view_as(x)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        size = gradient.flatten(1).norm(dim=1)  # (B,)
        some = size > 0
        logs = torch.where(some, size, 1.0).log().sum() / some.sum().clamp(min=1)
        most = context.bound * logs.exp()
        scale = (most / torch.where(some, size, 1.0)).clamp(max=1.0)
        return gradient * scale[:, None, None], None


class Encoder(nn.Module):
    """A stack of layers.

    Attributes
    ----------
    bound
        How many times the gradient of an instance before or after a layer may be as large as those
        of all in the (geometric) mean; larger ones are scaled down. 0 for any.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.bound = 0.0

    def forward(
        self, x: Tensor, geometry: Geometry, relation: Relation, alphas: Tensor, dtype: torch.dtype
    ) -> Tensor:
        """Node embeddings (B, N, d) from initial ones; ``alphas`` is (B, 3 * layers)."""
        for layer, weights in zip(self.layers, alphas.split(BRANCHES, dim=1), strict=True):
            x = layer(self._bounded(x), geometry, relation, weights, dtype)
        return self._bounded(x)

    def _bounded(self, x: Tensor) -> Tensor:
        if not self.bound:
            return x
        return _Bounded.apply(x, self.bound)  # type: ignore[no-untyped-call,no-any-return]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Tensor:
    """A linear map computed in ``dtype``."""
    return F.linear(x.to(dtype), weight.to(dtype), None if bias is None else bias.to(dtype))

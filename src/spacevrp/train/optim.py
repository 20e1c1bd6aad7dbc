"""Optimizers: Muon for hidden matrices, AdamW for the rest, all state in tensors.

Rates and step counts live on the device, so that an update can be captured in a CUDA graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from spacevrp.inference.weights import BRANCHES
from spacevrp.model.encoder import EncoderLayer
from spacevrp.model.space import SpaceModel
from spacevrp.train.config import TrainConfig

# Root mean square of a Muon update before its rate: near that of an AdamW update.
_MUON_RMS = 0.2
# A quintic iteration whose slopes push all singular values to about 1.
_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
_NEWTON_SCHULZ_ROUNDS = 5


def rate_factor(config: TrainConfig, step: int) -> float:
    """What the rates are multiplied with at a step, counted from 0."""
    if step < config.rising_steps:
        return (step + 1) / config.rising_steps
    progress = min(step / config.steps, 1.0)
    if config.schedule == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * progress))
    begin = 1.0 - config.decay_share
    if progress < begin:
        return 1.0
    if config.schedule == "step":
        return config.decay_factor
    return max(0.0, (1.0 - progress) / config.decay_share) if config.decay_share else 0.0


def orthogonalise(matrices: Tensor) -> Tensor:
    """The nearest (semi-)orthogonal matrices, roughly, of a stack (..., rows, columns)."""
    a, b, c = _NEWTON_SCHULZ
    dtype = torch.bfloat16 if matrices.is_cuda else matrices.dtype
    x = matrices.to(dtype)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.transpose(-2, -1)
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_NEWTON_SCHULZ_ROUNDS):
        gram = x @ x.transpose(-2, -1)
        x = a * x + (b * gram + c * gram @ gram) @ x
    if tall:
        x = x.transpose(-2, -1)
    return x.to(matrices.dtype)


def hidden_matrices(model: SpaceModel) -> dict[str, int]:
    """Parameters that Muon trains, with the number of square-ish blocks their rows fall into.

    Query, key and value projections share a parameter but are matrices of their own.
    """
    blocks: dict[str, int] = {}
    for name, module in model.named_modules():
        if isinstance(module, EncoderLayer):
            blocks[f"{name}.qkv"] = 3 * BRANCHES
            for part in ("out", "feed_in.weight", "feed_out.weight"):
                blocks[f"{name}.{part}"] = 1
    return blocks


def is_policy_head(name: str) -> bool:
    """Whether a parameter of that name belongs to the policy heads."""
    return name.startswith("policy_heads.")


def is_addition(name: str) -> bool:
    """Whether weights of before may lack a parameter of that name."""
    return is_policy_head(name) or name.startswith(("more_signals.", "moves."))


def trained_parameters(model: SpaceModel, config: TrainConfig) -> dict[str, Tensor]:
    """What a run changes: the network without its policy heads, or these alone."""
    return {
        name: parameter
        for name, parameter in model.named_parameters()
        if is_policy_head(name) == config.trains_heads
    }


class MuonAdamW:
    """Both optimizers behind one ``step``; parameters change in place by their ``grad``."""

    def __init__(self, model: SpaceModel, config: TrainConfig) -> None:
        named = trained_parameters(model, config)
        blocks = hidden_matrices(model) if config.optimizer == "muon" else {}
        self.config = config
        self._muon_names = [name for name in named if name in blocks]
        self._adam_names = [name for name in named if name not in blocks]
        self._muon: list[Tensor] = [named[name] for name in self._muon_names]
        self._adam: list[Tensor] = [named[name] for name in self._adam_names]
        slow = {f"bias.{name}" for name, _ in model.bias.named_parameters()}
        self._slow = [index for index, name in enumerate(self._adam_names) if name in slow]
        # Matrices of one shape are orthogonalised as one stack.
        self._groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for index, name in enumerate(self._muon_names):
            rows, columns = self._muon[index].shape
            shape = (rows // blocks[name], columns)
            self._groups.setdefault(shape, []).append((index, blocks[name]))
        device = next(model.parameters()).device
        self._momentum = [torch.zeros_like(parameter) for parameter in self._muon]
        self._mean = [torch.zeros_like(parameter) for parameter in self._adam]
        self._square = [torch.zeros_like(parameter) for parameter in self._adam]
        self.factor = torch.ones((), device=device)
        self.count = torch.zeros((), device=device)

    @property
    def parameters(self) -> list[Tensor]:
        """All parameters, in the order of the gradients."""
        return [*self._muon, *self._adam]

    def set_factor(self, factor: float) -> None:
        """Multiply all rates of the next step with this."""
        self.factor.fill_(factor)

    @torch.no_grad()
    def clip(self) -> Tensor:
        """Scale the gradients down to the configured norm; returns the norm before."""
        gradients = [gradient_of(parameter) for parameter in self.parameters]
        norm = torch.stack(torch._foreach_norm(gradients)).norm()
        if self.config.clip > 0:
            scale = (self.config.clip / (norm + 1e-6)).clamp(max=1.0)
            torch._foreach_mul_(gradients, scale)
        return norm

    @torch.no_grad()
    def step(self) -> None:
        """One update of all parameters."""
        self.count += 1
        if self._adam:
            self._adam_step()
        if self._muon:
            self._muon_step()

    def _adam_step(self) -> None:
        first, second = self.config.betas
        gradients = [gradient_of(parameter) for parameter in self._adam]
        torch._foreach_lerp_(self._mean, gradients, 1.0 - first)
        torch._foreach_mul_(self._square, second)
        torch._foreach_addcmul_(self._square, gradients, gradients, 1.0 - second)
        rate = self.config.learning_rate * self.factor
        self._decay(self._adam, rate, self.config.weight_decay)
        scale = torch._foreach_div(self._square, 1.0 - second**self.count)
        torch._foreach_sqrt_(scale)
        torch._foreach_add_(scale, 1e-8)
        update = torch._foreach_div(self._mean, scale)
        torch._foreach_mul_(update, -rate / (1.0 - first**self.count))
        if self.config.bias_rate != 1.0:
            torch._foreach_mul_([update[index] for index in self._slow], self.config.bias_rate)
        torch._foreach_add_(self._adam, list(update))

    def _muon_step(self) -> None:
        keep = self.config.momentum
        gradients = [gradient_of(parameter) for parameter in self._muon]
        torch._foreach_lerp_(self._momentum, gradients, 1.0 - keep)
        ahead = torch._foreach_lerp(gradients, self._momentum, keep)  # Nesterov
        rate = self.config.muon_rate * self.factor
        self._decay(self._muon, rate, self.config.weight_decay + self.config.muon_decay)
        for (rows, columns), members in self._groups.items():
            stack = torch.cat([ahead[index].view(n, rows, columns) for index, n in members])
            update = orthogonalise(stack) * (rate * (-_MUON_RMS * max(rows, columns) ** 0.5))
            changed = [self._muon[index] for index, _ in members]
            parts = update.split([n for _, n in members])
            torch._foreach_add_(
                changed, [part.reshape(p.shape) for part, p in zip(parts, changed, strict=True)]
            )

    def _decay(self, parameters: list[Tensor], rate: Tensor, strength: float) -> None:
        if strength:
            torch._foreach_mul_(parameters, 1.0 - rate * strength)

    # ------------------------------------------------------------------------------- state

    def state(self) -> dict[str, Tensor]:
        """Moments by name; the tensors themselves, not copies."""
        pairs: Iterable[tuple[str, Tensor]] = (
            *((f"momentum.{n}", t) for n, t in zip(self._muon_names, self._momentum, strict=True)),
            *((f"mean.{n}", t) for n, t in zip(self._adam_names, self._mean, strict=True)),
            *((f"square.{n}", t) for n, t in zip(self._adam_names, self._square, strict=True)),
        )
        return dict(pairs)


def gradient_of(parameter: Tensor) -> Tensor:
    """The gradient, which must be there."""
    if parameter.grad is None:
        raise RuntimeError("expected a gradient on every parameter, received none")
    return parameter.grad


class WeightAverage:
    """A running average of the weights, for evaluation and release."""

    def __init__(self, model: SpaceModel, decay: float, optimizer: MuonAdamW) -> None:
        self.decay = decay
        self._optimizer = optimizer
        self._names = [name for name, _ in model.named_parameters()]
        self._live = list(model.parameters())
        self.weights = [parameter.detach().clone() for parameter in self._live]

    @torch.no_grad()
    def restart(self) -> None:
        """Begin at the present weights."""
        torch._foreach_copy_(self.weights, [parameter.detach() for parameter in self._live])

    @torch.no_grad()
    def update(self) -> None:
        """Move towards the present weights; quickly at first, so that the start is forgotten."""
        if not self.decay:
            return
        count = self._optimizer.count
        share = (1.0 - count / (count + 10.0)).clamp(min=1.0 - self.decay)
        difference = torch._foreach_sub([p.detach() for p in self._live], self.weights)
        torch._foreach_mul_(difference, share)
        torch._foreach_add_(self.weights, difference)

    def state(self) -> dict[str, Tensor]:
        """The average by parameter name, or the weights themselves where none is kept."""
        source = self.weights if self.decay else [p.detach() for p in self._live]
        return dict(zip(self._names, source, strict=True))

"""What the log probability of each trajectory is multiplied with, from what trajectories cost.

Minimising the loss lowers the probability of costly trajectories: this is the one place where the
sign matters. Trajectories that were cut off count in no mean and are not learned from. Those whose
fleet was too small for them are: they are dearer than any other.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from spacevrp.tensors import Batch
from spacevrp.train.config import TrainConfig

# Deviations are at least this, so that instances whose plans all cost the same do no harm.
_LEAST = 1e-8


def mean_cost(cost: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean of each row (B, 1), what costs (B, P) are above it, and their variance (B, 1)."""
    finished = torch.isfinite(cost)
    number = finished.sum(dim=1, keepdim=True).clamp(min=1)
    mean = torch.where(finished, cost, 0.0).sum(dim=1, keepdim=True) / number
    above = torch.where(finished, cost - mean, 0.0)
    return mean, above, above.square().sum(dim=1, keepdim=True) / number


def with_failures(cost: Tensor, batch: Batch) -> Tensor:
    """Costs (B, P) with a finite one for failures where a limited fleet is the reason.

    Plans that leave customers out cost more than the dearest that does not, by as much as that is
    above the cheapest. Where all fail there is nothing to learn.
    """
    finished = torch.isfinite(cost)
    dearest = cost.masked_fill(~finished, -torch.inf).amax(dim=1, keepdim=True)
    cheapest = cost.amin(dim=1, keepdim=True)
    failed = batch.limited_fleet.unsqueeze(1) & ~finished & finished.any(dim=1, keepdim=True)
    return torch.where(failed, 2.0 * dearest - cheapest, cost)


def coefficients(cost: Tensor, config: TrainConfig, problem_of: Tensor) -> tuple[Tensor, Tensor]:
    """For trajectories (B, P) that are measured from the mean of their instance.

    Returns the coefficients (B, P) and the mean costs (B,).
    """
    mean, advantage, variance = mean_cost(cost)
    if config.advantage == "instance":
        advantage = advantage / (variance.sqrt() + _LEAST)
    elif config.advantage == "problem":
        hot = one_hot(problem_of, len(config.variants)).to(cost.dtype)  # (B, V)
        by_problem = (hot.T @ variance) / hot.sum(dim=0).clamp(min=1).unsqueeze(1)  # (V, 1)
        advantage = advantage / ((hot @ by_problem).sqrt() + _LEAST)
    if config.leader != 1.0:
        # After the division, so that the others' advantages stay what they are.
        leads = torch.isfinite(cost) & (cost == cost.amin(dim=1, keepdim=True))
        advantage = torch.where(leads, config.leader * advantage, advantage)
    return advantage / (config.shards * cost.numel()), mean.squeeze(1)


def contributions(cost: Tensor, config: TrainConfig) -> tuple[Tensor, Tensor]:
    """For policy heads that learn together: by how much a trajectory beats those of the others.

    What a trajectory (I, V, P) contributes is by how much it is below the best of its rivals, which
    are some trajectories of all other augmentations. These do not depend on it, so this is the
    gradient of the expected best of it and them. Who does not beat them all contributes nothing.

    Returns the coefficients (I, V, P), in the deviation of the instance, and the mean costs (I,).
    """
    augmentations, starts = cost.shape[1:]
    width = min(config.rivals or starts, starts)
    parts = pad(cost, (0, -starts % width), value=torch.inf).unflatten(2, (-1, width))
    best = parts.amin(dim=3)  # (I, V, parts) of each augmentation
    two = best.topk(2, dim=1, largest=False)
    leads = torch.arange(augmentations, device=cost.device)[:, None] == two.indices[:, :1]
    rivals = torch.where(leads, two.values[:, 1:], two.values[:, :1]).unsqueeze(3)
    decided = torch.isfinite(parts) & torch.isfinite(rivals)
    gain = torch.where(decided, (parts - rivals).clamp(max=0.0), 0.0)  # (I, V, parts, width)
    mean, _, variance = mean_cost(cost.flatten(1))
    gain = gain.flatten(2)[..., :starts] / (variance.sqrt() + _LEAST).unsqueeze(2)
    return gain / (config.shards * len(cost) * starts), mean.squeeze(1)

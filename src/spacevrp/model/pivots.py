"""Furthest pivot sampling, the bidirectional Frechet representation, and augmentations.

A pivot set starts from seeds: the depots and one customer (training, single augmentations) or two
(augmentations beyond the number of customers). Seeds are given as node numbers, padded with -1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from spacevrp.inference.config import ModelConfig
from spacevrp.inference.geometry import NO_SEED, SAME_GAP, seeds_of_augmentations
from spacevrp.tensors import Batch


def furthest_pivots(distance: Tensor, seeds: Tensor, is_node: Tensor) -> Tensor:
    """Pivots (B, M): the seeds first, then greedily the node furthest from all pivots so far.

    Of several equally far nodes the first is taken. Directions of the distances (B, N, N), which
    are finite, are averaged; seeds (B, M) are padded with -1.
    """
    symmetric = 0.5 * (distance + distance.transpose(1, 2))

    def row_of(pivot: Tensor) -> Tensor:
        index = pivot[:, None, None].expand(-1, 1, symmetric.shape[1])
        return symmetric.gather(1, index).squeeze(1)

    # (B, N) distance to the nearest pivot
    gap = torch.full_like(symmetric[:, 0], torch.inf)
    return spread_out(row_of, gap, seeds, is_node)


def spread_out(
    row_of: Callable[[Tensor], Tensor], gap: Tensor, seeds: Tensor, is_node: Tensor
) -> Tensor:
    """The same from rows (B, N) of the mean distances at pivots (B,); ``gap`` (B, N) is inf."""
    gap = gap.masked_fill(~is_node, -torch.inf)
    pivots = []
    for column in seeds.unbind(dim=1):
        furthest = gap >= gap.amax(dim=1, keepdim=True) * (1.0 - SAME_GAP)
        pivot = torch.where(column == NO_SEED, furthest.int().argmax(dim=1), column)  # (B,)
        gap = torch.minimum(gap, row_of(pivot))
        gap = gap.scatter(1, pivot.unsqueeze(1), -torch.inf)  # never the same pivot twice
        gap = gap.masked_fill(~is_node, -torch.inf)
        pivots.append(pivot)
    return torch.stack(pivots, dim=1)


def frechet(zscore: Tensor, pivots: Tensor, *, averaged: bool = False) -> Tensor:
    """Distances to and from each pivot, (B, N, 2M), or their averages, (B, N, M)."""
    size, nodes = zscore.shape[0], zscore.shape[1]
    index = pivots.unsqueeze(1).expand(size, nodes, -1)  # (B, N, M)
    outgoing = zscore.gather(2, index)  # node -> pivot
    incoming = zscore.transpose(1, 2).gather(2, index)  # pivot -> node
    return joined(outgoing, incoming, averaged=averaged)


def joined(outgoing: Tensor, incoming: Tensor, *, averaged: bool) -> Tensor:
    """Normalised distances (B, N, M) to and from the pivots side by side, or their averages."""
    count = outgoing.shape[-1]
    if averaged:
        return 0.5 * (outgoing + incoming) / math.sqrt(count)
    both = torch.stack([outgoing, incoming], dim=-1).flatten(start_dim=2)
    return both / math.sqrt(2 * count)


def random_seeds(
    batch: Batch, config: ModelConfig, generator: torch.Generator | None = None
) -> Tensor:
    """Seeds for training, (B, M): the depots and one random customer, drawn on the device.

    Where pivots are chosen at random, all are seeds: the depots and random customers, or random
    nodes where depots are no seeds.
    """
    noise = torch.rand(
        batch.is_node.shape, generator=generator, device=batch.device, dtype=torch.float32
    )
    customers = batch.is_node & ~batch.is_depot
    if config.pivot_choice == "random":
        drawn = customers if config.depot_seed else batch.is_node
        order = noise.masked_fill(~drawn, -1.0).argsort(dim=1, descending=True)
        order = order.masked_fill(~drawn.gather(1, order), NO_SEED)  # never padding
        return _with_depots(batch, order, config)
    chosen = noise.masked_fill(~customers, -1.0).argmax(dim=1, keepdim=True)  # (B, 1)
    return _with_depots(batch, chosen, config)


def augmentation_seeds(batch: Batch, config: ModelConfig, augmentations: int, seed: int) -> Tensor:
    """Seeds of each augmentation, (B, V, M), the same for the same seed whatever the batch.

    The first augmentations take one customer each, in the order of a random permutation; beyond the
    number of customers, augmentations take two distinct customers drawn at random.
    """
    depots = batch.is_depot.sum(dim=1).tolist()
    nodes = batch.is_node.sum(dim=1).tolist()
    rows = [
        seeds_of_augmentations(int(first), int(size), config, augmentations, seed)
        for first, size in zip(depots, nodes, strict=True)
    ]
    return torch.from_numpy(np.stack(rows)).to(batch.device)


def _with_depots(batch: Batch, chosen: Tensor, config: ModelConfig) -> Tensor:
    """Depots first (as many as leave room for one more), then the chosen customers, then -1."""
    if not config.depot_seed:
        return _pad_columns(chosen, config.pivots)
    number = batch.is_depot.sum(dim=1, keepdim=True).clamp(max=config.pivots - 1)
    slot = torch.arange(config.pivots, device=batch.device).unsqueeze(0)  # (1, M)
    after = slot - number  # position among the chosen
    pick = chosen.gather(1, after.clamp(0, chosen.shape[1] - 1))
    beyond = torch.where(after < chosen.shape[1], pick, torch.full_like(pick, NO_SEED))
    return torch.where(slot < number, slot, beyond)


def _pad_columns(values: Tensor, width: int) -> Tensor:
    values = values[:, :width]
    missing = width - values.shape[1]
    return torch.nn.functional.pad(values, (0, missing), value=NO_SEED)

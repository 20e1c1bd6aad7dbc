"""What the network needs of all distances of an instance, read in rows and never held at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.model.features import natural_scale
from spacevrp.tensors import Batch
from spacevrp.tensors.lengths import PlaneLengths, Tiles, tiles_of

# Entries of the distance matrix that are looked at together.
_ENTRIES = {"cpu": 2**18, "cuda": 2**26}


@dataclass(frozen=True)
class Scale:
    """How the distances of each instance are normalised, (B,) each; see ``geometry.normalise``."""

    mean: Tensor
    deviation: Tensor
    longest: Tensor  # what a missing arc looks like

    def known(self, distance: Tensor) -> Tensor:
        """Distances (B, ...) with the longest in the place of missing ones."""
        return torch.where(torch.isfinite(distance), distance, aligned(self.longest, distance))

    def zscore(self, distance: Tensor) -> Tensor:
        """Normalised distances (B, ...)."""
        centred = self.known(distance) - aligned(self.mean, distance)
        return centred / aligned(self.deviation, distance)


def aligned(values: Tensor, other: Tensor) -> Tensor:
    """Values (B, ...) as they broadcast against a tensor with more dimensions behind."""
    return values.view(*values.shape, *(1,) * (other.ndim - values.ndim))


@dataclass(frozen=True)
class Survey:
    """All that is to be known of the distances of a batch as a whole."""

    scale: Scale
    penalty_scale: Tensor  # (B,) see ``features.distance_scale``


def survey(batch: Batch) -> Survey:
    """Read all distances of every instance, in rows, once (twice where arcs may be missing)."""
    dtype = batch.distance.dtype
    sizes = batch.is_node.sum(dim=1).tolist()
    wanted = batch.penalty.abs().amax(dim=1).gt(0).tolist()  # no other asks for that scale
    planar = isinstance(batch.distance, PlaneLengths)
    found = [
        _survey_one(tiles_of(batch.distance, number), size, with_scale, batch.device, planar=planar)
        for number, (size, with_scale) in enumerate(zip(sizes, wanted, strict=True))
    ]
    mean, deviation, longest, penalty = (
        torch.stack([one[k] for one in found]).to(dtype) for k in range(4)
    )
    deviation = deviation.clamp(min=torch.finfo(dtype).tiny ** 0.5)
    return Survey(Scale(mean, deviation, longest), penalty)


def _survey_one(
    tiles: Tiles, size: int, with_scale: bool, device: torch.device, *, planar: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Mean, standard deviation and maximum of the distances, and the scale of penalties.

    In the plane no arc is missing, and both ways are as long.
    """
    # Sums in float64: there are a thousand million entries in a large instance.
    zero = torch.zeros((), dtype=torch.float64, device=device)
    total, squares, missing, turned, longest = zero, zero, zero, zero, zero
    whole = slice(0, size)
    for rows in row_slices(size, device):
        lengths = tiles(rows, whole)
        if not planar:
            finite = torch.isfinite(lengths)
            missing = missing + (~finite).sum()
            lengths = torch.where(finite, lengths, 0.0)
        if with_scale and not planar:
            back = tiles(whole, rows).T
            both = torch.isfinite(back) & finite
            turned = turned + torch.where(both, lengths - back, 0.0).abs().sum(dtype=torch.float64)
        total = total + lengths.sum(dtype=torch.float64)
        squares = squares + torch.linalg.vector_norm(lengths, dtype=torch.float64).square()
        longest = torch.maximum(longest, lengths.amax().double())
    scale = torch.ones_like(total)
    if with_scale:
        arcs = size * (size - 1) - missing
        mean_arc = total / arcs.clamp(min=1)
        scale = natural_scale(mean_arc, total, turned, torch.full_like(total, size))
    entries = size * size
    total, squares = total + missing * longest, squares + missing * longest.square()
    mean = total / entries
    variance = (squares / entries - mean.square()).clamp(min=0)
    return mean, variance.sqrt(), longest, scale


def row_slices(size: int, device: torch.device, width: int | None = None) -> Iterator[slice]:
    """Rows of a matrix of that size, as many at a time as stay in the caches."""
    count = max(1, _ENTRIES[device.type] // (width or size))
    for first in range(0, size, count):
        yield slice(first, min(first + count, size))

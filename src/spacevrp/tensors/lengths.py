"""Lengths of arcs where they are needed: out of a matrix, or out of coordinates on the fly.

A matrix (B, N, N) is a tensor. Where an instance is too large for one, a :class:`PlaneLengths`
stands in its place in the batch, and code that wants lengths asks for them here by nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from spacevrp.problems.distances import Distances, Metric

# TSPLIB's constants for GEO, as in the float64 distances of a problem.
_GEO_PI = 3.141592
_GEO_RADIUS = 6378.388


@dataclass(frozen=True)
class PlaneLengths:
    """Distances that follow from coordinates. Nothing of size N x N is ever held.

    It answers to the few names that a batch uses of its tensors, and is put into one by
    :func:`spacevrp.tensors.batch.stack`.
    """

    points: Tensor  # (B, N, 2) float64, in the user's units
    unit: Tensor  # (B,) float64; the user's units in one unit of distance
    metric: Metric
    dtype: torch.dtype  # of the lengths handed out

    @classmethod
    def of(
        cls,
        distances: Sequence[Distances],
        orders: Sequence[np.ndarray],
        units: Sequence[float],
        width: int,
        dtype: torch.dtype,
    ) -> PlaneLengths:
        """From the coordinates of instances of one metric, their nodes in the given orders."""
        (metric,) = {one.metric for one in distances}
        points = np.zeros((len(distances), width, 2))
        for row, one, order in zip(points, distances, orders, strict=True):
            assert one.coordinates is not None  # the caller has looked
            corner = 0.0 if metric.geometry == "geo" else one.coordinates.min(axis=0)
            # From the corner: far from the origin float32 would see little of the differences.
            row[: len(order)] = one.coordinates[order] - corner
        return cls(
            torch.from_numpy(points), torch.tensor(units, dtype=torch.float64), metric, dtype
        )

    # ------------------------------------------------------------------ as the tensors of a batch

    @property
    def shape(self) -> torch.Size:
        """That of the matrix it stands for."""
        size, nodes, _ = self.points.shape
        return torch.Size((size, nodes, nodes))

    @property
    def device(self) -> torch.device:
        """Where the coordinates are."""
        return self.points.device

    def is_floating_point(self) -> bool:
        """Lengths are."""
        return True

    def new_zeros(self, shape: Sequence[int]) -> Tensor:
        """Zeros of the type of the lengths."""
        return torch.zeros(tuple(shape), dtype=self.dtype, device=self.device)

    def new_empty(self, shape: Sequence[int]) -> Tensor:
        """Room for numbers of the type of the lengths."""
        return torch.empty(tuple(shape), dtype=self.dtype, device=self.device)

    def to(self, device: torch.device | str) -> PlaneLengths:
        """The same on another device."""
        return replace(self, points=self.points.to(device), unit=self.unit.to(device))

    def double(self) -> PlaneLengths:
        """The same lengths in float64."""
        return replace(self, dtype=torch.float64)

    def __getitem__(self, index: slice | Tensor) -> PlaneLengths:
        """Some of the instances."""
        return replace(self, points=self.points[index], unit=self.unit[index])

    def repeat_interleave(self, times: int, dim: int = 0) -> PlaneLengths:
        """Each instance so many times in a row."""
        return replace(
            self,
            points=self.points.repeat_interleave(times, dim=dim),
            unit=self.unit.repeat_interleave(times, dim=dim),
        )

    # -------------------------------------------------------------------------------- the lengths

    def between(self, origin: Tensor, target: Tensor) -> Tensor:
        """Lengths of arcs between nodes (B, ...) and (B, ...), which broadcast.

        Measured in float64 and rounded once, so that the rules see what the matrix would show.
        """
        spare = (1,) * (max(origin.ndim, target.ndim) - 1)
        lengths = measure(self._at(origin), self._at(target), self.metric)
        lengths = lengths / self.unit.view(-1, *spare)
        return torch.where(origin == target, 0.0, lengths).to(self.dtype)

    def _at(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        flat = nodes.flatten(1)  # (B, ...)
        first, second = self.points.unbind(dim=-1)
        return first.gather(1, flat).view(nodes.shape), second.gather(1, flat).view(nodes.shape)

    def tiles(self, instance: int) -> Tiles:
        """What looks up lengths of one instance in rectangles.

        Measured in the type of the lengths: the network does not mind the last digit.
        """
        # Great circles are told from cosines near 1, of which float32 keeps nothing.
        exact = self.metric.geometry == "geo"
        points = self.points[instance].to(torch.float64 if exact else self.dtype)
        first, second = points.unbind(dim=-1)
        first, second = first.contiguous(), second.contiguous()
        factor = 1.0 / float(self.unit[instance])

        def look_up(rows: slice, columns: slice) -> Tensor:
            lengths = measure(
                (first[rows].unsqueeze(1), second[rows].unsqueeze(1)),
                (first[columns], second[columns]),
                self.metric,
            )
            lengths = lengths.to(self.dtype).mul_(factor)
            begin, end = max(rows.start, columns.start), min(rows.stop, columns.stop)
            if exact and begin < end:  # in the plane a node is at no distance from itself anyway
                own = slice(begin - rows.start, end - rows.start)
                lengths[own].diagonal(begin - columns.start).fill_(0.0)
            return lengths

        return look_up


Tiles = Callable[[slice, slice], Tensor]  # rows, columns -> lengths (rows, columns)
Lengths = Tensor | PlaneLengths


def measure(origin: tuple[Tensor, Tensor], target: tuple[Tensor, Tensor], metric: Metric) -> Tensor:
    """The metric on the coordinates of points that broadcast; a twin of ``Metric.measure``."""
    if metric.geometry == "geo":
        raw = _geo(origin, target)
    else:
        across, along = origin[0] - target[0], origin[1] - target[1]
        if metric.geometry == "manhattan":
            raw = across.abs_().add_(along.abs_())
        elif metric.geometry == "chebyshev":
            raw = torch.maximum(across.abs_(), along.abs_())
        else:
            raw = across.square_().addcmul_(along, along)
            raw = (raw.div_(10.0) if metric.geometry == "att" else raw).sqrt_()
    if metric.rounding == "nearest":
        return raw.add_(0.5).floor_()
    if metric.rounding == "up":
        return raw.ceil_()
    if metric.rounding == "down":
        return raw.floor_()
    if metric.rounding == "one-decimal":
        return raw.mul_(10.0).floor_().div_(10.0)
    if metric.rounding == "three-decimals":
        return raw.mul_(1000.0).add_(0.5).floor_().div_(1000.0)
    return raw


def _geo(origin: tuple[Tensor, Tensor], target: tuple[Tensor, Tensor]) -> Tensor:
    (a, b), (c, d) = map(_radians, origin), map(_radians, target)
    q1, q2, q3 = torch.cos(b - d), torch.cos(a - c), torch.cos(a + c)
    cosine = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)
    return _GEO_RADIUS * torch.arccos(cosine.clamp(-1.0, 1.0)) + 1.0


def _radians(angle: Tensor) -> Tensor:
    degrees = angle.trunc()
    return _GEO_PI * (degrees + 5.0 * (angle - degrees) / 3.0) / 180.0


# ------------------------------------------------------------------------- matrix or coordinates


def between(lengths: Lengths, origin: Tensor, target: Tensor) -> Tensor:
    """Lengths from nodes (B, ...) to nodes (B, ...), which broadcast."""
    if isinstance(lengths, PlaneLengths):
        return lengths.between(origin, target)
    spare = (1,) * (max(origin.ndim, target.ndim) - 1)
    index = torch.arange(lengths.shape[0], device=origin.device).view(-1, *spare)
    return lengths[index, origin, target]


def rows_of(lengths: Lengths, nodes: Tensor) -> Tensor:
    """Lengths (B, P, N) from nodes (B, P) to all."""
    if isinstance(lengths, PlaneLengths):
        return lengths.between(nodes.unsqueeze(-1), _all_nodes(lengths))
    index = nodes.unsqueeze(-1).expand(-1, -1, lengths.shape[-1])
    return lengths.gather(1, index)


def columns_of(lengths: Lengths, nodes: Tensor) -> Tensor:
    """Lengths (B, P, N) from all nodes to nodes (B, P)."""
    if isinstance(lengths, PlaneLengths):
        return rows_of(lengths, nodes)  # every metric on coordinates is symmetric
    return rows_of(lengths.transpose(1, 2), nodes)


def from_first(lengths: Lengths, count: int) -> Tensor:
    """Lengths (B, count, N) from the first nodes to all."""
    if isinstance(lengths, PlaneLengths):
        return rows_of(lengths, _all_nodes(lengths)[:, 0, :count])
    return lengths[:, :count]


def to_first(lengths: Lengths, count: int) -> Tensor:
    """Lengths (B, count, N) from all nodes to the first."""
    if isinstance(lengths, PlaneLengths):
        return from_first(lengths, count)
    return lengths[:, :, :count].transpose(1, 2)


def tiles_of(lengths: Lengths, instance: int) -> Tiles:
    """What looks up lengths of one instance in rectangles."""
    if isinstance(lengths, PlaneLengths):
        return lengths.tiles(instance)
    matrix = lengths[instance]
    return lambda rows, columns: matrix[rows, columns]


def _all_nodes(lengths: PlaneLengths) -> Tensor:
    """Numbers of all nodes, (B, 1, N)."""
    size, nodes, _ = lengths.shape
    return torch.arange(nodes, device=lengths.device).expand(size, 1, nodes)

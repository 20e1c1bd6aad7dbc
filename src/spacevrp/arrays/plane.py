"""Lengths that follow from coordinates, measured where they are needed: no N x N matrix is held."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spacevrp.problems.distances import Distances, Metric

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Plane:
    """The points of one instance, and what lies between two of them. Every metric is symmetric."""

    points: Array  # (N, 2) float64, in the user's units, counted from their corner
    unit: float  # the user's units in one unit of length
    metric: Metric

    @classmethod
    def of(cls, lengths: Distances, order: Array, unit: float) -> Plane:
        """From lengths that have coordinates, their nodes in the given order."""
        if lengths.coordinates is None:
            raise ValueError("expected lengths that follow from coordinates, received a matrix")
        geographic = lengths.metric.geometry == "geo"
        # From the corner: far from the origin float32 would see little of the differences.
        corner = 0.0 if geographic else lengths.coordinates.min(axis=0)
        return cls(lengths.coordinates[order] - corner, unit, lengths.metric)

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix it stands for."""
        return len(self.points), len(self.points)

    def rows(self, nodes: Array, dtype: Any = np.float32) -> Array:
        """Lengths (P, N) from nodes (P,) to all.

        Measured in float64 and rounded once, so that the rules see what the matrix would show.
        """
        lengths = self.metric.measure(self.points[nodes][:, None], self.points) / self.unit
        lengths[np.arange(len(nodes)), nodes] = 0.0
        return lengths.astype(dtype)

    @cached_property
    def _rounded(self) -> Array:
        """The points as the network sees them: it does not mind the last digit of a length."""
        # Great circles are told from cosines near 1, of which float32 keeps nothing.
        exact = self.metric.geometry == "geo"
        return self.points if exact else self.points.astype(np.float32)

    def tile(self, rows: slice) -> Array:
        """Lengths from the nodes of a slice to all, (rows, N) float32, for the network."""
        points = self._rounded
        lengths = self.metric.measure(points[rows, None], points)
        if points.dtype == np.float64:  # in the plane a node is at no distance from itself anyway
            own = np.arange(rows.start, rows.stop)
            lengths[own - rows.start, own] = 0.0
            lengths = lengths.astype(np.float32)
        lengths *= np.float32(1.0 / self.unit)
        return lengths

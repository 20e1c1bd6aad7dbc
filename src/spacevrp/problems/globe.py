"""Distances on the earth, as the crow flies."""

from __future__ import annotations

import numpy as np

from spacevrp.problems.conversion import Array

# Mean radius of the earth in metres (IUGG).
EARTH_RADIUS = 6_371_008.8
# Distances computed at a time, so that what lies between stays small.
_BLOCK_ENTRIES = 2**20


def great_circle(points: Array) -> Array:
    """Metres between all pairs of (longitude, latitude) in degrees, (N, N), by haversines."""
    radians = np.radians(points)
    size = len(points)
    metres = np.empty((size, size))
    rows = max(1, _BLOCK_ENTRIES // max(size, 1))
    for first in range(0, size, rows):
        some = radians[first : first + rows, None]  # (rows, 1, 2)
        half = 0.5 * (some - radians)
        squared = np.square(np.sin(half[..., 1])) + np.cos(some[..., 1]) * np.cos(
            radians[:, 1]
        ) * np.square(np.sin(half[..., 0]))
        metres[first : first + rows] = 2.0 * EARTH_RADIUS * np.arcsin(np.sqrt(squared.clip(0, 1)))
    np.fill_diagonal(metres, 0.0)
    return metres

"""Where to draw nodes: at their coordinates, or where a matrix would have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spacevrp.problems.distances import Array
from spacevrp.problems.problem import Problem


def positions(problem: Problem) -> Array:
    """Points (N, 2): the coordinates, or an approximate map of the matrix."""
    if problem.distances.coordinates is not None:
        return problem.distances.coordinates
    return scaled_positions(problem.distances.matrix())


def scaled_positions(matrix: Array) -> Array:
    """Classical multidimensional scaling of the symmetrised distances, (N, 2).

    Distances that some points in the plane have are reproduced exactly (up to turning the map);
    others as well as two dimensions can. A missing arc counts as the longest there is.
    """
    symmetric = _known(0.5 * (matrix + matrix.T), matrix)
    size = len(symmetric)
    centring: NDArray[np.float64] = np.eye(size) - 1.0 / size
    inner = -0.5 * centring @ np.square(symmetric) @ centring  # inner products of the points
    values, vectors = np.linalg.eigh(inner)  # ascending
    points = np.zeros((size, 2))
    for axis in range(min(2, size)):
        vector = vectors[:, -1 - axis]
        # An eigenvector is one up to its sign; settle it, so that a map looks the same everywhere.
        vector = vector * np.sign(vector[np.argmax(np.abs(vector))])
        points[:, axis] = vector * np.sqrt(max(values[-1 - axis], 0.0))
    return points


def _known(symmetric: Array, matrix: Array) -> Array:
    """Missing averages from the one direction that exists, else as the longest distance."""
    one_way = np.minimum(matrix, matrix.T)
    filled = np.where(np.isfinite(symmetric), symmetric, one_way)
    longest = filled[np.isfinite(filled)].max(initial=0.0)
    return np.where(np.isfinite(filled), filled, longest)

"""What TSPLIB files hold in place of points in the plane: matrices, and points in space."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spacevrp.formats.tsplib import Document
from spacevrp.problems.distances import Array

# Layout -> (which triangle is listed row by row, whether its diagonal is). A triangle listed column
# by column is the other triangle of the transposed, and so of the same, matrix listed row by row.
_TRIANGLES = {
    "LOWER_ROW": ("lower", False),
    "LOWER_DIAG_ROW": ("lower", True),
    "UPPER_ROW": ("upper", False),
    "UPPER_DIAG_ROW": ("upper", True),
    "UPPER_COL": ("lower", False),
    "UPPER_DIAG_COL": ("lower", True),
    "LOWER_COL": ("upper", False),
    "LOWER_DIAG_COL": ("upper", True),
}
LAYOUTS = ("FULL_MATRIX", *_TRIANGLES)


def count_weights(layout: str, size: int) -> int:
    """How many numbers a layout lists for a matrix of that size."""
    if layout == "FULL_MATRIX":
        return size * size
    _, has_diagonal = _TRIANGLES[layout]
    return size * (size + 1) // 2 if has_diagonal else size * (size - 1) // 2


def unfold(layout: str, weights: Array, size: int) -> Array:
    """The (N, N) matrix from its numbers in the order of the file."""
    if layout == "FULL_MATRIX":
        return weights.reshape(size, size)
    triangle, has_diagonal = _TRIANGLES[layout]
    matrix = np.zeros((size, size))
    if triangle == "lower":
        rows, columns = np.tril_indices(size, 0 if has_diagonal else -1)
    else:
        rows, columns = np.triu_indices(size, 0 if has_diagonal else 1)
    matrix[rows, columns] = weights
    matrix[columns, rows] = weights
    return matrix


# Points in space -> what makes a distance of the differences (N, 3) of their coordinates.
SPACES: dict[str, Callable[[Array], Array]] = {
    "EUC_3D": lambda apart: np.sqrt((apart**2).sum(axis=-1)),
    "MAN_3D": lambda apart: apart.sum(axis=-1),
    "MAX_3D": lambda apart: apart.max(axis=-1),
}
# They are held as a matrix.
_MOST_IN_SPACE = 10_000


def measure_space(document: Document, weight_type: str, points: Array) -> Array:
    """The (N, N) distances between points (N, 3), each rounded to the nearest whole number."""
    if len(points) > _MOST_IN_SPACE:
        raise document.fail(
            "DIMENSION", f"at most {_MOST_IN_SPACE} for {weight_type}", str(len(points))
        )
    measure = SPACES[weight_type]
    rows = [np.floor(measure(np.abs(points - point)) + 0.5) for point in points]
    return np.array(rows)

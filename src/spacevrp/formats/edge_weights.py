"""The layouts in which TSPLIB files list the numbers of a matrix."""

from __future__ import annotations

import numpy as np

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

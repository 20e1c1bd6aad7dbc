"""What TSPLIB files hold in place of points in the plane: matrices, points in space, orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spacevrp.formats.building import tabled
from spacevrp.formats.tsplib import Document, Section, parse_stream
from spacevrp.problems.conversion import LARGEST
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
    far = points[~(np.abs(points) < LARGEST)]
    if far.size:
        raise document.fail("NODE_COORD_SECTION", f"numbers below {LARGEST:g}", f"{far[0]:g}")
    measure = SPACES[weight_type]
    rows = [np.floor(measure(np.abs(points - point)) + 0.5) for point in points]
    return np.array(rows)


def sequential_fields(document: Document, size: int, rounding: str | None) -> dict[str, Any]:
    """Fields of the problem: an open route from node 0; -1 in row i, column j: j before i."""
    for key, expected in (("EDGE_WEIGHT_TYPE", "EXPLICIT"), ("EDGE_WEIGHT_FORMAT", "FULL_MATRIX")):
        received = (document.text(key) or "none").upper()
        if received != expected:
            raise document.fail(key, f"{expected}, as in all of TYPE SOP", received)
    section = document.sections.get("EDGE_WEIGHT_SECTION")
    if section is None:
        raise document.fail("EDGE_WEIGHT_SECTION", "a matrix", "none")
    rows = section.rows
    if rows and rows[0][1].split() == [str(size)]:  # most files say the size once more
        section = Section(section.name, section.line)
        section.rows.extend(rows[1:])
    matrix = parse_stream(document, section, size * size).reshape(size, size)
    later, earlier = np.nonzero((matrix == -1) & ~np.eye(size, dtype=bool))
    order = [(b, a) for a, b in zip(later.tolist(), earlier.tolist(), strict=True) if a and b]
    matrix = np.where(matrix == -1, np.inf, matrix)
    np.fill_diagonal(matrix, 0.0)
    return {
        "distances": tabled(document.path, matrix, rounding, field="matrix"),
        "name": document.text("NAME") or document.path.stem,
        "depots": (0,),
        "open_routes": True,
        "max_routes": 1,
        "order": order,
    }

"""TSPLIB's sequential ordering problems: a path from the first node, some nodes before others."""

from __future__ import annotations

from typing import Any

import numpy as np

from spacevrp.formats.building import tabled
from spacevrp.formats.tsplib import Document, Section, parse_stream


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

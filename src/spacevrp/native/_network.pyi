"""The compiled parts of the network on a CPU.

Matrices are float32 with the entries of a row side by side; rows may be part of longer ones. Rows
are the nodes of segments, one after the other: ``segments`` holds where each begins, and at last
the number of rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

def exponentials(lengths: Array, factor: float, out: Array) -> None:
    """out (R, C) = exp(-factor * lengths)."""

def keyed_values(key: Array, value: Array, segments: Sequence[int], out: Array) -> None:
    """out (T, 2d) = [exp(K) * V | exp(K)] of key and value (T, d).

    The largest exponent of a channel in a segment is 0: any constant cancels in the ratio.
    """

def gated_ratio(query: Array, sums: Array, out: Array) -> None:
    """out (T, d) = sigmoid(query) times the ratio of the two halves of the sums (T, 2d)."""

def relation(
    query: Array,
    key: Array,
    value: Array,
    partner: Sequence[int] | Array,
    weight: float,
    segments: Sequence[int],
    out: Array,
) -> None:
    """Attention among the nodes of each segment that sees nothing but pairs.

    ``partner`` (N,) has the number of every node's partner, its own where it has none; all
    segments have N rows.
    """

def add_and_normalise(
    x: Array,
    added: Array,
    bias: Array | None,
    scale: Array,
    shift: Array,
    epsilon: float,
    segments: Sequence[int],
) -> None:
    """x (T, d) = normalised(x + added + bias) * scale + shift, each channel over each segment."""

def add_and_rectify(x: Array, bias: Array) -> None:
    """x = max(x + bias, 0)."""

def survey(lengths: Array) -> dict[str, float]:
    """What is known of the lengths (N, N) of all arcs; inf where there is none.

    ``mean``, ``deviation`` (missing arcs counted as the longest), ``longest``, ``total``, number of
    ``arcs``, ``change`` (the sum of all differences to the way back), ``missing``.
    """

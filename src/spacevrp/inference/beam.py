"""Simulation-guided beam search: the network's best plans, and what becomes of other moves.

Choo et al. (2022), "Simulation-guided beam search for neural combinatorial optimization". Of the
plans in the beam a growing part is fixed, move by move. At each move the likeliest others are tried
in its place and completed greedily, and of all plans the cheapest stay in the beam. The twin of
``engines/beam.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

#: Other moves that are tried in the place of each.
OTHERS = 3
#: Plans whose costs differ by no more than this, relatively, are taken for the same.
SAME = 1e-6


class Beam(NamedTuple):
    """The plans of an augmentation that are kept, best first."""

    start: Array  # (W,) int64
    moves: Array  # (W, T) int32; moves after the start
    steps: Array  # (W,) int32
    cost: Array  # (W,) float32


def search_beam(
    first: Beam, width: int, complete: Callable[[Array, Array, Array, Array], Beam]
) -> Beam:
    """The best plans that come of all rollouts of an augmentation.

    Parameters
    ----------
    complete
        Gives the rollouts from starts (P,) along plans (P, T) that leave them at turns (P,) for
        moves of ranks (P,).
    """
    beam = _best(first, width)
    for turn in range(first.moves.shape[1]):
        goes_on = np.flatnonzero(beam.steps > turn)
        if not len(goes_on):
            break
        parent = np.repeat(goes_on, OTHERS)
        rank = np.tile(np.arange(OTHERS, dtype=np.int32), len(goes_on))
        turns = np.full(len(parent), turn, dtype=np.int32)
        found = complete(beam.start[parent], beam.moves[parent], turns, rank)
        both = (np.concatenate(pair) for pair in zip(beam, found, strict=True))
        beam = _best(Beam(*both), width)
    return beam


def _best(plans: Beam, width: int) -> Beam:
    """The cheapest complete ones, one of each cost."""
    order = np.argsort(plans.cost, kind="stable")
    order = order[np.isfinite(plans.cost[order])]
    cost = plans.cost[order]
    order = order[np.diff(cost, prepend=-np.inf) > SAME * np.abs(cost)][:width]
    return Beam(*(part[order] for part in plans))

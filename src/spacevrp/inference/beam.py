"""Simulation-guided beam search: the network's best plans, and what becomes of other moves.

Choo et al. (2022), "Simulation-guided beam search for neural combinatorial optimization". Of the
plans in the beam a growing part is fixed, move by move. At each move the likeliest others are tried
in its place, but none that is next to impossible, and completed greedily; of all plans the cheapest
stay in the beam. The twin of ``engines/beam.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from spacevrp.inference.rollouts import Deviations, Trajectories

Array = np.ndarray[Any, Any]

#: Other moves that are tried in the place of each.
OTHERS = 2
#: Plans whose costs differ by no more than this, relatively, are taken for the same.
SAME = 1e-6
# What there is one of for each trajectory.
_ROWS = ("start", "origin", "action", "steps", "cost")


def search_beam(
    first: Trajectories, width: int, complete: Callable[[Array, Deviations], Trajectories]
) -> Trajectories:
    """The best plans that come of all rollouts of an augmentation, best first.

    Parameters
    ----------
    complete
        Gives the rollouts from starts (P,) that follow plans and leave them.
    """
    beam = _best(first, width)
    for turn in range(first.action.shape[1]):
        goes_on = np.flatnonzero(beam.steps > turn)
        if not len(goes_on):
            break
        parent = np.repeat(goes_on, OTHERS)
        rank = np.tile(np.arange(OTHERS, dtype=np.int32), len(goes_on))
        turns = np.full(len(parent), turn, dtype=np.int32)
        found = complete(beam.start[parent], Deviations(beam.action[parent], turns, rank))
        both: dict[str, Any] = {
            name: np.concatenate([getattr(beam, name), getattr(found, name)]) for name in _ROWS
        }
        beam = _best(replace(beam, **both), width)
    return beam


def _best(plans: Trajectories, width: int) -> Trajectories:
    """The cheapest complete ones, one of each cost."""
    order = np.argsort(plans.cost, kind="stable")
    order = order[np.isfinite(plans.cost[order])]
    cost = plans.cost[order]
    order = order[np.diff(cost, prepend=-np.inf) > SAME * np.abs(cost)][:width]
    return replace(plans, **{name: getattr(plans, name)[order] for name in _ROWS})

"""Plans that are followed up to a turn and left there: what a beam search rolls out.

Until its turn a trajectory makes the moves of a plan, at its turn one of the likeliest moves but
the plan's own, by its rank, and afterwards the likeliest. Where there is no such move, or the
network as good as excludes it, or the plan is finished before the turn, the trajectory counts as
stuck. So does one that would change depots at its turn: looking ahead has compared them already.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spacevrp.inference.rollouts import UNLIKELY


class Turn(NamedTuple):
    """What one step of such trajectories depends on."""

    planned: Tensor  # (B, P) int64; the move of the plan
    early: Tensor  # (B, P) bool; the turn is still to come
    now: Tensor  # (B, P) bool
    rank: Tensor  # (B, P) int64


class Deviations(NamedTuple):
    """Where plans are left, and for which move."""

    plan: Tensor  # (B, T, P) int32; moves after the start
    turn: Tensor  # (B, P) int32; the number of the move that is another
    rank: Tensor  # (B, P) int32; 0 for the likeliest of all others

    def at(self, step: int) -> Turn:
        """What the step of this number depends on."""
        planned = self.plan[:, step].long()
        return Turn(planned, self.turn > step, self.turn == step, self.rank.long())


def choose_other(scores: Tensor, turn: Turn) -> Tensor:
    """The move of each rank by scores (B, P, N) but the planned one; that where there is none.

    Moves that are much unlikelier than the likeliest do not count.
    """
    nodes = torch.arange(scores.shape[-1], device=scores.device)
    others = scores.masked_fill(nodes == turn.planned.unsqueeze(-1), -torch.inf)
    falling, order = others.sort(dim=-1, descending=True, stable=True)
    rank = turn.rank.clamp(max=scores.shape[-1] - 1).unsqueeze(-1)
    found = order.gather(-1, rank).squeeze(-1)
    score, least = falling.gather(-1, rank).squeeze(-1), scores.amax(dim=-1) - UNLIKELY
    return torch.where(score >= least, found, turn.planned)

"""Simulation-guided beam search for many instances: the twin of ``inference/beam.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from spacevrp.decode.deviation import Deviations
from spacevrp.engines.rollouts import Moves, rested
from spacevrp.inference.beam import OTHERS, SAME

# Asking the device whether all plans are at their end makes it wait: ask only every so often.
_MOVES_BETWEEN_QUESTIONS = 8


class Beam(NamedTuple):
    """The plans of each instance that are kept, best first."""

    cost: Tensor  # (B, W); inf where there is none
    sequence: Tensor  # (B, W, 2 + T) int64; origin, start, then every move


def best_rollouts(done: Moves, width: int) -> Beam:
    """The cheapest ones, one of each cost; there is room for more where there are few."""
    cost, order = _best_first(done.cost, width)
    room = (0, width - cost.shape[1])
    return Beam(pad(cost, room, value=torch.inf), done.take(pad(order, room)))


def joined(parts: Sequence[Beam], width: int) -> Beam:
    """The best plans of several parts of all rollouts."""
    if len(parts) == 1:
        return parts[0]
    longest = max(part.sequence.shape[2] for part in parts)
    cost, order = _best_first(torch.cat([part.cost for part in parts], dim=1), width)
    sequence = torch.cat([rested(part.sequence, longest) for part in parts], dim=1)
    return Beam(cost, sequence.gather(1, order.unsqueeze(-1).expand(-1, -1, longest)))


def search_beam(beam: Beam, complete: Callable[[Tensor, Deviations], Moves], longest: int) -> Beam:
    """The best plans that come of those in the beam.

    Parameters
    ----------
    complete
        Gives the rollouts from starts (B, P) that follow plans and leave them.
    longest
        Moves that a plan has at most.
    """
    beam = Beam(beam.cost, rested(beam.sequence, longest + 2))
    width = beam.cost.shape[1]
    rank = torch.arange(OTHERS, dtype=torch.int32, device=beam.cost.device)
    for number in range(longest):
        if number % _MOVES_BETWEEN_QUESTIONS == 0 and number >= _moves(beam):
            break
        plan = beam.sequence.repeat_interleave(OTHERS, dim=1)  # (B, P, 2 + T)
        turn = torch.full(plan.shape[:2], number, dtype=torch.int32, device=plan.device)
        leaves = Deviations(
            plan[..., 2:].transpose(1, 2).to(torch.int32), turn, rank.repeat(width).expand_as(turn)
        )
        found = complete(plan[..., 1], leaves)
        nothing = torch.isinf(beam.cost).repeat_interleave(OTHERS, dim=1)  # to leave
        found_cost = found.cost.masked_fill(nothing, torch.inf)
        cost, order = _best_first(torch.cat([beam.cost, found_cost], dim=1), width)
        old = order.clamp(max=width - 1).unsqueeze(-1).expand_as(beam.sequence)
        stays = (order < width).unsqueeze(-1)
        new = rested(found.take((order - width).clamp(min=0)), longest + 2)
        beam = Beam(cost, torch.where(stays, beam.sequence.gather(1, old), new))
    return beam


def _best_first(cost: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The least of costs (B, P), one of each, inf behind them; and where they are, (B, W) each."""
    cost, order = cost.sort(dim=1, stable=True)
    before = torch.cat([torch.full_like(cost[:, :1], -torch.inf), cost[:, :-1]], dim=1)
    again = ~(cost - before > SAME * cost.abs())  # also where there are none: inf - inf
    cost, new = cost.masked_fill(again, torch.inf).sort(dim=1, stable=True)
    return cost[:, :width], order.gather(1, new)[:, :width]


def _moves(beam: Beam) -> int:
    """Moves of the longest plan: afterwards plans rest."""
    changes = beam.sequence[..., 2:] != beam.sequence[..., 1:-1]  # (B, W, T)
    number = torch.arange(1, changes.shape[2] + 1, device=changes.device)
    moves = torch.where(changes & torch.isfinite(beam.cost).unsqueeze(-1), number, 0)
    return 1 + int(moves.amax())  # the last of which may be to stay

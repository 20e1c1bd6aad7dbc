"""What single decisions are credited with, from what their trajectories are.

The mean over an instance, from which a trajectory's advantage is measured, says nothing about how
it has fared up to a decision, which is not the decision's merit. So at every move the trajectories'
coefficients can be regressed on what is known by then, and what the regression explains is taken
off. A baseline that depends on the state alone leaves the mean of the gradient as it is.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spacevrp.decode.replay import of_decisions
from spacevrp.decode.trace import Trace
from spacevrp.tensors import Batch

# What is left of a feature beside the others, in parts of its square, for it to say anything.
NEW = 1e-4
# The same for its spread beside its size: below are rounding errors.
SPREAD = 1e-10


def less_what_was_known(batch: Batch, trace: Trace, coefficient: Tensor) -> Tensor:
    """Coefficients of decisions (B, T, P) from those of trajectories (B, P)."""
    features, active = known(batch, trace)
    left = _centred(coefficient.unsqueeze(1).expand_as(active), active)
    directions: list[Tensor] = []
    for feature in features:
        size = (feature * feature * active).sum(dim=2, keepdim=True)
        rest = _centred(feature, active)
        before = (rest * rest).sum(dim=2, keepdim=True)
        for direction in directions:
            rest = rest - (rest * direction).sum(dim=2, keepdim=True) * direction
        after = (rest * rest).sum(dim=2, keepdim=True)
        speaks = (after > NEW * before) & (before > SPREAD * size)
        direction = torch.where(speaks, rest * after.clamp(min=1e-30).rsqrt(), 0.0)
        left = left - (left * direction).sum(dim=2, keepdim=True) * direction
        directions.append(direction)
    return left


def known(batch: Batch, trace: Trace) -> tuple[list[Tensor], Tensor]:
    """What is known before each move, and which moves there are: all (B, T, P)."""
    assert trace.signals is not None  # training records its decisions
    like, here = batch.distance, trace.current

    def at(values: Tensor) -> Tensor:  # of a node (B, N)
        return values.to(like.dtype).gather(1, here.flatten(1)).view_as(here)

    def between(start: Tensor, end: Tensor) -> Tensor:  # (B, T, P) nodes
        arcs = (start * batch.num_nodes + end).flatten(1)
        return like.flatten(1).gather(1, arcs).view_as(here)

    # From where each came: the first from its depot, if there is one.
    came = torch.cat([trace.origin.unsqueeze(1), here[:, :-1]], dim=1)
    # Going from one depot to another is free.
    switch = batch.is_depot.gather(1, came.flatten(1)) & batch.is_depot.gather(1, here.flatten(1))
    leg = torch.where(switch.view_as(here), 0.0, between(came, here))
    features = [
        torch.cumsum(leg, dim=1),  # way so far
        torch.cumsum(at(batch.revealed_prize + batch.penalty), dim=1),  # collected, or spared
        torch.cumsum(at(~batch.is_depot), dim=1),  # customers served
        trace.signals[..., 0].to(like.dtype),  # load, length or prize that is left
        between(here, trace.first),  # way home
    ]
    return features, trace.active.to(like.dtype)


def _centred(values: Tensor, active: Tensor) -> Tensor:
    """Less their mean over those that still move; 0 for the others."""
    number = active.sum(dim=2, keepdim=True).clamp(min=1)
    return (values - (values * active).sum(dim=2, keepdim=True) / number) * active


def unless_sure(trace: Trace, coefficient: Tensor, sure: float) -> Tensor:
    """Coefficients of decisions (B, T, P), 0 where the likeliest move has so high a chance."""
    assert trace.likeliest is not None  # training records its decisions
    return torch.where(trace.likeliest < sure, of_decisions(coefficient, trace), 0.0)

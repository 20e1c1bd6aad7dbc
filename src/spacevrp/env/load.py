"""Capacity under the load rules: two running numbers and one inequality each.

With signed demand ``x`` (what leaves the vehicle), ``used`` is in every rule the part of the
capacity that no further delivery can use, so ``capacity - used`` is what can still be delivered.

single    used and credit are the distances of the running sum from its minimum and maximum
paper     used is the empty space of a vehicle that left full (or empty, for backhauls only)
separate  used is the largest load so far, credit the goods collected so far
paired    used is what is on board; a pickup needs room for itself
"""

from __future__ import annotations

import torch
from torch import Tensor

from spacevrp.tensors import LOAD_RULE_CODES, PAIRED_LOAD


def load_after(
    rule: Tensor, used: Tensor, credit: Tensor, demand: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Running numbers after serving ``demand``, then the peak and the low point they imply.

    All arguments broadcast. Serving is legal where ``peak <= capacity`` and ``low >= 0``.
    """
    is_single = rule == LOAD_RULE_CODES["single"]
    is_paper = rule == LOAD_RULE_CODES["paper"]
    is_separate = rule == LOAD_RULE_CODES["separate"]
    is_paired = rule == PAIRED_LOAD

    above = used + demand
    above_floor = above.clamp(min=0)
    below = (credit - demand).clamp(min=0)
    collected = credit + (-demand).clamp(min=0)
    mixed = torch.where(demand > 0, above, torch.maximum(used, collected))

    next_used = torch.where(is_single, above_floor, above)
    next_used = torch.where(is_separate, mixed, next_used)
    next_used = torch.where(is_paired, used - demand, next_used)
    next_credit = torch.where(is_single, below, torch.where(is_separate, collected, credit))
    peak = torch.where(is_single, above_floor + below, next_used)
    low = torch.where(is_paper, above, torch.zeros_like(above))
    return next_used, next_credit, peak, low

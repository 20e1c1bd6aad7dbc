"""Start nodes: one partial solution for each customer that can come first."""

from __future__ import annotations

import torch
from torch import Tensor

from spacevrp.env.environment import Environment
from spacevrp.tensors import LOAD_RULE_CODES


def can_start(environment: Environment) -> Tensor:
    """Customers that can be served first, (B, N) bool."""
    batch = environment.batch
    customers = batch.is_node & ~batch.is_depot
    feasible = customers & ~batch.is_delivery
    alone = environment.servable_from_depots().any(dim=1)
    feasible = feasible & (alone | ~batch.has_depot.unsqueeze(1))
    # Under the rule `paper` the first customer is a linehaul while there is one.
    linehaul = feasible & (batch.demand > 0)
    first_linehaul = (
        (batch.load_rule == LOAD_RULE_CODES["paper"]) & batch.backhaul & linehaul.any(dim=1)
    )
    return torch.where(first_linehaul.unsqueeze(1), linehaul, feasible)


def start_nodes(environment: Environment, count: int) -> Tensor:
    """``count`` start nodes for each instance, (B, count); feasible ones in turn, again if needed.

    An instance none of whose customers can come first starts at its first customer; the
    environment then marks those solutions stuck.
    """
    feasible = can_start(environment)  # (B, N)
    # Feasible nodes first, each group in the order of the nodes.
    order = torch.argsort((~feasible).to(torch.int8), dim=1, stable=True)
    number = feasible.sum(dim=1, keepdim=True).clamp(min=1)
    turn = torch.arange(count, device=feasible.device).unsqueeze(0) % number  # (B, count)
    first_customer = (environment.batch.is_node & ~environment.batch.is_depot).to(torch.int8)
    fallback = first_customer.argmax(dim=1, keepdim=True)
    starts = order.gather(1, turn)
    return torch.where(feasible.any(dim=1, keepdim=True), starts, fallback)

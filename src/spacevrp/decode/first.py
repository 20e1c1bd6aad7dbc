"""Which customers the decoder would serve first."""

from __future__ import annotations

import torch
from torch import Tensor

from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment
from spacevrp.env.rules import at
from spacevrp.env.starts import can_start
from spacevrp.model.decoder import DecoderTables, logits

_GOLDEN_RATIO = 0.6180339887498949


def likeliest_first(environment: Environment, tables: DecoderTables) -> Tensor:
    """All nodes (B, N), those that can be served first before all others, the likeliest foremost.

    A tour without a depot visits every node whichever it starts at: there, however many come
    foremost are spread evenly over the nodes.
    """
    batch = environment.batch
    nodes = torch.arange(batch.num_nodes, device=batch.device).expand(batch.size, -1)  # (B, N)
    spread = -(nodes.to(torch.float64) * _GOLDEN_RATIO).frac().to(tables.zscore.dtype)
    chance = spread
    if environment.num_depots > 0:
        own = environment.first_depots(nodes)  # (B, N)
        from_depots = _chances(environment, tables)  # (B, K, N)
        from_own = from_depots.gather(1, own.unsqueeze(1)).squeeze(1)
        chance = torch.where(batch.has_depot.unsqueeze(1), from_own, spread)
    ready = can_start(environment)
    order = chance.argsort(dim=1, descending=True, stable=True)
    return order.gather(1, (~at(ready, order)).to(torch.int8).argsort(dim=1, stable=True))


def _chances(environment: Environment, tables: DecoderTables) -> Tensor:
    """Log chance of every customer to come first from each depot, (B, K, N)."""
    batch = environment.batch
    depots = torch.arange(environment.num_depots, device=batch.device).expand(batch.size, -1)
    state = environment.standing(depots)
    allowed = environment.customer_moves(state)
    # Where nothing can be served, any row will do: no start has that depot for its own.
    allowed = allowed | ~allowed.any(dim=-1, keepdim=True)
    signals = problem_signals(batch, state, tables.num_signals)
    return logits(tables, depots, depots, signals, allowed).log_softmax(dim=-1)

"""The policy gradient at recorded decisions, without a graph through the rollout.

The log probabilities of all decisions are computed again from the decoder's tables and
differentiated with respect to them; one backward pass through the encoder does the rest. The result
is the gradient of ``sum over decisions of coefficient * log probability``, where the coefficient is
the trajectory's or the decision's own. Where depots were drawn, their log probabilities are added.
"""

from __future__ import annotations

from dataclasses import fields, replace

import torch
from torch import Tensor

from spacevrp.decode.depot_choices import DepotChoices, log_odds
from spacevrp.decode.trace import Trace
from spacevrp.model.decoder import DecoderTables, logits

# The tables that no gradient reaches: they are data.
_DATA = ("zscore", "clipping", "batch")


def trained_tables(tables: DecoderTables) -> tuple[str, ...]:
    """Names of the tables that the gradient reaches."""
    return tuple(
        field.name
        for field in fields(DecoderTables)
        if field.name not in _DATA and getattr(tables, field.name) is not None
    )


def decisions(trace: Trace) -> tuple[Tensor, ...]:
    """First and current node, signals, legal moves, action and activity, each (B, T, P, ...)."""
    if trace.signals is None or trace.allowed is None:
        raise ValueError("expected a trace with its decisions recorded, received one without")
    return (
        trace.first,
        trace.current,
        trace.signals,
        trace.allowed.bool(),
        trace.action.long(),
        trace.active,
    )


def log_probabilities(
    tables: DecoderTables, trace: Trace, steps: slice, dtype: torch.dtype | None = None
) -> Tensor:
    """Log probability of each decision in a range of steps, (B, t, P); 0 where there was none."""
    first, current, signals, allowed, action, active = (
        values[:, steps] for values in decisions(trace)
    )
    shape = action.shape
    # Rows without a decision are computed over all nodes and dropped.
    allowed = allowed | ~active.unsqueeze(-1)
    scores = logits(
        tables,
        first.flatten(1),
        torch.where(active, current, 0).flatten(1),
        signals.flatten(1, 2).to(tables.embedding.dtype),
        allowed.flatten(1, 2),
        dtype,
    )
    chosen = torch.where(active, action, 0).flatten(1).unsqueeze(-1)
    log_chance = scores.log_softmax(dim=-1).gather(2, chosen).squeeze(-1)
    return torch.where(active, log_chance.view(shape), 0.0)


def odds_of_depots(
    tables: DecoderTables, choices: DepotChoices, dtype: torch.dtype | None = None
) -> Tensor:
    """Log odds of the likeliest customer of each depot, (B, L, K, P); any number where it has none.

    That customer stays the one that was recorded: which it is has no gradient.
    """
    asked = choices.asked.unsqueeze(-1)
    depot = choices.depot.flatten(1)
    signals = torch.where(asked, choices.signals, 0.0).flatten(1, 3)
    allowed = (choices.allowed.bool() | ~asked).flatten(1, 3)
    scores = logits(tables, depot, depot, signals.to(tables.embedding.dtype), allowed, dtype)
    customer = torch.where(choices.asked, choices.customer.long(), 0).flatten(1)
    return log_odds(scores, customer).view(choices.odds.shape)


def replay_gradients(
    tables: DecoderTables,
    trace: Trace,
    coefficient: Tensor,
    *,
    chunk: int = 16,
    dtype: torch.dtype | None = None,
) -> dict[str, Tensor]:
    """Gradients with respect to the tables, by automatic differentiation in chunks of steps.

    The log probability of each trajectory is multiplied with its coefficient (B, P), or that of
    each decision with its own (B, T, P). Only memory depends on the ``chunk``.
    """
    names = trained_tables(tables)
    leaves = {name: getattr(tables, name).detach().requires_grad_() for name in names}
    live = replace(tables, zscore=tables.zscore.detach(), **leaves)
    each = of_decisions(coefficient, trace)
    for begin in range(0, trace.action.shape[1], chunk):
        part = log_probabilities(live, trace, slice(begin, begin + chunk), dtype)
        (part * each[:, begin : begin + chunk]).sum().backward()
    if trace.choices is not None:
        weight = trace.choices.coefficients(each)  # (B, L, P)
        for begin in range(0, weight.shape[1], chunk):
            some = trace.choices.part(slice(begin, begin + chunk))
            part = some.log_probabilities(odds_of_depots(live, some, dtype))
            (part * weight[:, begin : begin + chunk]).sum().backward()
    return {name: _gradient(leaf) for name, leaf in leaves.items()}


def of_decisions(coefficient: Tensor, trace: Trace) -> Tensor:
    """Coefficients (B, T, P), from those of decisions or of trajectories."""
    if coefficient.dim() == 3:
        return coefficient
    return coefficient.unsqueeze(1).expand(-1, trace.action.shape[1], -1)


def _gradient(leaf: Tensor) -> Tensor:
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad

"""The policy gradient at recorded decisions, without a graph through the rollout.

The log probabilities of all decisions are computed again from the decoder's tables and
differentiated with respect to them; one backward pass through the encoder does the rest. The result
is the gradient of ``sum over decisions of coefficient * log probability``, where the coefficient is
the trajectory's or the decision's own.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace

import torch
from torch import Tensor

from spacevrp.decode.depot_choices import DepotChoices
from spacevrp.decode.fused import match_type, move_weights
from spacevrp.decode.packing import pack_facts
from spacevrp.decode.trace import Trace
from spacevrp.model.decoder import DecoderTables, logits

# The tables that no gradient reaches: they are data.
_DATA = ("zscore", "clipping", "batch")

# Decisions of an instance that its program lists, or sums up, in one go.
_LISTED_AT_ONCE = 1024
_MULTIPLIED_AT_ONCE = 64


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


def depot_log_probabilities(
    tables: DecoderTables, choices: DepotChoices, part: slice, dtype: torch.dtype | None = None
) -> Tensor:
    """Log probability of each depot that was drawn, in a range of choices, (B, l, P); 0 without."""
    some = replace(
        choices,
        **{
            field.name: getattr(choices, field.name)[:, part]
            for field in fields(choices)
            if field.name != "temperature"
        },
    )
    shape = some.confidence.shape  # (B, l, K, P)
    depot = some.depot.flatten(1)
    scores = logits(
        tables,
        depot,
        depot,
        torch.where(some.asked.unsqueeze(-1), some.signals, 0.0)
        .flatten(1, 3)
        .to(tables.embedding.dtype),
        (some.allowed.bool() | ~some.asked.unsqueeze(-1)).flatten(1, 3),
        dtype,
    )
    customer = torch.where(some.asked, some.customer.long(), 0).flatten(1).unsqueeze(-1)
    confidence = scores.log_softmax(dim=-1).gather(2, customer).view(shape)
    return some.log_probabilities(confidence)


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
            some = slice(begin, begin + chunk)
            part = depot_log_probabilities(live, trace.choices, some, dtype)
            (part * weight[:, some]).sum().backward()
    return {name: _gradient(leaf) for name, leaf in leaves.items()}


def of_decisions(coefficient: Tensor, trace: Trace) -> Tensor:
    """Coefficients (B, T, P), from those of decisions or of trajectories."""
    if coefficient.dim() == 3:
        return coefficient
    return coefficient.unsqueeze(1).expand(-1, trace.action.shape[1], -1)


def _gradient(leaf: Tensor) -> Tensor:
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad


def fused_replay_gradients(
    tables: DecoderTables,
    trace: Trace,
    coefficient: Tensor,
    *,
    dtype: torch.dtype = torch.bfloat16,
    block: int = 16,
    splits: int = 8,
    num_warps: int = 8,
) -> dict[str, Tensor]:
    """The same gradients by kernels, for at most 128 nodes.

    Decisions whose coefficient is 0 take no time.
    """
    # Imported here: Triton is only there where it is needed.
    import triton

    from spacevrp.decode.move_kernel import GRADIENT_COLUMNS, fact_gradient_kernel
    from spacevrp.decode.replay_kernel import (
        list_kernel,
        product_kernel,
        replay_kernel,
        scatter_kernel,
    )

    if trace.signals is None or trace.allowed is None:
        raise ValueError("expected a trace with its decisions recorded, received one without")
    size, max_steps, trajectories = trace.action.shape
    nodes, device = trace.allowed.shape[3], trace.action.device
    width = tables.embedding.shape[-1]
    block_nodes = max(16, triton.next_power_of_2(nodes))
    rows = max_steps * trajectories
    tile = {"WIDTH": width, "BLOCK_N": block_nodes, "num_warps": num_warps}

    def scratch(columns: int) -> Tensor:
        return torch.empty((size, rows, columns), dtype=dtype, device=device)

    def zeros(*shape: int) -> Tensor:
        return torch.zeros((size, *shape), dtype=torch.float32, device=device)

    each = of_decisions(coefficient, trace).float().contiguous()
    chosen = torch.empty((size, rows), dtype=torch.int32, device=device)
    number = torch.empty((size,), dtype=torch.int32, device=device)
    list_kernel[(size,)](
        each, trace.steps, chosen, number, trajectories, max_steps, BLOCK=_LISTED_AT_ONCE
    )

    weight, match = scratch(block_nodes), scratch(block_nodes)
    sums, context, query = scratch(2 * width), scratch(width), scratch(width)
    scalars = zeros(2)
    starts = trace.starts.to(torch.int32).contiguous()
    # Of trajectories, or of decisions where routes may begin at several depots.
    origin = trace.origin.to(torch.int32).contiguous() if trace.depot is None else trace.depot
    depots = 1 if trace.depot is None else trace.num_depots
    weights = torch.stack([tables.read_weight, tables.match_weight], dim=1).float().contiguous()
    moves: list[Tensor] = [each] * 7
    if tables.move_first is not None:
        assert tables.batch is not None
        lengths = tables.batch.distance.float().contiguous()
        rides = lengths
        if tables.batch.duration is not tables.batch.distance:
            rides = tables.batch.duration.float().contiguous()
        facts = pack_facts(tables.batch, tables.zscore, depots, block_nodes)
        moves = [*move_weights(tables), *facts, lengths, rides]
    replay_kernel[(size, splits)](
        tables.embedding.detach().to(match_type(dtype)).contiguous(),
        tables.keyed.detach().to(dtype).contiguous(),
        tables.query_first.detach().float().contiguous(),
        tables.query_last.detach().float().contiguous(),
        tables.state_weight.detach().float().contiguous(),
        tables.zscore.float().contiguous(),
        weights.detach(),
        starts,
        origin,
        trace.action,
        trace.signals,
        trace.allowed,
        each,
        chosen,
        number,
        *moves,
        weight,
        sums,
        match,
        context,
        query,
        scalars,
        trajectories,
        max_steps,
        nodes,
        BLOCK_R=block,
        SIGNALS=tables.num_signals,
        MOVES=tables.move_first is not None,
        DEPOTS=depots,
        CLIPPING=tables.clipping,
        SCALE=1.0 / math.sqrt(width),
        FAST=trace.action.is_cuda,
        num_stages=1,  # nothing is fetched ahead: the registers are all taken
        **tile,
    )

    def product(left: Tensor, right: Tensor) -> Tensor:
        out = zeros(nodes, right.shape[2])
        grid = (size, right.shape[2] // width)
        product_kernel[grid](
            left,
            right,
            number,
            out,
            rows,
            nodes,
            right.shape[2],
            BLOCK_R=_MULTIPLIED_AT_ONCE,
            **tile,
        )
        return out

    def scatter(rows_of_decisions: Tensor) -> Tensor:
        """Sums by first node, by last node and by signal, (B, 3, N, columns)."""
        columns = rows_of_decisions.shape[2]
        out = zeros(3, nodes, columns)
        scatter_kernel[(size, 3)](
            rows_of_decisions,
            trace.signals,
            starts,
            origin,
            trace.action,
            chosen,
            number,
            out,
            trajectories,
            max_steps,
            nodes,
            WIDTH=columns,
            BLOCK_N=block_nodes,
            BLOCK_R=_MULTIPLIED_AT_ONCE,
            SIGNALS=tables.num_signals,
            DEPOTS=depots,
            num_warps=num_warps,
        )
        return out

    found = {}
    if tables.move_first is not None:
        of_facts = scratch(GRADIENT_COLUMNS.value)
        fact_gradient_kernel[(size, splits)](
            match,
            trace.signals,
            starts,
            origin,
            trace.action,
            chosen,
            number,
            *moves[3:],
            of_facts,
            trajectories,
            max_steps,
            nodes,
            NODE_COUNT=moves[3].shape[1],
            BLOCK_N=block_nodes,
            BLOCK_R=_MULTIPLIED_AT_ONCE,
            SIGNALS=tables.num_signals,
            DEPOTS=depots,
            SCALE=1.0 / math.sqrt(width),
            num_warps=num_warps,
        )
        facts_of = scatter(of_facts)[..., : tables.move_first.shape[2]]
        found = {
            "move_first": facts_of[:, 0],
            "move_last": facts_of[:, 1],
            "move_state": facts_of[:, 2, : tables.num_signals],
        }
    grad_query = scatter(query)
    return {
        **found,
        "embedding": product(match, context),
        "keyed": product(weight, sums),
        "query_first": grad_query[:, 0],
        "query_last": grad_query[:, 1],
        "state_weight": grad_query[:, 2, : tables.num_signals],
        "read_weight": scalars[:, 0],
        "match_weight": scalars[:, 1],
    }

"""The same gradients as :func:`spacevrp.decode.replay.replay_gradients`, by Triton kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.decode.depot_choices import DepotChoices
from spacevrp.decode.fused import match_type, move_weights
from spacevrp.decode.launch import LARGE_TILES, Launch, padded, replay_launch
from spacevrp.decode.packing import pack_facts
from spacevrp.decode.replay import of_decisions
from spacevrp.decode.trace import Trace
from spacevrp.model.decoder import DecoderTables

# Decisions of an instance that its program lists, or sums up, in one go.
_LISTED_AT_ONCE = 1024
_MULTIPLIED_AT_ONCE = 64
_SUMMED_AT_ONCE = 32
# Programs of the kernel that sums up, at most; with so few registers two share a multiprocessor.
_PROGRAMS = 8192
_FEW_REGISTERS = 128


@dataclass(frozen=True)
class _Rows:
    """Decisions: ``coefficient`` times the log probability of ``action`` is differentiated.

    Or, with ``odds``, times its log odds. All are (B, R, P) and contiguous; those whose coefficient
    is 0 take no time.
    """

    first: Tensor  # int32
    current: Tensor  # int32
    action: Tensor  # int32
    signals: Tensor  # (B, R, P, S)
    allowed: Tensor  # (B, R, P, N) int8
    coefficient: Tensor  # float32
    odds: bool = False

    @classmethod
    def of_moves(cls, trace: Trace, each: Tensor) -> _Rows:
        """The moves of a trace, with coefficients (B, T, P)."""
        if trace.signals is None or trace.allowed is None:
            raise ValueError("expected a trace with its decisions recorded, received one without")
        # A switch was the only move; what led to it is the choice of a depot.
        learned = trace.active & ~trace.switches
        return cls(
            trace.first.int().contiguous(),
            trace.current.int(),
            trace.action,
            trace.signals,
            trace.allowed,
            torch.where(learned, each, 0.0).float(),
        )

    @classmethod
    def of_depots(cls, choices: DepotChoices, each: Tensor) -> _Rows:
        """What depots were asked, with coefficients (B, T, P) of moves."""
        depot = choices.depot.flatten(1, 2).int()
        return cls(
            depot,
            depot,
            choices.customer.flatten(1, 2),
            choices.signals.flatten(1, 2),
            choices.allowed.flatten(1, 2),
            choices.odds_coefficients(each).flatten(1, 2).float().contiguous(),
            odds=True,
        )


def fused_replay_gradients(
    tables: DecoderTables,
    trace: Trace,
    coefficient: Tensor,
    launch: Launch | None = None,
) -> dict[str, Tensor]:
    """Gradients with respect to the tables, for at most 256 nodes."""
    _, nodes, width = tables.embedding.shape
    launch = launch or replay_launch(nodes, width, tables.embedding.device)
    each = of_decisions(coefficient, trace)
    depots = 1 if trace.depot is None else trace.num_depots
    rows = _Rows.of_moves(trace, each)
    if trace.choices is None:
        return _gradients_of(tables, rows, depots, launch)
    # The larger part first: the memory that it needed is enough for the other.
    asked = _Rows.of_depots(trace.choices, each)
    found = _gradients_of(tables, asked, depots, launch)
    for name, more in _gradients_of(tables, rows, depots, launch).items():
        found[name] += more
    return found


def _gradients_of(
    tables: DecoderTables,
    these: _Rows,
    depots: int,
    launch: Launch,
) -> dict[str, Tensor]:
    """Gradients of what some decisions add up to."""
    # Imported here: Triton is only there where it is needed.
    from spacevrp.decode.move_kernel import GRADIENT_COLUMNS, fact_gradient_kernel
    from spacevrp.decode.replay_kernel import (
        list_kernel,
        product_kernel,
        replay_kernel,
        scatter_kernel,
    )

    size, rows = these.action.shape[0], these.action[0].numel()
    nodes, device = these.allowed.shape[3], these.action.device
    width = tables.embedding.shape[-1]
    block_nodes = padded(nodes)
    small = block_nodes <= LARGE_TILES
    at_once = _MULTIPLIED_AT_ONCE if small else _SUMMED_AT_ONCE
    on_nvidia = device.type == "cuda" and torch.version.cuda is not None
    few = {"maxnreg": _FEW_REGISTERS} if small and on_nvidia else {}
    tile = {"WIDTH": width, "BLOCK_N": block_nodes, "num_warps": launch.num_warps}

    def scratch(columns: int) -> Tensor:
        return torch.empty((size, rows, columns), dtype=launch.dtype, device=device)

    def zeros(*shape: int) -> Tensor:
        return torch.zeros((size, *shape), dtype=torch.float32, device=device)

    chosen = torch.empty((size, rows), dtype=torch.int32, device=device)
    number = torch.empty((size,), dtype=torch.int32, device=device)
    list_kernel[(size,)](these.coefficient, chosen, number, rows, BLOCK=_LISTED_AT_ONCE)

    weight, match = scratch(block_nodes), scratch(block_nodes)
    sums, context, query = scratch(2 * width), scratch(width), scratch(width)
    scalars = zeros(2)
    weights = torch.stack([tables.read_weight, tables.match_weight], dim=1).float().contiguous()
    moves: list[Tensor] = [these.coefficient] * 7
    if tables.move_first is not None:
        assert tables.batch is not None
        lengths = tables.batch.distance.float().contiguous()
        rides = lengths
        if tables.batch.duration is not tables.batch.distance:
            rides = tables.batch.duration.float().contiguous()
        facts = pack_facts(tables.batch, tables.zscore, depots, block_nodes)
        moves = [*move_weights(tables), *facts, lengths, rides]
    replay_kernel[(size, launch.splits)](
        tables.embedding.detach().to(match_type(launch.dtype)).contiguous(),
        tables.keyed.detach().to(launch.dtype).contiguous(),
        tables.query_first.detach().float().contiguous(),
        tables.query_last.detach().float().contiguous(),
        tables.state_weight.detach().float().contiguous(),
        tables.zscore.float().contiguous(),
        weights.detach(),
        these.first, these.current, these.action, these.signals, these.allowed, these.coefficient,
        chosen, number, *moves,
        weight, sums, match, context, query, scalars, rows, nodes,
        BLOCK_R=launch.block, HELD=launch.held,
        SIGNALS=tables.num_signals, MOVES=tables.move_first is not None,
        DEPOTS=depots, ODDS=these.odds, CLIPPING=tables.clipping, SCALE=1.0 / math.sqrt(width),
        FAST=device.type == "cuda",
        num_stages=1,  # nothing is fetched ahead: the registers are all taken
        **tile,
    )  # fmt: skip

    def product(left: Tensor, right: Tensor) -> Tensor:
        out = zeros(nodes, right.shape[2])
        columns = right.shape[2]
        given = (left, right, number, out, rows, nodes, columns)
        product_kernel[size, columns // width](*given, BLOCK_R=at_once, **tile)
        return out

    of_facts = query  # not read without facts
    counts = tables.move_first is not None
    if counts:
        # Its columns are as few as a product of matrices takes; those without a fact hold nothing.
        of_facts = scratch(GRADIENT_COLUMNS.value)
        fact_gradient_kernel[(size, launch.splits)](
            match, these.signals, these.first, these.current, chosen, number, *moves[3:],
            of_facts, rows, nodes,
            NODE_COUNT=moves[3].shape[1], BLOCK_N=block_nodes, BLOCK_R=_SUMMED_AT_ONCE,
            SIGNALS=tables.num_signals, DEPOTS=depots, SCALE=1.0 / math.sqrt(width),
            num_warps=launch.num_warps,
        )  # fmt: skip
    # Sums by first node, by last node and by signal, each in as many parts as keep a GPU busy.
    parts = min(launch.splits, max(1, _PROGRAMS // (3 * size)))
    summed = max(nodes, tables.num_signals)  # of the smallest instances there are more signals
    by_query = zeros(3, parts, summed, width)
    by_fact = zeros(3, parts, summed, GRADIENT_COLUMNS.value)
    scatter_kernel[(size, 3, parts)](
        query, of_facts, these.signals, these.first, these.current, chosen, number,
        by_query, by_fact, rows, summed,
        FACT_WIDTH=GRADIENT_COLUMNS.value, BLOCK_R=_SUMMED_AT_ONCE,
        SIGNALS=tables.num_signals, MOVES=counts, **tile, **few,
    )  # fmt: skip
    by_query = by_query.sum(dim=2)
    found = {}
    if tables.move_first is not None:
        by_fact = by_fact.sum(dim=2)[..., : tables.move_first.shape[2]]
        found = {
            "move_first": by_fact[:, 0, :nodes],
            "move_last": by_fact[:, 1, :nodes],
            "move_state": by_fact[:, 2, : tables.num_signals],
        }
    return {
        **found,
        "embedding": product(match, context),
        "keyed": product(weight, sums),
        "query_first": by_query[:, 0, :nodes],
        "query_last": by_query[:, 1, :nodes],
        "state_weight": by_query[:, 2, : tables.num_signals],
        "read_weight": scalars[:, 0],
        "match_weight": scalars[:, 1],
    }

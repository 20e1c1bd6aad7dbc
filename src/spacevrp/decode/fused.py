"""Whole rollouts in one kernel launch, for instances of at most 256 nodes."""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from spacevrp.arrays.limits import TOLERANCE
from spacevrp.decode.depot_choices import DepotChoices
from spacevrp.decode.deviation import Deviations
from spacevrp.decode.launch import Launch, padded
from spacevrp.decode.packing import INSTANCE_ROWS, NODE_ROWS, pack, pack_facts, return_paths
from spacevrp.decode.trace import Trace
from spacevrp.env import Environment
from spacevrp.env.rules import at
from spacevrp.env.starts import can_start
from spacevrp.model.decoder import DecoderTables

# Of CUDA's driver: the number of an attribute of kernels, the registers of a multiprocessor, and
# what it takes of the shared memory of each block.
_SHARE_OF_MEMORY = 9
_REGISTERS = 65536
_RESERVED = 1024


@dataclass(frozen=True)
class FusedOptions:
    """What a rollout in one launch does, beside the choice of moves."""

    record: bool = False  # what a replay needs
    max_steps: int | None = None  # solutions that need more moves count as stuck
    missing_arcs: bool = True  # there may be some; generated instances have all arcs
    depot_temperature: float = 0.0  # above 0 depots are drawn by keys, and that is recorded
    all_drawn: bool = False  # every trajectory has a key: none takes the likeliest moves
    deviations: Deviations | None = None  # plans that are followed first; of the ranks below
    ranks: int = 3  # those that there are


PLAIN = FusedOptions()


def fused_rollout(
    environment: Environment,
    tables: DecoderTables,
    starts: Tensor,
    keys: Tensor | None = None,
    options: FusedOptions = PLAIN,
    launch: Launch | None = None,
) -> Trace:
    """Complete a solution from each start node (B, P) in one launch; ``keys`` as in ``rollout``."""
    # Imported here: Triton is only there where it is needed.
    import triton

    from spacevrp.decode.fused_kernel import rollout_kernel

    batch = environment.batch
    size, trajectories = starts.shape
    nodes, device = batch.num_nodes, batch.device
    launch = launch or Launch()
    width = tables.embedding.shape[-1]
    max_steps = options.max_steps or environment.max_steps
    block_nodes = padded(nodes)
    weights = (tables.read_weight, tables.match_weight)
    node_table, instance_table = pack(batch, *weights, block_nodes)
    same_duration = batch.duration is batch.distance
    depots = max(environment.num_depots, 1)
    origin = environment.origins(starts)
    action = torch.zeros((size, max_steps, trajectories), dtype=torch.int32, device=device)
    cost = torch.empty((size, trajectories), dtype=torch.float32, device=device)
    steps = torch.empty((size, trajectories), dtype=torch.int32, device=device)
    signals = allowed = likeliest = depot = None
    if options.record:
        likeliest = torch.ones((size, max_steps, trajectories), device=device)
        signals = likeliest.new_zeros((*likeliest.shape, tables.num_signals))
        shape = (size, max_steps, trajectories, nodes)
        allowed = torch.empty(shape, dtype=torch.int8, device=device)
        if depots > 1:
            depot = torch.zeros_like(action)
    choices = None
    if depots > 1 and options.depot_temperature > 0:
        number = (max_steps + 1) // 2
        like = torch.empty((size, number, depots, trajectories), device=device)
        choices = DepotChoices(
            temperature=options.depot_temperature,
            step=torch.full_like(like[:, :, 0], -1, dtype=torch.int32),
            chosen=torch.zeros_like(like[:, :, 0], dtype=torch.int32),
            odds=torch.full_like(like, -torch.inf),
            customer=torch.empty_like(like, dtype=torch.int32),
            signals=like.new_empty((*like.shape, tables.num_signals)),
            allowed=like.new_empty((*like.shape, nodes), dtype=torch.int8),
        )
    planned = options.deviations
    followed = [action] * 3
    if planned is not None:
        followed = [part.to(torch.int32).contiguous() for part in planned]
    moves = [action] * 4
    if tables.move_first is not None:
        facts, _ = pack_facts(batch, tables.zscore, depots, block_nodes)
        moves = [*move_weights(tables), facts]
    kernel = rollout_kernel[(size, triton.cdiv(trajectories, launch.block))](
        tables.embedding.to(match_type(launch.dtype)).contiguous(),
        tables.keyed.to(launch.dtype).contiguous(),
        tables.query_first.float().contiguous(),
        tables.query_last.float().contiguous(),
        tables.state_weight.float().contiguous(),
        tables.zscore.float().contiguous(),
        batch.distance.float().contiguous(),
        batch.duration.float().contiguous(),
        node_table, instance_table,
        return_paths(batch.distance, depots, block_nodes),
        return_paths(batch.duration, depots, block_nodes),
        starts.to(torch.int32).contiguous(),
        origin.to(torch.int32).contiguous(),
        at(can_start(environment), starts).to(torch.int32),
        starts if keys is None else keys.to(torch.int32).contiguous(),
        *followed, *moves, action,
        action if signals is None else signals,
        action if allowed is None else allowed,
        action if likeliest is None else likeliest,
        action if depot is None else depot,
        *([action] * 6 if choices is None else choices.tensors),
        cost, steps, trajectories, max_steps, nodes,
        WIDTH=width, BLOCK_N=block_nodes, BLOCK_P=launch.block,
        NODE_COUNT=len(NODE_ROWS), INSTANCE_COUNT=len(INSTANCE_ROWS),
        DEPOTS=depots, BLOCK_K=triton.next_power_of_2(depots),
        DEPOT_TEMPERATURE=0.0 if choices is None else options.depot_temperature,
        RANKS=0 if planned is None else options.ranks,
        SIGNALS=tables.num_signals, MOVES=tables.move_first is not None,
        TOLERANCE=TOLERANCE, CLIPPING=tables.clipping, SCALE=1.0 / math.sqrt(width),
        SAMPLE=keys is not None, GREEDY=not options.all_drawn, RECORD=options.record,
        SAME_DURATION=same_duration, MISSING_ARCS=options.missing_arcs,
        FAST=batch.distance.is_cuda, num_warps=launch.num_warps,
    )  # fmt: skip
    if batch.distance.is_cuda and torch.version.cuda:
        _leave_cache(kernel)
    record_of_moves = (action, steps, cost, signals, allowed, likeliest, depot, depots)
    return Trace(starts, origin, *record_of_moves, choices)


def _leave_cache(kernel: Any) -> None:
    """Let multiprocessors cache with what a compiled kernel does not need as shared memory.

    Triton asks for as much shared memory as there is. That leaves too little of the same memory to
    cache the tables of an instance, and a rollout takes a seventh longer.
    """
    threads = 32 * kernel.metadata.num_warps
    blocks = max(1, _REGISTERS // max(1, kernel.n_regs * threads))
    _ask_for_shared(kernel.function, blocks * (kernel.metadata.shared + _RESERVED))


@functools.cache
def _ask_for_shared(function: int, size: int) -> None:
    """Prefer that much shared memory; a hint, which the driver may take or leave."""
    whole = torch.cuda.get_device_properties().shared_memory_per_multiprocessor
    percent = min(100, math.ceil(100 * size / whole) + 1)
    with suppress(OSError):  # a driver of another name is left as it is
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        driver.cuFuncSetAttribute(ctypes.c_void_p(function), _SHARE_OF_MEMORY, percent)


def move_weights(tables: DecoderTables) -> tuple[Tensor, ...]:
    """What facts of moves weigh, as the kernels want it."""
    found = (tables.move_first, tables.move_last, tables.move_state)
    return tuple(table.detach().float().contiguous() for table in found if table is not None)


def match_type(dtype: torch.dtype) -> torch.dtype:
    """The type in which contexts meet embeddings, where other products have the given one.

    Bfloat16 keeps 8 bits of what becomes a difference of up to 50 in the logits, half precision 11;
    normalised embeddings and gated means of values are far from its limits. Sums of exponentials
    are not: they need the range.
    """
    return torch.float16 if dtype is torch.bfloat16 else dtype

"""Rollouts of large instances in one call of the compiled network, on a CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from spacevrp.decode.native_rollout import call_arguments, floats, problem_arrays
from spacevrp.decode.pruned import Pruning
from spacevrp.decode.rollout import Rollout
from spacevrp.decode.running import USUAL, Running
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.env.returns import ReturnPaths
from spacevrp.inference.large import MOST_NODES
from spacevrp.model.candidates import NodeTables
from spacevrp.native import network
from spacevrp.tensors import Batch
from spacevrp.tensors.lengths import Lengths, rows_of

_ROWS = 256  # of a matrix that are written down at a time


def supports(batch: Batch) -> bool:
    """Whether the compiled network is there and can take this batch."""
    if network is None or batch.device.type != "cpu":
        return False
    return isinstance(batch.distance, Tensor) or batch.num_nodes <= MOST_NODES


def native_pruned_rollout(
    environment: CandidateEnvironment,
    tables: NodeTables,
    starts: Tensor,
    pruning: Pruning,
    running: Running = USUAL,
) -> Rollout:
    """What ``pruned_rollout`` does by single steps where nothing is drawn; see there."""
    augmentations = tables.augmentations
    shape = (starts.shape[0], augmentations, -1)
    origin = environment.origins(starts)
    costs, moves, steps = [], [], []
    # One instance after the other: there is room for the distances of one.
    for number in range(starts.shape[0]):
        here = slice(number, number + 1)
        batch = environment.batch[torch.tensor([number])]
        action, taken, cost, _ = network.rollout(
            **_arrays(environment, batch, tables, number),
            starts=starts.view(shape)[number].contiguous().numpy(),
            origins=origin.view(shape)[number].contiguous().numpy(),
            max_steps=environment.max_steps,
            views=augmentations,
            lists=_lists(tables, pruning, here),
            **call_arguments(running),
        )
        # Few plans need all the moves that there might be.
        moves.append(
            torch.from_numpy(action[..., : max(1, int(taken.max(initial=0)))]).flatten(0, 1)
        )
        steps.append(torch.from_numpy(taken).flatten())
        costs.append(torch.from_numpy(cost).flatten())
        if running.report is not None:
            running.report(1.0 / starts.shape[0])
    return Rollout(_sequences(origin, starts, moves, torch.stack(steps)), torch.stack(costs))


def _lists(tables: NodeTables, pruning: Pruning, here: slice) -> dict[str, Any]:
    """The lists of one instance, and how its distances are seen."""
    scale, near, adjustment = tables.scale, pruning.near, pruning.adjustment
    depot_weight = torch.ones_like(scale.mean[here])
    bonus = torch.zeros((1, near.node.shape[1]))
    if adjustment is not None:
        depot_weight, bonus = adjustment.depot_weight[here], adjustment.bonus[here]
    seen = [getattr(scale, name)[here] for name in ("mean", "deviation", "longest")]
    nearness = torch.ones(tables.augmentations)
    if tables.nearness is not None:
        nearness = tables.nearness[here].flatten()
    return {
        "near": near.node[here].numpy(),
        "limits": np.array(pruning.limits),
        "bonus": floats(bonus),
        "scale": floats(torch.stack([*seen, depot_weight], dim=1)),
        "nearness": floats(nearness),
    }


def _arrays(
    environment: CandidateEnvironment, batch: Batch, tables: NodeTables, number: int
) -> dict[str, Any]:
    """What the compiled network has to know of one instance with all its augmentations."""
    distance = _matrix(batch.distance)
    shared = environment.batch.duration is environment.batch.distance
    duration = distance if shared else _matrix(batch.duration)
    batch = batch.replace(distance=distance, duration=duration)
    home = ReturnPaths(distance, duration, direct=True)
    here = slice(number, number + 1)
    moves = {}
    if tables.moves is not None:
        moves = {
            "move_first": floats(tables.moves.first[number]),
            "move_last": floats(tables.moves.last[number]),
            "move_state": floats(tables.moves.state[here]),
        }
    return {
        **problem_arrays(
            batch, tables.read_weight[here], tables.match_weight[here], home, environment.num_depots
        ),
        "embedding": floats(tables.embedding[number]),
        "keyed": floats(tables.keyed[number]),
        "query_first": floats(tables.query_first[number]),
        "query_last": floats(tables.query_last[number]),
        "state_weight": floats(tables.state_weight[here]),
        "clipping": tables.clipping,
        **moves,
    }


def _matrix(lengths: Lengths) -> Tensor:
    """Lengths (1, N, N) as the rules see them."""
    if isinstance(lengths, Tensor):
        return lengths
    nodes = lengths.shape[1]
    rows = [
        rows_of(lengths, torch.arange(first, min(first + _ROWS, nodes)).unsqueeze(0))
        for first in range(0, nodes, _ROWS)
    ]
    return torch.cat(rows, dim=1)


def _sequences(origin: Tensor, starts: Tensor, moves: list[Tensor], steps: Tensor) -> Tensor:
    """Origin, start and moves, (B, V P, T) int32; a finished solution rests where it is."""
    longest = max(one.shape[1] for one in moves)
    padded = [torch.nn.functional.pad(one, (0, longest - one.shape[1])) for one in moves]
    sequence = torch.cat(
        [origin.unsqueeze(-1).int(), starts.unsqueeze(-1).int(), torch.stack(padded)], dim=-1
    )
    last = (steps.long() + 1).unsqueeze(-1)  # (B, V P, 1)
    rests = torch.arange(longest + 2) > last
    return torch.where(rests, sequence.gather(2, last), sequence)

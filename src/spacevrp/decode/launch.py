"""How the kernels of rollouts and replays are launched, and on which devices they fit."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from spacevrp.env import Environment
from spacevrp.model.kernel_memory import shared_memory

# Nodes fit one tile, and what the network says of them one multiprocessor.
MAX_NODES = 256
LARGE_TILES = 128  # nodes, up to which tiles of twice as many rows fit
_LEAST_TILE = 16
# The kernel is compiled for each number of depots.
MAX_DEPOTS = 8


def supports(environment: Environment, width: int) -> bool:
    """Whether the kernels can take this batch on its device, with a network of that width."""
    nodes = environment.batch.num_nodes
    if environment.num_depots > MAX_DEPOTS or nodes > MAX_NODES:
        return False
    return rollout_memory(nodes, width) <= shared_memory(environment.batch.device)


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched."""

    dtype: torch.dtype = torch.bfloat16  # of the products
    block: int = 16  # trajectories, or decisions, of a tile
    num_warps: int = 8  # of a program
    splits: int = 8  # programs that share the decisions of an instance in a replay
    held: bool = True  # a replay keeps the tables in shared memory, or reads them again


def padded(nodes: int) -> int:
    """Nodes of a tile: a power of two."""
    return max(_LEAST_TILE, 1 << (nodes - 1).bit_length())


def replay_launch(nodes: int, width: int, device: torch.device) -> Launch:
    """The quickest launch of a replay that fits the device."""
    # Unlike a rollout it is quicker with larger tiles, as long as they fit.
    block = 32 if nodes <= LARGE_TILES else 16
    held = nodes <= LARGE_TILES and replay_memory(nodes, width, block) <= shared_memory(device)
    return Launch(block=block, held=held)


def rollout_memory(nodes: int, width: int) -> int:
    """Bytes of shared memory that a rollout takes at most: three tables, and a little more."""
    more = 64 * width if nodes > LARGE_TILES else 1024
    return 6 * padded(nodes) * width + more


def replay_memory(nodes: int, width: int, block: int) -> int:
    """Bytes of shared memory that a replay takes which holds its tables: also turned round."""
    return 12 * padded(nodes) * width + 6 * block * width

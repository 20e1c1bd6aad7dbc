"""Whole rollouts in one call of the compiled network, on a CPU and for any number of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spacevrp.arrays.limits import TOLERANCE
from spacevrp.decode.packing import pack, ways_home
from spacevrp.decode.trace import Trace
from spacevrp.env import Environment
from spacevrp.model.decoder import DecoderTables
from spacevrp.native import NETWORK_MISSING, network


def supports(environment: Environment) -> bool:
    """Whether the compiled network is there and can take this batch."""
    batch = environment.batch
    return network is not None and isinstance(batch.distance, Tensor) and not batch.distance.is_cuda


def native_rollout(
    environment: Environment,
    tables: DecoderTables,
    starts: Tensor,
    keys: Tensor | None = None,
    *,
    temperature: Tensor | None = None,
    max_steps: int | None = None,
    threads: int | None = None,
    instructions: str = "",
    look: Callable[[], None] | None = None,
) -> Trace:
    """Complete a solution from each start node (B, P) in one call.

    Parameters
    ----------
    keys
        (B, P) of the random numbers (see ``draws``) with which moves are drawn; where there are
        none, or below 0, the likeliest are taken.
    temperature
        (P,); the higher, the more equal the chances of all legal moves. 1 where there are none.
    max_steps
        Solutions that need more moves count as stuck.
    threads
        As many as torch is set to where None. The result is the same for any number.
    instructions
        One of ``network.instruction_sets()``; the widest of this processor where empty.
    look
        Called now and then; what it raises ends the call.
    """
    if network is None:
        raise ValueError(NETWORK_MISSING)
    batch = environment.batch
    nodes = batch.num_nodes
    node_table, instance_table = pack(batch, tables, nodes)
    origin = torch.where(batch.has_depot.unsqueeze(1), environment.first_depots(starts), starts)
    distance = _floats(batch.distance)
    shared = batch.duration is batch.distance
    depots, home = environment.num_depots, environment.home
    home_distance = _floats(ways_home(home.distance, depots, nodes))
    shared_home = home.duration is home.distance
    action, steps, cost = network.rollout(
        embedding=_floats(tables.embedding),
        keyed=_floats(tables.keyed),
        query_first=_floats(tables.query_first),
        query_last=_floats(tables.query_last),
        state_weight=_floats(tables.state_weight),
        zscore=_floats(tables.zscore),
        distance=distance,
        duration=distance if shared else _floats(batch.duration),
        home_distance=home_distance,
        home_duration=home_distance
        if shared_home
        else _floats(ways_home(home.duration, depots, nodes)),
        node_table=_floats(node_table),
        instance_table=_floats(instance_table),
        starts=starts.numpy(),
        origins=origin.numpy(),
        keys=None if keys is None else keys.numpy(),
        temperature=None if temperature is None else _floats(temperature),
        max_steps=environment.max_steps if max_steps is None else max_steps,
        tolerance=TOLERANCE,
        clipping=tables.clipping,
        direct=home.direct,
        threads=torch.get_num_threads() if threads is None else threads,
        instructions=instructions,
        look=look,
    )
    return Trace(
        starts,
        origin,
        torch.from_numpy(action).transpose(1, 2),
        torch.from_numpy(steps),
        torch.from_numpy(cost),
    )


def _floats(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The numbers where they lie, if they are float32 in a row."""
    return tensor.detach().float().contiguous().numpy()

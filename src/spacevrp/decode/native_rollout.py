"""Whole rollouts in one call of the compiled network, on a CPU and for any number of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from spacevrp.arrays.limits import TOLERANCE
from spacevrp.decode.deviation import Deviations
from spacevrp.decode.packing import pack, return_paths
from spacevrp.decode.running import USUAL, Running
from spacevrp.decode.trace import Trace
from spacevrp.env import Environment
from spacevrp.env.returns import ReturnPaths
from spacevrp.inference.rollouts import UNLIKELY
from spacevrp.model.decoder import DecoderTables
from spacevrp.native import network
from spacevrp.tensors import Batch


def supports(batch: Batch) -> bool:
    """Whether the compiled network is there and can take this batch."""
    return network is not None and isinstance(batch.distance, Tensor) and not batch.distance.is_cuda


def native_rollout(
    environment: Environment,
    tables: DecoderTables,
    starts: Tensor,
    keys: Tensor | None = None,
    *,
    temperature: Tensor | None = None,
    deviations: Deviations | None = None,
    running: Running = USUAL,
) -> Trace:
    """Complete a solution from each start node (B, P) in one call.

    ``keys`` and ``deviations`` as in ``rollout``; at a ``temperature`` (P,), which is 1 where there
    is none.
    """
    batch = environment.batch
    origin = environment.origins(starts)
    action, steps, cost, _ = network.rollout(
        **instance_arrays(batch, tables, environment.home, environment.num_depots),
        starts=starts.numpy(),
        origins=origin.numpy(),
        keys=None if keys is None else keys.numpy(),
        temperature=None if temperature is None else floats(temperature),
        max_steps=environment.max_steps,
        **({} if deviations is None else _planned(deviations)),
        **call_arguments(running),
    )
    return Trace(
        starts,
        origin,
        torch.from_numpy(action).transpose(1, 2),
        torch.from_numpy(steps),
        torch.from_numpy(cost),
    )


def _planned(deviations: Deviations) -> dict[str, Any]:
    plan = deviations.plan.transpose(1, 2).contiguous().numpy()  # (B, P, T)
    turn, rank = deviations.turn.numpy(), deviations.rank.numpy()
    return {"plan": plan, "turn": turn, "rank": rank, "unlikely": UNLIKELY}


def call_arguments(running: Running) -> dict[str, Any]:
    """How the compiled network is called, by the names of its arguments."""
    threads = torch.get_num_threads() if running.threads is None else running.threads
    return {"threads": threads, "instructions": running.instructions, "look": running.look}


def instance_arrays(
    batch: Batch, tables: DecoderTables, home: ReturnPaths, depots: int
) -> dict[str, Any]:
    """What the compiled network has to know of instances, by the names of its arguments."""
    return {
        **problem_arrays(batch, tables.read_weight, tables.match_weight, home, depots),
        "embedding": floats(tables.embedding),
        "keyed": floats(tables.keyed),
        "query_first": floats(tables.query_first),
        "query_last": floats(tables.query_last),
        "state_weight": floats(tables.state_weight),
        "zscore": floats(tables.zscore),
        "clipping": tables.clipping,
        **{
            name: floats(table)
            for name in ("move_first", "move_last", "move_state")
            if (table := getattr(tables, name)) is not None
        },
    }


def problem_arrays(
    batch: Batch, read_weight: Tensor, match_weight: Tensor, home: ReturnPaths, depots: int
) -> dict[str, Any]:
    """The part of it that says what the rules are; with the weights (B,) of distances."""
    nodes = batch.num_nodes
    node_table, instance_table = pack(batch, read_weight, match_weight, nodes)
    distance = duration = floats(batch.distance)
    if batch.duration is not batch.distance:
        duration = floats(batch.duration)
    home_distance = home_duration = floats(return_paths(home.distance, depots, nodes))
    if home.duration is not home.distance:
        home_duration = floats(return_paths(home.duration, depots, nodes))
    return {
        "distance": distance,
        "duration": duration,
        "home_distance": home_distance,
        "home_duration": home_duration,
        "node_table": floats(node_table),
        "instance_table": floats(instance_table),
        "tolerance": TOLERANCE,
        "direct": home.direct,
    }


def floats(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The numbers where they lie, if they are float32 in a row."""
    return tensor.detach().float().contiguous().numpy()

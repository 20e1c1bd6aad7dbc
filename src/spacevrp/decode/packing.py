"""Instances as whole-rollout kernels want them, on a GPU or a CPU: two tables of float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from spacevrp.inference.moves import FARTHEST, NEVER
from spacevrp.model.features import per_horizon
from spacevrp.tensors import Batch

# Rows of the table a node and of the table an instance. Truth values are 0 or 1.
NODE_ROWS = (
    *("customer", "demand", "opening", "closing", "service", "prize", "penalty", "compulsory"),
    *("delivery", "paired_step", "partner"),
)
INSTANCE_ROWS = (
    *("capacity", "limited", "load_tolerance", "load_rule", "max_length", "bounded", "windowed"),
    *("per_horizon", "min_prize", "max_routes", "open_routes", "backhaul_last", "depots"),
    *("orienteering", "prize_collecting", "read_weight", "match_weight", "customers"),
    *("compulsory", "linehauls", "penalty"),
)
# The same of what the facts of possible moves follow from (see ``model/moves.py``). Behind the rows
# of a node come its ways to each depot, as shares of the length limit, and normalised.
FACT_OF_NODE = ("opening", "closing", "goods")
FACT_OF_INSTANCE = ("per_horizon", "per_length", "limited", "load_rule")


def return_paths(matrix: Tensor, depots: int, nodes: int) -> Tensor:
    """From every node to each depot, (B, K, nodes) float32."""
    home = matrix[:, :, :depots].transpose(1, 2).float()
    return torch.nn.functional.pad(home, (0, nodes - matrix.shape[1])).contiguous()


def pack(
    batch: Batch, read_weight: Tensor, match_weight: Tensor, nodes: int
) -> tuple[Tensor, Tensor]:
    """The two tables: (B, rows, nodes) a node and (B, rows) an instance, float32.

    With them go the weights (B,) of distances in the decoder's readout and compatibility.
    """
    customers = batch.is_node & ~batch.is_depot
    # The other rows are fields of the batch.
    per_node = {
        "customer": customers,
        "prize": batch.revealed_prize,
        "delivery": batch.is_delivery,
        "paired_step": batch.is_pickup.float() - batch.is_delivery.float(),
    }
    per_instance = {
        "limited": torch.isfinite(batch.capacity),
        "bounded": torch.isfinite(batch.max_length),
        "per_horizon": per_horizon(batch),
        "depots": batch.is_depot.sum(dim=1),
        "read_weight": read_weight,
        "match_weight": match_weight,
        "customers": customers.sum(dim=1),
        "compulsory": batch.compulsory.sum(dim=1),
        "linehauls": (customers & (batch.demand > 0)).sum(dim=1),
        "penalty": batch.penalty.sum(dim=1),
    }
    node_table = _stacked(NODE_ROWS, per_node, batch)
    node_table = torch.nn.functional.pad(node_table, (0, nodes - batch.num_nodes))
    return node_table.contiguous(), _stacked(INSTANCE_ROWS, per_instance, batch).contiguous()


def _stacked(rows: Sequence[str], own: Mapping[str, Tensor], batch: Batch) -> Tensor:
    """One row after the other: its own tensor, or else the field of the batch by that name."""
    held = (own[name] if name in own else getattr(batch, name) for name in rows)
    return torch.stack([tensor.float() for tensor in held], dim=1)


def pack_facts(batch: Batch, zscore: Tensor, depots: int, nodes: int) -> tuple[Tensor, Tensor]:
    """The two tables of facts: (B, rows + 2 K, nodes) a node and (B, rows) an instance, float32."""
    scale = per_horizon(batch)
    limited, bounded = torch.isfinite(batch.capacity), torch.isfinite(batch.max_length)
    capacity = torch.where(limited, batch.capacity, torch.inf)
    per_length = torch.where(bounded, 1.0 / batch.max_length, 0.0)
    closing = torch.where(torch.isfinite(batch.closing), batch.closing, NEVER)
    per_node = {
        "opening": batch.opening * scale.unsqueeze(1),
        "closing": closing * scale.unsqueeze(1),
        "goods": batch.demand / capacity.unsqueeze(1),
    }
    per_instance = {"per_horizon": scale, "per_length": per_length, "limited": limited}
    free = (batch.open_routes | ~batch.has_depot)[:, None, None]
    home = return_paths(batch.distance, depots, nodes)
    home = torch.where(free | ~bounded[:, None, None], 0.0, home * per_length[:, None, None])
    far = return_paths(zscore, depots, nodes).clamp(-FARTHEST, FARTHEST)
    far = torch.where(batch.has_depot[:, None, None], far, 0.0)
    table = _stacked(FACT_OF_NODE, per_node, batch)
    table = torch.nn.functional.pad(table, (0, nodes - batch.num_nodes))
    own = _stacked(FACT_OF_INSTANCE, per_instance, batch)
    return torch.cat([table, home.float(), far.float()], dim=1).contiguous(), own.contiguous()

"""Instances as whole-rollout kernels want them, on a GPU or a CPU: two tables of float32."""

from __future__ import annotations

import torch
from torch import Tensor

from spacevrp.inference.moves import FARTHEST, NEVER
from spacevrp.model.features import per_horizon
from spacevrp.tensors import Batch

# Rows of the table a node and of the table an instance. Truth values are 0 or 1.
NODE_ROWS = (
    "customer",
    "demand",
    "opening",
    "closing",
    "service",
    "prize",
    "penalty",
    "compulsory",
    "delivery",
    "paired_step",
    "partner",
)
INSTANCE_ROWS = (
    "capacity",
    "limited",
    "load_tolerance",
    "load_rule",
    "max_length",
    "bounded",
    "windowed",
    "per_horizon",
    "min_prize",
    "max_routes",
    "open_routes",
    "backhaul_last",
    "depots",
    "orienteering",
    "prize_collecting",
    "read_weight",
    "match_weight",
    "customers",
    "compulsory",
    "linehauls",
    "penalty",
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
    per_node = {
        "customer": customers,
        "demand": batch.demand,
        "opening": batch.opening,
        "closing": batch.closing,
        "service": batch.service,
        "prize": batch.revealed_prize,
        "penalty": batch.penalty,
        "compulsory": batch.compulsory,
        "delivery": batch.is_delivery,
        "paired_step": batch.is_pickup.float() - batch.is_delivery.float(),
        "partner": batch.partner,
    }
    per_instance = {
        "capacity": batch.capacity,
        "limited": torch.isfinite(batch.capacity),
        "load_tolerance": batch.load_tolerance,
        "load_rule": batch.load_rule,
        "max_length": batch.max_length,
        "bounded": torch.isfinite(batch.max_length),
        "windowed": batch.windowed,
        "per_horizon": per_horizon(batch),
        "min_prize": batch.min_prize,
        "max_routes": batch.max_routes,
        "open_routes": batch.open_routes,
        "backhaul_last": batch.backhaul_last,
        "depots": batch.is_depot.sum(dim=1),
        "orienteering": batch.orienteering,
        "prize_collecting": batch.prize_collecting,
        "read_weight": read_weight,
        "match_weight": match_weight,
        "customers": customers.sum(dim=1),
        "compulsory": batch.compulsory.sum(dim=1),
        "linehauls": (customers & (batch.demand > 0)).sum(dim=1),
        "penalty": batch.penalty.sum(dim=1),
    }
    missing = nodes - batch.num_nodes
    node_table = torch.stack([per_node[name].float() for name in NODE_ROWS], dim=1)
    node_table = torch.nn.functional.pad(node_table, (0, missing))
    instance_table = torch.stack([per_instance[name].float() for name in INSTANCE_ROWS], dim=1)
    return node_table.contiguous(), instance_table.contiguous()


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
    per_instance = {
        "per_horizon": scale,
        "per_length": per_length,
        "limited": limited,
        "load_rule": batch.load_rule,
    }
    free = (batch.open_routes | ~batch.has_depot)[:, None, None]
    home = return_paths(batch.distance, depots, nodes)
    home = torch.where(free | ~bounded[:, None, None], 0.0, home * per_length[:, None, None])
    far = return_paths(zscore, depots, nodes).clamp(-FARTHEST, FARTHEST)
    far = torch.where(batch.has_depot[:, None, None], far, 0.0)
    table = torch.stack([per_node[name].float() for name in FACT_OF_NODE], dim=1)
    table = torch.nn.functional.pad(table, (0, nodes - batch.num_nodes))
    own = torch.stack([per_instance[name].float() for name in FACT_OF_INSTANCE], dim=1)
    return torch.cat([table, home.float(), far.float()], dim=1).contiguous(), own.contiguous()

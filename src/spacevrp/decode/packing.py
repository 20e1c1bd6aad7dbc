"""Instances as whole-rollout kernels want them, on a GPU or a CPU: two tables of float32."""

from __future__ import annotations

import torch
from torch import Tensor

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


def ways_home(matrix: Tensor, depots: int, nodes: int) -> Tensor:
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

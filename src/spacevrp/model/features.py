"""The unified data representation: six attributes and seven node-type bits for every node."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from spacevrp.tensors import Batch

NUM_ATTRIBUTES = 6
NUM_NODE_TYPES = 7


def node_attributes(batch: Batch) -> Tensor:
    """Demand, prize, penalty, earliest and latest start, service time, (B, N, 6).

    Demand is in vehicle loads and times in horizons. Prizes are as generated, which is to say in
    the largest prize (orienteering) or the required total (prize collecting).
    """
    dtype = batch.distance.dtype
    finite_capacity = torch.isfinite(batch.capacity)
    capacity = torch.where(finite_capacity, batch.capacity, 1.0).unsqueeze(1)
    demand = torch.where(finite_capacity.unsqueeze(1), batch.demand / capacity, 0.0)

    largest = batch.prize.amax(dim=1)
    scale = torch.where(batch.orienteering, largest, batch.min_prize)
    prize = batch.prize / torch.where(scale > 0, scale, 1.0).unsqueeze(1)

    # Foreign units: bring penalties to the scale of the unit square.
    longest = torch.where(torch.isfinite(batch.distance), batch.distance, 0.0).amax(dim=(1, 2))
    natural = (batch.unit == 1.0) | (longest <= 0)
    rescale = torch.where(natural, 1.0, math.sqrt(2.0) / longest.clamp(min=1e-30))
    penalty = batch.penalty * rescale.unsqueeze(1)

    windowed = batch.windowed.unsqueeze(1)
    closing = torch.where(torch.isfinite(batch.closing), batch.closing, 0.0)
    depot_close = torch.where(batch.is_depot, closing, 0.0).amax(dim=1)
    horizon = torch.where(depot_close > 0, depot_close, closing.amax(dim=1))
    horizon = torch.where(horizon > 0, horizon, 1.0).unsqueeze(1)
    latest = torch.where(torch.isfinite(batch.closing), batch.closing, horizon)
    times = [
        torch.where(windowed & batch.is_node, values / horizon, 0.0)
        for values in (batch.opening, latest, batch.service)
    ]
    return torch.stack([demand, prize, penalty, *times], dim=-1).to(dtype)


def node_types(batch: Batch) -> Tensor:
    """Depot, pickup, delivery, backhaul, linehaul, several routes, open routes, (B, N, 7)."""
    unpaired = ~batch.paired.unsqueeze(1)
    bits = [
        batch.is_depot,
        batch.is_pickup,
        batch.is_delivery,
        unpaired & (batch.demand < 0),
        unpaired & (batch.demand > 0),
        batch.several_routes.unsqueeze(1) & batch.is_node,
        batch.open_routes.unsqueeze(1) & batch.is_node,
    ]
    return torch.stack(bits, dim=-1).to(batch.distance.dtype)

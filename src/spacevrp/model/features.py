"""The unified data representation: six attributes and seven node-type bits for every node."""

from __future__ import annotations

import torch
from torch import Tensor

from spacevrp.inference.features import MEAN_IN_UNIT_SQUARE
from spacevrp.problems.distances import NO_MAP
from spacevrp.tensors import LOAD_RULE_CODES, Batch


def node_attributes(batch: Batch, scale: Tensor | None = None) -> Tensor:
    """Demand, prize, penalty, earliest and latest start, service time, (B, N, 6).

    Demand is in vehicle loads and times in horizons. Prizes are as generated, which is to say in
    the largest prize (orienteering) or the required total (prize collecting), and penalties in
    the unit of distance of generated instances; ``scale`` (B,) is that unit where it is known.
    """
    dtype = batch.distance.dtype
    finite_capacity = torch.isfinite(batch.capacity)
    capacity = torch.where(finite_capacity, batch.capacity, 1.0).unsqueeze(1)
    demand = torch.where(finite_capacity.unsqueeze(1), batch.demand / capacity, 0.0)

    largest = batch.prize.amax(dim=1)
    whole = torch.where(batch.orienteering, largest, batch.min_prize)
    prize = batch.prize / torch.where(whole > 0, whole, 1.0).unsqueeze(1)

    penalty = batch.penalty / (distance_scale(batch) if scale is None else scale).unsqueeze(1)

    windowed = batch.windowed.unsqueeze(1)
    horizon = _horizon(batch).unsqueeze(1)
    latest = torch.where(torch.isfinite(batch.closing), batch.closing, horizon)
    times = [
        torch.where(windowed & batch.is_node, values / horizon, 0.0)
        for values in (batch.opening, latest, batch.service)
    ]
    return torch.stack([demand, prize, penalty, *times], dim=-1).to(dtype)


def _horizon(batch: Batch) -> Tensor:
    """When the last depot closes, or the last customer where none does, (B,)."""
    closing = torch.where(torch.isfinite(batch.closing), batch.closing, 0.0)
    depot_close = torch.where(batch.is_depot, closing, 0.0).amax(dim=1)
    horizon = torch.where(depot_close > 0, depot_close, closing.amax(dim=1))
    return torch.where(horizon > 0, horizon, 1.0)


def per_horizon(batch: Batch) -> Tensor:
    """What times are multiplied with to be told in horizons, (B,); 0 without time windows."""
    return torch.where(batch.windowed, 1.0 / _horizon(batch), 0.0)


def distance_scale(batch: Batch) -> Tensor:
    """How many times longer distances are than in generated instances of that size, (B,).

    The model sees penalties, but no unit of distance: a penalty means something only beside the
    distances of the training. So penalties are measured in the mean distance between two nodes,
    and the scale is exactly 1 where that mean is within a factor of 2 of what generated instances
    of 20 customers or more have. Anywhere else, the unit of distance makes no difference.
    """
    distance = batch.distance
    nodes = batch.is_node.sum(dim=1).to(distance.dtype)  # (B,)
    between = batch.is_node.unsqueeze(2) & batch.is_node.unsqueeze(1)  # (B, N, N)
    between = between & torch.isfinite(distance)
    between = between & ~torch.eye(batch.num_nodes, dtype=torch.bool, device=batch.device)
    lengths = torch.where(between, distance, 0.0)
    total = lengths.sum(dim=(1, 2))
    mean = total / between.sum(dim=(1, 2)).clamp(min=1)
    both = between & between.transpose(1, 2)
    change = torch.where(both, lengths - lengths.transpose(1, 2), 0.0).abs().sum(dim=(1, 2))
    return natural_scale(mean, total, change, nodes)


def natural_scale(mean: Tensor, total: Tensor, change: Tensor, nodes: Tensor) -> Tensor:
    """The scale from the mean length of an arc, the sums of lengths and of turned arcs' changes."""
    # Shortest paths in a complete graph with uniform lengths are about ln N / N long.
    closed_mean = torch.log(nodes.clamp(min=2)) / nodes.clamp(min=2)
    expected = torch.where(change > NO_MAP * total, closed_mean, MEAN_IN_UNIT_SQUARE)
    scale = mean / expected
    natural = (scale >= 0.5) & (scale <= 2.0) | (mean <= 0)
    return torch.where(natural, 1.0, scale)


def node_types(batch: Batch, mean: Tensor | None = None) -> Tensor:
    """Depot, pickup, delivery, backhaul, linehaul, several routes, open routes, (B, N, 7).

    With the mean distance (B,), also what the attributes of a problem leave out, (B, N, 15).
    """
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
    types = torch.stack(bits, dim=-1).to(batch.distance.dtype)
    if mean is None:
        return types
    told = problem_bits(batch, mean).unsqueeze(1) * batch.is_node.unsqueeze(-1)
    return torch.cat([types, told.to(types.dtype)], dim=-1)


def problem_bits(batch: Batch, mean: Tensor) -> Tensor:
    """What the ten attributes do not say of a problem, (B, 8).

    Linehauls before backhauls; several depots; orienteering; loads of a vehicle that carries goods
    for delivery and collected ones apart; the same if it leaves full; a limited fleet; the mean
    distance over the length limit, and over the horizon. The last is 0 where durations differ from
    distances: times have a unit of their own then.
    """
    several = batch.is_depot.sum(dim=1) > 1
    separate = batch.backhaul & (batch.load_rule == LOAD_RULE_CODES["separate"])
    paper = batch.backhaul & (batch.load_rule == LOAD_RULE_CODES["paper"])
    bits = [batch.backhaul_last, several, batch.orienteering, separate, paper, batch.limited_fleet]
    hours = torch.where(_one_metric(batch), mean * per_horizon(batch), 0.0)
    shares = [(mean / batch.max_length).clamp(max=1.0), hours.clamp(max=1.0)]
    return torch.stack([*(bit.to(mean.dtype) for bit in bits), *shares], dim=1)


def _one_metric(batch: Batch) -> Tensor:
    """Whether durations are distances, (B,)."""
    if batch.duration is batch.distance:
        return torch.ones_like(batch.windowed)
    if type(batch.duration) is not type(batch.distance):  # one of them is computed from places
        return torch.zeros_like(batch.windowed)
    return (batch.duration == batch.distance).flatten(1).all(dim=1)

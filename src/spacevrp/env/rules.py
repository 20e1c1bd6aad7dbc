"""The rules of legal moves. Each returns where it allows a move; the mask is their conjunction.

A rule about customers sees every node as a customer; depots are decided by the depot rules alone.
Absent features are neutral values in the batch (infinite limits, windows that never close), so no
rule asks which variant it serves.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.env.load import load_after
from spacevrp.env.state import State
from spacevrp.env.ways import WaysHome
from spacevrp.tensors import Batch

# Half of the referee's tolerance: float32 sums must not push a legal plan over it.
TOLERANCE = 5e-6


@dataclass(frozen=True)
class Legs:
    """Distances and durations that the rules look at, (B, P, N) each."""

    distance: Tensor  # from the current node to every node
    duration: Tensor
    distance_home: Tensor  # the way from every node to the origin of the running route
    duration_home: Tensor


def legs(batch: Batch, home: WaysHome, state: State) -> Legs:
    """Rows and columns of the matrices for every partial solution."""
    distance = rows_of(batch.distance, state.current)
    distance_home = rows_of(home.distance.transpose(1, 2), state.origin)
    if batch.duration is batch.distance:
        return Legs(distance, distance, distance_home, distance_home)
    return Legs(
        distance,
        rows_of(batch.duration, state.current),
        distance_home,
        rows_of(home.duration.transpose(1, 2), state.origin),
    )


def rows_of(matrix: Tensor, nodes: Tensor) -> Tensor:
    """Rows (B, P, N) of matrices (B, N, N) at nodes (B, P)."""
    index = nodes.unsqueeze(-1).expand(-1, -1, matrix.shape[-1])
    return matrix.gather(1, index)


def at(values: Tensor, nodes: Tensor) -> Tensor:
    """Entries (B, P) of per-node values (B, N) at nodes (B, P)."""
    return values.gather(1, nodes)


def unvisited_customers(batch: Batch, state: State) -> Tensor:
    """Every customer at most once; padding never."""
    customers = batch.is_node & ~batch.is_depot  # (B, N)
    return customers.unsqueeze(1) & ~state.visited


def arc_exists(batch: Batch, state: State, legs: Legs) -> Tensor:
    """No move over a missing arc, nor to a place without a way home."""
    there = torch.isfinite(legs.distance) & torch.isfinite(legs.duration)
    back = torch.isfinite(legs.distance_home) & torch.isfinite(legs.duration_home)
    # Without a depot "home" is the first node, and the tour may come back over other nodes.
    return there & (back | _free_return(batch))


def _free_return(batch: Batch) -> Tensor:
    return (batch.open_routes | ~batch.has_depot)[:, None, None]


def load_fits(batch: Batch, state: State) -> Tensor:
    """Capacity, under the load rule of each instance."""
    _, _, peak, low = load_after(
        batch.load_rule[:, None, None],
        state.used.unsqueeze(-1),
        state.credit.unsqueeze(-1),
        batch.demand.unsqueeze(1),
    )
    tolerance = batch.load_tolerance[:, None, None]
    return (peak <= batch.capacity[:, None, None] + tolerance) & (low >= -tolerance)


def linehaul_before_backhaul(batch: Batch, state: State) -> Tensor:
    """Once a route has served a backhaul, no linehaul follows, where that is demanded."""
    closed_to_linehauls = batch.backhaul_last.unsqueeze(1) & state.backhauled  # (B, P)
    return ~(closed_to_linehauls.unsqueeze(-1) & (batch.demand > 0).unsqueeze(1))


def window_fits(batch: Batch, state: State, legs: Legs) -> Tensor:
    """Arrival before the window closes, and home before the depot does."""
    arrival = state.clock.unsqueeze(-1) + legs.duration
    start = torch.maximum(arrival, batch.opening.unsqueeze(1))
    home = start + batch.service.unsqueeze(1) + legs.duration_home
    home_by = at(batch.closing, state.origin).unsqueeze(-1)
    in_time = arrival <= batch.closing.unsqueeze(1) + TOLERANCE
    return in_time & ((home <= home_by + TOLERANCE) | _free_return(batch))


def length_fits(batch: Batch, state: State, legs: Legs) -> Tensor:
    """The route, with the way home where it counts, stays within the limit."""
    home = torch.where(_free_return(batch), 0.0, legs.distance_home)
    length = state.length.unsqueeze(-1) + legs.distance + home
    return length <= batch.max_length[:, None, None] + TOLERANCE


def pickup_before_delivery(batch: Batch, state: State) -> Tensor:
    """A delivery only after its pickup. (Routes end empty, so the pickup is in this route.)"""
    partner = batch.partner.unsqueeze(1).expand_as(state.visited)
    return ~batch.is_delivery.unsqueeze(1) | state.visited.gather(2, partner)


def vehicle_left(batch: Batch, state: State) -> Tensor:
    """A new route only while the fleet has a vehicle, (B, P, 1)."""
    at_depot = at(batch.is_depot, state.current)
    return (~at_depot | (state.routes < batch.max_routes.unsqueeze(1))).unsqueeze(-1)


def may_finish(batch: Batch, state: State) -> Tensor:
    """All compulsory customers served, and enough prize (or everything) collected, (B, P)."""
    # Prizes have units of their own, so the slack is in proportion.
    enough = state.collected >= batch.min_prize.unsqueeze(1) * (1.0 - TOLERANCE)
    return (state.owed == 0) & (enough | (state.left == 0))


def may_return(batch: Batch, state: State) -> Tensor:
    """Home from a customer: nothing paired on board, and either a new route or the end, (B, P)."""
    another_route = state.routes < batch.max_routes.unsqueeze(1)
    return (state.pending == 0) & (another_route | may_finish(batch, state))


def home_in_limits(batch: Batch, state: State) -> Tensor:
    """The arc home from the current node exists, and keeps the length and the time, (B, P).

    Only asked where the look-ahead trusts in ways over other customers.
    """
    index = torch.arange(batch.size, device=batch.device).unsqueeze(1)
    distance = batch.distance[index, state.current, state.origin]
    duration = batch.duration[index, state.current, state.origin]
    in_length = state.length + distance <= batch.max_length.unsqueeze(1) + TOLERANCE
    in_time = state.clock + duration <= at(batch.closing, state.origin) + TOLERANCE
    exists = torch.isfinite(distance) & torch.isfinite(duration)
    return (exists & in_length & in_time) | batch.open_routes.unsqueeze(1)

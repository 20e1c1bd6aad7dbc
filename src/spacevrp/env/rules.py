"""The rules of legal moves. Each returns where it allows a move; the mask is their conjunction.

A rule about customers sees every option as a customer; depots are decided by the depot rules alone.
The options are all nodes, or a few for each vehicle where there are too many to look at all.
Absent features are neutral values in the batch (infinite limits, windows that never close), so no
rule asks which variant it serves.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spacevrp.arrays.limits import TOLERANCE
from spacevrp.env.load import load_after
from spacevrp.env.returns import ReturnPaths
from spacevrp.env.state import State
from spacevrp.tensors import Batch
from spacevrp.tensors.lengths import between, columns_of, rows_of


@dataclass(frozen=True)
class Options:
    """The C nodes that each vehicle could go to next, and what the rules ask of them.

    Either all nodes, so that C = N and what does not depend on the vehicle is (B, 1, N), or some
    for each vehicle, (B, P, C).
    """

    customer: Tensor  # bool; padding is none
    visited: Tensor  # (B, P, C) bool
    demand: Tensor
    opening: Tensor
    closing: Tensor
    service: Tensor
    delivery: Tensor  # bool; second of a pair
    partner_visited: Tensor  # (B, P, C) bool


def all_nodes(batch: Batch, state: State) -> Options:
    """Every node of the batch is an option."""
    partner = batch.partner.unsqueeze(1).expand_as(state.visited)
    return Options(
        customer=(batch.is_node & ~batch.is_depot).unsqueeze(1),
        visited=state.visited,
        demand=batch.demand.unsqueeze(1),
        opening=batch.opening.unsqueeze(1),
        closing=batch.closing.unsqueeze(1),
        service=batch.service.unsqueeze(1),
        delivery=batch.is_delivery.unsqueeze(1),
        partner_visited=state.visited.gather(2, partner),
    )


def some_nodes(batch: Batch, state: State, nodes: Tensor) -> Options:
    """Nodes (B, P, C) are the options of each vehicle."""
    return Options(
        customer=of_nodes(batch.is_node & ~batch.is_depot, nodes),
        visited=state.visited.gather(2, nodes),
        demand=of_nodes(batch.demand, nodes),
        opening=of_nodes(batch.opening, nodes),
        closing=of_nodes(batch.closing, nodes),
        service=of_nodes(batch.service, nodes),
        delivery=of_nodes(batch.is_delivery, nodes),
        partner_visited=state.visited.gather(2, of_nodes(batch.partner, nodes)),
    )


def of_nodes(values: Tensor, nodes: Tensor) -> Tensor:
    """Entries (B, P, C) of per-node values (B, N) at nodes (B, P, C)."""
    return values.gather(1, nodes.flatten(1)).view(nodes.shape)


@dataclass(frozen=True)
class Limits:
    """What binds the running vehicle of each partial solution; (B, 1) where all have the same."""

    load_rule: Tensor  # int64 code, see load.py
    capacity: Tensor
    load_tolerance: Tensor
    max_length: Tensor
    home_by: Tensor  # when it has to be home
    free_return: Tensor  # bool; the way home neither costs nor counts


def limits_of(batch: Batch, state: State) -> Limits:
    """The limits where all vehicles of an instance are alike."""
    return Limits(
        load_rule=batch.load_rule.unsqueeze(1),
        capacity=batch.capacity.unsqueeze(1),
        load_tolerance=batch.load_tolerance.unsqueeze(1),
        max_length=batch.max_length.unsqueeze(1),
        home_by=at(batch.closing, state.origin),
        # Without a depot "home" is the first node, and the tour may come back over other nodes.
        free_return=(batch.open_routes | ~batch.has_depot).unsqueeze(1),
    )


@dataclass(frozen=True)
class Legs:
    """Distances and durations that the rules look at, (B, P, C) each."""

    distance: Tensor  # from the current node to every option
    duration: Tensor
    distance_home: Tensor  # the way from every option to the origin of the running route
    duration_home: Tensor


def legs(batch: Batch, home: ReturnPaths, state: State, nodes: Tensor | None = None) -> Legs:
    """Legs to all nodes, or to the nodes (B, P, C) alone."""

    def there(lengths: Tensor) -> Tensor:
        if nodes is None:
            return rows_of(lengths, state.current)
        return between(lengths, state.current.unsqueeze(-1), nodes)

    def back(lengths: Tensor) -> Tensor:
        if nodes is None:
            return columns_of(lengths, state.origin)
        return between(lengths, nodes, state.origin.unsqueeze(-1))

    distance, distance_home = there(batch.distance), back(home.distance)
    if batch.duration is batch.distance:
        return Legs(distance, distance, distance_home, distance_home)
    return Legs(distance, there(batch.duration), distance_home, back(home.duration))


def at(values: Tensor, nodes: Tensor) -> Tensor:
    """Entries (B, P) of per-node values (B, N) at nodes (B, P)."""
    return values.gather(1, nodes)


def unvisited_customers(options: Options) -> Tensor:
    """Every customer at most once; padding never."""
    return options.customer & ~options.visited


def arc_exists(limits: Limits, legs: Legs) -> Tensor:
    """No move over a missing arc, nor to a place without a way home."""
    there = torch.isfinite(legs.distance) & torch.isfinite(legs.duration)
    back = torch.isfinite(legs.distance_home) & torch.isfinite(legs.duration_home)
    return there & (back | limits.free_return.unsqueeze(-1))


def load_fits(limits: Limits, state: State, options: Options) -> Tensor:
    """Capacity, under the load rule of each instance."""
    _, _, peak, low = load_after(
        limits.load_rule.unsqueeze(-1),
        state.used.unsqueeze(-1),
        state.credit.unsqueeze(-1),
        options.demand,
    )
    tolerance = limits.load_tolerance.unsqueeze(-1)
    return (peak <= limits.capacity.unsqueeze(-1) + tolerance) & (low >= -tolerance)


def linehaul_before_backhaul(batch: Batch, state: State, options: Options) -> Tensor:
    """Once a route has served a backhaul, no linehaul follows, where that is demanded."""
    closed_to_linehauls = batch.backhaul_last.unsqueeze(1) & state.backhauled  # (B, P)
    return ~(closed_to_linehauls.unsqueeze(-1) & (options.demand > 0))


def window_fits(limits: Limits, state: State, options: Options, legs: Legs) -> Tensor:
    """Arrival before the window closes, and home before the depot does."""
    arrival = state.clock.unsqueeze(-1) + legs.duration
    start = torch.maximum(arrival, options.opening)
    home = start + options.service + legs.duration_home
    in_time = arrival <= options.closing + TOLERANCE
    home_in_time = home <= limits.home_by.unsqueeze(-1) + TOLERANCE
    return in_time & (home_in_time | limits.free_return.unsqueeze(-1))


def length_fits(limits: Limits, state: State, legs: Legs) -> Tensor:
    """The route, with the way home where it counts, stays within the limit."""
    home = torch.where(limits.free_return.unsqueeze(-1), 0.0, legs.distance_home)
    length = state.length.unsqueeze(-1) + legs.distance + home
    return length <= limits.max_length.unsqueeze(-1) + TOLERANCE


def pickup_before_delivery(options: Options) -> Tensor:
    """A delivery only after its pickup, which is in this route, as routes end empty."""
    return ~options.delivery | options.partner_visited


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


def home_in_limits(batch: Batch, limits: Limits, state: State) -> Tensor:
    """The arc home from the current node exists, and keeps the length and the time, (B, P).

    Only asked where the look-ahead trusts in ways over other customers.
    """
    distance = between(batch.distance, state.current, state.origin)
    duration = between(batch.duration, state.current, state.origin)
    in_length = state.length + distance <= limits.max_length + TOLERANCE
    in_time = state.clock + duration <= limits.home_by + TOLERANCE
    return torch.isfinite(distance) & torch.isfinite(duration) & in_length & in_time

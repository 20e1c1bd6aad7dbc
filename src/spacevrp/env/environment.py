"""The environment: masks as conjunctions of rules, and a pure step."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from spacevrp.arrays.limits import TOLERANCE
from spacevrp.env import rules
from spacevrp.env.load import load_after
from spacevrp.env.returns import return_paths
from spacevrp.env.rules import at
from spacevrp.env.state import State
from spacevrp.tensors import LOAD_RULE_CODES, Batch
from spacevrp.tensors.lengths import between, from_first, to_first


class Environment:
    """The rules of one batch.

    Nothing here asks for a variant, waits for the device or changes a shape, so one traced step
    serves every batch of the same width.

    Parameters
    ----------
    batch
        The instances.
    num_depots
        Depots of the instance with most of them. Counted where not given, which waits for the
        device once.
    direct_return
        Only customers with a direct way home are served, so that no route is ever without one.
        False looks ahead over the shortest paths home instead, for instances in which some
        customers have none but over other customers; routes may then come to a dead end.
    """

    def __init__(
        self, batch: Batch, num_depots: int | None = None, *, direct_return: bool = True
    ) -> None:
        self.batch = batch
        if num_depots is None:
            num_depots = int(batch.is_depot.sum(dim=1).max())
        self.num_depots = num_depots
        self.home = return_paths(batch, direct=direct_return)
        self._servable = self.servable_from_depots() if num_depots > 1 else None

    # ---------------------------------------------------------------------------------- begin

    def first_depots(self, starts: Tensor) -> Tensor:
        """The depot that serves each start customer (B, P) most cheaply on its own, (B, P)."""
        batch = self.batch
        if self._servable is None:
            return torch.zeros_like(starts)
        there = from_first(batch.distance, self.num_depots)  # (B, K, N)
        back = to_first(self.home.distance, self.num_depots)
        cost = there + torch.where(batch.open_routes[:, None, None], 0.0, back)
        cost = cost.masked_fill(~self._servable, torch.inf)
        # Depots on the same shortest cycle cost the same: rounding must not choose among them.
        cheapest = cost <= cost.amin(dim=1, keepdim=True) * (1.0 + TOLERANCE)
        return at(cheapest.int().argmax(dim=1), starts)

    def origins(self, starts: Tensor) -> Tensor:
        """Where solutions from start nodes (B, P) begin: their depots; without one, themselves."""
        return torch.where(self.batch.has_depot.unsqueeze(1), self.first_depots(starts), starts)

    def standing(self, origin: Tensor) -> State:
        """Partial solutions before their first move, with a vehicle at each origin (B, P)."""
        state = replace(
            State.untouched(self.batch, origin.shape),
            current=origin,
            origin=origin,
            clock=at(self.batch.opening, origin),
        )
        return replace(state, used=self._used_at_depot(state))

    def begin(self, starts: Tensor) -> State:
        """Partial solutions that have just served their start nodes (B, P)."""
        state = self.standing(self.origins(starts))
        # A start that no rule would allow is no solution: say so instead of counting it.
        illegal = ~self.customer_moves(state, starts.unsqueeze(-1)).squeeze(-1)
        state = self.step(state, starts)
        return replace(state, done=state.done | illegal, stuck=state.stuck | illegal)

    # ----------------------------------------------------------------------------------- mask

    def mask(self, state: State) -> Tensor:
        """Legal moves, (B, P, N) bool. Finished solutions stay where they are.

        A partial solution that is not finished and has no legal move also stays: the step then
        marks it stuck.
        """
        batch = self.batch
        customers = self.customer_moves(state)
        allowed = customers | self._depot_moves(state)
        stay = only(state.current, batch.num_nodes)
        idle = state.done | ~allowed.any(dim=-1)
        return torch.where(idle.unsqueeze(-1), stay, allowed)

    def customer_moves(self, state: State, nodes: Tensor | None = None) -> Tensor:
        """Customers that can be served next, (B, P, N); of nodes (B, P, C) alone where given."""
        batch = self.batch
        if nodes is None:
            options = rules.all_nodes(batch, state)
        else:
            options = rules.some_nodes(batch, state, nodes)
        legs = rules.legs(batch, self.home, state, nodes)
        limits = rules.limits_of(batch, state)
        return (
            rules.unvisited_customers(options)
            & rules.arc_exists(limits, legs)
            & rules.load_fits(limits, state, options)
            & rules.linehaul_before_backhaul(batch, state, options)
            & rules.window_fits(limits, state, options, legs)
            & rules.length_fits(limits, state, legs)
            & rules.pickup_before_delivery(options)
            & rules.vehicle_left(batch, state)
        )

    def _depot_moves(self, state: State) -> Tensor:
        """Home from a customer; from a depot, finish there or switch to another one."""
        batch = self.batch
        to_origin = only(state.origin, batch.num_nodes)
        moves = to_origin & self.origin_moves(state).unsqueeze(-1)
        if self._servable is None:
            return moves
        at_depot = at(batch.is_depot, state.current)
        may_switch = at_depot & ~state.switched & (state.left > 0)
        return moves | (self._useful_depots(state) & may_switch.unsqueeze(-1) & ~to_origin)

    def origin_moves(self, state: State) -> Tensor:
        """Whether a move to the depot of the running route is legal: home, or to finish, (B, P)."""
        batch = self.batch
        at_depot = at(batch.is_depot, state.current)
        goes_home = ~at_depot & rules.may_return(batch, state)
        if not self.home.direct:  # otherwise the rules for customers have seen to it
            in_limits = rules.home_in_limits(batch, rules.limits_of(batch, state), state)
            goes_home = goes_home & (in_limits | batch.open_routes.unsqueeze(1))
        # At a depot, staying means to finish although optional customers are left.
        finishes = at_depot & rules.may_finish(batch, state)
        return (goes_home | finishes) & batch.has_depot.unsqueeze(1)

    def _useful_depots(self, state: State) -> Tensor:
        """Depots from which some unvisited customer can be served first, (B, P, N)."""
        batch = self.batch
        assert self._servable is not None  # only called with several depots
        options = rules.all_nodes(batch, state)
        first = (
            rules.unvisited_customers(options)
            & rules.load_fits(rules.limits_of(batch, state), state, options)
            & rules.pickup_before_delivery(options)
        )
        open_customers = first.to(batch.distance.dtype)
        counts = open_customers @ self._servable.transpose(1, 2).to(open_customers)  # (B, P, K)
        useful = F.pad(counts > 0, (0, batch.num_nodes - self.num_depots))
        return useful & batch.is_depot.unsqueeze(1)

    # ----------------------------------------------------------------------------------- step

    def step(self, state: State, action: Tensor) -> State:
        """The state after moving to ``action`` (B, P)."""
        batch = self.batch
        active = ~state.done
        from_depot = at(batch.is_depot, state.current)
        to_depot = at(batch.is_depot, action)
        serves = active & ~to_depot & ~at_node(state.visited, action)
        stays = active & ~serves & (action == state.current)
        stuck = stays & ~(from_depot & rules.may_finish(batch, state))
        switches = active & from_depot & to_depot & ~stays

        distance = between(batch.distance, state.current, action)
        free = (from_depot & to_depot) | (batch.open_routes.unsqueeze(1) & to_depot) | stays
        leg = torch.where(free | ~active, 0.0, distance)
        used, credit, _, _ = load_after(
            batch.load_rule.unsqueeze(1), state.used, state.credit, at(batch.demand, action)
        )
        at_home = active & to_depot
        after = replace(
            serve(batch, state, action, serves, distance),
            current=torch.where(active, action, state.current),
            origin=torch.where(at_home, action, state.origin),
            used=torch.where(serves, used, state.used),
            credit=torch.where(serves, credit, state.credit),
            routes=state.routes + (serves & from_depot).to(state.routes.dtype),
            switched=switches,
            stuck=state.stuck | stuck,
            travelled=state.travelled + leg,
        )
        after = self._start_afresh(after, at_home)
        return self._finish(after, stays, at_home)

    def _start_afresh(self, state: State, at_home: Tensor) -> State:
        """Reset what belongs to a route wherever a vehicle stands at its depot."""
        zero = torch.zeros_like(state.length)
        return replace(
            state,
            used=torch.where(at_home, self._used_at_depot(state), state.used),
            credit=torch.where(at_home, zero, state.credit),
            clock=torch.where(at_home, at(self.batch.opening, state.current), state.clock),
            length=torch.where(at_home, zero, state.length),
            backhauled=state.backhauled & ~at_home,
        )

    def _used_at_depot(self, state: State) -> Tensor:
        """0, except under the rule `paper` when only backhauls are left: then it leaves empty."""
        batch = self.batch
        leaves_empty = (
            (batch.load_rule == LOAD_RULE_CODES["paper"]) & torch.isfinite(batch.capacity)
        ).unsqueeze(1) & (state.linehauls == 0)
        capacity = batch.capacity.unsqueeze(1).expand_as(state.length)
        return torch.where(leaves_empty, capacity, torch.zeros_like(state.length))

    def _finish(self, state: State, stays: Tensor, at_home: Tensor) -> State:
        """Mark finished solutions; close the tour where there is no depot."""
        batch = self.batch
        no_route_left = state.routes >= batch.max_routes.unsqueeze(1)
        home_for_good = at_home & ((state.left == 0) | no_route_left)
        closes = ~batch.has_depot.unsqueeze(1) & (state.left == 0) & ~state.done
        closing_leg = between(batch.distance, state.current, state.origin)
        return replace(
            state,
            done=state.done | stays | home_for_good | closes,
            travelled=state.travelled + torch.where(closes, closing_leg, 0.0),
        )

    # ------------------------------------------------------------------------------ objective

    def cost(self, state: State) -> Tensor:
        """Cost in units of distance (minus the prize for orienteering), (B, P); inf if stuck."""
        batch = self.batch
        skipped = torch.where(state.visited, 0.0, batch.penalty.unsqueeze(1)).sum(dim=-1)
        cost = state.travelled + skipped
        cost = torch.where(batch.orienteering.unsqueeze(1), -state.collected, cost)
        return torch.where(state.stuck, torch.inf, cost)

    def servable_from_depots(self) -> Tensor:
        """Customers that can come first in a route from each depot, (B, K, N) bool."""
        batch = self.batch
        number = max(self.num_depots, 1)
        depots = slice(0, number)
        there, back = from_first(batch.distance, number), to_first(self.home.distance, number)
        time_there = from_first(batch.duration, number)
        time_back = to_first(self.home.duration, number)
        is_open = batch.open_routes[:, None, None]
        arrival = batch.opening[:, depots].unsqueeze(-1) + time_there
        start = torch.maximum(arrival, batch.opening.unsqueeze(1))
        home = start + batch.service.unsqueeze(1) + time_back
        in_time = arrival <= batch.closing.unsqueeze(1) + TOLERANCE
        in_time &= is_open | (home <= batch.closing[:, depots].unsqueeze(-1) + TOLERANCE)
        length = there + torch.where(is_open, 0.0, back)
        in_length = length <= batch.max_length[:, None, None] + TOLERANCE
        customers = (batch.is_node & ~batch.is_depot).unsqueeze(1)
        # A window that never closes does not mind an infinite arrival.
        duration = time_there + torch.where(is_open, 0.0, time_back)
        exists = torch.isfinite(length) & torch.isfinite(duration)
        exists = exists & batch.is_depot[:, depots].unsqueeze(-1)
        return in_time & in_length & customers & exists

    @property
    def max_steps(self) -> int:
        """No solution takes more moves: every customer alone, each after a switch of depots."""
        moves_a_customer = 3 if self.num_depots > 1 else 2
        return moves_a_customer * self.batch.num_nodes + 1


def serve(batch: Batch, state: State, action: Tensor, serves: Tensor, distance: Tensor) -> State:
    """What changes where a customer is served (B, P), whatever vehicle comes over ``distance``."""
    duration = between(batch.duration, state.current, action)
    opening = at(batch.opening, action)
    ready = torch.maximum(state.clock + duration, opening) + at(batch.service, action)
    demand = at(batch.demand, action)
    one = serves.to(state.left.dtype)
    change = at(batch.is_pickup, action).long() - at(batch.is_delivery, action).long()
    return replace(
        state,
        visited=state.visited | (only(action, batch.num_nodes) & serves.unsqueeze(-1)),
        clock=torch.where(serves, ready, state.clock),
        length=torch.where(serves, state.length + distance, state.length),
        collected=state.collected + torch.where(serves, at(batch.revealed_prize, action), 0.0),
        pending=state.pending + one * change,
        backhauled=state.backhauled | (serves & (demand < 0)),
        left=state.left - one,
        linehauls=state.linehauls - one * (demand > 0).to(one.dtype),
        owed=state.owed - one * at(batch.compulsory, action).to(one.dtype),
    )


def at_node(values: Tensor, nodes: Tensor) -> Tensor:
    """Entries (B, P) of values (B, P, N) at nodes (B, P)."""
    return values.gather(2, nodes.unsqueeze(-1)).squeeze(-1)


def only(nodes: Tensor, count: int) -> Tensor:
    """True at nodes (B, P) alone, (B, P, count), not by ``one_hot``, which reads values."""
    return nodes.unsqueeze(-1) == torch.arange(count, device=nodes.device)

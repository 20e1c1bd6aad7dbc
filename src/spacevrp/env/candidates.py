"""The environment of large instances: few options a vehicle, and steps as cheap for any N.

The rules are those of :class:`Environment`. They are asked of chosen nodes only, and those that
cannot forbid anything in the batch at hand are not asked at all.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from spacevrp.env import rules
from spacevrp.env.environment import Environment, at_node
from spacevrp.env.load import load_after
from spacevrp.env.rules import at, of_nodes
from spacevrp.env.state import State
from spacevrp.tensors import LOAD_RULE_CODES, Batch
from spacevrp.tensors.lengths import PlaneLengths, between


@dataclass(frozen=True)
class Prospect:
    """What the rules say of chosen nodes, (B, P, C) each."""

    legal: Tensor  # bool; can be served next
    fresh: Tensor  # bool; a customer not yet visited


class CandidateEnvironment(Environment):
    """The rules of one batch, asked of a few nodes at a time.

    Which customers are visited is marked in place: a state that was handed to :meth:`step` is used
    up. Depots and padding count as visited, so that they need not be told from customers. Distances
    may be given by coordinates.
    """

    def __init__(self, batch: Batch, num_depots: int | None = None) -> None:
        super().__init__(batch, num_depots)
        # The questions below wait for the device, once.
        finite = torch.isfinite
        self._backhauls = bool(batch.backhaul_last.any())
        self._pairs = bool(batch.paired.any())
        self._limits = (
            bool((finite(batch.closing) & batch.is_node).any())
            or bool(finite(batch.max_length).any())
            or _may_miss_arcs(batch)
        )
        self._tours = not bool(batch.has_depot.all())
        self._prizes = bool((batch.revealed_prize != 0).any())
        customers = batch.is_node & ~batch.is_depot
        self._optional = bool((customers & ~batch.compulsory).any())
        # Where nothing is ever collected, what is used only grows: one comparison is enough.
        self._only_deliveries = not bool((batch.demand < 0).any()) and not bool(
            (batch.load_rule == LOAD_RULE_CODES["paper"]).any()
        )
        self._more_rules = (
            self._backhauls or self._pairs or self._limits or not self._only_deliveries
        )

    def begin(self, starts: Tensor) -> State:
        """Partial solutions that have just served their start nodes (B, P)."""
        state = super().begin(starts)
        no_customer = (~self.batch.is_node | self.batch.is_depot).unsqueeze(1)
        return replace(state, visited=state.visited | no_customer)

    def prospect(self, state: State, nodes: Tensor) -> Prospect:
        """What the rules say of nodes (B, P, C)."""
        batch = self.batch
        fresh = ~state.visited.gather(2, nodes)
        legal = fresh & rules.vehicle_left(batch, state)
        if self._only_deliveries:
            used = state.used.unsqueeze(-1) + of_nodes(batch.demand, nodes)
            room = batch.capacity + batch.load_tolerance
            legal = legal & (used <= room[:, None, None])
        if not self._more_rules:
            return Prospect(legal, fresh)
        options = rules.some_nodes(batch, state, nodes)
        limits = rules.limits_of(batch, state)
        if not self._only_deliveries:
            legal = legal & rules.load_fits(limits, state, options)
        if self._backhauls:
            legal = legal & rules.linehaul_before_backhaul(batch, state, options)
        if self._pairs:
            legal = legal & rules.pickup_before_delivery(options)
        if self._limits:
            legs = rules.legs(batch, self.home, state, nodes)
            legal = (
                legal
                & rules.arc_exists(limits, legs)
                & rules.window_fits(limits, state, options, legs)
                & rules.length_fits(limits, state, legs)
            )
        return Prospect(legal, fresh)

    def step(self, state: State, action: Tensor) -> State:
        """The state after moving to ``action`` (B, P): what the other step computes, with less."""
        batch = self.batch
        active = ~state.done
        from_depot, to_depot = at(batch.is_depot, state.current), at(batch.is_depot, action)
        seen = at_node(state.visited, action)
        serves = active & ~to_depot & ~seen
        stays = active & ~serves & (action == state.current)
        at_home = active & to_depot
        distance = between(batch.distance, state.current, action)
        free = stays | ~active | (to_depot & (from_depot | batch.open_routes.unsqueeze(1)))
        demand = at(batch.demand, action)
        one = serves.to(state.left.dtype)
        left = state.left - one
        changes = self._trip_changes(state, action, serves, at_home, distance)
        changes |= self._load_changes(state, demand, serves, at_home, one)
        changes |= self._pair_changes(state, action, one)
        owed = left
        if self._optional:
            owed = state.owed - one * at(batch.compulsory, action).to(one.dtype)
        if self._prizes:
            prize = at(batch.revealed_prize, action)
            changes["collected"] = state.collected + torch.where(serves, prize, 0.0)
        if self.num_depots > 1:
            changes["switched"] = at_home & from_depot & ~stays
        after = replace(
            state,
            current=torch.where(active, action, state.current),
            origin=torch.where(at_home, action, state.origin),
            visited=state.visited.scatter_(2, action.unsqueeze(-1), (seen | serves).unsqueeze(-1)),
            left=left,
            owed=owed,
            routes=state.routes + (serves & from_depot).to(one.dtype),
            stuck=state.stuck | (stays & ~(from_depot & rules.may_finish(batch, state))),
            travelled=state.travelled + torch.where(free, 0.0, distance),
            **changes,
        )
        return self._finish(after, stays, at_home)

    def _trip_changes(
        self, state: State, action: Tensor, serves: Tensor, at_home: Tensor, distance: Tensor
    ) -> dict[str, Tensor]:
        """Length and clock of the running route, where some limit asks for them."""
        if not self._limits:
            return {}
        batch = self.batch
        duration = distance
        if batch.duration is not batch.distance:
            duration = between(batch.duration, state.current, action)
        opening = at(batch.opening, action)
        ready = torch.maximum(state.clock + duration, opening) + at(batch.service, action)
        length = torch.where(serves, state.length + distance, state.length)
        clock = torch.where(serves, ready, state.clock)
        return {
            "length": torch.where(at_home, 0.0, length),
            "clock": torch.where(at_home, opening, clock),
        }

    def _load_changes(
        self, state: State, demand: Tensor, serves: Tensor, at_home: Tensor, one: Tensor
    ) -> dict[str, Tensor]:
        """What is on board."""
        if self._only_deliveries:
            used = torch.where(serves, state.used + demand, state.used)
            return {"used": torch.where(at_home, 0.0, used)}
        batch = self.batch
        rule = batch.load_rule.unsqueeze(1)
        used, credit, _, _ = load_after(rule, state.used, state.credit, demand)
        linehauls = state.linehauls - one * (demand > 0).to(one.dtype)
        fresh = self._used_at_depot(replace(state, linehauls=linehauls))
        credit = torch.where(serves, credit, state.credit)
        used = torch.where(serves, used, state.used)
        return {
            "used": torch.where(at_home, fresh, used),
            "credit": torch.where(at_home, 0.0, credit),
            "linehauls": linehauls,
            "backhauled": (state.backhauled | (serves & (demand < 0))) & ~at_home,
        }

    def _pair_changes(self, state: State, action: Tensor, one: Tensor) -> dict[str, Tensor]:
        """Pickups on board."""
        if not self._pairs:
            return {}
        batch = self.batch
        change = at(batch.is_pickup, action).long() - at(batch.is_delivery, action).long()
        return {"pending": state.pending + one * change}

    def _finish(self, state: State, stays: Tensor, at_home: Tensor) -> State:
        """Mark finished solutions; close the tour where there is no depot."""
        if not self._tours:
            over = (state.left == 0) | (state.routes >= self.batch.max_routes.unsqueeze(1))
            return replace(state, done=state.done | stays | (at_home & over))
        return super()._finish(state, stays, at_home)


def select(state: State, index: Tensor) -> State:
    """Some of the partial solutions: those at positions ``index`` (B, q)."""
    chosen = {}
    for field in fields(State):
        values = getattr(state, field.name)
        along = index
        if values.ndim == 3:
            along = index.unsqueeze(-1).expand(-1, -1, values.shape[2])
        chosen[field.name] = values.gather(1, along)
    return State(**chosen)


def _may_miss_arcs(batch: Batch) -> bool:
    lengths = {id(one): one for one in (batch.distance, batch.duration)}.values()
    return any(not isinstance(one, PlaneLengths) and bool(one.amax().isinf()) for one in lengths)

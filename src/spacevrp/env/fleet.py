"""The environment of fleets: every route has a vehicle, which brings its limits with it.

The rules are those of :class:`~spacevrp.env.environment.Environment`, asked with the limits of the
running vehicle. A vehicle is chosen whenever the one before is home, out of the types that could
serve a customer, by preferences that belong to the partial solution. Every moment at a depot is
thus the beginning of a route: the next move serves a customer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from spacevrp.arrays.limits import TOLERANCE
from spacevrp.env import rules
from spacevrp.env.environment import at_node, only, serve
from spacevrp.env.load import load_after
from spacevrp.env.returns import return_paths
from spacevrp.env.rules import Limits, at
from spacevrp.env.state import State
from spacevrp.tensors import Batch
from spacevrp.tensors.fleet import Fleet, rule_codes
from spacevrp.tensors.lengths import between, rows_of


@dataclass(frozen=True)
class Preferences:
    """What each partial solution prefers where the rules leave a choice."""

    vehicle: Tensor  # (B, P, R, K) of the types for the first R routes, the last also for the rest
    nearest: Tensor  # (B, P) bool; first of all a vehicle whose start is near a customer to serve
    stays_out: Tensor  # (B, P) bool; home only when no customer can be served
    owed_first: Tensor  # (B, P) bool; no optional customer while a compulsory one can be served

    def some(self, rows: slice, columns: slice) -> Preferences:
        """Those of some instances (or views) and some of their partial solutions."""
        return Preferences(*(value[rows, columns] for value in vars(self).values()))

    def to(self, device: torch.device | str) -> Preferences:
        """The preferences on another device."""
        return Preferences(*(value.to(device) for value in vars(self).values()))


@dataclass(frozen=True)
class FleetState:
    """P partial solutions of each of B instances, with their vehicles."""

    trip: State  # what fleets share with others; `origin` is the depot of the running vehicle
    vehicle: Tensor  # (B, P) int64; type of the running vehicle
    spare: Tensor  # (B, P, K) int64; vehicles of each type that have not left yet
    used: Tensor  # (B, P, D) capacity of each kind that no later delivery can use
    credit: Tensor  # (B, P, D) the second running number of the load rules
    stops: Tensor  # (B, P) int64; customers of the running route
    paid: Tensor  # (B, P) fixed costs

    @property
    def done(self) -> Tensor:
        """Finished solutions, (B, P) bool."""
        return self.trip.done


class FleetEnvironment:
    """The rules of one batch of fleets; see :class:`~spacevrp.env.environment.Environment`."""

    def __init__(self, batch: Batch, fleet: Fleet, *, direct_return: bool = True) -> None:
        self.batch, self.fleet = batch, fleet
        self.home = return_paths(batch, direct=direct_return)
        self._rule = rule_codes(batch)
        self._pins = (fleet.pinned >= 0).sum(dim=2)  # (B, K)
        types = torch.arange(fleet.num_types, device=batch.device).expand_as(fleet.depot)
        ready = self._standing(self._untouched(fleet.depot.shape), types)
        # Whom a vehicle of each type can serve first, and how far away they are, (B, K, N). Apart
        # from who is served already, nothing that happens changes that.
        self._first = self.customer_moves(ready)
        self._first_leg = torch.where(self._first, rows_of(batch.distance, fleet.depot), torch.inf)

    @property
    def max_steps(self) -> int:
        """No solution takes more moves: every customer alone."""
        return 2 * self.batch.num_nodes + 1

    # ---------------------------------------------------------------------------------- begin

    def begin(self, preferences: Preferences) -> FleetState:
        """Partial solutions in which the first vehicle is about to leave."""
        state = self._untouched(preferences.nearest.shape)
        return self._board(state, ~state.done, preferences)

    def _untouched(self, shape: torch.Size) -> FleetState:
        """Partial solutions (B, P) in which nothing has happened yet."""
        fleet, trip = self.fleet, State.untouched(self.batch, shape)
        count, nothing = trip.routes, trip.travelled
        kinds = nothing.new_zeros((*shape, fleet.num_kinds))
        spare = fleet.count.unsqueeze(1).expand(*shape, fleet.num_types)
        return FleetState(trip, count, spare, kinds, kinds, count, nothing)

    # ---------------------------------------------------------------------------------- mask

    def mask(self, state: FleetState, preferences: Preferences) -> Tensor:
        """Legal moves, (B, P, N) bool. Finished solutions stay where they are, as do stuck ones.

        A move to its depot takes a vehicle home, wherever its route ends.
        Plans go on as long as a customer can be served.
        """
        batch, trip = self.batch, state.trip
        customers = self.customer_moves(state)
        owed = customers & batch.compulsory.unsqueeze(1)
        restricts = preferences.owed_first & owed.any(dim=-1)
        customers = torch.where(restricts.unsqueeze(-1), owed, customers)
        serves = customers.any(dim=-1)
        at_depot = at(batch.is_depot, trip.current)
        goes_home = ~at_depot & self._may_return(state) & ~(preferences.stays_out & serves)
        home = only(trip.origin, batch.num_nodes)
        moves = customers | (home & goes_home.unsqueeze(-1))
        idle = trip.done | ~moves.any(dim=-1)
        return torch.where(idle.unsqueeze(-1), only(trip.current, batch.num_nodes), moves)

    def customer_moves(self, state: FleetState) -> Tensor:
        """Customers that the running vehicle can serve next, (B, P, N)."""
        batch, fleet, trip, vehicle = self.batch, self.fleet, state.trip, state.vehicle
        is_open = at(fleet.is_open, vehicle)
        options = rules.all_nodes(batch, trip)
        legs = rules.legs(batch, self.home, trip)
        # An open route ends where it is: the way home takes neither length nor time.
        nothing = is_open.unsqueeze(-1)
        legs = replace(
            legs,
            distance_home=legs.distance_home.masked_fill(nothing, 0.0),
            duration_home=legs.duration_home.masked_fill(nothing, 0.0),
        )
        limits = self._limits(vehicle, 0)
        legal = (
            rules.unvisited_customers(options)
            & rules.arc_exists(limits, legs)
            & rules.linehaul_before_backhaul(batch, trip, options)
            & rules.window_fits(limits, trip, options, legs)
            & rules.length_fits(limits, trip, legs)
            & rules.pickup_before_delivery(options)
            & _of_types(fleet.may_serve, vehicle)
        )
        for kind in range(fleet.num_kinds):
            of_kind = replace(trip, used=state.used[..., kind], credit=state.credit[..., kind])
            demand = replace(options, demand=fleet.loads[:, :, kind].unsqueeze(1))
            legal = legal & rules.load_fits(self._limits(vehicle, kind), of_kind, demand)
        return legal & self._pins_allow(state)

    def _limits(self, vehicle: Tensor, kind: int) -> Limits:
        """What binds the running vehicles (B, P), for one kind of load."""
        fleet = self.fleet
        return Limits(
            load_rule=self._rule.unsqueeze(1),
            capacity=at(fleet.capacity[:, :, kind], vehicle),
            load_tolerance=at(fleet.load_tolerance[:, :, kind], vehicle),
            max_length=at(fleet.max_length, vehicle),
            home_by=at(fleet.back_by, vehicle),
            free_return=torch.zeros_like(vehicle, dtype=torch.bool),
        )

    def _pins_allow(self, state: FleetState) -> Tensor:
        """Until all pinned customers of the vehicle are served, only the next one, (B, P, N)."""
        pinned = _of_types(self.fleet.pinned, state.vehicle)  # (B, P, Q)
        place = state.stops.clamp(max=pinned.shape[2] - 1).unsqueeze(-1)
        following = pinned.gather(2, place).squeeze(-1)  # (B, P)
        all_served = ~self.on_pins(state).unsqueeze(-1)
        return all_served | only(following, self.batch.num_nodes)

    def on_pins(self, state: FleetState) -> Tensor:
        """Whether the next stop of the running vehicle is a pinned one, (B, P)."""
        return state.stops < at(self._pins, state.vehicle)

    def _may_return(self, state: FleetState) -> Tensor:
        """Home from a customer: nothing paired on board, pins served, and a vehicle can go on."""
        batch, trip = self.batch, state.trip
        another = self._vehicle_left(state).any(dim=-1)
        allowed = (trip.pending == 0) & ~self.on_pins(state)
        allowed = allowed & (another | rules.may_finish(batch, trip))
        if self.home.direct:  # the rules for customers have seen to it
            return allowed
        in_limits = rules.home_in_limits(batch, self._limits(state.vehicle, 0), trip)
        return allowed & (in_limits | at(self.fleet.is_open, state.vehicle))

    def _vehicle_left(self, state: FleetState) -> Tensor:
        """Types of which another vehicle may leave, (B, P, K)."""
        in_number = state.trip.routes < self.fleet.max_routes.unsqueeze(1)  # (B, P)
        return (state.spare > 0) & in_number.unsqueeze(-1)

    # ---------------------------------------------------------------------------------- step

    def step(self, state: FleetState, action: Tensor, preferences: Preferences) -> FleetState:
        """The state after moving to ``action`` (B, P)."""
        batch, fleet, trip, vehicle = self.batch, self.fleet, state.trip, state.vehicle
        active = ~trip.done
        at_depot, to_depot = at(batch.is_depot, trip.current), at(batch.is_depot, action)
        serves = active & ~to_depot & ~at_node(trip.visited, action)
        leaves = serves & at_depot
        returns = active & to_depot & ~at_depot
        stuck = active & ~serves & ~returns

        distance = between(batch.distance, trip.current, action)
        free = returns & at(fleet.is_open, vehicle)
        leg = torch.where((serves | returns) & ~free, distance, 0.0)
        used, credit = [], []
        for kind in range(fleet.num_kinds):
            demand = at(fleet.loads[:, :, kind], action)
            of_kind = state.used[..., kind], state.credit[..., kind]
            after_kind = load_after(self._rule.unsqueeze(1), *of_kind, demand)
            used.append(torch.where(serves, after_kind[0], of_kind[0]))
            credit.append(torch.where(serves, after_kind[1], of_kind[1]))
        gone = only(vehicle, fleet.num_types) & leaves.unsqueeze(-1)
        after = FleetState(
            trip=replace(
                serve(batch, trip, action, serves, distance),
                current=torch.where(active, action, trip.current),
                routes=trip.routes + leaves.to(trip.routes.dtype),
                done=trip.done | stuck,
                stuck=trip.stuck | stuck,
                travelled=trip.travelled + leg,
            ),
            vehicle=vehicle,
            spare=state.spare - gone.to(state.spare.dtype),
            used=torch.stack(used, dim=-1),
            credit=torch.stack(credit, dim=-1),
            stops=state.stops + serves.to(state.stops.dtype),
            paid=state.paid + torch.where(leaves, at(fleet.fixed_cost, vehicle), 0.0),
        )
        after = self._show_load(after)
        return self._board(after, returns & ~after.done, preferences)

    def _show_load(self, state: FleetState) -> FleetState:
        """What the decoder sees of the loads: how much of the largest vehicle is taken."""
        capacity = _of_types(self.fleet.capacity, state.vehicle)  # (B, P, D)
        seen = self.fleet.seen_capacity.unsqueeze(1)
        room = torch.where(torch.isfinite(capacity), (capacity - state.used) / seen, torch.inf)
        taken = (1.0 - room.amin(dim=-1).clamp(max=1.0)).clamp(max=1.0)
        return replace(state, trip=replace(state.trip, used=taken))

    # -------------------------------------------------------------------------------- vehicles

    def _board(self, state: FleetState, waiting: Tensor, preferences: Preferences) -> FleetState:
        """Choose the next vehicle where one is home, ``waiting`` (B, P); finish where none goes.

        First come vehicles with pinned customers, then what the preferences say, among the types
        that could serve a customer.
        """
        if not bool(waiting.any()):
            return state
        batch, fleet = self.batch, self.fleet
        left = self._vehicle_left(state)  # (B, P, K)
        open_customers = ~state.trip.visited
        reach = [
            torch.where(open_customers, self._first_leg[:, number, None], torch.inf).amin(dim=-1)
            for number in range(fleet.num_types)
        ]
        nearest = torch.where(left, torch.stack(reach, dim=-1), torch.inf)  # (B, P, K)
        useful = torch.isfinite(nearest)
        turn = state.trip.routes.clamp(max=preferences.vehicle.shape[2] - 1)
        turn = turn[..., None, None].expand(-1, -1, 1, fleet.num_types)
        score = preferences.vehicle.gather(2, turn).squeeze(2)
        # As near as the nearest, but for rounding.
        first = nearest <= nearest.amin(dim=-1, keepdim=True) * (1.0 + TOLERANCE)
        score = score + torch.where(preferences.nearest.unsqueeze(-1) & first, _FIRST, 0.0)
        score = score + torch.where((self._pins > 0).unsqueeze(1), 2.0 * _FIRST, 0.0)
        vehicle = score.masked_fill(~useful, -torch.inf).argmax(dim=-1)
        boards = waiting & useful.any(dim=-1)
        ends = waiting & ~boards
        fresh = self._standing(state, vehicle)
        may_finish = rules.may_finish(batch, state.trip)
        # A vehicle that cannot go on is stuck, unless nothing is left to do.
        kept = replace(
            state.trip, done=state.trip.done | ends, stuck=state.trip.stuck | (ends & ~may_finish)
        )
        return FleetState(
            trip=_choose(boards, fresh.trip, kept),
            vehicle=torch.where(boards, vehicle, state.vehicle),
            spare=state.spare,
            used=torch.where(boards.unsqueeze(-1), fresh.used, state.used),
            credit=torch.where(boards.unsqueeze(-1), fresh.credit, state.credit),
            stops=torch.where(boards, fresh.stops, state.stops),
            paid=state.paid,
        )

    def _standing(self, state: FleetState, vehicle: Tensor) -> FleetState:
        """As if a vehicle of these types (B, P) stood at its start, ready to leave."""
        fleet = self.fleet
        depot = at(fleet.depot, vehicle)
        zero = torch.zeros_like(state.trip.length)
        trip = replace(
            state.trip,
            current=depot,
            origin=depot,
            clock=at(fleet.leaves_from, vehicle),
            length=zero,
            backhauled=torch.zeros_like(state.trip.backhauled),
        )
        empty = torch.zeros_like(state.used)
        stops = torch.zeros_like(state.stops)
        ready = replace(state, trip=trip, vehicle=vehicle, used=empty, credit=empty, stops=stops)
        return self._show_load(ready)

    # ------------------------------------------------------------------------------- objective

    def cost(self, state: FleetState) -> Tensor:
        """Cost in units of distance (minus the prize for orienteering), (B, P); inf if stuck."""
        batch, trip = self.batch, state.trip
        skipped = torch.where(trip.visited, 0.0, self.fleet.penalty.unsqueeze(1)).sum(dim=-1)
        cost = trip.travelled + state.paid + skipped
        cost = torch.where(batch.orienteering.unsqueeze(1), -trip.collected, cost)
        return torch.where(trip.stuck, torch.inf, cost)


# More than any preference.
_FIRST = 1e6


def _of_types(values: Tensor, vehicle: Tensor) -> Tensor:
    """Rows (B, P, X) of values (B, K, X) for the types (B, P)."""
    return values.gather(1, vehicle.unsqueeze(-1).expand(-1, -1, values.shape[2]))


def _choose(where: Tensor, yes: State, no: State) -> State:
    """The fields of one state where (B, P) is true, of the other elsewhere."""
    names = ("current", "origin", "used", "clock", "length", "backhauled")
    chosen = {name: torch.where(where, getattr(yes, name), getattr(no, name)) for name in names}
    return replace(no, **chosen)

"""The constraint flags of a routing problem and the attribute vector that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, fields

ATTRIBUTE_NAMES = (
    *("demand", "prize", "penalty", "time", "depot"),
    *("pickup", "backhaul", "delivery", "sub-routes", "open"),
)


@dataclass(frozen=True)
class Features:
    """Which constraints a problem has. All flags are neutral (False) by default: that is TSP.

    Attributes
    ----------
    asymmetric
        Distances depend on the direction of travel.
    depot
        Routes start at a depot (every problem but the TSP).
    multi_depot
        More than one depot; a route ends where it started.
    several_routes
        A solution may consist of more than one route.
    open_routes
        The way back to the depot does not count.
    capacity
        Vehicles carry a limited load.
    backhaul
        Some customers hand goods over instead of receiving them.
    backhaul_last
        In each route, linehauls come before backhauls.
    length_limit
        The length of each route is limited.
    time_windows
        Service starts inside a window; vehicles may wait.
    orienteering
        Collect as much prize as possible within the length limit.
    prize_collecting
        Customers may be skipped at a penalty; a minimum prize must be collected.
    stochastic_prizes
        The real prize shows only on the visit.
    pickup_delivery
        Customers come in pairs: pickup first, delivery later in the same route.
    """

    asymmetric: bool = False
    depot: bool = False
    multi_depot: bool = False
    several_routes: bool = False
    open_routes: bool = False
    capacity: bool = False
    backhaul: bool = False
    backhaul_last: bool = False
    length_limit: bool = False
    time_windows: bool = False
    orienteering: bool = False
    prize_collecting: bool = False
    stochastic_prizes: bool = False
    pickup_delivery: bool = False

    @property
    def attributes(self) -> tuple[int, ...]:
        """The ten bits the model sees, in the order of :data:`ATTRIBUTE_NAMES`.

        Asymmetry, the length limit, backhaul precedence and the number of depots are invisible
        here on purpose: they act through distances and feasibility only.
        """
        bits = (
            self.capacity,
            self.orienteering or self.prize_collecting,
            self.prize_collecting,
            self.time_windows,
            self.depot,
            self.pickup_delivery,
            self.backhaul,
            self.capacity or self.pickup_delivery,
            self.several_routes,
            self.open_routes,
        )
        return tuple(int(bit) for bit in bits)

    @property
    def active(self) -> tuple[str, ...]:
        """Names of the flags that are set, in the order of the fields."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name))

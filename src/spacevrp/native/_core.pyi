"""The interface of the compiled search; ``bindings.cpp`` has the other end.

N nodes, depots included, in the caller's numbering; D kinds of load; K vehicle types. A plan is a
list of routes of customers, without depots, and a list with the vehicle type of each route.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int32]
_Flags = NDArray[np.uint8]
_Routes = Sequence[Sequence[int]]
_Plan = tuple[list[list[int]], list[int]]

class Evaluation(TypedDict):
    cost: float
    feasible: bool
    unserved: list[int]
    collected: float
    violations: int
    makespan: NotRequired[float]  # where it is a term of the objective
    balance: NotRequired[float]

class Relations(TypedDict, total=False):
    """What ties customers to each other, and what is minimised; nothing where absent."""

    delivered: Sequence[float]  # (N D,) loaded at the depot; with the load rule mixed
    lifo: bool
    max_ride: Sequence[float]  # (N,) by pickup
    groups: Sequence[tuple[Sequence[int], bool]]  # customers, and whether one is required
    same_route: Sequence[Sequence[int]]
    different_routes: Sequence[Sequence[int]]
    order: Sequence[tuple[int, int]]  # the earlier one first
    priority: Sequence[float]  # (N,)
    first: Sequence[str]  # terms of the objective before the weighted sum
    weights: Sequence[tuple[str, float]]

class Rules(TypedDict, total=False):
    """What holds for whole routes beyond loads, lengths and windows; nothing where absent."""

    # One entry a type of vehicle.
    max_stops: Sequence[int | None]
    latest_start: Sequence[float]
    regular: Sequence[float]  # duration from which on overtime is paid
    overtime_cost: Sequence[float]
    duration_cost: Sequence[float]
    slowness: Sequence[float]  # times the durations, at least 1
    service: Sequence[_Floats | None]  # (N,) where a type has its own; at depots, of reloads
    breaks: Sequence[Sequence[tuple[float, Sequence[tuple[float, float]]]]]  # duration, windows
    reload_depots: Sequence[Sequence[int]]
    max_reloads: Sequence[int | None]
    on_board: Sequence[Sequence[int] | None]
    # Of nodes.
    closed: Sequence[tuple[int, float, float]]  # gaps between windows
    release: _Floats  # (N,); -inf without
    setup: _Floats  # (N,)
    travel_times: Sequence[tuple[float, _Floats]]  # moments, (N, N)

class SearchResult:
    @property
    def routes(self) -> list[list[int]]: ...
    @property
    def types(self) -> list[int]: ...
    @property
    def cost(self) -> float: ...
    @property
    def unserved(self) -> list[int]: ...
    @property
    def iterations(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def trace(self) -> list[tuple[float, int, float, int]]:
        """Seconds, iterations, cost and compulsory customers missing, at every new best."""
    @property
    def interrupted(self) -> bool: ...

class Model:
    def __init__(
        self,
        *,
        demand: _Floats,  # (N, D)
        opening: _Floats,  # (N,)
        closing: _Floats,  # (N,)
        service: _Floats,  # (N,)
        timed: bool,
        penalty: _Floats,  # (N,); inf where a visit is compulsory
        prize: _Floats,  # (N,)
        maximise_prize: bool,
        min_prize: float,
        partner: _Integers,  # (N,); -1 without
        is_pickup: _Flags,  # (N,)
        customers: _Integers,  # (n,)
        start: _Integers,  # (K,)
        end: _Integers,  # (K,); -1 for an open route
        capacity: _Floats,  # (K, D)
        fixed_cost: _Floats,  # (K,)
        unit_cost: _Floats,  # (K,) of length
        max_length: _Floats,  # (K,)
        max_duration: _Floats,  # (K,)
        leaves_from: _Floats,  # (K,)
        back_by: _Floats,  # (K,)
        count: _Integers,  # (K,); -1 for any number
        pinned: _Routes,  # K lists of nodes
        load_rule: Literal["single", "separate", "pairs", "mixed"],
        backhaul_last: bool,
        max_routes: int,
        time_slack: float,
        coordinates: _Floats | None = None,  # (N, 2)
        geometry: str = "euclidean",
        rounding: str = "none",
        distances: _Floats | None = None,  # (N, N); inf where there is no arc
        durations: _Floats | None = None,  # (N, N); None for the distances
        allowed: _Flags | None = None,  # (K, N); None for all
        candidates: _Integers | None = None,  # (N, C); neighbours, -1 behind the last
        rules: Rules | None = None,
        relations: Relations | None = None,
    ) -> None: ...
    def neighbours(self, node: int) -> list[int]:
        """The customers that the search looks at next to a node, the nearest first."""
    def visits(self, routes: _Routes, types: Sequence[int]) -> list[list[int]]:
        """The same routes with the depots at which their vehicles reload."""
    def schedule(self, route: Sequence[int], type: int) -> tuple[float, float] | None:
        """When a route leaves and is over, for types that have rules of time; None if it cannot."""
    def evaluate(self, routes: _Routes, types: Sequence[int], slow: bool = False) -> Evaluation:
        """Cost and rules of a plan; ``slow`` takes no short cut, for tests."""
    def construct(
        self, method: Literal["savings", "insertion", "regret"], seed: int = 0
    ) -> _Plan: ...
    def search(
        self,
        routes: _Routes,
        types: Sequence[int],
        *,
        seed: int = 0,
        iterations: int = -1,
        seconds: float = -1.0,
        no_gain: int = -1,
        callback: Callable[[list[list[int]], list[int], float], object] | None = None,
        should_stop: Callable[[], bool] | None = None,
        threads: int = 1,
        tuning: Mapping[str, float] = ...,
        others: Sequence[tuple[_Routes, Sequence[int]]] = ...,
    ) -> SearchResult:
        """From a plan; a long search begins with the ``others``, too."""
    def sample_moves(
        self, routes: _Routes, types: Sequence[int], seed: int, count: int
    ) -> list[tuple[str, float, list[list[int]], list[int]]]: ...

def search_many(
    models: Sequence[Model],
    starts: Sequence[tuple[_Routes, Sequence[int]]],
    *,
    seeds: Sequence[int],
    threads: int = 1,
    iterations: int = -1,
    seconds: float = -1.0,
    no_gain: int = -1,
    callback: Callable[[int, list[list[int]], list[int], float], object] | None = None,
    should_stop: Callable[[], bool] | None = None,
    tuning: Mapping[str, float] = ...,
    others: Sequence[Sequence[tuple[_Routes, Sequence[int]]]] = ...,
) -> list[SearchResult]: ...

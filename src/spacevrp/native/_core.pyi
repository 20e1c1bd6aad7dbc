"""The interface of the compiled search; ``bindings.cpp`` has the other end.

N nodes, depots included, in the caller's numbering; D kinds of load; K vehicle types. A plan is a
list of routes of customers, without depots, and a list with the vehicle type of each route.
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int32]
_Flags = NDArray[np.uint8]
_Routes = Sequence[Sequence[int]]
_Plan = tuple[list[list[int]], list[int]]
_Callback = Callable[[list[list[int]], list[int], float], object]

class Evaluation(TypedDict):
    cost: float
    feasible: bool
    unserved: list[int]
    collected: float
    violations: int

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
    def trace(self) -> list[tuple[float, int, float]]: ...
    @property
    def interrupted(self) -> bool: ...

class Model:
    def __init__(
        self,
        *,
        coordinates: _Floats | None,  # (N, 2)
        geometry: str,
        rounding: str,
        distances: _Floats | None,  # (N, N); inf where there is no arc
        durations: _Floats | None,  # (N, N); None for the distances
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
        max_length: _Floats,  # (K,)
        leaves_from: _Floats,  # (K,)
        back_by: _Floats,  # (K,)
        count: _Integers,  # (K,); -1 for any number
        allowed: _Flags | None,  # (K, N)
        pinned: _Routes,  # K lists of nodes
        load_rule: Literal["single", "separate", "pairs"],
        backhaul_last: bool,
        max_routes: int,
        time_slack: float,
    ) -> None: ...
    def evaluate(self, routes: _Routes, types: Sequence[int]) -> Evaluation: ...
    def construct(self, method: Literal["savings", "insertion"], seed: int) -> _Plan: ...
    def search(
        self,
        routes: _Routes,
        types: Sequence[int],
        *,
        seed: int = 0,
        iterations: int = -1,
        seconds: float = -1.0,
        no_gain: int = -1,
        callback: _Callback | None = None,
        threads: int = 1,
    ) -> SearchResult: ...
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
) -> list[SearchResult]: ...

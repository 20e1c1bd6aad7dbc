"""Random batches for training: any mix of variants at once, drawn on the device they are used on.

The recipe is that of the test sets. Nothing here waits for the device or depends on drawn values in
its shapes, so that a draw can be captured in a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

import torch
from torch import Tensor

from spacevrp.generators import recipe, variety
from spacevrp.generators.closure import min_plus_closure
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.features import Features
from spacevrp.problems.problem import BASE_TOLERANCE
from spacevrp.problems.variants import Variant
from spacevrp.tensors.batch import LOAD_RULE_CODES, PAIRED_LOAD, Batch

# A variant's features and the number of customers.
Kind = tuple[Features, int]


class Sampler:
    """Draws batches of a fixed list of variants: one random instance for each entry.

    Parameters
    ----------
    size
        Number of customers (nodes, for the TSP) of all instances, or of each.
    num_nodes
        Width to pad to; as wide as the widest instance by default.
    varied
        Which instances leave the recipe: their customers may lie in clusters or along streets, and
        their demands, limits, windows and penalties come from a wider range, their durations may
        not be their distances, and their fleets may have a limit (see
        :mod:`spacevrp.generators.variety`). None by default.
    limited_fleets
        Whether these fleets may have a limit: only a network that is told of it can keep it.
    """

    def __init__(
        self,
        variants: Sequence[Variant],
        size: int | Sequence[int],
        device: torch.device | str = "cpu",
        num_nodes: int | None = None,
        load_rule: str = "single",
        dtype: torch.dtype = torch.float32,
        varied: Sequence[bool] | None = None,
        limited_fleets: bool = True,
    ) -> None:
        all_features = [variant.features for variant in variants]
        if not all_features:
            raise ProblemError("variants", expected="at least one", received="none")
        if load_rule not in LOAD_RULE_CODES:
            raise ProblemError(
                "load_rule", expected=f"one of {tuple(LOAD_RULE_CODES)}", received=repr(load_rule)
            )
        sizes = [size] * len(all_features) if isinstance(size, int) else list(size)
        varied = [False] * len(all_features) if varied is None else list(varied)
        for name, values in (("size", sizes), ("varied", varied)):
            if len(values) != len(all_features):
                raise ProblemError(
                    name, expected=f"{len(all_features)} values", received=str(len(values))
                )
        kinds = list(zip(all_features, sizes, strict=True))
        for features, number in kinds:
            recipe.check_size(features, number)
        width = max(recipe.num_nodes(features, number) for features, number in kinds)
        if num_nodes is not None and num_nodes < width:
            raise ProblemError("num_nodes", expected=f"at least {width}", received=repr(num_nodes))
        self.num_nodes = num_nodes or width
        self.device = torch.device(device)
        self.dtype = dtype
        self._set_flags(all_features)
        self._set_nodes(kinds)
        self._set_numbers(kinds)
        self._set_batch(kinds, load_rule)
        self._set_variety(all_features, varied, limited_fleets)

    # --------------------------------------------------------------- what is the same in every draw

    def _set_flags(self, all_features: list[Features]) -> None:
        held = {
            flag.name: [getattr(features, flag.name) for features in all_features]
            for flag in fields(Features)
        }
        self._flag = {name: self._tensor(values) for name, values in held.items()}  # (B,) each
        # Whether a part of the recipe is needed at all.
        self._any = {name: any(values) for name, values in held.items()}
        rows: dict[bool, list[int]] = {False: [], True: []}
        for row, features in enumerate(all_features):
            rows[features.asymmetric].append(row)
        self._symmetric_rows = self._tensor(rows[False], torch.int64)
        self._asymmetric_rows = self._tensor(rows[True], torch.int64)

    def _set_nodes(self, kinds: list[Kind]) -> None:
        """Depots first, then customers, then padding; pairs are pickups, then deliveries."""
        position = torch.arange(self.num_nodes, device=self.device)  # (N,)
        depots = self._tensor([recipe.num_depots(features) for features, _ in kinds])[:, None]
        sizes = self._tensor([size for _, size in kinds])[:, None]  # (B, 1)
        half = sizes // 2
        self._most_depots = max(recipe.num_depots(features) for features, _ in kinds)
        self._is_node = position < depots + sizes  # (B, N)
        self._is_depot = position < depots  # (B, N)
        self._is_customer = self._is_node & ~self._is_depot
        self._is_arc = self._is_node[:, :, None] & self._is_node[:, None, :]  # (B, N, N)
        self._no_way = ~self._is_arc[self._asymmetric_rows]  # (A, N, N)
        paired = self._tensor([features.pickup_delivery for features, _ in kinds])[:, None]
        self._is_pickup = paired & self._is_customer & (position < depots + half)
        self._is_delivery = paired & self._is_customer & ~self._is_pickup
        self._partner = (
            position + half * self._is_pickup.long() - half * self._is_delivery.long()
        )  # (B, N)
        # A delivery asks for what its pickup hands over: both read the pickup's draw.
        self._drawn_at = torch.where(self._is_delivery, self._partner, position)

    def _set_numbers(self, kinds: list[Kind]) -> None:
        def numbers(rule: Callable[[Features, int], float]) -> Tensor:
            return self._tensor([rule(*kind) for kind in kinds], self.dtype)  # (B,)

        self._backhauls = self._tensor([recipe.num_backhauls(size) for _, size in kinds])[:, None]
        self._largest_prize = numbers(lambda _, size: recipe.largest_prize(size))[:, None]
        self._largest_penalty = numbers(lambda _, size: recipe.largest_penalty(size))[:, None]
        self._reach_limit = numbers(recipe.reach_limit)
        self._horizon = numbers(lambda features, _: recipe.horizon(features))
        # Finite everywhere, so that instances without windows cannot turn into NaN.
        self._clock_end = torch.where(self._flag["time_windows"], self._horizon, 0.0)
        self._narrowest = numbers(lambda features, _: recipe.half_width(features)[0])
        self._widest = torch.where(
            self._flag["time_windows"],
            numbers(lambda features, _: recipe.half_width(features)[1]),
            0.0,
        )
        self._service = torch.where(
            self._flag["time_windows"][:, None] & self._is_customer,
            torch.tensor(recipe.SERVICE, dtype=self.dtype, device=self.device),
            0.0,
        )  # (B, N)

    def _set_batch(self, kinds: list[Kind], load_rule: str) -> None:
        """The fields of the batch that no draw changes."""
        count, position = len(kinds), torch.arange(self.num_nodes, device=self.device)
        all_features = [features for features, _ in kinds]
        capacities = [recipe.capacity(*kind) for kind in kinds]
        rules = [
            PAIRED_LOAD if features.pickup_delivery else LOAD_RULE_CODES[load_rule]
            for features in all_features
        ]
        fleets = [
            recipe.num_nodes(features, size) + 1 if features.several_routes else 1
            for features, size in kinds
        ]
        same = ("open_routes", "backhaul_last", "several_routes", "orienteering")
        optional = self._flag["orienteering"] | self._flag["prize_collecting"]
        self._fixed = {
            "unit": torch.ones(count, dtype=torch.float64, device=self.device),
            "is_node": self._is_node,
            "is_depot": self._is_depot,
            "capacity": self._tensor(capacities, self.dtype),
            "load_tolerance": self._tensor([_load_tolerance(c) for c in capacities], self.dtype),
            "load_rule": self._tensor(rules, torch.int64),
            "service": self._service,
            "max_length": self._tensor([recipe.max_length(*kind) for kind in kinds], self.dtype),
            "compulsory": self._is_customer & ~optional[:, None],
            "partner": self._partner,
            "is_pickup": self._is_pickup,
            "is_delivery": self._is_delivery,
            "max_routes": self._tensor(fleets, torch.int64),
            **{name: self._flag[name] for name in (*same, "prize_collecting", "backhaul")},
            "has_depot": self._flag["depot"],
            "paired": self._flag["pickup_delivery"],
            "windowed": self._flag["time_windows"],
            "attributes": self._tensor(
                [list(features.attributes) for features in all_features], self.dtype
            ),
            "node_of": torch.where(self._is_node, position, -1),
        }

    def _set_variety(
        self, all_features: list[Features], varied: list[bool], limited_fleets: bool
    ) -> None:
        """For which rows, or places among those of one kind, each draw of ``variety`` is."""
        kinds = list(zip(all_features, varied, strict=True))

        def varied_places(
            kinds: list[tuple[Features, bool]], has: Callable[[Features], bool] = lambda _: True
        ) -> Tensor:
            found = [place for place, (one, leaves) in enumerate(kinds) if leaves and has(one)]
            return self._tensor(found, torch.int64)

        self._scattered = varied_places([kind for kind in kinds if not kind[0].asymmetric])
        self._streets = varied_places([kind for kind in kinds if kind[0].asymmetric])
        self._loaded = varied_places(kinds, lambda one: one.capacity and not one.pickup_delivery)
        self._charged = varied_places(kinds, lambda one: one.prize_collecting)
        self._timed = varied_places(kinds, lambda one: one.time_windows)
        self._bounded = varied_places(
            kinds, lambda one: one.time_windows or one.length_limit or one.orienteering
        )
        # Windows and limits may ask for more vehicles than goods do.
        self._manned = varied_places(
            kinds,
            lambda one: (
                limited_fleets
                and one.capacity
                and one.several_routes
                and not (one.pickup_delivery or one.time_windows or one.length_limit)
            ),
        )
        self._demand_bounds = self._tensor(variety.DEMANDS, self.dtype)

    def _tensor(self, values: Sequence[object], dtype: torch.dtype | None = None) -> Tensor:
        return torch.tensor(values, dtype=dtype, device=self.device)

    @property
    def draws_durations(self) -> bool:
        """Whether some durations are no distances; otherwise the two are one tensor."""
        return len(self._timed) > 0

    # -------------------------------------------------------------------------------- what is drawn

    def draw(self, generator: torch.Generator | None = None) -> Batch:
        """A fresh batch. Fields that no draw changes are the same tensors every time.

        ``generator`` must live on the sampler's device; None takes the device's own. To capture
        a draw in a CUDA graph with a generator of one's own, register it with the graph.
        """
        distance = self._draw_distance(generator)
        duration = self._draw_durations(generator, distance)
        opening, closing = self._draw_windows(generator, duration)
        prize, revealed, penalty = self._draw_prizes(generator, distance)
        collectable = revealed.double().sum(dim=1).clamp(max=recipe.MIN_PRIZE)
        demand, loads = self._draw_demand(generator)
        services = self._draw_services(generator)
        fleets = self._draw_fleets(generator, demand, loads)
        return Batch(
            distance=distance,
            duration=duration,
            demand=demand,
            opening=opening,
            closing=closing,
            prize=prize,
            revealed_prize=revealed,
            penalty=penalty,
            min_prize=torch.where(self._flag["prize_collecting"], collectable, 0.0).to(self.dtype),
            **(self._fixed | loads | services | fleets),
        )

    def _uniform(self, generator: torch.Generator | None, *shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, device=self.device, dtype=self.dtype)

    def _per_node(self, generator: torch.Generator | None) -> Tensor:
        return self._uniform(generator, *self._is_node.shape)

    def _draw_distance(self, generator: torch.Generator | None) -> Tensor:
        """(B, N, N); every customer is in reach where that matters, padding is 0."""
        count, nodes = self._is_node.shape
        distance = torch.empty((count, nodes, nodes), dtype=self.dtype, device=self.device)
        if len(self._symmetric_rows):
            points = self._uniform(generator, len(self._symmetric_rows), nodes, 2)
            if len(self._scattered):
                is_depot = self._is_depot[self._symmetric_rows[self._scattered]]
                clustered = variety.cluster(points[self._scattered], is_depot, generator)
                points.index_copy_(0, self._scattered, clustered)
            x, y = points.unbind(dim=2)
            squared = (x[:, :, None] - x[:, None, :]).square_()  # (S, N, N)
            squared += (y[:, :, None] - y[:, None, :]).square_()
            distance.index_copy_(0, self._symmetric_rows, squared.sqrt_())
        if len(self._asymmetric_rows):
            shape = (len(self._asymmetric_rows), nodes, nodes)
            matrix = torch.randint(
                recipe.MATRIX_SCALE,
                shape,
                generator=generator,
                device=self.device,
                dtype=self.dtype,  # whole numbers below 2^24 are exact
            )
            # No way leads through padding.
            matrix.masked_fill_(self._no_way, torch.inf)
            if len(self._streets):
                streets = self._draw_streets(matrix[self._streets], generator)
                matrix.index_copy_(0, self._streets, streets)
            matrix.diagonal(dim1=1, dim2=2).zero_()
            closed = min_plus_closure(matrix) / recipe.MATRIX_SCALE
            distance.index_copy_(0, self._asymmetric_rows, closed)
        distance = self._shrink_to_reach(torch.where(self._is_arc, distance, 0.0))
        if len(self._bounded):
            factor = variety.draw_map_scales(len(self._bounded), distance, generator)
            smaller = distance[self._bounded] * factor[:, None, None]
            distance = distance.index_copy(0, self._bounded, smaller)
        return distance

    def _draw_streets(self, matrix: Tensor, generator: torch.Generator | None) -> Tensor:
        """Random matrices (S, N, N), half of them replaced by maps of streets, (S, N, N)."""
        count, nodes, _ = matrix.shape
        points = self._uniform(generator, count, nodes, 2)
        is_depot = self._is_depot[self._asymmetric_rows[self._streets]]
        points = variety.cluster(points, is_depot, generator)
        streets = variety.street_distances(points, generator) * recipe.MATRIX_SCALE
        streets.masked_fill_(self._no_way[self._streets], torch.inf)
        is_street = self._uniform(generator, count, 1, 1) < 0.5
        return torch.where(is_street, streets.round(), matrix)

    def _draw_durations(self, generator: torch.Generator | None, distance: Tensor) -> Tensor:
        """Durations (B, N, N): the distances themselves where none are drawn."""
        if not self.draws_durations:
            return distance
        symmetric = ~self._flag["asymmetric"][self._timed]
        drawn = variety.draw_durations(distance[self._timed], symmetric, generator)
        return distance.index_copy(0, self._timed, drawn)

    def _draw_fleets(
        self, generator: torch.Generator | None, demand: Tensor, loads: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """Numbers of vehicles (B,), where some are drawn."""
        if not len(self._manned):
            return {}
        capacity = loads.get("capacity", self._fixed["capacity"])[self._manned]
        no_limit = self._fixed["max_routes"]
        drawn = variety.draw_fleets(
            demand[self._manned], capacity, no_limit[self._manned], generator
        )
        return {"max_routes": no_limit.index_copy(0, self._manned, drawn)}

    def _draw_services(self, generator: torch.Generator | None) -> dict[str, Tensor]:
        """Service times (B, N), where some are drawn."""
        if not len(self._timed):
            return {}
        factor = variety.draw_services(len(self._timed), self._service, generator)
        shorter = self._service[self._timed] * factor
        return {"service": self._service.index_copy(0, self._timed, shorter)}

    def _ways(self, distance: Tensor) -> tuple[Tensor, Tensor]:
        """The longest ways from any depot to each node, and back to any, (B, N) each."""
        most = self._most_depots
        if not most:
            nowhere = torch.zeros_like(distance[:, 0])
            return nowhere, nowhere
        is_depot = self._is_depot[:, :most]  # (B, most)
        out = torch.where(is_depot[:, :, None], distance[:, :most], 0.0).amax(dim=1)
        back = torch.where(is_depot[:, None], distance[:, :, :most], 0.0).amax(dim=2)
        return out, back

    def _shrink_to_reach(self, distance: Tensor) -> Tensor:
        """The test sets draw again where a customer is out of reach; here the whole map shrinks."""
        out, back = self._ways(distance)
        reach = torch.where(self._is_customer, out + back, 0.0).amax(dim=1)  # (B,)
        factor = (self._reach_limit / reach).clamp(max=1.0)  # a reach of 0 gives inf, hence 1
        return distance * factor[:, None, None]

    def _draw_demand(self, generator: torch.Generator | None) -> tuple[Tensor, dict[str, Tensor]]:
        """Demands (B, N), and the capacities that go with them where they are drawn, too."""
        if not self._any["capacity"]:
            return torch.zeros(self._is_node.shape, dtype=self.dtype, device=self.device), {}
        goods = torch.randint(
            recipe.SMALLEST_DEMAND,
            recipe.LARGEST_DEMAND + 1,
            self._is_node.shape,
            generator=generator,
            device=self.device,
            dtype=self.dtype,
        )
        loads = {}
        if len(self._loaded):
            drawn, capacity = variety.draw_loads(
                len(self._loaded), self.num_nodes, self._demand_bounds, generator
            )
            tolerance = (BASE_TOLERANCE * capacity).clamp(max=0.5)
            goods = goods.index_copy(0, self._loaded, drawn)
            loads = {
                name: self._fixed[name].index_copy(0, self._loaded, values)
                for name, values in (("capacity", capacity), ("load_tolerance", tolerance))
            }
        goods = goods.gather(1, self._drawn_at)
        is_handed_over = self._is_pickup
        if self._any["backhaul"]:
            keys = torch.where(self._is_customer, self._per_node(generator), 2.0)
            rank = keys.argsort(dim=1).argsort(dim=1)
            is_backhaul = self._flag["backhaul"][:, None] & (rank < self._backhauls)
            is_handed_over = is_handed_over | is_backhaul
        signed = torch.where(is_handed_over, -goods, goods)
        return torch.where(self._flag["capacity"][:, None] & self._is_customer, signed, 0.0), loads

    def _draw_windows(
        self, generator: torch.Generator | None, duration: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Opening and closing times, (B, N) each."""
        if not self._any["time_windows"]:
            zeros = torch.zeros(self._is_node.shape, dtype=self.dtype, device=self.device)
            return zeros, zeros + torch.inf
        out, back = self._ways(duration)
        end = self._clock_end[:, None]
        latest = end - back - recipe.SERVICE
        centre = out + self._per_node(generator) * (latest - out)
        spread = (self._widest - self._narrowest)[:, None]
        half = self._narrowest[:, None] + self._per_node(generator) * spread
        if len(self._timed):
            factor, has = variety.draw_windows(len(self._timed), self.num_nodes, half, generator)
            # As wide as the day for those who have none.
            drawn = torch.where(has, half[self._timed] * factor, end[self._timed])
            half = half.index_copy(0, self._timed, drawn)
        at_customer = self._flag["time_windows"][:, None] & self._is_customer
        opening = torch.where(at_customer, (centre - half).clamp(min=0.0), 0.0)
        at_depot = torch.where(self._is_depot, self._horizon[:, None], torch.inf)
        closing = torch.where(at_customer, torch.minimum(centre + half, end), at_depot)
        return opening, closing

    def _draw_prizes(
        self, generator: torch.Generator | None, distance: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Expected prizes, real prizes and penalties, (B, N) each."""
        prize = torch.zeros(self._is_node.shape, dtype=self.dtype, device=self.device)
        penalty = revealed = prize
        if self._any["orienteering"]:
            at_customer = self._flag["orienteering"][:, None] & self._is_customer
            out, _ = self._ways(distance)
            share = out / out.amax(dim=1, keepdim=True)
            steps = (1.0 + (recipe.PRIZE_STEPS * share).floor()) / (1.0 + recipe.PRIZE_STEPS)
            prize = revealed = torch.where(at_customer, steps, prize)
        if self._any["prize_collecting"]:
            at_customer = self._flag["prize_collecting"][:, None] & self._is_customer
            collected = self._per_node(generator) * self._largest_prize
            charged = self._per_node(generator) * self._largest_penalty
            if len(self._charged):
                factor = variety.draw_penalties(len(self._charged), charged, generator)
                charged = charged.index_copy(0, self._charged, charged[self._charged] * factor)
            prize = revealed = torch.where(at_customer, collected, prize)
            penalty = torch.where(at_customer, charged, penalty)
        if self._any["stochastic_prizes"]:
            real = self._per_node(generator) * (2.0 * prize)
            revealed = torch.where(self._flag["stochastic_prizes"][:, None], real, prize)
        return prize, revealed, penalty


def _load_tolerance(capacity: float) -> float:
    """As for any instance whose demands are whole numbers."""
    return min(BASE_TOLERANCE * capacity, 0.5) if capacity < torch.inf else 0.0

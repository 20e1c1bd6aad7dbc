"""Rollouts where vehicles differ: which one leaves next is decided by preferences.

The twin of ``engines/fleet.py`` and ``decode/fleet.py`` for one instance. K types of vehicles, R
routes of which the vehicles are chosen one by one, P starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spacevrp.arrays import LOAD_RULE_CODES, Instance, prepare
from spacevrp.arrays.fleet import ANY_NUMBER, fleet_row, fleet_view
from spacevrp.arrays.limits import cast
from spacevrp.inference.keys import Mersenne
from spacevrp.inference.rollouts import Draws, Trajectories, arguments_of
from spacevrp.inference.settings import Settings
from spacevrp.inference.starts import Starts
from spacevrp.inference.tables import Tables
from spacevrp.native import network as kernels
from spacevrp.problems.problem import Problem

Array = np.ndarray[Any, Any]

# Routes of which the vehicles are chosen one by one; later ones take the last choice.
ROUTES = 32
# Customers up to which every one of them is a start, and starts times customers beyond.
SMALL, WORK = 200, 20_000
# By the kind of numbers.
_TYPES: dict[str, Any] = {"f": np.float32, "i": np.int64, "b": np.bool_}


@dataclass(frozen=True)
class Fleet:
    """What the network sees of a problem whose vehicles differ, and the vehicles themselves."""

    instance: Instance  # as the network sees it
    vehicles: dict[str, Array]  # see ``tensors/fleet.py`` for names and shapes, with one instance

    @classmethod
    def of(cls, problem: Problem) -> Fleet:
        """The arrays of a problem."""
        instance = prepare(problem, view=fleet_view(problem))
        fleet = problem.fleet
        pins = max((len(terms.pinned) for terms in fleet), default=0)
        row = fleet_row(problem, instance.size, len(fleet), problem.kinds_of_load, max(pins, 1))
        vehicles = {name: cast(v, _TYPES[v.dtype.kind])[None] for name, v in row.items()}
        return cls(instance, vehicles)

    @property
    def num_types(self) -> int:
        """Types of vehicles."""
        return int(self.vehicles["depot"].shape[1])

    def starts(self, limit: int | None) -> Array:
        """Customers to begin with, (P,), spread evenly."""
        most = self.instance.size - self.instance.num_depots
        if limit is None:
            limit = most if most <= SMALL else max(1, WORK // most)
        turn = np.arange(min(limit, most))
        if limit < most:
            turn = turn * most // limit
        return self.instance.num_depots + turn

    def preferences(self, starts: int, state: int) -> dict[str, Array]:
        """What each start of an augmentation prefers where the rules leave a choice, at random.

        ``vehicle`` (1, P, R, K), ``nearest``, ``stays_out`` and ``owed_first`` (1, P).
        """
        source = Mersenne(state)
        vehicle = self._simple_orders(starts, source)
        depot, fixed_cost = self.vehicles["depot"], self.vehicles["fixed_cost"]
        several_depots = bool((depot != depot[:, :1]).any())
        scarce = bool((fixed_cost > 0).any() or (self.vehicles["count"] < ANY_NUMBER).any())
        nearest, stays_out, owed_first = (source.uniform(1, starts) < 0.5 for _ in range(3))
        return {
            "vehicle": vehicle,
            "nearest": nearest & several_depots,
            "stays_out": stays_out & scarce,
            "owed_first": owed_first,
        }

    def _simple_orders(self, starts: int, source: Mersenne) -> Array:
        """Large first, cheap for its size first, cheap first, any order, any vehicle."""
        noise = source.uniform(1, starts, ROUTES, self.num_types)
        with np.errstate(invalid="ignore"):  # what is unlimited holds as much as the largest
            room = self.vehicles["capacity"] / self.vehicles["seen_capacity"][:, None]
        room = np.nan_to_num(room, nan=1.0, posinf=1.0)
        room = np.minimum(room.min(axis=2), 1.0)[0].astype(np.float32)  # (K,) of the largest
        cost = self.vehicles["fixed_cost"][0]
        with np.errstate(divide="ignore", invalid="ignore"):
            orders = np.stack([room, -cost / room, -cost])  # (3, K)
        # Of 8: one each of the three, two in any order, three at random.
        kind = (source.uniform(1, starts) * np.float32(8.0)).astype(np.int64)
        any_order = source.uniform(1, starts, self.num_types)
        resolved = np.where((kind >= 3)[..., None], any_order, orders[np.minimum(kind, 2)])
        fixed = (kind <= 4)[..., None, None]
        return np.where(fixed, resolved[:, :, None] + np.float32(1e-6) * noise, noise)


def roll_out_fleet(
    vehicles: dict[str, Array],
    starts: Starts,
    tables: Tables,
    nodes: Array,
    settings: Settings,
    draws: Draws | None = None,
) -> Trajectories:
    """What ``roll_out`` does, with the vehicles of a fleet and preferences among them.

    The start is the first customer that is chosen freely, after those that are pinned. Where the
    first vehicle cannot serve it, the network chooses.
    """
    one = starts.instance
    if one.load_rule == LOAD_RULE_CODES["paper"]:  # leaving full is a habit of the training only
        one = replace(one, load_rule=LOAD_RULE_CODES["single"])
    action, steps, cost, first = kernels.rollout(
        **arguments_of(one, starts, tables),
        starts=nodes[None],
        keys=None if draws is None else draws.keys[None],
        temperature=None if draws is None else draws.temperature,
        max_steps=2 * one.size + 1,
        threads=settings.threads,
        look=settings.look,
        fleet=vehicles,
    )
    return Trajectories(nodes, first[0], action[0], steps[0], cost[0], starts_moved=False)

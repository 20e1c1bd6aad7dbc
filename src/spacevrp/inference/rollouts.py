"""Rollouts of one instance by the compiled network: from which starts, how often, how sampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spacevrp.arrays import Instance
from spacevrp.arrays.limits import TOLERANCE
from spacevrp.inference.features import horizon
from spacevrp.inference.keys import LIKELIEST, numbered_keys
from spacevrp.inference.settings import Settings
from spacevrp.inference.starts import Starts, matrices_of
from spacevrp.inference.tables import Tables
from spacevrp.native import network as kernels

Array = np.ndarray[Any, Any]

# Tables that the compiled rollout reads as they are.
_TABLES = ("embedding", "keyed", "query_first", "query_last", "move_first", "move_last", "clipping")


@dataclass(frozen=True)
class RolloutPlan:
    """The rollouts of an augmentation: R trajectories, in rounds of which the first is greedy."""

    start: Array  # (R,) which of the start nodes, the likeliest of which is 0
    draw: Array  # (R,) how many have been sampled from it with this one; 0 for a greedy one
    rounds: Array  # (R,) the round of each
    samples: int  # from each start

    @classmethod
    def of(cls, starts: int, wanted: Settings, *, has_depot: bool) -> RolloutPlan:
        """For so many start nodes.

        Tours without a depot visit every node, so that by default, where a part of the starts is
        used, they begin greedily at all.
        """
        every, samples = max(starts, 1), wanted.draws
        used = wanted.used(every)
        place = np.arange(used * (1 + samples))
        rounds = place // used
        if wanted.parted and not has_depot:
            return cls(place % every, np.zeros_like(rounds), rounds, samples)
        return cls(place % used, rounds, rounds, samples)

    def keys(self, seed: int, augmentations: range) -> Array | None:
        """Of the random numbers of augmentations, (V, R) int64; None where nothing is sampled."""
        if not self.samples:
            return None
        place = np.where(self.draw > 0, self.start * self.samples + self.draw - 1, 0)
        table = numbered_keys(seed, augmentations, int(place.max()) + 1)
        return np.where(self.draw > 0, table[:, place], LIKELIEST)


@dataclass(frozen=True)
class Trajectories:
    """Finished rollouts from P starts of one augmentation."""

    start: Array  # (P,) int64
    origin: Array  # (P,) int64
    action: Array  # (P, T) int32; moves after the start
    steps: Array  # (P,) int32; moves until the solution was finished
    cost: Array  # (P,) float32 in units of distance; inf where it is stuck
    starts_moved: bool = True  # moves come after the start; of fleets, the start is one of them

    def sequence(self, number: int) -> Array:
        """Origin, start and all moves of one trajectory."""
        moves = self.action[number, : self.steps[number]]
        first = [self.origin[number], *([self.start[number]] if self.starts_moved else [])]
        return np.concatenate([first, moves])

    def served(self, number: int) -> int:
        """Distinct nodes of one trajectory."""
        return len(np.unique(self.sequence(number)))


def pack(instance: Instance, tables: Tables) -> tuple[Array, Array]:
    """The tables of nodes (rows, N) and of the instance (rows,) that the compiled rollout reads."""
    customers = ~instance.is_depot
    # The other rows are fields of the instance.
    per_node: dict[str, Any] = {
        "customer": customers,
        "prize": instance.revealed_prize,
        "delivery": instance.is_delivery,
        "paired_step": instance.is_pickup.astype(np.float32) - instance.is_delivery,
    }
    per_instance: dict[str, Any] = {
        "limited": math.isfinite(instance.capacity),
        "bounded": math.isfinite(instance.max_length),
        "per_horizon": 1.0 / horizon(instance) if instance.windowed else 0.0,
        "depots": instance.num_depots,
        "read_weight": tables.read_weight,
        "match_weight": tables.match_weight,
        "customers": int(customers.sum()),
        "compulsory": int(instance.compulsory.sum()),
        "linehauls": int((customers & (instance.demand > 0)).sum()),
        "penalty": instance.penalty.sum(),
    }

    def table(rows: Sequence[str], own: dict[str, Any]) -> Array:
        held = [own[name] if name in own else getattr(instance, name) for name in rows]
        return np.array(held, dtype=np.float32)

    return table(kernels.NODE_ROWS, per_node), table(kernels.INSTANCE_ROWS, per_instance)


class Draws(NamedTuple):
    """How moves are sampled from P starts."""

    keys: Array  # (P,) of the random numbers; below 0 for the likeliest moves
    temperature: Array  # (P,); the higher, the more equal the chances of all legal moves


#: Where a plan is left, moves are not tried whose scores are so far below the likeliest's.
UNLIKELY = 20.0


class Deviations(NamedTuple):
    """Plans that P trajectories follow and leave; see ``decode/deviation.py``."""

    plan: Array  # (P, T) int32
    turn: Array  # (P,) int32
    rank: Array  # (P,) int32


def roll_out(
    starts: Starts,
    tables: Tables,
    nodes: Array,
    settings: Settings,
    draws: Draws | None = None,
    deviations: Deviations | None = None,
) -> Trajectories:
    """Complete a solution of the only augmentation of the tables from each start node (P,)."""
    instance = starts.instance
    origins = starts.origins(nodes)
    moves_a_customer = 3 if instance.num_depots > 1 else 2
    followed: dict[str, Any] = {}
    if deviations is not None:
        followed = {name: array[None] for name, array in deviations._asdict().items()}
        followed["unlikely"] = UNLIKELY
    action, steps, cost, _ = kernels.rollout(
        **arguments_of(instance, starts, tables),
        starts=nodes[None],
        origins=origins[None],
        keys=None if draws is None else draws.keys[None],
        temperature=None if draws is None else draws.temperature,
        **followed,
        max_steps=moves_a_customer * instance.size + 1,
        threads=settings.threads,
        look=settings.look,
    )
    return Trajectories(nodes, origins, action[0], steps[0], cost[0])


def arguments_of(instance: Instance, starts: Starts, tables: Tables) -> dict[str, Any]:
    """What the compiled rollout has to know of one augmentation, by the names of its arguments."""
    distance, duration = matrices_of(instance)
    home_distance, home_duration = starts.home
    node_table, instance_table = pack(instance, tables)
    return {
        **{name: getattr(tables, name) for name in _TABLES},
        "state_weight": tables.state_weight[None],
        "zscore": None if tables.zscore is None else tables.zscore[None],
        "distance": distance[None],
        "duration": duration[None],
        "home_distance": home_distance[None],
        "home_duration": home_duration[None],
        "node_table": node_table[None],
        "instance_table": instance_table[None],
        "tolerance": TOLERANCE,
        "direct": starts.direct,
        "move_state": None if tables.move_state is None else tables.move_state[None],
    }

"""Rollouts of large instances: few starts, near customers, distances seen as in training.

The twin of ``engines/pruning.py``, ``decode/neighbourhood.py`` and ``decode/adjustment.py`` for one
instance; what is adjusted and why is told there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spacevrp.arrays import Instance, prepare
from spacevrp.arrays.plane import Plane
from spacevrp.inference.geometry import row_slices
from spacevrp.inference.rollouts import Trajectories, arguments_of
from spacevrp.inference.settings import Settings
from spacevrp.inference.starts import Starts, matrices_of
from spacevrp.inference.tables import Tables
from spacevrp.native import network as kernels
from spacevrp.problems.canonical import needs_fleet_rules
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem

Array = np.ndarray[Any, Any]

#: Customers up to which nothing is pruned.
SMALL = 200
#: Starts of an augmentation times customers: about the work of an augmentation.
WORK = 2**16
#: Customers that a move chooses from; more where near in distance means less.
CHOICES, MORE_CHOICES = 32, 64
#: Customers in the readout, and on a list, for each one to choose from.
READOUT, LISTED = 4, 8
#: Nodes of the instances that the network was trained with.
TRAINED_NODES = 101
#: The powers of the augmentations, in turn: 0 leaves distances as they are, 1 would make up for
#: all.
NEARNESS = (0.4, 0.0, 0.6, 0.2)
#: What a demand that fills a vehicle adds to the score of its customer; up to half adds nothing.
PRIORITY, HALF = 20.0, 0.5
#: Nodes up to which lengths that follow from coordinates are written down as a matrix, 64 MiB.
MOST_NODES = 4096


@dataclass(frozen=True)
class LargeInstance:
    """A large instance with the lists that its moves choose from."""

    starts: Starts
    near: Array  # (N, W) int32 the nearest customers of every node, the nearest first
    limits: Array  # (2,) how many of them a move chooses from, and reads out
    bonus: Array  # (N,) float32 added to scores at a depot
    depot_weight: float  # of distances at a depot, times their weight
    missing: float  # at least 1; how much neighbours came nearer, over what log2 N grew by

    @classmethod
    def of(
        cls, problem: Problem, choices: int | None = None, *, adjusted: bool = True
    ) -> LargeInstance:
        """A problem with the lists of its customers, ``adjusted`` where :func:`is_adjusted`.

        Raises
        ------
        UnsupportedError
            Where coordinates tell the lengths of more nodes than there is room for a matrix.
        """
        instance = with_matrices(prepare(problem, on_the_fly=True))
        customers = instance.size - instance.num_depots
        choices = min(usual_choices(problem) if choices is None else choices, customers)
        near = candidate_lists(instance, LISTED * choices)
        read = min(max(READOUT * choices, choices), near.shape[1])
        depot_weight, missing, bonus = 1.0, 1.0, np.zeros(instance.size, dtype=np.float32)
        if adjusted and is_adjusted(problem):
            log_size = math.log2(instance.size)
            depot_weight = min(log_size, math.log2(TRAINED_NODES)) / log_size
            missing = max(math.sqrt(instance.size / TRAINED_NODES), 1.0) * depot_weight
            if math.isfinite(instance.capacity) and not instance.paired:
                share = np.abs(instance.demand) / np.float32(instance.capacity)
                bonus = np.float32(PRIORITY) * np.where(share > HALF, share, np.float32(0.0))
        limits = np.array([min(choices, read), read])
        return cls(Starts(instance), near, limits, bonus, depot_weight, missing)

    def start_nodes(self, limit: int | None) -> Array:
        """Customers that can be served first, (P,), spread evenly; the first where none can."""
        instance = self.starts.instance
        if limit is None:
            limit = max(1, WORK // (instance.size - instance.num_depots))
        every = self.starts.ready.nonzero()[0]
        if not len(every):
            return np.array([instance.num_depots])
        if limit >= len(every):
            return every
        return np.asarray(every[np.arange(limit) * len(every) // limit])

    def nearness(self, augmentation: int) -> float:
        """What distances weigh in the choices of the augmentation of that number."""
        return float(self.missing ** NEARNESS[augmentation % len(NEARNESS)])


def is_large(problem: Problem, choices: int | None) -> bool:
    """Whether an instance is too large to look at all customers at every move."""
    customers = len(problem.customers)
    if needs_fleet_rules(problem):  # the vehicles of a fleet look at everybody
        return False
    return customers > SMALL or (choices is not None and choices < customers)


def usual_choices(problem: Problem) -> int:
    """Customers that a move chooses from."""
    features = problem.features
    return MORE_CHOICES if features.asymmetric or features.time_windows else CHOICES


def is_adjusted(problem: Problem) -> bool:
    """Whether the decoder is told of an instance otherwise than it is.

    Not where distances are asymmetric, or between several depots: there it was no better.
    """
    large = len(problem.customers) > SMALL
    return large and len(problem.depots) <= 1 and not problem.features.asymmetric


def with_matrices(instance: Instance) -> Instance:
    """The instance with its lengths written down, as the rules see them."""

    def written(lengths: Array | Plane) -> Array:
        if not isinstance(lengths, Plane):
            return lengths
        size = len(lengths.points)
        if size > MOST_NODES:
            raise UnsupportedError(
                f"expected at most {MOST_NODES} nodes for rollouts without torch, received {size}"
            )
        matrix = np.empty((size, size), dtype=np.float32)
        for rows in row_slices(size):
            matrix[rows] = lengths.rows(np.arange(rows.start, rows.stop))
        return matrix

    distance = written(instance.distance)
    shared = instance.duration is instance.distance
    return replace(
        instance, distance=distance, duration=distance if shared else written(instance.duration)
    )


def candidate_lists(instance: Instance, width: int) -> Array:
    """The nearest customers of every node, (N, W) int32; a partner is always on the list.

    Where there are too few, other nodes fill the lists.
    """
    distance, _ = matrices_of(instance)
    size = instance.size
    width = max(1, min(width, size - instance.num_depots))
    near = np.empty((size, width), dtype=np.int32)
    for rows in row_slices(size):
        tile = distance[rows].copy()
        tile[:, : instance.num_depots] = np.inf
        tile[np.arange(len(tile)), np.arange(rows.start, rows.stop)] = np.inf  # not itself
        chosen = np.argpartition(tile, width - 1, axis=1)[:, :width]
        order = np.argsort(np.take_along_axis(tile, chosen, axis=1), axis=1, kind="stable")
        near[rows] = np.take_along_axis(chosen, order, axis=1)
    if instance.paired:
        missing = ~(near == instance.partner[:, None]).any(axis=1)
        near[missing, -1] = instance.partner[missing]
    return near


def roll_out_large(
    large: LargeInstance, tables: Tables, number: int, nodes: Array, settings: Settings
) -> Trajectories:
    """Complete a solution of the augmentation of this number from each start (P,), greedily."""
    starts, scale = large.starts, tables.scale
    origins = starts.origins(nodes)
    seen = [scale.mean, scale.deviation, scale.longest, large.depot_weight]
    moves_a_customer = 3 if starts.instance.num_depots > 1 else 2
    action, steps, cost, _ = kernels.rollout(
        **arguments_of(starts.instance, starts, tables),
        starts=nodes[None],
        origins=origins[None],
        max_steps=moves_a_customer * starts.instance.size + 1,
        threads=settings.threads,
        look=settings.look,
        lists={
            "near": large.near[None],
            "limits": large.limits,
            "bonus": large.bonus[None],
            "scale": np.array([seen], dtype=np.float32),
            "nearness": np.array([large.nearness(number)], dtype=np.float32),
        },
    )
    return Trajectories(nodes, origins, action[0], steps[0], cost[0])

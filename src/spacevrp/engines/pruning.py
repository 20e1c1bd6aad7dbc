"""How a large instance is solved: how many starts and options, and what is worked on together.

Up to ``SMALL`` customers an instance is solved from all its starts and every move looks at all
customers. Beyond, time would grow like the cube of the size. Then a number of starts is chosen that
keeps the work of an augmentation about the same for any size, moves look at near customers, nothing
of size N x N is held, and memory decides what is worked on together:

    instances x (instance + augmentations x (table + max(encoding, starts x trajectory)))

in bytes, with N nodes, an embedding width of d, K choices a move and lists of L customers:

    instance     8 L N + 400 N         the lists and what is known of nodes; matrices, 4 N^2 each
    table       20 d N                 the tables of the decoder
    encoding    64 d N                 queries, keys, values and sums of a layer
    trajectory  13 N + 60 L + 12 d K   visits, moves, and what a step looks at

and on top of all a constant a core, for tiles and the moments at which all customers are looked at.
(tests/solver/test_plans.py counts what is really live.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spacevrp.engines.devices import Cpu, Device
from spacevrp.engines.memory import GIB, Cut, available, most_nodes
from spacevrp.inference import large
from spacevrp.inference.large import LISTED, READOUT, WORK
from spacevrp.inference.settings import Settings
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem

# Starts of an augmentation times customers: about the work of an augmentation. A GPU moves many
# vehicles at once.
_WORK = {"cpu": WORK, "cuda": 2**20}
# Trajectories that are worked on together: beyond, a device is only kept busy.
_MOST_TOGETHER = {"cpu": 512, "cuda": 2**14}
# Tiles, and the moments at which all customers are looked at; of every worker.
_SCRATCH = {"cpu": GIB // 8, "cuda": 2 * GIB}
# Bytes that a block may take on a CPU where the user sets no limit.
CPU_BUDGET = 2 * GIB


@dataclass(frozen=True)
class Search:
    """How far a large instance is searched."""

    starts: int  # of an augmentation, at most
    choices: int  # customers that a move chooses from, at most

    @property
    def readout(self) -> int:
        """Customers that a move reads out, at most."""
        return READOUT * self.choices

    @property
    def listed(self) -> int:
        """Customers on the list of a node, at most."""
        return LISTED * self.choices


def search_of(problem: Problem, settings: Settings, device: Device) -> Search | None:
    """How far a large instance is searched, by the settings or by its size; None for others."""
    customers = len(problem.customers)
    starts, choices = settings.starts, settings.choices
    if not settings.pruned:
        starts = choices = customers
    if not large.is_large(problem, choices):
        return None
    if starts is None:
        starts = max(1, _WORK[device.type] // customers)
    if choices is None:
        choices = large.usual_choices(problem)
    return Search(min(starts, customers), min(choices, customers))


def describe(search: Search, problem: Problem) -> str:
    """What of the instance is searched, in a line."""
    customers = len(problem.customers)
    label = f"{problem.name!r}" if problem.name else f"an instance of {customers} customers"
    return (
        f"{label}: at most {search.starts} start nodes an augmentation, {search.choices} nearest "
        "customers "
        f"a move (see --set start_nodes, candidates)"
    )


@dataclass(frozen=True)
class LargeFootprint:
    """Bytes that a large instance, its augmentations and its trajectories take."""

    instance: int
    table: int
    encoding: int
    trajectory: int
    scratch: int

    @classmethod
    def of(
        cls,
        num_nodes: int,
        width: int,
        search: Search,
        *,
        matrices: int = 0,
        device: str = "cpu",
        workers: int = 1,
    ) -> LargeFootprint:
        """The formulas above; ``matrices`` of size N x N are held (distances, durations)."""
        listed = min(search.listed, num_nodes)
        return cls(
            instance=4 * matrices * num_nodes**2 + 8 * listed * num_nodes + 400 * num_nodes,
            table=20 * width * num_nodes,
            encoding=64 * width * num_nodes,
            trajectory=13 * num_nodes + 60 * listed + 12 * width * search.choices,
            scratch=workers * _SCRATCH[device],
        )

    def block(self, instances: int, augmentations: int, starts: int) -> int:
        """Peak of so many instances, with so many augmentations and starts each."""
        augmentation = self.table + max(self.encoding, starts * self.trajectory)
        return instances * (self.instance + augmentations * augmentation) + self.scratch


def cut_large(footprint: LargeFootprint, wanted: Cut, budget: int, device: str) -> Cut:
    """The most that fits and keeps the device busy: instances are cut first, starts last."""
    augmentations, starts = wanted.augmentations, wanted.starts
    if footprint.block(1, 1, starts) > budget:
        room = budget - footprint.instance - footprint.table - footprint.scratch
        return Cut(1, 1, max(1, min(room // footprint.trajectory, starts)))
    if footprint.block(1, augmentations, starts) > budget:
        room = budget - footprint.instance - footprint.scratch
        each = footprint.block(1, 1, starts) - footprint.instance - footprint.scratch
        return Cut(1, max(1, room // each), starts)
    room = budget - footprint.scratch
    together = room // (footprint.block(1, augmentations, starts) - footprint.scratch)
    busy = max(1, _MOST_TOGETHER[device] // (augmentations * starts))
    return Cut(min(wanted.instances, together, busy), augmentations, starts)


def footprint_of(
    several: Sequence[Problem], width: int, search: Search, device: Device, workers: int
) -> LargeFootprint:
    """Of large instances that are searched alike."""
    return LargeFootprint.of(
        max(problem.size for problem in several),
        width,
        search,
        matrices=count_matrices(several),
        device=device.type,
        workers=workers,
    )


def too_large_at_all(
    several: Sequence[Problem], width: int, search: Search, device: Device, workers: int
) -> SpacevrpError:
    """What of large instances does not fit, and what would."""
    need = footprint_of(several, width, search, device, workers).block(1, 1, 1)
    size, there = max(problem.size for problem in several), available(device)
    matrices = count_matrices(several)
    held = f", {matrices} of them matrices of its own" if matrices > 1 else ""
    if matrices == 1:
        held = ", most of it for its matrix (coordinates need none)"

    def fits(num_nodes: int) -> bool:
        footprint = LargeFootprint.of(
            num_nodes, width, search, matrices=matrices, device=device.type, workers=workers
        )
        return footprint.block(1, 1, 1) <= there

    most = most_nodes(fits)
    advice = f"up to {most} nodes would fit"
    if device.type == "cuda" and need <= available(Cpu()):
        advice += ", and --device cpu has room for this one"
    return SpacevrpError(
        f"out of memory on {device}: one augmentation of an instance with {size} nodes from one "
        f"start needs about {need / GIB:.2g} GiB{held}, there are {there / GIB:.2g}; {advice}"
    )


def count_matrices(problems: Sequence[Problem]) -> int:
    """Matrices of size N x N that an instance needs: those that coordinates do not tell."""
    number = 0
    for problem in problems:
        of_this = int(problem.distances.coordinates is None)
        of_this += int(problem.durations is not problem.distances)
        number = max(number, of_this)
    return number

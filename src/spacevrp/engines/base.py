"""What a call asks of an engine, which runs the network: torch, or the compiled network.

Both make the same plans but for ties. The compiled network needs no torch, starts at once and is
the faster one on a CPU; torch is for GPUs and for what the other does not do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from spacevrp.engines.devices import Device
from spacevrp.engines.progress import Progress
from spacevrp.inference.construct import Candidate
from spacevrp.inference.settings import Seconds, Settings
from spacevrp.problems.problem import Problem


@dataclass
class Account:
    """What a call may take, what it took, and what was left out."""

    batch_memory: int | None = None  # bytes that a block may take; None for what suits the device
    seconds: Seconds = field(default_factory=Seconds)
    notes: list[str] = field(default_factory=list)


class Engine(Protocol):
    """The network, ready for problems."""

    @property
    def name(self) -> str:
        """``native`` or ``torch``."""
        ...

    @property
    def device(self) -> Device:
        """Where it works."""
        ...

    @property
    def threads(self) -> int:
        """Of a CPU that it uses."""
        ...

    def at_work(self) -> AbstractContextManager[None]:
        """During a call: libraries use the threads of this engine."""
        ...

    def lacks(self, problem: Problem, settings: Settings) -> str | None:
        """Why it has no plans of a problem with these settings; None where it has."""
        ...

    def search(
        self,
        several: Sequence[Problem],
        settings: Settings,
        progress: Progress,
        account: Account,
    ) -> Iterator[list[Candidate]]:
        """The candidates of each of a group of problems, in order, best first.

        Raises
        ------
        TimeIsUp
            When the deadline is over before there are any of the next problem.
        """
        ...

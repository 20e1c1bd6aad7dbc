"""How a rollout runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Running:
    """Whom a rollout asks and tells; of the compiled network also threads and instructions.

    The plans are the same for any number of threads.
    """

    look: Callable[[], None] | None = None  # called now and then; what it raises ends the call
    report: Callable[[float], None] | None = None  # told the share of the work done since last time
    threads: int | None = None  # as many as torch is set to where None
    instructions: str = ""  # one of ``network.instruction_sets()``; the widest where empty


USUAL = Running()

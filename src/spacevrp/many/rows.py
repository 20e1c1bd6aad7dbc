"""What a run says of each instance: one row, whatever became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spacevrp.many.sources import Item
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution, solution_entry

Row = dict[str, Any]
SOLVED, PARTIAL, FAILED = "solved", "partial", "failed"


def solved_row(
    item: Item,
    problem: Problem,
    solution: Solution,
    reason: str | None,
    notes: Sequence[str],
    seconds: float,
) -> Row:
    """The row of an instance with a plan; ``reason`` says why it is no complete one."""
    about = {
        "index": item.number,
        "source": item.source,
        "name": problem.name,
        "variant": problem.variant_name,
        "status": SOLVED if reason is None else PARTIAL,
        "reason": reason,
    }
    entry = about | solution_entry(problem, solution)
    return entry | ({"notes": list(notes)} if notes else {}) | {"seconds": round(seconds, 6)}


def failed_row(item: Item, reason: str) -> Row:
    """The row of an instance without any plan."""
    return {
        "index": item.number,
        "source": item.source,
        "name": None,
        "variant": None,
        "status": FAILED,
        "reason": reason,
        "cost": None,
        "routes": [],
        "feasible": False,
        "seconds": 0.0,
    }

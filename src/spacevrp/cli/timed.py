"""What ``spacevrp solve --time`` says beyond the plans: who improved them, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacevrp.anytime import Improvement
    from spacevrp.solver import Attempt

# Beyond so many instances only the total is told.
_MOST_TOLD = 10


def improvements(attempt: Attempt) -> list[Improvement | None]:
    """One entry an instance; None where nobody searched on from the model's plan."""
    found = getattr(attempt, "improvements", None)
    return [None] * len(attempt.solutions) if found is None else list(found)


def more_keys(attempt: Attempt) -> list[dict[str, Any]]:
    """What the document says of each instance beside the fixed keys."""
    entries = []
    for one in improvements(attempt):
        entry: dict[str, Any] = {}
        if one is not None:
            entry["start_cost"] = one.start.cost
            if one.engine:
                entry |= {"solver": one.engine, "version": one.version}
                entry["seconds"] = round(one.seconds, 3)
            if one.note:
                entry["note"] = one.note
        entries.append(entry)
    return entries


def describe(attempt: Attempt) -> list[str]:
    """The same in words, a line each."""
    lines = []
    told = [(number, one) for number, one in enumerate(improvements(attempt)) if one is not None]
    for number, one in told[:_MOST_TOLD]:
        label = f"{number}  " if len(attempt.solutions) > 1 else ""
        lines.append(f"{label}{_words(one)}")
    if len(told) > _MOST_TOLD:
        better = sum(one.improved for _, one in told)
        lines.append(f"{better} of {len(told)} plans improved in all")
    return lines


def _words(one: Improvement) -> str:
    if not one.engine:
        return f"not improved: {one.note or 'the time was up'}"
    who = f"{one.engine} {one.version}"
    if not one.improved:
        return f"{who} found nothing better than {one.start.cost:.10g} in {one.seconds:.2f} s"
    gain = 100.0 * (one.start.cost - one.solution.cost) / abs(one.start.cost or 1.0)
    return (
        f"{who} improved {one.start.cost:.10g} -> {one.solution.cost:.10g} "
        f"({gain:.2f}% better) in {one.seconds:.2f} s"
    )

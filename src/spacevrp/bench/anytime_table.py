"""Rows of the table at equal time, and who is best in each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from spacevrp.bench.records import markdown_table
from spacevrp.bench.tables import number

# Whoever took longer than this did not keep the time, and is not compared.
_TOLERANCE, _MOMENT = 0.1, 0.02
_HEAD = """
## Who is best at equal time

Among those who solved all instances and kept the limit (10% and 0.02 s beyond it are let pass),
with the gap in percent; of equals a classical solver is named. In brackets the gap of our better
row, where it is not the best; "late" where neither of ours kept the limit.
"""


@dataclass(frozen=True)
class Row:
    """One solver with one limit on the instances of one problem and size."""

    problem: str
    size: int
    limit: float
    solver: str
    version: str
    instances: int
    solved: int
    cost: float | None  # mean of the referee's, over the solved
    gap: float | None  # percent, to the best known
    seconds: float  # for one instance, measured
    violations: int  # instances that the model has no plan for
    others: float | None

    @property
    def in_time(self) -> bool:
        """Whether it kept its limit, but for a tolerance, and solved all instances."""
        within = self.seconds <= (1 + _TOLERANCE) * self.limit + _MOMENT
        return within and self.solved == self.instances

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        return [
            self.problem,
            str(self.size),
            f"{self.limit:g}",
            self.solver,
            str(self.instances),
            str(self.solved),
            number(self.cost, 5) or "-",
            number(self.gap, 3) or "-",
            number(self.seconds, 3),
            number(self.others, 2),
        ]


def describe_winners(rows: Sequence[Row]) -> str:
    """Who is best at each limit, as Markdown: plainly also where it is somebody else."""
    limits = sorted({row.limit for row in rows})
    lines, wins = [], Counter[str]()
    for problem, size in dict.fromkeys((row.problem, row.size) for row in rows):
        cells = [problem, str(size)]
        for limit in limits:
            cell = [r for r in rows if (r.problem, r.size, r.limit) == (problem, size, limit)]
            best = winner(cell)
            wins[best.solver if best else "nobody"] += 1
            cells.append(_words(best, cell))
        lines.append(cells)
    if not lines:
        return ""
    table = markdown_table(["problem", "customers", *(f"{limit:g} s" for limit in limits)], lines)
    counted = ", ".join(f"{name} {count}" for name, count in wins.most_common())
    return f"{_HEAD}\n{table}\nBest in so many of {wins.total()} cells: {counted}.\n"


def winner(cell: Sequence[Row]) -> Row | None:
    """The best of those in time, of equals a classical solver; None where there is nobody."""
    able = [row for row in cell if row.in_time and row.gap is not None]

    def order(row: Row) -> tuple[float, bool]:
        assert row.gap is not None
        return round(row.gap, 6), row.solver.startswith("spacevrp")

    return min(able, key=order, default=None)


def _words(best: Row | None, cell: Sequence[Row]) -> str:
    ours = winner([row for row in cell if row.solver.startswith("spacevrp")])
    if best is None:
        return "nobody"
    text = f"{best.solver} {number(best.gap, 2)}"
    if best is ours:
        return text
    return f"{text} ({number(ours.gap, 2) if ours else 'late'})"

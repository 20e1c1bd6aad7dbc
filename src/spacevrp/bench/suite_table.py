"""What runs of a suite came to, as a table: gaps, means over the classes, and who is ahead."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spacevrp.bench.records import markdown_table
from spacevrp.bench.suite_methods import OURS
from spacevrp.bench.suites import Suite
from spacevrp.bench.tables import TableRow, column, mean, most, number

_LEVEL = 0.01  # percentage points
NOTES = """\
Each run has one core and one seed. "spacevrp" is the whole call of a loaded Solver with a time;
otherwise "solver" names the start: "search" takes the better of savings and insertion, "network +
search" the network's first plan, "network" and "paper" are protocols that take as long as they
take. "limit s" are the seconds given for {scope}, or seconds a customer
(n). Every cost is the referee's{but}. "plans" are the runs with as few customers unserved as in the
best known plan; "unserved" counts all that are left out, "-" where a run has no plan at all. "gap
%" is that of the mean over the seeds to the best known cost of an instance, and the mean over the
instances, "worst %" the largest; the best known cost is {best}. "seconds" are
the mean from the call to the judged plan; files, libraries and weights were loaded before.
"iterations" are the search's. "others" is how many cores were busy with other processes meanwhile.
{theirs}"""
_READERS = """\
PyVRP solves what its own reader makes of a file with its own settings; Solomon's and Li and Lim's
files, which it does not read, reach it as `to_pyvrp` writes them.
"""
Record = Mapping[str, Any]  # what a run came to
Rank = tuple[int, float]  # unserved, cost


def shown_limit(limit: float | str) -> str:
    """As it was given."""
    return limit if isinstance(limit, str) else f"{limit:g}"


@dataclass(frozen=True, kw_only=True)
class Row(TableRow):
    """One solver with one limit on the instances of one class."""

    problem: str = column("class", 16)
    size: int | None = column("customers", 9)
    limit: float | str = column("limit s", 7, shown_limit)  # with an n: seconds a customer
    solver: str = column("solver", 28)
    version: str
    instances: int = column("instances", 9)
    runs: int = column("runs", 5)
    solved: int = column("plans", 5)
    unserved: int | None = column("unserved", 8, missing="-")
    cost: float | None = column("cost", 12, ".4f", missing="-")
    gap: float | None = column("gap %", 8, ".3f", missing="-")
    worst: float | None = column("worst %", 8, ".3f", missing="-")
    seconds: float = column("seconds", 9, ".3f")
    iterations: float | None = column("iterations", 10, ".0f")
    others: float | None = column("others", 6, ".2f")
    note: str = column("note", 4, default="")

    @property
    def failed(self) -> bool:
        """Whether a run of ours has no plan that is as complete as the best known."""
        return self.solver.startswith(OURS) and self.solved < self.runs

    @property
    def quality(self) -> tuple[float, float]:
        """More plans of all runs, then the smaller gap."""
        return -self.solved / self.runs, math.inf if self.gap is None else self.gap


def notes_of(rows: Sequence[Row], suite: Suite) -> str:
    """What the columns are."""
    stored = "the plan that comes with the file" if suite.public else "the stored references"
    return NOTES.format(
        scope="the whole call" if suite.whole else "the search alone",
        but=", but for rows that say so" if any(row.note for row in rows) else "",
        best=f"that of {stored}, or {'else ' * suite.fixed}of these runs",
        theirs=_READERS if suite.public and suite.whole else "",
    )


# --------------------------------------------------------------------------------------------- rows


def table(lines: Iterable[Record], *, fixed: bool) -> list[Row]:
    """Classes in the order of their names; in each, limits and solvers.

    ``fixed``: gaps are to the best costs that the lines tell, and to the best of the lines only
    where they tell none.
    """
    held = list(lines)
    best = _best_of(held, fixed=fixed)
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for line in held:
        key = (line["class"], line.get("size"), line["limit"], line["solver"])
        groups.setdefault(key, []).append(line)
    return [_row(groups[key], best) for key in sorted(groups, key=_order)]


def length(limit: str) -> tuple[bool, float]:
    """Seconds come before seconds a customer."""
    return limit.endswith("n"), float(limit.removesuffix("n"))


def _order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    name, size, limit, solver = key
    return name, size or 0, length(limit), not solver.startswith(OURS), solver


def _instance(line: Record) -> tuple[str, str]:
    return line["class"], line["instance"]


def _rank(line: Record) -> Rank | None:
    """None where a run has no plan, or one that breaks a rule."""
    unserved = line.get("unserved") or 0
    if line["cost"] is None or not (line["complete"] or unserved):
        return None
    return unserved, line["cost"]


def _best_of(lines: Iterable[Record], *, fixed: bool) -> dict[tuple[str, str], Rank]:
    """The best of each instance: fewest unserved, then cost; stored plans are complete."""
    best: dict[tuple[str, str], Rank] = {}
    for line in lines:
        known = None if line["best"] is None else (0, line["best"])
        offered = [known] if fixed and known is not None else [known, _rank(line)]
        for rank in filter(None, [*offered, best.get(_instance(line))]):
            best[_instance(line)] = min(rank, best.get(_instance(line), rank))
    return best


def _row(lines: Sequence[Record], best: Mapping[tuple[str, str], Rank]) -> Row:
    costs: dict[tuple[str, str], list[float]] = {}
    for line in lines:
        rank = _rank(line)
        if rank is not None and rank[0] == best[_instance(line)][0]:
            costs.setdefault(_instance(line), []).append(rank[1])
    gaps = [gap_of(sum(own) / len(own), best[which][1]) for which, own in costs.items()]
    ranks, first = [_rank(line) for line in lines], lines[0]
    limit = first["limit"]
    return Row(
        problem=first["class"],
        size=first.get("size"),
        limit=limit if limit.endswith("n") else float(limit),
        solver=first["solver"],
        version=", ".join(dict.fromkeys(line["version"] for line in lines)),
        instances=len({line["instance"] for line in lines}),
        runs=len(lines),
        solved=sum(map(len, costs.values())),
        unserved=None if None in ranks else sum(rank[0] for rank in ranks if rank is not None),
        cost=mean([None if rank is None else rank[1] for rank in ranks]),
        gap=mean(gaps),
        worst=most(gaps),
        seconds=sum(line["seconds"] for line in lines) / len(lines),
        iterations=mean([line.get("iterations") for line in lines]),
        others=mean([line.get("others") for line in lines]),
        note=next((line["note"] for line in lines if line["note"]), ""),
    )


def gap_of(cost: float | None, best: float | None) -> float | None:
    """Percent above the best known."""
    return None if cost is None or not best else 100.0 * (cost - best) / abs(best)


# ---------------------------------------------------------------------------------- what follows


def compare_solvers(rows: Sequence[Row]) -> str:
    """Means of each solver and limit, and where ours is behind, plainly."""
    lines = []
    for limit, solver in dict.fromkeys((row.limit, row.solver) for row in rows):
        some = [row for row in rows if (row.limit, row.solver) == (limit, solver)]
        held = [row.gap for row in some]
        left = [row.unserved for row in some]
        lines.append(
            [
                solver,
                shown_limit(limit),
                str(len(some)),
                number(mean(held), 3) or "-",
                number(most(held), 3) or "-",
                str(sum(row.runs - row.solved for row in some)),
                "-" if None in left else str(sum(filter(None, left))),
                f"{sum(row.seconds * row.runs for row in some):.1f}",
            ]
        )
    columns = ("solver", "limit s", "classes", "mean gap %", "worst class %", "without", "unserved")
    means = markdown_table((*columns, "seconds in all"), lines)
    return f"\n## Means over the classes\n\n{means}\n{_behind(rows)}"


def _behind(rows: Sequence[Row]) -> str:
    """Where another solver has the better plans within the same limit, or its own."""
    ahead = level = 0
    lines = []
    for problem, size in dict.fromkeys((row.problem, row.size) for row in rows):
        case = [row for row in rows if (row.problem, row.size) == (problem, size)]
        ours = [row for row in case if row.solver.startswith(OURS)]
        others = [row for row in case if not row.solver.startswith(OURS)]
        for limit in dict.fromkeys(row.limit for row in others if ours):
            same = [row for row in ours if row.limit == limit] or ours
            mine = min(same, key=lambda row: row.quality)
            other = min((r for r in others if r.limit == limit), key=lambda row: row.quality)
            gained = other.quality[1] - mine.quality[1]
            if mine.quality[0] == other.quality[0] and abs(gained) <= _LEVEL:
                level += 1
            elif mine.quality <= other.quality:
                ahead += 1
            else:
                name = problem if size is None else f"{problem} {size}"
                lines.append([name, shown_limit(limit), _told(mine), _told(other)])
    if not ahead + level + len(lines):
        return ""
    head = f"Ours is ahead in {ahead}, level in {level} and behind in {len(lines)} cells.\n"
    if not lines:
        return head
    return f"{head}\n## Where another solver wins\n\n" + markdown_table(
        ("class", "limit s", "ours", "other"), lines
    )


def _told(row: Row) -> str:
    short = "" if row.solved == row.runs else f", {row.solved} of {row.runs}"
    return f"{number(row.gap, 3) or 'no plan'} ({row.solver}{short})"


def summary(rows: Sequence[Row]) -> str:
    """One line: what was measured."""
    classes = len({(row.problem, row.size) for row in rows})
    total = sum(row.seconds * row.runs for row in rows)
    short = sum(row.runs - row.solved for row in rows if row.failed)
    return (
        f"{sum(row.runs for row in rows)} runs on {classes} classes in {total:.1f} s; {short} of "
        "ours without a plan as complete as the best known"
    )

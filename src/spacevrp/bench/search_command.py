"""``spacevrp bench search``: the compiled search beside other solvers at equal time.

Everything happens in one process, one instance after the other, so that nothing that is timed runs
beside anything else that is. Several processes may measure parts of a suite on a machine with many
cores; ``--stored`` makes one table of what they kept.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.bench.neighbours import Neighbours, load_average, wait_for_rest
from spacevrp.bench.options import SUFFIX, above, add_options, add_report_options
from spacevrp.bench.records import markdown_table
from spacevrp.bench.search_methods import (
    OURS,
    SOLVE,
    Found,
    Item,
    Method,
    Network,
    compiled_digest,
    make_methods,
)
from spacevrp.bench.search_suites import SUITES, Case, Suite
from spacevrp.bench.solving import Outcome, gaps
from spacevrp.bench.store import read_store
from spacevrp.bench.tables import (
    Job,
    Layout,
    Report,
    TableRow,
    column,
    mean,
    new_record,
    number,
    settings_key,
    work_through,
)
from spacevrp.problems.errors import SpacevrpError, UnsupportedError
from spacevrp.writing import append_line

BETTER = "better.jsonl"
_LEVEL = 0.01  # percentage points
_NOTES = """\
Every cost is the referee's. "spacevrp" is the whole call of a loaded Solver with a time; otherwise
"solver" names the start: "search" takes the better of savings and insertion, "network + search" the
network's first plan. "limit s" are the seconds given for {scope}.
"plans" have as few customers unserved as the best known plan; "unserved" counts all that are left
out, "-" where there is no plan at all; "gap %" is the mean of the gaps to the best known cost of an
instance, be it stored or of this run, over such plans, "worst %" the largest. "seconds" were
measured for one instance, from the call to the refereed plan, the network's included; libraries and
weights were loaded before. "iterations" are the search's, the mean over instances. "others" is how
many cores were busy with other processes meanwhile. "peak GiB" is the most memory that the process
held. Threads of the search: {threads}; other solvers have one.
"""
_SIDE_BY_SIDE = """\
Joined from several runs, which may have worked side by side on one machine, those of all solvers
alike: see "others".
"""
_DASHED = ("unserved", "cost", "gap", "worst")  # with a dash where there is no value


@dataclass(frozen=True, kw_only=True)
class Row(TableRow):
    """One method with one limit on the instances of one case."""

    problem: str = column("problem", 16)
    size: int = column("customers", 9)
    limit: float | None = column("limit s", 7, "g")  # None for as long as it takes
    solver: str = column("solver", 28)
    version: str
    instances: int = column("instances", 9)
    solved: int = column("plans", 5)  # plans with as few unserved as the best known
    unserved: int | None = column("unserved", 8)  # of all instances; None where one has no plan
    cost: float | None = column("cost", 12, ".4f")
    gap: float | None = column("gap %", 8, ".3f")
    worst: float | None = column("worst %", 8, ".3f")
    seconds: float = column("seconds", 9, ".3f")  # for one instance
    iterations: float | None = column("iterations", 10, ".0f")
    violations: int  # instances for which the search has no plan
    others: float | None = column("others", 6, ".2f")
    note: str = ""
    peak_gib: float | None = column("peak GiB", 8, ".2f", default=None)

    def text(self, name: str, form: Any) -> str:
        """One cell."""
        return super().text(name, form) or ("-" if name in _DASHED else "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench search``."""
    parser.epilog = (
        "Suites: "
        + "; ".join(f"{name}: {suite.title}" for name, suite in SUITES.items())
        + f". With -o, plans of ours that are better than the stored references go to {BETTER}, "
        "which `spacevrp bench references --merge` takes in. Exit code 0: a plan for every "
        "instance; 1: not so; 2: bad usage, missing data or a solver that is not installed."
    )
    parser.add_argument("suite", choices=tuple(SUITES), metavar="SUITE", help=", ".join(SUITES))
    patterns = {"metavar": "PATTERNS", "type": lambda text: tuple(text.split(","))}
    add_options(
        parser,
        count={"help": "instances of each case"},
        seed=1,
        seconds={
            "metavar": "NUMBERS",
            "type": limits,
            "help": "limits for each instance, all solvers",
        },
        only={
            **patterns,
            "help": "cases by name, or by name and customers, such as 'CVRP*,X-n1001*,CVRP:100'",
        },
        solvers={**patterns, "help": "only these of the suite's, such as 'spacevrp*,pyvrp'"},
        threads={"help": "of the search"},
        plans={
            "metavar": "FILE.json",
            "type": Path,
            "help": "stored first plans; made with the network and written where there is no such "
            "file",
        },
        wait=0,
        stored={
            "action": "store_true",
            "help": f"solve nothing: make the table of what FOLDER/SUITE{SUFFIX} holds, wherever "
            "it was measured; files of several runs may be joined there",
        },
        weights=None,
        device="auto",
    )
    add_report_options(parser, "SUITE")


def run(args: argparse.Namespace) -> int:
    """Measure case by case, and report each when all are through with it."""
    from spacevrp.bench.weights import load_model
    from spacevrp.solver import Solver

    suite = SUITES[args.suite]
    if args.stored and args.output is None:
        raise SpacevrpError("--stored: expected -o FOLDER with what is stored, received none")
    args.count = args.count or suite.count
    count = args.threads or 1
    _, weights = load_model(args.weights)
    network = Network(Solver(args.weights, args.device))
    methods = make_methods(
        network, whole=suite.whole, threads=count, seed=args.seed, stored=args.stored
    )
    with _one_thread():
        record = new_record(args.suite, network.solver, weights, None, seed=args.seed)
        record |= {"load_before": load_average(), "search_threads": count}
        record["search_sha256"] = compiled_digest()
        scope = "the whole call" if suite.whole else "the search alone"
        notes = _NOTES.format(scope=scope, threads=count)
        notes += _SIDE_BY_SIDE if args.stored else ""
        layout = Layout(args.suite, suite.title, Row.columns(), notes)
        report = Report(layout, record, args, summary, below=compare_solvers)
        cases = [case for case in suite.cases(args, network) if _wanted(case, args)]
        if not cases:
            raise SpacevrpError(f"--only: expected names of cases of {args.suite}, received none")
        entries = [
            entry
            for case in cases
            for entry in _entries(case, suite, methods, args, record, weights)
        ]
        measured: Iterator[tuple[Entry, Outcome]]
        if args.stored:
            measured = iter(_stored(entries, args.output / f"{args.suite}{SUFFIX}", record))
        else:
            for method in {entry.solver: entry.method for entry in entries}.values():
                method.require()
            done = work_through([entry.job for entry in entries], report.store(), quiet=args.quiet)
            measured = zip(entries, (outcome for _, outcome in done), strict=True)
        for case, group in groupby(measured, key=lambda pair: pair[0].case):
            report.add(*rows_of(case, list(group)))
        if not args.stored:
            record["load_after"] = load_average()
    code = report.finish()
    if suite.plot and args.output is not None and report.rows:
        _draw(args.output / f"{args.suite}.png", report.rows)
    return code


@contextmanager
def _one_thread() -> Iterator[None]:
    """Have torch use one thread of a CPU."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _draw(path: Path, rows: Sequence[Row]) -> None:
    """The picture of the table beside it, or why there is none."""
    from spacevrp.plots import require_matplotlib
    from spacevrp.plots.frontier import save_frontier_plot
    from spacevrp.writing import replacing

    try:
        require_matplotlib()
    except UnsupportedError as error:
        print(f"no picture: {error}", file=sys.stderr)
        return
    with replacing(path) as temporary:
        save_frontier_plot(temporary, [asdict(row) for row in rows])


def _wanted(case: Case, args: argparse.Namespace) -> bool:
    names = (case.name, f"{case.name}:{case.size}")
    return args.only is None or any(
        fnmatch.fnmatchcase(name, pattern) for name in names for pattern in args.only
    )


def limits(text: str) -> tuple[float, ...]:
    """Seconds separated by commas, for ``type=`` of an argument."""
    return tuple(sorted(set(map(above(0, "seconds"), text.split(",")))))


# --------------------------------------------------------------------------------------------- work


@dataclass(frozen=True)
class Entry:
    """A way with a limit on a case, to be measured."""

    case: Case
    solver: str
    method: Method
    limit: float | None
    job: Job


def _entries(
    case: Case,
    suite: Suite,
    methods: dict[str, Method],
    args: argparse.Namespace,
    record: dict[str, Any],
    weights: dict[str, Any],
) -> list[Entry]:
    """Who takes part in a case, limit by limit, so that equal times are measured close together."""
    example = case.example()
    chosen: list[tuple[float | None, str]] = []
    for line in suite.lines:
        found = _first_able(line, methods, case.name, example, args)
        if found is None:
            continue
        name, own = found
        some = args.seconds or suite.limits
        if name == SOLVE:
            chosen.append((None, name))
        else:
            chosen += [(limit, name) for limit in ((own,) if own and not args.seconds else some)]
    entries = []
    for limit, name in sorted(dict.fromkeys(chosen), key=lambda pair: pair[0] or 0.0):
        method = methods[name]
        key = settings_key(record, weights if method.ours else {"tensors_sha256": None})
        key |= {"suite": args.suite, "case": case.name, "set": dict(case.key)}
        key |= {"solver": name, "seconds": limit}
        if not args.stored:  # else what is stored says it
            key["solver_version"] = method.version()
        if method.ours:
            key |= {name: record[name] for name in ("search_threads", "search_sha256")}
        work = partial(_measure, case, method, limit, args)
        label = f"{case.name}, {name}" + ("" if limit is None else f", {limit:g} s")
        weight = (limit or suite.limits[-1]) * case.count
        entries.append(Entry(case, name, method, limit, Job(label, key, work, weight)))
    return entries


def _stored(
    entries: Sequence[Entry], path: Path, record: dict[str, Any]
) -> list[tuple[Entry, Outcome]]:
    """Those entries that were measured anywhere, and in the record where that was.

    Of several outcomes the last one counts.
    """
    held = {_subject(key): (key, outcome) for key, outcome in read_store(path)}
    subjects = [_subject(entry.job.key) for entry in entries]
    found = [(one, held[what]) for one, what in zip(entries, subjects, strict=True) if what in held]
    keys = [key for _, (key, _) in found]
    places = list(dict.fromkeys(key["device"] for key in keys))
    record["machine"] = {"processor": "; ".join(places) or "none"}
    for name in ("load_before", "search_sha256"):
        record.pop(name, None)
    for name in ("version", "search_sha256", "weights", "search_threads"):
        record[f"measured_{name}"] = list(dict.fromkeys(key[name] for key in keys if key.get(name)))
    # With the version that was measured in place of the one that is installed here.
    return [
        (
            replace(
                entry, method=replace(entry.method, version=partial(str, key["solver_version"]))
            ),
            out,
        )
        for entry, (key, out) in found
    ]


def _subject(key: Mapping[str, Any]) -> str:
    """What was measured, whatever it was measured on."""
    names = ("suite", "case", "set", "solver", "seconds")
    return json.dumps([key.get(name) for name in names], sort_keys=True)


def _first_able(
    line: Sequence[str | tuple[str, float]],
    methods: dict[str, Method],
    case: str,
    example: Item,
    args: argparse.Namespace,
) -> tuple[str, float | None] | None:
    """The first of a line that can model the problem, and its own limit where it has one."""
    for entry in line:
        name, own = (entry, None) if isinstance(entry, str) else entry
        if args.solvers and not any(fnmatch.fnmatchcase(name, one) for one in args.solvers):
            continue
        problem = example.problem
        if not methods[name].ours and example.given is not None:
            problem = example.given
        reason = methods[name].refuses(problem)
        if reason is None:
            return name, own
        print(f"{name} is left out on {case}: {reason}", file=sys.stderr)
    return None


def _measure(case: Case, method: Method, limit: float | None, args: argparse.Namespace) -> Outcome:
    """One instance after the other, each timed from the call to the plan."""
    import torch

    from spacevrp.bench.process import Peak
    from spacevrp.generators import generate

    items = case.items()
    method.solve([Item(generate("CVRP", 10, 1)[0])], 0.01)  # loads libraries
    if args.wait:
        wait_for_rest(args.wait)
    neighbours, peak = Neighbours(), Peak(torch.device("cpu"))
    peak.restart()
    found = method.solve(items, limit)
    others = neighbours.busy()
    if method.ours and args.output is not None:
        for item, one in zip(items, found, strict=True):
            keep_better(item, one, method, limit, args.output / BETTER)
    costs = tuple(None if one.solution is None else one.solution.cost for one in found)
    counted = [one.iterations for one in found if one.iterations is not None]
    return Outcome(
        costs=costs,
        seconds_host=0.0,
        seconds_model=math.fsum(one.seconds for one in found),
        seconds_referee=0.0,
        violations=sum(method.ours and one.solution is None and not one.note for one in found),
        note=next((one.note for one in found if one.note), ""),
        others=others,
        peak_gib=peak.height(),
        unserved=tuple(one.unserved for one in found),
        iterations=sum(counted) / len(counted) if counted else None,
    )


def keep_better(item: Item, one: Found, method: Method, limit: float | None, path: Path) -> None:
    """A complete plan that is better than the stored reference, as a result to merge."""
    from spacevrp.oracles import OracleResult
    from spacevrp.oracles.pool import as_line, task_key
    from spacevrp.oracles.workers import Task

    plan, seconds = one.solution, limit or one.seconds
    if plan is None or one.unserved or item.known is None or not plan.cost < item.known:
        return
    key = task_key(item.problem, OURS, seconds, 0, None)
    task = Task(0, key, item.problem, OURS, seconds, 0)
    result = OracleResult(plan, OURS, method.version(), one.seconds, plan.cost)
    path.parent.mkdir(parents=True, exist_ok=True)
    append_line(path, as_line(task, result))


# --------------------------------------------------------------------------------------------- rows

Rank = tuple[int, float]  # unserved, cost


def rows_of(case: Case, measured: Sequence[tuple[Entry, Outcome]]) -> list[Row]:
    """The rows of one case: fewest unserved first, then cost, make the best of an instance."""
    ranks = [_ranks(outcome) for _, outcome in measured]
    best: list[Rank | None] = []
    for index, item in enumerate(case.items()):
        offered = [own[index] for own in ranks if own[index] is not None]
        offered += [] if item.known is None else [(0, item.known)]
        best.append(min((one for one in offered if one is not None), default=None))
    pairs = zip(measured, ranks, strict=True)
    return [_row(case, entry, outcome, own, best) for (entry, outcome), own in pairs]


def _ranks(outcome: Outcome) -> list[Rank | None]:
    return [
        None if cost is None else (unserved or 0, cost)
        for cost, unserved in zip(outcome.costs, outcome.unserved, strict=True)
    ]


def _row(
    case: Case,
    entry: Entry,
    outcome: Outcome,
    ranks: Sequence[Rank | None],
    best: Sequence[Rank | None],
) -> Row:
    comparable = [
        (rank[1], top[1])
        for rank, top in zip(ranks, best, strict=True)
        if rank is not None and top is not None and rank[0] == top[0]
    ]
    each = [gaps(np.array([cost]), np.array([top]))[0] for cost, top in comparable]
    held = [gap for gap in each if gap is not None]
    served = [unserved for unserved in outcome.unserved if unserved is not None]
    count = len(outcome.costs)
    return Row(
        problem=case.name,
        size=case.size,
        limit=entry.limit,
        solver=entry.solver,
        version=entry.method.version(),
        instances=count,
        solved=len(comparable),
        unserved=sum(served) if len(served) == count else None,
        cost=outcome.mean,
        gap=math.fsum(held) / len(held) if held else None,
        worst=max(held, default=None),
        seconds=outcome.seconds / count,
        iterations=outcome.iterations,
        violations=outcome.violations,
        others=outcome.others,
        note=outcome.note,
        peak_gib=outcome.peak_gib,
    )


# ---------------------------------------------------------------------------------- what follows


def compare_solvers(rows: Sequence[Row]) -> str:
    """Means of each solver and limit, and where the search is behind, plainly."""
    lines = []
    for limit, solver in dict.fromkeys((row.limit, row.solver) for row in rows):
        some = [row for row in rows if (row.limit, row.solver) == (limit, solver)]
        held = [row.gap for row in some if row.gap is not None]
        left = [row.unserved for row in some]
        lines.append(
            [
                solver,
                "" if limit is None else f"{limit:g}",
                str(len(some)),
                number(mean(held), 3) or "-",
                number(max(held, default=None), 3) or "-",
                str(sum(row.instances - row.solved for row in some)),
                "-" if None in left else str(sum(filter(None, left))),
                f"{sum(row.seconds * row.instances for row in some):.1f}",
            ]
        )
    columns = ("solver", "limit s", "cases", "mean gap %", "worst case %", "without", "unserved")
    table = markdown_table((*columns, "seconds in all"), lines)
    return f"\n## Means over the cases\n\n{table}\n{_behind(rows)}"


def _behind(rows: Sequence[Row]) -> str:
    """Cases in which another solver has the better plans within the same limit, or its own."""
    ahead = level = 0
    lines = []
    for problem, size in dict.fromkeys((row.problem, row.size) for row in rows):
        case = [row for row in rows if (row.problem, row.size) == (problem, size)]
        ours = [row for row in case if row.solver.startswith(OURS)]
        for limit in dict.fromkeys(row.limit for row in case if not row.solver.startswith(OURS)):
            same = [r for r in ours if r.limit == limit] or [r for r in ours if r.limit is not None]
            theirs = [r for r in case if r.limit == limit and not r.solver.startswith(OURS)]
            if not same:
                continue
            mine, other = min(same, key=_quality), min(theirs, key=_quality)
            gained = _quality(other)[1] - _quality(mine)[1]
            if mine.solved == other.solved and abs(gained) <= _LEVEL:
                level += 1
            elif _quality(mine) <= _quality(other):
                ahead += 1
            else:
                cells = [_told(row) for row in (mine, other)]
                limit_text = "" if limit is None else f"{limit:g}"
                lines.append([f"{problem} {size}", limit_text, *cells])
    if not ahead + level + len(lines):
        return ""
    head = f"The search is ahead in {ahead}, level in {level} and behind in {len(lines)} cells.\n"
    if not lines:
        return head
    return f"{head}\n## Where another solver wins\n\n" + markdown_table(
        ("case", "limit s", "search", "other"), lines
    )


def _quality(row: Row) -> tuple[int, float]:
    """Most plans first, then the smaller gap."""
    return -row.solved, math.inf if row.gap is None else row.gap


def _told(row: Row) -> str:
    short = "" if row.solved == row.instances else f", {row.solved} of {row.instances}"
    return f"{number(row.gap, 3) or 'no plan'} ({row.solver}{short})"


def summary(rows: Sequence[Row]) -> str:
    """One line: what was measured."""
    cases = len({(row.problem, row.size) for row in rows})
    total = sum(row.seconds * row.instances for row in rows)
    notes = sum(bool(row.note) for row in rows)
    refused = f"; {notes} rows with a solver's error" if notes else ""
    return (
        f"{len(rows)} measurements on {cases} cases in {total:.1f} s; "
        f"{sum(row.violations for row in rows)} instances without a plan of ours{refused}"
    )

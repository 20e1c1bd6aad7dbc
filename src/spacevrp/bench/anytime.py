"""``spacevrp bench anytime``: what each solver makes of the same seconds, on the same instances.

Every solver gets one instance after the other, on one thread, with the same wall-clock time: the
model alone, the model with a classical solver that searches on from its plan, and the classical
solvers from nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import at_least
from spacevrp.bench.anytime_table import Row, describe_winners
from spacevrp.bench.contest import add_contest_options, best_costs, compare, draw, threads
from spacevrp.bench.neighbours import Neighbours, load_average, wait_for_rest
from spacevrp.bench.sets import Source, generated
from spacevrp.bench.solving import Outcome, warm_up
from spacevrp.bench.tables import (
    Job,
    Layout,
    Report,
    add_report_options,
    add_weights_options,
    new_record,
    settings_key,
    work_through,
)
from spacevrp.bench.weights import load_model
from spacevrp.problems.errors import InfeasibleError
from spacevrp.problems.variants import parse_variant

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.solver import Solver

MODEL, IMPROVED = "spacevrp", "spacevrp + improvement"
SOLVERS = ("pyvrp", "ortools", "vroom")
_PROBLEMS = ("CVRP", "CVRPTW", "ACVRP", "PDCVRP")
_NOTES = """\
Every cost is the referee's. The gap is to the best cost that is known of an instance, be it from
this table or from the reference costs, and is the mean over the instances with a plan; "solved"
says how many have one, and where it is not all of them the gap is not to be compared; "-" stands
for no plan at all. All solvers work on one thread, one instance after the other. "limit" is the
time they were given, "seconds" what they took in truth, for one instance, from the call to the
refereed plan; weights and libraries were loaded before. A solver that takes longer than its limit
had too little time for its first plan, or ended its step. "others" is how many cores were busy with
other processes meanwhile; `cpu_share` in the record is how much of a core all of it got, and where
that is well below 1 every solver had less than its seconds say.
"""
LAYOUT = Layout(
    "anytime",
    "Quality at equal time",
    (
        ("problem", 10),
        ("customers", 9),
        ("limit s", 7),
        ("solver", 22),
        ("instances", 9),
        ("solved", 6),
        ("cost", 10),
        ("gap %", 8),
        ("seconds", 9),
        ("others", 6),
    ),
    _NOTES,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench anytime``."""
    add_contest_options(
        parser,
        LAYOUT.name,
        problems=_PROBLEMS,
        count=4,
        seconds_of="limits for each instance",
        solvers=SOLVERS,
        beside="beside the model; ",
    )
    parser.add_argument(
        "--sizes",
        metavar="NUMBERS",
        type=_sizes,
        default=(100, 500, 1000),
        help="customers; default: 100,500,1000",
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=at_least(0),
        default=0,
        help="wait up to so long before each row until other processes rest; default: 0",
    )
    add_weights_options(parser, protocol=None)
    add_report_options(parser, LAYOUT.name)


def run(args: argparse.Namespace) -> int:
    """Measure problem by problem and size by size, and report each when all are through with it."""
    from spacevrp.oracles import make_oracle
    from spacevrp.plots.anytime import save_anytime_plot
    from spacevrp.solver import Solver

    sources = [
        generated(parse_variant(name), size, args.count, args.seed)
        for name in args.problems
        for size in args.sizes
    ]
    _, weights = load_model(args.weights)
    solver = Solver(args.weights, args.device, args.lean)
    for name in args.solvers:
        make_oracle(name).require()
    with threads(1):
        record = new_record(LAYOUT.name, solver, weights, None, seed=args.seed)
        record["versions"].update({n: make_oracle(n).version() for n in args.solvers})
        record["machine"] |= {"cores_allowed": _cores_allowed(), "load_before": load_average()}
        report = Report(LAYOUT, record, args, summary, below=describe_winners)
        entries = [e for source in sources for e in _entries(source, args, record, solver, weights)]
        done = work_through([entry.job for entry in entries], report.store(), quiet=args.quiet)
        measured = zip(entries, done, strict=True)
        wall, cpu = time.perf_counter(), time.process_time()
        for _, group in groupby(measured, key=lambda pair: pair[0].source):
            pairs = list(group)
            outcomes = [outcome for _, (_, outcome) in pairs]
            share = (time.process_time() - cpu) / (time.perf_counter() - wall)
            record["machine"] |= {"load_after": load_average(), "cpu_share": round(share, 3)}
            report.add(*rows_of([entry for entry, _ in pairs], outcomes, args))
    code = report.finish()
    draw(args.output, report, save_anytime_plot)
    return code


def _cores_allowed() -> list[int] | None:
    """The cores that this process may use; None where the system does not tell."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return None


# ------------------------------------------------------------------------------------------- work


@dataclass(frozen=True)
class Entry:
    """A solver with a limit on a set, to be measured."""

    source: Source
    solver: str
    version: str
    limit: float
    job: Job


def _entries(
    source: Source,
    args: argparse.Namespace,
    record: dict[str, Any],
    solver: Solver,
    weights: dict[str, Any],
) -> list[Entry]:
    from spacevrp.generators import generate
    from spacevrp.oracles import improvers, make_oracle

    size = source.key["size"]
    (example,) = generate(source.variant, size, 1, args.seed)
    versions, found = record["versions"], []
    chosen: list[tuple[str, str, Callable[[float], Callable[[Problem], float | None]]]] = []
    chosen.append((MODEL, versions["spacevrp"], partial(_ours, solver, improve=False)))
    if improvers(example):
        chosen.append((IMPROVED, versions["spacevrp"], partial(_ours, solver, improve=True)))
    else:
        print(f"nobody improves plans of {source.variant.name} here", file=sys.stderr)
    for name in args.solvers:
        reason = make_oracle(name).supports(example)
        if reason is None:
            chosen.append((name, versions[name], partial(_theirs, name)))
        else:
            print(f"{name} is left out on {source.variant.name}: {reason}", file=sys.stderr)
    for limit in args.seconds:
        for name, version, way in chosen:
            ours = name in (MODEL, IMPROVED)
            key = settings_key(record, weights if ours else {"tensors_sha256": None})
            key |= {"set": dict(source.key), "solver": name, "seconds": limit}
            if name == IMPROVED:
                key["engine"] = f"{improvers(example)[0].name} {improvers(example)[0].version()}"
            elif not ours:
                key["solver_version"] = version
            label = f"{source.variant.name}{size}, {name}, {limit:g} s"
            work = partial(_measure, source, solver, way(limit), wait=args.wait, ours=ours)
            found.append(Entry(source, name, version, limit, Job(label, key, work)))
    return found


def _ours(solver: Solver, limit: float, *, improve: bool) -> Callable[[Problem], float | None]:
    """The model, with or without somebody who searches on."""
    from spacevrp.anytime import solve_for

    def solve(problem: Problem) -> float | None:
        (solution,) = solve_for(problem, limit, solver=solver, improve=improve).solutions
        return None if solution is None else solution.cost

    return solve


def _theirs(name: str, limit: float) -> Callable[[Problem], float | None]:
    """A classical solver from nothing."""
    from spacevrp.oracles import make_oracle

    def solve(problem: Problem) -> float | None:
        try:
            return make_oracle(name).solve(problem, limit).solution.cost
        except InfeasibleError:
            return None

    return solve


def _measure(
    source: Source,
    solver: Solver,
    solve: Callable[[Problem], float | None],
    *,
    wait: int,
    ours: bool,
) -> Outcome:
    """One instance after the other, each timed from the call to the plan."""
    from spacevrp.generators import generate

    problems = source.load().problems
    if ours:
        warm_up(solver, problems)
    solve(generate(source.variant, 10, 1)[0])  # loads libraries
    if wait:
        wait_for_rest(wait)
    neighbours = Neighbours()
    costs, seconds = [], 0.0
    for problem in problems:
        began = time.perf_counter()
        costs.append(solve(problem))
        seconds += time.perf_counter() - began
    return Outcome(
        costs=tuple(costs),
        seconds_host=0.0,
        seconds_model=seconds,
        seconds_referee=0.0,
        violations=costs.count(None) if ours else 0,  # what others do not solve in time is none
        others=neighbours.busy(),
    )


def rows_of(
    entries: Sequence[Entry], outcomes: Sequence[Outcome], args: argparse.Namespace
) -> list[Row]:
    """The rows of one set: the best cost of an instance is the best that anybody found."""
    source = entries[0].source
    size = int(source.key["size"])
    best = best_costs(source.variant.name, size, args.seed, outcomes)
    return [_row(e, outcome, best) for e, outcome in zip(entries, outcomes, strict=True)]


def _row(entry: Entry, outcome: Outcome, best: Sequence[float | None]) -> Row:
    solved, gap = compare(outcome, best)
    return Row(
        problem=entry.source.variant.name,
        size=int(entry.source.key["size"]),
        limit=entry.limit,
        solver=entry.solver,
        version=entry.version,
        instances=len(outcome.costs),
        solved=solved,
        cost=outcome.mean,
        gap=gap,
        seconds=outcome.seconds / len(outcome.costs),
        violations=outcome.violations,
        others=outcome.others,
    )


def summary(rows: Sequence[Row]) -> str:
    """One line: what was measured."""
    sets = len({(row.problem, row.size) for row in rows})
    total = sum(row.seconds * row.instances for row in rows)
    unsolved = sum(row.instances - row.solved for row in rows)
    return (
        f"{len(rows)} measurements on {sets} sets in {total:.1f} s; without a plan in time: "
        f"{unsolved}; {sum(row.violations for row in rows)} violations"
    )


# -------------------------------------------------------------------------------------- arguments


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted({at_least(4)(item) for item in text.split(",")}))

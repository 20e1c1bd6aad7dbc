"""``spacevrp bench speed``: how long solving takes, and how many instances a second.

Three parts: the latency of one CVRP100, the throughput of CVRP100 and of the twelve problems mixed,
and, only if asked for, seconds for 1,000 instances of each problem beside the paper's. Time and
memory against the size are what ``spacevrp bench scaling`` measures.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from spacevrp.arguments import add_protocol_option
from spacevrp.bench import paper
from spacevrp.bench.neighbours import wait_for_rest
from spacevrp.bench.options import (
    EXIT_CODES,
    add_options,
    add_report_options,
    augmentations_for,
    names_out_of,
    numbers,
)
from spacevrp.bench.records import new_record
from spacevrp.bench.runner import (
    Case,
    Model,
    Outcome,
    SolvedRow,
    conclusion,
    load_models,
    run_cases,
    warm_up,
)
from spacevrp.bench.tables import Report, column
from spacevrp.problems.variants import SEEN_NAMES, parse_variant

THOUSAND = "thousand"
PARTS = ("latency", "throughput")
MIXED = "twelve mixed"
_VARIANT = "CVRP"
_REPEATS = {"latency": 15, "throughput": 3, THOUSAND: 1}
_COUNT = {
    "latency": {"cpu": 1, "cuda": 1},
    "throughput": {"cpu": 32, "cuda": 1000},
    THOUSAND: {"cpu": 8, "cuda": 1000},
}
_WHOLE = 1000  # instances in a test set of the paper
_NOTES = """\
All instances of a row are solved together, so many times ("repeats") after a warm-up; times are
those of the repeat whose total is the median, "least s" is the shortest total. Totals are those of
a clock; on a GPU the stages overlap and add up to more. "host s" is the time from problems to
tensors, "model s" encoding and decoding, "referee s" the judging, "search s" local search. "per
1,000 s" is the total in proportion; "paper s" is what the paper prints for SPACE on its own 1,000
instances with x8 augmentations (x128 where distances are asymmetric), on one RTX 4090; "faster" is
how many times ours goes into that: other machine, other augmentations, for orientation only. "cost"
is the mean of the referee's; of the mix it says nothing but that it is the same again. "others" is
how many cores were busy with other processes meanwhile.
"""


@dataclass(frozen=True, kw_only=True)
class SpeedRow(SolvedRow):
    """Some instances with one number of augmentations and of threads."""

    part: str = column("part", 10)
    problem: str = column("problem", 14)
    size: int = column()
    instances: int = column("instances", 9)
    augmentations: int | None = column("augmentations", 5)  # None: as solve has it
    threads: int = column("threads", 7)
    repeats: int = column("repeats", 7)
    seconds_total: float = column("total s", 8, ".4f")
    seconds_least: float = column("least s", 8, ".4f")
    instances_per_second: float = column("instances/s", 11, ".2f")
    seconds_thousand: float = column("per 1,000 s", 11, ".2f")
    paper_seconds: float | None = column("paper s", 7, ".1f")
    faster: float | None = column("faster", 7, ".2f")  # times that ours goes into the paper's
    cost: float | None = column("cost", 10, ".5f")
    others: float | None = column("others", 6, ".2f")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench speed``."""
    parser.epilog = EXIT_CODES
    known = (*PARTS, THOUSAND)
    add_options(
        parser,
        part={
            "metavar": "NAMES",
            "type": names_out_of(*known),
            "default": PARTS,
            "help": f"of {', '.join(known)}",
        },
        count={"help": "instances; default: as the part and the device have it"},
        size=100,
        augmentations=(1, 8),
        threads={
            "metavar": "NUMBERS",
            "type": numbers(1),
            "help": "of the CPU, such as 1,2 to measure with both; default: one a core, or as "
            "OMP_NUM_THREADS says",
        },
        repeats={
            "help": "default: " + ", ".join(f"{count} for {one}" for one, count in _REPEATS.items())
        },
        wait=0,
        seed=1,
        weights=None,
        device="auto",
    )
    add_protocol_option(parser, "network")
    group = parser.add_argument_group(f"part {THOUSAND}")
    add_options(group, problems=SEEN_NAMES, augment_symmetric=None, augment_asymmetric=None)
    add_report_options(parser, "speed")


def run(args: argparse.Namespace) -> int:
    """Measure, print and record, row by row."""
    models = {
        number: model for number in args.threads or (None,) for model in load_models(args, number)
    }
    model = next(iter(models.values()))
    record = new_record("speed", model.solver, model.told, args.protocol, seed=args.seed)
    names = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "MKL_NUM_THREADS")
    record["environment"] = {name: os.environ[name] for name in names if name in os.environ}
    summary = lambda rows: conclusion(rows, f"{len(rows)} rows")  # noqa: E731
    report = Report("speed", "Speed", SpeedRow, _NOTES, record, args, summary)
    return run_cases(report, list_cases(args, list(models.values())), keep=False)


# -------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class SpeedCase(Case):
    """Instances that are solved again and again, as its key says."""

    wait: float = 0.0

    def solve(self, *, show: bool) -> Outcome:
        """The repeat in the middle, by its total."""
        problems, solver = self.load(), self.model.solver
        wait_for_rest(self.wait)
        warm_up(solver, problems, self.protocol)
        if self.key["part"] != THOUSAND:
            # A GPU has to see the real sizes once, for kernels and memory; a CPU only wakes.
            some = problems if solver.device.type == "cuda" else problems[:1]
            solver.run(
                some, augmentations=self.augmentations, protocol=self.protocol, **self.options
            )
        done = [self.solve_once(problems, show=show) for _ in range(self.key["repeats"])]
        done.sort(key=lambda one: one.seconds_total)
        return replace(done[(len(done) - 1) // 2], seconds_least=done[0].seconds_total)


def list_cases(args: argparse.Namespace, models: Sequence[Model]) -> list[SpeedCase]:
    """Everything to be solved, threads by threads."""
    cases = []
    for model in models:
        device, threads = model.solver.device.type, model.solver.engine.threads
        for part in args.part:
            count = args.count if args.count and part != "latency" else _COUNT[part][device]
            for problem, augmentations in _workloads(part, args, device):
                key = {
                    "part": part,
                    "problem": problem,
                    "size": args.size,
                    "count": count,
                    "seed": args.seed,
                    "threads": threads,
                    "repeats": args.repeats or _REPEATS[part],
                }
                cases.append(
                    SpeedCase(
                        label=f"{part}, {problem}",
                        key=key,
                        load=partial(instances, problem, args.size, count, args.seed),
                        row=partial(row_of, key, augmentations),
                        model=model,
                        augmentations=augmentations,
                        protocol=args.protocol,
                        options={"beam_width": 0},  # rollouts alone are timed
                        wait=args.wait,
                    )
                )
    return cases


def _workloads(part: str, args: argparse.Namespace, device: str) -> list[tuple[str, int | None]]:
    """(problem, augmentations) of a part."""
    if part != THOUSAND:
        problems = (_VARIANT,) if part == "latency" else (_VARIANT, MIXED)
        return [
            (problem, augmentations) for problem in problems for augmentations in args.augmentations
        ]
    return [
        (name, augmentations_for(args, device, asymmetric=parse_variant(name).features.asymmetric))
        for name in args.problems
    ]


def instances(problem: str, size: int, count: int, seed: int) -> list[Any]:
    """Of a variant, or of the twelve, in equal parts."""
    from spacevrp.generators import generate

    if problem != MIXED:
        return generate(problem, size, count, seed)
    each = -(-count // len(SEEN_NAMES))  # rounded up: every problem is there
    return [one for name in SEEN_NAMES for one in generate(name, size, each, seed)]


def row_of(key: Mapping[str, Any], augmentations: int | None, outcome: Outcome) -> SpeedRow:
    """The row of what was solved."""
    count, total = len(outcome.costs), outcome.seconds_total
    held = paper.table("gaps")
    printed = held["seconds"]["SPACE"].get(key["problem"])
    theirs = printed if key["size"] == held["customers"] else None
    whole = total * _WHOLE / count
    return SpeedRow(
        **SolvedRow.told(outcome),
        **{name: key[name] for name in ("part", "problem", "size", "threads", "repeats")},
        augmentations=augmentations,
        instances=count,
        seconds_total=total,
        seconds_least=total if outcome.seconds_least is None else outcome.seconds_least,
        instances_per_second=count / total,
        seconds_thousand=whole,
        paper_seconds=theirs,
        faster=None if theirs is None else theirs / whole,
        cost=outcome.mean,
        others=outcome.others,
    )

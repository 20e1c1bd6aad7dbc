"""``spacevrp bench speed``: how long solving takes, how many instances a second, how much memory.

Three parts: the latency of one CVRP100, the throughput of CVRP100 and of the twelve problems mixed,
and time and memory against the size. All times are medians after a warm-up; what else ran on the
machine at the time stands beside them. A fourth, with a table of its own, is measured only if asked
for: seconds for 1,000 instances of each problem (``thousand.py``).
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spacevrp.arguments import add_protocol_option, at_least
from spacevrp.bench import thousand
from spacevrp.bench.neighbours import Neighbours, load_average, wait_for_rest
from spacevrp.problems.variants import SEEN_NAMES

DONE, NEGATIVE = 0, 1
PARTS = ("latency", "throughput", "memory")
THOUSAND = "thousand"
SIZES = (100, 300, 1000, 3000, 10000)
VIEWS = (1, 8)
MIXED = "twelve mixed"
_VARIANT = "CVRP"
_REPEATS = {"latency": 15, "throughput": 3}
_COUNT = {"cpu": 32, "cuda": 1000}

_SOLVE_COLUMNS = (
    "part",
    "problem",
    "instances",
    "views",
    "threads",
    "repeats",
    "prepare ms",
    "search ms",
    "referee ms",
    "local search ms",
    "total ms",
    "least ms",
    "instances/s",
    "cost",
    "violations",
    "others",
)
_MEMORY_COLUMNS = (
    "customers",
    "starts",
    "encode s",
    "decode s",
    "steps",
    "prepare MiB",
    "encode MiB",
    "decode MiB",
    "predicted MiB",
    "finite",
    "cost",
    "violations",
    "note",
)
_NOTES = """\
Times are medians over the repeats after one warm-up, "least" the shortest total. "prepare" is the
time from problems to tensors, "search" encoding and decoding, "referee" the judging. "cost" is the
mean of the referee's costs; of the mix it says nothing but that it is the same again. "others" is
how many cores were busy with other processes meanwhile.
"""
_MEMORY_NOTES = """\
One CVRP, one view, a fresh process each. Peaks are above what the process held before it saw the
instance; "predicted" is what the solver cuts its batches by (encoding and decoding, without the
instance itself). "finite" says whether every number of the decoder's tables is.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench speed``."""
    parser.epilog = (
        "Exit code 0: every plan passed the referee and every number is finite; 1: not so, or a "
        "size could not be measured; 2: bad usage."
    )
    parser.add_argument(
        "--part",
        metavar="NAMES",
        type=_parts,
        default=PARTS,
        help=f"of {', '.join((*PARTS, THOUSAND))}; default: all but {THOUSAND}, which takes long",
    )
    parser.add_argument(
        "--count",
        metavar="N",
        type=at_least(1),
        help="instances of the throughput part (default: 32 on a CPU, 1000 on a GPU), and of each "
        "problem of the part thousand (default: 8 on a CPU, 1000 on a GPU)",
    )
    parser.add_argument(
        "--size",
        metavar="N",
        type=at_least(4),
        default=100,
        help="customers, where latency and throughput are measured; default: 100",
    )
    parser.add_argument(
        "--sizes",
        metavar="NUMBERS",
        type=_numbers(4),
        default=SIZES,
        help="customers, where memory is measured; default: " + ",".join(map(str, SIZES)),
    )
    parser.add_argument(
        "--views", metavar="NUMBERS", type=_numbers(1), default=VIEWS, help="default: 1,8"
    )
    parser.add_argument(
        "--starts",
        metavar="N",
        type=at_least(1),
        default=2,
        help="start nodes, where memory is measured; default: 2",
    )
    parser.add_argument(
        "--decode-limit",
        metavar="N",
        type=at_least(0),
        default=1000,
        help="beyond so many customers only encoding is measured; default: 1000",
    )
    parser.add_argument(
        "--threads",
        metavar="NUMBERS",
        type=_numbers(1),
        help="threads of the CPU, such as 1,2 to measure with both (memory: with the most); "
        "default: torch's own choice",
    )
    parser.add_argument(
        "--repeats",
        metavar="N",
        type=at_least(1),
        help="default: " + ", ".join(f"{number} for {part}" for part, number in _REPEATS.items()),
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=at_least(0),
        default=0,
        help="before every row wait, at most so long, until other processes rest; default: 0",
    )
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), default=1, help="default: 1")
    parser.add_argument(
        "--weights",
        metavar="NAME|PATH",
        help="bundled weights, a .safetensors file, or the folder of a training run or checkpoint",
    )
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        help="write speed.md, speed.csv and speed.json (and thousand.md and its like)",
    )
    add_protocol_option(parser, "network")
    thousand.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, print and record, row by row."""
    import torch

    from spacevrp.bench import records
    from spacevrp.bench.memory import MemoryRow, Probe, exponents, measure_size
    from spacevrp.bench.weights import load_model
    from spacevrp.solver import Solver
    from spacevrp.train.versions import versions

    model, weights = load_model(args.weights)
    solver = Solver(model, args.device, threads=None)
    workloads = _workloads(args, solver.device.type)
    before = torch.get_num_threads()
    threads = args.threads or (before,)
    record: dict[str, Any] = {
        "benchmark": "speed",
        "command": records.command_line(),
        "versions": versions(),
        "machine": records.machine(solver.device),
        "threads": list(threads),
        "environment": {
            name: os.environ[name]
            for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "MKL_NUM_THREADS")
            if name in os.environ
        },
        "protocol": args.protocol,
        "seed": args.seed,
        "weights": weights,
        "load_average": {"begin": load_average(), "end": None},
        "exponents": {},
    }
    rows: list[SolveRow | MemoryRow] = []

    def keep(row: SolveRow | MemoryRow) -> None:
        rows.append(row)
        print(row.line() if isinstance(row, SolveRow) else memory_line(row), flush=True)
        measured = [row for row in rows if isinstance(row, MemoryRow)]
        record["exponents"] = exponents(measured)
        record["load_average"]["end"] = load_average()
        if args.output is not None:  # after every row: a long run may be cut short
            _write(args.output, record, rows)

    place = record["machine"]
    print(f"{place.get('gpu', place['processor'])}, threads: {', '.join(map(str, threads))}")
    try:
        for number in threads:
            torch.set_num_threads(number)
            for part, problem, instances in workloads:
                for views in args.views:
                    repeats = args.repeats or _REPEATS[part]
                    wait_for_rest(args.wait)
                    keep(measure(solver, part, problem, instances, views, repeats, args.protocol))
    finally:
        torch.set_num_threads(before)
    if "memory" in args.part:
        for size in sorted(args.sizes):
            decode = size <= args.decode_limit
            wait_for_rest(args.wait)
            probe = Probe(
                size,
                args.weights,
                str(solver.device),
                args.starts,
                decode,
                args.seed,
                max(threads) if args.threads else None,
            )
            keep(measure_size(probe))
        print(exponents_text(record["exponents"]), end="")
    good = all(_is_good(row) for row in rows)
    if THOUSAND in args.part:
        good = thousand.run(args, solver, weights) == DONE and good
    return DONE if good else NEGATIVE


def _is_good(row: Any) -> bool:
    if isinstance(row, SolveRow):
        return row.violations == 0
    return bool(row.finite) and not row.violations and row.note is None


# --------------------------------------------------------------------------- latency and throughput


@dataclass(frozen=True)
class SolveRow:
    """Some instances with one number of views. Seconds are medians over the repeats."""

    part: str
    problem: str
    size: int
    instances: int
    views: int
    threads: int | None
    repeats: int
    seconds_prepare: float
    seconds_search: float
    seconds_referee: float
    seconds_improve: float
    seconds_total: float
    seconds_least: float
    instances_per_second: float
    cost: float | None
    violations: int  # rules broken by the plans, and instances without a plan
    others: float | None  # cores busy with other processes meanwhile

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        milliseconds = (
            self.seconds_prepare,
            self.seconds_search,
            self.seconds_referee,
            self.seconds_improve,
            self.seconds_total,
            self.seconds_least,
        )
        return [
            self.part,
            self.problem,
            str(self.instances),
            str(self.views),
            _text(self.threads, "d"),
            str(self.repeats),
            *(f"{1000 * value:.1f}" for value in milliseconds),
            f"{self.instances_per_second:.2f}",
            _text(self.cost, ".5f"),
            str(self.violations),
            _text(self.others, ".2f"),
        ]

    def line(self) -> str:
        """The row as a line to read."""
        return "  ".join(
            f"{name} {cell}" for name, cell in zip(_SOLVE_COLUMNS, self.cells(), strict=True)
        )


def _workloads(args: argparse.Namespace, device: str) -> list[tuple[str, str, list[Any]]]:
    """(part, what it is, instances) of everything to be solved."""
    from spacevrp.generators import generate

    work: list[tuple[str, str, list[Any]]] = []
    if "latency" in args.part:
        work.append(("latency", _VARIANT, generate(_VARIANT, args.size, 1, args.seed)))
    if "throughput" in args.part:
        count = args.count or _COUNT[device]
        each = -(-count // len(SEEN_NAMES))  # rounded up: every problem is there
        mixed = [p for name in SEEN_NAMES for p in generate(name, args.size, each, args.seed)]
        work.append(("throughput", _VARIANT, generate(_VARIANT, args.size, count, args.seed)))
        work.append(("throughput", MIXED, mixed))
    return work


def measure(
    solver: Any,
    part: str,
    problem: str,
    instances: list[Any],
    views: int,
    repeats: int,
    protocol: str = "network",
) -> SolveRow:
    """Solve the same instances again and again after a warm-up."""
    import torch

    # A GPU has to see the real sizes once, for kernels and memory; a CPU only wakes its threads.
    some = instances if solver.device.type == "cuda" else instances[:1]
    solver.attempt(some, augment=views, protocol=protocol)
    neighbours = Neighbours()
    attempts = [solver.attempt(instances, augment=views, protocol=protocol) for _ in range(repeats)]
    others = neighbours.busy()
    plans = [solution for solution in attempts[0].solutions if solution is not None]
    spent = [attempt.seconds for attempt in attempts]
    total = statistics.median(seconds.total for seconds in spent)
    return SolveRow(
        part=part,
        problem=problem,
        size=len(instances[0].customers),
        instances=len(instances),
        views=views,
        threads=torch.get_num_threads(),
        repeats=repeats,
        seconds_prepare=statistics.median(seconds.preparing for seconds in spent),
        seconds_search=statistics.median(seconds.searching for seconds in spent),
        seconds_referee=statistics.median(seconds.judging for seconds in spent),
        seconds_improve=statistics.median(seconds.improving for seconds in spent),
        seconds_total=total,
        seconds_least=min(seconds.total for seconds in spent),
        instances_per_second=len(instances) / total,
        cost=statistics.fmean(plan.cost for plan in plans) if plans else None,
        violations=sum(len(plan.violations) for plan in plans) + len(attempts[0].reasons),
        others=others,
    )


# ---------------------------------------------------------------------------------------- reports


def memory_cells(row: Any) -> list[str]:
    """A row of the memory part as text, a cell a column."""
    return [
        str(row.size),
        str(row.starts),
        _text(row.seconds_encode, ".3f"),
        _text(row.seconds_decode, ".2f"),
        _text(row.decode_steps, "d"),
        _mebibytes(row.prepare_gib),
        _mebibytes(row.encode_gib),
        _mebibytes(row.decode_gib),
        _mebibytes(row.predicted_gib),
        "" if row.finite is None else "yes" if row.finite else "no",
        _text(row.cost, ".4f"),
        _text(row.violations, "d"),
        row.note or "",
    ]


def memory_line(row: Any) -> str:
    """The row as a line to read; what is missing is left out."""
    pairs = zip(_MEMORY_COLUMNS, memory_cells(row), strict=True)
    return "memory  " + "  ".join(f"{name} {cell}" for name, cell in pairs if cell)


def exponents_text(found: dict[str, dict[str, float]]) -> str:
    """One line for each thing that grows."""
    words = {
        "seconds_encode": "encoding",
        "seconds_decode": "decoding",
        "encode_gib": "the encoder's peak",
    }
    lines = []
    for name, slopes in found.items():
        last = f"; {slopes['last']:.2f} between the two largest" if "last" in slopes else ""
        lines.append(f"{words[name]} grows like n to the power {slopes['fitted']:.2f}{last}")
    return "".join(f"{line}\n" for line in lines)


def markdown(record: dict[str, Any], rows: Sequence[Any]) -> str:
    """The record as a page."""
    from spacevrp.bench.records import markdown_table

    weights, place, load = record["weights"], record["machine"], record["load_average"]
    torch_version = record["versions"]["torch"]
    text = (
        "# Speed\n\n"
        f"`{record['command']}`\n\n"
        f"Weights: {weights['given']} (tensors {weights['tensors_sha256'][:12]}). "
        f"Device: {place.get('gpu', place['processor'])}, {place['cores']} cores, torch "
        f"{torch_version}. Seed: {record['seed']}. Protocol: {record['protocol']}. "
        f"Load average (1, 5, 15 minutes, this benchmark included): {_load_text(load['begin'])} at "
        f"the beginning, {_load_text(load['end'])} at the end.\n"
    )
    solved = [row.cells() for row in rows if isinstance(row, SolveRow)]
    if solved:
        text += f"\n{markdown_table(_SOLVE_COLUMNS, solved)}\n{_NOTES}"
    sized = [memory_cells(row) for row in rows if not isinstance(row, SolveRow)]
    if sized:
        text += f"\n{markdown_table(_MEMORY_COLUMNS, sized)}\n{_MEMORY_NOTES}"
        text += "".join(f"- {line}\n" for line in exponents_text(record["exponents"]).splitlines())
    return text


def _load_text(load: list[float] | None) -> str:
    return "unknown" if load is None else ", ".join(f"{value:.2f}" for value in load)


def _write(folder: Path, record: dict[str, Any], rows: Sequence[Any]) -> None:
    from spacevrp.bench.records import write_record

    write_record(folder, "speed", record, [asdict(row) for row in rows], markdown(record, rows))


def _mebibytes(gib: float | None) -> str:
    return "" if gib is None else f"{1024 * gib:.1f}"


def _text(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


# -------------------------------------------------------------------------------------- arguments


def _numbers(lowest: int) -> Callable[[str], tuple[int, ...]]:
    parse_one = at_least(lowest)

    def parse(text: str) -> tuple[int, ...]:
        return tuple(dict.fromkeys(parse_one(item) for item in text.split(",")))

    return parse


def _parts(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in (*PARTS, THOUSAND):
            known = ", ".join((*PARTS, THOUSAND))
            raise argparse.ArgumentTypeError(
                f"expected names out of {known}, received {name[:40]!r}"
            )
    return names

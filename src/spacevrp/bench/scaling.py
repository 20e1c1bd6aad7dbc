"""``spacevrp bench scaling``: time and memory of large instances against their size.

One CVRP of each size, solved as the solver solves large instances: encoded in blocks, decoded with
few options a move from the same number of starts for every size. Each size has a process of its
own. The exponents of a power of the size are fitted to all sizes, and to the two largest alone.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from spacevrp.arguments import add_protocol_option, at_least

DONE, NEGATIVE = 0, 1
SIZES = (100, 300, 1000, 3000, 10_000, 30_000)
VARIANT = "CVRP"
_WARM_UP = 50  # customers
_GROWING = (
    "seconds_look",
    "seconds_encode",
    "seconds_decode",
    "step_ms",
    "cpu_encode",
    "cpu_decode",
    "cpu_step_ms",
    "encode_gib",
    "decode_gib",
)
_WORDS = {
    "seconds_look": "looking around (distances and neighbours)",
    "seconds_encode": "encoding",
    "seconds_decode": "decoding",
    "step_ms": "a step of decoding",
    "cpu_encode": "encoding, in seconds of a core,",
    "cpu_decode": "decoding, in seconds of a core,",
    "cpu_step_ms": "a step of decoding, in seconds of a core,",
    "encode_gib": "the encoder's peak of memory",
    "decode_gib": "the decoder's peak of memory",
}
_COLUMNS = (
    "customers",
    "look s",
    "encode s",
    "decode s",
    "moves",
    "ms a move",
    "encode cpu s",
    "decode cpu s",
    "cpu ms a move",
    "look MiB",
    "encode MiB",
    "decode MiB",
    "predicted MiB",
    "cost",
    "violations",
    "others",
    "note",
)
_STARTS, _CANDIDATES = 8, 32
_NOTES = """\
One CVRP a size in a fresh process. "look" is what is found out once for all views: the scale of the
distances and the lists of neighbours. "moves" are those of the longest plan, all starts moving at
the same time. "cpu" is how long cores worked for the process, added up: where others use the
machine, it says more than the clock. Peaks are above what the process held before it saw the
instance; "predicted" is what the solver cuts its work by. "others" is how many cores were busy with
other processes.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench scaling``."""
    parser.epilog = (
        "Exit code 0: every plan passed the referee; 1: not so, or a size could not be measured; "
        "2: bad usage."
    )
    parser.add_argument(
        "--sizes",
        metavar="NUMBERS",
        type=_numbers,
        default=SIZES,
        help="customers; default: " + ",".join(map(str, SIZES)),
    )
    parser.add_argument("--views", metavar="N", type=at_least(1), default=1, help="default: 1")
    add_protocol_option(parser)
    parser.add_argument(
        "--starts",
        metavar="N",
        type=at_least(1),
        help=f"default: {_STARTS}, or all with --protocol paper",
    )
    parser.add_argument(
        "--candidates",
        metavar="K",
        type=at_least(1),
        help=f"nearest customers that a move chooses from; default: {_CANDIDATES}, or all with "
        "--protocol paper",
    )
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), default=1, help="default: 1")
    parser.add_argument(
        "--weights", metavar="NAME|PATH", help="bundled weights by name, or a .safetensors file"
    )
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        help="write scaling.md, scaling.csv, scaling.json and, where matplotlib is, scaling.png",
    )


def _numbers(text: str) -> tuple[int, ...]:
    parse_one = at_least(4)
    return tuple(dict.fromkeys(parse_one(item) for item in text.split(",")))


@dataclass(frozen=True)
class ScalingRow:
    """One size. Peaks are in GiB above what the process held before it saw the instance."""

    size: int  # customers
    device: str
    threads: int | None
    views: int
    starts: int
    candidates: int
    seconds_look: float | None = None
    seconds_encode: float | None = None  # of all views
    seconds_decode: float | None = None
    steps: int | None = None  # moves of the longest plan
    step_ms: float | None = None
    cpu_encode: float | None = None  # seconds that cores worked for it
    cpu_decode: float | None = None
    cpu_step_ms: float | None = None
    look_gib: float | None = None
    encode_gib: float | None = None
    decode_gib: float | None = None
    predicted_gib: float | None = None
    cost: float | None = None  # the referee's, of the best start
    violations: int | None = None
    others: float | None = None  # cores busy with other processes meanwhile
    note: str | None = None  # why something is missing

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        return [
            str(self.size),
            _text(self.seconds_look, ".2f"),
            _text(self.seconds_encode, ".2f"),
            _text(self.seconds_decode, ".2f"),
            _text(self.steps, "d"),
            _text(self.step_ms, ".3f"),
            _text(self.cpu_encode, ".2f"),
            _text(self.cpu_decode, ".2f"),
            _text(self.cpu_step_ms, ".3f"),
            *(
                _text(None if gib is None else 1024 * gib, ".1f")
                for gib in (self.look_gib, self.encode_gib, self.decode_gib, self.predicted_gib)
            ),
            _text(self.cost, ".3f"),
            _text(self.violations, "d"),
            _text(self.others, ".2f"),
            self.note or "",
        ]

    def line(self) -> str:
        """The row as a line to read; what is missing is left out."""
        pairs = zip(_COLUMNS, self.cells(), strict=True)
        return "  ".join(f"{name} {cell}" for name, cell in pairs if cell)


@dataclass(frozen=True)
class ScalingProbe:
    """What to measure, for one size; goes to the process that measures."""

    size: int
    views: int
    starts: int
    candidates: int
    device: str
    seed: int
    weights: str | None
    adjusted: bool = True  # distances, as the solver has it for large instances


def run(args: argparse.Namespace) -> int:
    """Measure, print and record, size by size."""
    import torch

    from spacevrp.bench import records
    from spacevrp.bench.memory import exponents
    from spacevrp.bench.neighbours import load_average
    from spacevrp.bench.weights import load_model
    from spacevrp.engines.devices import choose_device
    from spacevrp.solver import protocol_named
    from spacevrp.train.versions import versions

    protocol = protocol_named(args.protocol)
    protocol.check(starts=args.starts, candidates=args.candidates)
    device = choose_device(args.device)
    _, weights = load_model(args.weights)
    record: dict[str, Any] = {
        "benchmark": "scaling",
        "command": records.command_line(),
        "versions": versions(),
        "machine": records.machine(device),
        "protocol": args.protocol,
        "seed": args.seed,
        "weights": weights,
        "load_average": {"begin": load_average(), "end": None},
        "exponents": {},
    }
    rows: list[ScalingRow] = []
    for size in sorted(args.sizes):
        probe = ScalingProbe(
            size,
            args.views,
            (args.starts or _STARTS) if protocol.pruned else size,
            (args.candidates or _CANDIDATES) if protocol.pruned else size,
            str(device),
            args.seed,
            args.weights,
            protocol.pruned,
        )
        rows.append(measure(probe, torch.get_num_threads()))
        print(rows[-1].line(), flush=True)
        record["exponents"] = exponents(rows, _GROWING)
        record["load_average"]["end"] = load_average()
        if args.output is not None:  # after every row: a long run may be cut short
            _write(args.output, record, rows)
    print(exponents_text(record["exponents"]), end="")
    return DONE if all(row.violations == 0 for row in rows) else NEGATIVE


# --------------------------------------------------------------------------------------- one size


def measure(probe: ScalingProbe, threads: int) -> ScalingRow:
    """The figures of one size from a process of its own; a note where they cannot be had."""
    from spacevrp.bench.memory import GIB, available_memory, in_own_process
    from spacevrp.bench.neighbours import Neighbours

    row = ScalingRow(
        probe.size,
        probe.device,
        threads,
        probe.views,
        probe.starts,
        probe.candidates,
    )
    need, free = predicted(probe), available_memory(probe.device)
    if free is not None and need > free:
        note = f"not measured: needs about {need / GIB:.1f} GiB, {free / GIB:.1f} are free"
        return ScalingRow(**{**_as_dict(row), "note": note})
    neighbours = Neighbours()
    found = in_own_process(run_probe, probe)
    busy = neighbours.busy()
    # The process that measures is no neighbour.
    own = found.pop("cores_used", 0.0)
    others = None if busy is None else round(max(0.0, busy - own), 3)
    return ScalingRow(**{**_as_dict(row), **found, "others": others})


def predicted(probe: ScalingProbe) -> int:
    """Bytes that a size takes, as the solver sees it."""
    import torch

    from spacevrp.engines.pruning import LargeFootprint, Search
    from spacevrp.model import ModelConfig
    from spacevrp.tensors.workers import workers_for

    search = Search(probe.starts, probe.candidates)
    device = "cuda" if probe.device.startswith("cuda") else "cpu"
    footprint = LargeFootprint.of(
        probe.size + 1,
        ModelConfig().width,
        search,
        device=device,
        workers=workers_for(torch.device(device)),
    )
    return footprint.block(1, probe.views, probe.starts)


def run_probe(probe: ScalingProbe) -> dict[str, Any]:
    """Measure one size in this process, which should be fresh."""
    import os
    import time

    import torch

    from spacevrp.bench.memory import GIB, Peak
    from spacevrp.bench.weights import load_model

    began, spent = time.perf_counter(), sum(os.times()[:2])
    device = torch.device(probe.device)
    model, _ = load_model(probe.weights)
    model = model.to(device)
    tiny = ScalingProbe(**{**asdict(probe), "size": _WARM_UP})
    with torch.inference_mode():
        _measure(model, tiny, Peak(device))
        found = _measure(model, probe, Peak(device))
    found["predicted_gib"] = predicted(probe) / GIB
    found["cores_used"] = (sum(os.times()[:2]) - spent) / (time.perf_counter() - began)
    return found


def _measure(model: Any, probe: ScalingProbe, peak: Any) -> dict[str, Any]:
    import time

    import torch

    from spacevrp.bench.memory import ENOUGH_SECONDS, Clock
    from spacevrp.decode import routes_of
    from spacevrp.decode.adjustment import Adjustment
    from spacevrp.decode.native_pruned import native_pruned_rollout, supports
    from spacevrp.decode.neighbourhood import neighbourhood
    from spacevrp.decode.pruned import pruned_rollout
    from spacevrp.decode.pruned_graph import walk_for
    from spacevrp.engines.large import is_adjusted, product_dtype
    from spacevrp.engines.pruning import Search
    from spacevrp.engines.search import choose_starts
    from spacevrp.env.narrow import NarrowEnvironment
    from spacevrp.generators import generate
    from spacevrp.model import view_seeds
    from spacevrp.model.blocks import encode_in_blocks
    from spacevrp.model.streaming import survey
    from spacevrp.problems.solution import Solution
    from spacevrp.tensors import stack
    from spacevrp.tensors.workers import Workers

    device = torch.device(probe.device)
    clock = Clock(device)
    search = Search(probe.starts, probe.candidates)
    (problem,) = generate(VARIANT, probe.size, 1, probe.seed)
    peak.restart()
    batch = stack([problem], on_the_fly=True).to(device)
    environment = NarrowEnvironment(batch, num_depots=1)
    seconds, (known, near) = clock.time(
        lambda: (survey(batch), neighbourhood(batch, search.listed))
    )
    found: dict[str, Any] = {"seconds_look": seconds, "look_gib": peak.growth()}
    seeds = view_seeds(batch, model.config, probe.views, 0)  # (1, V, M)
    adjusted = torch.tensor([probe.adjusted and is_adjusted(problem)], device=device)
    adjustment = Adjustment.of(batch, adjusted)
    dtype = product_dtype(device)
    peak.restart()
    times: list[float] = []
    begin = time.process_time()
    tables: Any = None
    # The last tables are kept: with two copies the decoder's peak would not be its own.
    while sum(times) < ENOUGH_SECONDS and len(times) < 5:
        tables = None
        seconds, tables = clock.time(
            lambda: encode_in_blocks(model, batch, seeds, dtype=dtype, known=known)
        )
        times.append(seconds)
    tables = replace(tables, nearness=adjustment.nearness(0, probe.views))
    cpu = (time.process_time() - begin) / len(times)
    found |= {"seconds_encode": statistics.median(times), "encode_gib": peak.growth()}
    starts = choose_starts(environment, search.starts).repeat(1, probe.views)
    peak.restart()
    begin = time.process_time()
    options = {"choices": search.choices, "readout": search.readout, "adjustment": adjustment}
    decode: Any = partial(pruned_rollout, kind=walk_for(device))
    if supports(batch):
        decode = native_pruned_rollout
    with Workers(1):  # as the solver has it for few trajectories
        seconds, done = clock.time(lambda: decode(environment, tables, starts, near, **options))
    steps = done.sequence.shape[2] - 2
    cpu_decode = time.process_time() - begin
    found |= {
        "cpu_encode": cpu,
        "cpu_decode": cpu_decode,
        "cpu_step_ms": 1000 * cpu_decode / steps,
        "seconds_decode": seconds,
        "decode_gib": peak.growth(),
        "steps": steps,
        "step_ms": 1000 * seconds / steps,
    }
    best = done.sequence[0, int(done.cost[0].argmin())].tolist()
    plan = Solution.judged(problem, routes_of(problem, best))
    return found | {"cost": float(plan.cost), "violations": len(plan.violations)}


# ---------------------------------------------------------------------------------------- reports


def exponents_text(found: dict[str, dict[str, float]]) -> str:
    """One line for each thing that grows."""
    lines = []
    for name, slopes in found.items():
        last = f"; {slopes['last']:.2f} between the two largest" if "last" in slopes else ""
        lines.append(f"{_WORDS[name]} grows like n to the power {slopes['fitted']:.2f}{last}")
    return "".join(f"{line}\n" for line in lines)


def markdown(record: dict[str, Any], rows: Sequence[ScalingRow]) -> str:
    """The record as a page."""
    from spacevrp.bench.records import markdown_table

    weights, place = record["weights"], record["machine"]
    first = rows[0]
    return (
        "# Time and memory against the size\n\n"
        f"`{record['command']}`\n\n"
        f"Weights: {weights['given']} (tensors {weights['tensors_sha256'][:12]}). "
        f"Device: {place.get('gpu', place['processor'])}, {place['cores']} cores, "
        f"{place['threads']} threads, torch {record['versions']['torch']}. Seed: {record['seed']}. "
        f"Protocol: {record['protocol']}. {_told(first, record)}\n\n"
        f"{markdown_table(_COLUMNS, [row.cells() for row in rows])}\n{_NOTES}\n"
        + "".join(f"- {line}\n" for line in exponents_text(record["exponents"]).splitlines())
    )


def _told(row: ScalingRow, record: dict[str, Any]) -> str:
    if record["protocol"] == "paper":
        return f"Views: {row.views}. Starts and candidates: all customers."
    return f"Views: {row.views}. Starts: {row.starts}. Candidates: {row.candidates}."


def _write(folder: Path, record: dict[str, Any], rows: Sequence[ScalingRow]) -> None:
    from importlib.util import find_spec

    from spacevrp.bench.records import write_record
    from spacevrp.writing import replacing

    text = markdown(record, rows)
    write_record(folder, "scaling", record, [asdict(row) for row in rows], text)
    measured = [row for row in rows if row.seconds_decode is not None]
    if measured and find_spec("matplotlib") is not None:
        with replacing(folder / "scaling.png") as draft:
            plot(measured).savefig(draft, dpi=120)


def plot(rows: Sequence[ScalingRow]) -> Any:
    """Time and memory against the size, both axes logarithmic: powers are straight lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    sizes = [row.size for row in rows]
    for name, label in (
        ("seconds_encode", "encoding"),
        ("seconds_decode", "decoding"),
        ("seconds_look", "looking around"),
    ):
        left.plot(sizes, [getattr(row, name) for row in rows], marker="o", label=label)
    for name, label, colour in (
        ("cpu_encode", "encoding, of a core", "C0"),
        ("cpu_decode", "decoding, of a core", "C1"),
    ):
        seconds = [getattr(row, name) for row in rows]
        if None not in seconds:
            left.plot(sizes, seconds, "--", marker=".", color=colour, label=label)
    left.set_ylabel("seconds")
    for name, label in (
        ("encode_gib", "encoding"),
        ("decode_gib", "decoding"),
        ("predicted_gib", "predicted"),
    ):
        mebibytes = [1024 * getattr(row, name) for row in rows]
        right.plot(sizes, mebibytes, marker="o", label=label)
    right.set_ylabel("peak, MiB")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("customers")
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    return figure


def _as_dict(row: ScalingRow) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _text(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)

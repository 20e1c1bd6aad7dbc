"""``spacevrp bench scaling``: time and memory of one instance against its size.

One CVRP of each size, solved as the solver solves large instances: encoded in blocks, decoded with
few options a move from the same number of starts for every size. With ``--dense`` it is encoded at
once and decoded with all options, as small ones are. Each size has a process of its own. The
exponents of a power of the size are fitted to all sizes, and to the two largest alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import add_protocol_option, at_least
from spacevrp.bench.neighbours import Neighbours, wait_for_rest
from spacevrp.bench.options import add_options, add_report_options, check_protocol
from spacevrp.bench.tables import Layout, Report, TableRow, column, mebibytes, new_record

if TYPE_CHECKING:
    import torch

    from spacevrp.bench.process import Peak
    from spacevrp.model import SpaceModel
    from spacevrp.problems.problem import Problem

SIZES = (100, 300, 1000, 3000, 10_000, 30_000)
VARIANT = "CVRP"
_WARM_UP = 50  # customers
_STARTS, _CANDIDATES = 8, 32
_ENOUGH_SECONDS = 3.0  # short work is repeated, long work is not
# Beside the footprint of a dense search: the instance in float64, and one more copy while made.
_BYTES_OF_INSTANCE = 16
GROWING = {
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
_NOTES = """\
One CVRP a size in a fresh process. "look" is what is found out once for all views: the scale of the
distances and the lists of neighbours (dense: from coordinates to tensors). "moves" are those of the
longest plan, all starts moving at the same time. "cpu" is how long cores worked for the process,
added up: where others use the machine, it says more than the clock. Peaks are above what the
process held before it saw the instance; "predicted" is what the solver cuts its work by. "finite"
says whether every number of the decoder's tables is. "others" is how many cores were busy with
other processes.
"""


@dataclass(frozen=True, kw_only=True)
class ScalingRow(TableRow):
    """One size. Peaks are in GiB above what the process held before it saw the instance."""

    size: int = column("customers", 9)
    device: str = ""
    threads: int | None = None
    views: int = 1
    starts: int = _STARTS
    candidates: int | None = None  # None for all
    seconds_look: float | None = column("look s", 7, ".2f", default=None)
    seconds_encode: float | None = column("encode s", 8, ".3f", default=None)  # of all views
    seconds_decode: float | None = column("decode s", 8, ".2f", default=None)
    steps: int | None = column("moves", 6, default=None)  # of the longest plan
    step_ms: float | None = column("ms a move", 9, ".3f", default=None)
    cpu_encode: float | None = column("encode cpu s", 12, ".2f", default=None)
    cpu_decode: float | None = column("decode cpu s", 12, ".2f", default=None)
    cpu_step_ms: float | None = column("cpu ms a move", 13, ".3f", default=None)
    look_gib: float | None = column("look MiB", 8, mebibytes, default=None)
    encode_gib: float | None = column("encode MiB", 10, mebibytes, default=None)
    decode_gib: float | None = column("decode MiB", 10, mebibytes, default=None)
    predicted_gib: float | None = column("predicted MiB", 13, mebibytes, default=None)
    finite: bool | None = column("finite", 6, lambda yes: "yes" if yes else "no", default=None)
    cost: float | None = column("cost", 10, ".3f", default=None)  # the referee's, of the best start
    violations: int | None = column("violations", 10, default=None)
    others: float | None = column("others", 6, ".2f", default=None)
    note: str | None = column("note", 4, default=None)  # why something is missing

    @property
    def failed(self) -> bool:
        """Whether something is missing or wrong."""
        return bool(self.note or self.violations or self.finite is False)


@dataclass(frozen=True)
class Probe:
    """What to measure, for one size; goes to the process that measures."""

    size: int
    views: int
    starts: int
    candidates: int
    device: str
    seed: int
    weights: str | None
    adjusted: bool = True  # distances, as the solver has it for large instances
    dense: bool = False
    decode: bool = True
    threads: int | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench scaling``."""
    parser.epilog = (
        "Exit code 0: every plan passed the referee and every number is finite; 1: not so, or a "
        "size could not be measured; 2: bad usage."
    )
    every = "or all with --protocol paper"
    one = {"metavar": "N", "type": at_least(1)}
    add_options(
        parser,
        sizes=SIZES,
        views={**one, "default": 1},
        starts={"help": f"start nodes; default: {_STARTS}, {every}"},
        candidates={
            **one,
            "metavar": "K",
            "help": f"nearest customers that a move chooses from; default: {_CANDIDATES}, {every}",
        },
        dense={
            "action": "store_true",
            "help": "encode at once and choose from all customers, as small instances are solved; "
            "one view",
        },
        decode_limit={**one, "help": "beyond so many customers only encoding is measured"},
        threads={"help": "of the CPU; default: torch's own choice"},
        wait=0,
        seed=1,
        weights=None,
        device="auto",
    )
    add_protocol_option(parser)
    more = " and, where matplotlib is, scaling.png"
    add_report_options(parser, "scaling", more=more, kept=False)


def run(args: argparse.Namespace) -> int:
    """Measure, print and record, size by size."""
    from spacevrp.bench.process import exponents
    from spacevrp.bench.runner import load_models
    from spacevrp.solver import protocol_named

    check_protocol(args)
    pruned = protocol_named(args.protocol).pruned
    (model,) = load_models(args)
    record = new_record("scaling", model.solver, model.told, args.protocol, seed=args.seed)
    layout = Layout("scaling", "Time and memory against the size", ScalingRow.columns(), _NOTES)
    report = Report(
        layout,
        record | {"dense": args.dense},
        args,
        summary=lambda rows: exponents_text(exponents(rows, tuple(GROWING))),
        below=settings_text,
        figures=lambda rows: {"exponents": exponents(rows, tuple(GROWING))},
    )
    for size in sorted(args.sizes):
        wait_for_rest(args.wait)
        probe = Probe(
            size,
            1 if args.dense else args.views,
            (args.starts or _STARTS) if pruned else size,
            (args.candidates or _CANDIDATES) if pruned and not args.dense else size,
            str(model.solver.device),
            args.seed,
            args.weights,
            pruned,
            args.dense,
            args.decode_limit is None or size <= args.decode_limit,
            args.threads,
        )
        report.add(measure(probe))
        if args.output is not None:
            draw(args.output / "scaling.png", report.rows)
    return report.finish()


# --------------------------------------------------------------------------------------- one size


def measure(probe: Probe) -> ScalingRow:
    """The figures of one size from a process of its own; a note where they cannot be had."""
    import torch

    from spacevrp.bench import process

    row = ScalingRow(
        size=probe.size,
        device=probe.device,
        threads=probe.threads or torch.get_num_threads(),
        views=probe.views,
        starts=probe.starts,
        candidates=None if probe.dense else probe.candidates,
    )
    nodes = probe.size + 1
    need = predicted(probe) + (_BYTES_OF_INSTANCE * nodes * nodes if probe.dense else 0)
    free = process.available_memory(probe.device)
    if free is not None and need > free:
        sizes = f"{need / process.GIB:.1f} GiB, {free / process.GIB:.1f} are free"
        return replace(row, note=f"not measured: needs about {sizes}")
    neighbours = Neighbours()
    found = process.in_own_process(run_probe, probe)
    busy = neighbours.busy()
    # The process that measures is no neighbour.
    own = found.pop("cores_used", 0.0)
    others = None if busy is None else round(max(0.0, busy - own), 3)
    return replace(row, **found, others=others)


def predicted(probe: Probe) -> int:
    """Bytes that a size takes, as the solver sees it."""
    import torch

    from spacevrp.model import ModelConfig
    from spacevrp.solver.memory import Footprint
    from spacevrp.solver.plans import LargeFootprint, Search
    from spacevrp.tensors.workers import workers_for

    nodes, width = probe.size + 1, ModelConfig().width
    if probe.dense:
        return Footprint.of(nodes, width).block(1, min(probe.starts, probe.size))
    search = Search(probe.starts, probe.candidates)
    device = torch.device(probe.device).type
    workers = workers_for(torch.device(device))
    footprint = LargeFootprint.of(nodes, width, search, device=device, workers=workers)
    return footprint.block(1, probe.views, probe.starts)


def run_probe(probe: Probe) -> dict[str, Any]:
    """Measure one size in this process, which should be fresh."""
    import torch

    from spacevrp.bench.process import GIB, Peak
    from spacevrp.bench.weights import load_model

    if probe.threads is not None:
        torch.set_num_threads(probe.threads)
    began, spent = time.perf_counter(), sum(os.times()[:2])
    device = torch.device(probe.device)
    model, _ = load_model(probe.weights)
    model = model.to(device)
    with torch.inference_mode():
        measure_here(model, replace(probe, size=_WARM_UP, decode=True), Peak(device))
        found = measure_here(model, probe, Peak(device))
    found["predicted_gib"] = predicted(probe) / GIB
    found["cores_used"] = (sum(os.times()[:2]) - spent) / (time.perf_counter() - began)
    return found


def measure_here(model: SpaceModel, probe: Probe, peak: Peak) -> dict[str, Any]:
    """Look around, encode and decode one instance, each with its time and its peak."""
    import torch
    from torch import Tensor

    from spacevrp.bench.process import Clock
    from spacevrp.decode import routes_of
    from spacevrp.generators import generate
    from spacevrp.problems.solution import Solution

    device = torch.device(probe.device)
    clock = Clock(device)
    (problem,) = generate(VARIANT, probe.size, 1, probe.seed)
    peak.restart()
    way = (Dense if probe.dense else Blocks)(model, problem, probe, device)
    seconds, _ = clock.time(way.look)
    found: dict[str, Any] = {"seconds_look": seconds, "look_gib": peak.growth()}
    peak.restart()
    times: list[float] = []
    begin = time.process_time()
    tables: Any = None
    # The last tables are kept: with two copies the decoder's peak would not be its own.
    while sum(times) < _ENOUGH_SECONDS and len(times) < 5:
        tables = None
        seconds, tables = clock.time(way.encode)
        times.append(seconds)
    found["cpu_encode"] = (time.process_time() - begin) / len(times)
    found |= {"seconds_encode": statistics.median(times), "encode_gib": peak.growth()}
    numbers = [value for value in vars(tables).values() if isinstance(value, Tensor)]
    found["finite"] = all(bool(torch.isfinite(value).all()) for value in numbers)
    if not (probe.decode and found["finite"]):
        return found
    peak.restart()
    begin = time.process_time()
    seconds, (cost, sequence) = clock.time(partial(way.decode, tables))
    cpu, steps = time.process_time() - begin, sequence.shape[2] - 2
    best = sequence[0, int(cost[0].argmin())].tolist()
    plan = Solution.judged(problem, routes_of(problem, best))
    return found | {
        "cpu_decode": cpu,
        "cpu_step_ms": 1000 * cpu / steps,
        "seconds_decode": seconds,
        "decode_gib": peak.growth(),
        "steps": steps,
        "step_ms": 1000 * seconds / steps,
        "cost": float(plan.cost),
        "violations": len(plan.violations),
    }


class Blocks:
    """As the solver has large instances: in blocks, moves out of lists of neighbours."""

    def __init__(
        self, model: SpaceModel, problem: Problem, probe: Probe, device: torch.device
    ) -> None:
        import torch

        from spacevrp.decode.adjustment import Adjustment
        from spacevrp.env.narrow import NarrowEnvironment
        from spacevrp.model import view_seeds
        from spacevrp.solver.large import is_adjusted
        from spacevrp.solver.plans import Search
        from spacevrp.tensors import stack

        self.model, self.probe, self.device = model, probe, device
        self.search = Search(probe.starts, probe.candidates)
        self.batch = stack([problem], on_the_fly=True).to(device)
        self.environment = NarrowEnvironment(self.batch, num_depots=1)
        self.seeds = view_seeds(self.batch, model.config, probe.views, 0)  # (1, V, M)
        adjusted = torch.tensor([probe.adjusted and is_adjusted(problem)], device=device)
        self.adjustment = Adjustment.of(self.batch, adjusted)

    def look(self) -> None:
        """Scale and neighbours."""
        from spacevrp.decode.neighbourhood import neighbourhood
        from spacevrp.model.streaming import survey

        self.known = survey(self.batch)
        self.near = neighbourhood(self.batch, self.search.listed)

    def encode(self) -> Any:
        """The decoder's tables."""
        from spacevrp.model.blocks import encode_in_blocks
        from spacevrp.solver.large import product_dtype

        tables = encode_in_blocks(
            self.model, self.batch, self.seeds, dtype=product_dtype(self.device), known=self.known
        )
        return replace(tables, nearness=self.adjustment.nearness(0, self.probe.views))

    def decode(self, tables: Any) -> tuple[Any, Any]:
        """Costs (1, P) and plans (1, P, T)."""
        from spacevrp.decode.native_pruned import native_pruned_rollout, supports
        from spacevrp.decode.pruned import pruned_rollout
        from spacevrp.decode.pruned_graph import walk_for
        from spacevrp.solver.search import choose_starts
        from spacevrp.tensors.workers import Workers

        starts = choose_starts(self.environment, self.search.starts).repeat(1, self.probe.views)
        decode: Any = partial(pruned_rollout, kind=walk_for(self.device))
        if supports(self.batch):
            decode = native_pruned_rollout
        with Workers(1):  # as the solver has it for few trajectories
            done = decode(
                self.environment,
                tables,
                starts,
                self.near,
                choices=self.search.choices,
                readout=self.search.readout,
                adjustment=self.adjustment,
            )
        return done.cost, done.sequence


class Dense:
    """As the solver has small instances: at once, moves out of all customers."""

    def __init__(
        self, model: SpaceModel, problem: Problem, probe: Probe, device: torch.device
    ) -> None:
        self.model, self.problem, self.probe, self.device = model, problem, probe, device

    def look(self) -> None:
        """From coordinates to tensors."""
        from spacevrp.model import view_seeds
        from spacevrp.tensors import stack

        self.batch = stack([self.problem]).to(self.device)
        self.seeds = view_seeds(self.batch, self.model.config, 1, 0)[:, 0]  # (1, M)

    def encode(self) -> Any:
        """The decoder's tables."""
        import torch

        # Tensor cores want bfloat16; a CPU is as fast in float32. As the solver has it.
        dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        return self.model(self.batch, self.seeds, dtype)

    def decode(self, tables: Any) -> tuple[Any, Any]:
        """Costs (1, P) and plans (1, P, T)."""
        from spacevrp.decode import rollout
        from spacevrp.decode.fused import fused_rollout
        from spacevrp.decode.native_rollout import native_rollout, supports
        from spacevrp.env import Environment
        from spacevrp.solver.search import choose_starts, uses_kernel

        environment = Environment(self.batch, num_depots=1)
        starts = choose_starts(environment, self.probe.starts)
        if not uses_kernel(environment) and not supports(self.batch):
            done = rollout(environment, tables, starts)
            return done.cost, done.sequence
        decode: Any = fused_rollout if uses_kernel(environment) else native_rollout
        trace = decode(environment, tables, starts)
        return trace.cost, trace.sequences()


# ---------------------------------------------------------------------------------------- reports


def exponents_text(found: dict[str, dict[str, float]]) -> str:
    """One line for each thing that grows."""
    lines = []
    for name, slopes in found.items():
        last = f"; {slopes['last']:.2f} between the two largest" if "last" in slopes else ""
        lines.append(f"- {GROWING[name]} grows like n to the power {slopes['fitted']:.2f}{last}")
    return "\n".join(lines)


def settings_text(rows: Sequence[ScalingRow]) -> str:
    """What all sizes have in common."""
    if not rows:
        return ""
    first = rows[0]
    few = first.starts < first.size or len(rows) == 1
    starts = str(first.starts) if few else "all customers"
    candidates = str(first.candidates) if few and first.candidates else "all customers"
    return (
        f"\nViews: {first.views}. Starts: {starts}. Candidates: {candidates}. Threads: "
        f"{first.threads}.\n"
    )


def draw(path: Path, rows: Sequence[ScalingRow]) -> None:
    """The picture, where there is something to see and something to draw with."""
    from importlib.util import find_spec

    from spacevrp.writing import replacing

    measured = [row for row in rows if row.seconds_decode is not None]
    if measured and find_spec("matplotlib") is not None:
        with replacing(path) as draft:
            plot(measured).savefig(draft, dpi=120)


def plot(rows: Sequence[ScalingRow]) -> Any:
    """Time and memory against the size, both axes logarithmic: powers are straight lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    curves = (
        (left, "seconds_encode", "encoding", "C0o-"),
        (left, "seconds_decode", "decoding", "C1o-"),
        (left, "seconds_look", "looking around", "C2o-"),
        (left, "cpu_encode", "encoding, of a core", "C0.--"),
        (left, "cpu_decode", "decoding, of a core", "C1.--"),
        (right, "encode_gib", "encoding", "C0o-"),
        (right, "decode_gib", "decoding", "C1o-"),
        (right, "predicted_gib", "predicted", "C2o-"),
    )
    for axes, name, label, style in curves:
        factor = 1024 if name.endswith("_gib") else 1
        values = [factor * getattr(row, name) for row in rows if getattr(row, name) is not None]
        if len(values) == len(rows):
            axes.plot([row.size for row in rows], values, style, label=label)
    for axes, label in ((left, "seconds"), (right, "peak, MiB")):
        axes.set(xscale="log", yscale="log", xlabel="customers", ylabel=label)
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    return figure

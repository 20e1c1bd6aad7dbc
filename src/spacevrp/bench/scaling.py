"""``spacevrp bench scaling``: time and memory of one instance against its size.

One CVRP of each size, solved as the solver solves large instances: encoded in blocks, decoded with
few options a move from the same number of starts for every size. With ``--dense`` it is encoded at
once and decoded with all options, as small ones are. Each size has a process of its own. The
exponents of a power of the size are fitted to all sizes, and to the two largest alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import add_protocol_option, at_least
from spacevrp.bench.neighbours import Neighbours, wait_for_rest
from spacevrp.bench.options import add_options, add_report_options, check_protocol
from spacevrp.bench.tables import Layout, Report, TableRow, column, mebibytes, new_record

if TYPE_CHECKING:
    from spacevrp.bench.probes import Probe

SIZES = (100, 300, 1000, 3000, 10_000, 30_000)
_STARTS, _CANDIDATES = 8, 32
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
One CVRP a size in a fresh process. "look" is what is found out once for all augmentations: the
scale of the distances and the lists of neighbours (dense: from coordinates to tensors). "moves" are
those of the longest plan, all starts moving at the same time. "cpu" is how long cores worked for
the process, added up: where others use the machine, it says more than the clock. Peaks are above
what the process held before it saw the instance; "predicted" is what the solver cuts its work by.
"finite" says whether every number of the decoder's tables is. "others" is how many cores were busy
with other processes.
"""


@dataclass(frozen=True, kw_only=True)
class ScalingRow(TableRow):
    """One size. Peaks are in GiB above what the process held before it saw the instance."""

    size: int = column("customers", 9)
    device: str = ""
    threads: int | None = None
    augmentations: int = 1
    starts: int = _STARTS
    candidates: int | None = None  # None for all
    seconds_look: float | None = column("look s", 7, ".2f", default=None)
    seconds_encode: float | None = column(
        "encode s", 8, ".3f", default=None
    )  # of all augmentations
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
        augmentations={**one, "default": 1},
        starts={"help": f"start nodes; default: {_STARTS}, {every}"},
        candidates={
            **one,
            "metavar": "K",
            "help": f"nearest customers that a move chooses from; default: {_CANDIDATES}, {every}",
        },
        dense={
            "action": "store_true",
            "help": "encode at once and choose from all customers, as small instances are solved; "
            "one augmentation",
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
    from spacevrp.bench.probes import Probe
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
            1 if args.dense else args.augmentations,
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
    from spacevrp.bench.probes import needed, run_probe

    row = ScalingRow(
        size=probe.size,
        device=probe.device,
        threads=probe.threads or torch.get_num_threads(),
        augmentations=probe.augmentations,
        starts=probe.starts,
        candidates=None if probe.dense else probe.candidates,
    )
    need, free = needed(probe), process.available_memory(probe.device)
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
        f"\nAugmentations: {first.augmentations}. Starts: {starts}. Candidates: {candidates}. "
        "Threads: "
        f"{first.threads}.\n"
    )


def draw(path: Path, rows: Sequence[ScalingRow]) -> None:
    """The picture, where there is something to see and something to draw with."""
    from importlib.util import find_spec

    from spacevrp.writing import replacing

    measured = [row for row in rows if row.seconds_decode is not None]
    if measured and find_spec("matplotlib") is not None:
        with replacing(path) as temporary:
            plot(measured).savefig(temporary, dpi=120)


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

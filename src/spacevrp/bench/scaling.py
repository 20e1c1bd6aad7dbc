"""``spacevrp bench scaling``: time and memory of one instance against its size.

One CVRP of each size, solved as the solver solves large instances: encoded in blocks, decoded with
few options a move from the same number of starts for every size. Each size has a process of its
own. The exponents of a power of the size are fitted to all sizes, and to the two largest alone.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spacevrp.arguments import add_protocol_option
from spacevrp.bench.neighbours import Neighbours
from spacevrp.bench.options import add_options, add_report_options, check_protocol
from spacevrp.bench.records import new_record
from spacevrp.bench.tables import Report, TableRow, column

if TYPE_CHECKING:
    from spacevrp.bench.probes import Probe

SIZES = (100, 300, 1000, 3000, 10_000, 30_000)
_STARTS, _CANDIDATES = 8, 32
GROWING = {
    "seconds_look": "looking around (distances and neighbours)",
    "seconds_encode": "encoding",
    "seconds_decode": "decoding",
    "step_ms": "a step of decoding",
    "encode_gib": "the encoder's peak of memory",
    "decode_gib": "the decoder's peak of memory",
}
_NOTES = """\
One CVRP a size in a fresh process, one augmentation. "look" is what is found out once: the scale of
the distances and the lists of neighbours. "moves" are those of the longest plan, all starts moving
at the same time. Peaks are above what the process held before it saw the instance; "predicted" is
what the solver cuts its work by. "finite" says whether every number of the decoder's tables is.
"others" is how many cores were busy with other processes.
"""


def _mebibytes(gib: float) -> str:
    return f"{1024 * gib:.1f}"


@dataclass(frozen=True, kw_only=True)
class ScalingRow(TableRow):
    """One size. Peaks are in GiB above what the process held before it saw the instance."""

    size: int = column("customers", 9)
    device: str = ""
    threads: int | None = None
    starts: int = column("starts", 6, default=_STARTS)
    candidates: int = column("candidates", 10, default=_CANDIDATES)
    seconds_look: float | None = column("look s", 7, ".2f", default=None)
    seconds_encode: float | None = column("encode s", 8, ".3f", default=None)
    seconds_decode: float | None = column("decode s", 8, ".2f", default=None)
    steps: int | None = column("moves", 6, default=None)  # of the longest plan
    step_ms: float | None = column("ms a move", 9, ".3f", default=None)
    look_gib: float | None = column("look MiB", 8, _mebibytes, default=None)
    encode_gib: float | None = column("encode MiB", 10, _mebibytes, default=None)
    decode_gib: float | None = column("decode MiB", 10, _mebibytes, default=None)
    predicted_gib: float | None = column("predicted MiB", 13, _mebibytes, default=None)
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
    starts = f"start nodes; default: {_STARTS}, or all with --protocol paper"
    add_options(parser, sizes=SIZES, starts={"help": starts}, seed=1, weights=None, device="auto")
    add_protocol_option(parser)
    add_report_options(parser, "scaling", kept=False)


def run(args: argparse.Namespace) -> int:
    """Measure, print and record, size by size."""
    from spacevrp.bench.probes import Probe
    from spacevrp.bench.runner import load_models
    from spacevrp.solver import protocol_named

    check_protocol(args)
    pruned = protocol_named(args.protocol).pruned
    (model,) = load_models(args, engine="torch")  # whose parts are measured one by one
    record = new_record("scaling", model.solver, model.told, args.protocol, seed=args.seed)
    report = Report(
        name="scaling",
        title="Time and memory against the size",
        row_type=ScalingRow,
        notes=_NOTES,
        record=record,
        args=args,
        summary=lambda rows: exponents_text(exponents(rows)),
        figures=lambda rows: {"exponents": exponents(rows)},
    )
    for size in sorted(args.sizes):
        probe = Probe(
            size,
            starts=(args.start_nodes or _STARTS) if pruned else size,
            candidates=_CANDIDATES if pruned else size,
            device=str(model.solver.device),
            seed=args.seed,
            weights=model.told["given"],
            adjusted=pruned,
        )
        report.add(measure(probe))
    return report.finish()


# --------------------------------------------------------------------------------------- one size


def measure(probe: Probe) -> ScalingRow:
    """The figures of one size from a process of its own; a note where they cannot be had."""
    import torch

    from spacevrp.bench import probes

    row = ScalingRow(
        size=probe.size,
        device=probe.device,
        threads=torch.get_num_threads(),
        starts=probe.starts,
        candidates=probe.candidates,
    )
    need, free = probes.predicted(probe), probes.available_memory(probe.device)
    if free is not None and need > free:
        sizes = f"{need / probes.GIB:.1f} GiB, {free / probes.GIB:.1f} are free"
        return replace(row, note=f"not measured: needs about {sizes}")
    neighbours = Neighbours()
    found = probes.in_own_process(probe)
    busy = neighbours.busy()
    # The process that measures is no neighbour.
    own = found.pop("cores_used", 0.0)
    others = None if busy is None else round(max(0.0, busy - own), 3)
    return replace(row, **found, others=others)


# ---------------------------------------------------------------------------------------- reports


def exponents(rows: Sequence[ScalingRow]) -> dict[str, dict[str, float]]:
    """How what is measured grows with the size.

    ``fitted`` is the slope of the straight line through the logarithms (least squares), ``last``
    the slope between the two largest sizes.
    """
    found = {}
    for name in GROWING:
        points = [
            (math.log(row.size), math.log(value))
            for row in sorted(rows, key=lambda row: row.size)
            if (value := getattr(row, name)) is not None and value > 0
        ]
        if len(points) < 2:
            continue
        slope = statistics.linear_regression(*zip(*points, strict=True)).slope
        (x0, y0), (x1, y1) = points[-2:]
        found[name] = {"fitted": round(slope, 3), "last": round((y1 - y0) / (x1 - x0), 3)}
    return found


def exponents_text(found: dict[str, dict[str, float]]) -> str:
    """One line for each thing that grows."""
    lines = [
        f"- {GROWING[name]} grows like n to the power {slopes['fitted']:.2f}; {slopes['last']:.2f} "
        "between the two largest"
        for name, slopes in found.items()
    ]
    return "\n".join(lines)

"""``spacevrp bench seen``: costs and gaps on the problems trained on, the paper's beside ours."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spacevrp.arguments import at_least
from spacevrp.bench import paper
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.variants import SEEN_NAMES, Variant, parse_variant

if TYPE_CHECKING:
    from spacevrp.model import SpaceModel
    from spacevrp.problems.problem import Problem
    from spacevrp.solver import Solver

DONE, SOME_UNSOLVED = 0, 1
GENERATED = "generated"
_DATA_FOLDER = "uniform100"  # below the folder that SPACEVRP_DATA names
_REFERENCE_PREFIX = "ref_"
_FORMATS = ("table", "json", "markdown")

_COLUMNS = (
    ("problem", 10),
    ("set", 11),
    ("instances", 9),
    ("views", 5),
    ("cost", 10),
    ("reference", 22),
    ("gap %", 7),
    ("gap of means %", 14),
    ("paper %", 7),
    ("ours - paper", 12),
    ("host s", 7),
    ("model s", 7),
    ("referee s", 9),
    ("violations", 10),
)
_NOTES = """\
Every cost is the referee's, in float64; for OP it is minus the prize. "gap %" is the mean over the
instances of (cost - reference) / |reference|, "gap of means %" the same of the mean cost and the
mean reference; below zero is better than the reference. "paper %" is what the paper prints for
SPACE with x8 views (x128 where distances are asymmetric) on its own test set, against its own
reference; "ours - paper" is in percentage points, from "gap %". "host s" is the time from problems
to tensors, "model s" encoding and decoding, "referee s" the judging. "violations" counts rules
broken by the plans that were reported, and instances without a plan.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench seen``."""
    parser.epilog = (
        "Exit code 0: every instance has a plan that the referee passes; 1: some have none; "
        "2: bad usage or a file that cannot be read."
    )
    parser.add_argument(
        "--count",
        metavar="N",
        type=at_least(0),
        default=1000,
        help="generated instances of each problem (0: none), and at most so many of a file; "
        "default: 1000",
    )
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), default=1, help="default: 1")
    parser.add_argument(
        "--size", metavar="N", type=at_least(4), default=100, help="customers; default: 100"
    )
    parser.add_argument(
        "--augment-symmetric", metavar="VIEWS", type=at_least(1), default=8, help="default: 8"
    )
    parser.add_argument(
        "--augment-asymmetric", metavar="VIEWS", type=at_least(1), default=128, help="default: 128"
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        type=Path,
        action="append",
        help="also every .npz batch here, with the references (ref_...) it holds; may be given "
        f"several times; default: {_DATA_FOLDER} in the folder SPACEVRP_DATA, where there is one",
    )
    parser.add_argument(
        "--weights",
        metavar="NAME|PATH",
        help="bundled weights, a .safetensors file, or the folder of a training run or checkpoint",
    )
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto"
    )
    parser.add_argument(
        "--problems",
        metavar="NAMES",
        type=_names,
        help="only these, such as CVRP,TSP; default: the twelve, and whatever FOLDER holds",
    )
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", type=Path, help="write seen.md, seen.csv and seen.json"
    )
    parser.add_argument("--format", choices=_FORMATS, default="table", help="default: table")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """Solve every set with one view and with all, and report."""
    from tqdm import tqdm

    from spacevrp.bench import records
    from spacevrp.solver import Solver
    from spacevrp.train.versions import versions

    sources = _list_sources(args)
    model, weights = load_model(args.weights)
    solver = Solver(model, args.device)
    record: dict[str, Any] = {
        "benchmark": "seen",
        "command": records.command_line(),
        "versions": versions(),
        "machine": records.machine(solver.device),
        "seed": args.seed,
        "weights": weights,
    }
    rows: list[Row] = []
    hidden = True if args.quiet else None  # None: tqdm looks whether stderr is a terminal
    if args.format == "table":
        print(_line([name for name, _ in _COLUMNS]), flush=True)
    with tqdm(total=2 * len(sources), unit=" sets", disable=hidden, leave=False) as bar:
        for source in sources:
            bar.set_description(f"{source.variant.name}, {source.place}")
            test_set = source.load()
            warm_up(solver, test_set)
            most = args.augment_asymmetric if source.asymmetric else args.augment_symmetric
            for views in sorted({1, most}):
                rows.append(measure(solver, test_set, views, most, show=not args.quiet))
                bar.update(1 if most > 1 else 2)
                if args.format == "table":
                    with bar.external_write_mode():
                        print(_line(rows[-1].cells()), flush=True)
                if args.output is not None:  # after every row: a long run may be cut short
                    _write(args.output, record, rows)
    if args.format == "json":
        print(json.dumps({**record, "rows": [asdict(row) for row in rows]}, indent=1))
    elif args.format == "markdown":
        print(markdown(rows), end="")
    elif rows:
        print(summary(rows))
    return SOME_UNSOLVED if any(row.violations for row in rows) else DONE


# ------------------------------------------------------------------------------------------- sets


@dataclass(frozen=True)
class TestSet:
    """Instances of one variant, and what another solver paid for each."""

    variant: Variant
    place: str  # where the instances come from
    problems: list[Problem]
    reference: NDArray[np.float64] | None = None  # (B,) costs; minus the prize for OP
    reference_name: str | None = None


@dataclass(frozen=True)
class _Source:
    """A set that is loaded when its turn comes."""

    variant: Variant
    place: str
    load: Callable[[], TestSet]

    @property
    def asymmetric(self) -> bool:
        return self.variant.features.asymmetric


def _list_sources(args: argparse.Namespace) -> list[_Source]:
    """Every set asked for; what cannot be right is found before the work begins."""
    wanted = args.problems
    sources = []
    for name in wanted or SEEN_NAMES:
        if args.count > 0:
            sources.append(_generated(parse_variant(name), args.size, args.count, args.seed))
    for folder in _data_folders(args.data):
        paths = sorted(folder.glob("*.npz"))
        if not paths:
            raise FormatError(f"{folder}: expected .npz batches, found none")
        for path in paths:
            variant = _variant_of(path)
            if wanted is None or variant.name in wanted:
                sources.append(_from_file(variant, path, args.count))
    if not sources:
        raise SpacevrpError("nothing to measure: --count is 0, and no file has these problems")
    return sources


def _generated(variant: Variant, size: int, count: int, seed: int) -> _Source:
    from spacevrp.generators import generate, recipe

    recipe.check_size(variant.features, size)
    return _Source(
        variant,
        GENERATED,
        lambda: TestSet(variant, GENERATED, generate(variant, size, count, seed)),
    )


def _from_file(variant: Variant, path: Path, count: int) -> _Source:
    return _Source(variant, path.parent.name, lambda: read_set(path, count))


def _data_folders(asked: list[Path] | None) -> list[Path]:
    if asked is not None:
        for folder in asked:
            if not folder.is_dir():
                raise FormatError(f"{folder}: expected a folder of .npz batches, found none")
        return asked
    base = os.environ.get("SPACEVRP_DATA")
    usual = [Path(base) / _DATA_FOLDER] if base else []
    return [folder for folder in usual if folder.is_dir()]


def _variant_of(path: Path) -> Variant:
    from spacevrp.formats.archive import Archive

    with Archive(path) as archive:
        if "variant" not in archive.keys:
            raise FormatError(f"{path}: key variant: expected a name, received no such key")
        return parse_variant(str(archive["variant"].reshape(-1)[0]))


def read_set(path: Path, count: int = 0) -> TestSet:
    """The first ``count`` instances of a batch (0: all) with the reference to compare with.

    Of several references the one that the paper compares with is taken, or else the cheapest.
    """
    from spacevrp.formats import read_npz
    from spacevrp.formats.archive import Archive

    problems = read_npz(path)
    variant = parse_variant(problems[0].variant_name)
    with Archive(path) as archive:
        held = {key: archive[key] for key in archive.keys if key.startswith(_REFERENCE_PREFIX)}
    references = {}
    for key, values in held.items():
        if values.shape != (len(problems),) or values.dtype.kind not in "iuf":
            raise FormatError(
                f"{path}: key {key}: expected {len(problems)} numbers, received shape "
                f"{values.shape} of type {values.dtype}"
            )
        cost = np.array(values, dtype=np.float64)
        references[key] = -np.abs(cost) if variant.features.orienteering else cost
    count = count or len(problems)
    problems = problems[:count]
    if not references:
        return TestSet(variant, path.parent.name, problems)
    name = paper.reference_key(variant.name)
    if name not in references:
        name = min(references, key=lambda key: float(references[key].mean()))
    return TestSet(variant, path.parent.name, problems, references[name][:count], name)


# ---------------------------------------------------------------------------------------- weights


def load_model(weights: str | None) -> tuple[SpaceModel, dict[str, Any]]:
    """A model and what is to be told of it, from bundled weights, a file or a training run."""
    from spacevrp.bench.records import checksum
    from spacevrp.model.weights import DEFAULT_WEIGHTS, load_weights

    name = DEFAULT_WEIGHTS if weights is None else weights
    if weights is not None and Path(weights).is_dir():
        model, told = _load_checkpoint(Path(weights))
    else:
        model, card = load_weights(name)
        told = {key: card[key] for key in ("name", "sha256") if key in card}
    return model, {"given": str(name), **told, "tensors_sha256": checksum(model)}


def _load_checkpoint(folder: Path) -> tuple[SpaceModel, dict[str, Any]]:
    from spacevrp.model import ModelConfig, SpaceModel
    from spacevrp.train import checkpoint

    header, groups = checkpoint.load(folder)
    group = "average" if "average" in groups else "weights"
    try:
        config = ModelConfig.from_dict(header["config"]["model"])
        model = SpaceModel(config)
        model.load_state_dict({**groups["weights"], **groups[group]}, strict=True)
    except (KeyError, TypeError, RuntimeError) as error:
        raise FormatError(f"{folder}: not the checkpoint of a model: {error}") from None
    told = {"step": header["step"], "group": group, "train_seconds": header.get("seconds")}
    return model.eval(), told


# ------------------------------------------------------------------------------------ measurement


@dataclass(frozen=True)
class Row:
    """What one set with one number of views came to."""

    problem: str
    set: str
    instances: int
    views: int
    cost: float | None  # mean of the referee's
    reference: str | None
    reference_cost: float | None
    gap: float | None  # percent; mean of the instances' gaps
    gap_of_means: float | None  # percent
    paper_gap: float | None  # percent; the paper's, with all views
    difference: float | None  # ours - the paper's, percentage points
    seconds_host: float
    seconds_model: float
    seconds_referee: float
    violations: int
    refused: int  # plans that the search proposed and the referee refused

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        reference = ""
        if self.reference is not None:
            reference = (
                f"{self.reference.removeprefix(_REFERENCE_PREFIX)} {self.reference_cost:.4f}"
            )
        return [
            self.problem,
            self.set,
            str(self.instances),
            str(self.views),
            _number(self.cost, 5),
            reference,
            _number(self.gap, 3),
            _number(self.gap_of_means, 3),
            _number(self.paper_gap, 2),
            _number(self.difference, 3, sign=True),
            _number(self.seconds_host, 2),
            _number(self.seconds_model, 2),
            _number(self.seconds_referee, 2),
            str(self.violations),
        ]


def warm_up(solver: Solver, test_set: TestSet) -> None:
    """On a GPU, compile the kernels before anything is timed."""
    if solver.device.type == "cuda":
        solver.attempt(test_set.problems[:2], augment=1)


def measure(
    solver: Solver, test_set: TestSet, views: int, most_views: int, *, show: bool = False
) -> Row:
    """Solve a set with so many views and compare it with its reference and with the paper."""
    attempt = solver.attempt(test_set.problems, augment=views, progress=show)
    solved = [s is not None for s in attempt.solutions]
    cost = np.array([s.cost for s in attempt.solutions if s is not None])  # (solved,)
    broken = sum(len(s.violations) for s in attempt.solutions if s is not None)
    reference = None if test_set.reference is None else test_set.reference[np.array(solved)]
    gap, gap_of_means = (None, None) if reference is None else gaps(cost, reference)
    size = len(test_set.problems[0].customers)
    # The paper prints no figures for single views.
    theirs = paper.space_gap(test_set.variant.name, size) if views == most_views else None
    return Row(
        problem=test_set.variant.name,
        set=test_set.place,
        instances=len(test_set.problems),
        views=views,
        cost=float(cost.mean()) if len(cost) else None,
        reference=test_set.reference_name,
        reference_cost=None if reference is None or not len(cost) else float(reference.mean()),
        gap=gap,
        gap_of_means=gap_of_means,
        paper_gap=theirs,
        difference=None if gap is None or theirs is None else gap - theirs,
        seconds_host=attempt.seconds.preparing,
        seconds_model=attempt.seconds.searching,
        seconds_referee=attempt.seconds.judging,
        violations=broken + len(attempt.reasons),
        refused=attempt.refused,
    )


def gaps(
    cost: NDArray[np.float64], reference: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Percent above the reference: mean of the instances' gaps, and gap of the means.

    Costs may be negative (minus a prize): the gap is in proportion to the reference's size, so that
    less cost, or more prize, is always a lower gap.
    """
    if len(cost) == 0 or bool((reference == 0).any()):
        return None, None
    each = (cost - reference) / np.abs(reference)
    whole = (cost.mean() - reference.mean()) / abs(reference.mean())
    return 100.0 * float(each.mean()), 100.0 * float(whole)


# ---------------------------------------------------------------------------------------- reports


def markdown(rows: Sequence[Row]) -> str:
    """The table with its explanation."""
    from spacevrp.bench.records import markdown_table

    table = markdown_table([name for name, _ in _COLUMNS], [row.cells() for row in rows])
    return f"{table}\n{_NOTES}\n{summary(rows)}\n"


def summary(rows: Sequence[Row]) -> str:
    """One line: how the sets compare with the paper, what it took."""
    compared = [row.difference for row in rows if row.difference is not None]
    parts = []
    if compared:
        mean = math.fsum(compared) / len(compared)
        better = sum(difference <= 0 for difference in compared)
        parts.append(
            f"at least as good as the paper on {better} of {len(compared)} sets, mean difference "
            f"{mean:+.3f} points"
        )
    seconds = [
        sum(getattr(row, f"seconds_{part}") for row in rows)
        for part in ("host", "model", "referee")
    ]
    parts.append("host {:.1f} s, model {:.1f} s, referee {:.1f} s".format(*seconds))
    parts.append(f"{sum(row.violations for row in rows)} violations")
    return "; ".join(parts)


def _write(folder: Path, record: dict[str, Any], rows: Sequence[Row]) -> None:
    from spacevrp.bench.records import write_record

    weights = record["weights"]
    told = ", ".join(
        f"{key} {weights[key]}" for key in ("given", "step", "group") if key in weights
    )
    place = record["machine"]
    head = (
        "# Problems trained on\n\n"
        f"`{record['command']}`\n\n"
        f"Weights: {told} (tensors {weights['tensors_sha256'][:12]}). "
        f"Device: {place.get('gpu', place['processor'])}. Seed: {record['seed']}.\n\n"
    )
    write_record(folder, "seen", record, [asdict(row) for row in rows], head + markdown(rows))


def _line(cells: Sequence[str]) -> str:
    """Columns of fixed width; the first two to the left."""
    padded = [
        cell.ljust(width) if position < 2 else cell.rjust(width)
        for position, (cell, (_, width)) in enumerate(zip(cells, _COLUMNS, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _number(value: float | None, digits: int, *, sign: bool = False) -> str:
    if value is None:
        return ""
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


# -------------------------------------------------------------------------------------- arguments


def _names(text: str) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(parse_variant(name.strip()).name for name in text.split(",")))
    except SpacevrpError as error:
        raise argparse.ArgumentTypeError(str(error)) from None

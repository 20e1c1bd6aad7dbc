"""What all tables share: options, a record, a loop over sets with a bar, and three files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spacevrp.arguments import add_lean_option, add_protocol_option, at_least
from spacevrp.bench.solving import Outcome
from spacevrp.bench.store import SUFFIX, Store

if TYPE_CHECKING:
    from spacevrp.solver import Solver

DONE, SOME_UNSOLVED = 0, 1
FORMATS = ("table", "json", "markdown")
SYMMETRIC_VIEWS = 8  # as in the paper
# The paper's number takes a GPU: on a CPU an instance with several depots would take a minute.
ASYMMETRIC_VIEWS = {"cuda": 128, "cpu": 8}


# ---------------------------------------------------------------------------------------- options


def add_view_options(parser: argparse._ActionsContainer) -> None:
    """Views by kind of distances."""
    parser.add_argument(
        "--augment-symmetric",
        metavar="VIEWS",
        type=at_least(1),
        default=SYMMETRIC_VIEWS,
        help=f"default: {SYMMETRIC_VIEWS}",
    )
    parser.add_argument(
        "--augment-asymmetric",
        metavar="VIEWS",
        type=at_least(1),
        help="default: {cuda} on a GPU, as in the paper, and {cpu} on a CPU; with --protocol paper "
        "{cuda} on both".format(**ASYMMETRIC_VIEWS),
    )


def add_replan_option(parser: argparse.ArgumentParser) -> None:
    """Declare how often plans are planned anew."""
    parser.add_argument(
        "--replan",
        metavar="ROUNDS",
        type=at_least(0),
        help="rounds at most of the neural large neighbourhood search; default: 0, as solve has it",
    )


def add_weights_options(
    parser: argparse.ArgumentParser, *, several: bool = False, protocol: str | None = "network"
) -> None:
    """Which model, where it runs, and by which protocol; None where that has no meaning."""
    described = (
        "bundled weights, a .safetensors file, or the folder of a training run or checkpoint"
    )
    if several:
        parser.add_argument(
            "--weights",
            metavar="NAME|PATH",
            action="append",
            help=f"{described}; once for each model to compare",
        )
    else:
        parser.add_argument("--weights", metavar="NAME|PATH", help=described)
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto"
    )
    add_lean_option(parser)
    if protocol is not None:
        add_protocol_option(parser, protocol)


def check_protocol(args: argparse.Namespace) -> None:
    """Raise for options that contradict the protocol, before the work begins."""
    from spacevrp.solver import protocol_named

    options = ("lean", "sample", "replan", "starts")
    asked = {name: getattr(args, name) for name in options if hasattr(args, name)}
    protocol_named(args.protocol).check(**asked)


def add_report_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Where the table goes."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        help=f"write {name}.md, {name}.csv and {name}.json, and keep in {name}{SUFFIX} what is "
        "solved: the same command goes on where it was interrupted",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def views_for(args: argparse.Namespace, device: str, *, asymmetric: bool) -> int:
    """Views of a set, by its distances and the kind of device."""
    if not asymmetric:
        return int(args.augment_symmetric)
    kind = "cuda" if args.protocol == "paper" else device
    return int(args.augment_asymmetric or ASYMMETRIC_VIEWS[kind])


# ----------------------------------------------------------------------------------------- record


def new_record(
    benchmark: str,
    solver: Solver,
    weights: dict[str, Any] | list[dict[str, Any]],
    protocol: str | None,
    **more: Any,
) -> dict[str, Any]:
    """All that it takes to repeat a measurement; ``protocol`` is None where it has no meaning."""
    from spacevrp.bench import records
    from spacevrp.model import LEAN
    from spacevrp.solver import protocol_named
    from spacevrp.train.versions import versions

    return {
        "benchmark": benchmark,
        "command": records.command_line(),
        "versions": versions(),
        "machine": records.machine(solver.device),
        "engine": solver.engine.name,
        "protocol": protocol,
        "lean": protocol_named(protocol).decide("lean", solver.lean, LEAN),
        **more,
        "weights": weights,
    }


def settings_key(
    record: Mapping[str, Any], weights: Mapping[str, Any], **set_and_views: Any
) -> dict[str, Any]:
    """What an outcome depends on: times too, hence the machine."""
    machine = record["machine"]
    ours = weights["tensors_sha256"] is not None
    native = ours and record.get("engine") == "native"  # before there was one, all was torch
    return {
        **({"engine": "native"} if native else {}),
        "weights": weights["tensors_sha256"],
        "version": record["versions"]["spacevrp"],
        "protocol": record["protocol"],
        "lean": record["lean"],
        "device": machine.get("gpu", f"{machine['processor']}, {machine['threads']} threads"),
        **set_and_views,
    }


# ------------------------------------------------------------------------------------------- work


@dataclass(frozen=True)
class Job:
    """A set to be solved in one way."""

    label: str  # what the bar shows
    key: Mapping[str, Any]
    solve: Callable[[], Outcome]
    weight: float = 1.0  # its part of the work, for the time left


def work_through(
    jobs: Sequence[Job], store: Store, *, quiet: bool = False
) -> Iterator[tuple[Job, Outcome]]:
    """Every job with its outcome: from the store, or else solved and kept there."""
    from tqdm import tqdm

    hidden = True if quiet else None  # None: tqdm looks whether stderr is a terminal
    unit = " sets" if all(job.weight == 1.0 for job in jobs) else " s of limits"
    total = sum(job.weight for job in jobs)
    with tqdm(total=total, unit=unit, disable=hidden, leave=False) as bar:
        for job in jobs:
            bar.set_description(job.label)
            outcome = store.get(job.key)
            if outcome is None:
                outcome = job.solve()
                if len(outcome.found):  # what failed altogether is tried again
                    store.keep(job.key, outcome)
            bar.update(job.weight)
            yield job, outcome


# ---------------------------------------------------------------------------------------- reports


class Row(Protocol):
    """A line of a table: a dataclass that can say itself in cells."""

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""


@dataclass(frozen=True)
class Layout:
    """How a table looks."""

    name: str  # of its files
    title: str
    columns: tuple[tuple[str, int], ...]  # names and widths
    notes: str
    left: int = 1  # so many columns are aligned to the left

    def line(self, cells: Sequence[str]) -> str:
        """Columns of fixed width."""
        padded = [
            cell.ljust(width) if position < self.left else cell.rjust(width)
            for position, (cell, (_, width)) in enumerate(zip(cells, self.columns, strict=True))
        ]
        return "  ".join(padded).rstrip()

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [name for name, _ in self.columns]


@dataclass
class Report:
    """A table that grows: printed row by row, and written after each, as a run may be cut short.

    ``below`` is what else the page says, ``summary`` its last line; ``averages`` are further rows
    that follow from those there are.
    """

    layout: Layout
    record: dict[str, Any]
    args: argparse.Namespace
    summary: Callable[[Sequence[Any]], str]
    averages: Callable[[Sequence[Any]], Sequence[Any]] = lambda rows: ()
    below: Callable[[Sequence[Any]], str] = lambda rows: ""
    rows: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.args.format == "table":
            self._print(self.layout.names)

    def store(self) -> Store:
        """The file of what is solved, where there is a folder for it."""
        folder = self.args.output
        return Store(None if folder is None else folder / f"{self.layout.name}{SUFFIX}")

    def add(self, *rows: Row) -> None:
        """Rows that are known now."""
        self.rows += rows
        if self.args.format == "table":
            for row in rows:
                self._print(row.cells())
        self.write()

    def finish(self) -> int:
        """Print what is left; the exit code."""
        last = self.averages(self.rows)
        if self.args.format == "json":
            document = {**self.record, "rows": [asdict(row) for row in (*self.rows, *last)]}
            print(json.dumps(document, indent=1))
        elif self.args.format == "markdown":
            print(self.body(), end="")
        elif self.rows:
            for row in last:
                self._print(row.cells())
            print(self.summary(self.rows))
        self.write()
        return SOME_UNSOLVED if any(row.violations for row in self.rows) else DONE

    def body(self) -> str:
        """The table with its explanation, as Markdown."""
        from spacevrp.bench.records import markdown_table

        rows = [row.cells() for row in (*self.rows, *self.averages(self.rows))]
        table = markdown_table(self.layout.names, rows)
        return f"{table}\n{self.layout.notes}{self.below(self.rows)}\n{self.summary(self.rows)}\n"

    def write(self) -> None:
        """The three files, where there is a folder for them."""
        from spacevrp.bench.records import write_record

        if self.args.output is not None:
            rows = [asdict(row) for row in (*self.rows, *self.averages(self.rows))]
            text = _head(self.layout.title, self.record) + self.body()
            write_record(self.args.output, self.layout.name, self.record, rows, text)

    def _print(self, cells: Sequence[str]) -> None:
        from tqdm import tqdm

        tqdm.write(self.layout.line(cells), file=sys.stdout)  # above any bar
        sys.stdout.flush()


def _head(title: str, record: Mapping[str, Any]) -> str:
    from spacevrp.bench.weights import describe

    weights, place = record["weights"], record["machine"]
    told = [weights] if isinstance(weights, dict) else weights
    seed = f" Seed: {record['seed']}." if "seed" in record else ""
    protocol = f" Protocol: {record['protocol']}." if record["protocol"] else ""
    return (
        f"# {title}\n\n"
        f"`{record['command']}`\n\n"
        f"Weights: {'; '.join(map(describe, told))}. "
        f"Device: {place.get('gpu', place['processor'])}.{seed}{protocol}\n\n"
    )


def number(value: float | None, digits: int, *, sign: bool = False) -> str:
    """A number as a cell; nothing where there is none."""
    if value is None:
        return ""
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def time_text(rows: Sequence[Any]) -> str:
    """What the rows took, in words."""
    seconds = [
        sum(getattr(row, f"seconds_{part}") for row in rows)
        for part in ("host", "model", "referee", "search")
    ]
    return "host {:.1f} s, model {:.1f} s, referee {:.1f} s, local search {:.1f} s".format(*seconds)

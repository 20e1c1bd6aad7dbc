"""Tables: rows that know their columns, what a record says, jobs with a bar, and three files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from spacevrp.bench.neighbours import load_average
from spacevrp.bench.options import SUFFIX
from spacevrp.bench.solving import Outcome
from spacevrp.bench.store import Store

if TYPE_CHECKING:
    from spacevrp.solver import Solver

DONE, SOME_UNSOLVED = 0, 1


# ------------------------------------------------------------------------------------------ columns


def column(
    title: str = "",
    width: int = 0,
    form: str | Callable[[Any], str] = "",
    *,
    over: Callable[[Sequence[Any]], Any] | None = None,
    **default: Any,
) -> Any:
    """A field of a row; with a title it is a column of the table.

    Parameters
    ----------
    form
        What ``format`` takes, or a function from the value to its text.
    over
        How an average comes from the values of several rows.
    """
    told = {"title": title, "width": width, "form": form, "over": over}
    return field(metadata=told, **default)


def mean(values: Sequence[float | None]) -> float | None:
    """Of those that are known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def complete_mean(values: Sequence[float | None]) -> float | None:
    """Where all are known."""
    return None if None in values else mean(values)


def same(values: Sequence[Any]) -> Any:
    """The value that all share; None where they differ."""
    return values[0] if len(set(values)) == 1 else None


def most(values: Sequence[float | None]) -> float | None:
    """The largest of those that are known."""
    return max((value for value in values if value is not None), default=None)


def difference(ours: float | None, theirs: float | None) -> float | None:
    """Percentage points, where there are both."""
    return None if ours is None or theirs is None else ours - theirs


def mebibytes(gib: float) -> str:
    """As a cell."""
    return f"{1024 * gib:.1f}"


R = TypeVar("R", bound="TableRow")


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A line of a table: its fields are the JSON and the CSV, those with a title the text."""

    ORDER: ClassVar[tuple[str, ...]] = ()  # of the columns; empty for that of the fields

    @property
    def failed(self) -> bool:
        """Whether something is wrong with it."""
        return bool(getattr(self, "violations", 0))

    @classmethod
    def shown(cls) -> list[Any]:
        """The fields that are columns."""
        titled = {each.name: each for each in fields(cls) if each.metadata.get("title")}
        return [titled[name] for name in cls.ORDER or titled]

    @classmethod
    def columns(cls) -> tuple[tuple[str, int], ...]:
        """Titles and widths."""
        return tuple((each.metadata["title"], each.metadata["width"]) for each in cls.shown())

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        return [self.text(each.name, each.metadata["form"]) for each in self.shown()]

    def text(self, name: str, form: str | Callable[[Any], str]) -> str:
        """One cell; nothing where there is no value."""
        value = getattr(self, name)
        if value is None:
            return ""
        return form(value) if callable(form) else format(value, form)


def average(rows: Sequence[R], over: Mapping[str, Any] | None = None, **values: Any) -> R:
    """A row over several: each field as its column says (``over``: otherwise), or as given."""
    for each in fields(rows[0]):
        if each.name in values:
            continue
        how = (over or {}).get(each.name, each.metadata.get("over"))
        if how is not None:
            values[each.name] = how([getattr(row, each.name) for row in rows])
        else:
            values[each.name] = None if each.default is MISSING else each.default
    return replace(rows[0], **values)


def print_rows(rows: Iterable[TableRow]) -> None:
    """A table at once, its columns as wide as they must be; text to the left."""
    held = list(rows)
    if not held:
        return
    lines = [[title for title, _ in held[0].columns()], *(row.cells() for row in held)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    texts = [isinstance(getattr(held[0], each.name), str) for each in held[0].shown()]
    for line in lines:
        padded = [
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(line, widths, texts, strict=True)
        ]
        print("  ".join(padded).rstrip())


@dataclass(frozen=True, kw_only=True)
class SolvedRow(TableRow):
    """What every row of instances that were solved says."""

    TIMES: ClassVar = ("seconds_host", "seconds_model", "seconds_referee", "seconds_search")

    seconds_host: float = column("host s", 8, ".2f", over=sum)
    seconds_model: float = column("model s", 8, ".2f", over=sum)
    seconds_referee: float = column("referee s", 9, ".2f", over=sum)
    seconds_search: float = column("search s", 8, ".2f", over=sum)
    violations: int = column("violations", 10, over=sum)
    refused: int = column(over=sum)  # plans that the search proposed and the referee refused
    note: str = column("note", 4, default="")  # why an instance has no plan

    @staticmethod
    def told(outcome: Outcome) -> dict[str, Any]:
        """These fields, from what came of the instances."""
        return {each.name: getattr(outcome, each.name) for each in fields(SolvedRow)}


NOTES_ON_TIMES = """\
"host s" is the time from problems to tensors, "model s" encoding and decoding, "referee s" the
judging, "search s" local search. "violations" counts rules broken by the plans that are reported,
and instances without a plan.
"""


def conclusion(rows: Sequence[Any], *first: str) -> str:
    """One line: how the rows compare with the paper, what they took."""
    points = [p for row in rows if (p := getattr(row, "difference", None)) is not None]
    parts = [*first]
    if points:
        better = sum(p <= 0 for p in points)
        parts.append(
            f"at least as good as the paper on {better} of {len(points)}, mean difference "
            f"{sum(points) / len(points):+.3f} points"
        )
    words = zip(("host", "model", "referee", "local search"), SolvedRow.TIMES, strict=True)
    seconds = [f"{word} {sum(getattr(row, name) for row in rows):.1f} s" for word, name in words]
    return "; ".join([*parts, ", ".join(seconds), f"{sum(r.violations for r in rows)} violations"])


# ----------------------------------------------------------------------------------------- record


def new_record(
    benchmark: str,
    solver: Solver,
    weights: dict[str, Any] | list[dict[str, Any]],
    protocol: str,
    heads: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """All that it takes to repeat a measurement."""
    from spacevrp.bench import records
    from spacevrp.model import HEAD_STRENGTH
    from spacevrp.solver import protocol_named
    from spacevrp.train.versions import versions

    return {
        "benchmark": benchmark,
        "command": records.command_line(),
        "versions": versions(),
        "machine": records.machine(solver.device),
        "engine": solver.engine.name,
        "protocol": protocol,
        "policy_heads": protocol_named(protocol).decide("policy_heads", heads, HEAD_STRENGTH),
        **more,
        "weights": weights,
    }


def settings_key(
    record: Mapping[str, Any], weights: Mapping[str, Any], **set_and_augmentations: Any
) -> dict[str, Any]:
    """What an outcome depends on: times too, hence the machine."""
    machine = record["machine"]
    native = record.get("engine") == "native"  # before there was one, all was torch
    return {
        **({"engine": "native"} if native else {}),
        "weights": weights["tensors_sha256"],
        "version": record["versions"]["spacevrp"],
        "protocol": record["protocol"],
        "policy_heads": record["policy_heads"],
        "device": machine.get("gpu", f"{machine['processor']}, {machine['threads']} threads"),
        **set_and_augmentations,
    }


# ---------------------------------------------------------------------------------------- reports


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
    that follow from those there are, ``figures`` what the record holds beside them.
    """

    layout: Layout
    record: dict[str, Any]
    args: argparse.Namespace
    summary: Callable[[Sequence[Any]], str]
    averages: Callable[[Sequence[Any]], Sequence[Any]] = lambda rows: ()
    below: Callable[[Sequence[Any]], str] = lambda rows: ""
    rows: list[Any] = field(default_factory=list)
    figures: Callable[[Sequence[Any]], Mapping[str, Any]] = lambda rows: {}

    def __post_init__(self) -> None:
        self.record["load_average"] = {"begin": load_average(), "end": None}
        if self.args.format == "table":
            self._print(self.layout.names)

    def store(self) -> Store:
        """The file of what is solved, where there is a folder for it."""
        folder = self.args.output
        return Store(None if folder is None else folder / f"{self.layout.name}{SUFFIX}")

    def add(self, *rows: Any) -> None:
        """Rows that are known now."""
        self.rows += rows
        if self.args.format == "table":
            for row in rows:
                self._print(row.cells())
        self.write()

    def finish(self) -> int:
        """Print what is left; the exit code."""
        self.write()
        if self.args.format == "json":
            print(json.dumps({**self.record, "rows": self._dicts()}, indent=1))
        elif self.args.format == "markdown":
            print(self.body(), end="")
        elif self.rows:
            for row in self.averages(self.rows):
                self._print(row.cells())
            print(self.summary(self.rows))
        return SOME_UNSOLVED if any(row.failed for row in self.rows) else DONE

    def body(self) -> str:
        """The table with its explanation, as Markdown."""
        from spacevrp.bench.records import markdown_table

        rows = [row.cells() for row in (*self.rows, *self.averages(self.rows))]
        table = markdown_table(self.layout.names, rows)
        return f"{table}\n{self.layout.notes}{self.below(self.rows)}\n{self.summary(self.rows)}\n"

    def write(self) -> None:
        """The three files, where there is a folder for them."""
        from spacevrp.bench.records import write_record

        self.record |= self.figures(self.rows)
        self.record["load_average"]["end"] = load_average()
        if self.args.output is not None:
            text = _head(self.layout.title, self.record) + self.body()
            write_record(self.args.output, self.layout.name, self.record, self._dicts(), text)

    def _dicts(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in (*self.rows, *self.averages(self.rows))]

    def _print(self, cells: Sequence[str]) -> None:
        from tqdm import tqdm

        tqdm.write(self.layout.line(cells), file=sys.stdout)  # above any bar
        sys.stdout.flush()


def _head(title: str, record: Mapping[str, Any]) -> str:
    from spacevrp.bench.weights import describe

    weights, place, versions = record.get("weights", []), record["machine"], record["versions"]
    told = [weights] if isinstance(weights, dict) else weights
    load = {when: ", ".join(map(str, told or ())) for when, told in record["load_average"].items()}
    parts = [
        f"Weights: {'; '.join(map(describe, told))}" if told else "; ".join(versions),
        f"Device: {place.get('gpu', place['processor'])}, {place.get('cores', 'unknown')} cores"
        + (f", torch {versions['torch']}" if told else ""),
        *(
            f"{name.title()}: {record[name]}"
            for name in ("seed", "protocol")
            if record.get(name) is not None
        ),
        f"Load average (1, 5, 15 minutes): {load['begin'] or 'unknown'} at first, "
        f"{load['end'] or 'unknown'} at last",
    ]
    return f"# {title}\n\n`{record['command']}`\n\n{'. '.join(parts)}.\n\n"


def number(value: float | None, digits: int) -> str:
    """A number as a cell; nothing where there is none."""
    return "" if value is None else f"{value:.{digits}f}"

"""Tables: rows that know their columns, printed as they come, and three files with a record."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from spacevrp.bench.neighbours import load_average
from spacevrp.bench.records import describe_weights, markdown_table, write_record

DONE, SOME_UNSOLVED = 0, 1


# ------------------------------------------------------------------------------------------ columns


def column(
    title: str = "",
    width: int = 0,
    form: str | Callable[[Any], str] = "",
    *,
    missing: str = "",
    over: Callable[[Sequence[Any]], Any] | None = None,
    **default: Any,
) -> Any:
    """A field of a row; with a title it is a column of the table.

    Parameters
    ----------
    form
        What ``format`` takes, or a function from the value to its text.
    missing
        The cell where there is no value.
    over
        How an average comes from the values of several rows.
    """
    told = {"title": title, "width": width, "form": form, "missing": missing, "over": over}
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


R = TypeVar("R", bound="TableRow")


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A line of a table: its fields are the JSON and the CSV, those with a title the text.

    Columns stand in the order of the fields, those of a base class behind.
    """

    @property
    def failed(self) -> bool:
        """Whether something is wrong with it."""
        return bool(getattr(self, "violations", 0))

    @classmethod
    def shown(cls) -> list[Any]:
        """The fields that are columns."""
        titled = {each.name: each for each in fields(cls) if each.metadata.get("title")}
        order = [name for kind in cls.__mro__ for name in vars(kind).get("__annotations__", ())]
        return [titled[name] for name in dict.fromkeys(order) if name in titled]

    @classmethod
    def titles(cls) -> list[str]:
        """Of the columns."""
        return [each.metadata["title"] for each in cls.shown()]

    @classmethod
    def line(cls, cells: Sequence[str], widths: Sequence[int] | None = None) -> str:
        """Columns of a fixed width; text to the left."""
        shown = cls.shown()
        widths = widths or [each.metadata["width"] for each in shown]
        padded = [
            cell.ljust(width) if str(each.type).startswith("str") else cell.rjust(width)
            for cell, width, each in zip(cells, widths, shown, strict=True)
        ]
        return "  ".join(padded).rstrip()

    def cells(self) -> list[str]:
        """The row as text, a cell a column."""
        return [_text(getattr(self, each.name), **each.metadata) for each in self.shown()]


def _text(value: Any, *, form: str | Callable[[Any], str], missing: str, **_: Any) -> str:
    if value is None:
        return missing
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
    """A table at once, its columns as wide as they must be."""
    held = list(rows)
    if not held:
        return
    lines = [held[0].titles(), *(row.cells() for row in held)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        print(held[0].line(line, widths))


# ----------------------------------------------------------------------------------------- reports


@dataclass
class Report:
    """A table that grows: printed row by row, and written after each, as a run may be cut short.

    ``name`` is that of its files. ``below`` is what else the page says, ``summary`` its last line;
    ``averages`` are further rows that follow from those there are, ``figures`` what the record
    holds beside them.
    """

    name: str
    title: str
    row_type: type[TableRow]
    notes: str
    record: dict[str, Any]
    args: argparse.Namespace
    summary: Callable[[Sequence[Any]], str] = lambda rows: f"{len(rows)} rows"
    averages: Callable[[Sequence[Any]], Sequence[Any]] = lambda rows: ()
    below: Callable[[Sequence[Any]], str] = lambda rows: ""
    figures: Callable[[Sequence[Any]], Mapping[str, Any]] = lambda rows: {}
    rows: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.record["load_average"] = {"begin": load_average(), "end": None}
        if self.args.format == "table":
            self._print(self.row_type.titles())

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
        rows = [row.cells() for row in (*self.rows, *self.averages(self.rows))]
        table = markdown_table(self.row_type.titles(), rows)
        return f"{table}\n{self.notes}{self.below(self.rows)}\n{self.summary(self.rows)}\n"

    def write(self) -> None:
        """The three files, where there is a folder for them."""
        self.record |= self.figures(self.rows)
        self.record["load_average"]["end"] = load_average()
        if self.args.output is not None:
            text = _head(self.title, self.record) + self.body()
            write_record(self.args.output, self.name, self.record, self._dicts(), text)

    def _dicts(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in (*self.rows, *self.averages(self.rows))]

    def _print(self, cells: Sequence[str]) -> None:
        from tqdm import tqdm

        tqdm.write(self.row_type.line(cells), file=sys.stdout)  # above any bar
        sys.stdout.flush()


def _head(title: str, record: Mapping[str, Any]) -> str:
    weights, place, versions = record.get("weights", []), record["machine"], record["versions"]
    told = [weights] if isinstance(weights, dict) else weights
    load = {when: ", ".join(map(str, told or ())) for when, told in record["load_average"].items()}
    parts = [
        f"Weights: {'; '.join(map(describe_weights, told))}" if told else "; ".join(versions),
        f"Device: {place.get('gpu', place['processor'])}"
        + (f", {place['cores']} cores" if "cores" in place else "")  # lines of suites tell none
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

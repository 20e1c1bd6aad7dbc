"""Where many instances come from: files, folders, batches, tables, or problems made in Python.

Each instance has a number, in the order of the sources. The process that gives out the work reads
bytes only; the processes that solve also parse, so that a bad file is a failure of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from spacevrp.formats.files import fail, unreadable
from spacevrp.formats.npz import NpzBatch
from spacevrp.many.tables import InstanceTable
from spacevrp.problems.digests import file_digest, problem_digest
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.leniency import unservable_allowed
from spacevrp.problems.problem import Problem, as_problems, is_one

#: Suffixes of files that a folder is searched for.
SUFFIXES = (".vrp", ".tsp", ".atsp", ".json", ".csv", ".txt", ".npz", ".parquet")


@dataclass(frozen=True)
class FileContent:
    """A file with one instance, not yet parsed."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Unreadable:
    """An instance that could not be read, and why."""

    reason: str


# The mapping is a document as in our JSON.
Content = Problem | FileContent | Mapping[str, Any] | Unreadable


class Item(NamedTuple):
    """An instance on its way to a worker."""

    number: int
    source: str
    content: Content


class Source(Protocol):
    """Some instances that come from one place."""

    label: str
    digest: str

    def __len__(self) -> int: ...

    def read(self, place: int) -> Content:
        """One instance; never an error."""
        ...


class Sources:
    """All instances, by their number."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self._ends = list(accumulate(map(len, sources)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def item(self, number: int) -> Item:
        """One instance, read."""
        at, place = self._find(number)
        return Item(number, self.name(number), self.sources[at].read(place))

    def name(self, number: int) -> str:
        """Where an instance comes from, in words."""
        at, place = self._find(number)
        one = self.sources[at]
        return one.label if isinstance(one, _File | _Given) else f"{one.label}[{place}]"

    def numbers(self, at: int) -> range:
        """The numbers of the instances of a source."""
        return range(self._ends[at] - len(self.sources[at]), self._ends[at])

    def _find(self, number: int) -> tuple[int, int]:
        at = bisect_right(self._ends, number)
        return at, number - self.numbers(at).start


# -------------------------------------------------------------------------------- kinds of sources


class _File:
    """A file with one instance."""

    def __init__(self, path: Path) -> None:
        self._path, self.label = path, str(path)
        try:
            self.digest = file_digest(path)
        except OSError:
            self.digest = "unreadable"

    def __len__(self) -> int:
        return 1

    def read(self, place: int) -> Content:
        try:
            return FileContent(self._path.name, self._path.read_bytes())
        except OSError as error:
            return Unreadable(str(unreadable(self._path, error)))


class _Batch:
    """An .npz file, or a table; one that is no such thing counts as one bad instance."""

    def __init__(self, path: Path, rounding: str | None) -> None:
        self.label = str(path)
        self._held: NpzBatch | InstanceTable | Unreadable
        try:
            self.digest = file_digest(path)
            if path.suffix.lower() == ".npz":
                self._held = NpzBatch(path, rounding=rounding)
            else:
                self._held = InstanceTable(path)
        except FormatError as error:
            self._held = Unreadable(str(error))
        except OSError as error:
            self.digest, self._held = "unreadable", Unreadable(str(unreadable(path, error)))

    def __len__(self) -> int:
        return 1 if isinstance(self._held, Unreadable) else len(self._held)

    def read(self, place: int) -> Content:
        if isinstance(self._held, Unreadable):
            return self._held
        try:
            with unservable_allowed():
                return self._held.instance(place)
        except SpacevrpError as error:
            return Unreadable(str(error))


class _Given:
    """A problem made in Python."""

    def __init__(self, problem: Problem, number: int) -> None:
        self._problem, self.label = problem, f"problem {number}"
        self.digest = problem_digest(problem)

    def __len__(self) -> int:
        return 1

    def read(self, place: int) -> Content:
        return self._problem


def gather(given: Any, rounding: str | None = None, output: Path | None = None) -> Sources:
    """The sources of what a caller gives: paths, problems, or several of either.

    ``output`` is where plans go, which are no instances if that is in a folder of them.

    Raises
    ------
    FormatError
        A path that is not there, or a folder without instances.
    """
    alone = isinstance(given, str | Path) or is_one(given)
    if not alone and not isinstance(given, Iterable):
        as_problems(given)  # says what was expected
    sources: list[Source] = []
    for number, entry in enumerate([given] if alone else given):
        if isinstance(entry, str | Path):
            sources += [_source(path, rounding) for path in _files(Path(entry), output)]
        else:
            (problem,), _ = as_problems([entry])
            sources.append(_Given(problem, number))
    if not sources:
        raise SpacevrpError("problems: expected at least one, received none")
    return Sources(sources)


def _source(path: Path, rounding: str | None) -> Source:
    if path.suffix.lower() in (".npz", ".parquet"):
        return _Batch(path, rounding)
    return _File(path)


def _files(path: Path, output: Path | None) -> list[Path]:
    """The file, or those of a folder and the folders in it, in the order of their names."""
    if not path.exists():
        raise fail(path, "", "a file or a folder", "nothing of that name")
    if not path.is_dir():
        return [path]
    found = [
        one
        for one in sorted(path.rglob("*"))
        if one.suffix.lower() in SUFFIXES and one.is_file()
        # Hidden ones, and what other runs say of themselves.
        if not any(part.startswith((".", "_")) for part in one.relative_to(path).parts)
        if output is None or output.absolute() not in one.absolute().parents
    ]
    if not found:
        raise fail(path, "", f"files that end in one of {', '.join(SUFFIXES)}", "none")
    return found

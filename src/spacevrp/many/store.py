"""The folder of a run: what it was asked, the parts that are finished, and who is writing.

Every file is written under another name first. A part is there whole or not at all, so what a
killed run leaves behind is a run that can go on.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spacevrp.many.rows import FAILED, Row
from spacevrp.many.sources import Sources
from spacevrp.many.tables import check_pyarrow, rows_from_parquet, rows_to_parquet
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.writing import lock_file, write_durably

FORMAT, VERSION = "spacevrp-many", 1
RowFormat = Literal["jsonl", "parquet"]
# Readers of folders of parts pass over names that begin so.
_MANIFEST, _LOCK, _FAILURES = "_manifest.json", "_lock", "_failures.jsonl"


@dataclass(frozen=True)
class Manifest:
    """What a run was asked.

    Attributes
    ----------
    asked
        Parameters that decide what comes out, by name. Where the work is done is none of them.
    part_size
        Instances of a part.
    inputs
        Label and digest of each source, in order.
    """

    asked: Mapping[str, Any]
    part_size: int
    inputs: Sequence[tuple[str, str]]


class Store:
    """The folder of a run, for the one process that has locked it."""

    def __init__(self, folder: Path, sources: Sources, rows: RowFormat, version: str) -> None:
        self.folder, self.rows = folder, rows
        self._sources, self._version = sources, version
        self.part_size = 0
        if rows == "parquet":
            check_pyarrow()

    # ---------------------------------------------------------------------------- begin and go on

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out; the system lets go of the folder where this process is killed."""
        if self.folder.exists() and not self.folder.is_dir():
            raise FormatError(f"{self.folder}: expected a folder, received something else")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            stream = (self.folder / _LOCK).open("a+")
        except OSError as error:
            raise FormatError(f"{self.folder}: cannot be written: {error.strerror}") from None
        with stream:
            if not lock_file(stream):
                stream.seek(0)
                holder = stream.read().strip() or "another process"
                raise SpacevrpError(
                    f"{self.folder}: expected a folder that no other run writes to, received that "
                    f"of {holder}"
                )
            stream.truncate(0)
            stream.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            stream.flush()
            yield

    def open(self, asked: Mapping[str, Any], part_size: int | None, usual: int) -> dict[int, Row]:
        """Begin the run, or go on with it: the rows that are there, without their plans.

        Instances that failed and have changed since are not among them.

        Raises
        ------
        SpacevrpError
            Where parameters, or instances that were solved, are other ones than before.
        """
        for left in self.folder.glob(".*"):  # half a part of a run that was killed
            left.unlink(missing_ok=True)
        found = self._read_manifest()
        now = [(one.label, one.digest) for one in self._sources.sources]
        if found is None:
            self._refuse_foreign()
            self.part_size = part_size or usual
            self._write_manifest(Manifest(asked, self.part_size, now))
            return {}
        self._compare(found, {**asked, "part_size": part_size or found.part_size})
        self.part_size = found.part_size
        known = self._known_rows()
        if list(found.inputs) != now:
            self._allow_changes(found.inputs, now, known)
            self._write_manifest(Manifest(asked, self.part_size, now))
        return known

    def _read_manifest(self) -> Manifest | None:
        path = self.folder / _MANIFEST
        if not path.exists():
            return None
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            if (held["format"], held["version"]) != (FORMAT, VERSION):
                raise ValueError
            inputs = [(str(label), str(digest)) for label, digest in held["inputs"]]
            return Manifest(held["asked"], int(held["part_size"]), inputs)
        except (OSError, ValueError, KeyError, TypeError):
            expected = f"the manifest of a run, version {VERSION}"
            raise FormatError(f"{path}: expected {expected}; choose another folder") from None

    def _write_manifest(self, manifest: Manifest) -> None:
        document = {
            "format": FORMAT,
            "version": VERSION,
            "spacevrp": self._version,
            "count": len(self._sources),
            "part_size": manifest.part_size,
            "asked": dict(manifest.asked),
            "inputs": manifest.inputs,
        }
        write_durably(self.folder / _MANIFEST, json.dumps(document, indent=1).encode() + b"\n")

    def _refuse_foreign(self) -> None:
        names = [path.name for path in sorted(self.folder.iterdir()) if path.name != _LOCK]
        if names:
            raise FormatError(
                f"{self.folder}: expected an empty folder or one of an earlier run, received one "
                f"with {names[0]!r} in it"
            )

    def _compare(self, found: Manifest, asked: Mapping[str, Any]) -> None:
        before = {**found.asked, "part_size": found.part_size}
        changed = [
            f"{name}={before.get(name)!r}, now {name}={asked.get(name)!r}"
            for name in sorted({*before, *asked})
            if before.get(name) != asked.get(name)
        ]
        if changed:
            raise SpacevrpError(
                f"{self.folder}: expected the parameters that this run was begun with, received "
                f"others: {'; '.join(changed)}; repeat them, or choose another folder"
            )

    def _allow_changes(
        self,
        before: Sequence[tuple[str, str]],
        now: Sequence[tuple[str, str]],
        known: dict[int, Row],
    ) -> None:
        """Forget failures of files that have changed; refuse every other change."""
        if len(before) != len(now):
            raise self._other_instances(f"{len(before)} sources then, {len(now)} now")
        for at, (old, new) in enumerate(zip(before, now, strict=True)):
            if old[1] == new[1]:  # files may have moved
                continue
            for number in self._sources.numbers(at):
                if known.get(number, {"status": FAILED})["status"] != FAILED:
                    raise self._other_instances(f"{new[0]} has changed since it was solved")
                known.pop(number, None)

    def _other_instances(self, what: str) -> SpacevrpError:
        return SpacevrpError(
            f"{self.folder}: expected the instances that this run was begun with, received others: "
            f"{what}; choose another folder"
        )

    # -------------------------------------------------------------------------------------- parts

    @property
    def parts(self) -> range:
        """The numbers of all parts."""
        return range(-(-len(self._sources) // self.part_size))

    def numbers(self, part: int) -> range:
        """The instances of a part."""
        first = part * self.part_size
        return range(first, min(first + self.part_size, len(self._sources)))

    def path(self, part: int) -> Path:
        """The file of a part."""
        return self.folder / f"part-{part:06d}.{self.rows}"

    def write(self, part: int, rows: Sequence[Row]) -> None:
        """Write a part; it is on the disk when this returns."""
        write_durably(self.path(part), _as_bytes(rows, self.rows))

    def all_rows(self) -> Iterator[Row]:
        """The rows of all parts, in order."""
        for part in self.parts:
            yield from self.read(part)

    def read(self, part: int) -> list[Row]:
        """The rows of a part."""
        path = self.path(part)
        try:
            if self.rows == "parquet":
                rows = rows_from_parquet(path)
            else:
                rows = [json.loads(line) for line in path.read_bytes().splitlines()]
            found = [row["index"] for row in rows]
        except (OSError, ValueError, KeyError, TypeError, FormatError):
            found = []
        numbers = self.numbers(part)
        if found != list(numbers):
            expected = f"rows of the instances {numbers[0]} to {numbers[-1]}"
            raise FormatError(
                f"{path}: expected {expected}, received others; delete it to solve them again"
            )
        return rows

    def _known_rows(self) -> dict[int, Row]:
        done = [part for part in self.parts if self.path(part).exists()]
        return {row["index"]: shortened(row) for part in done for row in self.read(part)}

    def write_failures(self, rows: Sequence[Row]) -> None:
        """A list of what has no complete plan, next to the parts; none where all have one."""
        path = self.folder / _FAILURES
        if rows:
            write_durably(path, _as_bytes([shortened(row) for row in rows], "jsonl"))
        else:
            path.unlink(missing_ok=True)


def shortened(row: Row) -> Row:
    """What is kept in memory of a row: all but the plan."""
    return {key: row[key] for key in ("index", "source", "status", "reason", "cost")}


def _as_bytes(rows: Sequence[Row], kind: RowFormat) -> bytes:
    if kind == "parquet":
        return rows_to_parquet(rows)
    lines = (json.dumps(row, allow_nan=False, ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", errors="replace")

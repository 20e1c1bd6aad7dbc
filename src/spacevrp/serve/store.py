"""Jobs and their results in SQLite: a server that is killed goes on with them when it is back."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spacevrp.problems.errors import SpacevrpError
from spacevrp.writing import lock_file

FILE, LOCK = "jobs.sqlite3", "lock"
UNFINISHED = ("queued", "running")
_PROBE = 2**18  # bytes
_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    created REAL NOT NULL,
    finished REAL,
    content_type TEXT NOT NULL,
    query TEXT NOT NULL,
    body BLOB NOT NULL,
    about TEXT NOT NULL,
    best TEXT,
    plan TEXT,
    bytes INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS probe (data BLOB);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, finished);
"""
_BYTES = "ALTER TABLE jobs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0"  # of version 0.2
_ROW = "id, state, created, finished, content_type, query, about, best, plan"


@dataclass
class Row:
    """One job as it is stored.

    ``query`` are the options of the request, ``about`` what is told of the job, ``best`` the routes
    of the best plan so far, and ``plan`` the document of the last one.
    """

    id: str
    state: str
    created: float
    content_type: str
    query: dict[str, str]
    about: dict[str, Any] = field(default_factory=dict)
    finished: float | None = None
    best: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None


class Store:
    """The table of jobs; None as folder for one in memory.

    Every write is on disk when the call returns (WAL, synchronous), or raises
    ``sqlite3.Error``. One server at a time holds a folder.
    """

    def __init__(self, folder: Path | None) -> None:
        self._lock = threading.RLock()
        self._held: Any = None
        where = ":memory:"
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._held = _hold(folder / LOCK)
            where = str(folder / FILE)
        try:
            if folder is not None:
                (folder / FILE).touch(mode=0o600)  # addresses of customers are in it
            self._base = sqlite3.connect(where, check_same_thread=False, isolation_level=None)
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")
            self._base.executescript(_SCHEMA)
            if all(column[1] != "bytes" for column in self._read("PRAGMA table_info(jobs)", ())):
                self._base.execute(_BYTES)
        except (sqlite3.Error, OSError) as error:
            raise SpacevrpError(f"{where}: cannot hold jobs: {error}") from None

    def close(self) -> None:
        """End it, and let another server have the folder."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._base.close()
        if self._held is not None:
            self._held.close()

    def add(self, row: Row, body: bytes) -> None:
        """A new job."""
        values = *_values(row), body, len(body)
        self._write(f"INSERT INTO jobs ({_ROW}, body, bytes) VALUES ({'?, ' * 10}?)", values)

    def save(self, row: Row) -> None:
        """What has become of a job."""
        texts = [_text(one) for one in (row.about, row.best, row.plan)]
        size = sum(len(text) for text in texts if text is not None)
        self._write(
            "UPDATE jobs SET state = ?, finished = ?, about = ?, best = ?, plan = ?, "
            "bytes = length(body) + ? WHERE id = ?",
            (row.state, row.finished, *texts, size, row.id),
        )

    def find(self, job: str) -> Row | None:
        """A job by its id."""
        rows = self._read(f"SELECT {_ROW} FROM jobs WHERE id = ?", (job,))
        return _row(rows[0]) if rows else None

    def body(self, job: str) -> bytes | None:
        """The body of the request that brought a job."""
        rows = self._read("SELECT body FROM jobs WHERE id = ?", (job,))
        return bytes(rows[0][0]) if rows else None

    def unfinished(self) -> list[Row]:
        """The jobs that a server has to go on with, the oldest first."""
        return [
            _row(one)
            for one in self._read(
                f"SELECT {_ROW} FROM jobs WHERE state IN (?, ?) ORDER BY number", UNFINISHED
            )
        ]

    def newest(self, count: int) -> list[Row]:
        """The jobs that came last, the newest first, without their plans."""
        columns = _ROW.replace("best, plan", "NULL, NULL")
        query = f"SELECT {columns} FROM jobs ORDER BY number DESC LIMIT ?"
        return [_row(one) for one in self._read(query, (count,))]

    def remove(self, job: str) -> bool:
        """Forget a job and all about it."""
        return self._write("DELETE FROM jobs WHERE id = ?", (job,)) > 0

    def probe(self) -> None:
        """Write something of a usual size, to see whether it can be done.

        The log is written into the file before, which may give back the place that was missing.
        """
        with self._lock:
            self._read("PRAGMA wal_checkpoint(TRUNCATE)", ())
            self._write("INSERT INTO probe VALUES (zeroblob(?))", (_PROBE,))
            self._write("DELETE FROM probe", ())

    def expire(self, seconds: float, count: int, size: int) -> int:
        """Forget finished jobs that are older, and the oldest beyond a number or so many bytes.

        Says how many.
        """
        finished = "FROM jobs WHERE finished IS NOT NULL"
        newest = f"SELECT number {finished} ORDER BY finished DESC, number DESC LIMIT ?"
        totals = "SUM(bytes) OVER (ORDER BY finished DESC, number DESC) AS total"
        beyond = f"SELECT number FROM (SELECT number, {totals} {finished}) WHERE total > ?"
        commands = (
            ("DELETE FROM jobs WHERE finished < ?", time.time() - seconds),
            (f"DELETE {finished} AND number NOT IN ({newest})", count),
            (f"DELETE FROM jobs WHERE number IN ({beyond})", size),
        )
        return sum(self._write(command, (value,)) for command, value in commands)

    def _write(self, command: str, values: tuple[Any, ...]) -> int:
        with self._lock:
            return self._base.execute(command, values).rowcount

    def _read(self, command: str, values: tuple[Any, ...]) -> list[Any]:
        with self._lock:
            return self._base.execute(command, values).fetchall()


def _hold(path: Path) -> Any:
    """The open lock of a folder.

    Raises
    ------
    SpacevrpError
        Another server has it.
    """
    stream = path.open("a")
    if not lock_file(stream):
        stream.close()
        raise SpacevrpError(f"{path.parent}: another server is using this folder")
    return stream


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, allow_nan=False)


def _values(row: Row) -> Iterator[Any]:
    yield from (row.id, row.state, row.created, row.finished, row.content_type)
    yield from map(_text, (row.query, row.about, row.best, row.plan))


def _row(values: tuple[Any, ...]) -> Row:
    job, state, created, finished, content_type = values[:5]
    query, about = (json.loads(one) for one in values[5:7])
    best, plan = (None if one is None else json.loads(one) for one in values[7:])
    return Row(job, state, created, content_type, query, about, finished, best, plan)

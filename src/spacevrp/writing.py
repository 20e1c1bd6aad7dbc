"""Files and lines that are there whole, or not at all; and files that one process has."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from spacevrp.problems.errors import FormatError

T = TypeVar("T")


def check_target(path: Path, suffix: str | None = None) -> None:
    """Refuse, before any work, a file that could not be written after it."""
    if suffix is not None and path.suffix.lower() != suffix:
        raise FormatError(f"{path}: expected a file name that ends in {suffix}")
    if path.exists() and not path.is_file() and not path.is_char_device():
        raise FormatError(f"{path}: expected a file, received something else of that name")
    if not path.parent.is_dir():
        raise FormatError(f"{path}: cannot be written: there is no folder {path.parent}")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file that replaces the target at the end, so that no half file is ever seen."""
    # It keeps the suffix, which tells some writers what to write.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise FormatError(f"{path}: cannot be written: {error.strerror}") from None
    except FormatError as error:
        raise FormatError(str(error).replace(str(temporary), str(path))) from None
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file at once."""
    if path.is_char_device():  # /dev/stdout and the like cannot be replaced
        path.write_bytes(data)
        return
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_durably(path: Path, data: bytes) -> None:
    """Write a file at once; it survives a loss of power when this returns."""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    if os.name == "posix":  # the name, too; elsewhere folders cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def append_line(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line of JSON to a file; it is there whole before this returns."""
    data = json.dumps(dict(line), allow_nan=False).encode() + b"\n"
    with path.open("ab+") as stream:
        # Without this, what follows a line that was cut off would be lost with it.
        if stream.tell():
            stream.seek(-1, 2)
            if stream.read(1) != b"\n":
                stream.seek(0)
                stream.truncate(stream.read().rfind(b"\n") + 1)
                stream.seek(0, 2)
        stream.write(data)


def read_lines(path: Path, parse: Callable[[dict[str, Any]], T], what: str) -> list[T]:
    """Every line of a file through ``parse``, which raises KeyError, TypeError or ValueError.

    There need be no file. The last line may have been cut off by an interruption and is then left
    out; ``what`` says in an error what a line should have been.
    """
    texts = path.read_bytes().splitlines() if path.exists() else []
    parsed = []
    for number, text in enumerate(texts, start=1):
        try:
            parsed.append(parse(json.loads(text)))
        except (ValueError, TypeError, KeyError):
            if number < len(texts):
                raise FormatError(
                    f"{path}: line {number}: expected {what}; delete the file to start afresh"
                ) from None
    return parsed


def lock_file(stream: IO[str]) -> bool:
    """Whether this process has the file now; it has it until it closes it, or ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

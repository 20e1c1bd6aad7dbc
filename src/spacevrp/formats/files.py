"""Files opened with care: what every format shares before it knows what it reads."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from spacevrp.problems.errors import FormatError
from spacevrp.problems.warning import warn as warn_caller

# A larger text file is no routing instance; refusing it early keeps memory in bounds.
MAX_TEXT_BYTES = 512 * 2**20
# This much of a file decides what it is.
HEAD_BYTES = 64 * 2**10
_LONGEST_SHOWN = 60
# A file may hold thousands of things that mean nothing here.
_MOST_WARNINGS = 10

# Control characters that no text file has; tab, newline, form feed, return and ^Z occur in some.
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f]")
_TSPLIB_KEY = re.compile(
    rb"^[ \t]*(NAME|TYPE|COMMENT|DIMENSION|CAPACITY|EDGE_WEIGHT_TYPE)[ \t]*:", re.I | re.M
)
_SOLOMON_HEADING = re.compile(rb"^[ \t]*(VEHICLE|CUSTOMER)[ \t]*\r?$", re.I | re.M)
# How many numbers stand in the first two lines that hold anything.
_ROWS_OF_NUMBERS = {(3, 9): "lilim", (4, 2): "cordeau"}
_NUMBER = re.compile(rb"[-+.\deE]+")
_TWO_LINES = 2**10
# Possessive (*+), so that a line of thousands of blanks is not tried in every way to part them.
_SOL_LINE = re.compile(rb"^[ \t]*+Route[ \t]*+#?[ \t]*+\d*+[ \t]*+:", re.I | re.M)


class FormatWarning(UserWarning):
    """Something in a file that was left out, by name."""


def fail(path: Path, where: str, expected: str, received: object) -> FormatError:
    """The error for a file: where, what was expected there and what stands there."""
    place = f"{path}: {where}" if where else str(path)
    return FormatError(f"{place}: expected {expected}, received {shown(received)}")


def shown(value: object) -> str:
    """A value for a message: never more than a line, whatever the file holds."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text[: _LONGEST_SHOWN + 1])
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."


def warn(path: Path, message: str) -> None:
    """Say what a reader leaves out."""
    warn_caller(f"{path}: {message}", FormatWarning)


def warn_left_out(path: Path, notes: Sequence[str]) -> None:
    """Say what a reader leaves out, a line each; beyond a few, only how many more there are."""
    for note in notes[:_MOST_WARNINGS]:
        warn(path, f"{note} left out")
    if len(notes) > _MOST_WARNINGS:
        warn(path, f"and {len(notes) - _MOST_WARNINGS} more left out")


def read_head(path: Path, expected: str = "an instance or a solution") -> bytes:
    """The first bytes of a regular, non-empty file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # A pipe or a device would never end; a directory has no text.
            kind = "a directory" if path.is_dir() else "something else"
            raise fail(path, "", "a regular file", kind)
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise unreadable(path, error) from None
    if not head.strip():
        raise fail(path, "", expected, "an empty file")
    return head


def unreadable(path: Path, error: Exception) -> FormatError:
    """The error for a file the system does not hand over."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return FormatError(f"{path}: cannot be read: {reason}")


def sniff(head: bytes) -> str | None:
    """The format a file's first bytes show: its name in ``formats``, or None."""
    if head.startswith(b"PK\x03\x04"):
        return "npz"
    if _BINARY.search(head):
        return None
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"{", b"["):
        return "json"
    if _SOL_LINE.search(text):  # before the keys: these files may have a COMMENT, too
        return "sol"
    if _TSPLIB_KEY.search(text):
        return "vrplib"
    if _SOLOMON_HEADING.search(text):
        return "solomon"
    rows = [line.split() for line in text[:_TWO_LINES].splitlines() if line.strip()][:2]
    if all(_NUMBER.fullmatch(token) for row in rows for token in row):
        return _ROWS_OF_NUMBERS.get(tuple(map(len, rows)))  # type: ignore[arg-type]
    return None


def check_text(path: Path) -> None:
    """Refuse what cannot be text by its first bytes and its size, before any of it is parsed."""
    head = read_head(path)
    control = _BINARY.search(head)
    if control:
        raise fail(path, "", "a text file", f"a binary byte at offset {control.start()}")
    size = path.stat().st_size
    if size > MAX_TEXT_BYTES:
        raise fail(path, "", f"at most {MAX_TEXT_BYTES} bytes of text", f"{size} bytes")


def check_kind(path: Path, kind: str, *, expected: str) -> None:
    """Refuse a text file whose beginning does not show a format, before any of it is parsed."""
    check_text(path)
    found = sniff(read_head(path))
    if found != kind:
        received = f"what looks like {found}" if found else "nothing of the kind"
        raise fail(path, "", expected, received)


def read_text(path: Path) -> str:
    """The whole of a text file in UTF-8."""
    check_text(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from None
    except (OSError, MemoryError) as error:
        raise unreadable(path, error) from None


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number, line without its end), one at a time, of a text file in UTF-8."""
    check_text(path)
    try:
        with path.open(encoding="utf-8-sig") as stream:
            for number, line in enumerate(stream, start=1):
                yield number, line.strip()
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from None
    except OSError as error:
        raise unreadable(path, error) from None


def _not_utf8(path: Path, error: UnicodeDecodeError) -> FormatError:
    return fail(path, "", "UTF-8 text", f"byte {error.object[error.start]:#04x}")


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file."""
    try:
        path.write_bytes(data)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FormatError(f"{path}: cannot be written: {reason}") from None

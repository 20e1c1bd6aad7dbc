"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spacevrp.problems.errors import FormatError


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
    """A draft beside the target that takes its place at the end: nobody ever sees half a file."""
    # It keeps the suffix, which tells some writers what to write.
    draft = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise FormatError(f"{path}: cannot be written: {error.strerror}") from None
    except FormatError as error:
        raise FormatError(str(error).replace(str(draft), str(path))) from None
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file at once."""
    if path.is_char_device():  # /dev/stdout and the like cannot be replaced
        path.write_bytes(data)
        return
    with replacing(path) as draft:
        draft.write_bytes(data)

"""The arrays of an .npz archive, read without trusting it.

A member is read only after its size, its type and its shape agree with each other, so that neither
a crafted header nor a crafted archive can make the reader allocate what the file does not hold.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from spacevrp.formats.files import fail, read_head, shown, write_bytes
from spacevrp.problems.errors import FormatError

# The most an archive may hold once unpacked, and the most it may shrink when it is large: random
# coordinates or distances shrink a few times, zeros more than a thousand times.
MAX_UNPACKED_BYTES = 16 * 2**30
MAX_RATIO = 200
_SMALL_BYTES = 256 * 2**20
# The most numbers for each packed byte where there are many: small types are held as float64, and
# an instance takes a while to build, so that kilobytes of zeros must not become gigabytes or hours.
MAX_NUMBERS_A_BYTE = 64
_FEW_NUMBERS = 2**15
_SUFFIX = ".npy"


class Archive:
    """An open .npz file: names first, arrays on demand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not read_head(path).startswith(b"PK"):
            raise fail(path, "", "an .npz archive", "no zip file")
        try:
            self._zip = zipfile.ZipFile(path)
        except Exception as error:  # whatever a damaged directory makes zipfile raise
            raise FormatError(f"{path}: damaged archive: {shown(str(error))}") from None
        members = self._zip.infolist()
        self._members = {info.filename.removesuffix(_SUFFIX): info for info in members}
        if len(self._members) < len(members):
            self.close()
            raise fail(path, "", "every key once", "a key twice")
        unpacked = sum(info.file_size for info in members)
        packed = max(1, sum(info.compress_size for info in members))
        if unpacked > MAX_UNPACKED_BYTES or (
            unpacked > _SMALL_BYTES and unpacked > MAX_RATIO * packed
        ):
            self.close()
            raise fail(
                path,
                "",
                f"at most {MAX_UNPACKED_BYTES} bytes and at most {MAX_RATIO} times the archive",
                f"{unpacked} bytes from {packed}",
            )

    def check_numbers(self, keys: Iterable[str]) -> None:
        """Refuse, before any is read, arrays that promise far more than the archive holds."""
        packed = max(1, sum(info.compress_size for info in self._members.values()))
        total = 0
        for key in keys:
            try:
                info = self._members[key]
                with self._zip.open(info) as stream:
                    # A shape beyond the data is told apart when the array is read.
                    total += min(math.prod(_read_header(stream)[0]), info.file_size)
            except Exception as error:  # as below
                raise self._unreadable(key, error) from None
        if total > _FEW_NUMBERS and total > MAX_NUMBERS_A_BYTE * packed:
            raise fail(
                self.path,
                "",
                f"at most {MAX_NUMBERS_A_BYTE} numbers for each packed byte (np.savez packs less)",
                f"{total} numbers in {packed} bytes",
            )

    def _unreadable(self, key: str, error: Exception) -> FormatError:
        return FormatError(f"{self.path}: key {shown(key)}: {shown(str(error))}")

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the arrays, in the order of the file."""
        return tuple(self._members)

    def close(self) -> None:
        """Release the file."""
        self._zip.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getitem__(self, key: str) -> NDArray[Any]:
        """One array; object arrays are refused, nothing is unpickled."""
        info = self._members[key]
        try:
            with self._zip.open(info) as stream:
                shape, fortran_order, dtype = _read_header(stream)
                if dtype.hasobject:
                    raise ValueError("an array of objects, expected numbers")
                start = stream.tell()
                size = math.prod(shape) * dtype.itemsize
                if size != info.file_size - start:
                    raise ValueError(
                        f"{info.file_size - start} bytes of data, expected {size} for shape {shape}"
                    )
                data = stream.read(size)
                if len(data) != size or stream.read(1):
                    raise ValueError("the data end early")
            flat = np.frombuffer(data, dtype=dtype)
            return flat.reshape(shape, order="F" if fortran_order else "C")
        except Exception as error:  # zipfile, zlib and the header's parser raise a dozen types
            raise self._unreadable(key, error) from None


def _read_header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(stream)
    if version == (1, 0):
        header = npy.read_array_header_1_0(stream)
    elif version == (2, 0):
        header = npy.read_array_header_2_0(stream)
    else:
        raise ValueError(f"version {version} of the .npy format, expected 1.0 or 2.0")
    shape, fortran_order, dtype = header
    if any(length < 0 for length in shape):
        raise ValueError(f"shape {shape}")
    return shape, fortran_order, dtype


def write_archive(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays in the order given. The same arrays give the same bytes: no clock goes in."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            member = zipfile.ZipInfo(key + _SUFFIX)  # dated 1980 unless told otherwise
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as stream:
                npy.write_array(stream, np.asarray(array, order="C"), allow_pickle=False)
    write_bytes(path, buffer.getvalue())

"""Hostile batches: arrays of wrong types, shapes and numbers, and archives that lie."""

from __future__ import annotations

import io
import warnings
import zipfile
from typing import Any

import numpy as np
from fuzz_corpus import batches, pack
from hostile_text import flip, flips, numbers
from hypothesis import strategies as st

_DTYPES = (
    "f2", "f4", "i1", "u8", "i8", "c16", "U3", "S4", "O", "bool", "M8[s]", "m8[s]", "g", "f8",
)  # fmt: skip


def _cast(array: Any, number: int, value: float) -> Any:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(array).astype(_DTYPES[number % len(_DTYPES)])
    except (TypeError, ValueError, OverflowError):
        return np.array([object()], dtype=object)


def _reshape(array: Any, number: int, value: float) -> Any:
    array = np.asarray(array)
    changes = (
        lambda: array[None],
        lambda: array.reshape(-1),
        lambda: array[..., :-1] if array.ndim else array[None],
        lambda: array[:0] if array.ndim else np.zeros(0),
        lambda: np.concatenate([array, array]) if array.ndim else np.stack([array, array]),
        lambda: array.T,
        lambda: array[:1] if array.ndim else array,
        lambda: np.asfortranarray(array),
        lambda: np.zeros((0, 5, 2)),
        lambda: np.zeros((1, 1, 1)),
    )
    return changes[number % len(changes)]()


def _poison(array: Any, number: int, value: float) -> Any:
    array = np.array(array)
    if array.dtype.kind not in "iuf" or not array.size:
        return np.array(value)
    array = array.astype(np.float64)
    array.flat[number % array.size] = value
    return array


def _refill(array: Any, number: int, value: float) -> Any:
    return np.full(np.shape(array), value)


def _retype(array: Any, number: int, value: float) -> Any:
    names = ("TSP", "OP", "CVRPTW", "AMDOCVRPBPLTW", "PDCVRP", "ACVRP", "", "x" * 500, "cvrp", "\0")
    return np.array(names[number % len(names)])


def _bloat(array: Any, number: int, value: float) -> Any:
    """Zeros that take a thousandth of their size in the archive."""
    return np.zeros((1, 100_000 * (1 + number % 20), 2), dtype=np.int8)


_ARRAY_OPERATIONS = (_cast, _reshape, _poison, _poison, _poison, _refill, _retype, _bloat)
_POISONS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 1e99, 5e-324, 0.5, 3.0, 1e30)
_NPZ_KEYS = (
    *("variant", "num_depots", "coords", "matrix", "demand", "capacity", "max_length", "tw"),
    *("service", "prize", "penalty", "min_prize", "revealed_prize", "ref_x", "other", "a/b", ""),
)


@st.composite
def damaged_npz(draw: st.DrawFn) -> tuple[str, bytes]:
    """(name, content) of a batch with wrong arrays, or of an archive with something wrong in it."""
    held = batches()
    name = draw(st.sampled_from(sorted(held)))
    arrays = dict(held[name])
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from(sorted(arrays))) if arrays else "coords"
        kind = draw(st.integers(0, 9))
        if kind == 0 and arrays:
            del arrays[key]
        elif kind == 1:
            arrays[draw(st.sampled_from(_NPZ_KEYS))] = arrays.get(key, np.zeros(1))
        else:
            operate = draw(st.sampled_from(_ARRAY_OPERATIONS))
            number, value = draw(numbers), draw(st.sampled_from(_POISONS))
            arrays[key] = operate(arrays.get(key, np.zeros(1)), number, value)
    data = pack(arrays)
    damage = draw(st.integers(0, 9))
    if damage == 0:
        for place, value in draw(flips):
            data = flip(data, place, value)
    elif damage == 1:
        data = data[: draw(st.integers(0, len(data)))]
    elif damage == 2:  # a header that promises more, less or nonsense
        old = draw(st.sampled_from((b"'shape': (", b"'descr': '<f8'", b"'fortran_order': False")))
        shapes = (b"'shape': (-1", b"'shape': (9" + b"9" * 30, b"'descr': '|O'", b"'descr': [('a'")
        data = _in_headers(arrays, old, draw(st.sampled_from((*shapes, b"__import__('os')"))))
    elif damage == 3:
        data = _as_member(
            data, draw(st.sampled_from(("coords.npy", "coords", "variant.npy", "..")))
        )
    return f"{name}.npz", data


def _in_headers(arrays: dict[str, Any], old: bytes, new: bytes) -> bytes:
    """The archive with a part of every header replaced; lengths keep agreeing."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w") as archive,
        zipfile.ZipFile(io.BytesIO(pack(arrays))) as whole,
    ):
        for info in whole.infolist():
            data = whole.read(info)
            length = int.from_bytes(data[8:10], "little")
            header = data[10 : 10 + length].replace(old, new)
            start = data[:8] + len(header).to_bytes(2, "little")
            archive.writestr(zipfile.ZipInfo(info.filename), start + header + data[10 + length :])
    return stream.getvalue()


def _as_member(data: bytes, name: str) -> bytes:
    """An archive in an archive, twice."""
    for _ in range(2):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr(zipfile.ZipInfo(name), data)
        data = stream.getvalue()
    return data

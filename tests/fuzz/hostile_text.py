"""Hostile text and bytes: valid files damaged step by step, and ones made of a format's own words.

Every strategy draws a short list of operations, so that a failing file shrinks to the one or two
that matter.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

from fuzz_corpus import files, text_files
from hostile_words import PLAIN_TOKENS, TOKENS, WORDS
from hypothesis import strategies as st

numbers = st.integers(0, 2**16)


def _at_line(change: Callable[[list[str], int, str, int], None]) -> Callable[..., str]:
    def operate(text: str, place: int, other: int, token: str) -> str:
        lines = text.split("\n")
        change(lines, place % len(lines), token, other)
        return "\n".join(lines)

    return operate


def _drop(lines: list[str], at: int, token: str, other: int) -> None:
    del lines[at]


def _double(lines: list[str], at: int, token: str, other: int) -> None:
    lines[at:at] = [lines[at]] * (1 + other % 3)


def _swap(lines: list[str], at: int, token: str, other: int) -> None:
    second = other % len(lines)
    lines[at], lines[second] = lines[second], lines[at]


def _insert(lines: list[str], at: int, token: str, other: int) -> None:
    lines.insert(at, token)


def _overwrite(lines: list[str], at: int, token: str, other: int) -> None:
    lines[at] = token


def _retoken(lines: list[str], at: int, token: str, other: int) -> None:
    """Another word in the place of one, whatever separates them."""
    for mark in (",", ";", ":", None):
        words = lines[at].split(mark)
        if len(words) > 1:
            words[other % len(words)] = token
            lines[at] = (mark or " ").join(words)
            return
    lines[at] = token


def _renumber(lines: list[str], at: int, token: str, other: int) -> None:
    """A sensible number in the place of a word."""
    _retoken(lines, at, PLAIN_TOKENS[other // 11 % len(PLAIN_TOKENS)], other)


def _extend(lines: list[str], at: int, token: str, other: int) -> None:
    lines[at] += f" {token}" if other % 2 else f",{token}"


def _borrow(lines: list[str], at: int, token: str, other: int) -> None:
    """A line of some other file."""
    held = list(text_files().values())
    foreign = held[other % len(held)].split("\n")
    lines.insert(at, foreign[other // 7 % len(foreign)])


def _cut(text: str, place: int, other: int, token: str) -> str:
    return text[: place % (len(text) + 1)]


def _cut_out(text: str, place: int, other: int, token: str) -> str:
    start = place % (len(text) + 1)
    return text[:start] + text[start + other % 12 :]


def _push_in(text: str, place: int, other: int, token: str) -> str:
    start = place % (len(text) + 1)
    return text[:start] + token + text[start:]


def _line_ends(text: str, place: int, other: int, token: str) -> str:
    return text.replace("\n", ("\r\n", "\r", "\x0b", "\n\n", " ")[place % 5])


_TEXT_OPERATIONS: tuple[Callable[..., str], ...] = (
    *map(_at_line, (_drop, _double, _swap, _insert, _overwrite, _retoken, _retoken, _retoken)),
    *[_at_line(_renumber)] * 16,  # most of what is read is read because of these
    *map(_at_line, (_extend, _borrow)),
    *(_cut, _cut_out, _push_in, _line_ends),
)
text_operation = st.tuples(
    st.sampled_from(_TEXT_OPERATIONS), numbers, numbers, st.sampled_from(TOKENS)
)


def some(operation: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """One operation as often as several: after several, most files are refused for the first."""
    return st.one_of(st.lists(operation, min_size=1, max_size=1), st.lists(operation, max_size=4))


text_operations = some(text_operation)


def flip(data: bytes, place: int, value: int) -> bytes:
    if not data:
        return bytes([value])
    at = place % len(data)
    return data[:at] + bytes([value]) + data[at + 1 :]


flips = st.lists(st.tuples(numbers, st.integers(0, 255)), max_size=2)


@st.composite
def damaged_text(draw: st.DrawFn, suffixes: tuple[str, ...]) -> tuple[str, bytes]:
    """(name, content) of a text file of one of the formats, a few things wrong with it."""
    held = text_files()
    name = draw(st.sampled_from([name for name in held if name.endswith(suffixes)]))
    text = held[name]
    for operate, place, other, token in draw(text_operations):
        text = operate(text, place, other, token)
    data = text.encode("utf-8", errors="surrogatepass")
    for place, value in draw(flips) if draw(st.integers(0, 5)) == 0 else ():
        data = flip(data, place, value)
    return name, data


@st.composite
def spoken_vrplib(draw: st.DrawFn) -> tuple[str, bytes]:
    """A VRPLIB file made of the format's own words in any order."""
    heads = ("TYPE", "DIMENSION", "CAPACITY", "EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT", "VEHICLES",
             "VEHICLES_MAX_DURATION", "RELEASE_TIME")  # fmt: skip
    kinds = ("TSP", "ATSP", "CVRP", "VRPTW", "VRPB", "OVRP", "MDVRP", "EXPLICIT", "EUC_2D", "GEO",
             "GVRP", "HFVRP", "MDVRPTW", "MTVRPTWR", "PCVRPTW", "SDVRPTW", "PDPTW")  # fmt: skip
    values = st.sampled_from((*kinds, "FULL_MATRIX", "LOWER_DIAG_ROW", "2", "3", *TOKENS[:40]))
    parts = [
        f"{draw(st.sampled_from(heads))} : {draw(values)}" for _ in range(draw(st.integers(1, 6)))
    ]
    sections = ("NODE_COORD", "DEMAND", "DEPOT", "EDGE_WEIGHT", "TIME_WINDOW", "BACKHAUL", "FIXED",
                "CAPACITY", "VEHICLES_DEPOT", "VEHICLES_ALLOWED_CLIENTS", "PRIZE",
                "MUTUALLY_EXCLUSIVE_GROUP", "PICKUP_AND_DELIVERY")  # fmt: skip
    number = st.sampled_from(("0", "1", "2", "3", "5", "-1", "2.5", *TOKENS[:16]))
    for _ in range(draw(st.integers(0, 4))):
        parts.append(f"{draw(st.sampled_from(sections))}_SECTION")
        rows = draw(st.lists(st.lists(number, min_size=1, max_size=4), max_size=4))
        parts += [" ".join(row) for row in rows]
    return "spoken.vrp", "\n".join(parts).encode()


@st.composite
def spoken_csv(draw: st.DrawFn) -> tuple[str, bytes]:
    """A table of stops with columns and cells of any kind."""
    mark = draw(st.sampled_from(",;\t"))
    columns = draw(st.lists(st.sampled_from(WORDS[:24]), min_size=1, max_size=8))
    if draw(st.booleans()):
        columns = ["x", "y", *dict.fromkeys(name for name in columns if name not in "xy")]
    cells = st.sampled_from(("0", "1", "2", "3", "4.5", "", *TOKENS[:60]))
    rows = draw(st.lists(st.lists(cells, min_size=len(columns), max_size=len(columns)), max_size=5))
    return "spoken.csv", "\n".join(mark.join(row) for row in (columns, *rows)).encode()


def _any_bytes() -> st.SearchStrategy[bytes]:
    """Noise, and beginnings of files with noise behind them."""
    heads = st.sampled_from(
        (b"", b"PK\x03\x04", b"{", b"[", b"TYPE : CVRP\n", b"VEHICLE\n", b"id,x")
    )
    return st.tuples(heads, st.binary(max_size=200)).map(b"".join)


@st.composite
def damaged_bytes(draw: st.DrawFn) -> tuple[str, bytes]:
    """Any file with bytes changed, under its own name or that of another format; or noise."""
    held = files()
    name = draw(st.sampled_from(sorted(held)))
    data = held[name]
    kind = draw(st.integers(0, 4))
    if kind == 0:
        data = draw(_any_bytes())
    elif kind == 1:
        data = gzip.compress(data, mtime=0)
    elif kind == 2:
        data = held[draw(st.sampled_from(sorted(held)))] + data
    else:
        for place, value in draw(
            st.lists(st.tuples(numbers, st.integers(0, 255)), min_size=1, max_size=4)
        ):
            data = flip(data, place, value)
    name = draw(st.sampled_from((name, name, "case", "case.vrp", "case.csv", "case.json")))
    return name, data

"""Every row of the paper's attribute tables against the table the package derives from flags."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from spacevrp.problems.features import ATTRIBUTE_NAMES
from spacevrp.problems.variants import VARIANTS

TABLE = Path(__file__).with_name("paper_attributes.csv")


def read_table() -> tuple[list[str], list[tuple[str, tuple[int, ...]]]]:
    """The header and the rows (name, bits) of the table, comments left out."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    return header, [(name, tuple(int(bit) for bit in bits)) for name, *bits in rows]


HEADER, ROWS = read_table()


@pytest.mark.parametrize(("name", "bits"), ROWS, ids=[name for name, _ in ROWS])
def test_row(name: str, bits: tuple[int, ...]) -> None:
    assert VARIANTS[name].attributes == bits


def test_columns_are_the_attributes_in_order() -> None:
    assert tuple(HEADER[1:]) == ATTRIBUTE_NAMES


def test_table_and_package_know_the_same_110_names() -> None:
    names = [name for name, _ in ROWS]
    assert len(names) == len(set(names)) == 110
    assert set(names) == set(VARIANTS)

"""The grammar of names, what a wrong name is told, and every row of the paper's tables."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.problems.errors import VariantError
from spacevrp.problems.features import ATTRIBUTE_NAMES, Features
from spacevrp.problems.variants import (
    VARIANTS,
    describe_features,
    name_features,
    nearest_names,
    parse_variant,
)


def complaint(name: object) -> str:
    with pytest.raises(VariantError) as caught:
        parse_variant(name)  # type: ignore[arg-type]
    return str(caught.value)


def test_names_and_flags_are_one_to_one() -> None:
    assert len({variant.features for variant in VARIANTS.values()}) == 110
    for name, variant in VARIANTS.items():
        assert variant.name == name
        assert parse_variant(name) is variant
        assert name_features(variant.features) == name
        assert describe_features(variant.features) == name


def test_flags_without_a_name_are_spelled_out() -> None:
    features = Features(depot=True, several_routes=True, time_windows=True)
    assert name_features(features) is None
    assert describe_features(features) == "depot+several_routes+time_windows"
    paired = replace(VARIANTS["PDCVRP"].features, time_windows=True)
    assert describe_features(paired).endswith("time_windows+pickup_delivery")


@pytest.mark.parametrize(("name", "fault", "nearest"), [
    # After a legal start, the first letter that no legal name continues with.
    ("CVRPX", "letter 5 ('X') is wrong: after 'CVRP' comes B or L or T or the end", "CVRP"),
    ("XCVRP", "letter 1 ('X') is wrong: after '' comes A or C or M or O or P or S or T", "CVRP"),
    ("CVRPLB", "letter 6 ('B') is wrong: after 'CVRPL' comes T or the end", "CVRPL"),
    ("CVRPTWL", "letter 7 ('L') is wrong: after 'CVRPTW' comes the end", "CVRPTW"),
    ("OMDCVRP", "letter 2 ('M') is wrong: after 'O' comes C or P", "MDCVRP"),
    ("MDTSP", "letter 3 ('T') is wrong: after 'MD' comes C or O", "PDTSP"),
    ("cvrptw", "letter 1 ('c') is wrong", "CVRPTW"),
    ("CVRP ", "letter 5 (' ') is wrong", "CVRP"),
    ("ACVRPT", "it stops after 'ACVRPT', where W should follow", "ACVRP"),
    ("A", "it stops after 'A', where C or M or O or P or S or T should follow", "AOP"),
    ("VRPTW", "letter 1 ('V') is wrong", "CVRPTW"),
])  # fmt: skip
def test_an_illegal_name_is_told_the_wrong_letter_and_the_nearest_names(name, fault, nearest):
    message = complaint(name)
    assert message.startswith(f"variant {name!r} is not legal: {fault}")
    names = message.rpartition("nearest: ")[2].split(", ")
    assert len(names) == 3
    assert nearest in names
    assert set(names) <= set(VARIANTS)


def test_nearest_names_are_ranked_by_letters_to_change() -> None:
    assert nearest_names("CVRPTV")[0] == "CVRPTW"
    assert nearest_names("CVRP") == ("CVRP", "ACVRP", "CVRPB")  # 0, 1, 1 letters
    assert nearest_names("AMDOCVRPBPLTX")[0] == "AMDOCVRPBPLTW"


@pytest.mark.parametrize("name", ["", None, 5, 5.0, True, b"CVRP", ["CVRP"], {"CVRP"}, object()])
def test_what_is_no_name_at_all(name: object) -> None:
    message = complaint(name)
    assert "expected one of the 110 names such as CVRPTW, received " in message


@given(st.text(alphabet="ABCDLMOPRSTVW", max_size=15) | st.text(max_size=15))
def test_any_text_is_a_name_or_a_variant_error(name: str) -> None:
    if name in VARIANTS:
        assert parse_variant(name).name == name
    else:
        assert "\n" not in complaint(name)


# ------------------------------------------------------------------------------- the paper's tables


TABLE = Path(__file__).with_name("paper_attributes.csv")


def read_table() -> tuple[list[str], list[tuple[str, tuple[int, ...]]]]:
    """The header and the rows (name, bits) of the table, comments left out."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    return header, [(name, tuple(int(bit) for bit in bits)) for name, *bits in rows]


HEADER, ROWS = read_table()


@pytest.mark.parametrize(("name", "bits"), ROWS, ids=[name for name, _ in ROWS])
def test_a_row_of_the_paper(name: str, bits: tuple[int, ...]) -> None:
    assert VARIANTS[name].attributes == bits


def test_columns_are_the_attributes_in_order() -> None:
    assert tuple(HEADER[1:]) == ATTRIBUTE_NAMES


def test_table_and_package_know_the_same_110_names() -> None:
    names = [name for name, _ in ROWS]
    assert len(names) == len(set(names)) == 110
    assert set(names) == set(VARIANTS)

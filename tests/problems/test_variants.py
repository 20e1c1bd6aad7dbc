"""The grammar of names, and what a wrong name is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.problems.errors import VariantError
from spacevrp.problems.features import Features
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


def test_the_grammar_has_96_capacitated_names_and_14_others() -> None:
    others = {"TSP", "OP", "PCTSP", "SPCTSP", "PDTSP", "PDCVRP", "OPDCVRP"}
    others |= {f"A{name}" for name in others}
    assert len(others) == 14
    assert others <= set(VARIANTS)
    capacitated = set(VARIANTS) - others
    assert len(capacitated) == 96
    assert all("CVRP" in name for name in capacitated)
    assert max(VARIANTS, key=len) == "AMDOCVRPBPLTW"


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
    assert nearest_names("AMDOCVRPBPLTX", count=1) == ("AMDOCVRPBPLTW",)


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

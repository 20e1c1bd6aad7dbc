"""``spacevrp variants``."""

from __future__ import annotations

import json

import pytest

from spacevrp.cli.main import main


@pytest.fixture
def records(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    assert main(["variants", "--format", "json"]) == 0
    return {record["name"]: record for record in json.loads(capsys.readouterr().out)}


@pytest.fixture
def table(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["variants"]) == 0
    return capsys.readouterr().out.splitlines()


def test_json_lists_110_names_of_which_12_are_seen(records: dict[str, dict[str, object]]) -> None:
    assert len(records) == 110
    seen = "ATSP TSP CVRP ACVRP OP PCTSP PDTSP CVRPTW OCVRP CVRPB OCVRPTW ACVRPBTW"
    assert {name for name, record in records.items() if record["seen"]} == set(seen.split())


def test_json_gives_the_attribute_bits_and_the_flags(
    records: dict[str, dict[str, object]],
) -> None:
    # Bits: demand prize penalty time depot pickup backhaul delivery sub-routes open.
    assert records["TSP"]["attributes"] == [0] * 10
    assert records["TSP"]["flags"] == []
    assert records["OCVRPTW"]["attributes"] == [1, 0, 0, 1, 1, 0, 0, 1, 1, 1]
    assert set(records["OCVRPTW"]["flags"]) == {
        "depot",
        "several_routes",
        "open_routes",
        "capacity",
        "time_windows",
    }


def test_table_has_one_aligned_row_per_name(table: list[str]) -> None:
    header, *rows = table
    assert header.split() == ["name", "seen", "flags", "attributes"]
    assert len(rows) == 110
    start = header.index("attributes")
    assert all(len(row) == start + 10 and set(row[start:]) <= {"0", "1"} for row in rows)


def test_table_rows_say_what_they_mean(table: list[str]) -> None:
    rows = {row.split()[0]: row.split()[1:] for row in table}
    assert rows["TSP"] == ["seen", "-", "0000000000"]
    assert rows["ASPCTSP"] == [
        "unseen",
        *("asymmetric", "depot", "prize_collecting", "stochastic_prizes"),
        "0110100000",
    ]


def test_help_names_the_bits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["variants", "--help"]) == 0
    assert "demand, prize, penalty, time" in capsys.readouterr().out

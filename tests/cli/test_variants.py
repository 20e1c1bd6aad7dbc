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


def test_table_has_one_aligned_row_per_name(table: list[str]) -> None:
    header, *rows = table
    assert header.split() == ["name", "seen", "flags", "attributes"]
    assert len(rows) == 110
    start = header.index("attributes")
    assert all(len(row) == start + 10 and set(row[start:]) <= {"0", "1"} for row in rows)

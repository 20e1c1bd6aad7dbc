"""``spacevrp variants``."""

from __future__ import annotations

import json

import pytest

from spacevrp.cli.main import main


def test_json_lists_110_names_of_which_12_are_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["variants", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert len({record["name"] for record in records}) == 110
    seen = "ATSP TSP CVRP ACVRP OP PCTSP PDTSP CVRPTW OCVRP CVRPB OCVRPTW ACVRPBTW"
    assert {record["name"] for record in records if record["seen"]} == set(seen.split())


def test_table_has_one_aligned_row_per_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["variants"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "seen", "flags", "attributes"]
    assert len(rows) == 110
    start = header.index("attributes")
    assert all(len(row) == start + 10 and set(row[start:]) <= {"0", "1"} for row in rows)

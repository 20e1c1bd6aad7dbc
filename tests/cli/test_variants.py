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

"""``spacevrp bench scaling``: real rows of small sizes, exponents by hand, records, a picture."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

from spacevrp.bench import memory, scaling
from spacevrp.bench.memory import exponents
from spacevrp.bench.scaling import ScalingProbe, ScalingRow
from spacevrp.cli.main import main
from spacevrp.generators import generate
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.model.weights import save_weights

TINY = ModelConfig(width=16, layers=1, feedforward=16, pivots=2, rank=2, heads=1)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = SpaceModel(TINY)
    return str(save_weights(tmp_path_factory.mktemp("weights") / "tiny", model, {}))


def probe(size: int, weights: str | None) -> ScalingProbe:
    return ScalingProbe(size, 2, 3, 5, "cpu", 1, weights)


def row(size: int, **measured: object) -> ScalingRow:
    return ScalingRow(size, "cpu", 1, 1, 8, 32, **measured)


def test_a_size_is_really_solved(weights: str) -> None:
    found = scaling.run_probe(probe(40, weights))
    assert found["violations"] == 0
    # The bill of any plan: at least twice the way to the furthest customer.
    (problem,) = generate("CVRP", 40, 1, 1)
    assert found["cost"] > 2 * problem.distances.from_node(0).max()
    assert found["steps"] > 40  # every customer, and some ways home
    assert found["step_ms"] == pytest.approx(1000 * found["seconds_decode"] / found["steps"])
    assert found["cpu_step_ms"] == pytest.approx(1000 * found["cpu_decode"] / found["steps"])
    assert min(found["cpu_encode"], found["cpu_decode"]) > 0
    assert min(found["seconds_look"], found["seconds_encode"], found["seconds_decode"]) > 0
    assert found["predicted_gib"] * 2**30 == scaling.predicted(probe(40, weights))


def test_exponents_of_whatever_grows() -> None:
    rows = [
        row(n, seconds_encode=2e-9 * n**2, step_ms=1.5, decode_gib=1e-6 * n)
        for n in (10_000, 100, 1000)
    ]
    found = exponents(rows, scaling._GROWING)
    assert found == {
        "seconds_encode": {"fitted": 2.0, "last": 2.0},
        "step_ms": {"fitted": 0.0, "last": 0.0},
        "decode_gib": {"fitted": 1.0, "last": 1.0},
    }
    text = scaling.exponents_text(found)
    assert "a step of decoding grows like n to the power 0.00; 0.00 between the two largest" in text
    assert len(text.splitlines()) == 3


def test_what_does_not_fit_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # workers need room each
    monkeypatch.setattr(memory, "available_memory", lambda device: 2**20)
    monkeypatch.setattr(memory, "in_own_process", lambda *arguments: pytest.fail("begun"))
    found = scaling.measure(probe(1000, None), threads=1)
    assert found.note is not None
    assert found.note.startswith("not measured: needs about 0.1 GiB, 0.0 are free")
    assert found.seconds_decode is None


def test_lines_leave_out_what_is_missing() -> None:
    one = row(300, seconds_decode=1.5, steps=310, step_ms=4.84, cost=12.0, violations=0)
    assert one.line() == (
        "customers 300  decode s 1.50  moves 310  ms a move 4.840  cost 12.000  violations 0"
    )
    assert row(300, note="not measured: why").line() == "customers 300  note not measured: why"


def test_the_command_records_rows_a_page_and_a_picture(
    tmp_path: Path,
    weights: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In this process: what a fresh one would find is measured elsewhere.
    monkeypatch.setattr(memory, "in_own_process", lambda work, probe: work(probe))
    folder = tmp_path / "record"
    command = ["bench", "scaling", "--sizes", "30,12", "--starts", "2", "--weights", weights]
    assert main([*command, "--device", "cpu", "-o", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("customers 12  look s ")
    record = json.loads((folder / "scaling.json").read_text())
    assert [one["size"] for one in record["rows"]] == [12, 30]
    assert record["benchmark"] == "scaling"
    assert set(record["exponents"]) >= {"seconds_encode", "seconds_decode", "step_ms"}
    with (folder / "scaling.csv").open() as opened:
        assert [int(one["size"]) for one in csv.DictReader(opened)] == [12, 30]
    assert "| 30 |" in (folder / "scaling.md").read_text()
    assert (folder / "scaling.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_shows_what_was_measured() -> None:
    rows = [
        row(
            n,
            seconds_look=0.1,
            seconds_encode=n / 100,
            seconds_decode=n / 50,
            cpu_encode=n / 100,
            cpu_decode=n / 200,
            encode_gib=n / 1024,
            decode_gib=0.5,
            predicted_gib=2.0,
        )
        for n in (100, 1000)
    ]
    left, right = scaling.plot(rows).axes
    curves = {line.get_label(): list(line.get_ydata()) for line in left.lines}
    assert curves == {
        "encoding": [1, 10],
        "decoding": [2, 20],
        "looking around": [0.1, 0.1],
        "encoding, of a core": [1, 10],
        "decoding, of a core": [0.5, 5],
    }
    assert {line.get_label(): line.get_ydata()[1] for line in right.lines} == {
        "encoding": 1000,
        "decoding": 512,
        "predicted": 2048,
    }
    assert left.get_xscale() == left.get_yscale() == right.get_yscale() == "log"


def test_a_plan_that_breaks_a_rule_is_a_negative_answer(
    weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {"violations": 1, "cost": 3.0, "seconds_decode": 1.0, "steps": 9, "step_ms": 111.1}
    monkeypatch.setattr(memory, "in_own_process", lambda work, probe: dict(broken))
    command = ["bench", "scaling", "--sizes", "12", "--device", "cpu", "--weights", weights]
    assert main(command) == 1


@pytest.mark.parametrize("sizes", ["3", "100,x", ""])
def test_bad_sizes_are_bad_usage(sizes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "scaling", "--sizes", sizes]) == 2
    error = capsys.readouterr().err
    assert "expected a whole number of at least 4" in error
    assert error.count("\n") == 1

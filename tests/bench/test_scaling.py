"""``spacevrp bench scaling``: real rows of small sizes, exponents by hand, records."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from spacevrp.bench import probes, scaling
from spacevrp.bench.probes import Probe
from spacevrp.bench.scaling import ScalingRow, exponents
from spacevrp.cli.main import main
from spacevrp.generators import generate
from spacevrp.model import SpaceModel
from spacevrp.model.weights import load_weights


def probe(size: int, weights: Path | None, **other: object) -> Probe:
    return Probe(size, 3, 5, "cpu", 1, None if weights is None else str(weights), **other)


def row(size: int, **measured: object) -> ScalingRow:
    return ScalingRow(size=size, **measured)


# -------------------------------------------------------------------------------------- exponents


def test_exponents_of_powers() -> None:
    rows = [
        row(n, seconds_encode=2e-9 * n**2, step_ms=1.5, decode_gib=5.0 / n)
        for n in (10_000, 100, 1000)  # in any order
    ]
    found = exponents(rows)
    assert found == {
        "seconds_encode": {"fitted": 2.0, "last": 2.0},
        "step_ms": {"fitted": 0.0, "last": 0.0},
        "decode_gib": {"fitted": -1.0, "last": -1.0},
    }
    text = scaling.exponents_text(found)
    assert "a step of decoding grows like n to the power 0.00; 0.00 between the two largest" in text


def test_the_last_slope_is_that_of_the_two_largest() -> None:
    seconds = {10: 1.0, 100: 10.0, 1000: 1000.0}
    rows = [row(n, seconds_encode=value) for n, value in seconds.items()]
    # Logarithms 0, 1, 3 at 1, 2, 3: the straight line through them rises by 1.5.
    assert exponents(rows) == {"seconds_encode": {"fitted": 1.5, "last": 2.0}}
    # What was not measured does not count.
    rows = [row(10, seconds_encode=1.0), row(20), row(40, seconds_encode=0.0)]
    assert exponents(rows) == {}


# --------------------------------------------------------------------------------------- one size


def test_a_size_is_really_solved(tiny_weights: Path) -> None:
    found = probes.run_probe(probe(40, tiny_weights))
    assert found["violations"] == 0
    assert found["finite"]
    # The bill of any plan: at least twice the way to the furthest customer.
    (problem,) = generate("CVRP", 40, 1, 1)
    assert found["cost"] > 2 * problem.distances.from_node(0).max()
    assert 40 < found["steps"] <= 2 * 40 + 8  # every customer, and some ways home
    assert found["step_ms"] == pytest.approx(1000 * found["seconds_decode"] / found["steps"])
    assert min(found["seconds_look"], found["seconds_encode"], found["seconds_decode"]) > 0


@pytest.mark.slow
def test_a_size_in_a_process_of_its_own(tiny_weights: Path) -> None:
    asked = probe(300, tiny_weights)
    found = scaling.measure(asked)
    assert not found.failed
    assert found.encode_gib is not None
    assert found.encode_gib < 0.5  # what the parent process holds does not count
    # The same instance and starts in this process give the same plan.
    model, _ = load_weights(tiny_weights)
    with torch.inference_mode():
        again = probes.measure_here(model, asked, probes.Peak(torch.device("cpu")))
    assert found.cost == pytest.approx(again["cost"])


def test_numbers_that_are_not_finite_are_told(tiny_model: SpaceModel) -> None:
    broken = SpaceModel(tiny_model.config)
    broken.load_state_dict(tiny_model.state_dict())
    with torch.no_grad():
        broken.embed_position[0, 0] = math.nan
    with torch.inference_mode():
        found = probes.measure_here(broken, probe(10, None), probes.Peak(torch.device("cpu")))
    assert found["finite"] is False
    assert "seconds_decode" not in found
    assert row(10, finite=False).failed


def test_what_does_not_fit_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # workers need room each
    monkeypatch.setattr(probes, "available_memory", lambda device: 2**20)
    monkeypatch.setattr(probes, "in_own_process", lambda *arguments: pytest.fail("begun"))
    found = scaling.measure(probe(1000, None))
    assert found.note is not None
    assert found.note.startswith("not measured: needs about 0.")
    assert found.failed


# ---------------------------------------------------------------------------------------- command


def test_the_command_records_rows_and_a_page(tmp_path, tiny_weights, monkeypatch):
    # In this process: what a fresh one would find is measured elsewhere.
    monkeypatch.setattr(probes, "in_own_process", probes.run_probe)
    command = ["bench", "scaling", "--sizes", "30,12", "--starts", "2", "--device", "cpu"]
    assert main([*command, "--weights", str(tiny_weights), "-o", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "scaling.json").read_text())
    assert [one["size"] for one in record["rows"]] == [12, 30]
    assert set(record["exponents"]) >= {"seconds_encode", "seconds_decode", "step_ms"}
    page = (tmp_path / "scaling.md").read_text()
    assert "| 30 | 2 | 32 |" in page


def test_a_plan_that_breaks_a_rule_is_a_negative_answer(tiny_weights, monkeypatch):
    broken = {"violations": 1, "cost": 3.0, "seconds_decode": 1.0, "steps": 9, "step_ms": 111.1}
    monkeypatch.setattr(probes, "in_own_process", lambda probe: dict(broken))
    command = ["bench", "scaling", "--sizes", "12", "--device", "cpu", "--weights"]
    assert main([*command, str(tiny_weights)]) == 1


def test_the_weights_that_are_told_are_measured(tmp_path, monkeypatch) -> None:
    probed = []
    monkeypatch.setattr(scaling, "measure", lambda one: probed.append(one) or row(one.size))
    command = ["bench", "scaling", "--sizes", "8", "--device", "cpu", "--protocol", "paper"]
    main([*command, "--quiet", "-o", str(tmp_path)])
    record = json.loads((tmp_path / "scaling.json").read_text(encoding="utf-8"))
    assert [one.weights for one in probed] == [record["weights"]["given"]] == ["space-100-v12"]
    assert record["engine"] == "torch"

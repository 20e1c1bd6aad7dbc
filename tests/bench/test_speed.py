"""``spacevrp bench speed``: exponents by hand, rows that can be checked, records."""

from __future__ import annotations

import csv
import json
import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from spacevrp.bench import memory, neighbours, speed
from spacevrp.bench.memory import MemoryRow, Probe, exponents
from spacevrp.bench.records import csv_text
from spacevrp.cli.main import main
from spacevrp.engines.settings import Seconds
from spacevrp.generators import generate
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.model.weights import load_weights, save_weights
from spacevrp.problems.variants import SEEN_NAMES
from spacevrp.solver import Solver

TINY = ModelConfig(width=16, layers=1, feedforward=16, pivots=2, rank=2, heads=1)


@pytest.fixture(scope="module")
def model() -> SpaceModel:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SpaceModel(TINY)


@pytest.fixture(scope="module")
def weights(model: SpaceModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_weights(tmp_path_factory.mktemp("weights") / "tiny", model, {})


def sized(size: int, **measured: Any) -> MemoryRow:
    return MemoryRow("memory", size, threads=1, views=1, starts=2, **measured)


# -------------------------------------------------------------------------------------- exponents


def test_exponents_of_powers() -> None:
    rows = [
        sized(n, seconds_encode=3e-7 * n**2, seconds_decode=2e-5 * n**1.5, encode_gib=5.0 / n)
        for n in (1000, 100, 300)  # in any order
    ]
    found = exponents(rows)
    for name, power in (("seconds_encode", 2.0), ("seconds_decode", 1.5), ("encode_gib", -1.0)):
        assert found[name]["fitted"] == pytest.approx(power, abs=1e-3)
        assert found[name]["last"] == pytest.approx(power, abs=1e-3)


def test_the_last_slope_is_that_of_the_two_largest() -> None:
    seconds = {10: 1.0, 100: 10.0, 1000: 1000.0}
    found = exponents([sized(n, seconds_encode=value) for n, value in seconds.items()])
    # Logarithms 0, 1, 3 at 1, 2, 3: the straight line through them rises by 1.5.
    assert found == {"seconds_encode": {"fitted": 1.5, "last": 2.0}}


def test_sizes_that_were_not_measured_do_not_count() -> None:
    rows = [sized(10, seconds_encode=1.0), sized(20), sized(40, seconds_encode=0.0)]
    assert exponents(rows) == {}
    assert exponents([]) == {}


# -------------------------------------------------------------------------- latency and throughput


class SlowSolver:
    """A solver that claims to have taken these times, and solves for real."""

    def __init__(self, solver: Solver, claims: list[tuple[float, float, float]]) -> None:
        self.device, self._solver, self._claims = solver.device, solver, iter(claims)

    def attempt(self, problems: Any, **asked: Any) -> Any:
        found = self._solver.attempt(problems, **asked)
        return type(found)(found.solutions, found.reasons, Seconds(*next(self._claims)))


def test_times_are_medians_without_the_warm_up(model: SpaceModel) -> None:
    claims = [(9.0, 9.0, 9.0), (1.0, 2.0, 6.0), (2.0, 6.0, 4.0), (3.0, 4.0, 8.0)]
    solver = Solver(model, "cpu")
    problems = generate("CVRP", 8, 6)
    row = speed.measure(SlowSolver(solver, claims), "throughput", "CVRP", problems, 2, repeats=3)
    assert (row.seconds_prepare, row.seconds_search, row.seconds_referee) == (2.0, 4.0, 6.0)
    assert (row.seconds_total, row.seconds_least) == (12.0, 9.0)  # of 9, 12 and 15
    assert row.instances_per_second == 0.5
    plans = solver.solve(problems, augment=2, improve=False)
    assert row.cost == pytest.approx(statistics.fmean(plan.cost for plan in plans))
    assert (row.violations, row.size, row.instances, row.views) == (0, 8, 6, 2)


def test_an_instance_without_a_plan_is_a_violation(model: SpaceModel) -> None:
    good, bad = generate("CVRP", 6, 2)
    bad = replace(bad, max_routes=1, demand=np.full(7, 30.0) * (np.arange(7) > 0))
    row = speed.measure(Solver(model, "cpu"), "latency", "CVRP", [good, bad], 1, repeats=1)
    assert row.violations == 1


def test_the_mix_has_all_twelve(weights: Path, tmp_path: Path) -> None:
    command = ["bench", "speed", "--part", "throughput", "--count", "3", "--size", "6"]
    options = ["--repeats", "1", "--views", "2", "--weights", str(weights), "--device", "cpu"]
    assert main([*command, *options, "-o", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))
    counts = {row["problem"]: row["instances"] for row in record["rows"]}
    assert counts == {"CVRP": 3, speed.MIXED: len(SEEN_NAMES)}


def test_other_processes_are_seen_and_our_own_work_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # 10 s of work by all, 4 s of them ours, in 3 s of time: two cores were busy elsewhere.
    busy, own, wall = iter([100.0, 110.0]), iter([20.0, 24.0]), iter([50.0, 53.0])
    monkeypatch.setattr(neighbours, "_busy_seconds", lambda: next(busy))
    monkeypatch.setattr(neighbours, "_own_seconds", lambda: next(own))
    monkeypatch.setattr(neighbours.time, "perf_counter", lambda: next(wall))
    assert neighbours.Neighbours().busy() == 2.0


# ----------------------------------------------------------------------------------------- memory


@pytest.mark.slow
def test_a_size_in_a_process_of_its_own(weights: Path) -> None:
    probe = Probe(300, str(weights), "cpu", starts=2, decode=True, seed=1, threads=1)
    row = memory.measure_size(probe)
    assert row.note is None
    assert row.finite is True
    assert row.violations == 0
    # At least one visit for each of the other customers, at most a return after every visit.
    assert row.decode_steps is not None
    assert 300 <= row.decode_steps <= 2 * 300 + 8
    assert row.encode_gib is not None
    assert row.peak_gib is not None
    # One float32 matrix (and not what the parent process holds) is the least; 0.5 GiB is far off.
    assert 4 * 301**2 / 2**30 < row.encode_gib <= row.peak_gib < 0.5
    # The same instance and starts in this process give the same plan.
    model, _ = load_weights(weights)
    again = memory._measure(model, probe, memory.Peak(torch.device("cpu")))
    assert row.cost == pytest.approx(again["cost"])


def test_numbers_that_are_not_finite_are_told(model: SpaceModel) -> None:
    broken = SpaceModel(TINY)
    broken.load_state_dict(model.state_dict())
    with torch.no_grad():
        broken.embed_position[0, 0] = math.nan
    found = memory._measure(
        broken,
        Probe(10, None, "cpu", starts=1, decode=True, seed=1, threads=None),
        memory.Peak(torch.device("cpu")),
    )
    assert found["finite"] is False
    assert "seconds_decode" not in found
    assert not speed._is_good(sized(10, finite=False))
    assert speed._is_good(sized(10, finite=True, violations=0))


def test_what_does_not_fit_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda device: 2**30)
    probe = Probe(10_000, None, "cpu", starts=2, decode=False, seed=1, threads=1)
    row = memory.measure_size(probe)
    # 8 + 28 + 16 bytes for each of 10,001 x 10,001 distances, 20 + 48 for each of 128 x 10,001
    # numbers of the embeddings: 5.29e9 bytes.
    assert row.note == "not measured: needs about 4.9 GiB, 1.0 are free"
    assert not speed._is_good(row)


# ---------------------------------------------------------------------------------------- records


def test_rows_of_two_kinds_share_a_file() -> None:
    text = csv_text([{"a": 1, "b": None}, {"a": 2, "c": 3.5}])
    assert text == "a,b,c\n1,,\n2,,3.5\n"


def test_the_record_is_complete(
    weights: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def here(probe: Probe) -> MemoryRow:  # a process for each size takes seconds
        return sized(probe.size, **memory.run_probe(replace(probe, threads=None)))

    monkeypatch.setattr(memory, "measure_size", here)
    before = torch.get_num_threads()
    command = ["bench", "speed", "--part", "latency,memory", "--size", "8", "--sizes", "12,6"]
    options = ["--decode-limit", "6", "--threads", "1", "--repeats", "1", "--device", "cpu"]
    code = main([*command, *options, "--weights", str(weights), "-o", str(tmp_path)])
    assert code == 0
    assert torch.get_num_threads() == before
    record = json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))
    latency, small, large = record["rows"][0], *record["rows"][2:]
    assert [row["views"] for row in record["rows"][:2]] == [1, 8]
    assert (latency["part"], latency["instances"], latency["threads"]) == ("latency", 1, 1)
    assert (small["size"], large["size"]) == (6, 12)
    assert small["seconds_decode"] > 0
    assert large["seconds_decode"] is None  # beyond the limit
    assert set(record["exponents"]) >= {"seconds_encode"}
    assert "seconds_decode" not in record["exponents"]  # one point makes no line
    assert len(record["weights"]["tensors_sha256"]) == 64
    assert record["load_average"]["end"] is not None
    for key in ("command", "versions", "machine", "seed"):
        assert record[key]
    with (tmp_path / "speed.csv").open(newline="", encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    assert [row["size"] for row in rows] == ["8", "8", "6", "12"]
    assert rows[2]["instances_per_second"] == ""
    page = (tmp_path / "speed.md").read_text(encoding="utf-8")
    assert "| latency | CVRP | 1 | 8 |" in page
    assert "encoding grows like n to the power" in page
    assert "memory  customers 12" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--part", "latency,size", "expected names out of latency, throughput, memory"),
        ("--sizes", "100,3", "expected a whole number of at least 4, received '3'"),
        ("--threads", "0", "expected a whole number of at least 1, received '0'"),
    ],
)
def test_bad_arguments_are_named(
    option: str, value: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "speed", option, value]) == 2
    assert told in capsys.readouterr().err

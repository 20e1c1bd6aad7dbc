"""``spacevrp bench seen``: gaps by hand, sets from files, weights of a run, records."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacevrp import native
from spacevrp.bench import paper, sets
from spacevrp.bench.gap_table import SEEN, GapRow, gap_row, summary
from spacevrp.bench.records import checksum
from spacevrp.bench.references import Reference
from spacevrp.bench.runner import Model, load_model, load_models, solve_set
from spacevrp.bench.sets import Source, gaps, read_set
from spacevrp.cli.main import main
from spacevrp.formats import write_npz
from spacevrp.formats.archive import Archive, write_archive
from spacevrp.generators import generate
from spacevrp.model import SpaceModel
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import parse_variant
from spacevrp.solver import Solver
from spacevrp.train import checkpoint
from spacevrp.train.config import TrainConfig


def batch_file(folder: Path, name: str, size: int, count: int, **references: list[float]) -> Path:
    """A batch of generated instances, with costs of other solvers beside them."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.npz"
    write_npz(path, generate(name, size, count))
    with Archive(path) as archive:
        arrays = {key: archive[key] for key in archive.keys}
    write_archive(path, {**arrays, **{key: np.array(v) for key, v in references.items()}})
    return path


def known(*costs: float | None, solver: str = "x") -> list[Reference | None]:
    return [None if cost is None else Reference(cost, solver, "", 0.0) for cost in costs]


def measure(
    model: SpaceModel,
    problems: list[Any],
    best: list[Any],
    oracle: list[Any],
    augmentations: int,
    protocol: str = "paper",
) -> GapRow:
    """A set of CVRP, solved and beside its references."""
    held = sets.TestSet(problems, best, oracle)
    source = Source(parse_variant("CVRP"), "here", {}, lambda: held)
    solver = Model(Solver(model, "cpu"), {}, model.config, "")
    theirs = SEEN.paper_gap(source, solver, augmentations)
    outcome = solve_set(solver.solver, problems, augmentations)
    return gap_row(source, solver, augmentations, theirs, outcome, protocol=protocol)


# ------------------------------------------------------------------------------------------- gaps


def test_two_kinds_of_mean_gap() -> None:
    # 10% and 50% on the instances; 41 against 30 in all.
    each, whole = gaps(np.array([11.0, 30.0]), np.array([10.0, 20.0]))
    assert each == pytest.approx(30.0)
    assert whole == pytest.approx(100 * 11 / 30)
    # Costs are minus the prize: 33 instead of 30 is 10% better, 27 is 10% worse.
    better, _ = gaps(np.array([-33.0]), np.array([-30.0]))
    worse, _ = gaps(np.array([-27.0]), np.array([-30.0]))
    assert (better, worse) == (pytest.approx(-10.0), pytest.approx(10.0))
    assert gaps(np.array([]), np.array([])) == (None, None)


# ------------------------------------------------------------------------------------------- sets


def costs(held: Any) -> list[float | None]:
    return [None if one is None else one.cost for one in held]


def test_the_reference_is_the_one_the_paper_compares_with(tmp_path: Path) -> None:
    path = batch_file(
        tmp_path, "OCVRP", 6, 3, ref_lkh=[3.0, 4.0, 5.0], ref_or_tools_400s=[1.0, 1.0, 1.0]
    )
    held = read_set(path)
    assert {one.solver for one in held.best if one} == {"lkh"}
    assert costs(held.best) == costs(held.oracle) == [3.0, 4.0, 5.0]
    some = read_set(path, 2)
    assert (len(some.problems), costs(some.best)) == (2, [3.0, 4.0])
    # Where that one is absent, the cheapest, which is no oracle of the paper's.
    path = batch_file(tmp_path, "TSP", 6, 2, ref_slow=[3.0, 4.0], ref_lkh=[2.9, 3.9])
    held = read_set(path)
    assert (costs(held.best), costs(held.oracle)) == ([2.9, 3.9], [None, None])
    assert costs(read_set(batch_file(tmp_path, "CVRP", 6, 2)).best) == [None, None]


# ------------------------------------------------------------------------------------ measurement


def test_a_row_holds_the_referees_costs(tiny_model: SpaceModel) -> None:
    problems = generate("CVRP", 8, 3)
    run = Solver(tiny_model, "cpu").run(problems, augmentations=2, protocol="network")
    plans = run.results
    paid = [judge(p, plan.routes).cost for p, plan in zip(problems, plans, strict=True)]
    reference = np.array([0.5, 0.8, 1.0]) * paid
    row = measure(tiny_model, problems, known(*reference), [None] * 3, augmentations=2)
    assert row.cost == pytest.approx(np.mean(paid))
    assert row.best_gap == pytest.approx(100 * (1.0 + 0.25 + 0.0) / 3)
    assert row.gap_of_means == pytest.approx(100 * (np.mean(paid) / reference.mean() - 1))
    assert (row.instances, row.size, row.violations, row.refused) == (3, 8, 0, 0)
    # The paper has no figure for 8 customers, nor for two augmentations.
    assert (row.paper_gap, row.difference) == (None, None)
    assert min(row.seconds_host, row.seconds_model, row.seconds_referee) > 0


def test_the_papers_figure_stands_beside_as_many_augmentations(tiny_model, monkeypatch):
    monkeypatch.setattr(paper, "space_gap", lambda variant, size: 1.83 if size == 8 else None)
    problems = generate("CVRP", 8, 2)
    best, oracle = known(2.0, None), known(None, 2.5)
    full = measure(tiny_model, problems, best, oracle, augmentations=8)
    # The difference is of like and like: both gaps are to the paper-protocol oracle.
    cost = Solver(tiny_model, "cpu").solve(problems[1], augment=8).cost
    assert full.oracle_gap == pytest.approx(100 * (cost - 2.5) / 2.5)
    assert full.paper_gap == 1.83
    assert full.difference == pytest.approx(full.oracle_gap - 1.83)
    assert (full.oracle, full.oracle_instances, full.best_cost) == ("x", 1, 2.0)
    other = measure(tiny_model, problems, best, oracle, augmentations=1)
    assert (other.paper_gap, other.difference) == (None, None)
    assert other.oracle_gap is not None
    row = measure(tiny_model, problems, best, [None, None], augmentations=8)
    assert (row.paper_gap, row.oracle_gap, row.difference) == (1.83, None, None)
    assert "nothing to compare with the paper" in summary([row])
    assert "at least as good as the paper on 0 of 1, mean difference +" in summary([row, full])
    # Plans of other protocols are made in other ways: the figure stands there, no difference.
    for protocol in ("network", "default"):
        row = measure(tiny_model, problems, best, oracle, augmentations=8, protocol=protocol)
        assert (row.oracle_gap, row.paper_gap, row.difference) == (full.oracle_gap, 1.83, None)
        assert "nothing to compare with the paper" in summary([row])
        assert "at least as good" not in summary([row])


def test_an_instance_without_a_plan_counts(tiny_model: SpaceModel) -> None:
    fine, short = generate("CVRP", 8, 2)
    short = short.replace(max_routes=1, variant=None, capacity=9.0)
    row = measure(tiny_model, [short, fine], known(1.0, 4.0), [None, None], augmentations=1)
    assert row.violations == 1
    assert row.best_cost == 4.0  # only what was solved is compared


# ---------------------------------------------------------------------------------------- weights


def test_weights_are_told_with_their_checksum(tiny_model, tiny_weights, tmp_path):
    loaded, told = load_model(str(tiny_weights))
    assert (told["name"], told["tensors_sha256"]) == ("tiny", checksum(loaded))
    header = {"config": TrainConfig(model=tiny_model.config).to_dict(), "seconds": 2.0}
    checkpoint.save(tmp_path, 5, {"weights": dict(tiny_model.named_parameters())}, header)
    _, told = load_model(str(tmp_path))
    assert (told["step"], told["group"]) == (5, "weights")
    assert told["tensors_sha256"] == checksum(tiny_model)


@pytest.mark.skipif(native.network is None, reason="the compiled network is not installed")
def test_models_are_run_as_solve_runs_them(tiny_model, tiny_weights, tmp_path):
    header = {"config": TrainConfig(model=tiny_model.config).to_dict(), "seconds": 2.0}
    checkpoint.save(tmp_path, 5, {"weights": dict(tiny_model.named_parameters())}, header)
    args = argparse.Namespace(weights=[str(tiny_weights), str(tmp_path)], device="cpu")
    compiled, of_run = (model.solver.engine for model in load_models(args, threads=2))
    assert (compiled.name, compiled.threads) == ("native", 2)
    assert (of_run.name, of_run.threads) == ("torch", 2)


# ---------------------------------------------------------------------------------------- command


def test_the_whole_command(tiny_weights, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("SPACEVRP_DATA", raising=False)
    batch_file(tmp_path / "data", "CVRPL", 6, 3, ref_lkh=[3.0, 3.0, 3.0])
    batch_file(tmp_path / "data", "OP", 6, 3, ref_compass=[2.0, 2.0, 2.0])
    out = tmp_path / "deep" / "out"
    command = ["bench", "seen", "--count", "2", "--size", "6", "--augment-symmetric", "2"]
    command += ["--augment-asymmetric", "3", "--weights", str(tiny_weights), "--device", "cpu"]
    command += ["--problems", "ATSP,CVRPL,ATSP", "--data", str(tmp_path / "data")]
    assert main([*command, "-o", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()[1:5]) for line in lines[1:-1]] == [
        *("ATSP generated 2 1", "ATSP generated 2 3"),
        *("CVRPL generated 2 1", "CVRPL generated 2 2"),
        *("CVRPL data 2 1", "CVRPL data 2 2"),
    ]
    record = json.loads((out / "seen.json").read_text())
    card = json.loads(tiny_weights.with_suffix(".json").read_text())
    assert record["weights"]["sha256"] == card["sha256"]
    rows = record["rows"]
    assert (rows[-1]["best"], rows[-1]["oracle"]) == ("lkh", "lkh")
    assert rows[-1]["cost"] <= rows[-2]["cost"]  # more augmentations are never worse
    sentence = "Each set is solved with one augmentation and with all."
    assert sentence in (out / "seen.md").read_text()
    once = ["--problems", "OP", "--augment-symmetric", "1", "-o", str(tmp_path / "once")]
    assert main([*command, *once]) == 0
    assert sentence not in (tmp_path / "once" / "seen.md").read_text()


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        batch_file(tmp_path / name / "data", "OP", 6, 1)
    batch_file(tmp_path / "other", "OP", 6, 1)
    folders = [tmp_path / "a/data", tmp_path / "b/data", tmp_path / "other"]
    args = argparse.Namespace(count=0, problems=None, data=folders)
    assert [one.place for one in SEEN.sources(args)] == [*map(str, folders[:2]), "other"]
    args.data = [folders[0], tmp_path / "a" / "." / "data"]
    with pytest.raises(SpacevrpError, match="--data: expected different folders, received"):
        SEEN.sources(args)


@pytest.mark.data
def test_the_public_sets_name_their_references(data_folder: Path) -> None:
    expected = {"CVRP": (15.501, "hgs"), "OCVRPBL": (8.3245, "or_tools_400s")}
    for name, (mean, solver) in expected.items():
        held = read_set(data_folder / "uniform100" / f"{name}.npz")
        assert {one.solver for one in held.best if one} == {solver}
        assert np.mean(costs(held.best)) == pytest.approx(mean, abs=1e-3)
        assert len(held.problems) == 200

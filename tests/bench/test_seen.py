"""``spacevrp bench seen``: gaps by hand, sets from files, weights of a run, records."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from spacevrp.bench import paper, seen, sets
from spacevrp.bench.records import checksum
from spacevrp.bench.references import Reference
from spacevrp.bench.solving import solve_set
from spacevrp.cli.main import main
from spacevrp.formats import write_npz
from spacevrp.formats.archive import Archive, write_archive
from spacevrp.generators import generate
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.model.weights import save_weights
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import SEEN_NAMES, Variant, parse_variant
from spacevrp.solver import Solver
from spacevrp.train import checkpoint
from spacevrp.train.config import TrainConfig

TINY = ModelConfig(width=16, layers=1, feedforward=16, pivots=2, rank=2, heads=1)


@pytest.fixture(scope="module")
def model() -> SpaceModel:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SpaceModel(TINY)


@pytest.fixture(scope="module")
def weights(model: SpaceModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_weights(tmp_path_factory.mktemp("weights") / "tiny", model, {})


def batch_file(folder: Path, name: str, size: int, count: int, **references: list[float]) -> Path:
    """A batch of generated instances, with costs of other solvers beside them."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.npz"
    write_npz(path, generate(name, size, count))
    with Archive(path) as archive:
        arrays = {key: archive[key] for key in archive.keys}
    write_archive(path, {**arrays, **{key: np.array(v) for key, v in references.items()}})
    return path


# ------------------------------------------------------------------------------------------- gaps


def test_two_kinds_of_mean_gap() -> None:
    cost, reference = np.array([11.0, 30.0]), np.array([10.0, 20.0])
    # 10% and 50% on the instances; 41 against 30 in all.
    each, whole = seen.gaps(cost, reference)
    assert each == pytest.approx(30.0)
    assert whole == pytest.approx(100 * 11 / 30)


def test_more_prize_is_a_lower_gap() -> None:
    # Costs are minus the prize: 33 instead of 30 is 10% better, 27 is 10% worse.
    better, _ = seen.gaps(np.array([-33.0]), np.array([-30.0]))
    worse, _ = seen.gaps(np.array([-27.0]), np.array([-30.0]))
    assert (better, worse) == (pytest.approx(-10.0), pytest.approx(10.0))
    assert seen.gaps(np.array([]), np.array([])) == (None, None)


# ------------------------------------------------------------------------------------------- sets


def test_the_reference_is_the_one_the_paper_compares_with(tmp_path: Path) -> None:
    path = batch_file(
        tmp_path, "OCVRP", 6, 3, ref_lkh=[3.0, 4.0, 5.0], ref_or_tools_400s=[1.0, 1.0, 1.0]
    )
    test_set = seen.read_set(path)
    assert test_set.reference_name == "ref_lkh"
    assert test_set.reference is not None
    assert test_set.reference.tolist() == [3.0, 4.0, 5.0]
    assert (test_set.variant.name, test_set.place) == ("OCVRP", tmp_path.name)
    some = seen.read_set(path, 2)
    assert (len(some.problems), some.reference.tolist()) == (2, [3.0, 4.0])  # type: ignore[union-attr]


def test_another_reference_where_that_one_is_absent(tmp_path: Path) -> None:
    path = batch_file(tmp_path, "TSP", 6, 2, ref_slow=[3.0, 4.0], ref_lkh=[2.9, 3.9])
    assert seen.read_set(path).reference_name == "ref_lkh"  # the cheaper
    path = batch_file(tmp_path, "CVRP", 6, 2)
    assert seen.read_set(path).reference is None


def test_prizes_in_a_file_become_costs(tmp_path: Path) -> None:
    for prizes in ([3.0, 4.0], [-3.0, -4.0]):
        path = batch_file(tmp_path, "OP", 6, 2, ref_compass=prizes)
        assert seen.read_set(path).reference.tolist() == [-3.0, -4.0]  # type: ignore[union-attr]


def test_a_reference_of_the_wrong_shape_is_named(tmp_path: Path) -> None:
    path = batch_file(tmp_path, "TSP", 6, 2, ref_lkh=[1.0, 2.0, 3.0])
    with pytest.raises(FormatError, match=r"key ref_lkh: expected 2 numbers, received shape \(3,"):
        seen.read_set(path)


# ------------------------------------------------------------------------------------ measurement


def test_a_row_holds_the_referees_costs(model: SpaceModel) -> None:
    solver = Solver(model, "cpu")
    problems = generate("CVRP", 8, 3)
    plans = solver.solve(problems, augment=2, improve=False)
    costs = [judge(p, plan.routes).cost for p, plan in zip(problems, plans, strict=True)]
    reference = np.array([0.5, 0.8, 1.0]) * costs
    test_set = seen.TestSet(parse_variant("CVRP"), "here", problems, reference, "ref_x")
    row = seen.measure(solver, test_set, views=2)
    assert row.cost == pytest.approx(np.mean(costs))
    assert row.gap == pytest.approx(100 * (1.0 + 0.25 + 0.0) / 3)
    assert row.gap_of_means == pytest.approx(100 * (np.mean(costs) / reference.mean() - 1))
    assert (row.instances, row.views, row.violations, row.refused) == (3, 2, 0, 0)
    # The paper has no figure for 8 customers, nor for two views.
    assert (row.paper_gap, row.difference) == (None, None)
    assert min(row.seconds_host, row.seconds_model, row.seconds_referee) > 0


def test_the_papers_figure_stands_beside_ours(
    model: SpaceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper, "space_gap", lambda variant, size: 1.83 if size == 8 else None)
    solver = Solver(model, "cpu")
    problems = generate("CVRP", 8, 2)
    best, oracle = np.array([2.0, 2.0]), np.array([np.nan, 2.5])
    test_set = seen.TestSet(parse_variant("CVRP"), "here", problems, best, "best known", oracle)
    full = seen.measure(solver, test_set, views=8)
    # The difference is of like and like: both gaps are to the paper's kind of oracle.
    cost = solver.solve(problems[1], augment=8).cost
    assert full.oracle_gap == pytest.approx(100 * (cost - 2.5) / 2.5)
    assert (full.oracle_instances, full.paper_gap) == (1, 1.83)
    assert full.gap is not None
    assert full.difference == pytest.approx(full.oracle_gap - 1.83)
    titles = [title for title, _ in seen.LAYOUT.columns]
    assert full.cells()[titles.index("to oracle %")] == f"{full.oracle_gap:.3f} (1)"
    for views in (1, 2, 128):  # 128 are the paper's for asymmetric distances only
        other = seen.row_of(test_set, solve_set(solver, problems, 1), views)
        assert (other.paper_gap, other.difference) == (None, None)
        assert other.oracle_gap is not None
    without = seen.TestSet(parse_variant("CVRP"), "here", problems, best, "best known")
    row = seen.measure(solver, without, views=8)
    assert (row.paper_gap, row.oracle_gap, row.difference) == (1.83, None, None)
    assert row.gap == pytest.approx(full.gap)
    assert row.cells()[titles.index("ours - paper")] == ""
    assert "no costs of its kind of oracle known" in seen.summary([row])
    assert "at least as good as the paper on" in seen.summary([row, full])


def test_the_oracle_of_a_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = batch_file(tmp_path, "CVRP", 6, 3, ref_hgs=[3.0, 4.0, 5.0], ref_x=[1.0, 1.0, 1.0])
    assert seen.read_set(path, 2).oracle.tolist() == [3.0, 4.0]  # type: ignore[union-attr]
    path = batch_file(tmp_path, "TSP", 6, 2, ref_x=[3.0, 4.0])
    assert seen.read_set(path).oracle is None  # not what the paper compares with
    known = [Reference(2.0, "ortools", "0", 360.0), None]
    monkeypatch.setattr(sets.references, "paper_kind", lambda *_: known)
    made = sets.generated(parse_variant("CVRP"), 8, 2, 4).load()
    assert (made.reference, made.reference_name) == (None, None)
    assert np.array_equal(made.oracle, [2.0, np.nan], equal_nan=True)  # type: ignore[arg-type]


def test_an_instance_without_a_plan_counts(model: SpaceModel) -> None:
    fine, short = generate("CVRP", 8, 2)
    short = short.replace(max_routes=1, variant=None, capacity=9.0)
    test_set = seen.TestSet(
        parse_variant("CVRP"), "here", [short, fine], np.array([1.0, 4.0]), "ref_x"
    )
    row = seen.measure(Solver(model, "cpu"), test_set, views=1)
    assert row.violations == 1
    assert row.reference_cost == 4.0  # only what was solved is compared


def test_generated_instances_are_compared_with_the_best_known(
    model: SpaceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def best(variant: Variant, count: int, size: int, seed: int) -> list[Reference | None]:
        known = [None, Reference(2.0, "pyvrp", "0", 10.0), None]
        return known[:count] if (variant.name, size, seed) == ("CVRP", 8, 4) else [None] * count

    monkeypatch.setattr(sets.references, "best", best)
    solver = Solver(model, "cpu")
    row = seen.measure(solver, sets.generated(parse_variant("CVRP"), 8, 3, 4).load(), 1)
    cost = solver.solve(generate("CVRP", 8, 3, 4)[1], augment=1, improve=False).cost
    assert row.gap == pytest.approx(100 * (cost - 2.0) / 2.0)
    assert (row.compared, row.reference_cost) == (1, 2.0)
    assert row.cells()[5] == "best known 2.0000 (1)"
    row = seen.measure(solver, sets.generated(parse_variant("CVRP"), 8, 3, 5).load(), 1)
    assert (row.reference, row.gap) == (None, None)


# ---------------------------------------------------------------------------------------- weights


def test_weights_of_a_file_and_of_a_run(model: SpaceModel, weights: Path, tmp_path: Path) -> None:
    loaded, told = seen.load_model(str(weights))
    assert told["name"] == "tiny"
    assert told["tensors_sha256"] == checksum(loaded)
    parameters = dict(model.named_parameters())
    header = {"config": TrainConfig(model=TINY).to_dict(), "seconds": 2.0}
    checkpoint.save(tmp_path, 5, {"weights": parameters}, header)
    loaded, told = seen.load_model(str(tmp_path))
    assert (told["step"], told["group"]) == (5, "weights")
    assert told["tensors_sha256"] == checksum(model)
    halves = {name: 0.5 * value for name, value in parameters.items()}
    folder = checkpoint.save(tmp_path, 7, {"weights": parameters, "average": halves}, header)
    loaded, told = seen.load_model(str(folder))
    assert (told["step"], told["group"]) == (7, "average")
    name, value = next(iter(model.named_parameters()))
    assert torch.equal(loaded.state_dict()[name], 0.5 * value)
    assert loaded.config == TINY


def test_a_run_that_does_not_fit_its_model(model: SpaceModel, tmp_path: Path) -> None:
    header = {"config": TrainConfig().to_dict(), "seconds": 2.0}
    checkpoint.save(tmp_path, 5, {"weights": dict(model.named_parameters())}, header)
    with pytest.raises(SpacevrpError, match=r"tensor .*: (missing|unexpected|expected shape)"):
        seen.load_model(str(tmp_path))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(SpacevrpError, match="expected a checkpoint or a folder of them"):
        seen.load_model(str(empty))


# ---------------------------------------------------------------------------------------- command


def test_the_whole_command(
    weights: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SPACEVRP_DATA", raising=False)
    batch_file(tmp_path / "data", "CVRPL", 6, 3, ref_lkh=[3.0, 3.0, 3.0])
    batch_file(tmp_path / "data", "OP", 6, 3, ref_compass=[2.0, 2.0, 2.0])
    out = tmp_path / "deep" / "out"
    command = ["bench", "seen", "--count", "2", "--size", "6", "--augment-symmetric", "2"]
    command += ["--augment-asymmetric", "3", "--weights", str(weights), "--device", "cpu"]
    command += ["--problems", "TSP,ATSP,CVRPL,TSP", "--data", str(tmp_path / "data")]
    assert main([*command, "-o", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [line.split()[:4] for line in lines[1:-1]]
    assert found == [
        ["TSP", "generated", "2", "1"],
        ["TSP", "generated", "2", "2"],
        ["ATSP", "generated", "2", "1"],
        ["ATSP", "generated", "2", "3"],
        ["CVRPL", "generated", "2", "1"],
        ["CVRPL", "generated", "2", "2"],
        ["CVRPL", "data", "2", "1"],
        ["CVRPL", "data", "2", "2"],
    ]
    assert lines[-1].endswith("0 violations")
    record = json.loads((out / "seen.json").read_text())
    assert record["seed"] == 1
    assert (
        record["weights"]["sha256"]
        == json.loads(weights.with_suffix(".json").read_text())["sha256"]
    )
    assert {"spacevrp", "python", "torch", "numpy"} <= set(record["versions"])
    assert record["machine"]["device"] == "cpu"
    rows = record["rows"]
    assert len(rows) == 8
    assert rows[-1]["reference"] == "ref_lkh"
    assert rows[-1]["cost"] <= rows[-2]["cost"]  # more views are never worse
    with (out / "seen.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["problem"] for row in table] == [row["problem"] for row in rows]
    assert float(table[-1]["gap"]) == pytest.approx(rows[-1]["gap"])
    text = (out / "seen.md").read_text()
    assert text.count("\n| CVRPL |") == 4
    assert sorted(path.name for path in out.iterdir()) == ["seen.csv", "seen.json", "seen.md"]


@pytest.mark.parametrize("kind", ["json", "markdown"])
def test_other_formats(weights: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    command = ["bench", "seen", "--count", "1", "--size", "6", "--problems", "OP", "--quiet"]
    command += ["--augment-symmetric", "1", "--weights", str(weights), "--format", kind]
    assert main([*command, "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    if kind == "json":
        (row,) = json.loads(text)["rows"]  # one view only: nothing to repeat
        assert row["problem"] == "OP"
        assert row["cost"] < 0
    else:
        assert text.startswith("| problem | set |")
        assert "| OP | generated | 1 | 1 | -" in text


def test_the_twelve_are_the_default() -> None:
    import argparse

    parser = argparse.ArgumentParser()
    seen.add_arguments(parser)
    args = parser.parse_args([])
    sources = seen._list_sources(args)
    generated = [source.variant.name for source in sources if source.place == seen.GENERATED]
    assert generated == list(SEEN_NAMES)
    assert (args.count, args.seed, args.size) == (1000, 1, 100)
    assert (args.augment_symmetric, args.augment_asymmetric) == (8, 128)


def test_files_where_the_data_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "uniform100"
    batch_file(folder, "CVRPL", 6, 1)
    monkeypatch.setenv("SPACEVRP_DATA", str(tmp_path))
    assert seen._data_folders(None) == [folder]
    monkeypatch.setenv("SPACEVRP_DATA", str(tmp_path / "nowhere"))
    assert seen._data_folders(None) == []


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--problems", "CVPR"], "variant 'CVPR' is not legal"),
        (["--count", "-1"], "--count: expected a whole number of at least 0, received '-1'"),
        (["--count", "0"], "nothing to measure"),
        (["--data", "no-such-folder"], "no-such-folder: expected a folder of .npz batches"),
        (["--size", "7", "--problems", "PDTSP"], "size: expected an even number"),
        (["--weights", "no-such-weights"], "no bundled weights"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str],
    part: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SPACEVRP_DATA", raising=False)
    assert main(["bench", "seen", *arguments]) == 2
    error = capsys.readouterr().err
    assert part in error
    assert error.count("\n") == 1


@pytest.mark.data
def test_the_public_sets_name_their_references(data_folder: Path) -> None:
    expected = {"CVRP": (15.501, "ref_hgs"), "OCVRPBL": (8.3245, "ref_or_tools_400s")}
    for name, (mean, key) in expected.items():
        test_set = seen.read_set(data_folder / "uniform100" / f"{name}.npz")
        assert test_set.reference_name == key
        assert test_set.reference is not None
        assert test_set.reference.mean() == pytest.approx(mean, abs=1e-3)
        assert len(test_set.problems) == 200

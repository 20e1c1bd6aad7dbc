"""``spacevrp generate``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spacevrp.cli.main import main
from spacevrp.formats.npz import read_npz
from spacevrp.generators import generate, generate_arrays


def test_the_file_holds_the_instances_of_the_series(tmp_path, capsys):
    path = tmp_path / "set.npz"
    command = ["generate", "AMDCVRPTW", "-n", "6", "--count", "45", "--seed", "3", "-o", str(path)]
    assert main(command) == 0
    assert capsys.readouterr().out == f"{path}: 45 instances of AMDCVRPTW, 9 nodes each\n"
    assert read_npz(path) == generate("AMDCVRPTW", 6, 45, 3)
    with np.load(path) as arrays:
        expected = generate_arrays("AMDCVRPTW", 6, 45, 3)
        assert set(arrays) == set(expected)
        for key, values in expected.items():
            assert (arrays[key].reshape(values.shape) == values).all(), key
    assert [entry.name for entry in tmp_path.iterdir()] == ["set.npz"]


def test_a_series_can_be_cut_anywhere_and_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "set.npz"
    path.write_text("old")
    assert main(["generate", "TSP", "--size", "5", "--count", "1", "-o", str(path)]) == 0
    assert read_npz(path) == generate("TSP", 5)
    path.write_text("old")
    assert main(["generate", "TSP", "-n5", "--count=2", "--first", "7", "-o", str(path)]) == 0
    assert read_npz(path) == generate("TSP", 5, 9)[7:]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["CVPR", "-o", "x.npz"], "variant 'CVPR' is not legal: letter 3 ('P')"),
        (["CVRP"], "required: -o/--output"),
        (["CVRP", "-n", "3", "-o", "x.npz"], "-n/--size: expected a whole number of at least 4"),
        (["CVRP", "-n", "ten", "-o", "x.npz"], "at least 4, received 'ten'"),
        (["CVRP", "--count", "0", "-o", "x.npz"], "--count: expected a whole number of at least 1"),
        (["CVRP", "--count", "9" * 11, "-o", "x.npz"], "count: expected a whole number from 1 to"),
        (["CVRP", "--count", "9" * 11, "-o", "x.npz"], f"received {'9' * 11}\n"),
        (["CVRP", "--seed", "-1", "-o", "x.npz"], "--seed: expected a whole number of at least 0"),
        (["CVRP", "--seed", "1" * 30, "-o", "x.npz"], "seed: expected a whole number from 0 to"),
        (["PDTSP", "-n", "5", "-o", "x.npz"], "size: expected an even number"),
        (["CVRP", "-o", "x.json"], "x.json: expected a file name that ends in .npz"),
        (["CVRP", "-o", "no/x.npz"], "x.npz: cannot be written: there is no folder no"),
        (["CVRP", "-o", "folder.npz"], "folder.npz: expected a file"),
        (["CVRP", "-n", "4", "-o", "n" * 300 + ".npz"], "nnn.npz: File name too long"),
    ],
)
def test_bad_requests_are_one_line(tmp_path, monkeypatch, capsys, arguments, part):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.npz").mkdir()
    assert main(["generate", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("spacevrp: error: ")
    assert captured.err.count("\n") == 1
    assert part in captured.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.npz"]  # nothing left behind

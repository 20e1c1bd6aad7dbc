"""``spacevrp generate``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

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

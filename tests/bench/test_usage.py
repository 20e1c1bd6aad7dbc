"""Bad usage of every table: exit code 2 and one line that names what was expected."""

from __future__ import annotations

import pytest

from spacevrp.cli.main import main


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("seen --problems CVPR", "variant 'CVPR' is not legal"),
        ("seen --count 0", "nothing to measure"),
        ("seen --data no-such-folder", "no-such-folder: expected a folder of .npz batches"),
        ("seen --size 7 --problems PDTSP", "size: expected an even number"),
        ("ablation --weights no-such-weights", "no bundled weights"),
        ("cvrplib", "cvrplib: expected --data or SPACEVRP_DATA, received neither"),
        ("cvrplib --data nowhere", "cvrplib: expected files nowhere/cvrplib/*.vrp, found none"),
        ("scaling --sizes 3", "expected a whole number of at least 4"),
        ("suite small --time 1,0", "--time: expected seconds above 0, received"),
        ("suite vrptw --quiet", "SPACEVRP_DATA"),
        ("speed --part latency,size", "expected names out of latency, throughput, thousand"),
        ("train-step --device cpu --batch 0", "batch: expected a whole number of at least 1"),
        ("train-step -o nowhere/record.json", "nowhere/record.json: cannot be written"),
        ("references --extend gurobi", "choose from 'best', 'paper'"),
        ("references --extend", "--extend: expected -o FOLDER"),
        ("references --extend --merge x.jsonl", "not allowed with argument"),
        ("references --merge nowhere.jsonl", "nowhere.jsonl: expected a record of results"),
        ("references --file nowhere.json", "cannot be read: No such file"),
    ],
)
def test_bad_usage_is_one_line(words, part, capsys, monkeypatch):
    monkeypatch.delenv("SPACEVRP_DATA", raising=False)
    try:
        code = main(["bench", *words.split()])
    except SystemExit as left:
        code = int(str(left.code))
    assert code == 2
    error = capsys.readouterr().err
    assert part in error
    assert error.count("\n") == 1
